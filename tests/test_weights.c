/* safetensors: what is written, what is read, and every way in which a file can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/rng.h"
#include "scratch.h"
#include "train/weights.h"

/* The network of these tests: fc.weight (2, 3) and fc.bias (2). */
static float weight[6], bias[2];
static const struct claret_weight network[] = {{"fc.weight", {2, {2, 3}}, weight, false},
                                               {"fc.bias", {1, {2}}, bias, false}};

static const float untouched = -77;

static void reset(void)
{
    for (int i = 0; i < 6; i++)
        weight[i] = untouched;
    for (int i = 0; i < 2; i++)
        bias[i] = untouched;
    claret_error_clear();
}

static void expect_unchanged(void)
{
    for (int i = 0; i < 6; i++)
        assert_true(weight[i] == untouched);
    for (int i = 0; i < 2; i++)
        assert_true(bias[i] == untouched);
}

/* A file of `header` and `data_size` bytes of data: 1, 2, 3 … as float32. */
static const char *write_file(const char *header, size_t data_size)
{
    size_t header_size = strlen(header);
    unsigned char *bytes = calloc(1, 8 + header_size + data_size + 4);
    const char *path;

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)header_size >> (8 * i));
    memcpy(bytes + 8, header, header_size);
    for (size_t i = 0; i < data_size; i += 4) {
        float value = (float)(i / 4 + 1);
        memcpy(bytes + 8 + header_size + i, &value, 4);
    }
    path = scratch_write("written.safetensors", bytes, 8 + header_size + data_size);
    free(bytes);
    return path;
}

#define WEIGHT "\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define BIAS "\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}"

/* ---- writing ------------------------------------------------------------------------------------------- */

static void set_values(void)
{
    static const float values[6] = {1, -2.5f, 3e-30f, 0, -0.0f, 1e30f};

    memcpy(weight, values, sizeof(values));
    bias[0] = 0.1f;
    bias[1] = INFINITY;
}

static void test_written_bytes(void **state)
{
    static const char header[] = "{\"fc.bias\":{\"data_offsets\":[0,8],\"dtype\":\"F32\",\"shape\":[2]},"
                                 "\"fc.weight\":{\"data_offsets\":[8,32],\"dtype\":\"F32\",\"shape\":[2,3]}}";
    const char *path = scratch("bytes.safetensors");
    unsigned char *bytes;
    size_t size, padded = (sizeof(header) - 1 + 7) / 8 * 8;
    char sha256[65], hex[65], *data;

    (void)state;
    set_values();
    assert_int_equal(claret_weights_save(path, network, 2, sha256), CLARET_OK);
    assert_int_equal(claret_file_read(path, 10000, &data, &size), CLARET_OK);
    bytes = (unsigned char *)data;
    assert_int_equal(size, 8 + padded + 32);
    assert_int_equal(bytes[0] | bytes[1] << 8, padded);
    for (int i = 2; i < 8; i++)
        assert_int_equal(bytes[i], 0);
    assert_memory_equal(bytes + 8, header, sizeof(header) - 1);
    for (size_t i = sizeof(header) - 1; i < padded; i++)
        assert_int_equal(bytes[8 + i], ' ');
    assert_memory_equal(bytes + 8 + padded, bias, 8);
    assert_memory_equal(bytes + 8 + padded + 8, weight, 24);
    claret_sha256(data, size, hex);
    assert_string_equal(hex, sha256);
    free(data);
}

/* The order in which a network names its parameters does not show. */
static void test_same_bytes(void **state)
{
    const struct claret_weight turned[] = {network[1], network[0]};
    char first[65], second[65];

    (void)state;
    set_values();
    assert_int_equal(claret_weights_save(scratch("a"), network, 2, first), CLARET_OK);
    assert_int_equal(claret_weights_save(scratch("b"), turned, 2, second), CLARET_OK);
    assert_string_equal(first, second);
    assert_int_equal(claret_weights_save(scratch("b"), turned, 2, NULL), CLARET_OK);
    assert_int_equal(claret_sha256_file(scratch("b"), second), CLARET_OK);
    assert_string_equal(first, second);
    weight[5] = 0;
    assert_int_equal(claret_weights_save(scratch("b"), network, 2, second), CLARET_OK);
    assert_string_not_equal(first, second);
}

static void test_round_trip(void **state)
{
    float expected_weight[6], expected_bias[2], scalar = 4, none = 0, read = 0;
    const struct claret_weight odd[] = {{"scalar", {0}, &scalar, false}, {"none", {2, {0, 3}}, &none, false}};
    const char *path = scratch("round");

    (void)state;
    set_values();
    memcpy(expected_weight, weight, sizeof(weight));
    memcpy(expected_bias, bias, sizeof(bias));
    assert_int_equal(claret_weights_save(path, network, 2, NULL), CLARET_OK);
    reset();
    assert_int_equal(claret_weights_load(path, network, 2), CLARET_OK);
    assert_memory_equal(weight, expected_weight, sizeof(weight));
    assert_memory_equal(bias, expected_bias, sizeof(bias));
    assert_int_equal(claret_weights_save(path, NULL, 0, NULL), CLARET_OK);
    assert_int_equal(claret_weights_load(path, NULL, 0), CLARET_OK);
    assert_int_equal(claret_weights_save(path, odd, 2, NULL), CLARET_OK);
    scalar = 0;
    assert_int_equal(claret_weights_load(path, odd, 2), CLARET_OK);
    assert_true(scalar == 4 && none == read);
}

/* Whole numbers are I64 in a file; those that a float has not exactly, and another type, are refused. */
static void test_integers(void **state)
{
    float number = 16777216, other = 0.5f;
    struct claret_weight tracked[] = {{"bn.num_batches_tracked", {0}, &number, true}};
    const struct claret_weight as_float[] = {{"bn.num_batches_tracked", {0}, &other, false}};
    const char *path = scratch("integers");

    (void)state;
    assert_int_equal(claret_weights_save(path, tracked, 1, NULL), CLARET_OK);
    number = 0;
    assert_int_equal(claret_weights_load(path, tracked, 1), CLARET_OK);
    assert_true(number == 16777216);
    assert_int_equal(claret_weights_load(path, as_float, 1), CLARET_FORMAT);
    assert_non_null(strstr(claret_error(), "dtype I64, where F32 is expected"));
    assert_int_equal(claret_weights_save(path, as_float, 1, NULL), CLARET_OK);
    claret_error_clear();
    assert_int_equal(claret_weights_load(path, tracked, 1), CLARET_FORMAT);
    assert_non_null(strstr(claret_error(), "dtype F32, where I64 is expected"));
    number = 16777218;
    assert_int_equal(claret_weights_save(path, tracked, 1, NULL), CLARET_OK);
    claret_error_clear();
    assert_int_equal(claret_weights_load(path, tracked, 1), CLARET_FORMAT);
    assert_non_null(strstr(claret_error(), "16777218 is not from 0 to 16777216"));
}

static void test_cannot_write(void **state)
{
    struct stat info;

    (void)state;
    set_values();
    claret_error_clear();
    assert_int_equal(claret_weights_save("/dev/full", network, 2, NULL), CLARET_IO);
    assert_true(scratch_says(claret_error(), "/dev/full: cannot be written: No space left"));
    claret_error_clear();
    assert_int_equal(claret_weights_save(scratch("none/file"), network, 2, NULL), CLARET_IO);
    assert_true(scratch_says(claret_error(), "none/file"));
    claret_error_clear();
    assert_int_equal(claret_weights_save(scratch("."), network, 2, NULL), CLARET_IO);
    assert_int_equal(stat(scratch("none"), &info), -1);
    claret_error_clear();
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* As PyTorch's save_file writes: keys of an entry in its order, metadata, tensors in any order, padding. */
static void test_pytorch(void **state)
{
    static const char *const headers[] = {
        "{\"__metadata__\":{\"format\":\"pt\"}," BIAS "," WEIGHT "}      ",
        "{" WEIGHT "," BIAS "}",
        "{ \"fc.bias\" : {\"shape\":[2], \"data_offsets\":[24,32], \"dtype\":\"F32\"},\n" WEIGHT "}",
    };

    (void)state;
    for (int i = 0; i < 3; i++) {
        reset();
        if (claret_weights_load(write_file(headers[i], 32), network, 2) != CLARET_OK)
            fail_msg("%s", claret_error());
        for (int j = 0; j < 6; j++)
            assert_true(weight[j] == (float)(j + 1));
        assert_true(bias[0] == 7 && bias[1] == 8);
    }
}

#define ENTRY(name, dtype, shape, offsets)                                                                   \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_faults(void **state)
{
    static const struct {
        const char *header;
        size_t data_size;
        enum claret_status status;
        const char *part;
    } bad[] = {
        /* The header as a whole. */
        {"", 0, CLARET_FORMAT, "not a safetensors file"},
        {" {}", 0, CLARET_FORMAT, "not a safetensors file"},
        {"[]", 0, CLARET_FORMAT, "not a safetensors file"},
        {"{", 0, CLARET_FORMAT, "header is broken at byte"},
        {"{" WEIGHT "," BIAS "", 32, CLARET_FORMAT, "header is broken"},
        {"{" WEIGHT "," BIAS "} x", 32, CLARET_FORMAT, "header is broken"},
        {"{" WEIGHT "," WEIGHT "," BIAS "}", 32, CLARET_FORMAT, "duplicate object key"},
        {"{\"a\\u0000b\":1}", 0, CLARET_FORMAT, "header is broken"},
        {"{\"\xff\":1}", 0, CLARET_FORMAT, "header is broken"},
        /* Entries. */
        {"{\"fc.weight\":1}", 0, CLARET_FORMAT, "fc.weight: not a tensor"},
        {"{\"fc.weight\":{}}", 0, CLARET_FORMAT, "fc.weight: not a tensor"},
        {"{\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,3]}}", 24, CLARET_FORMAT, "fc.weight: not a tensor"},
        {"{\"fc.weight\":{\"dtype\":1,\"shape\":[2,3],\"data_offsets\":[0,24]}}", 24, CLARET_FORMAT,
         "fc.weight: not a tensor"},
        {"{\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24],\"more\":1}}", 24,
         CLARET_FORMAT, "fc.weight: not a tensor"},
        {"{" ENTRY("fc.weight", "F33", "[2,3]", "[0,24]") "}", 24, CLARET_FORMAT,
         "fc.weight: unknown dtype \"F33\""},
        {"{" ENTRY("fc.weight", "F32", "6", "[0,24]") "}", 24, CLARET_FORMAT, "fc.weight: it has no shape"},
        {"{" ENTRY("fc.weight", "F32", "[2,-3]", "[0,24]") "}", 24, CLARET_FORMAT,
         "fc.weight: dimension 1 of its shape"},
        {"{" ENTRY("fc.weight", "F32", "[2.0,3]", "[0,24]") "}", 24, CLARET_FORMAT,
         "fc.weight: dimension 0 of its shape"},
        {"{" ENTRY("fc.weight", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, CLARET_FORMAT,
         "fc.weight: its shape has more elements"},
        {"{" ENTRY("fc.weight", "F32", "[4611686018427387904]", "[0,0]") "}", 0, CLARET_FORMAT,
         "fc.weight: its shape has more elements"},
        {"{" ENTRY("fc.weight", "F32", "[99999999999999999999]", "[0,0]") "}", 0, CLARET_FORMAT,
         "header is broken"},
        {"{" ENTRY("fc.weight", "F32", "[2,3]", "[0]") "}", 24, CLARET_FORMAT, "fc.weight: its data_offsets"},
        {"{" ENTRY("fc.weight", "F32", "[2,3]", "[0,24,48]") "}", 24, CLARET_FORMAT,
         "fc.weight: its data_offsets"},
        {"{" ENTRY("fc.weight", "F32", "[2,3]", "[24,0]") "}", 24, CLARET_FORMAT,
         "fc.weight: its data_offsets"},
        {"{" ENTRY("fc.weight", "F32", "[2,3]", "[-24,0]") "}", 24, CLARET_FORMAT,
         "fc.weight: its data_offsets"},
        {"{" ENTRY("fc.weight", "F32", "[2,3]", "[0,24.5]") "}", 24, CLARET_FORMAT,
         "fc.weight: its data_offsets"},
        /* Offsets against the file, the shape and each other. */
        {"{" WEIGHT "," BIAS "}", 31, CLARET_FORMAT,
         "fc.bias: its data ends at byte 32, the file has 31 bytes"},
        {"{" WEIGHT "," BIAS "}", 0, CLARET_FORMAT, "it is truncated"},
        {"{" WEIGHT "," BIAS "}", 33, CLARET_FORMAT, "1 bytes of data belong to no tensor"},
        {"{" ENTRY("fc.weight", "F32", "[2,3]", "[0,20]") "}", 20, CLARET_FORMAT,
         "fc.weight: 6 elements of F32, but 20 bytes"},
        {"{" ENTRY("fc.weight", "F16", "[2,3]", "[0,24]") "}", 24, CLARET_FORMAT,
         "fc.weight: 6 elements of F16, but 24 bytes"},
        {"{" WEIGHT "," ENTRY("fc.bias", "F32", "[2]", "[20,28]") "}", 28, CLARET_FORMAT,
         "fc.bias: its data begins at byte 20, inside"},
        {"{" WEIGHT "," ENTRY("fc.bias", "F32", "[2]", "[28,36]") "}", 36, CLARET_FORMAT,
         "fc.bias: its data begins at byte 28, with a gap after"},
        {"{" ENTRY("fc.bias", "F32", "[2]", "[4,12]") "}", 12, CLARET_FORMAT,
         "fc.bias: its data begins at byte 4"},
        {"{\"__metadata__\":{}}", 4, CLARET_FORMAT, "4 bytes of data belong to no tensor"},
        /* Good files of other networks. */
        {"{}", 0, CLARET_SHAPE, "fc.weight is missing"},
        {"{" WEIGHT "}", 24, CLARET_SHAPE, "fc.bias is missing"},
        {"{" WEIGHT "," BIAS "," ENTRY("fc2.bias", "F32", "[1]", "[32,36]") "}", 36, CLARET_SHAPE,
         "the network has no fc2.bias"},
        {"{" WEIGHT "," ENTRY("head.bias", "F32", "[2]", "[24,32]") "}", 32, CLARET_SHAPE,
         "fc.bias is missing, head.bias is not the network's"},
        {"{" WEIGHT "," ENTRY("fc.bias", "F16", "[2]", "[24,28]") "}", 28, CLARET_FORMAT,
         "fc.bias: dtype F16, where F32 is expected"},
        {"{" WEIGHT "," ENTRY("fc.bias", "I32", "[2]", "[24,32]") "}", 32, CLARET_FORMAT,
         "fc.bias: dtype I32, where F32 is expected"},
        {"{" ENTRY("fc.weight", "F32", "[3,2]", "[0,24]") "," BIAS "}", 32, CLARET_SHAPE,
         "fc.weight: file has 3x2, network wants 2x3"},
        {"{" ENTRY("fc.weight", "F32", "[6]", "[0,24]") "," BIAS "}", 32, CLARET_SHAPE,
         "fc.weight: file has 6, network wants 2x3"},
        {"{" ENTRY("fc.weight", "F32", "[1,1,1,2,3]", "[0,24]") "," BIAS "}", 32, CLARET_SHAPE,
         "fc.weight: file has 1x1x1x2x3, network wants 2x3"},
        {"{" ENTRY("fc.weight", "F32", "[]", "[0,4]") "," ENTRY("fc.bias", "F32", "[2]", "[4,12]") "}", 12,
         CLARET_SHAPE, "fc.weight: file has scalar, network wants 2x3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *path = write_file(bad[i].header, bad[i].data_size);
        enum claret_status status;
        reset();
        status = claret_weights_load(path, network, 2);
        if (status != bad[i].status || !scratch_says(claret_error(), bad[i].part) ||
            !scratch_says(claret_error(), path))
            fail_msg("case %zu: %s: %s", i, bad[i].header, claret_status_name(status));
        expect_unchanged();
    }
}

static void expect_refused(const char *path, enum claret_status status, const char *part)
{
    reset();
    assert_int_equal(claret_weights_load(path, network, 2), status);
    assert_true(scratch_says(claret_error(), path));
    assert_true(scratch_says(claret_error(), part));
    expect_unchanged();
}

static void test_not_safetensors(void **state)
{
    static const char zip[] = "PK\x03\x04\x00\x00\x08\x08 what torch.save() writes";
    static const char long_header[] = "\x00\xca\x9a\x3b\x00\x00\x00\x00{}";
    static const char short_file[] = "\x0b\x00\x00\x00\x00\x00\x00\x00{\"a\":     ";
    static const char net[] = "# mine\ninput 3 32 32\nflatten\n";
    static const char huge[] = "\xff\xff\xff\xff\xff\xff\xff\xff{}";

    (void)state;
    expect_refused(scratch_write("f", "", 0), CLARET_FORMAT, "f: not a safetensors file");
    expect_refused(scratch_write("f", "1234567", 7), CLARET_FORMAT, "f: not a safetensors file");
    expect_refused(scratch_write("f", zip, sizeof(zip) - 1), CLARET_FORMAT, "not a safetensors file");
    expect_refused(scratch_write("f", long_header, sizeof(long_header) - 1), CLARET_FORMAT,
                   "f: not a safetensors file");
    expect_refused(scratch_write("f", huge, sizeof(huge) - 1), CLARET_FORMAT, "f: not a safetensors file");
    expect_refused(scratch_write("f", short_file, 8 + 10), CLARET_FORMAT,
                   "a header of 11 bytes in a file of 18: it is truncated");
    expect_refused(scratch_write("f", net, sizeof(net) - 1), CLARET_FORMAT,
                   "looks like a network text, which --model");
    expect_refused(scratch("no-such-file"), CLARET_NOT_FOUND, "No such file");
    expect_refused(scratch("."), CLARET_IO, "a folder, where a safetensors file is wanted");
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    expect_refused(scratch("fifo"), CLARET_IO, "not a file");
}

static void test_read(void **state)
{
    static const char header[] =
        "{" ENTRY("f", "F32", "[2]", "[0,8]") "," ENTRY("l", "I64", "[]", "[8,16]") "," ENTRY(
            "i", "I32", "[1,2]", "[16,24]") "," ENTRY("h", "F16", "[2]", "[24,28]") "}";
    unsigned char *bytes;
    const char *path;
    char *data;
    size_t size, count = 0;
    float *values = NULL;

    (void)state;
    assert_int_equal(claret_file_read(write_file(header, 28), 10000, &data, &size), CLARET_OK);
    bytes = (unsigned char *)data + size - 28;
    memcpy(bytes + 8, "\xfe\xff\xff\xff\xff\xff\xff\xff\x03\x00\x00\x00\xfd\xff\xff\xff", 16);
    path = scratch_write("mixed.safetensors", data, size);
    free(data);
    claret_error_clear();
    assert_int_equal(claret_weights_read(path, "f", &values, &count), CLARET_OK);
    assert_true(count == 2 && values[0] == 1 && values[1] == 2);
    free(values);
    assert_int_equal(claret_weights_read(path, "l", &values, &count), CLARET_OK);
    assert_true(count == 1 && values[0] == -2);
    free(values);
    assert_int_equal(claret_weights_read(path, "i", &values, &count), CLARET_OK);
    assert_true(count == 2 && values[0] == 3 && values[1] == -3);
    free(values);
    assert_int_equal(claret_weights_read(path, "x", &values, &count), CLARET_NOT_FOUND);
    assert_true(scratch_says(claret_error(), "it has no x"));
    claret_error_clear();
    assert_int_equal(claret_weights_read(path, "h", &values, &count), CLARET_FORMAT);
    assert_true(scratch_says(claret_error(), "h: dtype F16"));
    claret_error_clear();
}

/* ---- damage -------------------------------------------------------------------------------------------- */

/* A load either gives every value or changes none. */
static enum claret_status try_load(const void *bytes, size_t size)
{
    enum claret_status status;

    reset();
    status = claret_weights_load(scratch_write("damaged", bytes, size), network, 2);
    if (status != CLARET_OK) {
        assert_true(scratch_says(claret_error(), "damaged"));
        expect_unchanged();
    }
    return status;
}

static void test_damaged(void **state)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"}," WEIGHT "," BIAS "}  ";
    struct claret_rng rng;
    char *sample, *data;
    size_t size, refused = 0;

    (void)state;
    assert_int_equal(claret_file_read(write_file(header, 32), 10000, &sample, &size), CLARET_OK);
    data = malloc(size);
    memcpy(data, sample, size);
    assert_int_equal(try_load(data, size), CLARET_OK);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(try_load(data, cut), CLARET_FORMAT);
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit += 3) {
            data[i] = (char)(data[i] ^ 1 << bit);
            refused += try_load(data, size) != CLARET_OK;
            data[i] = sample[i];
        }
    }
    /* Values may be anything, and so may the metadata: but most of the header may not. */
    assert_true(refused > 3 * (size - 32) / 2);
    claret_rng_init(&rng, 0, CLARET_STREAM_INIT, 0);
    for (int round = 0; round < 500; round++) {
        for (uint32_t i = 0; i <= claret_rng_below(&rng, 6); i++)
            data[claret_rng_below(&rng, (uint32_t)size)] = sample[claret_rng_below(&rng, (uint32_t)size)];
        try_load(data, size);
        memcpy(data, sample, size);
    }
    free(data);
    free(sample);
    claret_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_bytes), cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_integers),
        cmocka_unit_test(test_cannot_write),  cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_faults),        cmocka_unit_test(test_not_safetensors),
        cmocka_unit_test(test_read),          cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
