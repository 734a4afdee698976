/* The training graph of a network at one batch size: nodes in execution order, tensors by id. */
#ifndef CLARET_GRAPH_GRAPH_H
#define CLARET_GRAPH_GRAPH_H

#include "base/arena.h"
#include "op/loss.h"
#include "op/op.h"
#include "op/update.h"
#include "spec/spec.h"

struct claret_graph_options {
    int64_t batch;
    bool training;      /* with loss, backward, update; else forward only */
    bool input_grad;    /* also the gradient of the input (tests) */
    bool fuse;          /* runs of layers become fused nodes where an op for them fits */
    bool tiles;         /* fused ops are those for GPUs' tiles, not those for wide vectors */
    bool fuse_update;   /* nodes that can apply the update to their parameters do */
    bool channels_last; /* ops that can work on images (N, H, W, C) do */
    bool f32_images;    /* batches come as float32, else uint8 */
    int64_t resident;   /* bytes of the data set that lives on the device, 0: none does */
    int augment;        /* bits of claret_augment_kinds: done to its images there; 0: nothing is */
    struct claret_optimizer optimizer;
    struct claret_loss loss;
    double clip_norm, clip_value; /* op/update.h */
    double ema;                   /* likewise */
    bool accumulate;              /* likewise */
    const char *lr_for; /* "PATTERN=X,…": parameters' part of the step's rate is X / lr; NULL, "": 1 */
    double lr;
    bool no_decay_norm_bias; /* no weight decay on parameters of norms and biases */
    const char *freeze;      /* parameters that stay as they are: patterns (base/pattern.h); NULL, "": none */
};

struct claret_graph {
    struct claret_arena arena;
    const struct claret_spec *spec; /* borrowed: outlives the graph */
    int64_t batch, classes;
    bool training;
    struct claret_tensor *tensors;
    struct claret_node *nodes;
    int tensor_count, node_count;
    /* Tensor ids; -1 where the graph has none. */
    int step, stage, table;    /* whole buffers */
    int data, augmented;       /* the data set on the device, a batch of it */
    int load;                  /* the node that loads the batch */
    int class_weights;         /* (classes), in the loss */
    int input, labels, logits; /* (N,C,H,W), or split by columns for a fused first layer; (N); (N,classes),
                                  logits -1: they stay inside a fused loss */
    int losses, input_grad;    /* (N) per image; (N,C,H,W) */
    int all_params, all_grads, all_state; /* whole buffers, flat */
    int ema;                              /* average of the parameters that are trained, -1: none is kept */
    int *params, *grads; /* param_count each, in the network's order; a frozen one's gradient: -1 */
    int param_count;
    int all_buffers, *buffers,
        buffer_count; /* state that no gradient changes: the whole, -1: none; its parts */
};

/* `spec` must outlive the graph. CLARET_SHAPE, CLARET_NETWORK. */
enum claret_status claret_graph_create(const struct claret_spec *spec,
                                       const struct claret_graph_options *options,
                                       struct claret_graph **graph);
void claret_graph_destroy(struct claret_graph *graph);
/* id of the tensor of that name, -1: none */
int claret_graph_find(const struct claret_graph *graph, const char *name);

#endif
