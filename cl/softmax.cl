/* Softmax over channels: x, y, dy, dx (outer, channels, inner), where flat tensors and images in NHWC have 1 inner one. */

/* y = exp(x - max) / sum. Overwrites y. Items: (inner, outer). */
__kernel void softmax(CONST_TENSOR(float, x), TENSOR(float, y), int channels, int inner)
{
    USE_CONST(float, x);
    USE(float, y);
    const int i = get_global_id(0);
    if (i >= inner)
        return;
    const ulong first = (ulong)get_global_id(1) * channels * inner + i;
    float largest = x[first], sum = 0.0f;
    for (int c = 1; c < channels; c++)
        largest = fmax(largest, x[first + (ulong)c * inner]);
    for (int c = 0; c < channels; c++) {
        const float value = exp(x[first + (ulong)c * inner] - largest);
        y[first + (ulong)c * inner] = value;
        sum += value;
    }
    for (int c = 0; c < channels; c++)
        y[first + (ulong)c * inner] /= sum;
}

/* dx = y * (dy - sum of dy * y). Overwrites dx. Items: (inner, outer). */
__kernel void softmax_dx(CONST_TENSOR(float, y), CONST_TENSOR(float, dy), TENSOR(float, dx), int channels, int inner)
{
    USE_CONST(float, y);
    USE_CONST(float, dy);
    USE(float, dx);
    const int i = get_global_id(0);
    if (i >= inner)
        return;
    const ulong first = (ulong)get_global_id(1) * channels * inner + i;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        sum = fma(dy[first + (ulong)c * inner], y[first + (ulong)c * inner], sum);
    for (int c = 0; c < channels; c++) {
        const ulong at = first + (ulong)c * inner;
        dx[at] = y[at] * (dy[at] - sum);
    }
}
