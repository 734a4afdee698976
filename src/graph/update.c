/* The nodes that update the parameters whose own nodes don't. */
#include "graph/build.h"

/* Where the next parameter begins. */
static int64_t end_of(const struct claret_tensor *param)
{
    return param->base_offset + claret_build_padded(claret_shape_count(&param->shape));
}

/* `count` elements of a whole buffer from `first` on; the buffer itself where that is all of it. */
static int part_of(struct claret_build *build, int whole, int64_t first, int64_t count)
{
    struct claret_graph *graph = build->graph;
    if (whole < 0 || count == graph->tensors[whole].shape.dim[0])
        return whole;
    int part = claret_build_add_tensor(build, graph->tensors[whole].name, graph->tensors[whole].home,
                                       CLARET_DTYPE_F32, claret_shape1(count));
    graph->tensors[part].base = whole;
    graph->tensors[part].base_offset = first;
    return part;
}

/* scale: of the gradients, -1: none. */
static void add_update(struct claret_build *build, int64_t first, int64_t end, int scale)
{
    struct claret_graph *graph = build->graph;
    if (end <= first)
        return;
    int params = part_of(build, graph->all_params, first, end - first);
    int grads = part_of(build, graph->all_grads, first, end - first);
    struct claret_node *node = claret_build_add_node(build, claret_op_find("update"), "update", -1, NULL);
    node->update = build->update;
    node->out[node->out_count++] = params;
    claret_build_input(node, params);
    claret_build_input(node, grads);
    for (int slot = 0; slot < build->update->slots; slot++) {
        int state = claret_build_state(build, slot, "update", first, claret_shape1(end - first));
        claret_build_input(node, state);
        node->out[node->out_count++] = state;
    }
    if (scale >= 0)
        claret_build_input(node, scale);
    claret_build_input(node, graph->step);
}

/* What brings the norm of all gradients down; -1: nothing has to. */
static int add_clip_norm(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    if (build->update->clip_norm <= 0)
        return -1;
    int scale =
        claret_build_add_tensor(build, "clip_norm", CLARET_HOME_ARENA, CLARET_DTYPE_F32, claret_shape1(1));
    struct claret_node *node =
        claret_build_add_node(build, claret_op_find("clip_norm"), "clip_norm", -1, NULL);
    node->update = build->update;
    claret_build_input(node, graph->all_grads);
    node->out[node->out_count++] = scale;
    return scale;
}

void claret_build_updates(struct claret_build *build)
{
    const struct claret_graph *graph = build->graph;
    int scale = add_clip_norm(build);
    int64_t first = 0;
    for (int i = 0; i < graph->param_count; i++) {
        const struct claret_tensor *param = &graph->tensors[graph->params[i]];
        if (param->frozen)
            continue;
        if (param->updated) {
            add_update(build, first, param->base_offset, scale);
            first = end_of(param);
        }
    }
    add_update(build, first, build->param_elements, scale);
}
