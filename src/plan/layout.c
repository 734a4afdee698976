/* Solvers work on images in one layout; tensors have the one that the graph gave them. */
#include "op/reorder.h"
#include "plan/emit.h"

static bool is_image(const struct claret_tensor *tensor)
{
    return tensor->home == CLARET_HOME_ARENA && tensor->shape.rank == 4 &&
           !claret_layout_trivial(&tensor->shape);
}

/* What all images of the node should have. */
static enum claret_layout wanted(const struct claret_emit *emit, const struct claret_node *node,
                                 enum claret_layout_rule rule)
{
    if (rule != CLARET_LAYOUT_SAME)
        return rule == CLARET_LAYOUT_NHWC ? CLARET_NHWC : CLARET_NCHW;
    for (int i = 0; i < node->in_count; i++)
        if (node->in[i] >= 0 && is_image(&emit->tensors[node->in[i]]))
            return emit->tensors[node->in[i]].layout;
    return CLARET_NCHW;
}

void claret_emit_in_layout(struct claret_emit *emit, const struct claret_node *node,
                           const struct claret_solver *solver)
{
    struct claret_node local = *node;
    enum claret_layout layout = wanted(emit, node, solver->layout);
    for (int i = 0; i < node->in_count && solver->layout != CLARET_LAYOUT_EACH; i++)
        if (node->in[i] >= 0 && is_image(&emit->tensors[node->in[i]]) &&
            emit->tensors[node->in[i]].layout != layout) {
            local.in[i] = claret_emit_temp_like(emit, node->in[i], layout);
            claret_reorder_emit(emit, node->in[i], local.in[i]);
        }
    for (int i = 0; i < node->out_count && solver->layout != CLARET_LAYOUT_EACH; i++)
        if (is_image(&emit->tensors[node->out[i]]) && emit->tensors[node->out[i]].layout != layout)
            local.out[i] = claret_emit_temp_like(emit, node->out[i], layout);
    solver->emit(emit, &local);
    for (int i = 0; i < node->out_count; i++)
        if (local.out[i] != node->out[i])
            claret_reorder_emit(emit, local.out[i], node->out[i]);
}
