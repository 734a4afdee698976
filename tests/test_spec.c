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
static const char *const modes[] = {"zeros", "reflect", "circular", NULL};
static const struct claret_attr_def conv_attrs[] = {
    {"out_channels", CLARET_ATTR_INT, true, 0, 1, 1 << 24, NULL},
    {"kernel_size", CLARET_ATTR_PAIR, true, 0, 1, 255, NULL},
    {"bias", CLARET_ATTR_BOOL, false, 1, 0, 1, NULL},
    {"slope", CLARET_ATTR_FLOAT, false, 0.25, 0, 1, NULL},
    {.key = "mode", .type = CLARET_ATTR_WORD, .value = 1, .words = modes},
    {.key = NULL},
};
static const struct claret_attr_def no_attrs[] = {{.key = NULL}};
static const struct claret_schema conv = {"conv2d", 1, conv_attrs, 0}, relu = {"relu", 1, no_attrs, 0},
                                  add = {"add", 2, no_attrs, 0}, concat = {"concat", 2, no_attrs, 3};
static const struct claret_schema *const schemas[] = {&conv, &relu, &add, &concat, NULL};

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
    struct claret_spec *spec =
        parse("# a comment\n"
              "\n"
              "input 3 32 16\n"
              "first = conv2d out_channels=16 kernel_size=3,5 # and here\n"
              "\trelu  \n"
              "relu\n"
              "conv2d kernel_size=7 out_channels=2 bias=False slope=5e-1 mode=circular\n"
              "4.sum=add from=relu1,relu2\n"
              "relu from=first\n"
              "relu from=input");
    assert_int_equal(spec->layer_count, 7);
    assert_true(spec->input[0] == 3 && spec->input[1] == 32 && spec->input[2] == 16);
    static const struct {
        const char *name, *op;
        int line, column, from[2];
    } want[7] = {{"first", "conv2d", 4, 9, {-1, 0}}, {"relu1", "relu", 5, 2, {0, 0}},
                 {"relu2", "relu", 6, 1, {1, 0}},    {"conv2d1", "conv2d", 7, 1, {2, 0}},
                 {"4.sum", "add", 8, 7, {1, 2}},     {"relu3", "relu", 9, 1, {0, 0}},
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
    assert_true(!a[4].given && a[4].i[0] == 1);
    assert_true(b[4].given && b[4].i[0] == 2);
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

static void test_inputs(void **state)
{
    (void)state;
    struct claret_spec *spec =
        parse("input 3 4 4\na = relu\nb = relu\nconcat from=a,b\nconcat from=b,input,a\n");
    assert_int_equal(spec->layers[2].from_count, 2);
    assert_int_equal(spec->layers[3].from_count, 3);
    assert_true(spec->layers[3].from[0] == 1 && spec->layers[3].from[1] == -1 &&
                spec->layers[3].from[2] == 0);
    claret_spec_destroy(spec);
}

/* ---- blocks ---- */

struct want_layer {
    const char *name;
    int line, channels, kernel[2], from[2]; /* channels 0: no conv2d */
};

static void expect_layers(const char *text, const struct want_layer *want, int count)
{
    struct claret_spec *spec = parse(text);
    assert_int_equal(spec->layer_count, count);
    for (int i = 0; i < count; i++) {
        const struct claret_layer *layer = &spec->layers[i];
        assert_string_equal(layer->name, want[i].name);
        assert_int_equal(layer->line, want[i].line);
        for (int j = 0; j < layer->from_count; j++)
            assert_int_equal(layer->from[j], want[i].from[j]);
        if (want[i].channels) {
            assert_int_equal(layer->attr[0].i[0], want[i].channels);
            assert_int_equal(layer->attr[1].i[0], want[i].kernel[0]);
            assert_int_equal(layer->attr[1].i[1], want[i].kernel[1]);
        }
    }
    claret_spec_destroy(spec);
}

/* Parameters, defaults, products, repetition, numbers that go on, names from outside and inside. */
static void test_blocks(void **state)
{
    (void)state;
    static const struct want_layer want[] = {
        {"stem", 9, 8, {1, 1}, {-1, 0}},          {"layer1.0.conv1", 2, 8, {3, 3}, {0, 0}},
        {"layer1.0.relu1", 3, 0, {0, 0}, {1, 0}}, {"layer1.0.conv2", 4, 32, {3, 5}, {2, 0}},
        {"layer1.0.add1", 5, 0, {0, 0}, {3, 0}},  {"layer1.1.conv1", 2, 8, {3, 3}, {4, 0}},
        {"layer1.1.relu1", 3, 0, {0, 0}, {5, 0}}, {"layer1.1.conv2", 4, 32, {3, 5}, {6, 0}},
        {"layer1.1.add1", 5, 0, {0, 0}, {7, 4}},  {"layer2.3.conv1", 2, 16, {2, 2}, {4, 0}},
        {"layer2.3.relu1", 3, 0, {0, 0}, {9, 0}}, {"layer2.3.conv2", 4, 64, {2, 4}, {10, 0}},
        {"layer2.3.add1", 5, 0, {0, 0}, {11, 4}}, {"add1", 12, 0, {0, 0}, {8, 5}},
        {"add2", 13, 0, {0, 0}, {12, 13}},
    };
    expect_layers("block basic ( c , k=3 , w=3 )  # two convolutions\n"
                  "  conv1 = conv2d out_channels=c kernel_size=k\n"
                  "  relu\n"
                  "  conv2 = conv2d out_channels=2*2*c kernel_size=k,w\n"
                  "  add from=conv2,input\n"
                  "end # basic\n"
                  "\n"
                  "input 3 4 4\n"
                  "stem = conv2d out_channels=2*4 kernel_size=1\n"
                  "layer1 = basic c=8 w=5 repeat=2\n"
                  "layer2.3 = basic from=layer1.0 c=16 k=2 w=4\n"
                  "add from=layer1,layer1.1.conv1\n"
                  "add from=layer2.3,add1\n",
                  want, (int)(sizeof want / sizeof *want));
}

/* Blocks in blocks, definitions behind the input, uses without a name. */
static void test_nested_blocks(void **state)
{
    (void)state;
    static const struct want_layer want[] = {
        {"outer1.first.relu1", 3, 0, {0, 0}, {-1, 0}},
        {"outer1.inner1.relu1", 3, 0, {0, 0}, {0, 0}},
        {"outer1.inner2.0.relu1", 3, 0, {0, 0}, {1, 0}},
        {"outer1.inner2.1.relu1", 3, 0, {0, 0}, {2, 0}},
        {"outer1.add1", 9, 0, {0, 0}, {0, 3}},
        {"outer2.first.relu1", 3, 0, {0, 0}, {4, 0}},
        {"outer2.inner1.relu1", 3, 0, {0, 0}, {5, 0}},
        {"outer2.inner2.0.relu1", 3, 0, {0, 0}, {6, 0}},
        {"outer2.add1", 9, 0, {0, 0}, {5, 7}},
        {"block", 13, 0, {0, 0}, {8, 0}},
        {"end", 14, 0, {0, 0}, {9, 0}},
    };
    expect_layers("input 3 4 4\n"
                  "block inner\n"
                  "relu\n"
                  "end\n"
                  "block outer(n=2)\n"
                  "first = inner\n"
                  "inner\n"
                  "inner repeat=n\n"
                  "add from=first,inner2\n"
                  "end\n"
                  "outer\n"
                  "outer n=1\n"
                  "block = relu\n"
                  "end = relu\n",
                  want, (int)(sizeof want / sizeof *want));
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
    {"input 3 4 4\nzzzzzzzzzz\n", "a.net:2:1: unknown op 'zzzzzzzzzz'", "conv2d, relu, add, concat"},
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
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3 mode=zero\n",
     "a.net:2:42: mode=zero: zeros, reflect or circular is wanted", "did you mean 'zeros'?"},
    {"input 3 4 4\nconv2d out_channels=1 kernel_size=3 mode=1\n", "a.net:2:42: mode=1: zeros, reflect", NULL},
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
    /* blocks */
    {"input 3 4 4\nend\n", "a.net:2:1: 'end' without", NULL},
    {"block a\nrelu\ninput 3 4 4\na\n", "a.net:1:7: block 'a' has no line 'end'", NULL},
    {"block a\n # nothing\n\nend\ninput 3 4 4\na\n", "a.net:4:1: block 'a' has no layers", NULL},
    {"block a\nrelu\nend of a\ninput 3 4 4\na\n", "a.net:3:8: 'end' stands alone", NULL},
    {"block a\nrelu\n block b\nrelu\nend\n", "a.net:3:2: blocks are defined one after another",
     "'a' (line 1)"},
    {"block\nrelu\nend\ninput 3 4 4\n", "a.net:1:6: a block's name is missing", NULL},
    {"block 3\nrelu\nend\ninput 3 4 4\n", "a.net:1:7: unexpected '3'", NULL},
    {"block relu\nrelu\nend\ninput 3 4 4\n", "a.net:1:7: 'relu' has a meaning already", NULL},
    {"block input\nrelu\nend\ninput 3 4 4\n", "a.net:1:7: 'input' has a meaning already", NULL},
    {"block a\nrelu\nend\nblock a\nrelu\nend\n", "a.net:4:7: a block called 'a' is there", NULL},
    {"block a c\nrelu\nend\n", "a.net:1:9: unexpected 'c'", "block a(channels, stride=1)"},
    {"block a(c\nrelu\nend\n", "a.net:1:10: ')' is missing", NULL},
    {"block a(c k)\nrelu\nend\n", "a.net:1:11: ')' is missing", NULL},
    {"block a(c,)\nrelu\nend\n", "a.net:1:11: unexpected ')' where a parameter", NULL},
    {"block a(,c)\nrelu\nend\n", "a.net:1:9: unexpected ','", NULL},
    {"block a(c=)\nrelu\nend\n", "a.net:1:11: the default of 'c' is missing", NULL},
    {"block a(c) relu\nend\n", "a.net:1:12: a block's layers begin on the next line", NULL},
    {"block a(c, c)\nrelu\nend\n", "a.net:1:12: the block has a parameter 'c' already", NULL},
    {"block a(from)\nrelu\nend\n", "a.net:1:9: a parameter cannot be called 'from'", NULL},
    {"block a(repeat=2)\nrelu\nend\n", "a.net:1:9: a parameter cannot be called 'repeat'", NULL},
    {"block a\nrelu\nend\ninput 3 4 4\nrelu\n", "a.net:1:7: block 'a' is not used", NULL},
    {"block a(c, kk)\nconv2d out_channels=c kernel_size=1\nend\ninput 3 4 4\na c=1 kk=1\n",
     "a.net:1:12: parameter 'kk' of block 'a' is not used", NULL},
    {"block a\nrelu\nend\na\n", "a.net:4:1: a network begins with its input", NULL},
    {"input 3 4 4\na\nblock a\nrelu\nend\n", "a.net:2:1: unknown op 'a'", NULL},
    {"block basic\nrelu\nend\ninput 3 4 4\nbasci\n", "a.net:5:1: unknown op 'basci': did you mean 'basic'?",
     NULL},
    {"block a(c)\nconv2d out_channels=c kernel_size=1\nend\ninput 3 4 4\nx = a\n",
     "a.net:5:5: block 'a' needs c=VALUE", NULL},
    {"block a(chan)\nconv2d out_channels=chan kernel_size=1\nend\ninput 3 4 4\na chna=2\n",
     "a.net:5:3: block 'a' has no parameter 'chna'", "'chan'"},
    {"block a(c)\nconv2d out_channels=c kernel_size=1\nend\ninput 3 4 4\na zzzzzzzz=2\n",
     "a.net:5:3: block 'a' has no parameter 'zzzzzzzz': it has c", NULL},
    {"block a(c)\nconv2d out_channels=c kernel_size=1\nend\ninput 3 4 4\na c=2 c=2\n",
     "a.net:5:7: c is given twice", NULL},
    {"block a\nrelu\nend\ninput 3 4 4\na from=input from=input\n", "a.net:5:14: from is given twice", NULL},
    {"block a\nrelu\nend\ninput 3 4 4\na repeat=2 repeat=2\n", "a.net:5:12: repeat is given twice", NULL},
    {"block a\nrelu\nend\ninput 3 4 4\na repeat=0\n", "a.net:5:10: repeat=0", NULL},
    {"block a\nrelu\nend\ninput 3 4 4\na repeat=1000000\n", "a.net:5:10: repeat=1000000", NULL},
    {"block a\nrelu\nend\ninput 3 4 4\na repeat=9999\na repeat=9999\n", "a.net:2:1: more than 10000 layers",
     "in block a, which line 6 uses as a2.1"},
    {"block a\nrelu\nend\ninput 3 4 4\na from=input,input\n", "a.net:5:8: a block takes one layer", NULL},
    {"block a\nrelu\nend\ninput 3 4 4\na from=nope\n", "a.net:5:8: from=nope: no layer before", NULL},
    {"block a\nrelu from=first\nend\ninput 3 4 4\nfirst = relu\na\n",
     "a.net:2:11: from=first: no layer before this one in the block", "in block a, which line 6 uses as a1"},
    {"block a\nfirst = relu\nrelu from=frist\nend\ninput 3 4 4\nx = a\n", "a.net:3:11: from=frist: no layer",
     "'first'"},
    {"block a(chan)\nconv2d out_channels=cahn kernel_size=chan\nend\ninput 3 4 4\na chan=2\n",
     "a.net:2:21: out_channels=cahn: a whole number", "did you mean the parameter 'chan'?"},
    {"block a(c)\nconv2d out_channels=c kernel_size=1\nend\ninput 3 4 4\na c=0\n",
     "a.net:2:21: out_channels=0", "in block a, which line 5 uses as a1"},
    {"block a(c)\nconv2d out_channels=2*x kernel_size=c\nend\ninput 3 4 4\na c=1\n",
     "a.net:2:21: 'x' in '2*x' is no whole number", "parameter"},
    {"block a(c)\nconv2d out_channels=65536*c kernel_size=1\nend\ninput 3 4 4\na c=65536\n",
     "a.net:2:21: the product", NULL},
    {"input 3 4 4\nconv2d out_channels=2* kernel_size=1\n", "a.net:2:21: '' in '2*' is no whole number",
     NULL},
    {"block a\nx = relu\nend\ninput 3 4 4\nl.0 = a\nl = a repeat=1\n",
     "a.net:6:1: a layer called 'l.0' is there", NULL},
    {"block a\nx = relu\nend\ninput 3 4 4\nl.x = relu\nl = a\n", "a.net:2:1: a layer called 'l.x' is there",
     "in block a"},
    {"block a\nx = relu\nend\ninput 3 4 4\nl = relu\nl = a\n", "a.net:6:1: a layer called 'l' is there",
     NULL},
    {"block a\nx = relu\nend\ninput 3 4 4\nl = a\nl = relu\n", "a.net:6:1: a layer called 'l' is there",
     NULL},
    {"block a\ninput 3 4 4\nend\ninput 3 4 4\na\n", "a.net:2:1: input stands once", NULL},
    {"input 3 4 4\nrelu\nconcat from=relu1\n", "a.net:3:13: from names 1 layers, concat takes 2 to 3", NULL},
    {"input 3 4 4\nrelu\nconcat from=relu1,relu1,relu1,relu1\n", "a.net:3:13: from names 4 layers", "2 to 3"},
    {"input 3 4 4\nrelu\nconcat\n", "a.net:3:1: concat takes 2 layers or more", NULL},
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

/* Blocks in blocks in blocks, and names that grow with them: refused before they are too many. */
static void test_deep(void **state)
{
    (void)state;
    struct claret_text text = {0};
    struct claret_spec *spec = NULL;
    claret_text_add(&text, "block b0\nrelu\nend\n");
    for (int i = 1; i < 60; i++)
        claret_text_add(&text, "block b%d\nb%d\nend\n", i, i - 1);
    claret_text_add(&text, "input 1 1 1\nb59\n");
    claret_error_clear();
    assert_int_equal(claret_spec_parse(text.data, "a.net", schemas, &spec), CLARET_NETWORK);
    assert_non_null(strstr(claret_error(), "more than 16 blocks in one another"));
    claret_text_drop(&text);
    claret_text_add(&text, "block b0\nx%0150d = relu\nend\ninput 1 1 1\ny%0150d = b0\n", 0, 0);
    claret_error_clear();
    assert_int_equal(claret_spec_parse(text.data, "a.net", schemas, &spec), CLARET_NETWORK);
    assert_non_null(strstr(claret_error(), "a.net:2:1: the name y0"));
    assert_non_null(strstr(claret_error(), "longer than 200 characters"));
    claret_text_drop(&text);
    for (int i = 0; i < 101; i++)
        claret_text_add(&text, "block b%d\nrelu\nend\n", i);
    claret_error_clear();
    assert_int_equal(claret_spec_parse(text.data, "a.net", schemas, &spec), CLARET_NETWORK);
    assert_non_null(strstr(claret_error(), "a.net:301:7: more than 100 blocks"));
    claret_text_drop(&text);
    claret_text_add(&text, "block b(");
    for (int i = 0; i < 33; i++)
        claret_text_add(&text, "%sp%d", i ? "," : "", i);
    claret_text_add(&text, ")\nrelu\nend\n");
    claret_error_clear();
    assert_int_equal(claret_spec_parse(text.data, "a.net", schemas, &spec), CLARET_NETWORK);
    assert_non_null(strstr(claret_error(), "more than 32 parameters"));
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
static void damage(const char *whole, size_t size)
{
    char text[400];
    assert_true(size <= sizeof text);
    for (size_t length = 0; length < size; length++) {
        memcpy(text, whole, length);
        text[length] = 0;
        try_text(text);
    }
    struct claret_rng rng;
    claret_rng_init(&rng, 1, CLARET_STREAM_SHAPES, 0);
    for (int round = 0; round < 20000; round++) {
        memcpy(text, whole, size);
        for (uint32_t flips = 1 + claret_rng_below(&rng, 4); flips > 0; flips--)
            text[claret_rng_below(&rng, (uint32_t)size - 1)] = (char)(1 + claret_rng_below(&rng, 255));
        try_text(text);
    }
}

static void test_damaged(void **state)
{
    (void)state;
    static const char whole[] = "input 3 32 32 # comment\r\nfirst = conv2d out_channels=16 kernel_size=3,5 "
                                "bias=true slope=0.5\nrelu\nadd from=first,relu1\nrelu from=input\n";
    static const char blocks[] =
        "block one(c, k=1,2)\nx = conv2d out_channels=2*c kernel_size=k\nadd from=x,input\nend\n"
        "input 3 8 8\nblock two(n)\nin = one c=3 repeat=n\nrelu from=in.0\nend\n"
        "layer1 = two n=2\nlayer2.1 = two n=1 repeat=2\nconcat from=layer1,layer2.2,layer1.in\n";
    damage(whole, sizeof whole);
    damage(blocks, sizeof blocks);
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
        cmocka_unit_test(test_layers),        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_errors),        cmocka_unit_test(test_long),
        cmocka_unit_test(test_inputs),        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_nested_blocks), cmocka_unit_test(test_deep),
        cmocka_unit_test(test_damaged),       cmocka_unit_test(test_real_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
