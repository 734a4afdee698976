/* The nodes that update the parameters whose own nodes don't. */
#include "graph/build.h"

const struct claret_update *claret_build_update(struct claret_build *build, const int *params, int count)
{
    struct claret_update *update = claret_arena_alloc(&build->graph->arena, sizeof *update);
    if (!update) {
        build->failed = true;
        return build->update;
    }
    *update = *build->update;
    for (int i = 0; i < count; i++)
        if (params[i] >= 0) {
            update->group[i].rate = build->graph->tensors[params[i]].rate;
            update->group[i].decay = build->graph->tensors[params[i]].decay;
        }
    return update;
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

/* What the update reads. */
struct gradients {
    int all;   /* whole buffer */
    int scale; /* what they are multiplied with, -1: nothing */
};

/* Of the parameters that lie from `param` on up to `end`. */
static void add_update(struct claret_build *build, int param, int64_t end, const struct gradients *gradients)
{
    struct claret_graph *graph = build->graph;
    int64_t first = graph->tensors[param].base_offset;
    int params = part_of(build, graph->all_params, first, end - first);
    int grads = part_of(build, gradients->all, first, end - first);
    struct claret_node *node = claret_build_add_node(build, claret_op_find("update"), "update", -1, NULL);
    node->update = claret_build_update(build, &param, 1);
    node->out[node->out_count++] = params;
    claret_build_input(node, params);
    claret_build_input(node, grads);
    for (int slot = 0; slot < build->update->slots; slot++) {
        int state = claret_build_state(build, slot, "update", first, claret_shape1(end - first));
        claret_build_input(node, state);
        node->out[node->out_count++] = state;
    }
    if (gradients->scale >= 0)
        claret_build_input(node, gradients->scale);
    claret_build_input(node, graph->step);
}

/* The means of the gradients over several batches; the gradients where there is one for each update. */
static int add_accumulate(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    if (!build->update->accumulate)
        return graph->all_grads;
    int means = claret_build_add_tensor(build, "means", CLARET_HOME_MEANS, CLARET_DTYPE_F32,
                                        graph->tensors[graph->all_grads].shape);
    struct claret_node *node =
        claret_build_add_node(build, claret_op_find("accumulate"), "accumulate", -1, NULL);
    claret_build_input(node, graph->all_grads);
    claret_build_input(node, means);
    claret_build_input(node, graph->step);
    node->out[node->out_count++] = means;
    return means;
}

/* What brings the norm of all gradients down; -1: nothing has to. */
static int add_clip_norm(struct claret_build *build, int all)
{
    if (build->update->clip_norm <= 0)
        return -1;
    int scale =
        claret_build_add_tensor(build, "clip_norm", CLARET_HOME_ARENA, CLARET_DTYPE_F32, claret_shape1(1));
    struct claret_node *node =
        claret_build_add_node(build, claret_op_find("clip_norm"), "clip_norm", -1, NULL);
    node->update = build->update;
    claret_build_input(node, all);
    node->out[node->out_count++] = scale;
    return scale;
}

/* Of all parameters, after their updates. */
static void add_ema(struct claret_build *build)
{
    struct claret_graph *graph = build->graph;
    if (build->update->ema <= 0)
        return;
    graph->ema =
        claret_build_state(build, build->update->slots, "ema", 0, claret_shape1(build->param_elements));
    struct claret_node *node = claret_build_add_node(build, claret_op_find("ema"), "ema", -1, NULL);
    node->update = build->update;
    claret_build_input(node, part_of(build, graph->all_params, 0, build->param_elements));
    claret_build_input(node, graph->ema);
    claret_build_input(node, graph->step);
    node->out[node->out_count++] = graph->ema;
}

void claret_build_updates(struct claret_build *build)
{
    const struct claret_graph *graph = build->graph;
    struct gradients gradients = {.all = add_accumulate(build)};
    gradients.scale = add_clip_norm(build, gradients.all);
    int run = -1; /* the first parameter of one that goes on */
    for (int i = 0; i < graph->param_count; i++) {
        const struct claret_tensor *param = &graph->tensors[graph->params[i]];
        const struct claret_tensor *first = run >= 0 ? &graph->tensors[run] : NULL;
        if (param->frozen)
            continue;
        bool ends = first && (param->updated || param->rate != first->rate || param->decay != first->decay);
        if (ends)
            add_update(build, run, param->base_offset, &gradients);
        if (ends || !first)
            run = param->updated ? -1 : graph->params[i];
    }
    if (run >= 0)
        add_update(build, run, build->param_elements, &gradients);
    add_ema(build);
}
