/* The nodes of a network's layers; runs of layers that a fused op stands for. */
#include <string.h>

#include "graph/build.h"

/* A run of layers that one node stands for. */
struct run {
    const struct claret_op *op;
    int length;
    int other; /* the layer that a later one of them reads beside the one before it; NO_OTHER: none */
};
#define NO_OTHER -2

struct layers {
    struct claret_build *build;
    const struct claret_spec *spec;
    int *uses;   /* by layer: inputs that read it */
    int *result; /* by layer: its output */
};

static int tensor_of(const struct layers *layers, int layer)
{
    return layer < 0 ? layers->build->graph->input : layers->result[layer];
}

/* Whether layer `at` reads the one before it, which nobody else does. What else it reads, of two, must be
 * there before `first` and is *other; one in a run. */
static bool follows(const struct layers *layers, int first, int at, int *other)
{
    const struct claret_layer *layer = &layers->spec->layers[at];
    if (layers->uses[at - 1] != 1 || layer->from_count > 2)
        return false;
    if (layer->from_count == 1)
        return layer->from[0] == at - 1;
    int second = layer->from[0] == at - 1 ? layer->from[1] : layer->from[0];
    if ((layer->from[0] != at - 1 && layer->from[1] != at - 1) || second >= first || *other != NO_OTHER)
        return false;
    *other = second;
    return true;
}

/* Whether `op`, a fused one, can stand for the layers from `first` on. Each of them but the last must be read
 * by the next alone. The loss counts as one more layer behind the last. */
static bool match_chain(const struct layers *layers, int first, const struct claret_op *op, struct run *run)
{
    const struct claret_spec *spec = layers->spec;
    const struct claret_tensor *tensors = layers->build->graph->tensors;
    const struct claret_attr *attrs[CLARET_MAX_CHAIN] = {0};
    *run = (struct run){.op = op, .other = NO_OTHER};
    for (; op->chain[run->length]; run->length++) {
        int at = first + run->length;
        bool loss = at == spec->layer_count && layers->build->options->training &&
                    claret_loss_plain(&layers->build->options->loss);
        if (at >= spec->layer_count && !loss)
            return false;
        const char *name = loss ? "cross_entropy" : spec->layers[at].schema->name;
        if (strcmp(op->chain[run->length], name) != 0)
            return false;
        if (run->length && !loss && !follows(layers, first, at, &run->other))
            return false;
        attrs[run->length] = loss ? NULL : spec->layers[at].attr;
    }
    const struct claret_shape *other =
        run->other == NO_OTHER ? NULL : &tensors[tensor_of(layers, run->other)].shape;
    return !op->fits ||
           op->fits(attrs, &tensors[tensor_of(layers, spec->layers[first].from[0])].shape, other);
}

/* The op that stands for most layers from `first` on. */
static struct run choose_run(const struct layers *layers, int first)
{
    struct run chosen = {
        .op = claret_op_find(layers->spec->layers[first].schema->name), .length = 1, .other = NO_OTHER};
    enum claret_family family = layers->build->options->tiles ? CLARET_FAMILY_TILES : CLARET_FAMILY_VECTORS;
    for (int list = 0; layers->build->options->fuse && claret_op_lists[list]; list++)
        for (int i = 0; claret_op_lists[list][i]; i++) {
            const struct claret_op *op = claret_op_lists[list][i];
            struct run run;
            bool ours = op->family == CLARET_FAMILY_ANY || op->family == family;
            if (op->chain && ours && match_chain(layers, first, op, &run) && run.length > chosen.length)
                chosen = run;
        }
    return chosen;
}

/* `tensor` as (N, C, H, W) in memory too: what a layer that only sees it with another shape wants. */
static int in_order(struct claret_build *build, int layer, int tensor)
{
    const struct claret_tensor *of = &build->graph->tensors[tensor];
    struct claret_shape shape = of->shape;
    if (of->layout == CLARET_NCHW || claret_layout_trivial(&shape))
        return tensor;
    const char *name = claret_build_name(build, "%s.reorder", build->graph->spec->layers[layer].name);
    struct claret_node *node = claret_build_add_node(build, claret_op_find("reorder"), name, layer, NULL);
    claret_build_input(node, tensor);
    return claret_build_output(build, node, CLARET_DTYPE_F32, shape);
}

static enum claret_status add_layer(const struct layers *layers, int index, int *length)
{
    struct claret_build *build = layers->build;
    struct claret_graph *graph = build->graph;
    const struct claret_spec *spec = graph->spec;
    const struct claret_layer *layer = &spec->layers[index];
    struct run run = choose_run(layers, index);
    int in[CLARET_MAX_IN];
    for (int i = 0; i < layer->from_count; i++)
        in[i] = tensor_of(layers, layer->from[i]);
    /* The first layer says how the images are loaded. */
    if (in[0] == graph->input && index == 0 && run.op->layout == CLARET_LAYOUT_NHWC &&
        build->options->channels_last)
        graph->tensors[graph->input].layout = CLARET_NHWC;
    if (run.op->view)
        in[0] = in_order(build, index, in[0]);
    struct claret_node *node = claret_build_add_node(build, run.op, layer->name, index, layer->attr);
    for (int i = 1; i < run.length && index + i < spec->layer_count; i++)
        node->chain[i - 1] = spec->layers[index + i].attr;
    for (int i = 0; i < layer->from_count; i++)
        claret_build_input(node, in[i]);
    if (run.other != NO_OTHER)
        claret_build_input(node, tensor_of(layers, run.other));
    CLARET_TRY(run.op->shape(build, node));
    if (build->too_large)
        return CLARET_SHAPE;
    if (index + run.length > spec->layer_count)
        graph->losses = node->out[0];
    else
        layers->result[index + run.length - 1] = graph->nodes[graph->node_count - 1].out[0];
    *length = run.length;
    return CLARET_OK;
}

enum claret_status claret_build_layers(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    const struct claret_spec *spec = graph->spec;
    int *result = claret_arena_alloc(&graph->arena, (size_t)spec->layer_count * sizeof *result);
    int *uses = claret_arena_alloc(&graph->arena, (size_t)spec->layer_count * sizeof *uses);
    struct layers layers = {.build = build, .spec = spec, .uses = uses, .result = result};
    if (!result || !uses)
        return claret_no_memory();
    for (int i = 0; i < spec->layer_count; i++)
        for (int j = 0; j < spec->layers[i].from_count; j++)
            if (spec->layers[i].from[j] >= 0)
                uses[spec->layers[i].from[j]]++;
            else
                build->input_uses++;
    for (int i = 0, length; i < spec->layer_count; i += length)
        CLARET_TRY(add_layer(&layers, i, &length));
    for (int i = 0; i < spec->layer_count - 1; i++)
        if (!uses[i])
            return claret_spec_shape_error(spec, i, 0, "its output is not used by any layer");
    graph->logits = -1;
    if (graph->losses >= 0) {
        graph->classes = graph->tensors[graph->nodes[graph->node_count - 1].out[1]].shape.dim[1];
        return CLARET_OK;
    }
    graph->logits = result[spec->layer_count - 1];
    const struct claret_shape *logits = &graph->tensors[graph->logits].shape;
    char text[96];
    if (logits->rank != 2)
        return claret_spec_shape_error(spec, spec->layer_count - 1, 0,
                                       "the last layer gives the logits, one number a class, but this one "
                                       "gives %s: end with flatten and linear",
                                       claret_shape_format(logits, 1, text));
    graph->classes = logits->dim[1];
    return CLARET_OK;
}
