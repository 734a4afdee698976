#include "node_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A quiet NaN whose payload tells it from those that are computed, and from its neighbours: a word copied
 * from beside one tensor to beside another shows. */
static uint32_t pattern(int buffer, uint64_t word)
{
    uint64_t mixed = (word + ((uint64_t)buffer << 32) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return UINT32_C(0x7fc00000) | (uint32_t)(mixed >> 42);
}

enum claret_status claret_node_run_create(struct claret_rt *rt, const struct claret_graph *graph,
                                          const struct claret_plan_options *options,
                                          struct claret_node_run *run)
{
    *run = (struct claret_node_run){.plan = NULL};
    CLARET_TRY(claret_plan_create(graph, options, &run->plan));
    enum claret_status status =
        claret_pool_create(rt, run->plan->buffer_bytes, run->plan->buffer_count, &run->pool);
    for (int i = 0; status == CLARET_OK && i < run->plan->buffer_count; i++) {
        size_t size = (size_t)run->plan->buffer_bytes[i];
        run->before[i] = malloc(size + 1);
        run->after[i] = malloc(size + 1);
        if (!run->before[i] || !run->after[i])
            status = claret_no_memory();
    }
    if (status != CLARET_OK)
        claret_node_run_finish(run);
    return status;
}

void claret_node_run_finish(struct claret_node_run *run)
{
    for (int i = 0; i < CLARET_PLAN_MAX_BUFFERS; i++) {
        free(run->before[i]);
        free(run->after[i]);
    }
    claret_pool_destroy(run->pool);
    claret_plan_destroy(run->plan);
    *run = (struct claret_node_run){.plan = NULL};
}

/* ---- execution ---- */

static void fill(struct claret_node_run *run, int node, const struct claret_values *values)
{
    const struct claret_plan *plan = run->plan;
    const struct claret_node *at = &plan->graph->nodes[node];
    for (int i = 0; i < plan->buffer_count; i++)
        for (uint64_t j = 0; j < plan->buffer_bytes[i]; j += 4) {
            uint32_t word = pattern(i, j / 4);
            uint64_t rest = plan->buffer_bytes[i] - j;
            memcpy(run->before[i] + j, &word, rest < 4 ? rest : 4);
        }
    for (int i = 0; i < at->in_count; i++)
        if (at->in[i] >= 0 && plan->places[at->in[i]].buffer >= 0)
            claret_values_pack(values, at->in[i],
                               run->before[plan->places[at->in[i]].buffer] + plan->places[at->in[i]].offset);
}

enum claret_status claret_node_run_execute(struct claret_node_run *run, int node,
                                           const struct claret_values *values)
{
    struct claret_plan part = *run->plan;
    struct claret_exec *exec = NULL;
    struct claret_ticket *done = NULL;
    enum claret_status status = CLARET_OK;
    part.launches = malloc(((size_t)run->plan->launch_count + 1) * sizeof *part.launches);
    if (!part.launches)
        return claret_no_memory();
    part.launch_count = 0;
    for (int i = 0; i < run->plan->launch_count; i++)
        if (run->plan->launches[i].node == node)
            part.launches[part.launch_count++] = run->plan->launches[i];
    fill(run, node, values);
    for (int i = 0; i < part.buffer_count; i++)
        if (part.buffer_bytes[i])
            CLARET_GOTO(cleanup, claret_pool_write(run->pool, i, 0, part.buffer_bytes[i], run->before[i]));
    CLARET_GOTO(cleanup, claret_exec_create(run->pool, &part, &exec));
    CLARET_GOTO(cleanup, claret_exec_run(exec, NULL, &done));
    CLARET_GOTO(cleanup, claret_ticket_wait(done));
    for (int i = 0; i < part.buffer_count; i++)
        if (part.buffer_bytes[i])
            CLARET_GOTO(cleanup, claret_pool_read(run->pool, i, 0, part.buffer_bytes[i], run->after[i]));
cleanup:
    claret_exec_destroy(exec);
    free(part.launches);
    return status;
}

void claret_node_run_output(const struct claret_node_run *run, int tensor, const struct claret_values *values,
                            double *value)
{
    const struct claret_place *place = &run->plan->places[tensor];
    claret_values_unpack(values, tensor, run->after[place->buffer] + place->offset, value);
}

/* ---- sentinels ---- */

/* What the node may change counts as it is: it is copied into `before`. */
static void allow(struct claret_node_run *run, int tensor)
{
    if (tensor < 0)
        return;
    const struct claret_place *place = &run->plan->places[tensor];
    memcpy(run->before[place->buffer] + place->offset, run->after[place->buffer] + place->offset,
           (size_t)place->bytes);
}

static void allow_workspace(struct claret_node_run *run, int tensor)
{
    if (tensor >= run->plan->graph->tensor_count)
        allow(run, tensor);
}

static void describe(const struct claret_plan *plan, int buffer, uint64_t at, char where[200])
{
    int near = -1;
    for (int i = 0; i < plan->tensor_count; i++) {
        const struct claret_place *place = &plan->places[i];
        bool closer = place->buffer == buffer && place->offset <= at &&
                      (near < 0 || place->offset >= plan->places[near].offset);
        if (closer)
            near = i;
    }
    snprintf(where, 200, "byte %llu of buffer %d, %lld behind the start of %s", (unsigned long long)at,
             buffer, (long long)(near < 0 ? at : at - plan->places[near].offset),
             near < 0 ? "the buffer" : plan->tensors[near].name);
}

bool claret_node_run_trespass(struct claret_node_run *run, int node, char where[200])
{
    const struct claret_plan *plan = run->plan;
    for (int i = 0; i < plan->graph->nodes[node].out_count; i++)
        allow(run, plan->graph->nodes[node].out[i]);
    for (int i = 0; i < plan->launch_count; i++) {
        const struct claret_launch *launch = &plan->launches[i];
        if (launch->node != node)
            continue;
        if (launch->type == CLARET_LAUNCH_GEMM) {
            allow_workspace(run, launch->gemm.c.tensor);
            allow_workspace(run, launch->gemm.workspace);
        }
        for (int j = 0; launch->type == CLARET_LAUNCH_KERNEL && j < launch->kernel.arg_count; j++)
            if (launch->kernel.arg[j].type == CLARET_ARG_TENSOR)
                allow_workspace(run, launch->kernel.arg[j].tensor);
    }
    for (int i = 0; i < plan->buffer_count; i++) {
        uint64_t at = 0;
        if (memcmp(run->before[i], run->after[i], (size_t)plan->buffer_bytes[i]) == 0)
            continue;
        while (run->before[i][at] == run->after[i][at])
            at++;
        describe(plan, i, at, where);
        return true;
    }
    return false;
}

/* ---- plans ---- */

static bool same_kernel(const struct claret_kernel_call *a, const struct claret_kernel_call *b)
{
    if (strcmp(a->source, b->source) != 0 || strcmp(a->entry, b->entry) != 0 ||
        a->arg_count != b->arg_count || a->define_count != b->define_count ||
        memcmp(a->items, b->items, sizeof a->items) != 0)
        return false;
    for (int i = 0; i < a->arg_count; i++)
        if (a->arg[i].type != b->arg[i].type || a->arg[i].offset != b->arg[i].offset ||
            a->arg[i].i != b->arg[i].i)
            return false;
    for (int i = 0; i < a->define_count; i++)
        if (strcmp(a->define[i].name, b->define[i].name) != 0 || a->define[i].i != b->define[i].i)
            return false;
    return true;
}

static const struct claret_launch *next_of(const struct claret_plan *plan, int node, int *at)
{
    while (*at < plan->launch_count)
        if (plan->launches[(*at)++].node == node)
            return &plan->launches[*at - 1];
    return NULL;
}

bool claret_node_run_same(const struct claret_plan *a, const struct claret_plan *b, int node)
{
    int at_a = 0, at_b = 0;
    for (;;) {
        const struct claret_launch *left = next_of(a, node, &at_a), *right = next_of(b, node, &at_b);
        if (!left || !right)
            return !left && !right;
        if (left->type != right->type || strcmp(left->solver, right->solver) != 0)
            return false;
        if (left->type == CLARET_LAUNCH_KERNEL && !same_kernel(&left->kernel, &right->kernel))
            return false;
        if (left->type == CLARET_LAUNCH_GEMM &&
            (left->gemm.m != right->gemm.m || left->gemm.n != right->gemm.n || left->gemm.k != right->gemm.k))
            return false;
    }
}
