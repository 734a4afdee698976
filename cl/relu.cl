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
