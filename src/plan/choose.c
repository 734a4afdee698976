/* Which solver a node or a GEMM is given: the forced one, else what tuning found, else the first applicable
 * one that is taken unasked. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "op/gemm.h"
#include "plan/emit.h"

static const char gemm_prefix[] = "gemm:";

static bool for_gemm(const char *solver)
{
    return strncmp(solver, gemm_prefix, sizeof gemm_prefix - 1) == 0;
}

static bool has_params(const char *solver)
{
    return strchr(for_gemm(solver) ? solver + sizeof gemm_prefix - 1 : solver, ':');
}

/* Parameters are one node's: a layer's name then means the node of that name alone. */
static bool names_node(const struct claret_plan_force *force, const struct claret_graph *graph,
                       const struct claret_node *node)
{
    const char *layer = node->layer >= 0 ? graph->spec->layers[node->layer].name : NULL;
    return !force->node || strcmp(force->node, node->name) == 0 ||
           (layer && strcmp(force->node, layer) == 0 && !has_params(force->solver));
}

static const struct claret_solver *find_solver(const struct claret_op *op, const char *choice)
{
    for (int i = 0; op->solvers && op->solvers[i]; i++)
        if (claret_choice_is(choice, op->solvers[i]->name))
            return op->solvers[i];
    return NULL;
}

static const struct claret_gemm_solver *find_gemm(const char *choice)
{
    for (int i = 0; claret_gemm_solvers[i]; i++)
        if (claret_choice_is(choice, claret_gemm_solvers[i]->name))
            return claret_gemm_solvers[i];
    return NULL;
}

/* ---- what is forced ---- */

/* The last of the forced choices that are for `node` and, of its solvers or of GEMMs, for one that exists. */
static const char *forced(const struct claret_emit *emit, const struct claret_node *node, bool gemm)
{
    const char *found = NULL;
    for (int i = 0; i < emit->options->force_count; i++) {
        const struct claret_plan_force *force = &emit->options->force[i];
        if (for_gemm(force->solver) != gemm || !names_node(force, emit->plan->graph, node))
            continue;
        if (gemm)
            found = force->solver + sizeof gemm_prefix - 1;
        else if (find_solver(node->op, force->solver))
            found = force->solver;
    }
    return found;
}

/* ---- messages ---- */

struct node_names {
    const struct claret_graph *const *graphs;
    int count;
};

static const char *next_node(int index, const void *user)
{
    const struct node_names *names = user;
    for (int g = 0; g < names->count; g++) {
        if (index < names->graphs[g]->node_count)
            return names->graphs[g]->nodes[index].name;
        index -= names->graphs[g]->node_count;
    }
    return NULL;
}

static enum claret_status fail_node(const struct claret_graph *const *graphs, int count,
                                    const struct claret_plan_force *force)
{
    struct node_names names = {graphs, count};
    int near = claret_nearest(force->node, next_node, &names);
    return claret_fail(CLARET_INVALID, "no layer or node is called '%s'%s%s%s", force->node,
                       near >= 0 ? "; did you mean '" : "", near >= 0 ? next_node(near, &names) : "",
                       near >= 0 ? "'?" : "");
}

static void add_name(struct claret_text *known, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = known->data; at && (at = strstr(at, name)); at += length)
        if (at[-1] == ' ' && (at[length] == ' ' || at[length] == '\0'))
            return;
    claret_text_add(known, " %s", name);
}

/* Says which there are at that layer or node. */
static enum claret_status fail_solver(const struct claret_graph *const *graphs, int count,
                                      const struct claret_plan_force *force)
{
    struct claret_text known = {0};
    bool fused = false;
    for (int g = 0; g < count; g++)
        for (int n = 0; n < graphs[g]->node_count; n++) {
            const struct claret_node *node = &graphs[g]->nodes[n];
            if (!names_node(force, graphs[g], node))
                continue;
            fused |= node->op->chain != NULL;
            for (int i = 0; node->op->solvers && node->op->solvers[i]; i++)
                add_name(&known, node->op->solvers[i]->name);
        }
    for (int i = 0; for_gemm(force->solver) && claret_gemm_solvers[i]; i++) {
        if (i == 0)
            claret_text_drop(&known);
        claret_text_add(&known, " gemm:%s", claret_gemm_solvers[i]->name);
    }
    enum claret_status status = claret_fail(
        CLARET_INVALID, "%s has no solver called '%s'; there %s%s%s", force->node ? force->node : "no node",
        force->solver, known.size ? "are:" : "is none", known.size ? known.data : "",
        fused && force->node && !for_gemm(force->solver)
            ? "; it runs several layers as one, which --no-fuse keeps apart"
            : "");
    claret_text_drop(&known);
    return status;
}

/* A forced name that nothing has would be silently ignored: a typing error must not be. */
enum claret_status claret_plan_check_force(const struct claret_graph *const *graphs, int count,
                                           const struct claret_plan_force *force, int force_count)
{
    for (int i = 0; i < force_count; i++) {
        bool gemm = for_gemm(force[i].solver), node_found = !force[i].node;
        bool found = gemm && find_gemm(force[i].solver + sizeof gemm_prefix - 1);
        for (int g = 0; g < count; g++)
            for (int n = 0; n < graphs[g]->node_count; n++) {
                const struct claret_node *node = &graphs[g]->nodes[n];
                if (!names_node(&force[i], graphs[g], node))
                    continue;
                node_found = true;
                found |= !gemm && find_solver(node->op, force[i].solver);
            }
        if (!node_found)
            return fail_node(graphs, count, &force[i]);
        if (!found)
            return fail_solver(graphs, count, &force[i]);
        if (gemm) {
            const char *choice = force[i].solver + sizeof gemm_prefix - 1;
            struct claret_params params;
            CLARET_TRY(claret_choice_parse(choice, find_gemm(choice)->tunables, &params));
        }
    }
    return CLARET_OK;
}

bool claret_plan_has_gemms(const struct claret_plan *plan, int node)
{
    const struct claret_op *op = plan->graph->nodes[node].op;
    return plan->choices[node].solver && op->solvers[plan->choices[node].index]->gemms;
}

/* Says by what the nodes go, and what goes by GEMMs. */
static enum claret_status fail_gemm(const struct claret_plan *plan, const struct claret_plan_force *force)
{
    struct claret_text given = {0}, others = {0};
    bool fused = false;
    for (int n = 0; n < plan->graph->node_count; n++) {
        const struct claret_node *node = &plan->graph->nodes[n];
        if (!names_node(force, plan->graph, node) || !plan->choices[n].solver)
            continue;
        claret_text_add(&given, "%s%s by %s", given.size ? ", " : "", node->name, plan->choices[n].solver);
        fused |= node->op->chain != NULL;
        for (int i = 0; node->op->solvers[i]; i++)
            if (node->op->solvers[i]->gemms)
                add_name(&others, node->op->solvers[i]->name);
    }
    const char *advice =
        fused ? "it runs several layers as one, which --no-fuse keeps apart" : "no solver of it has one";
    if (others.size)
        advice = "force one that has as well:";
    enum claret_status status = claret_fail(
        CLARET_INVALID, "%s=%s has no effect: %s goes without a GEMM (%s); %s%s", force->node, force->solver,
        force->node, given.size ? given.data : "it is no kernel", advice, others.size ? others.data : "");
    claret_text_drop(&given);
    claret_text_drop(&others);
    return status;
}

enum claret_status claret_plan_check_gemms(const struct claret_plan *const *plans, int count,
                                           const struct claret_plan_force *force, int force_count)
{
    for (int i = 0; i < force_count; i++) {
        const struct claret_plan *with = NULL; /* the first that has such nodes */
        bool found = !for_gemm(force[i].solver) || !force[i].node;
        for (int p = 0; p < count; p++)
            for (int n = 0; plans[p] && n < plans[p]->graph->node_count; n++) {
                if (!names_node(&force[i], plans[p]->graph, &plans[p]->graph->nodes[n]))
                    continue;
                with = with ? with : plans[p];
                found |= claret_plan_has_gemms(plans[p], n);
            }
        if (!found && with)
            return fail_gemm(with, &force[i]);
    }
    return CLARET_OK;
}

/* ---- choosing ---- */

/* A node's solvers and a GEMM's are chosen alike; this is what differs. */
struct choosing {
    struct claret_emit *emit;
    const struct claret_node *node;
    const struct claret_gemm_call *gemm; /* NULL: the node's own solver */
    struct claret_plan_choice *choice;   /* what comes out */
};

struct candidate {
    const char *name; /* NULL: there is none of that number */
    const struct claret_tunable *tunables;
};

static struct candidate candidate_at(const struct choosing *choosing, int index)
{
    if (choosing->gemm) {
        const struct claret_gemm_solver *solver = claret_gemm_solvers[index];
        return solver ? (struct candidate){solver->name, solver->tunables} : (struct candidate){NULL, NULL};
    }
    const struct claret_solver *solver = choosing->node->op->solvers[index];
    return solver ? (struct candidate){solver->name, solver->tunables} : (struct candidate){NULL, NULL};
}

static bool applicable(const struct choosing *choosing, int index, const struct claret_params *params,
                       char reason[128])
{
    const struct claret_plan *plan = choosing->emit->plan;
    const struct claret_device_desc *device = choosing->emit->options->device;
    if (choosing->gemm)
        return claret_plan_gemm_applicable(choosing->gemm, device, index, params, reason);
    return claret_plan_applicable(plan, choosing->node, device, index, params, reason);
}

static bool unasked(const struct choosing *choosing, int index)
{
    const struct claret_device_desc *device = choosing->emit->options->device;
    if (choosing->gemm) {
        const struct claret_gemm_solver *solver = claret_gemm_solvers[index];
        struct claret_gemm_problem problem = {choosing->gemm, device, NULL};
        return !solver->unasked || solver->unasked(&problem);
    }
    const struct claret_solver *solver = choosing->node->op->solvers[index];
    struct claret_problem problem = {choosing->node, choosing->emit->tensors, device, NULL};
    return !solver->unasked || solver->unasked(&problem);
}

bool claret_plan_applicable(const struct claret_plan *plan, const struct claret_node *node,
                            const struct claret_device_desc *device, int solver,
                            const struct claret_params *params, char reason[128])
{
    const struct claret_solver *of = node->op->solvers[solver];
    struct claret_params unused = params ? *params : (struct claret_params){.count = 0};
    struct claret_problem problem = {node, plan->tensors, device, &unused};
    return !of->applicable || of->applicable(&problem, reason);
}

bool claret_plan_gemm_applicable(const struct claret_gemm_call *gemm, const struct claret_device_desc *device,
                                 int solver, const struct claret_params *params, char reason[128])
{
    const struct claret_gemm_solver *of = claret_gemm_solvers[solver];
    struct claret_params unused = params ? *params : (struct claret_params){.count = 0};
    struct claret_gemm_problem problem = {gemm, device, &unused};
    return !of->applicable || of->applicable(&problem, reason);
}

/* By a text, "NAME:PX=8". */
static enum claret_status choose_named(const struct choosing *choosing, const char *text,
                                       enum claret_plan_source source)
{
    struct claret_plan_choice *choice = choosing->choice;
    char reason[128] = "";
    struct candidate candidate;
    int index = 0;
    while ((candidate = candidate_at(choosing, index)).name && !claret_choice_is(text, candidate.name))
        index++;
    if (!candidate.name)
        return claret_fail(CLARET_INVALID, "%s has no solver called '%s'", choosing->node->name, text);
    *choice = (struct claret_plan_choice){.solver = candidate.name, .index = index, .source = source};
    enum claret_status status = claret_choice_parse(text, candidate.tunables, &choice->params);
    if (status != CLARET_OK) {
        claret_error_context("%s", choosing->node->name);
        return status;
    }
    if (!applicable(choosing, index, &choice->params, reason))
        return claret_fail(CLARET_INVALID, "%s: solver %s%s is not applicable: %s", choosing->node->name,
                           choosing->gemm ? gemm_prefix : "", text, reason);
    return CLARET_OK;
}

/* What tuning found. A record that does not fit is none: it says so, and the default is taken. */
static bool choose_recorded(const struct choosing *choosing)
{
    const struct claret_plan_options *options = choosing->emit->options;
    struct claret_text key = {0};
    if (!options->record)
        return false;
    if (choosing->gemm) {
        claret_gemm_key(choosing->gemm, &key);
    } else {
        struct claret_problem problem = {choosing->node, choosing->emit->tensors, options->device, NULL};
        claret_problem_key(&problem, &key);
    }
    const char *text = key.failed ? NULL : options->record(options->record_user, key.data);
    bool chosen = text && choose_named(choosing, text, CLARET_FROM_RECORD) == CLARET_OK;
    if (text && !chosen) {
        char *why = claret_error_take();
        claret_warn("the tuning record for %s is not used: %s", choosing->node->name, why ? why : "");
        free(why);
    }
    claret_text_drop(&key);
    return chosen;
}

static enum claret_status choose(const struct choosing *choosing)
{
    const char *text = forced(choosing->emit, choosing->node, choosing->gemm != NULL);
    char reason[128] = "";
    if (text)
        return choose_named(choosing, text, CLARET_FROM_FORCE);
    if (choose_recorded(choosing))
        return CLARET_OK;
    for (int i = 0; candidate_at(choosing, i).name; i++)
        if (unasked(choosing, i) && applicable(choosing, i, NULL, reason)) {
            *choosing->choice = (struct claret_plan_choice){
                .solver = candidate_at(choosing, i).name, .index = i, .source = CLARET_FROM_DEFAULT};
            return CLARET_OK;
        }
    return claret_fail(CLARET_INTERNAL, "%s: no solver of %s is applicable: %s", choosing->node->name,
                       choosing->gemm ? "a GEMM" : choosing->node->op->name, reason);
}

enum claret_status claret_plan_choose(struct claret_emit *emit, const struct claret_node *node,
                                      struct claret_plan_choice *choice)
{
    return choose(&(struct choosing){emit, node, NULL, choice});
}

enum claret_status claret_plan_choose_gemm(struct claret_emit *emit, const struct claret_gemm_call *gemm,
                                           struct claret_plan_choice *choice)
{
    const struct claret_node *node = &emit->plan->graph->nodes[emit->node];
    return choose(&(struct choosing){emit, node, gemm, choice});
}
