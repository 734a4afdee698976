#include "op_configs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "op/gemm.h"

#define GUARD 256    /* bytes around each tensor */
#define LITTLE 20000 /* bytes: a workspace limit that cuts im2col into chunks */

static int solver_count(const struct claret_node *node)
{
    int count = 0;
    while (node->op->solvers && node->op->solvers[count])
        count++;
    return count;
}

/* Forces each node that has it, and where it is applicable, to its solver of that number. */
static int force_solvers(struct op_configs *configs, int number, const char *gemm, bool drawn,
                         char (*texts)[DRAW_TEXT], struct claret_plan_force *force)
{
    int count = 0;
    for (int i = 0; i < configs->graph->node_count; i++) {
        const struct claret_node *node = &configs->graph->nodes[i];
        const bool load = strcmp(node->op->name, "batch_load") ==
                          0; /* test_batch's: the plainest, one program for all cases */
        if (load ? node->attr != NULL : number >= solver_count(node))
            continue;
        const struct claret_solver *solver = node->op->solvers[load ? solver_count(node) - 1 : number];
        struct claret_problem problem = {
            .node = node, .tensors = configs->graph->tensors, .device = claret_rt_device(configs->rt)};
        if (configs->own_layout && solver->layout == CLARET_LAYOUT_NCHW)
            continue;
        /* The other device class's, whose programs take long to build: in every third case, and its own. */
        if (solver->unasked && !solver->unasked(&problem) &&
            (configs->own_family || (configs->index % 3 != 0 && !strstr(configs->name, "tiles"))))
            continue;
        /* Where it is not applicable another is named: a choice for a forward node is one for its gradients.
         */
        bool fine = draw_choice(drawn ? configs->rng : NULL, &problem, solver, texts[i]);
        for (int other = 0; !fine && other < solver_count(node); other++)
            fine = draw_choice(NULL, &problem, node->op->solvers[other], texts[i]);
        if (fine)
            force[count++] = (struct claret_plan_force){node->name, texts[i]};
    }
    if (count > 0)
        force[count++] = (struct claret_plan_force){NULL, gemm};
    return count;
}

static void add_config(struct op_configs *configs, int number, const struct claret_gemm_solver *gemm,
                       uint64_t limit, bool drawn)
{
    struct claret_rt *rt = configs->rt;
    struct op_config *config = &configs->config[configs->count];
    char gemm_name[40];
    struct claret_plan_force *force = calloc((size_t)configs->graph->node_count + 1, sizeof *force);
    char(*texts)[DRAW_TEXT] = calloc((size_t)configs->graph->node_count + 1, sizeof *texts);
    struct claret_plan_options options = {.device = claret_rt_device(rt),
                                          .force = force,
                                          .guard = GUARD,
                                          .workspace_limit = limit,
                                          .gemm_workspace = claret_rt_gemm_workspace,
                                          .user = rt};
    if (!force || !texts || configs->count == OP_CONFIGS || !claret_gemm_on_device(gemm, options.device))
        goto cleanup;
    snprintf(gemm_name, sizeof gemm_name, "gemm:%s", gemm->name);
    options.force_count = force_solvers(configs, number, gemm_name, drawn, texts, force);
    if (options.force_count == 0)
        goto cleanup;
    snprintf(config->name, sizeof config->name, "solver %d, %s%s%s", number, gemm_name,
             limit ? ", little workspace" : "", drawn ? ", drawn parameters" : "");
    claret_error_clear();
    enum claret_status status = claret_node_run_create(rt, configs->graph, &options, &config->run);
    if (status == CLARET_OK) {
        configs->count++;
    } else if (!(status == CLARET_OPENCL && options.device->short_loops)) { /* it may refuse long ones */
        configs->failures++;
        printf("FAILED %s: plan by %s: %s\n", configs->name, config->name, claret_error());
    }
cleanup:
    free(force);
    free(texts);
}

void op_configs_make(struct op_configs *configs)
{
    int solvers = 0;
    for (int i = 0; i < configs->graph->node_count; i++)
        if (solver_count(&configs->graph->nodes[i]) > solvers)
            solvers = solver_count(&configs->graph->nodes[i]);
    for (int number = 0; number < solvers; number++)
        for (int gemm = 0; claret_gemm_solvers[gemm]; gemm++) {
            /* Solvers and GEMMs are chosen apart: each once, not each with each. */
            if ((number > 0 || configs->own_layout) && claret_gemm_solvers[gemm + 1])
                continue;
            add_config(configs, number, claret_gemm_solvers[gemm], 0, false);
            add_config(configs, number, claret_gemm_solvers[gemm], LITTLE, false);
        }
    /* Other parameters than the default ones, other ones from case to case. */
    for (int number = 0; configs->drawn && number < solvers; number++)
        add_config(configs, number, claret_gemm_solvers[0], 0, true);
}

void op_configs_finish(struct op_configs *configs)
{
    for (int i = 0; i < configs->count; i++)
        claret_node_run_finish(&configs->config[i].run);
    configs->count = 0;
}
