/* Stochastic gradient descent over a run of parameters. Changes params and state. Items: (count). */
__kernel void sgd(TENSOR(float, params), CONST_TENSOR(float, grads), TENSOR(float, state),
                  CONST_TENSOR(uint, step), int count, float momentum, float keep, float weight_decay)
{
    USE(float, params);
    USE_CONST(float, grads);
    USE(float, state);
    USE_CONST(uint, step);
    const int i = get_global_id(0);
    if (i < count)
        sgd_step(params + i, grads[i], state + i, step, momentum, keep, weight_decay);
}
