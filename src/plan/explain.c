/* --explain: the choice of solvers, for people. */
#include "op/gemm.h"
#include "plan/plan.h"

static const char *const sources[] = {"forced", "record", "default"};

static void write_choice(const struct claret_plan_choice *choice, struct claret_text *text)
{
    claret_text_add(text, "%s", choice->solver);
    if (choice->params.count)
        claret_text_add(text, " ");
    claret_params_write(&choice->params, true, text);
    claret_text_add(text, " (%s)", sources[choice->source]);
}

/* Why not one that could have been used. */
static const char *passed_over(const struct claret_plan_choice *choice, int index)
{
    if (choice->source == CLARET_FROM_FORCE)
        return "another is forced";
    if (choice->source == CLARET_FROM_RECORD)
        return "slower, by the tuning record";
    if (index < choice->index)
        return "for this device or problem only where it is asked for";
    return "comes later in the order of what is not tuned";
}

static void write_other(const struct claret_plan_choice *choice, const char *indent, const char *name,
                        int index, bool applicable, const char *reason, struct claret_text *text)
{
    if (index != choice->index)
        claret_text_add(text, "%snot %s: %s\n", indent, name,
                        applicable ? passed_over(choice, index) : reason);
}

static void explain_gemm(const struct claret_plan_gemm *gemm, const struct claret_plan_options *options,
                         struct claret_text *text)
{
    claret_text_add(text, "  ");
    claret_gemm_key(&gemm->call, text);
    claret_text_add(text, ": ");
    write_choice(&gemm->choice, text);
    claret_text_add(text, "\n");
    for (int i = 0; claret_gemm_solvers[i]; i++) {
        char reason[128] = "";
        bool applicable = claret_plan_gemm_applicable(&gemm->call, options->device, i, NULL, reason);
        write_other(&gemm->choice, "    ", claret_gemm_solvers[i]->name, i, applicable, reason, text);
    }
}

void claret_plan_explain(const struct claret_plan *plan, const struct claret_plan_options *options,
                         struct claret_text *text)
{
    const struct claret_graph *graph = plan->graph;
    for (int n = 0; n < graph->node_count; n++) {
        const struct claret_node *node = &graph->nodes[n];
        const struct claret_plan_choice *choice = &plan->choices[n];
        struct claret_problem problem = {node, plan->tensors, options->device, NULL};
        if (!choice->solver)
            continue;
        claret_text_add(text, "%s: ", node->name);
        write_choice(choice, text);
        claret_text_add(text, "\n  problem: ");
        claret_problem_key(&problem, text);
        claret_text_add(text, "\n");
        for (int i = 0; node->op->solvers[i]; i++) {
            char reason[128] = "";
            bool applicable = claret_plan_applicable(plan, node, options->device, i, NULL, reason);
            write_other(choice, "  ", node->op->solvers[i]->name, i, applicable, reason, text);
        }
        for (int i = 0; i < plan->gemm_count; i++)
            if (plan->gemms[i].node == n)
                explain_gemm(&plan->gemms[i], options, text);
    }
}
