/* Shapes, refusals and the structure of training graphs. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "graph/graph.h"
#include "op_cases.h"

static enum claret_status make(const char *text, const struct claret_graph_options *options,
                               struct claret_spec **spec, struct claret_graph **graph)
{
    *spec = NULL;
    *graph = NULL;
    claret_error_clear();
    enum claret_status status = claret_spec_parse(text, "a.net", claret_op_schemas(), spec);
    return status == CLARET_OK ? claret_graph_create(*spec, options, graph) : status;
}

static void drop(struct claret_spec *spec, struct claret_graph *graph)
{
    claret_graph_destroy(graph);
    claret_spec_destroy(spec);
}

static const struct claret_graph_options training = {.batch = 4, .training = true, .optimizer.momentum = 0.9};
static const struct claret_graph_options evaluation = {.batch = 4};

/* ---- shapes ---- */

struct shape_row {
    const char *input, *layers;
    const char *shape; /* of the first layer's output, without the batch */
};

static const struct shape_row shape_rows[] = {
    {"3 32 32", "conv2d out_channels=16 kernel_size=3", "16x30x30"},
    {"3 32 32", "conv2d out_channels=16 kernel_size=3 padding=1", "16x32x32"},
    {"3 32 32", "conv2d out_channels=16 kernel_size=3 stride=2", "16x15x15"},
    {"3 32 31", "conv2d out_channels=16 kernel_size=3 stride=2 padding=1", "16x16x16"},
    {"3 32 32", "conv2d out_channels=2 kernel_size=3,5 stride=3,2 padding=2,1 dilation=2,3", "2x11x11"},
    {"3 7 9", "conv2d out_channels=2 kernel_size=7,9", "2x1x1"},
    {"3 7 9", "conv2d out_channels=2 kernel_size=1 stride=9", "2x1x1"},
    {"1 1 1", "conv2d out_channels=1 kernel_size=1 padding=3", "1x7x7"},
    {"6 8 9", "conv2d out_channels=4 kernel_size=3 groups=2", "4x6x7"},
    {"3 32 32", "conv2d in_channels=3 out_channels=1 kernel_size=32", "1x1x1"},
    {"16 30 30", "max_pool2d kernel_size=2", "16x15x15"},
    {"16 31 30", "max_pool2d kernel_size=2 stride=2", "16x15x15"},
    {"16 31 30", "max_pool2d kernel_size=3 stride=1 padding=1", "16x31x30"},
    {"1 9 9", "max_pool2d kernel_size=2,3 stride=3", "1x3x3"},
    {"1 5 5", "max_pool2d kernel_size=3 padding=1", "1x2x2"},
    {"5 3 2", "relu", "5x3x2"},
    {"5 3 2", "flatten", "30"},
    {"5 3 2", "upsample scale_factor=2,3", "5x6x6"},
    {"5 3 2", "pad left=1 right=2 top=3 bottom=4", "5x10x5"},
    {"4 3 2", "group_norm num_groups=2", "4x3x2"},
    {"4 3 2", "layer_norm", "4x3x2"},
    {"3 8 9", "conv_transpose2d out_channels=5 kernel_size=2 stride=2", "5x16x18"},
    {"3 8 9", "conv_transpose2d out_channels=2 kernel_size=3 stride=2 padding=1 output_padding=1", "2x16x18"},
    {"4 5 5", "conv_transpose2d out_channels=6 kernel_size=3,2 stride=1,3 dilation=2,1 groups=2", "6x9x14"},
};

static void test_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shape_rows / sizeof *shape_rows; i++) {
        const struct shape_row *row = &shape_rows[i];
        struct claret_spec *spec;
        struct claret_graph *graph;
        char text[400], shape[96];
        snprintf(text, sizeof text, "input %s\nx = %s\nflatten\nlinear out_features=2\n", row->input,
                 row->layers);
        if (make(text, &training, &spec, &graph) != CLARET_OK)
            fail_msg("%s\n%s", text, claret_error());
        int x = claret_graph_find(graph, "x");
        assert_true(x >= 0 && graph->tensors[x].shape.dim[0] == 4);
        assert_string_equal(claret_shape_format(&graph->tensors[x].shape, 1, shape), row->shape);
        assert_true(graph->tensors[graph->logits].shape.dim[1] == 2);
        drop(spec, graph);
    }
}

/* ---- refusals ---- */

struct wrong {
    const char *text;
    const char *words[4]; /* all in the message */
};

static const struct wrong wrongs[] = {
    {"input 3 32 32\nconv1 = conv2d out_channels=16 kernel_size=3\nrelu\nmax_pool2d kernel_size=2\nflatten\n"
     "fc = linear in_features=576 out_features=10\n",
     {"a.net:6:25: layer fc: ", "in_features is 576", "16x15x15 = 3600"}},
    {"input 1 1 7\nflatten\nlinear out_features=9\nlinear in_features=8 out_features=3\n",
     {"a.net:4:20: layer linear2: ", "in_features is 8", "9"}},
    {"input 3 8 8\nconv2d in_channels=1 out_channels=2 kernel_size=3\nflatten\n",
     {"a.net:2:20: layer conv2d1: ", "in_channels is 1", "3"}},
    {"input 3 8 8\nconv2d out_channels=4 kernel_size=3 groups=2\nflatten\n",
     {"a.net:2:44: layer conv2d1: ", "groups is 2", "its input's channels, 3"}},
    {"input 4 8 8\nconv2d out_channels=6 kernel_size=3 groups=4\nflatten\n",
     {"a.net:2:44: layer conv2d1: ", "groups is 4", "out_channels, 6"}},
    {"input 3 4 8\nconv2d out_channels=2 kernel_size=5\nflatten\n",
     {"a.net:2:35: layer conv2d1: ", "kernel_size 5", "height", "4"}},
    {"input 3 8 4\nconv2d out_channels=2 kernel_size=7 padding=1\nflatten\n",
     {"a.net:2:35: ", "kernel_size 7", "width", "6"}},
    {"input 3 6 8\nconv2d out_channels=2 kernel_size=3 dilation=3\nflatten\n",
     {"a.net:2:35: ", "dilation 3", "height", "6"}},
    {"input 3 6 8\nmax_pool2d kernel_size=7\nflatten\n", {"a.net:2:24: ", "kernel_size 7", "height", "6"}},
    {"input 3 8 8\nmax_pool2d kernel_size=3 padding=2\nflatten\n",
     {"a.net:2:34: ", "padding 2", "half of kernel_size 3"}},
    {"input 3 8 8\nflatten\nconv2d out_channels=2 kernel_size=1\n", {"a.net:3:1: ", "conv2d", "flat"}},
    {"input 3 8 8\nflatten\nmax_pool2d kernel_size=1\n", {"a.net:3:1: ", "max_pool2d", "flat"}},
    {"input 3 8 8\nlinear out_features=2\n", {"a.net:2:1: ", "linear", "3x8x8", "flatten"}},
    {"input 3 8 8\nconv2d out_channels=2 kernel_size=1\n", {"a.net:2:1: ", "logits", "2x8x8", "flatten"}},
    {"input 3 8 8\na = conv2d out_channels=2 kernel_size=1\nadd from=a,input\nflatten\nlinear "
     "out_features=2\n",
     {"a.net:3:1: layer add1: ", "same shape", "2x8x8 and 3x8x8"}},
    {"input 3 8 8\nf = flatten\nadd from=input,f\nflatten\nlinear out_features=2\n",
     {"a.net:3:1: layer add1: ", "3x8x8 and 192"}},
    {"input 3 8 8\nbatch_norm2d num_features=4\nflatten\nlinear out_features=2\n",
     {"a.net:2:27: layer batch_norm2d1: ", "num_features is 4", "3 channels"}},
    {"input 3 8 8\nflatten\nbatch_norm2d\nlinear out_features=2\n", {"a.net:3:1: ", "batch_norm2d", "flat"}},
    {"input 3 8 8\navg_pool2d kernel_size=9\nflatten\nlinear out_features=2\n",
     {"a.net:2:24: ", "kernel_size 9", "height", "8"}},
    {"input 3 8 8\navg_pool2d kernel_size=2 padding=2\nflatten\nlinear out_features=2\n",
     {"a.net:2:34: ", "padding 2", "half of kernel_size 2"}},
    {"input 3 8 8\ngroup_norm num_groups=2\nflatten\nlinear out_features=2\n",
     {"a.net:2:23: layer group_norm1: ", "num_groups is 2", "3 channels"}},
    {"input 3 8 8\ngroup_norm num_groups=3 num_channels=4\nflatten\nlinear out_features=2\n",
     {"a.net:2:38: ", "num_channels is 4", "3 channels"}},
    {"input 3 8 8\nconv_transpose2d out_channels=2 kernel_size=2 output_padding=1\nflatten\n",
     {"a.net:2:62: layer conv_transpose2d1: ", "output_padding is 1", "stride, 1"}},
    {"input 3 2 8\nconv_transpose2d out_channels=2 kernel_size=3 padding=2\nflatten\n",
     {"a.net:2:55: ", "padding is 2", "height, 4"}},
    {"input 3 8 8\nconv_transpose2d out_channels=2 kernel_size=2 in_channels=4\nflatten\n",
     {"a.net:2:59: ", "in_channels is 4", "3 channels"}},
    {"input 4 8 8\nconv_transpose2d out_channels=2 kernel_size=2 groups=4\nflatten\n",
     {"a.net:2:54: ", "groups is 4", "out_channels, 2"}},
    {"input 3 8 8\nflatten\nconv_transpose2d out_channels=2 kernel_size=2\n",
     {"a.net:3:1: ", "conv_transpose2d", "flat"}},
    {"input 3 8 8\nupsample scale_factor=2 align_corners=true\nflatten\nlinear out_features=2\n",
     {"a.net:2:39: layer upsample1: ", "align_corners", "mode=bilinear"}},
    {"input 3 8 8\nflatten\nadaptive_avg_pool2d output_size=1\n",
     {"a.net:3:1: ", "adaptive_avg_pool2d", "flat"}},
    {"input 3 8 8\na = conv2d out_channels=2 kernel_size=3\nconcat from=a,input\nflatten\n",
     {"a.net:3:1: layer concat1: ", "but for their channels", "2x6x6 and 3x8x8"}},
    {"input 3 8 8\nf = flatten\nconcat from=input,f\nflatten\n", {"a.net:3:1: ", "3x8x8 and 192"}},
    {"input 3 8 8\na = conv2d out_channels=2 kernel_size=8\nmul from=input,a\nflatten\n",
     {"a.net:3:1: layer mul1: ", "a value for each channel", "3x8x8 and 2x1x1"}},
    {"input 3 8 8\nflatten\nupsample scale_factor=2\n", {"a.net:3:1: ", "upsample", "flat"}},
    {"input 3 8 8\nflatten\npad left=2\n", {"a.net:3:1: ", "pad", "flat"}},
    {"input 3 8 8\nlost = relu\nflatten from=input\nlinear out_features=2\n",
     {"a.net:2:8: layer lost: ", "not used"}},
};

/* Values that the ops' keys do not have. */
static const struct wrong wrong_values[] = {
    {"input 3 8 8\nbatch_norm2d eps=-1\nflatten\nlinear out_features=2\n", {"a.net:2:18: ", "eps", "-1"}},
    {"input 3 8 8\nbatch_norm2d momentum=1.5\nflatten\nlinear out_features=2\n",
     {"a.net:2:23: ", "momentum", "1.5"}},
    {"input 3 8 8\ngroup_norm num_groups=0\nflatten\nlinear out_features=2\n",
     {"a.net:2:23: ", "num_groups", "0"}},
    {"input 3 8 8\ngroup_norm\nflatten\nlinear out_features=2\n",
     {"a.net:2:1: ", "group_norm", "num_groups"}},
    {"input 3 8 8\ngroup_norm num_groups=3 eps=-0.1\nflatten\nlinear out_features=2\n",
     {"a.net:2:29: ", "eps"}},
    {"input 3 8 8\nlayer_norm eps=nan\nflatten\nlinear out_features=2\n", {"a.net:2:16: ", "eps", "nan"}},
    {"input 3 8 8\nlayer_norm normalized_shape=3\nflatten\nlinear out_features=2\n",
     {"a.net:2:12: ", "normalized_shape"}},
    {"input 3 8 8\navg_pool2d kernel_size=0\nflatten\nlinear out_features=2\n",
     {"a.net:2:24: ", "kernel_size", "0"}},
    {"input 3 8 8\navg_pool2d kernel_size=2 stride=0\nflatten\nlinear out_features=2\n",
     {"a.net:2:33: ", "stride", "0"}},
    {"input 3 8 8\navg_pool2d kernel_size=2 count_include_pad=2\nflatten\nlinear out_features=2\n",
     {"a.net:2:44: ", "count_include_pad", "2"}},
    {"input 3 8 8\nadaptive_avg_pool2d output_size=0\nflatten\nlinear out_features=2\n",
     {"a.net:2:33: ", "output_size", "0"}},
    {"input 3 8 8\nupsample scale_factor=2 mode=bicubic\nflatten\nlinear out_features=2\n",
     {"a.net:2:30: ", "mode", "nearest or bilinear"}},
    {"input 3 8 8\nupsample mode=bilinear\nflatten\nlinear out_features=2\n",
     {"a.net:2:1: ", "upsample", "scale_factor"}},
    {"input 3 8 8\nconv_transpose2d out_channels=2 kernel_size=2 output_padding=-1\nflatten\n",
     {"a.net:2:62: ", "output_padding", "-1"}},
};

static void refuse(const struct wrong *wrong, enum claret_status status)
{
    struct claret_spec *spec = NULL;
    struct claret_graph *graph = NULL;
    if (make(wrong->text, &training, &spec, &graph) != status || graph)
        fail_msg("not refused by %s:\n%s\n%s", claret_status_name(status), wrong->text, claret_error());
    for (int j = 0; j < 4 && wrong->words[j]; j++)
        if (!strstr(claret_error(), wrong->words[j]))
            fail_msg("for\n%s\nthe error lacks '%s':\n%s", wrong->text, wrong->words[j], claret_error());
    claret_spec_destroy(spec);
}

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        refuse(&wrongs[i], CLARET_SHAPE);
    for (size_t i = 0; i < sizeof wrong_values / sizeof *wrong_values; i++)
        refuse(&wrong_values[i], CLARET_NETWORK);
}

/* What needs several values is refused where a batch has one, but only to train. */
static void test_one_value(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "input 3 1 1\nbatch_norm2d\nflatten\nlinear out_features=2\n",
        "input 3 1 1\ngroup_norm num_groups=3\nflatten\nlinear out_features=2\n"};
    struct claret_graph_options one = training;
    one.batch = 1;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct claret_spec *spec;
        struct claret_graph *graph;
        assert_int_equal(make(texts[i], &one, &spec, &graph), CLARET_SHAPE);
        assert_non_null(strstr(claret_error(), "a.net:2:1: "));
        assert_non_null(strstr(claret_error(), "one value a"));
        claret_spec_destroy(spec);
        assert_int_equal(make(texts[i], &training, &spec, &graph), CLARET_OK);
        drop(spec, graph);
        one.training = false;
        assert_int_equal(make(texts[i], &one, &spec, &graph), CLARET_OK);
        drop(spec, graph);
        one.training = true;
    }
}

static void test_nothing_to_train(void **state)
{
    (void)state;
    struct claret_spec *spec;
    struct claret_graph *graph;
    assert_int_equal(make("input 1 2 2\nrelu\nflatten\n", &training, &spec, &graph), CLARET_SHAPE);
    assert_non_null(strstr(claret_error(), "no parameters"));
    claret_spec_destroy(spec);
    assert_int_equal(make("input 1 2 2\nrelu\nflatten\n", &evaluation, &spec, &graph), CLARET_OK);
    drop(spec, graph);
}

/* Sizes whose products do not fit 64 bits, or no kernel could count: refused, by name and number. */
static void test_huge(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "input 16777216 16777216 16777216\nflatten\nlinear out_features=2\n",
        "input 1 1 1\nconv2d out_channels=16777216 kernel_size=1 padding=16777216\nflatten\n",
        "input 16777216 1 1\nconv2d out_channels=16777216 kernel_size=1\nflatten\n",
        "input 4096 4096 4096\nconv2d out_channels=1 kernel_size=4096 padding=4096\nflatten\n",
        "input 1 1 1\nflatten\nlinear out_features=1073741824\nlinear out_features=1073741824\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct claret_spec *spec;
        struct claret_graph *graph;
        if (make(texts[i], &training, &spec, &graph) != CLARET_SHAPE)
            fail_msg("not refused: %s\n%s", texts[i], claret_error());
        assert_non_null(strstr(claret_error(), "a.net:"));
        claret_spec_destroy(spec);
    }
}

/* ---- structure ---- */

static const char simplecnn[] = "input 3 32 32\nconv1 = conv2d out_channels=16 kernel_size=3\nrelu\n"
                                "max_pool2d kernel_size=2 stride=2\nflatten\nfc = linear out_features=10\n";

static void expect_nodes(const char *text, const struct claret_graph_options *options, const char *want)
{
    struct claret_spec *spec;
    struct claret_graph *graph;
    char got[1000] = "";
    if (make(text, options, &spec, &graph) != CLARET_OK)
        fail_msg("%s", claret_error());
    for (int i = 0; i < graph->node_count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s:%s", i ? " " : "", graph->nodes[i].name,
                 graph->nodes[i].op->name);
    assert_string_equal(got, want);
    drop(spec, graph);
}

/* Backward goes from the end to the first layer with parameters, and nothing gives the gradient of the input.
 */
static void test_nodes(void **state)
{
    (void)state;
    struct claret_graph_options input_grad = training;
    input_grad.input_grad = true;
    expect_nodes(
        simplecnn, &training,
        "load:batch_load conv1:conv2d relu1:relu max_pool2d1:max_pool2d flatten1:flatten fc:linear "
        "loss:cross_entropy fc.dx:linear_dx fc.dw:linear_dw flatten1.dx:flatten_dx "
        "max_pool2d1.dx:max_pool2d_dx relu1.dx:relu_dx conv1.dw:conv2d_dw update:update end:step_end");
    expect_nodes(simplecnn, &input_grad,
                 "load:batch_load conv1:conv2d relu1:relu max_pool2d1:max_pool2d flatten1:flatten fc:linear "
                 "loss:cross_entropy fc.dx:linear_dx fc.dw:linear_dw flatten1.dx:flatten_dx "
                 "max_pool2d1.dx:max_pool2d_dx relu1.dx:relu_dx conv1.dx:conv2d_dx conv1.dw:conv2d_dw "
                 "update:update end:step_end");
    expect_nodes(simplecnn, &evaluation,
                 "load:batch_load conv1:conv2d relu1:relu max_pool2d1:max_pool2d flatten1:flatten fc:linear "
                 "end:step_end");
    expect_nodes("input 1 4 4\nrelu\nmax_pool2d kernel_size=2\nflatten\nlinear out_features=2\n", &training,
                 "load:batch_load relu1:relu max_pool2d1:max_pool2d flatten1:flatten linear1:linear "
                 "loss:cross_entropy linear1.dw:linear_dw update:update end:step_end");
}

/* Each layer that reads a tensor gives a part of its gradient; the parts are added before the layer that made
 * it goes on with it. */
static void test_several_readers(void **state)
{
    (void)state;
    expect_nodes(
        "input 1 4 4\nf = flatten\na = linear out_features=5\nb = relu\nc = relu from=a\nd = add from=b,c\n"
        "e = add from=d,a\nlinear out_features=2\n",
        &training,
        "load:batch_load f:flatten a:linear b:relu c:relu d:add e:add linear1:linear loss:cross_entropy "
        "linear1.dx:linear_dx linear1.dw:linear_dw e.da:add_dx e.db:add_dx d.da:add_dx d.db:add_dx "
        "c.dx:relu_dx "
        "b.dx:relu_dx a.sum1:add a.sum2:add a.dw:linear_dw update:update end:step_end");
}

static const struct claret_tensor *named(const struct claret_graph *graph, const char *name)
{
    int id = claret_graph_find(graph, name);
    if (id < 0)
        fail_msg("no tensor %s", name);
    return &graph->tensors[id];
}

/* Parameters, gradients and momenta have the same places in their buffers, and do not overlap there. */
static void test_parameters(void **state)
{
    (void)state;
    struct claret_spec *spec;
    struct claret_graph *graph;
    static const char *const names[4] = {"conv1.weight", "conv1.bias", "fc.weight", "fc.bias"};
    static const int64_t counts[4] = {16 * 3 * 9, 16, 10 * 3600, 10};
    assert_int_equal(make(simplecnn, &training, &spec, &graph), CLARET_OK);
    assert_int_equal(graph->param_count, 4);
    int64_t end = 0;
    for (int i = 0; i < 4; i++) {
        const struct claret_tensor *param = &graph->tensors[graph->params[i]];
        const struct claret_tensor *grad = &graph->tensors[graph->grads[i]];
        assert_string_equal(param->name, names[i]);
        assert_true(claret_shape_count(&param->shape) == counts[i]);
        assert_true(claret_shape_equal(&param->shape, &grad->shape));
        assert_true(param->base == graph->all_params && grad->base == graph->all_grads);
        assert_true(param->base_offset == grad->base_offset && param->base_offset >= end);
        end = param->base_offset + counts[i];
    }
    assert_true(claret_shape_count(&graph->tensors[graph->all_params].shape) >= end);
    assert_true(claret_shape_equal(&graph->tensors[graph->all_params].shape,
                                   &graph->tensors[graph->all_grads].shape));
    assert_true(claret_shape_equal(&graph->tensors[graph->all_params].shape,
                                   &graph->tensors[graph->all_state].shape));
    /* 1 / sqrt(27) and 1 / sqrt(3600), PyTorch's bounds */
    assert_true(named(graph, "conv1.weight")->init_bound > 0.19245f - 1e-4f &&
                named(graph, "conv1.bias")->init_bound < 0.19245f + 1e-4f);
    assert_true(named(graph, "fc.weight")->init_bound == named(graph, "fc.bias")->init_bound &&
                named(graph, "fc.bias")->init_bound == 1.0f / 60);
    drop(spec, graph);

    struct claret_graph_options options = training;
    options.optimizer.momentum = 0;
    assert_int_equal(make(simplecnn, &options, &spec, &graph), CLARET_OK);
    assert_int_equal(graph->all_state, -1);
    drop(spec, graph);
    assert_int_equal(make(simplecnn, &evaluation, &spec, &graph), CLARET_OK);
    assert_int_equal(graph->all_grads, -1);
    assert_int_equal(graph->losses, -1);
    drop(spec, graph);
}

/* Each tensor is written before it is read, and by one node only, in the graph of every case. */
static void check_order(const struct claret_op_case *row, const struct claret_graph *graph)
{
    bool written[1000] = {false};
    assert_true(graph->tensor_count < 1000);
    for (int i = 0; i < graph->tensor_count; i++)
        written[i] =
            graph->tensors[i].home < CLARET_HOME_ARENA && graph->tensors[i].home != CLARET_HOME_GRADS;
    for (int i = 0; i < graph->node_count; i++) {
        const struct claret_node *node = &graph->nodes[i];
        for (int j = 0; j < node->in_count; j++)
            if (node->in[j] >= 0 && node->in[j] != graph->all_grads && !written[node->in[j]])
                fail_msg("%s: %s reads %s before it is written", row->name, node->name,
                         graph->tensors[node->in[j]].name);
        for (int j = 0; j < node->out_count; j++) {
            bool in_place = node->out[j] == graph->all_params || node->out[j] == graph->all_state ||
                            node->out[j] == graph->step ||
                            graph->tensors[node->out[j]].home == CLARET_HOME_BUFFERS;
            if (written[node->out[j]] && !in_place)
                fail_msg("%s: %s writes %s again", row->name, node->name, graph->tensors[node->out[j]].name);
            written[node->out[j]] = true;
        }
    }
    for (int i = 0; i < graph->param_count; i++)
        assert_true(written[graph->grads[i]]);
    assert_true(graph->input_grad < 0 || written[graph->input_grad]);
}

static void test_order(void **state)
{
    (void)state;
    for (int i = 0; claret_op_cases[i].name; i++) {
        struct claret_graph_options options = {
            .training = true, .input_grad = i % 2, .f32_images = i % 3 == 0};
        struct claret_spec *spec;
        struct claret_graph *graph;
        claret_error_clear();
        if (claret_op_case_graph(&claret_op_cases[i], &options, &spec, &graph) != CLARET_OK)
            fail_msg("%s: %s", claret_op_cases[i].name, claret_error());
        check_order(&claret_op_cases[i], graph);
        drop(spec, graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_one_value),
        cmocka_unit_test(test_nothing_to_train),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_several_readers),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
