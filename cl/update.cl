/* The optimizer's update (cl/common.clh) of a run of parameters. Changes params and state. Items: (count). */
__kernel void update(TENSOR(float, params), CONST_TENSOR(float, grads), TENSOR(float, state),
                     CONST_TENSOR(uint, step), int count, UPDATE_PARAMETERS)
{
    USE(float, params);
    USE_CONST(float, grads);
    USE(float, state);
    USE_CONST(uint, step);
    const int i = get_global_id(0);
    if (i < count)
        update_one(params + i, grads[i], state + i, step, UPDATE_ARGUMENTS);
}
