/* Around the GEMM of a convolution. GEMM's rows are (K, N*P), images (N, K, P); P = output height * width. */

/* Overwrites y (N, K, P) with rows (K, N*P), and bias (K) added where has_bias, cut by ReLU where relu. Items: (P, K, N). */
__kernel void rows_to_nchw(CONST_TENSOR(float, rows), CONST_TENSOR(float, bias), TENSOR(float, y), int n_count,
                           int k_count, int plane, int has_bias, int relu)
{
    USE_CONST(float, rows);
    USE_CONST(float, bias);
    USE(float, y);
    const int p = get_global_id(0), k = get_global_id(1), n = get_global_id(2);
    if (p >= plane)
        return;
    const float b = has_bias ? bias[k] : 0.0f;
    const float value = rows[((ulong)k * n_count + n) * plane + p] + b;
    y[((ulong)n * k_count + k) * plane + p] = relu && isless(value, 0.0f) ? 0.0f : value;
}

/* Overwrites rows (K, N*P) with y (N, K, P). Items: (P, K, N). */
__kernel void nchw_to_rows(CONST_TENSOR(float, y), TENSOR(float, rows), int n_count, int k_count, int plane)
{
    USE_CONST(float, y);
    USE(float, rows);
    const int p = get_global_id(0), k = get_global_id(1), n = get_global_id(2);
    if (p >= plane)
        return;
    rows[((ulong)k * n_count + n) * plane + p] = y[((ulong)n * k_count + k) * plane + p];
}

/* sums (K) = or, where `add`, += the sums of rows (K, length). One item a row, in 8 lanes that are added at the
 * end: a fixed order, and less rounding than one long chain. Items: (K). */
__kernel void row_sums(CONST_TENSOR(float, rows), TENSOR(float, sums), int k_count, int length, int add)
{
    USE_CONST(float, rows);
    USE(float, sums);
    const int k = get_global_id(0);
    if (k >= k_count)
        return;
    __global const float *row = rows + (ulong)k * length;
    float8 lanes = 0.0f;
    int i = 0;
    for (; i + 8 <= length; i += 8)
        lanes += vload8(0, row + i);
    float sum = 0.0f;
    for (; i < length; i++)
        sum += row[i];
    const float4 half_lanes = lanes.lo + lanes.hi;
    sum += (half_lanes.x + half_lanes.z) + (half_lanes.y + half_lanes.w);
    sums[k] = add ? sums[k] + sum : sum;
}
