/* The GEMM that works on every device: one work-item makes one element of C. Row-major
 * C (m, n) = alpha * op(A) (m, k) * op(B) (k, n) + beta * C.
 * TA: A is stored (k, m), else (m, k), rows lda apart; TB: B is stored (n, k), else (k, n), rows ldb apart.
 * Overwrites C where beta is 0 (its old values are not read), else accumulates. Items: (n, m).
 * Four sums side by side, added in a fixed order: shorter chains of additions, less rounding, same bits each run. */
#ifndef TA
#define TA 0
#endif
#ifndef TB
#define TB 0
#endif

__kernel void gemm_plain(CONST_TENSOR(float, a), int lda, CONST_TENSOR(float, b), int ldb, TENSOR(float, c), int ldc,
                         int m, int n, int k, float alpha, float beta)
{
    USE_CONST(float, a);
    USE_CONST(float, b);
    USE(float, c);
    const int column = get_global_id(0), row = get_global_id(1);
    if (column >= n || row >= m)
        return;
    /* From one element of the sum to the next. */
    const ulong a_step = TA ? (ulong)lda : 1, b_step = TB ? 1 : (ulong)ldb;
    const __global float *x = a + (TA ? (ulong)row : (ulong)row * lda);
    const __global float *y = b + (TB ? (ulong)column * ldb : (ulong)column);
    float sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f;
    int i = 0;
    for (; i < k - 3; i += 4) {
        sum0 = fma(x[0], y[0], sum0);
        sum1 = fma(x[a_step], y[b_step], sum1);
        sum2 = fma(x[2 * a_step], y[2 * b_step], sum2);
        sum3 = fma(x[3 * a_step], y[3 * b_step], sum3);
        x += 4 * a_step;
        y += 4 * b_step;
    }
    for (; i < k; i++) {
        sum0 = fma(x[0], y[0], sum0);
        x += a_step;
        y += b_step;
    }
    const float sum = alpha * ((sum0 + sum1) + (sum2 + sum3));
    const ulong place = (ulong)row * ldc + column;
    c[place] = beta == 0.0f ? sum : fma(beta, c[place], sum);
}

/* C (m, n) = alpha * the sum of parts (chunks, m, n) + beta * C, as above. Items: (n, m). */
__kernel void gemm_sum(CONST_TENSOR(float, parts), TENSOR(float, c), int ldc, int m_count, int n_count, int chunks,
                       float alpha, float beta)
{
    USE_CONST(float, parts);
    USE(float, c);
    const int n = get_global_id(0), m = get_global_id(1);
    if (n >= n_count)
        return;
    float sum = 0.0f;
    for (int i = 0; i < chunks; i++)
        sum += parts[((ulong)i * m_count + m) * n_count + n];
    const ulong at = (ulong)m * ldc + n;
    c[at] = beta == 0.0f ? alpha * sum : alpha * sum + beta * c[at];
}
