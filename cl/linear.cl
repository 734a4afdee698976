/* Around the GEMMs of a fully connected layer. */

/* y (N, O) += bias (O) in every row where has_bias, then cut by ReLU where relu. Items: (O, N). */
__kernel void add_bias(CONST_TENSOR(float, bias), TENSOR(float, y), int o_count, int has_bias, int relu)
{
    USE_CONST(float, bias);
    USE(float, y);
    const int o = get_global_id(0), n = get_global_id(1);
    if (o >= o_count)
        return;
    const ulong at = (ulong)n * o_count + o;
    const float value = has_bias ? y[at] + bias[o] : y[at];
    y[at] = relu && isless(value, 0.0f) ? 0.0f : value;
}

/* Overwrites sums (O) with the sums over the batch of dy (N, O). Items: (O). */
__kernel void column_sums(CONST_TENSOR(float, dy), TENSOR(float, sums), int n_count, int o_count)
{
    USE_CONST(float, dy);
    USE(float, sums);
    const int o = get_global_id(0);
    if (o >= o_count)
        return;
    float sum = 0.0f;
    for (int n = 0; n < n_count; n++)
        sum += dy[(ulong)n * o_count + o];
    sums[o] = sum;
}
