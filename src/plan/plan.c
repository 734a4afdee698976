#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan/emit.h"

static enum claret_status emit_nodes(struct claret_emit *emit)
{
    struct claret_plan *plan = emit->plan;
    const struct claret_graph *graph = plan->graph;
    for (int i = 0; i < graph->node_count; i++) {
        const struct claret_node *node = &graph->nodes[i];
        if (node->op->view)
            continue;
        struct claret_plan_choice *choice = &plan->choices[i];
        CLARET_TRY(claret_plan_choose(emit, node, choice));
        emit->node = i;
        emit->solver = choice->solver;
        emit->params = &choice->params;
        int first = plan->launch_count;
        claret_emit_in_layout(emit, node, node->op->solvers[choice->index]);
        CLARET_TRY(emit->status);
        CLARET_TRY(claret_emit_check(emit, first));
    }
    return CLARET_OK;
}

static enum claret_status fill(struct claret_plan *plan, const struct claret_plan_options *options)
{
    const struct claret_graph *graph = plan->graph;
    if (!options->force_checked)
        CLARET_TRY(claret_plan_check_force(&graph, 1, options->force, options->force_count));
    struct claret_emit emit = {.plan = plan, .options = options, .tensor_capacity = graph->tensor_count + 16};
    emit.tensors = claret_arena_alloc(&plan->arena, (size_t)emit.tensor_capacity * sizeof *emit.tensors);
    plan->choices = claret_arena_alloc(&plan->arena, (size_t)graph->node_count * sizeof *plan->choices);
    if (!emit.tensors || !plan->choices)
        return claret_no_memory();
    memcpy(emit.tensors, graph->tensors, (size_t)graph->tensor_count * sizeof *emit.tensors);
    plan->tensors = emit.tensors;
    plan->tensor_count = graph->tensor_count;
    CLARET_TRY(emit_nodes(&emit));
    return claret_plan_place(plan, options);
}

enum claret_status claret_plan_create(const struct claret_graph *graph,
                                      const struct claret_plan_options *options, struct claret_plan **result)
{
    struct claret_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return claret_no_memory();
    plan->graph = graph;
    enum claret_status status = fill(plan, options);
    if (status != CLARET_OK) {
        claret_plan_destroy(plan);
        return status;
    }
    *result = plan;
    return CLARET_OK;
}

void claret_plan_destroy(struct claret_plan *plan)
{
    if (!plan)
        return;
    claret_arena_free(&plan->arena);
    free(plan);
}

bool claret_plan_uses_gemm(const struct claret_plan *plan)
{
    for (int i = 0; i < plan->launch_count; i++)
        if (plan->launches[i].type == CLARET_LAUNCH_GEMM)
            return true;
    return false;
}

uint64_t claret_plan_bytes(const struct claret_plan *plan)
{
    uint64_t bytes = 0;
    for (int i = 0; i < plan->buffer_count; i++)
        bytes += plan->buffer_bytes[i];
    return bytes;
}
