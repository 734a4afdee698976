/* One node of a graph on a device, between sentinels. */
#ifndef CLARET_TESTS_NODE_RUN_H
#define CLARET_TESTS_NODE_RUN_H

#include "plan/plan.h"
#include "rt/rt.h"
#include "values.h"

/* A plan with its buffers on a device and two images of them on the host. */
struct claret_node_run {
    struct claret_plan *plan;
    struct claret_pool *pool;
    unsigned char *before[CLARET_PLAN_MAX_BUFFERS], *after[CLARET_PLAN_MAX_BUFFERS];
};

enum claret_status claret_node_run_create(struct claret_rt *rt, const struct claret_graph *graph,
                                          const struct claret_plan_options *options,
                                          struct claret_node_run *run);
void claret_node_run_finish(struct claret_node_run *run);

/* Fills all buffers with a pattern (a NaN for whoever reads it as a float), writes the node's inputs from
 * `values`, runs the node's launches and nothing else, and reads all buffers back. */
enum claret_status claret_node_run_execute(struct claret_node_run *run, int node,
                                           const struct claret_values *values);
/* The node's output, count of values as doubles. */
void claret_node_run_output(const struct claret_node_run *run, int tensor, const struct claret_values *values,
                            double *value);
/* Where the last execution changed a byte that is neither the node's output nor its workspace; false:
 * nowhere. */
bool claret_node_run_trespass(struct claret_node_run *run, int node, char where[200]);
/* What nodes launched; NULL: nothing yet. */
struct claret_launched;
/* Whether the node's launches are like some before, on values of that kind; if not, they are added. */
bool claret_launched_before(struct claret_launched **launched, const struct claret_plan *plan, int node,
                            int kind);
void claret_launched_forget(struct claret_launched **launched);

#endif
