/* An average of the parameters (src/op/ema.c). Reads params (count), changes average (count). Items: (count).
 *
 * Defines: ACCUMULATE: only in a step without STEP_MORE. */
__kernel void ema(CONST_TENSOR(float, params), TENSOR(float, average), CONST_TENSOR(uint, step), int count, float part)
{
    USE_CONST(float, params);
    USE(float, average);
    USE_CONST(uint, step);
    const int i = get_global_id(0);
    if (i >= count)
        return;
#if ACCUMULATE
    if (step[STEP_MORE])
        return;
#endif
    average[i] = step[STEP_FIRST] ? params[i] : fma(part, params[i] - average[i], average[i]);
}
