/* Naive forward and backward of each op in double: what tests and `doctor` compare with. Neither fast nor clever. */
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
};
/* The lists that each src/ref file defines: claret_ref_NAME. */
extern const struct claret_ref *const claret_ref_lists[];
claret_ref_fn claret_ref_find(const char *op); /* NULL: none */

#endif
