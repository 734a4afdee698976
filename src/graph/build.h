/* A graph under construction: shared by graph.c and autodiff.c. */
#ifndef CLARET_GRAPH_BUILD_H
#define CLARET_GRAPH_BUILD_H

#include "graph/graph.h"

/* Where several nodes read a tensor, each gives a part of its gradient. */
struct claret_grad_part {
    struct claret_grad_part *next;
    int tensor;
};

struct claret_build {
    struct claret_graph *graph;
    const struct claret_graph_options *options;
    int tensor_capacity, node_capacity;
    int64_t param_elements;            /* in all_params so far, of those that are trained … */
    int64_t frozen_elements;           /* … and of the others */
    bool *wants;                       /* by tensor: a gradient is needed */
    int *grad;                         /* by tensor: its gradient's id, -1: none yet */
    int *readers;                      /* by tensor: inputs of nodes with a backward that it is */
    struct claret_grad_part **parts;   /* by tensor: what its readers give of its gradient */
    const struct claret_node *current; /* the node whose backward is being made */
    int input_uses;                    /* layers that read the network's input */
    int stage_slots;                   /* op/batch.h */
    struct claret_update *update;      /* what the optimizer does */
    bool failed;                       /* out of memory, or a layer made more tensors than any may */
    bool too_large;                    /* a tensor was; the error is recorded */
};

/* A text that lives as long as the graph; never NULL: without memory the build fails in the end. */
const char *claret_build_name(struct claret_build *build, const char *format, ...) CLARET_PRINTF(2, 3);
/* A tensor with memory of its own; its name is copied. */
int claret_build_add_tensor(struct claret_build *build, const char *name, enum claret_home home,
                            enum claret_dtype dtype, struct claret_shape shape);
/* A node outside the network text. */
struct claret_node *claret_build_add_node(struct claret_build *build, const struct claret_op *op,
                                          const char *name, int layer, const struct claret_attr *attr);
/* Elements that a tensor of so many takes in a whole buffer. */
int64_t claret_build_padded(int64_t count);
/* What the optimizer does to these parameters (-1: not there) of a node, or to runs of such. */
const struct claret_update *claret_build_update(struct claret_build *build, const int *params, int count);
/* A view of the optimizer's state in `slot`, of the elements from `first` on. */
int claret_build_state(struct claret_build *build, int slot, const char *name, int64_t first,
                       struct claret_shape shape);
/* The nodes of the spec's layers; the logits, or the losses where a fused op has them. */
enum claret_status claret_build_layers(struct claret_build *build);
/* Makes the gradient of a tensor that several nodes read, once all have given their parts. */
void claret_build_sum_parts(struct claret_build *build, int tensor);
/* The backward nodes of all nodes so far, in reverse order, from the gradient of the logits on. */
enum claret_status claret_build_backward(struct claret_build *build);

/* For each run of parameters that no other node updates one that does. */
void claret_build_updates(struct claret_build *build);

#endif
