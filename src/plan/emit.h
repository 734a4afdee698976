/* A plan under construction: shared by emit.c and plan.c. */
#ifndef CLARET_PLAN_EMIT_H
#define CLARET_PLAN_EMIT_H

#include "plan/plan.h"

struct claret_emit {
    struct claret_plan *plan;
    const struct claret_plan_options *options;
    struct claret_tensor *tensors; /* plan->tensors, writable */
    int tensor_capacity, launch_capacity, gemm_capacity;
    int node; /* the node being emitted */
    const char *solver;
    struct claret_params *params; /* of the solver that is emitting */
    enum claret_status status;    /* the first error; what is emitted after it goes nowhere */
    struct claret_launch sink;    /* … goes here */
};

/* The solver for a node, or for a GEMM of the node being emitted (choose.c). */
enum claret_status claret_plan_choose(struct claret_emit *emit, const struct claret_node *node,
                                      struct claret_plan_choice *choice);
enum claret_status claret_plan_choose_gemm(struct claret_emit *emit, const struct claret_gemm_call *gemm,
                                           struct claret_plan_choice *choice);
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
