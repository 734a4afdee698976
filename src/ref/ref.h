/* Naive forward and backward of each op in double: what tests and `doctor` compare with. Neither fast nor
 * clever. */
#ifndef CLARET_REF_REF_H
#define CLARET_REF_REF_H

#include "op/op.h"

/* in[i], out[i]: the node's tensors as doubles (labels and uint8 too), NULL where the id is -1.
 * Reads all of `in`, overwrites all of `out`. */
typedef void (*claret_ref_fn)(const struct claret_node *node, const struct claret_tensor *tensors,
                              const double *const *in, double *const *out);
struct claret_ref {
    const char *op; /* NULL ends a list */
    claret_ref_fn run;
    claret_ref_fn scale; /* as claret_ref_scale() below; NULL: the op's outputs are sums of products */
};
/* The lists that each src/ref file defines: claret_ref_NAME. */
extern const struct claret_ref *const claret_ref_lists[];
const struct claret_ref *claret_ref_find(const char *op); /* NULL: none */

/* Fills `out` with what the rounding errors of each value of the node's outputs are proportional to: for a
 * sum, the sum of its terms' sizes. */
enum claret_status claret_ref_scale(const struct claret_ref *ref, const struct claret_node *node,
                                    const struct claret_tensor *tensors, const double *const *in,
                                    double *const *out);
/* A `scale` for ops that compute nothing, they only choose among values: 0. */
void claret_ref_exact(const struct claret_node *node, const struct claret_tensor *tensors,
                      const double *const *in, double *const *out);

/* Fused with a ReLU: out[0] cut by it; and in[dy] where in[2], its output, let it pass (malloc'ed, NULL: no
 * memory), a copy of in[dy] where the node has no such input. */
void claret_ref_cut(const struct claret_node *node, const struct claret_tensor *tensors, double *const *out);
double *claret_ref_masked(const struct claret_node *node, const struct claret_tensor *tensors, int dy,
                          const double *const *in);

#endif
