/* One node of a graph, or all of them, on a device by given choices: made ready, run, its outputs compared,
 * timed. In the worker's process. */
#ifndef CLARET_TUNE_SUBJECT_H
#define CLARET_TUNE_SUBJECT_H

#include "rt/rt.h"

#define CLARET_WHOLE_STEP (-1) /* as a node: all of them */

struct claret_subject {
    struct claret_rt *rt;
    const struct claret_graph *graph;
    int node;
    struct claret_plan *plan, before_part, own_part;
    struct claret_pool *pool;
    struct claret_exec *before, *own; /* the launches of the nodes before it; its own */
};

/* `options` choose the solvers. Builds and places; runs nothing. */
enum claret_status claret_subject_create(struct claret_rt *rt, const struct claret_graph *graph,
                                         const struct claret_plan_options *options, int node,
                                         struct claret_subject *subject);
void claret_subject_destroy(struct claret_subject *subject);
/* From a fresh state (random parameters and images, the same each time) runs all nodes up to this one, and
 * it. */
enum claret_status claret_subject_run(struct claret_subject *subject);
/* A node's outputs on the host. */
struct claret_outputs {
    int count;
    void *data[CLARET_MAX_OUT]; /* NULL: not in the plan */
    size_t bytes[CLARET_MAX_OUT];
};
enum claret_status claret_subject_outputs(struct claret_subject *subject, struct claret_outputs *outputs);
void claret_outputs_free(struct claret_outputs *outputs);
/* Where `got`, the node's outputs, do not agree with `want`; "" where they do. */
void claret_outputs_compare(const struct claret_subject *subject, const struct claret_outputs *got,
                            const struct claret_outputs *want, char where[200]);
/* Changes an output (tests of the comparison). */
void claret_outputs_spoil(struct claret_outputs *outputs);
/* Seconds that the node's launches take, the mean over as many runs as fill about `least` seconds. */
enum claret_status claret_subject_time(struct claret_subject *subject, double least, double *seconds);

#endif
