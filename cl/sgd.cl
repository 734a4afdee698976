/* Stochastic gradient descent over all parameters at once (formulas: src/op/sgd.c). Changes params and state.
 * Defines: MOMENTUM, NESTEROV: 0 or 1. Items: (count). */
#ifndef MOMENTUM
#define MOMENTUM 0
#endif
#ifndef NESTEROV
#define NESTEROV 0
#endif

__kernel void sgd(TENSOR(float, params), CONST_TENSOR(float, grads), TENSOR(float, state),
                  CONST_TENSOR(uint, step), int count, float momentum, float keep, float weight_decay)
{
    USE(float, params);
    USE_CONST(float, grads);
    USE_CONST(uint, step);
    const int i = get_global_id(0);
    if (i >= count)
        return;
    const float p = params[i];
    float g = grads[i] + weight_decay * p;
#if MOMENTUM
    USE(float, state);
    const float v = step[STEP_FIRST] ? g : momentum * state[i] + keep * g;
    state[i] = v;
    g = NESTEROV ? g + momentum * v : v;
#endif
    params[i] = p - as_float(step[STEP_LR]) * g;
}
