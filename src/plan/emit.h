/* A plan under construction: shared by emit.c and plan.c. */
#ifndef CLARET_PLAN_EMIT_H
#define CLARET_PLAN_EMIT_H

#include "plan/plan.h"

struct claret_emit {
    struct claret_plan *plan;
    const struct claret_plan_options *options;
    struct claret_tensor *tensors; /* plan->tensors, writable */
    int tensor_capacity, launch_capacity;
    int node; /* the node being emitted */
    const char *solver;
    enum claret_status status; /* the first error; what is emitted after it goes nowhere */
    struct claret_launch sink; /* … goes here */
};

/* The forced solver's name for `node`, among those with `prefix` ("" or "gemm:"), behind the prefix; NULL:
 * none. */
const char *claret_plan_forced(const struct claret_plan_options *options, const struct claret_graph *graph,
                               const struct claret_node *node, const char *prefix);
/* Lets `solver` emit `node`, with reorders of the images around it where it works in another layout. */
void claret_emit_in_layout(struct claret_emit *emit, const struct claret_node *node,
                           const struct claret_solver *solver);
/* Every launch's numbers are in range. */
enum claret_status claret_emit_check(const struct claret_emit *emit, int first_launch);
/* Places every tensor (memory.c). */
enum claret_status claret_plan_place(struct claret_plan *plan, const struct claret_plan_options *options);
/* The tensor whose memory `tensor` is a view of; itself where it has its own. */
int claret_plan_root(const struct claret_plan *plan, int tensor);

#endif
