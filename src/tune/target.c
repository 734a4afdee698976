#include "tune/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum claret_status claret_target_node(const struct claret_plan *plan, const struct claret_device_desc *device,
                                      int node, struct claret_target *target)
{
    struct claret_problem problem = {
        .node = &plan->graph->nodes[node], .tensors = plan->tensors, .device = device};
    struct claret_text key = {0};
    *target = (struct claret_target){.plan = plan, .device = device, .node = node};
    snprintf(target->normal, sizeof target->normal, "%s", plan->choices[node].solver);
    claret_problem_key(&problem, &key);
    return claret_text_take(&key, &target->key);
}

enum claret_status claret_target_gemm(const struct claret_plan *plan, const struct claret_device_desc *device,
                                      const struct claret_plan_gemm *gemm, const char *host,
                                      struct claret_target *target)
{
    struct claret_text key = {0};
    *target = (struct claret_target){
        .plan = plan, .device = device, .node = gemm->node, .is_gemm = true, .gemm = gemm->call};
    snprintf(target->host, sizeof target->host, "%s", host);
    snprintf(target->normal, sizeof target->normal, "%s", gemm->choice.solver);
    claret_gemm_key(&gemm->call, &key);
    return claret_text_take(&key, &target->key);
}

void claret_target_free(struct claret_target *target)
{
    free(target->key);
    target->key = NULL;
}

/* ---- what there is to choose from ---- */

const char *claret_target_solver(const struct claret_target *target, int index)
{
    if (target->is_gemm)
        return claret_gemm_solvers[index] ? claret_gemm_solvers[index]->name : NULL;
    const struct claret_solver *const *solvers = target->plan->graph->nodes[target->node].op->solvers;
    return solvers[index] ? solvers[index]->name : NULL;
}

static int index_of(const struct claret_target *target, const char *choice)
{
    const char *name;
    for (int i = 0; (name = claret_target_solver(target, i)); i++)
        if (claret_choice_is(choice, name))
            return i;
    return -1;
}

const struct claret_tunable *claret_target_tunables(const struct claret_target *target, const char *choice)
{
    int index = index_of(target, choice);
    if (index < 0)
        return NULL;
    return target->is_gemm ? claret_gemm_solvers[index]->tunables
                           : target->plan->graph->nodes[target->node].op->solvers[index]->tunables;
}

bool claret_target_applicable(const struct claret_target *target, const char *choice, char reason[128])
{
    int index = index_of(target, choice);
    struct claret_params params;
    snprintf(reason, 128, "there is no such solver");
    if (index < 0)
        return false;
    if (claret_choice_parse(choice, claret_target_tunables(target, choice), &params) != CLARET_OK) {
        snprintf(reason, 128, "%.127s", claret_error());
        claret_error_clear();
        return false;
    }
    if (target->is_gemm)
        return claret_plan_gemm_applicable(&target->gemm, target->device, index, &params, reason);
    return claret_plan_applicable(target->plan, &target->plan->graph->nodes[target->node], target->device,
                                  index, &params, reason);
}

bool claret_target_has_choice(const struct claret_target *target)
{
    char reason[128];
    const char *name;
    int solvers = 0;
    for (int i = 0; (name = claret_target_solver(target, i)); i++)
        if (claret_target_applicable(target, name, reason)) {
            const struct claret_tunable *tunables = claret_target_tunables(target, name);
            solvers += tunables && tunables->name ? 2 : 1;
        }
    for (int i = 0; i < target->plan->gemm_count && !target->is_gemm; i++)
        solvers += target->plan->gemms[i].node == target->node;
    return solvers > 1;
}

/* ---- other parameters ---- */

static int64_t asked(const struct claret_params *params, const char *name)
{
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0)
            return params->param[i].value;
    return 0;
}

/* Of a GEMM's choice: as it was made for a GEMM of this kind. */
static int64_t asked_of_gemm(const struct claret_target *target, const struct claret_plan *plan,
                             const char *name)
{
    struct claret_text key = {0};
    int64_t value = 0;
    for (int i = 0; i < plan->gemm_count && !value; i++) {
        claret_text_drop(&key);
        claret_gemm_key(&plan->gemms[i].call, &key);
        if (plan->gemms[i].node == target->node && !key.failed && strcmp(key.data, target->key) == 0)
            value = asked(&plan->gemms[i].choice.params, name);
    }
    claret_text_drop(&key);
    return value;
}

int64_t claret_target_value(const struct claret_target *target, const char *choice, const char *name)
{
    const char *node = target->plan->graph->nodes[target->node].name;
    char gemm[CLARET_CHOICE_TEXT + 8];
    snprintf(gemm, sizeof gemm, "gemm:%s", choice);
    const struct claret_plan_force force[2] = {{node, target->is_gemm ? target->host : choice}, {node, gemm}};
    const struct claret_plan_options options = {
        .device = target->device, .force = force, .force_count = target->is_gemm ? 2 : 1};
    struct claret_plan *plan = NULL;
    int64_t value = 0;
    if (claret_plan_create(target->plan->graph, &options, &plan) == CLARET_OK)
        value = target->is_gemm ? asked_of_gemm(target, plan, name)
                                : asked(&plan->choices[target->node].params, name);
    claret_plan_destroy(plan);
    claret_error_clear();
    return value;
}

bool claret_target_vary(const struct claret_target *target, const char *choice, const char *name,
                        int64_t value, char varied[CLARET_CHOICE_TEXT])
{
    struct claret_params params = {.count = 0};
    struct claret_text text = {0};
    char reason[128];
    int at = 0;
    if (claret_choice_parse(choice, claret_target_tunables(target, choice), &params) != CLARET_OK)
        return false;
    while (at < params.count && strcmp(params.param[at].name, name) != 0)
        at++;
    if (at == CLARET_MAX_TUNABLES)
        return false;
    if (at == params.count)
        params.count++;
    params.param[at] = (struct claret_param){.name = name, .value = value, .given = true};
    claret_params_write(&params, false, &text);
    snprintf(varied, CLARET_CHOICE_TEXT, "%.*s:%s", (int)strcspn(choice, ":"), choice,
             text.failed ? "" : text.data);
    claret_text_drop(&text);
    return strcmp(varied, choice) != 0 && claret_target_applicable(target, varied, reason);
}
