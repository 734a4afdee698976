/* The pickle reader: what it understands, all that it refuses, and that no damage makes it misbehave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "data/pickle.h"
#include "pickle_samples.h"
#include "scratch.h"

static const unsigned char pixels[6] = {1, 2, 128, 200, 255, 10}; /* (2, 3) */

static void expect_sample(const void *data, size_t size, bool fortran)
{
    const struct claret_pickle_value *value, *labels, *array;
    struct claret_arena arena = {0};

    claret_error_clear();
    if (claret_pickle_read("sample", data, size, &arena, &value) != CLARET_OK)
        fail_msg("%s", claret_error());
    labels = claret_pickle_get(value, "labels");
    assert_non_null(labels);
    assert_int_equal(labels->kind, CLARET_PICKLE_LIST);
    assert_int_equal(labels->count, 2);
    assert_int_equal(labels->items[0]->integer, 6);
    assert_int_equal(labels->items[1]->integer, 0);
    array = claret_pickle_get(value, "data");
    assert_non_null(array);
    assert_int_equal(array->kind, CLARET_PICKLE_ARRAY);
    assert_true(array->rows == 2 && array->columns == 3 && array->size == 6);
    assert_int_equal(array->fortran, fortran);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(array->bytes[fortran ? i % 3 * 2 + i / 3 : i], pixels[i]);
    assert_true(claret_pickle_text_is(claret_pickle_get(value, "batch_label"), "training"));
    assert_null(claret_pickle_get(value, "filenames"));
    claret_arena_free(&arena);
}

static void test_samples(void **state)
{
    (void)state;
    expect_sample(PICKLE_PYTHON2, sizeof(PICKLE_PYTHON2) - 1, false);
    expect_sample(pickle_python3_2, sizeof(pickle_python3_2), false);
    expect_sample(pickle_python3_3, sizeof(pickle_python3_3), false);
    expect_sample(pickle_python3_4, sizeof(pickle_python3_4), false);
    expect_sample(pickle_fortran, sizeof(pickle_fortran), true);
}

/* Opcodes that the samples do not use, as one list. */
static void test_values(void **state)
{
    static const char data[] =
        "\x80\x02]p12\n(J\xff\xff\xff\xffJ\xff\xff\xff\x7fM\xff\xff\x8a\x00\x8a\x02\x10\x27"
        "\x8a\x01\x80N\x88\x89T\x03\x00\x00\x00"
        "abcr\x00\x01\x00\x00X\x00\x00\x00\x00)eg12\nj\x00\x01\x00\x00"
        "aa.";
    static const int64_t integers[] = {-1, INT32_MAX, 65535, 0, 10000, -128};
    const struct claret_pickle_value *value;
    struct claret_arena arena = {0};

    (void)state;
    /* "aa": first the text is appended to the list that GET brought, then that list to itself. */
    assert_int_equal(
        claret_pickle_read("values", (const unsigned char *)data, sizeof(data) - 1, &arena, &value),
        CLARET_OK);
    assert_int_equal(value->count, 14);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(value->items[i]->kind, CLARET_PICKLE_INT);
        assert_true(value->items[i]->integer == integers[i]);
    }
    assert_int_equal(value->items[6]->kind, CLARET_PICKLE_NONE);
    assert_int_equal(value->items[7]->integer, 1);
    assert_int_equal(value->items[8]->integer, 0);
    assert_true(claret_pickle_text_is(value->items[9], "abc"));
    assert_true(claret_pickle_text_is(value->items[10], ""));
    assert_true(value->items[11]->kind == CLARET_PICKLE_TUPLE && value->items[11]->count == 0);
    assert_ptr_equal(value->items[12], value->items[9]);
    assert_ptr_equal(value->items[13], value);
    assert_null(claret_pickle_get(value, "labels"));
    claret_arena_free(&arena);
}

/* The last value of a key that comes twice counts, as in Python. */
static void test_key_twice(void **state)
{
    static const char data[] = "\x80\x02}U\x01kK\x01sU\x01kK\x02s.";
    const struct claret_pickle_value *value;
    struct claret_arena arena = {0};

    (void)state;
    assert_int_equal(
        claret_pickle_read("twice", (const unsigned char *)data, sizeof(data) - 1, &arena, &value),
        CLARET_OK);
    assert_int_equal(claret_pickle_get(value, "k")->integer, 2);
    claret_arena_free(&arena);
}

static enum claret_status read_bytes(const void *data, size_t size)
{
    const struct claret_pickle_value *value = NULL;
    struct claret_arena arena = {0};
    enum claret_status status;
    unsigned char *exact = malloc(size + 1); /* so that sanitizers see a step beyond the end */
    unsigned char *start = exact + 1;

    memcpy(start, data, size);
    claret_error_clear();
    status = claret_pickle_read("FILE", start, size, &arena, &value);
    assert_true((status == CLARET_OK) == (value != NULL));
    claret_arena_free(&arena);
    free(exact);
    return status;
}

#define ARRAY(shape, fortran, bytes) "\x80\x02" PICKLE_NUMPY2_ARRAY(shape, fortran, bytes) "."

static void test_refusals(void **state)
{
#define BAD(data, part)                                                                                      \
    {                                                                                                        \
        data, sizeof(data) - 1, part                                                                         \
    }
    static const struct {
        const char *data;
        size_t size;
        const char *part;
    } bad[] = {
        BAD("", "byte 0: the file ends"),
        BAD("\x80\x02}", "byte 3: the file ends"),
        BAD("\x80", "byte 0: opcode 0x80: needs 1 more bytes"),
        BAD("\x80\x05}.", "byte 0: opcode 0x80: protocol 5"),
        BAD("\x80\x01}.", "protocol 1"),
        BAD("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00}.", "a frame of 5 bytes"),
        BAD("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff}.", "a frame of 18446744073709551615 bytes"),
        /* Code and foreign names. */
        BAD("\x80\x02"
            "cos\nsystem\nU\x02lsR.",
            "byte 2: opcode 0x63 'c': asks for os.system"),
        BAD("\x80\x02"
            "cbuiltins\neval\n.",
            "builtins.eval, which CIFAR-10's files do not hold; nothing was"),
        BAD("\x80\x04\x8c\x02os\x8c\x06system\x93.", "opcode 0x93: asks for os.system"),
        BAD("\x80\x02"
            "c\x1b[2J\nx\n.",
            "asks for ?[2J.x"),
        BAD("\x80\x02"
            "cnumpy\nndarray",
            "a line has no end"),
        BAD("\x80\x02(cos\nsystem\no.", "'c'"),
        BAD("\x80\x02(ios\nsystem\n.", "byte 3: opcode 0x69 'i': not among"),
        BAD("\x80\x02Pabc\n.", "opcode 0x50 'P': not among"),
        BAD("\x80\x02\x82\x01.", "opcode 0x82: not among"),
        BAD("\x80\x02)\x81.", "opcode 0x81: not among"),
        BAD("\x80\x02I1\n.", "opcode 0x49 'I': not among"),
        BAD("\x80\x02\xff", "opcode 0xff: not among"),
        /* Texts and numbers that end too late. */
        BAD("\x80\x02U\x05"
            "abcd",
            "needs 5 more bytes, the file ends after 4"),
        BAD("\x80\x02T\xff\xff\xff\xff"
            "abcd",
            "needs 4294967295 more bytes"),
        BAD("\x80\x02M\x01", "opcode 0x4d 'M': needs 2 more bytes, the file ends after 1"),
        BAD("\x80\x02\x8a\x09"
            "123456789.",
            "a number of 9 bytes"),
        /* The stack. */
        BAD("\x80\x02.", "0 values are left"),
        BAD("\x80\x02NN.", "2 values are left"),
        BAD("\x80\x02(.", "1 values are left"),
        BAD("\x80\x02N.N", "1 bytes follow the end"),
        BAD("\x80\x02t.", "there is no mark"),
        BAD("\x80\x02N\x86.", "the stack is empty"),
        BAD("\x80\x02(N\x86.", "a mark where a value"),
        BAD("\x80\x02Na.", "opcode 0x61 'a': not on top"),
        BAD("\x80\x02NNa.", "opcode 0x61 'a': not on top"),
        BAD("\x80\x02N(Ne.", "opcode 0x65 'e': not on top"),
        BAD("\x80\x02](NNu.", "opcode 0x75 'u': not on top"),
        BAD("\x80\x02}(Nu.", "a key without a value"),
        BAD("\x80\x02Nh\x00.", "memo 0 was never set"),
        BAD("\x80\x02Nq\x05h\x04.", "memo 4 was never set"),
        BAD("\x80\x02Nr\xff\xff\xff\xffN.", "memo 4294967295 is over"),
        BAD("\x80\x02q\x00.", "nothing to remember"),
        BAD("\x80\x02(q\x00.", "nothing to remember"),
        BAD("\x80\x02Npx\n.", "not a memo's number"),
        BAD("\x80\x02Np1234567890\n.", "not a memo's number"),
        BAD("\x80\x02Ng\n.", "not a memo's number"),
        /* Calls. */
        BAD("\x80\x02R.", "the stack is empty"),
        BAD("\x80\x02U\x01xN\x85R.", "calls something that is no function"),
        BAD("\x80\x02"
            "cnumpy\ndtype\nNR.",
            "calls something that is no function"),
        BAD("\x80\x02"
            "cnumpy\nndarray\n)R.",
            "calls numpy.ndarray itself"),
        BAD("\x80\x02"
            "cnumpy\ndtype\n)R.",
            "an element type without a name"),
        BAD("\x80\x02"
            "cnumpy\ndtype\nU\x02"
            "f4\x85R.",
            "an array of f4, where unsigned bytes"),
        BAD("\x80\x02"
            "cnumpy.core.multiarray\n_reconstruct\n)R.",
            "no plain numpy array"),
        BAD("\x80\x02"
            "cnumpy.core.multiarray\n_reconstruct\nNNN\x87R.",
            "no plain numpy array"),
        BAD("\x80\x02"
            "c_codecs\nencode\nU\x01xU\x05utf-8\x86R.",
            "other than latin1"),
        BAD("\x80\x02"
            "c_codecs\nencode\nU\x01xU\x06latin1N\x87R.",
            "other than latin1"),
        BAD("\x80\x02"
            "c_codecs\nencode\nU\x03\xe2\x82\xacU\x06latin1\x86R.",
            "text that latin1 cannot hold"),
        BAD("\x80\x02"
            "c_codecs\nencode\nU\x01\xc2U\x06latin1\x86R.",
            "text that latin1 cannot hold"),
        BAD("\x80\x02"
            "c_codecs\nencode\nU\x02\xc2xU\x06latin1\x86R.",
            "text that latin1 cannot hold"),
        BAD("\x80\x02\x8c\x02os\x93.", "the stack is empty"),
        BAD("\x80\x02NN\x93.", "a name that is no text"),
        /* States. */
        BAD("\x80\x02NNb.", "a state that is no tuple"),
        BAD("\x80\x02)b.", "the stack is empty"),
        BAD("\x80\x02})b.", "neither array nor element type"),
        BAD("\x80\x02"
            "cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R)b.",
            "state of a plain element type"),
        BAD(ARRAY("N", "\x89", "U\x01x"), "not the state of a numpy array"),
        BAD(ARRAY("K\x01\x85", "\x89", "U\x01x"), "not of two dimensions"),
        BAD(ARRAY("K\x01K\x01K\x01\x87", "\x89", "U\x01x"), "not of two dimensions"),
        BAD(ARRAY("K\x00K\x01\x86", "\x89", "U\x01x"), "not of two dimensions"),
        BAD(ARRAY("K\x01J\xff\xff\xff\xff\x86", "\x89", "U\x01x"), "not of two dimensions"),
        BAD(ARRAY("NN\x86", "\x89", "U\x01x"), "not of two dimensions"),
        BAD(ARRAY("K\x02K\x03\x86", "\x89",
                  "U\x05"
                  "12345"),
            "an array of 2x3 with 5 bytes"),
        BAD(ARRAY("K\x02K\x03\x86", "\x89",
                  "U\x07"
                  "1234567"),
            "an array of 2x3 with 7 bytes"),
        BAD(ARRAY("J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", "\x89", "U\x01x"),
            "2147483647x2147483647 with 1 bytes"),
        BAD(ARRAY("K\x01K\x01\x86", "N", "U\x01x"), "not the state of a numpy array"),
        BAD(ARRAY("K\x01K\x01\x86", "\x89", "K\x01"), "not the state of a numpy array"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(read_bytes(bad[i].data, bad[i].size), CLARET_FORMAT);
        if (!scratch_says(claret_error(), bad[i].part) || !scratch_says(claret_error(), "FILE: byte "))
            fail_msg("case %zu", i);
    }
    assert_int_equal(read_bytes(pickle_python3_5, sizeof(pickle_python3_5)), CLARET_FORMAT);
    assert_true(scratch_says(claret_error(), "protocol 5"));
    assert_int_equal(read_bytes(pickle_int16, sizeof(pickle_int16)), CLARET_FORMAT);
    assert_true(scratch_says(claret_error(), "an array of i2"));
}

/* Few bytes must not become much memory: values, stack, memo and one list's items are bounded. */
static void test_bounds(void **state)
{
    size_t size = 4000000;
    char *data = malloc(size);

    (void)state;
    memset(data, 'N', size);
    assert_int_equal(read_bytes(data, size), CLARET_FORMAT);
    assert_true(scratch_says(claret_error(), "more than 1000000 values"));
    memcpy(data, "Nq\x00", 3);
    for (size_t i = 3; i + 1 < size; i += 2)
        memcpy(data + i, "h\x00", 2);
    assert_int_equal(read_bytes(data, size), CLARET_FORMAT);
    assert_true(scratch_says(claret_error(), "more than 1000000 values"));
    memcpy(data, "]q\x00", 3);
    for (size_t i = 3; i + 2 < size; i += 3)
        memcpy(data + i,
               "h\x00"
               "a",
               3);
    assert_int_equal(read_bytes(data, size), CLARET_FORMAT);
    assert_true(scratch_says(claret_error(), "more than 1000000 values"));
    free(data);
}

static void test_truncated(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(PICKLE_PYTHON2) - 1; size++)
        assert_int_equal(read_bytes(PICKLE_PYTHON2, size), CLARET_FORMAT);
    for (size_t size = 0; size < sizeof(pickle_python3_2); size++)
        assert_int_equal(read_bytes(pickle_python3_2, size), CLARET_FORMAT);
    for (size_t size = 0; size < sizeof(pickle_python3_4); size++)
        assert_int_equal(read_bytes(pickle_python3_4, size), CLARET_FORMAT);
}

/* Any damage is refused or gives some value; which of both is not the point, but that nothing else happens.
 */
static void damage(const void *sample, size_t size, uint32_t number)
{
    unsigned char *data = malloc(size);
    struct claret_rng rng;
    int refused = 0;

    memcpy(data, sample, size);
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            data[i] ^= (unsigned char)(1 << bit);
            refused += read_bytes(data, size) != CLARET_OK;
            data[i] ^= (unsigned char)(1 << bit);
        }
    }
    assert_true(refused > 0);
    claret_rng_init(&rng, 0, CLARET_STREAM_INIT, number);
    for (int round = 0; round < 5000; round++) {
        for (uint32_t i = 0; i <= claret_rng_below(&rng, 8); i++)
            data[claret_rng_below(&rng, (uint32_t)size)] =
                ((const unsigned char *)sample)[claret_rng_below(&rng, (uint32_t)size)];
        read_bytes(data, size);
        memcpy(data, sample, size);
    }
    free(data);
}

static void test_damaged(void **state)
{
    (void)state;
    damage(PICKLE_PYTHON2, sizeof(PICKLE_PYTHON2) - 1, 0);
    damage(pickle_python3_2, sizeof(pickle_python3_2), 1);
    damage(pickle_python3_4, sizeof(pickle_python3_4), 2);
    claret_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),  cmocka_unit_test(test_values), cmocka_unit_test(test_key_twice),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_bounds), cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
