/* Reverse-mode differentiation: each node that somebody needs a gradient through adds its op's backward
 * nodes. */
#include "graph/build.h"

#include <string.h>

bool claret_build_wants(const struct claret_build *build, int tensor)
{
    return build->wants[tensor];
}

int claret_build_grad(struct claret_build *build, int tensor)
{
    if (build->grad[tensor] >= 0)
        return build->grad[tensor];
    const struct claret_graph *graph = build->graph;
    struct claret_tensor of = graph->tensors[tensor];
    const char *name = claret_build_name(build, "%s.grad", of.name);
    int grad = claret_build_add_tensor(build, name, CLARET_HOME_ARENA, of.dtype, of.shape);
    graph->tensors[grad].layout = of.layout;
    if (of.home == CLARET_HOME_PARAMS) {
        graph->tensors[grad].home = CLARET_HOME_GRADS;
        graph->tensors[grad].base = graph->all_grads;
        graph->tensors[grad].base_offset = of.base_offset;
    }
    build->grad[tensor] = grad;
    return grad;
}

struct claret_node *claret_build_node(struct claret_build *build, const struct claret_op *op,
                                      const struct claret_node *parent, const char *suffix, const int *in,
                                      int in_count, const int *out, int out_count)
{
    const char *name = claret_build_name(build, "%s.%s", parent->name, suffix);
    struct claret_node *node = claret_build_add_node(build, op, name, parent->layer, parent->attr);
    memcpy(node->chain, parent->chain, sizeof node->chain);
    if (in_count)
        memcpy(node->in, in, (size_t)in_count * sizeof *in);
    if (out_count)
        memcpy(node->out, out, (size_t)out_count * sizeof *out);
    node->in_count = in_count;
    node->out_count = out_count;
    if (op->view)
        build->graph->tensors[out[0]].base = in[0];
    return node;
}

void claret_build_dx_dw(struct claret_build *build, const struct claret_node *node,
                        const struct claret_op *dx, const struct claret_op *dw, int mask)
{
    int reads = mask >= 0 ? 3 : 2;
    int dy = claret_build_grad(build, node->out[0]);
    if (claret_build_wants(build, node->in[0])) {
        int out = claret_build_grad(build, node->in[0]);
        claret_build_node(build, dx, node, "dx", (int[]){dy, node->in[1], mask}, reads, &out, 1);
    }
    int out[2] = {claret_build_grad(build, node->in[1]),
                  node->in_count > 2 ? claret_build_grad(build, node->in[2]) : -1};
    claret_build_node(build, dw, node, "dw", (int[]){node->in[0], dy, mask}, reads, out, node->in_count - 1);
}

void claret_build_input(struct claret_node *node, int tensor)
{
    node->in[node->in_count++] = tensor;
}

int claret_build_between(struct claret_build *build, const struct claret_node *node, const char *suffix,
                         enum claret_dtype dtype, struct claret_shape shape)
{
    const char *name = claret_build_name(build, "%s.%s", node->name, suffix);
    return claret_build_add_tensor(build, name, CLARET_HOME_ARENA, dtype, shape);
}

/* The optimizer's state of a parameter, a view into the whole; -1: it has none. */
static int state_of(struct claret_build *build, int param)
{
    struct claret_graph *graph = build->graph;
    if (param < 0 || graph->all_state < 0)
        return -1;
    struct claret_tensor of = graph->tensors[param];
    const char *name = claret_build_name(build, "%s.momentum", of.name);
    int state = claret_build_add_tensor(build, name, CLARET_HOME_STATE, of.dtype, of.shape);
    graph->tensors[state].base = graph->all_state;
    graph->tensors[state].base_offset = of.base_offset;
    return state;
}

void claret_build_gradients(struct claret_build *build, struct claret_node *node, const int *params,
                            int count)
{
    if (!build->options->fuse_update) {
        for (int i = 0; i < count; i++)
            if (params[i] >= 0)
                node->out[node->out_count++] = claret_build_grad(build, params[i]);
        return;
    }
    node->update = build->sgd;
    for (int i = 0; i < count; i++) {
        claret_build_input(node, params[i]);
        if (params[i] >= 0) {
            node->out[node->out_count++] = params[i];
            build->graph->tensors[params[i]].updated = true;
        }
    }
    for (int i = 0; i < count; i++) {
        int state = state_of(build, params[i]);
        claret_build_input(node, state);
        if (state >= 0)
            node->out[node->out_count++] = state;
    }
    claret_build_input(node, build->graph->step);
}

int claret_build_labels(const struct claret_build *build)
{
    return build->graph->labels;
}

int claret_build_step(const struct claret_build *build)
{
    return build->graph->step;
}

enum claret_status claret_build_backward(struct claret_build *build)
{
    /* By index: the array grows at its end while the op runs, but never moves. */
    for (int i = build->graph->node_count - 1; i >= 0; i--) {
        const struct claret_node *node = &build->graph->nodes[i];
        if (node->op->backward && build->wants[node->out[0]])
            CLARET_TRY(node->op->backward(build, node));
    }
    return CLARET_OK;
}
