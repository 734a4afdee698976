/* The parser of network texts: what it takes, and where it says each error is. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/text.h"
#include "op/op.h"
#include "spec/spec.h"

/* Ops of this test alone, so that every type of value and number of inputs is there. */
static const struct claret_attr_def conv_attrs[] = {
    {"out_channels", CLARET_ATTR_INT, true, 0, 1, 1 << 24},
    {"kernel_size", CLARET_ATTR_PAIR, true, 0, 1, 255},
    {"bias", CLARET_ATTR_BOOL, false, 1, 0, 1},
    {"slope", CLARET_ATTR_FLOAT, false, 0.25, 0, 1},
    {.key = NULL},
};
static const struct claret_attr_def no_attrs[] = {{.key = NULL}};
static const struct claret_schema conv = {"conv2d", 1, conv_attrs}, relu = {"relu", 1, no_attrs},
                                  add = {"add", 2, no_attrs};
static const struct claret_schema *const schemas[] = {&conv, &relu, &add, NULL};

static struct claret_spec *parse(const char *text)
{
    struct claret_spec *spec = NULL;
    claret_error_clear();
    if (claret_spec_parse(text, "a.net", schemas, &spec) != CLARET_OK)
        fail_msg("not accepted: %s\n%s", text, claret_error());
    return spec;
}

static void test_layers(void **state)
{
    (void)state;
    struct claret_spec *spec = parse("# a comment\n"
                                     "\n"
                                     "input 3 32 16\n"
                                     "first = conv2d out_channels=16 kernel_size=3,5 # and here\n"
                                     "\trelu  \n"
                                     "relu\n"
                                     "conv2d kernel_size=7 out_channels=2 bias=False slope=5e-1\n"
                                     "sum.1=add from=relu1,relu2\n"
                                     "relu from=first\n"
                                     "relu from=input");
    assert_int_equal(spec->layer_count, 7);
    assert_true(spec->input[0] == 3 && spec->input[1] == 32 && spec->input[2] == 16);
    static const struct {
        const char *name, *op;
        int line, column, from[2];
    } want[7] = {{"first", "conv2d", 4, 9, {-1, 0}}, {"relu1", "relu", 5, 2, {0, 0}},
                 {"relu2", "relu", 6, 1, {1, 0}},    {"conv2d1", "conv2d", 7, 1, {2, 0}},
                 {"sum.1", "add", 8, 7, {1, 2}},     {"relu3", "relu", 9, 1, {0, 0}},
                 {"relu4", "relu", 10, 1, {-1, 0}}};
    for (int i = 0; i < 7; i++) {
        const struct claret_layer *layer = &spec->layers[i];
        assert_string_equal(layer->name, want[i].name);
        assert_string_equal(layer->schema->name, want[i].op);
        assert_int_equal(layer->line, want[i].line);
        assert_int_equal(layer->column, want[i].column);
        for (int j = 0; j < layer->schema->inputs; j++)
            assert_int_equal(layer->from[j], want[i].from[j]);
    }
    const struct claret_attr *a = spec->layers[0].attr, *b = spec->layers[3].attr;
    assert_true(a[0].given && a[0].i[0] == 16 && a[0].column == 29);
    assert_true(a[1].given && a[1].i[0] == 3 && a[1].i[1] == 5 && a[1].column == 44);
    assert_true(!a[2].given && a[2].i[0] == 1 && a[2].column == 0);
    assert_true(!a[3].given && a[3].f == 0.25);
    assert_true(b[1].i[0] == 7 && b[1].i[1] == 7 && b[2].given && b[2].i[0] == 0);
    assert_true(b[3].given && b[3].f == 0.5);
    claret_spec_destroy(spec);
}

/* Lines that end in CR LF mean the same, and so does a last line without an end. */
static void test_line_ends(void **state)
{
    (void)state;
    struct claret_spec *spec =
        parse("\xef\xbb\xbfinput 1 2 3\r\n\r\nx = conv2d out_channels=1 kernel_size=1\r\nrelu\r\n");
    assert_int_equal(spec->layer_count, 2);
    assert_int_equal(spec->layers[0].line, 3);
    assert_true(spec->layers[0].attr[1].i[1] == 1);
    claret_spec_destroy(spec);
    claret_spec_destroy(NULL);
}

struct wrong {
    const char *text;
    const char *message; /* its beginning */
    const char *also;    /* further in it; NULL: nothing */
};

static const struct wrong wrongs[] = {
    {"", "a.net: the network is empty", NULL},
    {" \n# only a comment\n", "a.net: the network is empty", NULL},
    {"input 3 4 4", "a.net: the network has an input and no layers", NULL},
    {"relu\n", "a.net:1:1: a network begins with its input", "relu"},
    {"\n\n  inptu 3 4 4\n", "a.net:3:3: a network begins with its input", "inptu"},
    {"input 3 4\nrelu\n", "a.net:1:10: ", "width is missing"},
    {"input\nrelu\n", "a.net:1:6: ", "channels is missing"},
    {"input 3 4 4 5\nrelu\n", "a.net:1:13: ", "three numbers"},
    {"input 3 0 4\nrelu\n", "a.net:1:9: input height '0'", NULL},
    {"input 3 4 99999999999999999999\nrelu\n", "a.net:1:11: input width", NULL},
    {"input -3 4 4\nrelu\n", "a.net:1:7: input channels '-3'", NULL},
    {"input 3 4 4.5\nrelu\n", "a.net:1:11: input width '4.5'", NULL},
    {"input 3 4 4\nrelu\ninput 3 4 4\n", "a.net:3:1: input stands once", NULL},
    {"input 3 4 4\nconv2b out_channels=1\n", "a.net:2:1: unknown op 'conv2b'", "'conv2d'"},
    {"input 3 4 4\nx = rleu\n", "a.net:2:5: unknown op 'rleu'", "'relu'"},
    {"input 3 4 4\nzzzzzzzzzz\n", "a.net:2:1: unknown op 'zzzzzzzzzz'", "conv2d, relu, add"},
    {"input 3 4 4\nconv2d kernelsize=3 out_channels=1\n", "a.net:2:8: ", "'kernel_size'"},
    {"input 3 4 4\nconv2d qqqqqqqq=3\n", "a.net:2:8: conv2d has no key 'qqqqqqqq'", "out_channels"},
    {"input 3 4 4\nrelu inplace=1\n", "a.net:2:6: relu has no key 'inplace'", "none"},
    {"input 3 4 4\nconv2d out_channels=2\n", "a.net:2:1: conv2d needs kernel_size", NULL},
    {"input 3 4 4\nconv2d out_channels=2 out_channels=2 kernel_size=1\n", "a.net:2:23: ", "twice"},
    {"input 3 4 4\nrelu from=input from=input\n", "a.net:2:17: ", "twice"},
    {"input 3 4 4\nconv2d out_channels=0 kernel_size=3\n", "a.net:2:21: out_channels=0", NULL},
    {"input 3 4 4\nconv2d out_channels=1x kernel_size=3\n", "a.net:2:21: out_channels=1x", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3,\n", "a.net:2:35: kernel_size=3,", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3,4,5\n", "a.net:2:35: kernel_size=3,4,5", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=,4\n", "a.net:2:35: kernel_size=,4", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=256\n", "a.net:2:35: kernel_size=256", "255"},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3 bias=maybe\n", "a.net:2:42: bias=maybe", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3 slope=nan\n", "a.net:2:43: slope=nan", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3 slope=1e999\n", "a.net:2:43: slope", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3 slope=0,5\n", "a.net:2:43: slope=0,5", NULL},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3 slope=2\n", "a.net:2:43: slope=2", NULL},
    {"input 3 4 4\nconv2d out_channels=\n", "a.net:2:21: out_channels has no value", NULL},
    {"input 3 4 4\nconv2d out_channels = 4\n", "a.net:2:20: 'out_channels' is not followed by '='", NULL},
    {"input 3 4 4\nconv2d out_channels\n", "a.net:2:20: 'out_channels' is not followed by '='", NULL},
    {"input 3 4 4\nconv2d 3=4\n", "a.net:2:8: unexpected '3'", NULL},
    {"input 3 4 4\nconv1 =\n", "a.net:2:8: an op is missing", NULL},
    {"input 3 4 4\nx = relu\nx = relu\n", "a.net:3:1: a layer called 'x'", NULL},
    {"input 3 4 4\ninput = relu\n", "a.net:2:1: a layer called 'input'", NULL},
    {"input 3 4 4\nrelu1 = relu\nrelu\n", "a.net:3:1: a layer called 'relu1'", NULL},
    {"input 3 4 4\nfirst = relu\nrelu from=frist\n", "a.net:3:11: from=frist", "'first'"},
    {"input 3 4 4\nrelu from=relu1\n", "a.net:2:11: from=relu1", "no layer before"},
    {"input 3 4 4\nrelu\nrelu from=relu1,relu1\n", "a.net:3:11: from names 2 layers, relu takes 1", NULL},
    {"input 3 4 4\nrelu\nadd from=relu1\n", "a.net:3:10: from names 1 layers, add takes 2", NULL},
    {"input 3 4 4\nrelu\nadd from=relu1,nope\n", "a.net:3:16: ", "'nope'"},
    {"input 3 4 4\nrelu\nadd from=relu1,\n", "a.net:3:16: ", "''"},
    {"input 3 4 4\nrelu\nadd\n", "a.net:3:1: add takes 2 layers", NULL},
    {"input 3 4 4\nrelu\001\n", "a.net:2:5: unexpected byte 0x01", NULL},
    {"input 3 4 4\n\377\n", "a.net:2:1: unexpected byte 0xff", NULL},
    {"input 3 4 4\nrelu, relu\n", "a.net:2:5: unexpected ','", NULL},
    {"input 3 4 4\n= relu\n", "a.net:2:1: unexpected '='", NULL},
    {"input 3 4 4\ngr\303\266\303\237e = relu\n", "a.net:2:3: unexpected byte 0xc3 after 'gr'", NULL},
    {"\357\273\277inptu 3 4 4\nrelu\n", "a.net:1:1: a network begins with its input", "inptu"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct claret_spec *spec = NULL;
        claret_error_clear();
        enum claret_status status = claret_spec_parse(wrongs[i].text, "a.net", schemas, &spec);
        if (status != CLARET_NETWORK || spec)
            fail_msg("accepted: %s", wrongs[i].text);
        const char *error = claret_error();
        if (strncmp(error, wrongs[i].message, strlen(wrongs[i].message)) != 0 ||
            (wrongs[i].also && !strstr(error, wrongs[i].also)))
            fail_msg("for the text\n%s\nthe error is\n%s\nbut should begin with\n%s\nand hold '%s'",
                     wrongs[i].text, error, wrongs[i].message, wrongs[i].also ? wrongs[i].also : "");
    }
}

/* Text that is far too long is refused or taken, and never a crash: a long name, value, line, many layers. */
static void test_long(void **state)
{
    (void)state;
    struct claret_text text = {0};
    claret_text_add(&text, "input 1 1 1\n");
    for (int i = 0; i < 2000; i++)
        claret_text_add(&text, "relu\n");
    struct claret_spec *spec = parse(text.data);
    assert_int_equal(spec->layer_count, 2000);
    assert_string_equal(spec->layers[1999].name, "relu2000");
    claret_spec_destroy(spec);
    static const char *const parts[3] = {"x", "relu from=x", "conv2d out_channels=1"};
    static const char *const says[3] = {"longer than 200", "no layer before", "is wanted"};
    for (int part = 0; part < 3; part++) {
        claret_text_drop(&text);
        claret_text_add(&text, "input 1 1 1\n%s", parts[part]);
        for (int i = 0; i < 5000; i++)
            claret_text_add(&text, "%d", i % 10);
        claret_error_clear();
        spec = NULL;
        assert_int_equal(claret_spec_parse(text.data, "a.net", schemas, &spec), CLARET_NETWORK);
        assert_null(spec);
        assert_ptr_equal(strstr(claret_error(), "a.net:2:"), claret_error());
        assert_non_null(strstr(claret_error(), says[part])); /* the value does not crowd it out */
    }
    claret_text_drop(&text);
}

static void try_text(const char *text)
{
    struct claret_spec *spec = NULL;
    claret_error_clear();
    enum claret_status status = claret_spec_parse(text, "a.net", schemas, &spec);
    if (status == CLARET_OK)
        assert_non_null(spec);
    else
        assert_true(status == CLARET_NETWORK && !spec && strncmp(claret_error(), "a.net:", 6) == 0);
    claret_spec_destroy(spec);
}

/* Every beginning of a text, and texts with bytes changed: an answer each time. */
static void test_damaged(void **state)
{
    (void)state;
    static const char whole[] = "input 3 32 32 # comment\r\nfirst = conv2d out_channels=16 kernel_size=3,5 "
                                "bias=true slope=0.5\nrelu\nadd from=first,relu1\nrelu from=input\n";
    char text[sizeof whole];
    for (size_t length = 0; length < sizeof whole; length++) {
        memcpy(text, whole, length);
        text[length] = 0;
        try_text(text);
    }
    struct claret_rng rng;
    claret_rng_init(&rng, 1, CLARET_STREAM_SHAPES, 0);
    for (int round = 0; round < 20000; round++) {
        memcpy(text, whole, sizeof whole);
        for (uint32_t flips = 1 + claret_rng_below(&rng, 4); flips > 0; flips--)
            text[claret_rng_below(&rng, sizeof whole - 1)] = (char)(1 + claret_rng_below(&rng, 255));
        try_text(text);
    }
}

/* The same against the ops that networks really have. */
static void test_real_ops(void **state)
{
    (void)state;
    struct claret_spec *spec = NULL;
    static const char text[] = "input 3 32 32\nconv1 = conv2d out_channels=16 kernel_size=3\nrelu\n"
                               "max_pool2d kernel_size=2 stride=2\nflatten\nfc = linear out_features=10\n";
    assert_int_equal(claret_spec_parse(text, "a.net", claret_op_schemas(), &spec), CLARET_OK);
    assert_int_equal(spec->layer_count, 5);
    claret_spec_destroy(spec);
    spec = NULL;
    claret_error_clear();
    assert_int_equal(
        claret_spec_parse("input 3 32 32\nmaxpool2d kernel_size=2\n", "a.net", claret_op_schemas(), &spec),
        CLARET_NETWORK);
    assert_non_null(strstr(claret_error(), "a.net:2:1: unknown op 'maxpool2d': did you mean 'max_pool2d'?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers), cmocka_unit_test(test_line_ends), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_long),   cmocka_unit_test(test_damaged),   cmocka_unit_test(test_real_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
