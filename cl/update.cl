/* The optimizer's update (cl/common.clh) of a run of parameters. Changes params and state. Items: (count).
 *
 * Defines: ACCUMULATE: only in a step without STEP_MORE; CLIP_NORM: gradients are multiplied with scale (1), which else
 * is not read; CLIP_VALUE: they are cut to `most` in size. */
__kernel void update(TENSOR(float, params), CONST_TENSOR(float, grads), TENSOR(float, state),
                     CONST_TENSOR(float, scale), CONST_TENSOR(uint, step), int count, float most,
                     GROUP_PARAMETERS(param), UPDATE_PARAMETERS)
{
    USE(float, params);
    USE_CONST(float, grads);
    USE(float, state);
    USE_CONST(uint, step);
    const int i = get_global_id(0);
    if (i >= count)
        return;
#if ACCUMULATE
    if (step[STEP_MORE])
        return;
#endif
    float g = grads[i];
#if CLIP_NORM
    USE_CONST(float, scale);
    g *= scale[0];
#endif
#if CLIP_VALUE
    g = isgreater(g, most) ? most : isless(g, -most) ? -most : g; /* not a number stays that */
#endif
    update_one(params + i, g, state + i, step, UPDATE_ARGUMENTS(param));
}
