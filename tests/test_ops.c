/* Every node of every case on a device, by every solver, against the reference: values, NaN, bytes beside the
 * tensors, and the same bits twice.
 *
 *     test_ops [--small] [--once] [--case NAME] [--device SEL] [--platform SEL]
 *
 * --once: without the second run, for emulators, which are slow and could not but give the same bits.
 * Exit 0: all right; 1: not; 77: no device. With CLARET_TEST_KERNEL_LIST=FILE a line is appended to FILE for
 * each kernel that was launched: its source, entry and build options. Programs are kept by the driver alone:
 * to ask for a binary costs PoCL another compilation. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "node_run.h"
#include "op/batch.h"
#include "op/gemm.h"
#include "op_cases.h"
#include "ref/ref.h"
#include "rt/internal.h"

#define GUARD 256     /* bytes around each tensor */
#define RELATIVE 2e-6 /* of the sum of the terms' absolute values: some 33 roundings of float */
#define LITTLE 20000  /* bytes: a workspace limit that cuts im2col into chunks */
#define MAX_CONFIGS 32

struct tester {
    struct claret_rt *rt;
    bool small, once;
    const char *only;
    FILE *list;
    struct claret_text listed; /* lines, each once */
    long cases, checks, failures;
};

/* One way to make the plan. */
struct config {
    char name[100];
    struct claret_node_run run;
};

struct op_test {
    struct tester *tester;
    const struct claret_op_case *row;
    int index; /* of the row */
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_values *values;
    struct claret_rng rng, params_rng;
    struct config configs[MAX_CONFIGS];
    int config_count;
    bool own_layout;
    double *saved[CLARET_MAX_IN];                         /* inputs of the node under test */
    double *want[CLARET_MAX_OUT], *scale[CLARET_MAX_OUT]; /* its outputs, and what their errors scale with */
    double *got;
    unsigned char *first; /* bytes of an output, for the second run */
};

static bool is_op(const struct claret_node *node, const char *op)
{
    return strcmp(node->op->name, op) == 0;
}

/* Nothing is computed: outputs are inputs. */
static bool only_chooses(const struct claret_node *node)
{
    const struct claret_ref *ref = claret_ref_find(node->op->name);
    return ref && ref->scale == claret_ref_exact;
}

static void fail(struct op_test *test, const struct claret_node *node, const char *config, const char *what)
{
    test->tester->failures++;
    printf("FAILED %s: %s (%s) by %s: %s\n", test->row->name, node->name, node->op->name, config, what);
}

/* ---- inputs ---- */

static void fill_step(struct op_test *test, const struct claret_node *node)
{
    double *step = test->values->at[test->graph->step];
    memset(step, 0, CLARET_STEP_WORDS * sizeof *step);
    step[CLARET_STEP_COUNT] = test->row->batch - test->row->batch / 4;
    step[CLARET_STEP_LR] = (double)0.05f;
    step[CLARET_STEP_NUMBER] = claret_rng_below(&test->rng, 1000);
    step[CLARET_STEP_SEED] = claret_rng_below(&test->rng, INT32_MAX);
    step[CLARET_STEP_SEED + 1] = claret_rng_below(&test->rng, INT32_MAX);
    step[CLARET_STEP_FIRST] = node->update && claret_rng_below(&test->rng, 3) == 0;
    step[CLARET_STEP_MEAN_SCALE] = 1.5;
    step[CLARET_STEP_SQUARE_SCALE] = 1.25;
    step[CLARET_STEP_MORE] = claret_rng_below(&test->rng, 3) == 0;
    step[CLARET_STEP_MOMENTUM] = 0.75;
    step[CLARET_STEP_WEIGHT] = claret_rng_below(&test->rng, 2) ? 1 : 0.375;
}

/* Ops that have kinks, or what else there is to see, beyond -1 and 1. */
static bool is_wide(const struct claret_node *node)
{
    static const char *const names[] = {"relu6",
                                        "relu6_dx",
                                        "batch_norm2d_relu6",
                                        "batch_norm2d_relu6_dx",
                                        "hardswish",
                                        "hardswish_dx",
                                        "sigmoid",
                                        "tanh",
                                        "gelu",
                                        "gelu_dx",
                                        "silu",
                                        "silu_dx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_op(node, names[i]))
            return true;
    return false;
}

/* Values with equals among them where an op compares. `special`: NaN and infinities too. */
static void fill_floats(struct op_test *test, const struct claret_node *node, int input, bool special)
{
    int tensor = node->in[input];
    double *value = test->values->at[tensor];
    int64_t count = test->values->count[tensor];
    /* gelu of -infinity is infinity times 0, where a driver's tanh and erf reach -1. */
    const bool is_gelu = is_op(node, "gelu") || is_op(node, "gelu_dx");
    claret_values_random(test->values, tensor, &test->rng, is_wide(node) ? 64 : only_chooses(node) ? 8 : 0);
    for (int64_t i = 0; i < count; i++) {
        if (is_op(node, "cross_entropy") || is_wide(node))
            value[i] *= special && !is_wide(node) ? 64 : 8;
        if (is_op(node, "relu_dx") && input == 0)
            value[i] = fmax(value[i], 0);                           /* relu's y */
        if (test->graph->tensors[tensor].home == CLARET_HOME_STATE) /* averages of squares, and of others */
            value[i] = test->graph->tensors[tensor].base_offset < node->update->stride ? fabs(value[i]) + 0.5
                                                                                       : value[i] / 4;
        if (special && input == 0 && claret_rng_below(&test->rng, 5) == 0)
            value[i] = claret_rng_below(&test->rng, 2) || is_gelu ? NAN
                       : is_op(node, "relu_dx")                   ? INFINITY
                                                                  : -INFINITY;
    }
}

/* An index is left as the forward node made it. */
static void fill_inputs(struct op_test *test, const struct claret_node *node, bool special)
{
    for (int i = 0; i < node->in_count; i++) {
        int tensor = node->in[i];
        if (tensor < 0)
            continue;
        if (tensor == test->graph->step)
            fill_step(test, node);
        else if (tensor == test->graph->labels)
            claret_values_labels(test->values, &test->rng);
        else if (test->graph->tensors[tensor].dtype == CLARET_DTYPE_F32)
            fill_floats(test, node, i, special);
    }
}

/* ---- the reference ---- */

static double *copy_of(const double *value, int64_t count)
{
    double *copy = malloc(((size_t)count + 1) * sizeof *copy);
    if (copy && count > 0)
        memcpy(copy, value, (size_t)count * sizeof *copy);
    return copy;
}

static void restore_inputs(struct op_test *test, const struct claret_node *node)
{
    for (int i = 0; i < node->in_count; i++)
        if (node->in[i] >= 0)
            memcpy(test->values->at[node->in[i]], test->saved[i],
                   (size_t)test->values->count[node->in[i]] * sizeof(double));
}

static void drop_reference(struct op_test *test)
{
    for (int i = 0; i < CLARET_MAX_IN; i++) {
        free(test->saved[i]);
        test->saved[i] = NULL;
    }
    for (int i = 0; i < CLARET_MAX_OUT; i++) {
        free(test->want[i]);
        free(test->scale[i]);
        test->want[i] = test->scale[i] = NULL;
    }
}

static bool make_reference(struct op_test *test, const struct claret_node *node)
{
    struct claret_values *values = test->values;
    bool fine = true;
    for (int i = 0; i < node->in_count; i++)
        if (node->in[i] >= 0)
            fine &= (test->saved[i] = copy_of(values->at[node->in[i]], values->count[node->in[i]])) != NULL;
    if (!fine || !claret_values_run(values, node))
        return false;
    for (int i = 0; i < node->out_count; i++) {
        test->want[i] = copy_of(values->at[node->out[i]], values->count[node->out[i]]);
        test->scale[i] = copy_of(values->at[node->out[i]], values->count[node->out[i]]);
        fine &= test->want[i] && test->scale[i];
    }
    restore_inputs(test, node);
    return fine && claret_values_scale(values, node, test->scale);
}

/* ---- comparing ---- */

static bool near(double got, double want, double scale)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return got == want || fabs(got - want) <= RELATIVE * scale + (scale > 0 ? (double)FLT_MIN : 0);
}

static void compare(struct op_test *test, const struct claret_node *node, const struct config *config,
                    int out)
{
    char what[200];
    int tensor = node->out[out];
    claret_node_run_output(&config->run, tensor, test->values, test->got);
    for (int64_t i = 0; i < test->values->count[tensor]; i++) {
        if (near(test->got[i], test->want[out][i], test->scale[out][i]))
            continue;
        snprintf(what, sizeof what, "%s[%lld] is %.9g, should be %.9g within %.3g",
                 test->graph->tensors[tensor].name, (long long)i, test->got[i], test->want[out][i],
                 RELATIVE * test->scale[out][i]);
        fail(test, node, config->name, what);
        return;
    }
}

/* Runs the node twice: values, neighbours, the same bits. */
static void check_node(struct op_test *test, int index, struct config *config)
{
    const struct claret_node *node = &test->graph->nodes[index];
    struct claret_node_run *run = &config->run;
    char where[200], what[240];
    test->tester->checks++;
    claret_error_clear();
    if (claret_node_run_execute(run, index, test->values) != CLARET_OK) {
        fail(test, node, config->name, claret_error());
        return;
    }
    size_t at = 0;
    for (int i = 0; i < node->out_count; i++) {
        const struct claret_place *place = &run->plan->places[node->out[i]];
        compare(test, node, config, i);
        memcpy(test->first + at, run->after[place->buffer] + place->offset, (size_t)place->bytes);
        at += (size_t)place->bytes;
    }
    if (claret_node_run_trespass(run, index, where)) {
        snprintf(what, sizeof what, "changed what is not its own: %s", where);
        fail(test, node, config->name, what);
    }
    if (test->tester->once)
        return;
    if (claret_node_run_execute(run, index, test->values) != CLARET_OK) {
        fail(test, node, config->name, claret_error());
        return;
    }
    for (int i = 0, before = 0; i < node->out_count; i++) {
        const struct claret_place *place = &run->plan->places[node->out[i]];
        if (memcmp(test->first + before, run->after[place->buffer] + place->offset, (size_t)place->bytes) !=
            0)
            fail(test, node, config->name, "other bits when run again");
        before += (int)place->bytes;
    }
}

/* By each configuration in which the node runs other launches than in those before. */
static void check_everywhere(struct op_test *test, int index)
{
    for (int i = 0; i < test->config_count; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++)
            seen = claret_node_run_same(test->configs[i].run.plan, test->configs[j].run.plan, index);
        if (!seen)
            check_node(test, index, &test->configs[i]);
    }
}

/* Whether a solver of the node can work on NHWC. */
static bool has_own(const struct claret_node *node)
{
    for (int i = 0; node->op->solvers[i]; i++)
        if (node->op->solvers[i]->layout != CLARET_LAYOUT_NCHW)
            return true;
    return false;
}

static void test_node(struct op_test *test, int index)
{
    const struct claret_node *node = &test->graph->nodes[index];
    int kinds = only_chooses(node) || is_wide(node) || is_op(node, "cross_entropy")
                    ? 2
                    : 1; /* of values: the second is special */
    if (node->op->view || is_op(node, "batch_load") || is_op(node, "step_end"))
        return; /* nothing runs; test_batch */
    if (test->own_layout && !has_own(node)) {
        fill_inputs(test, node, false);
        claret_values_run(test->values, node);
        return;
    }
    for (int kind = 0; kind < kinds; kind++) {
        fill_inputs(test, node, kind > 0);
        if (make_reference(test, node))
            check_everywhere(test, index);
        else
            fail(test, node, "reference", "there is none, or no memory for it");
        drop_reference(test);
    }
    /* Leaves what later nodes take as it is: the winners of ordinary values. */
    fill_inputs(test, node, false);
    claret_values_run(test->values, node);
}

/* ---- configurations: solver by solver, GEMM by GEMM, whole and in chunks ---- */

static int solver_count(const struct claret_node *node)
{
    int count = 0;
    while (node->op->solvers && node->op->solvers[count])
        count++;
    return count;
}

/* Forces each node that has it, and where it is applicable, to its solver of that number. */
static int force_solvers(struct op_test *test, int number, const char *gemm, bool drawn,
                         char (*texts)[DRAW_TEXT], struct claret_plan_force *force)
{
    int count = 0;
    for (int i = 0; i < test->graph->node_count; i++) {
        const struct claret_node *node = &test->graph->nodes[i];
        const bool load =
            is_op(node, "batch_load"); /* test_batch's: the plainest, one program for all cases */
        if (load ? node->attr != NULL : number >= solver_count(node))
            continue;
        const struct claret_solver *solver = node->op->solvers[load ? solver_count(node) - 1 : number];
        struct claret_problem problem = {
            .node = node, .tensors = test->graph->tensors, .device = claret_rt_device(test->tester->rt)};
        if (test->own_layout && solver->layout == CLARET_LAYOUT_NCHW)
            continue;
        /* The other device class's, whose programs take long to build: in every third case. */
        if (solver->unasked && !solver->unasked(&problem) && test->index % 3 != 0)
            continue;
        /* Where it is not applicable another is named: a choice for a forward node is one for its gradients.
         */
        bool fine = draw_choice(drawn ? &test->params_rng : NULL, &problem, solver, texts[i]);
        for (int other = 0; !fine && other < solver_count(node); other++)
            fine = draw_choice(NULL, &problem, node->op->solvers[other], texts[i]);
        if (fine)
            force[count++] = (struct claret_plan_force){node->name, texts[i]};
    }
    if (count > 0)
        force[count++] = (struct claret_plan_force){NULL, gemm};
    return count;
}

static void list_kernels(struct tester *tester, const struct claret_plan *plan)
{
    for (int i = 0; tester->list && i < plan->launch_count; i++) {
        const struct claret_launch *launch = &plan->launches[i];
        struct claret_text line = {0};
        if (launch->type != CLARET_LAUNCH_KERNEL)
            continue;
        claret_text_add(&line, "%s %s ", launch->kernel.source, launch->kernel.entry);
        claret_program_options(&launch->kernel, &line);
        claret_text_add(&line, "\n");
        if (!tester->listed.data || !strstr(tester->listed.data, line.data)) {
            claret_text_add(&tester->listed, "%s", line.data);
            fputs(line.data, tester->list);
        }
        claret_text_drop(&line);
    }
}

/* A plan without training has kernels of its own; they are run elsewhere. */
static void list_evaluation(struct op_test *test)
{
    const struct claret_graph_options options = {.training = false};
    const struct claret_plan_options plan_options = {.device = claret_rt_device(test->tester->rt)};
    struct claret_spec *spec = NULL;
    struct claret_graph *graph = NULL;
    struct claret_plan *plan = NULL;
    if (claret_op_case_graph(test->row, &options, &spec, &graph) == CLARET_OK &&
        claret_plan_create(graph, &plan_options, &plan) == CLARET_OK)
        list_kernels(test->tester, plan);
    claret_plan_destroy(plan);
    claret_graph_destroy(graph);
    claret_spec_destroy(spec);
}

static void add_config(struct op_test *test, int number, const struct claret_gemm_solver *gemm,
                       uint64_t limit, bool drawn)
{
    struct claret_rt *rt = test->tester->rt;
    struct config *config = &test->configs[test->config_count];
    char gemm_name[40];
    struct claret_plan_force *force = calloc((size_t)test->graph->node_count + 1, sizeof *force);
    char(*texts)[DRAW_TEXT] = calloc((size_t)test->graph->node_count + 1, sizeof *texts);
    struct claret_plan_options options = {.device = claret_rt_device(rt),
                                          .force = force,
                                          .guard = GUARD,
                                          .workspace_limit = limit,
                                          .gemm_workspace = claret_rt_gemm_workspace,
                                          .user = rt};
    if (!force || !texts || test->config_count == MAX_CONFIGS || !claret_gemm_on_device(gemm, options.device))
        goto cleanup;
    snprintf(gemm_name, sizeof gemm_name, "gemm:%s", gemm->name);
    options.force_count = force_solvers(test, number, gemm_name, drawn, texts, force);
    if (options.force_count == 0)
        goto cleanup;
    snprintf(config->name, sizeof config->name, "solver %d, %s%s%s", number, gemm_name,
             limit ? ", little workspace" : "", drawn ? ", drawn parameters" : "");
    claret_error_clear();
    enum claret_status status = claret_node_run_create(rt, test->graph, &options, &config->run);
    if (status == CLARET_OK) {
        test->config_count++;
        list_kernels(test->tester, config->run.plan);
    } else if (!(status == CLARET_OPENCL && options.device->short_loops)) { /* it may refuse long ones */
        test->tester->failures++;
        printf("FAILED %s: plan by %s: %s\n", test->row->name, config->name, claret_error());
    }
cleanup:
    free(force);
    free(texts);
}

/* `drawn`: with drawn parameters as well. `own_layout`: only solvers that can work on NHWC as it is; how
 * images are reordered around the others shows in the chains. */
static void add_configs(struct op_test *test, bool own_layout, bool drawn)
{
    int solvers = 0;
    test->own_layout = own_layout;
    for (int i = 0; i < test->graph->node_count; i++)
        if (solver_count(&test->graph->nodes[i]) > solvers)
            solvers = solver_count(&test->graph->nodes[i]);
    for (int number = 0; number < solvers; number++)
        for (int gemm = 0; claret_gemm_solvers[gemm]; gemm++) {
            /* Solvers and GEMMs are chosen apart: each once, not each with each. */
            if ((number > 0 || own_layout) && claret_gemm_solvers[gemm + 1])
                continue;
            add_config(test, number, claret_gemm_solvers[gemm], 0, false);
            add_config(test, number, claret_gemm_solvers[gemm], LITTLE, false);
        }
    /* Other parameters than the default ones, other ones from case to case. */
    for (int number = 0; drawn && number < solvers; number++)
        add_config(test, number, claret_gemm_solvers[0], 0, true);
}

/* ---- cases ---- */

/* Layers apart, in NCHW and in NHWC; runs of them fused, and these with the update in their nodes; fused in
 * NHWC; fused for GPUs, and these with the update. */
enum fusion { APART, APART_LAST, FUSED, FUSED_UPDATE, FUSED_LAST, TILES, TILES_UPDATE, FUSIONS };

static bool is_last(enum fusion fusion)
{
    return fusion == APART_LAST || fusion == FUSED_LAST;
}

static bool open_case(struct op_test *test, int index, enum fusion fusion)
{
    /* The optimizer's settings, what else the update does, and the images' type change from case to case. */
    static const struct claret_optimizer kinds[8] = {
        {.momentum = 0.9},
        {.weight_decay = 0.01},
        {.kind = CLARET_OPTIMIZER_ADAM, .weight_decay = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-3},
        {.momentum = 0.9, .dampening = 0.5, .weight_decay = 0.01},
        {.kind = CLARET_OPTIMIZER_RMSPROP, .momentum = 0.5, .alpha = 0.9, .eps = 1e-3, .centered = true},
        {.momentum = 0.9, .weight_decay = 0.01, .nesterov = true},
        {.kind = CLARET_OPTIMIZER_ADAMW, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3},
        {.kind = CLARET_OPTIMIZER_RMSPROP, .weight_decay = 0.01, .alpha = 0.9, .eps = 1e-3}};
    const bool update = fusion == FUSED_UPDATE || fusion == TILES_UPDATE;
    const int kind = index % 8;
    const struct claret_graph_options options = {.training = true,
                                                 .input_grad = !update,
                                                 .fuse = fusion >= FUSED,
                                                 .tiles = fusion >= TILES,
                                                 .fuse_update = update,
                                                 .channels_last = is_last(fusion),
                                                 .f32_images = index % 3 == 0,
                                                 .lr_for = kind % 4 ? "" : "*=0.03",
                                                 .lr = 0.05,
                                                 .no_decay_norm_bias = kind == 6,
                                                 .ema = kind == 2 ? 0.75 : 0,
                                                 .accumulate = (kind == 2 || kind == 5) && !update,
                                                 .clip_norm = kind == 1 && !update ? 0.5 : 0,
                                                 .clip_value = kind == 3 && !update ? 0.25 : 0,
                                                 .optimizer = kinds[kind]};
    claret_error_clear();
    if (claret_op_case_graph(test->row, &options, &test->spec, &test->graph) != CLARET_OK)
        return false;
    test->values = claret_values_create(test->graph);
    int64_t largest = 1, bytes = 1;
    for (int i = 0; test->values && i < test->graph->tensor_count; i++) {
        largest = test->values->count[i] > largest ? test->values->count[i] : largest;
        bytes += 4 * test->values->count[i];
    }
    test->got = malloc((size_t)largest * sizeof *test->got);
    test->first = malloc((size_t)bytes);
    claret_rng_init(&test->rng, 11, CLARET_STREAM_SHAPES, (uint32_t)index);
    claret_rng_init(&test->params_rng, 12, CLARET_STREAM_SHAPES, (uint32_t)index);
    return test->values && test->got && test->first;
}

/* The cases that are there for fusing: elsewhere it would only add programs to build. */
static bool is_chain(const struct claret_op_case *row)
{
    return strncmp(row->name, "fused", 5) == 0 || strncmp(row->name, "chain", 5) == 0;
}

/* Whether a layout makes a difference. */
static bool has_images(const struct claret_graph *graph)
{
    for (int i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].layout == CLARET_NHWC)
            return true;
    return false;
}

static bool has_fused(const struct claret_graph *graph)
{
    for (int i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op->chain)
            return true;
    return false;
}

static void run_case(struct tester *tester, int index, enum fusion fusion)
{
    struct op_test test = {.tester = tester, .row = &claret_op_cases[index], .index = index};
    tester->cases += fusion == APART;
    if (open_case(&test, index, fusion)) {
        if ((fusion < FUSED || has_fused(test.graph)) && (!is_last(fusion) || has_images(test.graph)))
            /* Each case draws in some of its forms: every program takes its time to build. */
            add_configs(&test, is_last(fusion) && !is_chain(test.row), (index + (int)fusion) % 6 == 0);
        list_evaluation(&test);
        for (int i = 0; test.config_count > 0 && i < test.graph->node_count; i++)
            test_node(&test, i);
    } else {
        tester->failures++;
        printf("FAILED %s: %s\n", test.row->name, claret_error());
    }
    for (int i = 0; i < test.config_count; i++)
        claret_node_run_finish(&test.configs[i].run);
    free(test.got);
    free(test.first);
    claret_values_destroy(test.values);
    claret_graph_destroy(test.graph);
    claret_spec_destroy(test.spec);
}

static void show_log(void *user, enum claret_log_level level, const char *message)
{
    (void)user;
    if (level == CLARET_LOG_WARNING)
        printf("%s\n", message);
}

static bool parse_arguments(int argc, char **argv, struct tester *tester, struct claret_rt_options *options)
{
    for (int i = 1; i < argc; i++) {
        const char **text = strcmp(argv[i], "--case") == 0       ? &tester->only
                            : strcmp(argv[i], "--device") == 0   ? &options->device
                            : strcmp(argv[i], "--platform") == 0 ? &options->platform
                                                                 : NULL;
        if (strcmp(argv[i], "--small") == 0)
            tester->small = true;
        else if (strcmp(argv[i], "--once") == 0)
            tester->once = true;
        else if (text && i + 1 < argc)
            *text = argv[++i];
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct tester tester = {.small = false};
    struct claret_rt_options options = {.cache_dir = NULL};
    const char *list = getenv("CLARET_TEST_KERNEL_LIST");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse_arguments(argc, argv, &tester, &options)) {
        printf("usage: test_ops [--small] [--once] [--case NAME] [--device SEL] [--platform SEL]\n");
        return 2;
    }
    claret_set_log(show_log, NULL);
    enum claret_status status = claret_rt_open(&options, &tester.rt);
    if (status != CLARET_OK) {
        printf("%s\n", claret_error());
        return status == CLARET_NO_DEVICE ? 77 : 1;
    }
    printf("%s\n", claret_rt_describe(tester.rt));
    if (claret_rt_probe_gemm(tester.rt) != CLARET_OK) {
        printf("%s\n", claret_error());
        tester.failures++;
    }
    if (!claret_rt_device(tester.rt)->clblast)
        printf("without CLBlast: %s\n", claret_rt_device(tester.rt)->clblast_reason);
    if (list && !(tester.list = fopen(list, "a"))) {
        printf("%s cannot be written\n", list);
        tester.failures++;
    }
    for (int i = 0; claret_op_cases[i].name; i++)
        if ((claret_op_cases[i].small || !tester.small) &&
            (!tester.only || strcmp(tester.only, claret_op_cases[i].name) == 0))
            for (int fusion = APART; fusion < (is_chain(&claret_op_cases[i]) ? FUSIONS : FUSED); fusion++)
                run_case(&tester, i, fusion);
    printf("%ld cases, %ld checks, %ld failures\n", tester.cases, tester.checks, tester.failures);
    if (tester.list && fclose(tester.list) != 0)
        tester.failures++;
    claret_text_drop(&tester.listed);
    claret_rt_close(tester.rt);
    if (claret_live_objects() != 0) {
        printf("FAILED: %zu OpenCL objects are left\n", claret_live_objects());
        tester.failures++;
    }
    return tester.failures > 0 || tester.checks == 0;
}
