/* Kernels that make each element of a tensor from those at the same place in others. */
#ifndef CLARET_OP_ELEMENTWISE_H
#define CLARET_OP_ELEMENTWISE_H

#include "op/op.h"

/* Emits kernel `entry` of cl/`source`.cl; with `vectors` it does CLARET_ELEMENTS of them an
 * item and gets LANES: its arguments are the `in_count` tensors of `in`, `out` and the count of elements. The
 * launch's record is returned for defines of its own. All tensors lie alike. `flops`: for one element. */
struct claret_kernel_call *claret_elementwise_emit(struct claret_emit *emit, const char *source,
                                                   const char *entry, bool vectors, const int *in,
                                                   int in_count, int out, double flops);
#define CLARET_ELEMENTS 2048
/* A solver's `applicable` for the kernels with vectors. */
bool claret_elementwise_vectors(const struct claret_problem *problem, char reason[128]);

#endif
