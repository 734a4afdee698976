/* GEMM by tiles in local memory, for GPUs (cl/common.clh). Row-major C (m, n) = alpha * op(A) (m, k) * op(B) (k, n) + beta * C.
 * TA: A is stored (k, m), else (m, k), rows lda apart; TB: B is stored (n, k), else (k, n), rows ldb apart.
 * Overwrites C where beta is 0 (its old values are not read), else accumulates. Group z of the third dimension adds the
 * terms from z * chunk on, at most `chunk` of them; C is then its part, z * m * n elements further, to be added by gemm.cl's gemm_sum.
 * Groups: (ceil(n / TILE_N), ceil(m / TILE_M), parts). */
#ifndef WM
#define WM 4
#define WN 4
#define RM 4
#define RN 4
#define TILE_K 16
#endif
#ifndef TA
#define TA 0
#define TB 0
#endif

#define A(i, l)                                                                                              \
    (row + (i) < m && (l) < end ? a[TA ? (l)*lda + row + (i) : (row + (i)) * lda + (l)] : 0.0f)
#define B(j, l)                                                                                              \
    (column + (j) < n && (l) < end ? b[TB ? (column + (j)) * ldb + (l) : (l)*ldb + column + (j)] : 0.0f)

__kernel WORK_GROUP void gemm_tiled(CONST_TENSOR(float, a), int lda, CONST_TENSOR(float, b), int ldb, TENSOR(float, c),
                                    int ldc, int m, int n, int k, int chunk, float alpha, float beta)
{
    USE_CONST(float, a);
    USE_CONST(float, b);
    USE(float, c);
    TILE_BEGIN
    const int column = (int)get_group_id(0) * TILE_N, row = (int)get_group_id(1) * TILE_M;
    const int first = (int)get_group_id(2) * chunk, end = min(first + chunk, k);
    c += (ulong)get_group_id(2) * m * n;
    TILE_MULTIPLY(A, !TA, B, TB, first, end, )
#pragma unroll
    for (int i = 0; i < RM; i++) {
        if (row + TILE_ROW(i) >= m)
            continue;
        __global float *to = c + (row + TILE_ROW(i)) * ldc + column;
#pragma unroll
        for (int j = 0; j < RN / 4; j++) {
            float value[4];
            vstore4(alpha * acc[i][j], 0, value);
#pragma unroll
            for (int l = 0; l < 4; l++) {
                const int at = TILE_COLUMN(4 * j + l);
                if (column + at >= n)
                    continue;
                to[at] = beta == 0.0f ? value[l] : fma(beta, to[at], value[l]);
            }
        }
    }
}
