/* Gradients of several batches (src/op/accumulate.c). Reads grads (count), changes mean (count). Items: (count). */
__kernel void accumulate(CONST_TENSOR(float, grads), TENSOR(float, mean), CONST_TENSOR(uint, step), int count)
{
    USE_CONST(float, grads);
    USE(float, mean);
    USE_CONST(uint, step);
    const int i = get_global_id(0);
    if (i >= count)
        return;
    const float weight = as_float(step[STEP_WEIGHT]), g = grads[i];
    mean[i] = weight == 1.0f ? g : fma(weight, g - mean[i], mean[i]);
}
