/* The reference functions: against values worked out by hand, and every backward against central differences
 * of the forward over the small op cases, which checks the graph's autodiff as well. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "op/batch.h"
#include "op/update.h"
#include "op_cases.h"
#include "ref/ref.h"
#include "values.h"

#define STEP 1e-5      /* of the differences */
#define TOLERANCE 1e-6 /* relative */
#define SAMPLES 48     /* elements tried of each gradient */

/* ---- by hand ---- */

/* A node of `text`'s graph at batch 1 and its values. */
struct net {
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_values *values;
};

static void net_open(struct net *net, const struct claret_op_case *row,
                     const struct claret_graph_options *options)
{
    claret_error_clear();
    if (claret_op_case_graph(row, options, &net->spec, &net->graph) != CLARET_OK)
        fail_msg("%s: %s", row->name, claret_error());
    net->values = claret_values_create(net->graph);
    assert_non_null(net->values);
}

static void net_close(struct net *net)
{
    claret_values_destroy(net->values);
    claret_graph_destroy(net->graph);
    claret_spec_destroy(net->spec);
}

static const struct claret_node *node_of(const struct net *net, const char *op)
{
    for (int i = 0; i < net->graph->node_count; i++)
        if (strcmp(net->graph->nodes[i].op->name, op) == 0)
            return &net->graph->nodes[i];
    fail_msg("no node of op %s", op);
    return NULL;
}

static void set(const struct net *net, int tensor, const double *value)
{
    assert_true(tensor >= 0);
    memcpy(net->values->at[tensor], value, (size_t)net->values->count[tensor] * sizeof *value);
}

static void expect(const struct net *net, int tensor, const double *want)
{
    for (int64_t i = 0; i < net->values->count[tensor]; i++) {
        double got = net->values->at[tensor][i];
        if (!(fabs(got - want[i]) <= 1e-12) && !(isnan(got) && isnan(want[i])))
            fail_msg("%s[%d] is %.17g, not %.17g", net->graph->tensors[tensor].name, (int)i, got, want[i]);
    }
}

static const struct claret_graph_options plain_options = {.training = true, .input_grad = true};

/* A kernel that is not symmetric: it is not flipped; the stride and padding are rows first. */
static void test_conv2d(void **state)
{
    (void)state;
    const struct claret_op_case row = {
        "hand", "1 2 3", "conv2d out_channels=1 kernel_size=2 padding=0,1 stride=1,2; flatten", 1, true, {0}};
    struct net net;
    net_open(&net, &row, &plain_options);
    const struct claret_node *node = node_of(&net, "conv2d");
    set(&net, node->in[0], (double[]){1, 2, 3, 4, 5, 6});
    set(&net, node->in[1], (double[]){1, 10, 100, 1000});
    set(&net, node->in[2], (double[]){0.5});
    assert_true(claret_values_run(net.values, node));
    /* rows 0 1 2 3 0 and 0 4 5 6 0 with padding; columns 0 and 2 of them begin windows */
    expect(&net, node->out[0], (double[]){4010.5, 6532.5});
    net_close(&net);
}

/* Of equals the first wins; the padding never does; of NaNs the last. */
static void test_max_pool2d(void **state)
{
    (void)state;
    const struct claret_op_case row = {
        "hand", "1 2 4", "max_pool2d kernel_size=2; flatten; linear out_features=1", 1, true, {0}};
    const struct claret_op_case padded = {
        "hand", "1 2 2", "max_pool2d kernel_size=2 padding=1; flatten; linear out_features=1", 1, true, {0}};
    struct net net;
    net_open(&net, &row, &plain_options);
    const struct claret_node *node = node_of(&net, "max_pool2d");
    set(&net, node->in[0], (double[]){1, 3, NAN, 7, 3, 2, NAN, 9});
    assert_true(claret_values_run(net.values, node));
    expect(&net, node->out[0], (double[]){3, NAN});
    expect(&net, node->out[1], (double[]){1, 2});
    node = node_of(&net, "max_pool2d_dx");
    set(&net, node->in[1], (double[]){5, 6});
    assert_true(claret_values_run(net.values, node));
    expect(&net, node->out[0], (double[]){0, 5, 0, 0, 0, 0, 6, 0});
    net_close(&net);

    net_open(&net, &padded, &plain_options);
    node = node_of(&net, "max_pool2d");
    set(&net, node->in[0], (double[]){-1, -INFINITY, -3, -4});
    assert_true(claret_values_run(net.values, node));
    expect(&net, node->out[1], (double[]){3, 2, 1, 0});
    assert_true(net.values->at[node->out[0]][1] == -INFINITY);
    net_close(&net);
}

static void test_relu_linear(void **state)
{
    (void)state;
    const struct claret_op_case row = {"hand", "1 1 3", "flatten; relu; linear out_features=2", 1, true, {0}};
    struct net net;
    net_open(&net, &row, &plain_options);
    const struct claret_node *relu = node_of(&net, "relu"), *linear = node_of(&net, "linear");
    set(&net, relu->in[0], (double[]){-1, NAN, 2});
    assert_true(claret_values_run(net.values, relu));
    expect(&net, relu->out[0], (double[]){0, NAN, 2});
    set(&net, linear->in[0], (double[]){1, 2, 3});
    set(&net, linear->in[1], (double[]){1, 10, 100, 2, 20, 200});
    set(&net, linear->in[2], (double[]){0.5, -0.5});
    assert_true(claret_values_run(net.values, linear));
    expect(&net, linear->out[0], (double[]){321.5, 641.5});
    net_close(&net);
}

/* Logits log 1, log 2, log 5, large ones that would overflow, and a row past the true batch size. */
static void test_cross_entropy(void **state)
{
    (void)state;
    const struct claret_op_case row = {"hand", "1 1 1", "flatten; linear out_features=3", 3, true, {0}};
    struct net net;
    net_open(&net, &row, &plain_options);
    const struct claret_node *node = node_of(&net, "cross_entropy");
    set(&net, node->in[0], (double[]){0, log(2), log(5), 1000, 1000, 1000, 1, 2, 3});
    set(&net, node->in[1], (double[]){1, 0, 0});
    net.values->at[net.graph->step][CLARET_STEP_COUNT] = 2;
    assert_true(claret_values_run(net.values, node));
    expect(&net, node->out[0], (double[]){log(4), log(3), 0});
    expect(&net, node->out[1], (double[]){1. / 16, -3. / 8, 5. / 16, -1. / 3, 1. / 6, 1. / 6, 0, 0, 0});
    net_close(&net);
}

/* Two steps of each kind of SGD on one parameter p = 2 with gradients 3 and 4, lr 0.5. */
static void test_sgd(void **state)
{
    (void)state;
    static const struct {
        double momentum, dampening, weight_decay;
        bool nesterov;
        double first, second;
    } want[] = {
        {0, 0, 0, false, 0.5, -1.5},       {0, 0, 0.5, false, 0, -2}, /* 3 + 1; 4 + 0 */
        {0.5, 0, 0, false, 0.5, -2.25},                               /* 3; 1.5 + 4 */
        {0.5, 0.25, 0, false, 0.5, -1.75},                            /* 3; 1.5 + 0.75 * 4 */
        {0.5, 0, 0, true, -0.25, -3.625},                             /* 3 + 1.5; 4 + 2.75 */
        {0.5, 0, 0.5, true, -1, -4.125},                              /* 4 + 2; 3.5 + 0.5 * (2 + 3.5) */
    };
    const struct claret_op_case row = {"hand", "1 1 1", "flatten; linear out_features=1 bias=false",
                                       1,      true,    {0}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct claret_graph_options options = {.training = true,
                                               .optimizer.momentum = want[i].momentum,
                                               .optimizer.dampening = want[i].dampening,
                                               .optimizer.weight_decay = want[i].weight_decay,
                                               .optimizer.nesterov = want[i].nesterov};
        struct net net;
        net_open(&net, &row, &options);
        const struct claret_node *node = node_of(&net, "update");
        double *step = net.values->at[net.graph->step];
        step[CLARET_STEP_LR] = 0.5;
        step[CLARET_STEP_MOMENTUM] = want[i].momentum;
        step[CLARET_STEP_FIRST] = 1;
        set(&net, net.graph->params[0], (double[]){2});
        set(&net, net.graph->grads[0], (double[]){3});
        assert_true(claret_values_run(net.values, node));
        expect(&net, net.graph->params[0], &want[i].first);
        step[CLARET_STEP_FIRST] = 0;
        set(&net, net.graph->grads[0], (double[]){4});
        assert_true(claret_values_run(net.values, node));
        expect(&net, net.graph->params[0], &want[i].second);
        net_close(&net);
    }
}

/* Two steps of the other optimizers on one parameter p = 2 with gradients 3 and 4, lr 0.5, worked out by hand
 * from the formulas. */
static void test_adaptive(void **state)
{
    (void)state;
    const double beta1 = 0.5, beta2 = 0.75, eps = 0.5, alpha = 0.5;
    static const enum claret_optimizer_kind kinds[] = {CLARET_OPTIMIZER_ADAM, CLARET_OPTIMIZER_ADAMW,
                                                       CLARET_OPTIMIZER_RMSPROP, CLARET_OPTIMIZER_RMSPROP};
    /* Adam: m 1.5, s 2.25, so 3 / (3 + 0.5); then m 2.75, s 5.6875 over corrections 0.75 and 0.4375. RMSprop:
     * s 4.5; then 10.25. Centered with momentum: s 4.5, m 1.5, so 3 / (1.5 + 0.5); then s 10.25, m 2.75. */
    const double adam = 3 / 3.5, adam2 = 2.75 / 0.75 / (sqrt(5.6875 / 0.4375) + eps);
    const double change[4][2] = {{adam, adam2},
                                 {adam, adam2},
                                 {3 / (sqrt(4.5) + eps), 4 / (sqrt(10.25) + eps)},
                                 {1.5, 0.75 + 4 / (sqrt(10.25 - 2.75 * 2.75) + eps)}};
    const struct claret_op_case row = {"hand", "1 1 1", "flatten; linear out_features=1 bias=false",
                                       1,      true,    {0}};
    for (size_t i = 0; i < 4; i++) {
        bool decays = kinds[i] == CLARET_OPTIMIZER_ADAMW;
        struct claret_graph_options options = {.training = true,
                                               .optimizer = {.kind = kinds[i],
                                                             .beta1 = beta1,
                                                             .beta2 = beta2,
                                                             .eps = eps,
                                                             .alpha = alpha,
                                                             .weight_decay = decays ? 0.25 : 0,
                                                             .momentum = i == 3 ? 0.5 : 0,
                                                             .centered = i == 3}};
        struct net net;
        net_open(&net, &row, &options);
        const struct claret_node *node = node_of(&net, "update");
        double *step = net.values->at[net.graph->step], want = 2;
        step[CLARET_STEP_LR] = 0.5;
        step[CLARET_STEP_MOMENTUM] = (double)claret_optimizer_momentum(&options.optimizer);
        set(&net, net.graph->params[0], (double[]){2});
        for (uint64_t t = 1; t <= 2; t++) {
            float mean, square;
            claret_optimizer_corrections(&options.optimizer, t, &mean, &square);
            step[CLARET_STEP_MEAN_SCALE] = (double)mean;
            step[CLARET_STEP_SQUARE_SCALE] = (double)square;
            set(&net, net.graph->grads[0], (double[]){t == 1 ? 3 : 4});
            assert_true(claret_values_run(net.values, node));
            want = want * (decays ? 1 - 0.5 * 0.25 : 1) - 0.5 * change[i][t - 1];
            double got = net.values->at[net.graph->params[0]][0];
            if (!(fabs(got - want) < 1e-6))
                fail_msg("kind %zu, step %d: %.9g, not %.9g", i, (int)t, got, want);
        }
        net_close(&net);
    }
}

/* ---- by differences ---- */

/* The mean loss, all nodes up to the optimizer run. */
static double run_all(struct claret_values *values)
{
    const struct claret_graph *graph = values->graph;
    for (int i = 0; i < graph->node_count; i++) {
        const char *op = graph->nodes[i].op->name;
        if (strcmp(op, "update") != 0 && strcmp(op, "batch_load") != 0 && strcmp(op, "step_end") != 0 &&
            !claret_values_run(values, &graph->nodes[i]))
            fail_msg("op %s has no reference", op);
    }
    double sum = 0;
    for (int64_t i = 0; i < values->count[graph->losses]; i++)
        sum += values->at[graph->losses][i];
    return sum / values->at[graph->step][CLARET_STEP_COUNT];
}

/* Kinks below x: of relu and leaky_relu 0, of relu6 0 and 6, of hardswish -3 and 3. */
static int below(double x)
{
    return (x > -3) + (x > 0) + (x > 3) + (x > 6);
}

/* Which side of every kink the values lie on, winners of pools. Its size is the graph's. */
static void kinks(const struct claret_values *values, signed char *side)
{
    const struct claret_graph *graph = values->graph;
    for (int i = 0; i < graph->node_count; i++) {
        const struct claret_node *node = &graph->nodes[i];
        bool relu = strstr(node->op->name, "relu") || strcmp(node->op->name, "hardswish") == 0;
        bool pool = strcmp(node->op->name, "max_pool2d") == 0;
        int tensor = relu ? node->in[0] : pool ? node->out[1] : -1;
        for (int64_t j = 0; tensor >= 0 && j < values->count[tensor]; j++)
            *side++ = (signed char)(relu ? below(values->at[tensor][j]) : (int64_t)values->at[tensor][j]);
    }
}

static int64_t kink_count(const struct claret_values *values)
{
    int64_t count = 1;
    for (int i = 0; i < values->graph->tensor_count; i++)
        count += values->count[i];
    return count;
}

struct probe {
    struct claret_values *values;
    signed char *before, *after; /* kinks */
    size_t kinks;
};

/* (L(x + h) - L(x - h)) / 2h for one element. false: a kink lies between, so this says nothing. */
static bool difference(const struct probe *probe, double *element, double *slope)
{
    double x = *element, loss[2];
    bool smooth = true;
    for (int side = 0; side < 2; side++) {
        *element = side ? x + STEP : x - STEP;
        loss[side] = run_all(probe->values);
        memset(probe->after, 0, probe->kinks);
        kinks(probe->values, probe->after);
        smooth = smooth && memcmp(probe->before, probe->after, probe->kinks) == 0;
    }
    *element = x;
    *slope = (loss[1] - loss[0]) / ((x + STEP) - (x - STEP));
    return smooth;
}

/* Compares some elements of `gradient` with differences by `tensor`; returns how many were compared. */
static int check_gradient(const struct probe *probe, const char *name, int tensor, int gradient,
                          struct claret_rng *rng)
{
    int64_t count = probe->values->count[tensor];
    int compared = 0;
    for (int64_t i = 0; i < (count < SAMPLES ? count : SAMPLES); i++) {
        int64_t at = count <= SAMPLES ? i : claret_rng_below(rng, (uint32_t)count);
        double want, got;
        if (!difference(probe, &probe->values->at[tensor][at], &want))
            continue;
        run_all(probe->values);
        got = probe->values->at[gradient][at];
        if (!(fabs(got - want) <= TOLERANCE * fmax(fabs(want), fabs(got)) + 1e-9))
            fail_msg("%s: %s[%d] is %.12g, by differences %.12g", name,
                     probe->values->graph->tensors[gradient].name, (int)at, got, want);
        compared++;
    }
    return compared;
}

static void check_case(const struct claret_op_case *row, uint32_t index)
{
    struct net net;
    struct claret_rng rng;
    net_open(&net, row, &plain_options);
    claret_rng_init(&rng, 7, CLARET_STREAM_SHAPES, index);
    claret_values_random(net.values, net.graph->input, &rng, 0);
    for (int i = 0; i < net.graph->param_count; i++)
        claret_values_random(net.values, net.graph->params[i], &rng, 0);
    claret_values_labels(net.values, &rng);
    claret_values_class_weights(net.values, &rng);
    /* The last image is none where the batch allows it. */
    net.values->at[net.graph->step][CLARET_STEP_COUNT] = row->batch > 1 ? row->batch - 1 : 1;
    size_t size = (size_t)kink_count(net.values);
    struct probe probe = {net.values, calloc(size, 1), calloc(size, 1), size};
    assert_true(probe.before && probe.after);
    run_all(net.values);
    kinks(net.values, probe.before);
    int compared = check_gradient(&probe, row->name, net.graph->input, net.graph->input_grad, &rng), of = 0;
    for (int i = 0; i < net.graph->param_count; i++)
        compared += check_gradient(&probe, row->name, net.graph->params[i], net.graph->grads[i], &rng);
    for (int i = -1; i < net.graph->param_count; i++) {
        int64_t count = net.values->count[i < 0 ? net.graph->input : net.graph->params[i]];
        of += (int)(count < SAMPLES ? count : SAMPLES);
    }
    if (compared * 10 < of * 9)
        fail_msg("%s: only %d of %d elements were away from kinks", row->name, compared, of);
    free(probe.before);
    free(probe.after);
    net_close(&net);
}

static void test_differences(void **state)
{
    (void)state;
    for (uint32_t i = 0; claret_op_cases[i].name; i++)
        if (claret_op_cases[i].small)
            check_case(&claret_op_cases[i], i);
}

static void test_names(void **state)
{
    (void)state;
    assert_null(claret_ref_find("conv3d"));
    for (int i = 0; claret_op_cases[i].name; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(claret_op_cases[i].name, claret_op_cases[j].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),         cmocka_unit_test(test_conv2d),
        cmocka_unit_test(test_max_pool2d),    cmocka_unit_test(test_relu_linear),
        cmocka_unit_test(test_cross_entropy), cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_adaptive),      cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
