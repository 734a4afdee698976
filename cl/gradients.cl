/* How the gradients of a weight and a bias end whose sums were made in parts (cl/common.clh, GRADIENT_PARAMETERS): parts
 * (chunks, weights + biases) are added in their order; the sums are the gradients, or with UPDATE the parameters
 * are updated by them. Items: (weights + biases). */
#ifndef UPDATE
#define UPDATE 0
#endif
__kernel void sum_gradients(CONST_TENSOR(float, parts), GRADIENT_PARAMETERS, int weights, int biases, int chunks)
{
    USE_CONST(float, parts);
    const int i = get_global_id(0), part = weights + biases;
    if (i >= part)
        return;
    float g = 0.0f;
    for (int chunk = 0; chunk < chunks; chunk++)
        g += parts[(ulong)chunk * part + i];
    if (i < weights)
        FINISH(weight, i, g);
    else
        FINISH(bias, i - weights, g);
}
