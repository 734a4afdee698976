/* Reverse-mode differentiation: each node that somebody needs a gradient through adds its op's backward
 * nodes. */
#include "graph/build.h"

#include <string.h>

bool claret_build_wants(const struct claret_build *build, int tensor)
{
    return build->wants[tensor];
}

bool claret_build_wants_any(const struct claret_build *build, const int *tensors, int count)
{
    for (int i = 0; i < count; i++)
        if (tensors[i] >= 0 && build->wants[tensors[i]])
            return true;
    return false;
}

static int add_grad(struct claret_build *build, int tensor, const char *name)
{
    const struct claret_graph *graph = build->graph;
    struct claret_tensor of = graph->tensors[tensor];
    int grad = claret_build_add_tensor(build, name, CLARET_HOME_ARENA, of.dtype, of.shape);
    graph->tensors[grad].layout = of.layout;
    if (of.home == CLARET_HOME_PARAMS && !of.frozen) {
        graph->tensors[grad].home = CLARET_HOME_GRADS;
        graph->tensors[grad].base = graph->all_grads;
        graph->tensors[grad].base_offset = of.base_offset;
    }
    return grad;
}

static bool is_output(const struct claret_node *node, int tensor)
{
    for (int i = 0; i < node->out_count; i++)
        if (node->out[i] == tensor)
            return true;
    return false;
}

/* One more part of a gradient, the last of its list. */
static int add_part(struct claret_build *build, int tensor)
{
    struct claret_grad_part *part = claret_arena_alloc(&build->graph->arena, sizeof *part);
    struct claret_grad_part **end = &build->parts[tensor];
    int number = 0;
    for (; *end; end = &(*end)->next)
        number++;
    int grad = add_grad(build, tensor,
                        claret_build_name(build, "%s.grad.%d", build->graph->tensors[tensor].name, number));
    if (part) {
        part->tensor = grad;
        *end = part;
    }
    build->failed |= !part;
    return grad;
}

void claret_build_sum_parts(struct claret_build *build, int tensor)
{
    const struct claret_grad_part *part = build->parts[tensor];
    const char *of = build->graph->tensors[tensor].name;
    if (!part || build->grad[tensor] >= 0)
        return;
    int sum = part->tensor;
    for (int i = 1; part->next; i++) {
        part = part->next;
        const char *name = claret_build_name(build, part->next ? "%s.grad.sum%d" : "%s.grad", of, i);
        int next = add_grad(build, tensor, name);
        struct claret_node *node = claret_build_add_node(
            build, claret_op_find("add"), claret_build_name(build, "%s.sum%d", of, i), -1, NULL);
        claret_build_input(node, sum);
        claret_build_input(node, part->tensor);
        node->out[node->out_count++] = next;
        sum = next;
    }
    build->grad[tensor] = sum;
}

int claret_build_grad(struct claret_build *build, int tensor)
{
    if (build->current && build->readers[tensor] > 1 && !is_output(build->current, tensor))
        return add_part(build, tensor);
    if (build->grad[tensor] < 0)
        build->grad[tensor] =
            add_grad(build, tensor, claret_build_name(build, "%s.grad", build->graph->tensors[tensor].name));
    return build->grad[tensor];
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

void claret_build_pass(struct claret_build *build, const struct claret_op *view,
                       const struct claret_node *parent, const char *suffix, int from, int to)
{
    const struct claret_tensor *tensors = build->graph->tensors;
    bool same = tensors[from].layout == tensors[to].layout;
    claret_build_node(build, same ? view : claret_op_find("reorder"), parent, suffix, &from, 1, &to, 1);
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
    if (!claret_build_wants_any(build, node->in + 1, node->in_count - 1))
        return;
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

int claret_build_state(struct claret_build *build, int slot, const char *name, int64_t first,
                       struct claret_shape shape)
{
    struct claret_graph *graph = build->graph;
    const char *of = claret_build_name(build, "%s.state%d", name, slot);
    int state = claret_build_add_tensor(build, of, CLARET_HOME_STATE, CLARET_DTYPE_F32, shape);
    graph->tensors[state].base = graph->all_state;
    graph->tensors[state].base_offset = slot * build->update->stride + first;
    return state;
}

void claret_build_gradients(struct claret_build *build, struct claret_node *node, const int *params,
                            int count)
{
    struct claret_tensor *tensors = build->graph->tensors;
    bool apart = !build->options->fuse_update || build->update->apart;
    for (int i = 0; i < count; i++)
        apart |= params[i] >= 0 && tensors[params[i]].frozen;
    if (apart) {
        for (int i = 0; i < count; i++)
            if (params[i] >= 0)
                node->out[node->out_count++] = claret_build_grad(build, params[i]);
        return;
    }
    node->update = claret_build_update(build, params, count);
    for (int i = 0; i < count; i++) {
        claret_build_input(node, params[i]);
        if (params[i] >= 0) {
            node->out[node->out_count++] = params[i];
            tensors[params[i]].updated = true;
        }
    }
    for (int slot = 0; slot < build->update->slots; slot++)
        for (int i = 0; i < count; i++) {
            const struct claret_tensor *param = params[i] >= 0 ? &tensors[params[i]] : NULL;
            int state =
                param ? claret_build_state(build, slot, param->name, param->base_offset, param->shape) : -1;
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
    const struct claret_graph *graph = build->graph;
    enum claret_status status = CLARET_OK;
    for (int i = 0; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].in_count; j++)
            if (graph->nodes[i].in[j] >= 0 && graph->nodes[i].op->backward)
                build->readers[graph->nodes[i].in[j]]++;
    /* By index: the array grows at its end while the op runs, but never moves. */
    for (int i = graph->node_count - 1; i >= 0 && status == CLARET_OK; i--) {
        const struct claret_node *node = &graph->nodes[i];
        if (!node->op->backward || !build->wants[node->out[0]])
            continue;
        for (int j = 0; j < node->out_count; j++)
            claret_build_sum_parts(build, node->out[j]);
        build->current = node;
        status = node->op->backward(build, node);
        build->current = NULL;
    }
    return status;
}
