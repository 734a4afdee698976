#include "node_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/internal.h"

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

/* ---- what is launched ---- */

struct claret_launched {
    struct claret_launched *next;
    char *text;
};

static void describe_kernel(const struct claret_kernel_call *call, struct claret_text *text)
{
    claret_text_add(text, "%s %s %zu %zu %zu ", call->source, call->entry, call->items[0], call->items[1],
                    call->items[2]);
    claret_program_options(call, text);
    for (int i = 0; i < call->arg_count; i++) {
        const struct claret_arg *arg = &call->arg[i];
        int first = 0; /* which are the same tensor: what is changed in place */
        while (call->arg[first].type != arg->type || call->arg[first].tensor != arg->tensor)
            first++;
        claret_text_add(text, " %d:%d:%lld:%lld:%a", (int)arg->type, first, (long long)arg->offset,
                        (long long)arg->i, (double)arg->f);
    }
}

static void describe_gemm(const struct claret_gemm_call *call, struct claret_text *text)
{
    const struct claret_matrix *matrices[3] = {&call->a, &call->b, &call->c};
    claret_text_add(text, "%lld %lld %lld %a %a", (long long)call->m, (long long)call->n, (long long)call->k,
                    (double)call->alpha, (double)call->beta);
    for (int i = 0; i < 3; i++)
        claret_text_add(text, " %lld:%lld:%d", (long long)matrices[i]->offset, (long long)matrices[i]->ld,
                        matrices[i]->transposed);
}

/* Equal where the launches do the same but for the values. */
static void describe_launches(const struct claret_plan *plan, int node, struct claret_text *text)
{
    for (int i = 0; i < plan->launch_count; i++) {
        const struct claret_launch *launch = &plan->launches[i];
        if (launch->node != node)
            continue;
        claret_text_add(text, "; %d %s ", (int)launch->type, launch->solver);
        if (launch->type == CLARET_LAUNCH_KERNEL)
            describe_kernel(&launch->kernel, text);
        else
            describe_gemm(&launch->gemm, text);
    }
}

bool claret_launched_before(struct claret_launched **launched, const struct claret_plan *plan, int node,
                            int kind)
{
    struct claret_text text = {0};
    claret_text_add(&text, "%s %d", plan->graph->nodes[node].op->name, kind);
    describe_launches(plan, node, &text);
    for (const struct claret_launched *at = *launched; at && !text.failed; at = at->next)
        if (strcmp(at->text, text.data) == 0) {
            claret_text_drop(&text);
            return true;
        }
    struct claret_launched *added = malloc(sizeof *added);
    if (!added || text.failed) { /* it runs, and again */
        claret_text_drop(&text);
        free(added);
        return false;
    }
    *added = (struct claret_launched){*launched, text.data};
    *launched = added;
    return false;
}

void claret_launched_forget(struct claret_launched **launched)
{
    while (*launched) {
        struct claret_launched *next = (*launched)->next;
        free((*launched)->text);
        free(*launched);
        *launched = next;
    }
}
