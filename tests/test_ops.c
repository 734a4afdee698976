/* Every node of every case on a device, by every solver, against the reference: values, NaN, bytes beside the
 * tensors, and the same bits twice.
 *
 *     test_ops [--small] [--once] [--case NAME] [--device SEL] [--platform SEL]
 *
 * --once: without the second run, without launches like those of a case before, and large cases without the
 * other device class's kernels: for emulators, which are slow and could not but give the same bits. Exit 0:
 * all right; 1: not; 77: no device. With CLARET_TEST_KERNEL_LIST=FILE a line is appended to FILE for each
 * kernel that was launched: its source, entry and build options. Programs are kept by the driver alone: to
 * ask for a binary costs PoCL another compilation. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "op/batch.h"
#include "op/vectors.h"
#include "op_cases.h"
#include "op_configs.h"
#include "op_inputs.h"
#include "ref/ref.h"
#include "rt/internal.h"

#define RELATIVE 2e-6 /* of the sum of the terms' absolute values: some 33 roundings of float */
#define NOTABLE_SECONDS 5

struct tester {
    struct claret_rt *rt;
    bool small, once;
    const char *only;
    FILE *list;
    struct claret_text listed;        /* lines, each once */
    struct claret_launched *launched; /* for the node under test, with --once for all of them */
    long cases, checks, failures;
};

struct op_test {
    struct tester *tester;
    const struct claret_op_case *row;
    int index; /* of the row */
    bool evaluation;
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_values *values;
    struct claret_rng rng, params_rng;
    struct op_inputs inputs;
    struct op_configs configs;
    double *saved[CLARET_MAX_IN];                         /* inputs of the node under test */
    double *want[CLARET_MAX_OUT], *scale[CLARET_MAX_OUT]; /* its outputs, and what their errors scale with */
    double *got;
    unsigned char *first; /* bytes of an output, for the second run */
};

static bool is_op(const struct claret_node *node, const char *op)
{
    return strcmp(node->op->name, op) == 0;
}

static void fail(struct op_test *test, const struct claret_node *node, const char *config, const char *what)
{
    test->tester->failures++;
    printf("FAILED %s: %s (%s) by %s: %s\n", test->row->name, node->name, node->op->name, config, what);
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

static void compare(struct op_test *test, const struct claret_node *node, const struct op_config *config,
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
static void check_node(struct op_test *test, int index, struct op_config *config)
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
static void check_everywhere(struct op_test *test, int index, int kind)
{
    struct claret_launched **launched = &test->tester->launched;
    if (!test->tester->once)
        claret_launched_forget(launched);
    for (int i = 0; i < test->configs.count; i++)
        if (!claret_launched_before(launched, test->configs.config[i].run.plan, index, kind))
            check_node(test, index, &test->configs.config[i]);
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
    int kinds = op_inputs_special(node) ? 2 : 1; /* of values */
    if (node->op->view || is_op(node, "batch_load") || is_op(node, "step_end"))
        return; /* nothing runs; test_batch */
    if (test->configs.own_layout && !has_own(node)) {
        op_inputs_fill(&test->inputs, node, false);
        claret_values_run(test->values, node);
        return;
    }
    for (int kind = 0; kind < kinds; kind++) {
        op_inputs_fill(&test->inputs, node, kind > 0);
        if (make_reference(test, node))
            check_everywhere(test, index, kind);
        else
            fail(test, node, "reference", "there is none, or no memory for it");
        drop_reference(test);
    }
    /* Leaves what later nodes take as it is: the winners of ordinary values. */
    op_inputs_fill(&test->inputs, node, false);
    claret_values_run(test->values, node);
}

/* ---- what was launched ---- */

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

/* A plan without training has kernels of its own; those of most ops are run elsewhere. */
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
    const struct claret_graph_options options = {.training = !test->evaluation,
                                                 .input_grad = !update && !test->evaluation,
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
    test->inputs = (struct op_inputs){test->values, &test->rng, test->row->batch};
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

/* Whether the other device class's kernels are left out. */
static bool own_family(const struct op_test *test)
{
    return test->tester->once && !test->row->small;
}

/* Evaluation's graphs are run where layers compute otherwise there: those that keep statistics. */
static bool worth_running(const struct op_test *test, enum fusion fusion)
{
    if (test->evaluation && test->graph->all_buffers < 0)
        return false;
    char reason[128];
    const bool vectors = claret_vector_device(claret_rt_device(test->tester->rt), reason);
    if (own_family(test) && fusion >= FUSED && (fusion >= TILES) == vectors)
        return false;
    return (fusion < FUSED || has_fused(test->graph)) && (!is_last(fusion) || has_images(test->graph));
}

static void run_case(struct tester *tester, int index, enum fusion fusion, bool evaluation)
{
    struct op_test test = {
        .tester = tester, .row = &claret_op_cases[index], .index = index, .evaluation = evaluation};
    tester->cases += fusion == APART && !evaluation;
    if (open_case(&test, index, fusion)) {
        struct op_configs *configs = &test.configs;
        /* Each case draws in some of its forms: every program takes its time to build. */
        *configs = (struct op_configs){.rt = tester->rt,
                                       .graph = test.graph,
                                       .name = test.row->name,
                                       .index = index,
                                       .rng = &test.params_rng,
                                       .drawn = !evaluation && (index + (int)fusion) % 6 == 0,
                                       .own_family = own_family(&test),
                                       .own_layout = is_last(fusion) && !is_chain(test.row)};
        if (worth_running(&test, fusion))
            op_configs_make(configs);
        tester->failures += configs->failures;
        for (int i = 0; i < configs->count; i++)
            list_kernels(tester, configs->config[i].run.plan);
        if (!evaluation)
            list_evaluation(&test);
        for (int i = 0; configs->count > 0 && i < test.graph->node_count; i++)
            test_node(&test, i);
    } else {
        tester->failures++;
        printf("FAILED %s: %s\n", test.row->name, claret_error());
    }
    op_configs_finish(&test.configs);
    free(test.got);
    free(test.first);
    claret_values_destroy(test.values);
    claret_graph_destroy(test.graph);
    claret_spec_destroy(test.spec);
}

/* A case apart and fused, in training and evaluation; those that take long are named, so that the log shows
 * where the time goes. */
static void run_forms(struct tester *tester, int index)
{
    double start = claret_clock();
    for (int fusion = APART; fusion < (is_chain(&claret_op_cases[index]) ? FUSIONS : FUSED); fusion++)
        for (int evaluation = 0; evaluation < 2; evaluation++)
            run_case(tester, index, fusion, evaluation == 1);
    if (claret_clock() - start > NOTABLE_SECONDS)
        printf("%s: %.0f s\n", claret_op_cases[index].name, claret_clock() - start);
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
            run_forms(&tester, i);
    printf("%ld cases, %ld checks, %ld failures\n", tester.cases, tester.checks, tester.failures);
    if (tester.list && fclose(tester.list) != 0)
        tester.failures++;
    claret_text_drop(&tester.listed);
    claret_launched_forget(&tester.launched);
    claret_rt_close(tester.rt);
    if (claret_live_objects() != 0) {
        printf("FAILED: %zu OpenCL objects are left\n", claret_live_objects());
        tester.failures++;
    }
    return tester.failures > 0 || tester.checks == 0;
}
