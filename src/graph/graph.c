#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "graph/build.h"
#include "op/augment.h"
#include "op/batch.h"
#include "op/update.h"

/* More than any layer makes: outputs, parameters, and the gradients of both. */
#define TENSORS_PER_LAYER (2 * (CLARET_MAX_IN + CLARET_MAX_OUT))
#define NODES_PER_LAYER 8
#define FIXED 32 /* tensors and nodes that belong to no layer */

/* Values of one image, or of one parameter: below this, no product of sizes overflows 64 bits. */
#define MAX_VALUES INT32_MAX

/* Parameters start at multiples of 32 floats, 128 bytes: any device's vector or cache line. The gaps stay 0.
 */
#define PARAM_ALIGN 32

int64_t claret_build_padded(int64_t count)
{
    return (count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
}

/* ---- adding ---- */

const char *claret_build_name(struct claret_build *build, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *name = claret_arena_strdup(&build->graph->arena, text);
    if (!name)
        build->failed = true;
    return name ? name : "";
}

int claret_build_add_tensor(struct claret_build *build, const char *name, enum claret_home home,
                            enum claret_dtype dtype, struct claret_shape shape)
{
    struct claret_graph *graph = build->graph;
    if (graph->tensor_count == build->tensor_capacity) {
        build->failed = true;
        return graph->tensor_count - 1;
    }
    int id = graph->tensor_count++;
    graph->tensors[id] = (struct claret_tensor){.name = claret_build_name(build, "%s", name),
                                                .home = home,
                                                .dtype = dtype,
                                                .shape = shape,
                                                .base = -1};
    build->grad[id] = -1;
    return id;
}

struct claret_node *claret_build_add_node(struct claret_build *build, const struct claret_op *op,
                                          const char *name, int layer, const struct claret_attr *attr)
{
    struct claret_graph *graph = build->graph;
    if (graph->node_count == build->node_capacity)
        build->failed = true;
    else
        graph->node_count++;
    struct claret_node *node = &graph->nodes[graph->node_count - 1];
    *node = (struct claret_node){.op = op, .name = name, .layer = layer, .attr = attr};
    return node;
}

const struct claret_tensor *claret_build_tensor(const struct claret_build *build, int tensor)
{
    return &build->graph->tensors[tensor];
}

/* The shape, or one of the same rank that holds a single value where it is beyond all sense: so that what
 * follows can go on with it until the error is returned. `first`: 1 where the batch is the first dimension.
 */
static struct claret_shape bounded(struct claret_build *build, const char *name, int layer,
                                   struct claret_shape shape, int first)
{
    int64_t room = MAX_VALUES;
    char text[96];
    for (int i = first; i < shape.rank; i++)
        room /= shape.dim[i];
    if (room > 0)
        return shape;
    claret_spec_shape_error(build->graph->spec, layer, 0, "%s is %s, more than %d values", name,
                            claret_shape_format(&shape, first, text), MAX_VALUES);
    build->too_large = true;
    for (int i = first; i < shape.rank; i++)
        shape.dim[i] = 1;
    return shape;
}

static enum claret_layout output_layout(const struct claret_build *build, const struct claret_node *node,
                                        const struct claret_shape *shape)
{
    if (shape->rank != 4)
        return CLARET_NCHW;
    if (node->op->layout == CLARET_LAYOUT_SAME)
        return build->graph->tensors[node->in[0]].layout;
    bool last = node->op->layout == CLARET_LAYOUT_NHWC && build->options->channels_last;
    return last ? CLARET_NHWC : CLARET_NCHW;
}

int claret_build_output(struct claret_build *build, struct claret_node *node, enum claret_dtype dtype,
                        struct claret_shape shape)
{
    char name[256];
    snprintf(name, sizeof name, node->out_count ? "%s:%d" : "%s", node->name, node->out_count);
    shape = bounded(build, "its output", node->layer, shape, 1);
    int id = claret_build_add_tensor(build, name, CLARET_HOME_ARENA, dtype, shape);
    for (int i = 0; i < node->in_count; i++)
        build->wants[id] |= node->in[i] >= 0 && build->wants[node->in[i]];
    if (node->op->view)
        build->graph->tensors[id].base = node->in[0];
    build->graph->tensors[id].layout = output_layout(build, node, &shape);
    node->out[node->out_count++] = id;
    return id;
}

/* Parameters with their own rate or weight decay. */
static void set_group(struct claret_build *build, const struct claret_node *node, struct claret_tensor *param)
{
    const struct claret_graph_options *options = build->options;
    bool spared = options->no_decay_norm_bias && (param->shape.rank == 1 || strstr(node->op->name, "norm"));
    double rate;
    bool own = options->lr_for && claret_pattern_number(options->lr_for, param->name, &rate);
    param->rate = own ? (float)(rate / options->lr) : 1;
    param->decay = spared ? 0 : (float)options->optimizer.weight_decay;
}

int claret_build_param(struct claret_build *build, struct claret_node *node, const char *suffix,
                       struct claret_shape shape, float init_bound)
{
    struct claret_graph *graph = build->graph;
    char name[256];
    snprintf(name, sizeof name, "%s.%s", node->name, suffix);
    shape = bounded(build, suffix, node->layer, shape, 0);
    int id = claret_build_add_tensor(build, name, CLARET_HOME_PARAMS, CLARET_DTYPE_F32, shape);
    graph->tensors[id].base = graph->all_params;
    graph->tensors[id].init_bound = init_bound;
    bool frozen = build->options->freeze && claret_pattern_match(build->options->freeze, name);
    int64_t *elements = frozen ? &build->frozen_elements : &build->param_elements;
    graph->tensors[id].frozen = frozen;
    set_group(build, node, &graph->tensors[id]);
    graph->tensors[id].base_offset = *elements;
    build->wants[id] = build->options->training && !frozen;
    int64_t count = claret_shape_count(&shape);
    *elements += claret_build_padded(count);
    graph->params[graph->param_count++] = id;
    node->in[node->in_count++] = id;
    return id;
}

int claret_build_constant_param(struct claret_build *build, struct claret_node *node, const char *suffix,
                                struct claret_shape shape, float value)
{
    int id = claret_build_param(build, node, suffix, shape, 0);
    build->graph->tensors[id].init_value = value;
    return id;
}

int claret_build_buffer(struct claret_build *build, struct claret_node *node, const char *suffix,
                        enum claret_dtype dtype, struct claret_shape shape, float value)
{
    struct claret_graph *graph = build->graph;
    if (graph->all_buffers < 0)
        graph->all_buffers = claret_build_add_tensor(build, "buffers", CLARET_HOME_BUFFERS, CLARET_DTYPE_F32,
                                                     claret_shape1(0));
    const char *name = claret_build_name(build, "%s.%s", node->name, suffix);
    int id = claret_build_add_tensor(build, name, CLARET_HOME_BUFFERS, dtype, shape);
    struct claret_tensor *whole = &graph->tensors[graph->all_buffers];
    graph->tensors[id].base = graph->all_buffers;
    graph->tensors[id].base_offset = whole->shape.dim[0];
    graph->tensors[id].init_value = value;
    int64_t count = claret_shape_count(&shape);
    whole->shape.dim[0] += claret_build_padded(count);
    graph->buffers[graph->buffer_count++] = id;
    claret_build_input(node, id);
    return id;
}

bool claret_build_training(const struct claret_build *build)
{
    return build->options->training;
}

enum claret_status claret_build_error(const struct claret_build *build, const struct claret_node *node,
                                      const struct claret_attr *attr, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return claret_spec_shape_error(build->graph->spec, node->layer, attr ? attr->column : 0, "%s", message);
}

int claret_build_split_input(struct claret_build *build, int tensor, int64_t q, const int64_t padding[2])
{
    struct claret_graph *graph = build->graph;
    const int64_t *in = graph->spec->input;
    if (tensor != graph->input || build->input_uses != 1 || build->wants[tensor])
        return -1;
    struct claret_attr *attr = claret_arena_alloc(&graph->arena, CLARET_LOAD_ATTRS * sizeof *attr);
    if (!attr) {
        build->failed = true;
        return -1;
    }
    attr[CLARET_LOAD_Q].i[0] = q;
    attr[CLARET_LOAD_SIZE].i[0] = in[1];
    attr[CLARET_LOAD_SIZE].i[1] = in[2];
    memcpy(attr[CLARET_LOAD_PADDING].i, padding, 2 * sizeof *padding);
    graph->nodes[graph->load].attr = attr;
    graph->tensors[tensor].shape =
        claret_shape4(graph->batch, in[0], in[1] + 2 * padding[0], (in[2] + 2 * padding[1] + q - 1) / q * q);
    return tensor;
}

/* ---- the parts of a graph ---- */

/* The optimizer's, and the average's. */
static int slots_of(const struct claret_graph_options *options)
{
    return claret_optimizer_slots(&options->optimizer) + (options->ema > 0);
}

/* The batch's images out of the data set, augmented: what batch_load reads then. */
static void add_augment(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    const int64_t *in = graph->spec->input;
    struct claret_attr *attr = claret_arena_alloc(&graph->arena, CLARET_AUGMENT_ATTRS * sizeof *attr);
    if (!attr) {
        build->failed = true;
        return;
    }
    attr[CLARET_AUGMENT_KINDS].i[0] = build->options->augment;
    attr[CLARET_AUGMENT_CHANNELS].i[0] = in[0];
    attr[CLARET_AUGMENT_SIZE].i[0] = in[1];
    attr[CLARET_AUGMENT_SIZE].i[1] = in[2];
    graph->augmented = claret_build_add_tensor(build, "augmented", CLARET_HOME_IMAGES, CLARET_DTYPE_U8,
                                               claret_shape1(graph->batch * in[0] * in[1] * in[2]));
    struct claret_node *node = claret_build_add_node(build, claret_op_find("augment"), "augment", -1, attr);
    memcpy(node->in, (int[]){graph->stage, graph->step, graph->data}, 3 * sizeof(int));
    node->out[0] = graph->augmented;
    node->in_count = 3;
    node->out_count = 1;
}

static enum claret_status add_sources(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    const int64_t *in = graph->spec->input;
    struct claret_shape shape =
        bounded(build, "the input", -1, claret_shape4(graph->batch, in[0], in[1], in[2]), 1);
    if (build->too_large)
        return CLARET_SHAPE;
    bool bytes = !build->options->f32_images;
    struct claret_stage_layout layout;
    claret_stage_layout(graph->batch, in[0] * in[1] * in[2], bytes ? 1 : sizeof(float), &layout);
    graph->step = claret_build_add_tensor(build, "step", CLARET_HOME_STEP, CLARET_DTYPE_I32,
                                          claret_shape1(CLARET_STEP_WORDS));
    graph->stage = claret_build_add_tensor(build, "stage", CLARET_HOME_STAGE, CLARET_DTYPE_U8,
                                           claret_shape1((int64_t)layout.slot * layout.slots));
    build->stage_slots = layout.slots;
    graph->table = -1;
    if (bytes)
        graph->table = claret_build_add_tensor(build, "table", CLARET_HOME_TABLE, CLARET_DTYPE_F32,
                                               claret_shape2(in[0], CLARET_TABLE_ROW));
    graph->data = graph->augmented = -1;
    if (build->options->resident)
        graph->data = claret_build_add_tensor(build, "data", CLARET_HOME_DATA, CLARET_DTYPE_U8,
                                              claret_shape1(build->options->resident));
    if (build->options->resident && build->options->augment)
        add_augment(build);
    graph->all_params =
        claret_build_add_tensor(build, "params", CLARET_HOME_PARAMS, CLARET_DTYPE_F32, claret_shape1(0));
    graph->all_grads = graph->all_state = graph->all_buffers = -1;
    if (build->options->training) {
        graph->all_grads =
            claret_build_add_tensor(build, "grads", CLARET_HOME_GRADS, CLARET_DTYPE_F32, claret_shape1(0));
        if (slots_of(build->options) > 0)
            graph->all_state = claret_build_add_tensor(build, "state", CLARET_HOME_STATE, CLARET_DTYPE_F32,
                                                       claret_shape1(0));
    }
    graph->input = claret_build_add_tensor(build, "input", CLARET_HOME_ARENA, CLARET_DTYPE_F32, shape);
    build->wants[graph->input] = build->options->input_grad;
    graph->labels = claret_build_add_tensor(build, "labels", CLARET_HOME_ARENA, CLARET_DTYPE_I32,
                                            claret_shape1(graph->batch));
    graph->load = graph->node_count;
    struct claret_node *node = claret_build_add_node(build, claret_op_find("batch_load"), "load", -1, NULL);
    memcpy(node->in,
           (int[]){graph->stage, graph->step, graph->table,
                   graph->augmented >= 0 ? graph->augmented : graph->data},
           4 * sizeof(int));
    memcpy(node->out, (int[]){graph->input, graph->labels, graph->step}, 3 * sizeof(int));
    node->in_count = 4;
    node->out_count = 3;
    return CLARET_OK;
}

static const char *param_name(int index, const void *user)
{
    const struct claret_graph *graph = user;
    return index < graph->param_count ? graph->tensors[graph->params[index]].name : NULL;
}

/* Frozen parameters lie behind those that are trained, so that gradients and state have none of them. */
static enum claret_status place_params(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    const char *freeze = build->options->freeze;
    if (freeze)
        CLARET_TRY(claret_pattern_check("--freeze", freeze, param_name, graph));
    if (build->options->lr_for)
        CLARET_TRY(claret_pattern_check_numbers("--lr-for", build->options->lr_for, param_name, graph));
    if (build->frozen_elements && !build->param_elements)
        return claret_fail(CLARET_INVALID, "--freeze: '%s' leaves nothing to train", freeze);
    for (int i = 0; i < graph->param_count; i++)
        if (graph->tensors[graph->params[i]].frozen)
            graph->tensors[graph->params[i]].base_offset += build->param_elements;
    const int whole[3] = {graph->all_params, graph->all_grads, graph->all_state};
    const int64_t elements[3] = {build->param_elements + build->frozen_elements, build->param_elements,
                                 slots_of(build->options) * build->param_elements};
    for (int i = 0; i < 3; i++)
        if (whole[i] >= 0)
            graph->tensors[whole[i]].shape = claret_shape1(elements[i]);
    return CLARET_OK;
}

static enum claret_status add_loss(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    if (build->options->loss.weighted)
        graph->class_weights = claret_build_add_tensor(build, "class_weights", CLARET_HOME_CLASSES,
                                                       CLARET_DTYPE_F32, claret_shape1(graph->classes));
    graph->losses = claret_build_add_tensor(build, "losses", CLARET_HOME_ARENA, CLARET_DTYPE_F32,
                                            claret_shape1(graph->batch));
    const struct claret_loss *of = &build->options->loss;
    struct claret_attr *attr = NULL;
    if (of->label_smoothing != 0) {
        attr = claret_arena_alloc(&graph->arena, CLARET_LOSS_ATTRS * sizeof *attr);
        if (!attr)
            return claret_no_memory();
        attr[CLARET_LOSS_SMOOTHING].f = of->label_smoothing;
    }
    int in[4] = {graph->logits, graph->labels, graph->step, graph->class_weights};
    int out[2] = {graph->losses, claret_build_grad(build, graph->logits)};
    struct claret_node *loss =
        claret_build_add_node(build, claret_op_find(claret_loss_op(of->kind)), "loss", -1, attr);
    memcpy(loss->in, in, sizeof in);
    memcpy(loss->out, out, sizeof out);
    loss->in_count = of->weighted ? 4 : 3;
    loss->out_count = 2;
    return CLARET_OK;
}

static enum claret_status add_training(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    if (graph->param_count == 0)
        return claret_spec_shape_error(graph->spec, -1, 0,
                                       "the network has no parameters: there is nothing to train");
    build->update = claret_arena_alloc(&graph->arena, sizeof *build->update);
    if (!build->update)
        return claret_no_memory();
    const struct claret_graph_options *options = build->options;
    *build->update = (struct claret_update){.optimizer = options->optimizer,
                                            .slots = claret_optimizer_slots(&options->optimizer),
                                            .stride = build->param_elements,
                                            .clip_norm = options->clip_norm,
                                            .clip_value = options->clip_value,
                                            .ema = options->ema,
                                            .accumulate = options->accumulate};
    build->update->apart = options->clip_norm > 0 || options->clip_value > 0 || options->accumulate;
    if (graph->losses < 0)
        CLARET_TRY(add_loss(build));
    CLARET_TRY(claret_build_backward(build));
    if (build->options->input_grad) {
        claret_build_sum_parts(build, graph->input);
        graph->input_grad = claret_build_grad(build, graph->input);
    }
    for (int i = 0; i < graph->param_count; i++)
        graph->grads[i] =
            graph->tensors[graph->params[i]].frozen ? -1 : claret_build_grad(build, graph->params[i]);
    claret_build_updates(build);
    return CLARET_OK;
}

static enum claret_status add_end(struct claret_build *build)
{
    struct claret_attr *attr = claret_arena_alloc(&build->graph->arena, CLARET_END_ATTRS * sizeof *attr);
    if (!attr)
        return claret_no_memory();
    attr[CLARET_END_SLOTS].i[0] = build->stage_slots;
    struct claret_node *end = claret_build_add_node(build, claret_op_find("step_end"), "end", -1, NULL);
    end->in[0] = build->graph->step;
    end->in[1] = build->graph->losses;
    end->out[0] = build->graph->step;
    end->in_count = 2;
    end->out_count = 1;
    end->attr = attr;
    return CLARET_OK;
}

/* ---- the graph ---- */

static enum claret_status allocate(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    size_t layers = (size_t)graph->spec->layer_count;
    size_t tensors = layers * TENSORS_PER_LAYER + FIXED, nodes = layers * NODES_PER_LAYER + FIXED;
    build->tensor_capacity = (int)tensors;
    build->node_capacity = (int)nodes;
    struct claret_arena *arena = &graph->arena;
    graph->tensors = claret_arena_alloc(arena, tensors * sizeof *graph->tensors);
    graph->nodes = claret_arena_alloc(arena, nodes * sizeof *graph->nodes);
    graph->params = claret_arena_alloc(arena, tensors * sizeof *graph->params);
    graph->grads = claret_arena_alloc(arena, tensors * sizeof *graph->grads);
    graph->buffers = claret_arena_alloc(arena, tensors * sizeof *graph->buffers);
    build->wants = claret_arena_alloc(arena, tensors * sizeof *build->wants);
    build->grad = claret_arena_alloc(arena, tensors * sizeof *build->grad);
    build->readers = claret_arena_alloc(arena, tensors * sizeof *build->readers);
    build->parts = claret_arena_alloc(arena, tensors * sizeof *build->parts);
    bool fine = graph->tensors && graph->nodes && graph->params && graph->grads && graph->buffers &&
                build->wants && build->grad && build->readers && build->parts;
    return fine ? CLARET_OK : claret_no_memory();
}

static enum claret_status fill(struct claret_build *build)
{
    CLARET_TRY(allocate(build));
    CLARET_TRY(add_sources(build));
    CLARET_TRY(claret_build_layers(build));
    CLARET_TRY(place_params(build));
    if (build->options->training)
        CLARET_TRY(add_training(build));
    CLARET_TRY(add_end(build));
    return build->failed ? claret_no_memory() : CLARET_OK;
}

enum claret_status claret_graph_create(const struct claret_spec *spec,
                                       const struct claret_graph_options *options,
                                       struct claret_graph **result)
{
    struct claret_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return claret_no_memory();
    graph->spec = spec;
    graph->batch = options->batch;
    graph->training = options->training;
    graph->losses = graph->input_grad = graph->class_weights = graph->ema = -1;
    struct claret_build build = {.graph = graph, .options = options};
    enum claret_status status = fill(&build);
    if (status != CLARET_OK) {
        claret_graph_destroy(graph);
        return status;
    }
    *result = graph;
    return CLARET_OK;
}

void claret_graph_destroy(struct claret_graph *graph)
{
    if (!graph)
        return;
    claret_arena_free(&graph->arena);
    free(graph);
}

int claret_graph_find(const struct claret_graph *graph, const char *name)
{
    for (int i = 0; i < graph->tensor_count; i++)
        if (strcmp(graph->tensors[i].name, name) == 0)
            return i;
    return -1;
}
