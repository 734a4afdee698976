#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan/emit.h"

const char *claret_plan_forced(const struct claret_plan_options *options, const struct claret_graph *graph,
                               const struct claret_node *node, const char *prefix)
{
    const char *layer = node->layer >= 0 ? graph->spec->layers[node->layer].name : NULL;
    const char *found = NULL;
    for (int i = 0; i < options->force_count; i++) {
        const struct claret_plan_force *force = &options->force[i];
        size_t length = strlen(prefix);
        bool gemm = strncmp(force->solver, "gemm:", 5) == 0;
        if (strncmp(force->solver, prefix, length) != 0 || (gemm && length == 0))
            continue;
        if (!force->node || strcmp(force->node, node->name) == 0 ||
            (layer && strcmp(force->node, layer) == 0))
            found = force->solver + length;
    }
    return found;
}

static const struct claret_solver *find_solver(const struct claret_op *op, const char *name)
{
    for (int i = 0; op->solvers[i]; i++)
        if (strcmp(op->solvers[i]->name, name) == 0)
            return op->solvers[i];
    return NULL;
}

static enum claret_status choose_solver(const struct claret_emit *emit, const struct claret_node *node,
                                        const struct claret_solver **chosen)
{
    struct claret_problem problem = {node, emit->tensors, emit->options->device};
    const char *forced = claret_plan_forced(emit->options, emit->plan->graph, node, "");
    const struct claret_solver *solver = forced ? find_solver(node->op, forced) : NULL;
    char reason[128] = "";
    if (solver) {
        if (solver->applicable && !solver->applicable(&problem, reason))
            return claret_fail(CLARET_INVALID, "%s: solver %s is not applicable: %s", node->name, forced,
                               reason);
        *chosen = solver;
        return CLARET_OK;
    }
    for (int i = 0; node->op->solvers[i]; i++) {
        solver = node->op->solvers[i];
        if (solver->unasked && !solver->unasked(&problem))
            continue;
        if (!solver->applicable || solver->applicable(&problem, reason)) {
            *chosen = solver;
            return CLARET_OK;
        }
    }
    return claret_fail(CLARET_INTERNAL, "%s: no solver of %s is applicable: %s", node->name, node->op->name,
                       reason);
}

/* A forced name that nothing has would be silently ignored: a typing error must not be. */
static enum claret_status check_forced(const struct claret_graph *graph,
                                       const struct claret_plan_options *options)
{
    for (int i = 0; i < options->force_count; i++) {
        const struct claret_plan_force *force = &options->force[i];
        bool found = strncmp(force->solver, "gemm:", 5) == 0, node_found = !force->node;
        for (int n = 0; n < graph->node_count; n++) {
            const struct claret_node *node = &graph->nodes[n];
            const char *layer = node->layer >= 0 ? graph->spec->layers[node->layer].name : NULL;
            if (force->node && strcmp(force->node, node->name) != 0 &&
                !(layer && strcmp(force->node, layer) == 0))
                continue;
            node_found = true;
            found |= node->op->solvers && find_solver(node->op, force->solver);
        }
        if (!node_found)
            return claret_fail(CLARET_NOT_FOUND, "no layer or node is called '%s'", force->node);
        if (!found)
            return claret_fail(CLARET_NOT_FOUND, "%s has no solver called '%s'",
                               force->node ? force->node : "no node", force->solver);
    }
    return CLARET_OK;
}

static enum claret_status emit_nodes(struct claret_emit *emit)
{
    struct claret_plan *plan = emit->plan;
    const struct claret_graph *graph = plan->graph;
    for (int i = 0; i < graph->node_count; i++) {
        const struct claret_node *node = &graph->nodes[i];
        if (node->op->view)
            continue;
        CLARET_TRY(choose_solver(emit, node, &plan->solvers[i]));
        emit->node = i;
        emit->solver = plan->solvers[i]->name;
        int first = plan->launch_count;
        plan->solvers[i]->emit(emit, node);
        CLARET_TRY(emit->status);
        CLARET_TRY(claret_emit_check(emit, first));
    }
    return CLARET_OK;
}

static enum claret_status fill(struct claret_plan *plan, const struct claret_plan_options *options)
{
    const struct claret_graph *graph = plan->graph;
    CLARET_TRY(check_forced(graph, options));
    struct claret_emit emit = {.plan = plan, .options = options, .tensor_capacity = graph->tensor_count + 16};
    emit.tensors = claret_arena_alloc(&plan->arena, (size_t)emit.tensor_capacity * sizeof *emit.tensors);
    plan->solvers = claret_arena_alloc(&plan->arena, (size_t)graph->node_count * sizeof *plan->solvers);
    if (!emit.tensors || !plan->solvers)
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
