/* Which solver a plan takes: forced, by a tuning record, by the solvers' order; their parameters, the keys of
 * records, the explanation. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "op_cases.h"
#include "plan/plan.h"

/* A graph and a plan of it. */
struct planned {
    struct claret_device_desc device;
    struct claret_plan_options options;
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_plan *plan;
};

static void begin(struct planned *planned, const struct claret_op_case *row)
{
    const struct claret_graph_options options = {
        .training = true, .optimizer.momentum = 0.9, .input_grad = true};
    *planned = (struct planned){.plan = NULL};
    claret_device_desc_default(&planned->device);
    planned->options.device = &planned->device;
    claret_error_clear();
    if (claret_op_case_graph(row, &options, &planned->spec, &planned->graph) != CLARET_OK)
        fail_msg("%s: %s", row->name, claret_error());
}

static void make(struct planned *planned)
{
    claret_error_clear();
    if (claret_plan_create(planned->graph, &planned->options, &planned->plan) != CLARET_OK)
        fail_msg("%s: %s", planned->spec->file, claret_error());
}

static void end(struct planned *planned)
{
    claret_plan_destroy(planned->plan);
    claret_graph_destroy(planned->graph);
    claret_spec_destroy(planned->spec);
}

static const struct claret_op_case *case_named(const char *name)
{
    for (int i = 0; claret_op_cases[i].name; i++)
        if (strcmp(claret_op_cases[i].name, name) == 0)
            return &claret_op_cases[i];
    fail_msg("no case %s", name);
    return NULL;
}

/* ---- forcing ---- */

static void test_forced(void **state)
{
    (void)state;
    static const struct {
        struct claret_plan_force force;
        enum claret_status status;
        const char *words;
    } rows[] = {
        {{NULL, "gemm:plain"}, CLARET_OK, NULL},
        {{"conv2d1", "im2col+gemm"}, CLARET_OK, NULL},
        {{"conv2d1.dw", "im2col+gemm"}, CLARET_OK, NULL},
        {{"linear1", "gemm:plain"}, CLARET_OK, NULL},
        {{"conv9", "im2col+gemm"}, CLARET_INVALID, "conv9"},
        {{"conv2d9", "im2col+gemm"}, CLARET_INVALID, "did you mean 'conv2d1'?"},
        {{"conv2d1", "im2col"}, CLARET_INVALID, " direct im2col-rows+gemm "},
        {{NULL, "nothing"}, CLARET_INVALID, "nothing"},
        {{NULL, "gemm:nothing"}, CLARET_INVALID, "nothing"},
        {{NULL, "gemm:clblast"}, CLARET_INVALID, "no such luck"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planned planned;
        begin(&planned, case_named("chain-simplecnn"));
        planned.options.force = &rows[i].force;
        planned.options.force_count = 1;
        if (rows[i].words && strcmp(rows[i].words, "no such luck") == 0) {
            planned.device.clblast = false;
            planned.device.clblast_reason = "no such luck";
        }
        enum claret_status status = claret_plan_create(planned.graph, &planned.options, &planned.plan);
        if (status != rows[i].status || (rows[i].words && !strstr(claret_error(), rows[i].words)))
            fail_msg("%s by %s: status %s, %s", rows[i].force.node ? rows[i].force.node : "all",
                     rows[i].force.solver, claret_status_name(status), claret_error());
        if (i == 0)
            for (int j = 0; j < planned.plan->launch_count; j++)
                assert_int_equal(planned.plan->launches[j].type, CLARET_LAUNCH_KERNEL);
        end(&planned);
    }
}

/* ---- parameters, records, keys ---- */

static int node_called(const struct planned *planned, const char *name)
{
    for (int i = 0; i < planned->graph->node_count; i++)
        if (strcmp(planned->graph->nodes[i].name, name) == 0)
            return i;
    fail_msg("no node %s", name);
    return -1;
}

/* A define of the node's launch of that entry; -1: there is no such launch or define. */
static int64_t define_of(const struct planned *planned, const char *node, const char *entry, const char *name)
{
    int index = node_called(planned, node);
    for (int i = 0; i < planned->plan->launch_count; i++) {
        const struct claret_launch *launch = &planned->plan->launches[i];
        if (launch->node != index || strcmp(launch->kernel.entry, entry) != 0)
            continue;
        for (int d = 0; d < launch->kernel.define_count; d++)
            if (strcmp(launch->kernel.define[d].name, name) == 0)
                return launch->kernel.define[d].i;
    }
    return -1;
}

static void force_one(struct planned *planned, const struct claret_plan_force *force)
{
    begin(planned, case_named("chain-simplecnn"));
    planned->device.kind = CLARET_CLASS_CPU;
    planned->options.force = force;
    planned->options.force_count = 1;
}

static void test_parameters(void **state)
{
    (void)state;
    static const struct {
        struct claret_plan_force force;
        const char *words; /* NULL: works */
    } rows[] = {
        {{"linear1", "rows:OT=2,IMAGES=3"}, NULL},
        {{"linear1.dx", "gemm:packed:MR=4,NV=1"}, NULL},
        {{NULL, "gemm:packed:MR=4"}, NULL},
        {{"linear1", "rows:OT=7"}, "the value of OT has to be one of: 1 2"},
        {{"linear1", "rows:OT=-1"}, "the value of OT"},
        {{"linear1", "rows:OT=2x"}, "the value of OT"},
        {{"linear1", "rows:OT="}, "the value of OT"},
        {{"linear1", "rows:OT"}, "the value of OT"},
        {{"linear1", "rows:"}, " is no parameter of that solver"},
        {{"linear1", "rows:OT=2,"}, " is no parameter of that solver"},
        {{"linear1", "rows:KT=2"}, "KT is no parameter of that solver; it has OT IMAGES"},
        {{"linear1", "rows:OT=2,OT=2"}, "OT is given twice"},
        {{"linear1", "gemm:plain:MR=8"}, "MR is no parameter of that solver; it has none"},
        {{"conv2d1", "im2col+gemm:KT=2"}, "it has none"},
        {{"linear1", "gemm:pakced"}, "there are: gemm:packed "},
        {{"linear1", "rows:OT=12"}, "not applicable: a tile of 12 outputs"},
        {{"linear1.dx", "gemm:packed:MR=12,NV=4"}, "beyond the registers"},
        {{"conv2d1", "gemm:paked"}, "there are: gemm:packed "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planned planned;
        force_one(&planned, &rows[i].force);
        claret_error_clear();
        enum claret_status status = claret_plan_create(planned.graph, &planned.options, &planned.plan);
        if (status != (rows[i].words ? CLARET_INVALID : CLARET_OK) ||
            (rows[i].words && !strstr(claret_error(), rows[i].words)))
            fail_msg("%s: status %s, %s", rows[i].force.solver, claret_status_name(status), claret_error());
        if (i == 0) {
            assert_int_equal(define_of(&planned, "linear1", "linear_rows", "OT"), 2);
            assert_int_equal(define_of(&planned, "linear1", "linear_rows", "IMAGES"), 3);
        }
        if (i == 1) {
            assert_int_equal(define_of(&planned, "linear1.dx", "gemm_packed", "MR"), 4);
            assert_int_equal(define_of(&planned, "linear1.dx", "gemm_packed", "NV"), 1);
            assert_int_not_equal(define_of(&planned, "linear1.dw", "gemm_packed", "MR"), 4);
        }
        end(&planned);
    }
}

/* What fits nothing in one of several graphs is no error once it was found in another. */
static void test_checked_elsewhere(void **state)
{
    (void)state;
    const struct claret_plan_force force = {"conv9.dw", "im2col+gemm"};
    struct planned planned;
    force_one(&planned, &force);
    planned.options.force_checked = true;
    make(&planned);
    end(&planned);
}

static const char *record_of(void *user, const char *key)
{
    const char *const *pairs = user; /* a key's beginning, its choice; NULL */
    for (; pairs[0]; pairs += 2)
        if (strncmp(key, pairs[0], strlen(pairs[0])) == 0)
            return pairs[1];
    return NULL;
}

static int warnings;
static void count_warnings(void *user, enum claret_log_level level, const char *message)
{
    (void)user;
    warnings += level == CLARET_LOG_WARNING && strstr(message, "is not used") != NULL;
}

static void test_records(void **state)
{
    (void)state;
    const char *records[] = {"linear in=f32:",    "rows:OT=2",    "gemm ",      "packed:MR=4", "relu in=",
                             "no such solver",    "relu_dx in=",  "plain:PX=1", "conv2d ",     "im2col+gemm",
                             "max_pool2d_dx in=", "planes:MR=12", NULL};
    const struct claret_plan_force force = {"conv2d1", "im2col-rows+gemm"};
    struct planned planned;
    force_one(&planned, &force);
    planned.options.record = record_of;
    planned.options.record_user = records;
    warnings = 0;
    claret_set_log(count_warnings, NULL);
    make(&planned);
    claret_set_log(NULL, NULL);
    /* Forced goes before recorded, recorded before the order; a record that does not fit is none. */
    const struct claret_plan_choice *choices = planned.plan->choices;
    assert_string_equal(choices[node_called(&planned, "conv2d1")].solver, "im2col-rows+gemm");
    assert_int_equal(choices[node_called(&planned, "conv2d1")].source, CLARET_FROM_FORCE);
    assert_int_equal(choices[node_called(&planned, "linear1")].source, CLARET_FROM_RECORD);
    assert_int_equal(define_of(&planned, "linear1", "linear_rows", "OT"), 2);
    assert_int_equal(define_of(&planned, "linear1.dx", "gemm_packed", "MR"), 4);
    assert_int_equal(choices[node_called(&planned, "relu1")].source, CLARET_FROM_DEFAULT);
    assert_int_equal(choices[node_called(&planned, "relu1.dx")].source, CLARET_FROM_DEFAULT);
    assert_int_equal(warnings, 3);
    end(&planned);
}

static char *key_of(const struct planned *planned, const char *name)
{
    struct claret_problem problem = {.node = &planned->graph->nodes[node_called(planned, name)],
                                     .tensors = planned->graph->tensors,
                                     .device = &planned->device};
    struct claret_text text = {0};
    char *key = NULL;
    claret_problem_key(&problem, &text);
    assert_int_equal(claret_text_take(&text, &key), CLARET_OK);
    return key;
}

/* Equal problems have equal keys whatever they are called and however their line is written; a difference
 * in sizes, windows, what is fused or updated shows. */
static void test_keys(void **state)
{
    (void)state;
    static const struct claret_op_case cases[] = {
        {"a",
         "3 16 16",
         "conv2d out_channels=8 kernel_size=3;relu;max_pool2d kernel_size=2;flatten;linear out_features=5",
         4,
         true,
         {0}},
        {"b",
         "3 16 16",
         "x = conv2d out_channels=8 kernel_size=3,3 in_channels=3 padding=0 bias=true;r = relu;p = "
         "max_pool2d kernel_size=2 stride=2;flatten;y = linear in_features=392 out_features=5",
         4,
         true,
         {0}},
        {"c",
         "3 16 16",
         "conv2d out_channels=8 kernel_size=3 bias=false padding=1;relu;max_pool2d kernel_size=2 "
         "stride=1;flatten;linear out_features=6",
         4,
         true,
         {0}},
    };
    static const char *const nodes[][2] = {
        {"conv2d1", "x"},          {"conv2d1.dw", "x.dw"}, {"relu1", "r"},
        {"max_pool2d1", "p"},      {"linear1", "y"},       {"linear1.dw", "y.dw"},
        {"max_pool2d1.dx", "p.dx"}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct planned planned[3];
        char *keys[3];
        for (int p = 0; p < 3; p++) {
            begin(&planned[p], &cases[p]);
            keys[p] = key_of(&planned[p], nodes[i][p == 1]);
        }
        assert_string_equal(keys[0], keys[1]);
        assert_string_not_equal(keys[0], keys[2]);
        for (int p = 0; p < 3; p++) {
            free(keys[p]);
            end(&planned[p]);
        }
    }
}

static void test_explained(void **state)
{
    (void)state;
    const struct claret_plan_force force = {"conv2d1", "im2col+gemm"};
    const char *records[] = {"gemm ", "packed:MR=4", NULL};
    struct claret_text text = {0};
    struct planned planned;
    force_one(&planned, &force);
    planned.device.clblast = false;
    planned.device.clblast_reason = "no such luck";
    planned.options.record = record_of;
    planned.options.record_user = records;
    make(&planned);
    claret_plan_explain(planned.plan, &planned.options, &text);
    static const char *const lines[] = {"conv2d1: im2col+gemm (forced)\n  problem: conv2d in=f32:",
                                        "  not im2col-rows+gemm: another is forced\n",
                                        ": packed MR=4,NV=2,CHUNK=",
                                        " (record)\n",
                                        "    not clblast: no such luck\n",
                                        "    not plain: slower, by the tuning record\n",
                                        "linear1: rows IMAGES=2,OT=5 (default)\n",
                                        "  not gemm: comes later in the order of what is not tuned\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text.data, lines[i]))
            fail_msg("'%s' is not in\n%s", lines[i], text.data);
    claret_text_drop(&text);
    end(&planned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forced),  cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_records), cmocka_unit_test(test_checked_elsewhere),
        cmocka_unit_test(test_keys),    cmocka_unit_test(test_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
