/* CIFAR-10's files: both layouts, where they are looked for, and everything that can be wrong with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "data/data.h"
#include "pickle_samples.h"
#include "scratch.h"

#define IMAGES 10000
#define PIXELS 3072
#define RECORD (1 + PIXELS)
#define BYTES ((size_t)IMAGES * RECORD)

/* The made-up set: image i has label i * 7 % 10; its pixel j is that. */
static unsigned char pixel(size_t i, size_t j)
{
    return (unsigned char)((i * 31 + j * 17 + i * j) & 255);
}

static unsigned char *make_binary(void)
{
    unsigned char *data = malloc(BYTES);

    for (size_t i = 0; i < IMAGES; i++) {
        data[i * RECORD] = (unsigned char)(i * 7 % 10);
        for (size_t j = 0; j < PIXELS; j++)
            data[i * RECORD + 1 + j] = pixel(i, j);
    }
    return data;
}

/* The same in the published Python layout; `count` labels, the last of them `last`. */
static unsigned char *make_python(int count, int last, size_t *size)
{
    static const char head[] = "\x80\x02}q\x01(U\x0b"
                               "batch_labelq\x02U\x13training batch of 5q\x03U\x06labelsq\x04]q\x05(";
    static const char middle[] =
        "eU\x04"
        "dataq\x06" PICKLE_NUMPY2_ARRAY("M\x10'M\x00\x0c\x86", "\x89", "T\x00\xc0\xd4\x01");
    /* What ends the array, "tb", comes after its bytes. */
    size_t middle_size = sizeof(middle) - sizeof("tb");
    static const char tail[] = "tbU\x09"
                               "filenamesq\x0c]q\x0d(U\x05"
                               "a.pngU\x05"
                               "b.pngeu.";
    unsigned char *data = malloc(sizeof(head) + sizeof(middle) + sizeof(tail) + (size_t)count * 2 +
                                 (size_t)IMAGES * PIXELS),
                  *at = data;

    memcpy(at, head, sizeof(head) - 1);
    at += sizeof(head) - 1;
    for (int i = 0; i < count; i++) {
        *at++ = 'K';
        *at++ = (unsigned char)(i + 1 < count ? i * 7 % 10 : last);
    }
    memcpy(at, middle, middle_size);
    at += middle_size;
    for (size_t i = 0; i < IMAGES; i++) {
        for (size_t j = 0; j < PIXELS; j++)
            *at++ = pixel(i, j);
    }
    memcpy(at, tail, sizeof(tail) - 1);
    *size = (size_t)(at - data) + sizeof(tail) - 1;
    return data;
}

static void expect_fails(const char *path, enum claret_split split, enum claret_status status,
                         const char *part, const char *part2)
{
    struct claret_dataset *dataset = NULL;

    assert_int_equal(claret_dataset_open(path, split, &dataset), status);
    assert_null(dataset);
    assert_true(scratch_says(claret_error(), part));
    assert_true(scratch_says(claret_error(), part2));
}

/* Every file of the split holds the made-up set. */
static void expect_opens(const char *path, enum claret_split split, const char *name)
{
    struct claret_dataset *dataset = NULL;
    size_t count = split == CLARET_TRAIN ? 5 * IMAGES : IMAGES;
    const unsigned char *image;
    int shape[3];
    int32_t label;

    if (claret_dataset_open(path, split, &dataset) != CLARET_OK)
        fail_msg("%s", claret_error());
    assert_int_equal(claret_dataset_count(dataset), count);
    assert_int_equal(claret_dataset_classes(dataset), 10);
    assert_string_equal(claret_dataset_class_name(dataset, 0), name);
    claret_dataset_shape(dataset, shape);
    assert_true(shape[0] == 3 && shape[1] == 32 && shape[2] == 32);
    for (size_t i = 0; i < count; i += 97) {
        image = claret_dataset_image(dataset, i, &label);
        assert_int_equal(label, i % IMAGES * 7 % 10);
        for (size_t j = 0; j < PIXELS; j += 5)
            assert_int_equal(image[j], pixel(i % IMAGES, j));
    }
    claret_dataset_destroy(dataset);
}

static void link_all(const char *from, const char *folder, const char *suffix)
{
    char path[600];

    for (int i = 1; i <= 5; i++) {
        claret_print(path, sizeof(path), "%s/data_batch_%d%s", folder, i, suffix);
        unlink(path);
        assert_int_equal(symlink(from, path), 0);
    }
}

/* ---- the binary layout --------------------------------------------------------------------------------- */

static int setup_binary(void **state)
{
    unsigned char *data = make_binary();
    int failed = scratch_setup(state) || mkdir(scratch("set"), 0700) ||
                 mkdir(scratch("set/cifar-10-batches-bin"), 0700);

    scratch_write("set/cifar-10-batches-bin/test_batch.bin", data, BYTES);
    link_all("test_batch.bin", scratch("set/cifar-10-batches-bin"), ".bin");
    free(data);
    return failed;
}

static void test_binary(void **state)
{
    (void)state;
    expect_opens(scratch("set"), CLARET_TRAIN, "airplane");
    expect_opens(scratch("set"), CLARET_TEST, "airplane");
    expect_opens(scratch("set/"), CLARET_TEST, "airplane");
    expect_opens(scratch("set/cifar-10-batches-bin"), CLARET_TEST, "airplane");
}

static void test_binary_names(void **state)
{
    static const char good[] = "zero\r\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n\n";
    static const char *const bad[] = {"", "0\n1\n2\n3\n4\n5\n6\n7\n8\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
                                      "0\n1\n2\n3\n4\n5\n6\n7\n8\n\x1b[2J\n"};
    const char *name = "set/cifar-10-batches-bin/batches.meta.txt";

    (void)state;
    scratch_write(name, good, sizeof(good) - 1);
    expect_opens(scratch("set"), CLARET_TEST, "zero");
    for (int i = 0; i < 4; i++) {
        scratch_write(name, bad[i], strlen(bad[i]));
        expect_fails(scratch("set"), CLARET_TEST, CLARET_FORMAT, "batches.meta.txt", "10 class names");
    }
    unlink(scratch("%s", name));
}

static void test_binary_faults(void **state)
{
    const char *path = scratch("set/cifar-10-batches-bin/test_batch.bin"), *set = scratch("set");
    FILE *stream = fopen(path, "r+b");

    (void)state;
    /* The label of record 1234. */
    assert_int_equal(fseek(stream, 1234 * RECORD, SEEK_SET), 0);
    fputc(10, stream);
    fflush(stream);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, path, "image 1234 (from 0) has label 10");
    expect_fails(set, CLARET_TRAIN, CLARET_FORMAT, "data_batch_1.bin", "image 1234 (from 0) has label 10");
    assert_int_equal(fseek(stream, 1234 * RECORD, SEEK_SET), 0);
    fputc(1234 * 7 % 10, stream);
    fclose(stream);
    expect_opens(set, CLARET_TEST, "airplane");
    /* A file short of a byte, of a record, of everything; then one that is too long. */
    assert_int_equal(truncate(path, (off_t)BYTES - 1), 0);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, path, "30729999 bytes, where 30730000 are expected");
    assert_true(scratch_says(claret_error(), "is truncated"));
    assert_true(scratch_says(claret_error(), "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"));
    assert_int_equal(truncate(path, (off_t)BYTES - RECORD), 0);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, path, "30726927 bytes");
    assert_int_equal(truncate(path, 0), 0);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, path, "0 bytes");
    assert_int_equal(truncate(path, (off_t)BYTES + RECORD), 0);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, path, "30733073 bytes");
    assert_true(scratch_says(claret_error(), "the file is not CIFAR-10"));
    /* A file of the split is missing, or is no file. */
    unlink(scratch("set/cifar-10-batches-bin/data_batch_1.bin"));
    expect_fails(set, CLARET_TRAIN, CLARET_NOT_FOUND, "data_batch_1.bin", "No such file");
    assert_true(scratch_says(claret_error(), "Get it again: https://"));
    unlink(path);
    mkdir(path, 0700);
    expect_fails(set, CLARET_TEST, CLARET_IO, path, "a folder, not a file");
}

/* ---- the Python layout --------------------------------------------------------------------------------- */

static int setup_python(void **state)
{
    size_t size;
    unsigned char *data = make_python(IMAGES, (IMAGES - 1) * 7 % 10, &size);
    int failed = scratch_setup(state) || mkdir(scratch("set"), 0700) ||
                 mkdir(scratch("set/cifar-10-batches-py"), 0700);

    scratch_write("set/cifar-10-batches-py/test_batch", data, size);
    link_all("test_batch", scratch("set/cifar-10-batches-py"), "");
    free(data);
    return failed;
}

static void test_python(void **state)
{
    (void)state;
    expect_opens(scratch("set"), CLARET_TRAIN, "airplane");
    expect_opens(scratch("set"), CLARET_TEST, "airplane");
    expect_opens(scratch("set/cifar-10-batches-py"), CLARET_TEST, "airplane");
}

static void test_python_names(void **state)
{
    static const char good[] =
        "\x80\x02}q\x01(U\x13num_cases_per_batchq\x02M\x10'U\x0blabel_namesq\x03]q\x04("
        "U\x04zeroU\x01"
        "1U\x01"
        "2U\x01"
        "3U\x01"
        "4U\x01"
        "5U\x01"
        "6U\x01"
        "7U\x01"
        "8U\x01"
        "9eu.";
    static const char few[] = "\x80\x02}U\x0blabel_names](U\x01"
                              "1es.";
    static const char nothing[] = "\x80\x02N.";
    static const char numbers[] = "\x80\x02}U\x0blabel_names](NNNNNNNNNNes.";
    static const char code[] = "\x80\x02"
                               "cos\nsystem\nU\x04true\x85R.";
    const char *name = "set/cifar-10-batches-py/batches.meta";

    (void)state;
    scratch_write(name, good, sizeof(good) - 1);
    expect_opens(scratch("set"), CLARET_TEST, "zero");
    scratch_write(name, few, sizeof(few) - 1);
    expect_fails(scratch("set"), CLARET_TEST, CLARET_FORMAT, "batches.meta", "not a list of 10");
    scratch_write(name, nothing, sizeof(nothing) - 1);
    expect_fails(scratch("set"), CLARET_TEST, CLARET_FORMAT, "batches.meta", "not a list of 10");
    scratch_write(name, numbers, sizeof(numbers) - 1);
    expect_fails(scratch("set"), CLARET_TEST, CLARET_FORMAT, "batches.meta", "class name 0");
    scratch_write(name, code, sizeof(code) - 1);
    expect_fails(scratch("set"), CLARET_TEST, CLARET_FORMAT, "batches.meta: byte 2", "os.system");
    unlink(scratch("%s", name));
}

static void test_python_faults(void **state)
{
    static const char empty[] = "\x80\x02}.";
    const char *name = "set/cifar-10-batches-py/test_batch", *set = scratch("set");
    unsigned char *data;
    size_t size;

    (void)state;
    data = make_python(IMAGES, 10, &size);
    scratch_write(name, data, size);
    free(data);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch", "image 9999 (from 0) has label 10");
    data = make_python(IMAGES - 1, 0, &size);
    scratch_write(name, data, size);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch", "\"labels\" is not a list of 10000");
    scratch_write(name, data, size - 1000);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch: byte ", "truncated");
    free(data);
    scratch_write(name, empty, sizeof(empty) - 1);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch", "\"labels\"");
    scratch_write(name, PICKLE_PYTHON2, sizeof(PICKLE_PYTHON2) - 1);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch", "\"labels\"");
    /* Labels that are none. */
    data = malloc(IMAGES + 300);
    size = 0;
    memcpy(data, "\x80\x02}(U\x06labels](", 14);
    size += 14;
    memset(data + size, 'N', IMAGES);
    size += IMAGES;
    memcpy(data + size, "eu.", 3);
    scratch_write(name, data, size + 3);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch", "label 0 (from 0) is no number");
    free(data);
}

static void test_python_array_faults(void **state)
{
    static const char array[] = "eU\x04"
                                "data" PICKLE_NUMPY2_ARRAY("K\x02K\x03\x86", "\x89",
                                                           "U\x06"
                                                           "123456") "u.";
    static const char none[] = "eU\x04"
                               "dataNu.";
    const char *name = "set/cifar-10-batches-py/test_batch", *set = scratch("set");
    unsigned char *data = malloc(2 * IMAGES + 400);
    size_t size = 14;

    (void)state;
    memcpy(data, "\x80\x02}(U\x06labels](", 14);
    for (int i = 0; i < IMAGES; i++, size += 2)
        memcpy(data + size, "K\x03", 2);
    memcpy(data + size, array, sizeof(array) - 1);
    scratch_write(name, data, size + sizeof(array) - 1);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch", "\"data\" is 2x3, where 10000x3072");
    memcpy(data + size, none, sizeof(none) - 1);
    scratch_write(name, data, size + sizeof(none) - 1);
    expect_fails(set, CLARET_TEST, CLARET_FORMAT, "test_batch", "\"data\" is not a numpy array");
    free(data);
}

/* ---- no data at all ------------------------------------------------------------------------------------ */

static void test_not_found(void **state)
{
    const char *path = scratch("nothing");

    (void)state;
    expect_fails(path, CLARET_TRAIN, CLARET_NOT_FOUND, "there is no such folder", "--data shapes");
    assert_true(scratch_says(claret_error(), "CIFAR-10: data_batch_1.bin or data_batch_1, there or in "
                                             "cifar-10-batches-bin, cifar-10-batches-py"));
    assert_true(scratch_says(claret_error(), "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"));
    assert_true(scratch_says(claret_error(), "c32a1d4ab5d03f1284b67883e8d87530"));
    assert_true(scratch_says(claret_error(), "tar -xzf cifar-10-binary.tar.gz -C "));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(mkdir(scratch("nothing/cifar-10-batches-bin"), 0700), 0);
    expect_fails(path, CLARET_TRAIN, CLARET_NOT_FOUND, "no data set in ", "--data shapes");
    scratch_write("nothing/cifar-10-binary.tar.gz", "", 0);
    expect_fails(path, CLARET_TRAIN, CLARET_NOT_FOUND, "not unpacked: tar -xzf ", scratch("nothing"));
    if (geteuid() != 0) { /* whom nothing is closed to */
        assert_int_equal(chmod(path, 0), 0);
        expect_fails(path, CLARET_TRAIN, CLARET_IO, "data_batch_1.bin", "Permission denied");
        assert_int_equal(chmod(path, 0700), 0);
    }
    scratch_write("file", "", 0);
    expect_fails(scratch("file"), CLARET_TEST, CLARET_NOT_FOUND, "it is a file", "--data shapes");
    expect_fails("", CLARET_TEST, CLARET_INVALID, "needs a path", "");
    expect_fails("./shapes", CLARET_TEST, CLARET_NOT_FOUND, "no data set in ./shapes", "");
}

int main(void)
{
    const struct CMUnitTest binary[] = {cmocka_unit_test(test_binary), cmocka_unit_test(test_binary_names),
                                        cmocka_unit_test(test_binary_faults)};
    const struct CMUnitTest python[] = {cmocka_unit_test(test_python), cmocka_unit_test(test_python_names),
                                        cmocka_unit_test(test_python_faults),
                                        cmocka_unit_test(test_python_array_faults)};
    const struct CMUnitTest none[] = {cmocka_unit_test(test_not_found)};
    int failed = cmocka_run_group_tests(binary, setup_binary, scratch_teardown);

    failed += cmocka_run_group_tests(python, setup_python, scratch_teardown);
    failed += cmocka_run_group_tests(none, scratch_setup, scratch_teardown);
    return failed != 0;
}
