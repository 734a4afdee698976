/* y = max(x, 0), NaN kept. Overwrites y. Items: (count). */
__kernel void relu(CONST_TENSOR(float, x), TENSOR(float, y), int count)
{
    USE_CONST(float, x);
    USE(float, y);
    const int i = get_global_id(0);
    if (i < count)
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

/* dx = dy where y > 0 (or NaN), else 0. Overwrites dx. Items: (count). */
__kernel void relu_dx(CONST_TENSOR(float, y), CONST_TENSOR(float, dy), TENSOR(float, dx), int count)
{
    USE_CONST(float, y);
    USE_CONST(float, dy);
    USE(float, dx);
    const int i = get_global_id(0);
    if (i < count)
        dx[i] = y[i] <= 0.0f ? 0.0f : dy[i];
}

#ifdef LANES
#define BLOCK 2048

/* The same for devices whose work-items own wide vectors: an item does BLOCK elements. Items: (ceil(count / BLOCK)). */
__kernel void relu_vectors(CONST_TENSOR(float, x), TENSOR(float, y), int count)
{
    USE_CONST(float, x);
    USE(float, y);
    const int first = (int)get_global_id(0) * BLOCK;
    for (int i = first; i < min(first + BLOCK, count); i += LANES) {
        const FLOATS value = LOAD(x + i);
        const FLOATS cut = isless(value, (FLOATS)0.0f) ? (FLOATS)0.0f : value;
        if (i + LANES <= count)
            STORE(cut, y + i);
        else
            STORE_SOME(float, cut, y + i, count - i);
    }
}

__kernel void relu_dx_vectors(CONST_TENSOR(float, y), CONST_TENSOR(float, dy), TENSOR(float, dx), int count)
{
    USE_CONST(float, y);
    USE_CONST(float, dy);
    USE(float, dx);
    const int first = (int)get_global_id(0) * BLOCK;
    for (int i = first; i < min(first + BLOCK, count); i += LANES) {
        const FLOATS value = islessequal(LOAD(y + i), (FLOATS)0.0f) ? (FLOATS)0.0f : LOAD(dy + i);
        if (i + LANES <= count)
            STORE(value, dx + i);
        else
            STORE_SOME(float, value, dx + i, count - i);
    }
}
#endif
