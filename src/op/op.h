/* What an op is and what it sees of graph and plan.
 *
 * Forward, backward and optimizer are all nodes of one graph, and each node's op is a `struct claret_op`.
 * An op of a network text (it has a schema) says how its outputs and parameters are shaped (`shape`) and
 * which nodes give the gradients (`backward`). Every op that computes has solvers; the plan picks one per
 * node and lets it append launches (`emit`). The last solver of an op is applicable to every problem on every
 * device. The functions claret_build_* are graph's, claret_emit_* are plan's: declared here so that ops know
 * neither.
 */
#ifndef CLARET_OP_OP_H
#define CLARET_OP_OP_H

#include "base/device.h"
#include "base/launch.h"
#include "base/shape.h"
#include "base/status.h"
#include "op/tunable.h"
#include "spec/schema.h"

#define CLARET_MAX_IN 13
#define CLARET_MAX_OUT 9
#define CLARET_MAX_CHAIN 3 /* layers that one node may stand for */

enum claret_dtype { CLARET_DTYPE_F32, CLARET_DTYPE_I32, CLARET_DTYPE_U8 };

/* The order in which images (N, C, H, W) lie in memory; shapes are written (N, C, H, W) whatever it is. */
enum claret_layout { CLARET_NCHW, CLARET_NHWC };

/* Of an op: what its outputs have. Of a solver: what it works on; the plan puts reorders around it where the
 * node's images lie otherwise. Weights are never meant. */
enum claret_layout_rule {
    CLARET_LAYOUT_NCHW,
    CLARET_LAYOUT_NHWC, /* of an op: where the graph is to be channels-last, else NCHW */
    CLARET_LAYOUT_SAME, /* whatever the first input has; all of them alike */
    CLARET_LAYOUT_EACH  /* a solver: each as it is */
};

/* Which buffer a tensor lives in. */
enum claret_home {
    CLARET_HOME_PARAMS,  /* one buffer with all parameters */
    CLARET_HOME_GRADS,   /* their gradients, in the same order at the same offsets */
    CLARET_HOME_MEANS,   /* their means over several batches, likewise */
    CLARET_HOME_STATE,   /* the optimizer's state: slots, each likewise */
    CLARET_HOME_STEP,    /* the step's changing values: cl/common.clh, STEP_* */
    CLARET_HOME_STAGE,   /* uploaded batches: claret_stage in op/batch.h */
    CLARET_HOME_TABLE,   /* constants of the session: the normalisation table */
    CLARET_HOME_CLASSES, /* constants of the session: the classes' weights in the loss */
    CLARET_HOME_DATA,    /* a data set that lives on the device … */
    CLARET_HOME_IMAGES,  /* … and a batch of it, augmented */
    CLARET_HOME_BUFFERS, /* saved state that no gradient changes: running statistics */
    CLARET_HOME_GEMM, /* CLBlast's temporary buffer: it wants a buffer of its own, so all GEMMs share one */
    CLARET_HOME_ARENA /* everything with a lifetime inside the step */
};

struct claret_tensor {
    const char *name; /* "conv1.weight", "conv1:0", "conv1.weight.grad" */
    enum claret_home home;
    enum claret_dtype dtype;
    enum claret_layout layout; /* images that live inside the step; others: CLARET_NCHW */
    struct claret_shape shape;
    int base;            /* a view: of this tensor, -1: it has memory of its own */
    int64_t base_offset; /* elements */
    float init_bound;    /* parameters: initialised uniformly in [-bound, bound) … */
    float init_value;    /* … around this; buffers: to this */
    bool updated;        /* parameters: the node that makes the gradient applies the update itself */
    float rate, decay;   /* parameters: part of the step's rate; weight decay */
    bool frozen;         /* parameters: they stay as they are, behind all others in their buffer */
};

struct claret_update;
struct claret_node {
    const struct claret_op *op;
    const char *name; /* "conv1", "conv1.dw" */
    int layer;        /* index in the network text, -1: none */
    const struct claret_attr *attr;
    const struct claret_attr
        *chain[CLARET_MAX_CHAIN - 1];   /* of the layers behind the first in a fused node */
    const struct claret_update *update; /* op/update.h; NULL: the node gives gradients */
    int in[CLARET_MAX_IN];              /* tensor ids; -1: an optional one that is not there (a bias) */
    int out[CLARET_MAX_OUT];
    int in_count, out_count;
};

struct claret_build; /* graph under construction */
struct claret_emit;  /* plan under construction */

struct claret_problem {
    const struct claret_node *node;
    const struct claret_tensor *tensors; /* by id */
    const struct claret_device_desc *device;
    struct claret_params *params; /* the solver's, to ask by claret_param(); NULL: all defaults */
};
/* What a tuning record is for, as text: equal for equal problems of different networks. */
void claret_problem_key(const struct claret_problem *problem, struct claret_text *text);

/* Whether images of that shape lie the same in every layout. */
bool claret_layout_trivial(const struct claret_shape *shape);

struct claret_solver {
    const char *name;
    enum claret_layout_rule layout;
    /* NULL: always. false: `reason` says why not. Asked with parameters too: those that do not fit together
     * or are too large for the problem are not applicable. */
    bool (*applicable)(const struct claret_problem *problem, char reason[128]);
    /* Whether it is taken where it is applicable without being asked for (forced, or found best by tuning).
     * NULL: yes. */
    bool (*unasked)(const struct claret_problem *problem);
    void (*emit)(struct claret_emit *emit, const struct claret_node *node);
    const struct claret_tunable *tunables; /* NULL: none */
    bool gemms;                            /* it goes by claret_emit_gemm() */
};

/* Kernels that fused ops are written for; a graph has those of one family, and those for any. */
enum claret_family { CLARET_FAMILY_ANY, CLARET_FAMILY_VECTORS, CLARET_FAMILY_TILES };

struct claret_op {
    const char *name;
    const struct claret_schema *schema; /* NULL: cannot be written in a network text */
    enum claret_layout_rule layout;     /* of its outputs */
    bool view;                          /* out[0] is in[0] with another shape: no launches */
    /* A fused op: the ops of successive layers that it runs as one, ending with NULL; the last may be
     * "cross_entropy", the loss. One that takes two tensors gives the node a second input. `fits` (NULL:
     * always): whether it can, by the layers' attributes and the shapes of the input and of the second one
     * (NULL: there is none). */
    const char *const *chain;
    enum claret_family family;
    bool (*fits)(const struct claret_attr *const *attrs, const struct claret_shape *in,
                 const struct claret_shape *other);
    /* Adds parameters (inputs) and outputs to the node, and maybe nodes behind it: the last one's first
     * output is the layer's. NULL for ops that no network text makes. */
    enum claret_status (*shape)(struct claret_build *build, struct claret_node *node);
    /* Adds the nodes that make the gradients of the node's inputs. NULL: has none. */
    enum claret_status (*backward)(struct claret_build *build, const struct claret_node *node);
    const struct claret_solver *const *solvers; /* best-known first, ends with NULL */
    /* Multiply-adds of one run, as the field counts them; NULL: none worth counting. */
    double (*multiply_adds)(const struct claret_node *node, const struct claret_tensor *tensors);
};

/* All ops: the lists that each src/op file defines (claret_ops_NAME, ending with NULL), in meson.build's
 * order. */
extern const struct claret_op *const *const claret_op_lists[];
const struct claret_op *claret_op_find(const char *name); /* NULL: none */
/* Schemas of the ops that a network text may name; ends with NULL. */
const struct claret_schema *const *claret_op_schemas(void);

/* ---- building: for shape() and backward() -------------------------------------------------------------- */

const struct claret_tensor *claret_build_tensor(const struct claret_build *build, int tensor);
/* Appends an output; returns its id. */
int claret_build_output(struct claret_build *build, struct claret_node *node, enum claret_dtype dtype,
                        struct claret_shape shape);
/* Appends a parameter "NODE.suffix" as input; returns its id. */
int claret_build_param(struct claret_build *build, struct claret_node *node, const char *suffix,
                       struct claret_shape shape, float init_bound);
/* The same where all values begin as `value`. */
int claret_build_constant_param(struct claret_build *build, struct claret_node *node, const char *suffix,
                                struct claret_shape shape, float value);
/* Appends a tensor "NODE.suffix" as input that is saved with the parameters, and that the node itself may
 * change: an output too, then. F32 or I32, all `value` at first. */
int claret_build_buffer(struct claret_build *build, struct claret_node *node, const char *suffix,
                        enum claret_dtype dtype, struct claret_shape shape, float value);
bool claret_build_training(const struct claret_build *build); /* with backward, else forward alone */
/* An error at the node's place in the network text; attr NULL: at the op's word. */
enum claret_status claret_build_error(const struct claret_build *build, const struct claret_node *node,
                                      const struct claret_attr *attr, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether somebody needs the gradient of `tensor`. */
bool claret_build_wants(const struct claret_build *build, int tensor);
/* The gradient of the loss by `tensor`, of the same shape: for outputs, what to read; for inputs, what to
 * write, asked once for each input (where several nodes read it, this is a part, and the parts are added). */
int claret_build_grad(struct claret_build *build, int tensor);
/* Appends a node "PARENT.suffix" with the parent's attributes; in and out are copied. */
struct claret_node *claret_build_node(struct claret_build *build, const struct claret_op *op,
                                      const struct claret_node *parent, const char *suffix, const int *in,
                                      int in_count, const int *out, int out_count);
/* Makes the gradient `to` the same as the gradient `from`, by a node of the op `view` where their layouts
 * allow. */
void claret_build_pass(struct claret_build *build, const struct claret_op *view,
                       const struct claret_node *parent, const char *suffix, int from, int to);
/* The backward of an op with in x, weight and maybe bias, out y: nodes "PARENT.dx" by `dx` (in dy, weight;
 * out dx), where dx is wanted, and "PARENT.dw" by `dw` (in x, dy; out the gradients of weight and bias). Both
 * read `mask` as well, -1: nothing. No "PARENT.dw" where both parameters are frozen. */
void claret_build_dx_dw(struct claret_build *build, const struct claret_node *node,
                        const struct claret_op *dx, const struct claret_op *dw, int mask);
/* Appends an input; -1: an optional one that is not there. */
void claret_build_input(struct claret_node *node, int tensor);
/* A tensor "NODE.suffix" between two backward nodes. */
int claret_build_between(struct claret_build *build, const struct claret_node *node, const char *suffix,
                         enum claret_dtype dtype, struct claret_shape shape);
/* Whether somebody needs the gradient of one of these (-1: not there). */
bool claret_build_wants_any(const struct claret_build *build, const int *tensors, int count);
/* Where a node gets its gradients' place from: makes `node`, which computes the gradients of `params` (-1:
 * not there), either give them (outputs: their gradients) or, where nothing else needs them and none is
 * frozen, apply the update itself (inputs: params, their optimizer state, step; outputs: what it changes of
 * these). */
void claret_build_gradients(struct claret_build *build, struct claret_node *node, const int *params,
                            int count);
/* Where `tensor` is the network's input, read by this layer alone and without a gradient: has the batch
 * loaded with its columns split by their remainder by `q` inside `padding` (cl/split_columns.cl) and returns
 * that tensor; else -1. */
int claret_build_split_input(struct claret_build *build, int tensor, int64_t q, const int64_t padding[2]);
/* The labels and the step's words: what a loss needs. */
int claret_build_labels(const struct claret_build *build);
int claret_build_step(const struct claret_build *build);

/* ---- emitting: for solvers ----------------------------------------------------------------------------- */
/* These never fail visibly: an error is kept and ends the plan's making. */

const struct claret_tensor *claret_emit_tensor(const struct claret_emit *emit, int tensor);
const struct claret_device_desc *claret_emit_device(const struct claret_emit *emit);
/* Bytes that one node's workspace should stay under (im2col's columns are cut into chunks for it). */
uint64_t claret_emit_workspace_limit(const struct claret_emit *emit);
/* The value of the solver's tunable `name`: forced, or tuned, or `normal`, which is its default here. */
int64_t claret_emit_tunable(struct claret_emit *emit, const char *name, int64_t normal);
/* All that were chosen, for functions that `applicable` shares (claret_param()). */
struct claret_params *claret_emit_params(struct claret_emit *emit);
/* A tensor that lives for the node's launches only. */
int claret_emit_temp(struct claret_emit *emit, enum claret_dtype dtype, int64_t count);
/* Such a one of the same type and shape as `tensor`. */
int claret_emit_temp_like(struct claret_emit *emit, int tensor, enum claret_layout layout);
/* A kernel of cl/`source`.cl; `what` is for people ("im2col"). Fill it with the functions below. */
struct claret_kernel_call *claret_emit_kernel(struct claret_emit *emit, const char *what, const char *source,
                                              const char *entry);
/* A GEMM: by a solver of op/gemm.h, forced, tuned or the first applicable one. The node's solver has to say
 * that it has such ones (`gemms`). */
void claret_emit_gemm(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm);
/* The record itself, for rt's GEMM library, with the workspace that it asks for. */
void claret_emit_gemm_record(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm);
/* Arithmetic and least traffic of the launch emitted last: what bench and show report. */
void claret_emit_cost(struct claret_emit *emit, double flops, double bytes);

void claret_kernel_define(struct claret_kernel_call *call, const char *name, int64_t value);
void claret_kernel_define_float(struct claret_kernel_call *call, const char *name, float value);
void claret_kernel_tensor(struct claret_kernel_call *call, int tensor, int64_t offset);
void claret_kernel_int(struct claret_kernel_call *call, int64_t value); /* must fit 32 bits */
void claret_kernel_float(struct claret_kernel_call *call, float value);
/* One dimension of `items` work-items, `local` a group as a wish. */
void claret_kernel_range(struct claret_kernel_call *call, int64_t items, size_t local);
/* Three dimensions, a group `local` wide in the first. Extents must fit 31 bits. */
void claret_kernel_range3(struct claret_kernel_call *call, int64_t x, int64_t y, int64_t z, size_t local);

#endif
