/* The ways to run a graph's nodes: solver by solver, GEMM by GEMM, whole and in chunks. */
#ifndef CLARET_TESTS_OP_CONFIGS_H
#define CLARET_TESTS_OP_CONFIGS_H

#include "base/rng.h"
#include "node_run.h"

#define OP_CONFIGS 32

struct op_config {
    char name[100];
    struct claret_node_run run;
};

struct op_configs {
    struct claret_rt *rt;
    const struct claret_graph *graph;
    const char *name;       /* of the case, and */
    int index;              /* its number */
    struct claret_rng *rng; /* for parameters */
    bool drawn;             /* with drawn parameters as well */
    bool own_family;        /* without the other device class's solvers */
    bool own_layout; /* only solvers that can work on NHWC as it is: how images are reordered around the
                        others shows in the chains */
    struct op_config config[OP_CONFIGS];
    int count;
    long failures; /* plans that could not be made; they were printed */
};
/* The others' fields are given. */
void op_configs_make(struct op_configs *configs);
void op_configs_finish(struct op_configs *configs);

#endif
