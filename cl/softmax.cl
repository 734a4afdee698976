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

#ifdef LANES
/* The same where channels are neighbours, for devices whose work-items own wide vectors: lanes are channels, an item has `rows` of the
 * count. Items: (ceil(count / rows)). */

/* The largest of the lanes. */
float largest_lane(FLOATS v);
float largest_lane(FLOATS v)
{
    float lanes[LANES];
    STORE(v, lanes);
    float largest = lanes[0];
#pragma unroll
    for (int i = 1; i < LANES; i++)
        largest = fmax(largest, lanes[i]);
    return largest;
}

__kernel void softmax_channels(CONST_TENSOR(float, x), TENSOR(float, y), int channels, int count, int rows)
{
    USE_CONST(float, x);
    USE(float, y);
    const int begin = (int)get_global_id(0) * rows, end = min(begin + rows, count);
    const int whole = (channels - 1) / LANES * LANES; /* the last vector, maybe not full, stays in a register */
    x += (ulong)begin * channels;
    y += (ulong)begin * channels;
    for (int row = begin; row < end; row++, x += channels, y += channels) {
        FLOATS most = UP_TO(channels - whole, LOAD(x + whole), -INFINITY);
        for (int c = 0; c < whole; c += LANES)
            most = fmax(most, LOAD(x + c));
        const float largest = largest_lane(most);
        const FLOATS last = UP_TO(channels - whole, exp(LOAD(x + whole) - largest), 0.0f);
        FLOATS sums = last;
        for (int c = 0; c < whole; c += LANES) {
            const FLOATS value = exp(LOAD(x + c) - largest);
            STORE_FLOATS(value, y + c);
            sums += value;
        }
        const float sum = sum_lanes(sums);
        for (int c = 0; c < whole; c += LANES)
            STORE_FLOATS(LOAD(y + c) / sum, y + c);
        const int c = whole;
        STORE_CHANNELS(last / sum, y + c);
    }
}

__kernel void softmax_dx_channels(CONST_TENSOR(float, y), CONST_TENSOR(float, dy), TENSOR(float, dx), int channels, int count,
                                  int rows)
{
    USE_CONST(float, y);
    USE_CONST(float, dy);
    USE(float, dx);
    const int begin = (int)get_global_id(0) * rows, end = min(begin + rows, count);
    y += (ulong)begin * channels;
    dy += (ulong)begin * channels;
    dx += (ulong)begin * channels;
    for (int row = begin; row < end; row++, y += channels, dy += channels, dx += channels) {
        FLOATS sums = 0.0f;
        for (int c = 0; c < channels; c += LANES)
            sums += UP_TO(channels - c, LOAD(dy + c) * LOAD(y + c), 0.0f);
        const float sum = sum_lanes(sums);
        for (int c = 0; c < channels; c += LANES)
            STORE_CHANNELS(LOAD(y + c) * (LOAD(dy + c) - sum), dx + c);
    }
}
#endif
