/* What options make of the nodes around the update: frozen parameters, gradients clipped and gathered,
 * groups of parameters, their average. Host only. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "op_cases.h"
#include "plan/plan.h"

static const char text[] = "input 3 16 16\n"
                           "stem = conv2d out_channels=8 kernel_size=3 padding=1\n"
                           "norm = batch_norm2d\n"
                           "relu\n"
                           "second = conv2d out_channels=8 kernel_size=3\n"
                           "relu\n"
                           "max_pool2d kernel_size=2\n"
                           "flatten\n"
                           "hidden = linear out_features=20\n"
                           "relu\n"
                           "fc = linear out_features=10\n";

struct made {
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_plan *plan;
};

static enum claret_status try(const struct claret_graph_options *options, struct made *made)
{
    memset(made, 0, sizeof *made);
    claret_error_clear();
    enum claret_status status = claret_spec_parse(text, "a.net", claret_op_schemas(), &made->spec);
    return status == CLARET_OK ? claret_graph_create(made->spec, options, &made->graph) : status;
}

static void drop(struct made *made)
{
    claret_plan_destroy(made->plan);
    claret_graph_destroy(made->graph);
    claret_spec_destroy(made->spec);
}

/* With a plan for a CPU device, whose layers and updates are fused. */
static void make(struct claret_graph_options options, struct made *made)
{
    struct claret_device_desc device;
    claret_device_desc_default(&device);
    device.kind = CLARET_CLASS_CPU;
    device.float_width = 8;
    const struct claret_plan_options plan = {.device = &device};
    if (try(&options, made) != CLARET_OK || claret_plan_create(made->graph, &plan, &made->plan) != CLARET_OK)
        fail_msg("%s", claret_error());
}

static struct claret_graph_options options_for(bool fuse)
{
    return (struct claret_graph_options){.batch = 4,
                                         .training = true,
                                         .fuse = fuse,
                                         .fuse_update = fuse,
                                         .channels_last = fuse,
                                         .optimizer.momentum = 0.9};
}

static const struct claret_node *node(const struct claret_graph *graph, const char *name)
{
    for (int i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].name, name) == 0)
            return &graph->nodes[i];
    return NULL;
}

static const struct claret_tensor *tensor(const struct claret_graph *graph, const char *name)
{
    int id = claret_graph_find(graph, name);
    return id >= 0 ? &graph->tensors[id] : NULL;
}

static int64_t elements(const struct claret_graph *graph, int whole)
{
    return claret_shape_count(&graph->tensors[whole].shape);
}

/* ---- frozen parameters ---- */

/* Less memory and fewer launches, the more of the network's beginning is frozen. */
static void test_freeze_costs(void **state)
{
    static const char *const freezes[] = {"", "stem", "stem,norm", "stem,norm,second",
                                          "stem,norm,second,hidden"};
    (void)state;
    for (int fuse = 0; fuse < 2; fuse++) {
        uint64_t bytes = UINT64_MAX;
        int launches = INT32_MAX;
        for (size_t i = 0; i < sizeof freezes / sizeof *freezes; i++) {
            struct claret_graph_options options = options_for(fuse);
            struct made made;
            options.freeze = freezes[i];
            make(options, &made);
            if (claret_plan_bytes(made.plan) >= bytes || made.plan->launch_count >= launches)
                fail_msg("'%s': %llu bytes and %d launches, before %llu and %d", freezes[i],
                         (unsigned long long)claret_plan_bytes(made.plan), made.plan->launch_count,
                         (unsigned long long)bytes, launches);
            bytes = claret_plan_bytes(made.plan);
            launches = made.plan->launch_count;
            drop(&made);
        }
    }
}

/* They lie behind the others, in the evaluation's graph too; gradients and state have no room for them. */
static void test_freeze_places(void **state)
{
    (void)state;
    struct claret_graph_options options = options_for(false), evaluation = {.batch = 9};
    struct made train, eval;
    options.freeze = evaluation.freeze = "stem,fc.bias";
    make(options, &train);
    make(evaluation, &eval);
    const struct claret_graph *graph = train.graph;
    int64_t trained = elements(graph, graph->all_grads), end = 0, frozen_end = trained;
    assert_true(elements(graph, graph->all_state) == trained);
    assert_true(elements(graph, graph->all_params) > trained);
    for (int i = 0; i < graph->param_count; i++) {
        const struct claret_tensor *param = &graph->tensors[graph->params[i]];
        bool frozen = strncmp(param->name, "stem.", 5) == 0 || strcmp(param->name, "fc.bias") == 0;
        int64_t *at = frozen ? &frozen_end : &end;
        assert_true(param->frozen == frozen && (graph->grads[i] < 0) == frozen);
        assert_true(param->base_offset >= *at);
        *at = param->base_offset + claret_shape_count(&param->shape);
        assert_true(tensor(eval.graph, param->name)->base_offset == param->base_offset);
    }
    assert_true(end <= trained && frozen_end <= elements(graph, graph->all_params));
    drop(&train);
    drop(&eval);
}

/* No backward node below what is trained, none for a layer that is frozen whole. The gradient of the frozen
 * half of a layer is thrown away, and the update of the other half is not the node's own. */
static void test_freeze_nodes(void **state)
{
    (void)state;
    struct claret_graph_options options = options_for(false);
    struct made made;
    options.freeze = "stem,norm,hidden";
    make(options, &made);
    assert_null(node(made.graph, "stem.dw"));
    assert_null(node(made.graph, "norm.dx"));
    assert_null(node(made.graph, "second.dx"));
    assert_non_null(node(made.graph, "second.dw"));
    assert_non_null(node(made.graph, "hidden.dx"));
    assert_null(node(made.graph, "hidden.dw"));
    assert_non_null(tensor(made.graph, "norm.running_mean"));
    drop(&made);
    for (int fuse = 0; fuse < 2; fuse++) {
        options = options_for(fuse);
        options.freeze = "second.weight,fc.bias,*.bias";
        make(options, &made);
        assert_true(tensor(made.graph, "second.bias")->frozen && !tensor(made.graph, "fc.weight")->frozen);
        assert_false(tensor(made.graph, "fc.weight")->updated);
        const struct claret_tensor *grad = tensor(made.graph, "fc.bias.grad");
        assert_true(grad && grad->home == CLARET_HOME_ARENA);
        drop(&made);
    }
}

static bool is_written(const struct claret_graph *graph, int tensor)
{
    for (int i = 0; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].out_count; j++)
            if (graph->nodes[i].out[j] == tensor)
                return true;
    return false;
}

/* Whichever one parameter of an op's is frozen, the others have their gradients, or their update. */
static void test_freeze_one(void **state)
{
    (void)state;
    for (int row = 0; claret_op_cases[row].name; row++) {
        int params = 2;
        for (int frozen = 0; frozen < params; frozen++) {
            struct claret_graph_options options = {.training = true, .fuse = row % 2, .fuse_update = row % 2};
            struct made made = {.plan = NULL};
            claret_error_clear();
            if (claret_op_case_graph(&claret_op_cases[row], &options, &made.spec, &made.graph) != CLARET_OK)
                fail_msg("%s: %s", claret_op_cases[row].name, claret_error());
            params = made.graph->param_count;
            char name[128];
            snprintf(name, sizeof name, "%s", made.graph->tensors[made.graph->params[frozen]].name);
            drop(&made);
            if (params < 2)
                break;
            options.freeze = name;
            if (claret_op_case_graph(&claret_op_cases[row], &options, &made.spec, &made.graph) != CLARET_OK)
                fail_msg("%s: %s", claret_op_cases[row].name, claret_error());
            for (int i = 0; i < params; i++)
                if (i != frozen && !made.graph->tensors[made.graph->params[i]].updated &&
                    !is_written(made.graph, made.graph->grads[i]))
                    fail_msg("%s: %s frozen, %s has no gradient", claret_op_cases[row].name, name,
                             made.graph->tensors[made.graph->params[i]].name);
            drop(&made);
        }
    }
}

static void test_freeze_refused(void **state)
{
    static const char *const rows[][2] = {
        {"stme", "freeze: 'stme' matches nothing of the network"},
        {"stem,fc.weigth", "'fc.weigth' matches nothing of the network; the nearest is 'fc.weight'"},
        {"norm.running_mean", "matches nothing"},
        {"stem,,fc", "'' matches nothing"},
        {"*", "freeze: '*' leaves nothing to train"},
        {"stem,norm,second,hidden,fc", "leaves nothing to train"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct claret_graph_options options = options_for(i % 2);
        struct made made;
        options.freeze = rows[i][0];
        assert_int_equal(try(&options, &made), CLARET_INVALID);
        if (!strstr(claret_error(), rows[i][1]))
            fail_msg("'%s': %s", rows[i][0], claret_error());
        drop(&made);
    }
}

/* ---- gradients ---- */

/* Clipping comes between all gradients and the one update. */
static void test_clip(void **state)
{
    (void)state;
    for (int fuse = 0; fuse < 2; fuse++)
        for (int norm = 0; norm < 2; norm++) {
            struct claret_graph_options options = options_for(fuse);
            struct made made;
            options.clip_norm = norm ? 2 : 0;
            options.clip_value = norm ? 0 : 2;
            make(options, &made);
            for (int i = 0; i < made.graph->param_count; i++)
                assert_false(made.graph->tensors[made.graph->params[i]].updated);
            const struct claret_node *clip = node(made.graph, "clip_norm"),
                                     *update = node(made.graph, "update");
            assert_true((clip != NULL) == norm && update && update->in[1] == made.graph->all_grads);
            if (norm)
                assert_true(clip < update && clip->in[0] == made.graph->all_grads &&
                            update->in[update->in_count - 2] == clip->out[0]);
            drop(&made);
        }
}

/* One update, by the means; clipping is of these. */
static void test_accumulate(void **state)
{
    (void)state;
    struct claret_graph_options options = options_for(true);
    struct made made;
    options.accumulate = true;
    options.clip_norm = 2;
    make(options, &made);
    const struct claret_node *mean = node(made.graph, "accumulate"), *clip = node(made.graph, "clip_norm"),
                             *update = node(made.graph, "update");
    assert_true(mean && clip && update && mean < clip && clip < update);
    assert_true(mean->in[0] == made.graph->all_grads && clip->in[0] == mean->out[0] &&
                update->in[1] == mean->out[0]);
    assert_true(made.plan->places[mean->out[0]].buffer == CLARET_HOME_MEANS);
    drop(&made);
}

/* ---- groups ---- */

static void expect_group(const struct claret_graph *graph, const char *name, double rate, double decay)
{
    const struct claret_tensor *param = tensor(graph, name);
    if (!(fabs((double)param->rate - rate) < 1e-6 && fabs((double)param->decay - decay) < 1e-6))
        fail_msg("%s has rate %g and decay %g", name, (double)param->rate, (double)param->decay);
}

/* Runs of parameters with the same rate and decay have one update each; those that update their own know
 * them. */
static void test_groups(void **state)
{
    (void)state;
    for (int fuse = 0; fuse < 2; fuse++) {
        struct claret_graph_options options = options_for(fuse);
        struct made made;
        options.optimizer.weight_decay = 0.1;
        options.lr = 0.01;
        options.lr_for = "norm=0.02,hidden=0.03,hidden.weight=0.04,fc=0.01";
        options.no_decay_norm_bias = true;
        make(options, &made);
        expect_group(made.graph, "stem.weight", 1, 0.1);
        expect_group(made.graph, "stem.bias", 1, 0);
        expect_group(made.graph, "norm.weight", 2, 0);
        expect_group(made.graph, "norm.bias", 2, 0);
        expect_group(made.graph, "hidden.weight", 4, 0.1);
        expect_group(made.graph, "hidden.bias", 3, 0);
        int64_t updated = 0;
        int updates = 0;
        for (int i = 0; i < made.graph->node_count; i++) {
            const struct claret_node *at = &made.graph->nodes[i];
            if (!at->update)
                continue;
            bool alone = strcmp(at->op->name, "update") == 0;
            updates += alone;
            for (int j = 0; j < at->out_count; j++)
                if (made.graph->tensors[at->out[j]].home == CLARET_HOME_PARAMS)
                    updated += alone ? elements(made.graph, at->out[j]) : 0;
            if (strcmp(at->name, "fc.backward") == 0)
                assert_true(at->update->group[0].decay > 0 && at->update->group[1].decay == 0);
        }
        if (!fuse) { /* stem.weight; stem.bias; norm; second.weight; second.bias; hidden's two; fc's two */
            assert_int_equal(updates, 9);
            assert_true(updated == elements(made.graph, made.graph->all_params));
        }
        drop(&made);
    }
}

/* ---- the average ---- */

/* After all updates, in a slot behind the optimizer's, of what is trained. */
static void test_ema(void **state)
{
    (void)state;
    for (int fuse = 0; fuse < 2; fuse++)
        for (int momentum = 0; momentum < 2; momentum++) {
            struct claret_graph_options options = options_for(fuse);
            struct made made;
            options.ema = 0.5;
            options.optimizer.momentum = momentum ? 0.9 : 0;
            options.freeze = "stem";
            make(options, &made);
            const struct claret_graph *graph = made.graph;
            int64_t trained = elements(graph, graph->all_grads);
            assert_true(graph->ema >= 0 && elements(graph, graph->ema) == trained);
            assert_true(elements(graph, graph->all_state) == (1 + momentum) * trained);
            assert_true(graph->tensors[graph->ema].base_offset == momentum * trained);
            const struct claret_node *ema = node(graph, "ema");
            for (int i = 0; i < graph->node_count; i++)
                assert_true(!graph->nodes[i].update || &graph->nodes[i] <= ema);
            assert_true(elements(graph, ema->in[0]) == trained);
            drop(&made);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freeze_costs),
        cmocka_unit_test(test_freeze_places),
        cmocka_unit_test(test_freeze_nodes),
        cmocka_unit_test(test_freeze_one),
        cmocka_unit_test(test_freeze_refused),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_accumulate),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_ema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
