/* The norm of all gradients, and what brings it down (src/op/clip_norm.c). Defines: PARTS, a multiple of 4. */

/* Overwrites parts (PARTS): part i is the sum of the squares of grads (count) i, i + PARTS, ... Items: (PARTS). */
__kernel void clip_norm_squares(CONST_TENSOR(float, grads), TENSOR(float, parts), int count)
{
    USE_CONST(float, grads);
    USE(float, parts);
    const int i = get_global_id(0);
    if (i >= PARTS)
        return;
    float sum = 0.0f;
    for (int j = i; j < count; j += PARTS)
        sum = fma(grads[j], grads[j], sum);
    parts[i] = sum;
}

/* Overwrites scale (1): 1, or less where the norm is above `most`. One item. */
__kernel void clip_norm_scale(CONST_TENSOR(float, parts), TENSOR(float, scale), float most)
{
    USE_CONST(float, parts);
    USE(float, scale);
    if (get_global_id(0) > 0)
        return;
    float4 sum = (float4)(0.0f);
    for (int i = 0; i < PARTS / 4; i++)
        sum += vload4(i, parts);
    const float by = most / (sqrt(sum.x + sum.y + (sum.z + sum.w)) + 1e-6f);
    scale[0] = isgreater(by, 1.0f) ? 1.0f : by; /* not a number stays that */
}
