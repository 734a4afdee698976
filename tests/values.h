/* The tensors of a graph as doubles on the host, for the reference functions. */
#ifndef CLARET_TESTS_VALUES_H
#define CLARET_TESTS_VALUES_H

#include "base/rng.h"
#include "graph/graph.h"

struct claret_values {
    const struct claret_graph *graph; /* borrowed */
    double **at;                      /* by tensor id; a view points into its base */
    int64_t *count;                   /* elements, by tensor id */
};

/* All zero. NULL: out of memory. */
struct claret_values *claret_values_create(const struct claret_graph *graph);
void claret_values_destroy(struct claret_values *values);

/* Runs the node's reference function; false: the op has none. A view needs no work. */
bool claret_values_run(struct claret_values *values, const struct claret_node *node);
/* What its outputs' errors scale with (claret_ref_scale), into `scale`, by output. false: none, or out of
 * memory. */
bool claret_values_scale(const struct claret_values *values, const struct claret_node *node,
                         double *const *scale);

/* Uniform in [-1, 1), a float's value exactly; `grid` > 0: multiples of 1 / grid instead, so that equals are
 * common. */
void claret_values_random(struct claret_values *values, int tensor, struct claret_rng *rng, int grid);
/* The classes' weights in the loss, where there are. */
void claret_values_class_weights(struct claret_values *values, struct claret_rng *rng);
/* `size` bytes of data as values of a tensor of bytes, or a part of one. */
void claret_values_bytes(double *values, const void *data, size_t size);
/* Labels that fit the graph's logits. */
void claret_values_labels(struct claret_values *values, struct claret_rng *rng);

/* Bytes of an element. */
size_t claret_dtype_size(enum claret_dtype dtype);
/* Between doubles and what lies on a device. The step buffer's words are floats or integers each by its kind.
 */
void claret_values_pack(const struct claret_values *values, int tensor, void *memory);
void claret_values_unpack(const struct claret_values *values, int tensor, const void *memory, double *value);

#endif
