#include "op/elementwise.h"

#include "op/vectors.h"

struct claret_kernel_call *claret_elementwise_emit(struct claret_emit *emit, const char *source,
                                                   const char *entry, bool vectors, const int *in,
                                                   int in_count, int out, double flops)
{
    int64_t count = claret_shape_count(&claret_emit_tensor(emit, out)->shape);
    struct claret_kernel_call *call = claret_emit_kernel(emit, source, source, entry);
    if (vectors)
        claret_kernel_define(call, "LANES", claret_vector_lanes(claret_emit_device(emit), count));
    for (int i = 0; i < in_count; i++)
        claret_kernel_tensor(call, in[i], 0);
    claret_kernel_tensor(call, out, 0);
    claret_kernel_int(call, count);
    if (vectors)
        claret_kernel_range(call, (count + CLARET_ELEMENTS - 1) / CLARET_ELEMENTS, 1);
    else
        claret_kernel_range(call, count, 64);
    claret_emit_cost(emit, flops * (double)count, 4.0 * (double)count * (in_count + 1));
    return call;
}

bool claret_elementwise_vectors(const struct claret_problem *problem, char reason[128])
{
    return claret_vector_device(problem->device, reason);
}
