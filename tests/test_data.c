/* Datasets from arrays, the built-in shapes, normalisation. The loader has its own test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/data.h"
#include "scratch.h"

/* ---- the built-in set ---------------------------------------------------------------------------------- */

static struct claret_dataset *open_shapes(enum claret_split split)
{
    struct claret_dataset *dataset = NULL;

    if (claret_dataset_open("shapes", split, &dataset) != CLARET_OK)
        fail_msg("%s", claret_error());
    return dataset;
}

static void expect_shapes(enum claret_split split, size_t count, const char *images, const char *labels)
{
    struct claret_dataset *dataset = open_shapes(split);
    size_t counts[10] = {0}, repeats = 0;
    char hex[65];

    assert_int_equal(claret_dataset_count(dataset), count);
    assert_int_equal(claret_dataset_classes(dataset), 10);
    assert_true(dataset->element == CLARET_U8 && dataset->channels == 3 && dataset->height == 32 &&
                dataset->width == 32 && dataset->image_bytes == 3072);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(dataset->labels[i], 0, 9);
        counts[dataset->labels[i]]++;
        repeats += i && dataset->labels[i] == dataset->labels[i - 1];
    }
    for (int label = 0; label < 10; label++)
        assert_int_equal(counts[label], count / 10);
    /* Mixed: a label is that of the image before about one time in ten. */
    assert_in_range(repeats, count / 12, count / 8);
    /* The same on every machine. */
    claret_sha256(dataset->images, count * 3072, hex);
    assert_string_equal(hex, images);
    claret_sha256(dataset->labels, count * sizeof(*dataset->labels), hex);
    assert_string_equal(hex, labels);
    assert_string_equal(claret_dataset_class_name(dataset, 0), "disc");
    assert_string_equal(claret_dataset_class_name(dataset, 9), "bar");
    claret_dataset_destroy(dataset);
}

static void test_shapes(void **state)
{
    (void)state;
    expect_shapes(CLARET_TRAIN, 10000, "c63f410a7d0a4c1c955712374e71a2fcb1bf62236f7884f56def344366511244",
                  "917479e099efb7eb6735df60e095c1f20a3b6455db175cdd6e0938159e910bdb");
    expect_shapes(CLARET_TEST, 2000, "656811705ce71256f12e61d5c28a507b11ee7950467da8a98f010c6efa93feb7",
                  "568e703ccc01a71e0aca0e184c95eb1ebe01c5c0c9fea8fa5575a585481bb086");
}

static void test_shapes_differ(void **state)
{
    struct claret_dataset *train = open_shapes(CLARET_TRAIN), *test = open_shapes(CLARET_TEST);
    const unsigned char *probe;

    (void)state;
    /* No test image is a training image; noise and colours make two equal ones impossible by chance. */
    for (size_t i = 0; i < test->count; i++) {
        probe = test->images + i * 3072;
        for (size_t j = 0; j < train->count; j++) {
            if (memcmp(probe, train->images + j * 3072, 3072) == 0)
                fail_msg("test image %zu is training image %zu", i, j);
        }
    }
    claret_dataset_destroy(train);
    claret_dataset_destroy(test);
}

/* ---- what a linear model makes of it ------------------------------------------------------------------- */

#define PIXELS 3072
#define CLASSES 10

static void logits_of(const float *weights /* (CLASSES, PIXELS + 1) */, const unsigned char *image,
                      float *input /* (PIXELS) */, float *logits /* (CLASSES) */)
{
    for (int i = 0; i < PIXELS; i++)
        input[i] = (float)image[i] / 127.5f - 1;
    for (int c = 0; c < CLASSES; c++) {
        const float *row = weights + c * (PIXELS + 1);
        float sums[8] = {0};
        for (int i = 0; i < PIXELS; i += 8) {
            for (int lane = 0; lane < 8; lane++)
                sums[lane] += row[i + lane] * input[i + lane];
        }
        logits[c] = row[PIXELS];
        for (int lane = 0; lane < 8; lane++)
            logits[c] += sums[lane];
    }
}

/* One step of logistic regression. */
static void learn(float *weights, const unsigned char *image, int32_t label, float rate)
{
    float input[PIXELS], logits[CLASSES], highest = -INFINITY, sum = 0;

    logits_of(weights, image, input, logits);
    for (int c = 0; c < CLASSES; c++)
        highest = logits[c] > highest ? logits[c] : highest;
    for (int c = 0; c < CLASSES; c++)
        sum += logits[c] = expf(logits[c] - highest);
    for (int c = 0; c < CLASSES; c++) {
        float slope = rate * (logits[c] / sum - (c == label));
        float *row = weights + c * (PIXELS + 1);
        for (int i = 0; i < PIXELS; i++)
            row[i] -= slope * input[i];
        row[PIXELS] -= slope;
    }
}

static void test_shapes_are_not_linear(void **state)
{
    struct claret_dataset *train = open_shapes(CLARET_TRAIN), *test = open_shapes(CLARET_TEST);
    float *weights = calloc(CLASSES * (PIXELS + 1), sizeof(*weights)), input[PIXELS], logits[CLASSES];
    size_t correct = 0;

    (void)state;
    for (int epoch = 0; epoch < 2; epoch++) {
        for (size_t i = 0; i < train->count; i++)
            learn(weights, train->images + i * PIXELS, train->labels[i], 0.0005f / (float)(1 + epoch));
    }
    for (size_t i = 0; i < test->count; i++) {
        int best = 0;
        logits_of(weights, test->images + i * PIXELS, input, logits);
        for (int c = 1; c < CLASSES; c++)
            best = logits[c] > logits[best] ? c : best;
        correct += best == test->labels[i];
    }
    print_message("linear model: %.1f%%\n", (double)correct * 100 / (double)test->count);
    /* It learns something, so it was trained; but under 60%. */
    assert_in_range(correct, test->count / 5, test->count * 6 / 10 - 1);
    free(weights);
    claret_dataset_destroy(train);
    claret_dataset_destroy(test);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void test_arrays(void **state)
{
    float images[2 * 5 * 1 * 2] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    int32_t labels[2] = {3, 1}, label;
    struct claret_dataset *dataset;
    const float *image;
    int shape[3];

    (void)state;
    assert_int_equal(claret_dataset_from_arrays(CLARET_F32, images, labels, 2, 5, 1, 2, 4, &dataset),
                     CLARET_OK);
    images[10] = -1;
    labels[1] = 0;
    image = claret_dataset_image(dataset, 1, &label);
    assert_true(image[0] == 10 && image[9] == 19 && label == 1);
    assert_non_null(claret_dataset_image(dataset, 0, NULL));
    assert_null(claret_dataset_image(dataset, 2, &label));
    claret_dataset_shape(dataset, shape);
    assert_true(shape[0] == 5 && shape[1] == 1 && shape[2] == 2);
    assert_int_equal(claret_dataset_classes(dataset), 4);
    assert_string_equal(claret_dataset_class_name(dataset, 3), "3");
    assert_string_equal(claret_dataset_class_name(dataset, 4), "");
    assert_string_equal(claret_dataset_class_name(dataset, -1), "");
    assert_int_equal(claret_dataset_set_normalisation(dataset, images, images), CLARET_INVALID);
    assert_true(scratch_says(claret_error(), "taken as they are"));
    claret_dataset_destroy(dataset);
    claret_dataset_destroy(NULL);
}

static void test_limit(void **state)
{
    unsigned char images[3] = {1, 2, 3};
    int32_t labels[3] = {0, 0, 0};
    struct claret_dataset *dataset;

    (void)state;
    assert_int_equal(claret_dataset_from_arrays(CLARET_U8, images, labels, 3, 1, 1, 1, 1, &dataset),
                     CLARET_OK);
    assert_int_equal(claret_dataset_limit(dataset, 2), CLARET_OK);
    assert_int_equal(claret_dataset_count(dataset), 2);
    assert_null(claret_dataset_image(dataset, 2, NULL));
    assert_int_equal(claret_dataset_limit(dataset, 0), CLARET_OK);
    assert_int_equal(claret_dataset_count(dataset), 3);
    assert_int_equal(claret_dataset_limit(dataset, 4), CLARET_OK);
    assert_int_equal(claret_dataset_count(dataset), 3);
    claret_dataset_destroy(dataset);
}

static void test_array_faults(void **state)
{
    unsigned char images[8] = {0};
    int32_t labels[2] = {0, 5};
    static const struct {
        size_t count;
        int element, channels, height, width, classes;
        const char *part;
    } bad[] = {
        {0, CLARET_U8, 1, 1, 1, 6, "at least one"},
        {2, 7, 1, 1, 1, 6, "element type 7"},
        {2, CLARET_U8, 0, 1, 1, 6, "0x1x1"},
        {2, CLARET_U8, 1, -1, 1, 6, "1x-1x1"},
        {2, CLARET_U8, 5, 1, 1, 6, "at most 4 channels"},
        {2, CLARET_U8, 1, 1, 1, 0, "0 classes"},
        {2, CLARET_U8, 1, 1, 1, 1 << 21, "classes"},
        {2, CLARET_U8, 1, 1, 1, 5, "image 1 has label 5, where 0 to 4 can be"},
        {2, CLARET_F32, INT32_MAX, INT32_MAX, INT32_MAX, 6, "more than can be addressed"},
    };
    struct claret_dataset *dataset = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(claret_dataset_from_arrays((enum claret_element)bad[i].element, images, labels,
                                                    bad[i].count, bad[i].channels, bad[i].height,
                                                    bad[i].width, bad[i].classes, &dataset),
                         CLARET_INVALID);
        assert_true(scratch_says(claret_error(), bad[i].part));
    }
    assert_int_equal(claret_dataset_from_arrays(CLARET_U8, NULL, labels, 2, 1, 1, 1, 6, &dataset),
                     CLARET_INVALID);
    labels[0] = -1;
    assert_int_equal(claret_dataset_from_arrays(CLARET_U8, images, labels, 2, 1, 1, 1, 6, &dataset),
                     CLARET_INVALID);
    assert_true(scratch_says(claret_error(), "image 0 has label -1"));
    assert_null(dataset);
}

/* ---- normalisation ------------------------------------------------------------------------------------- */

/* The digests are of PyTorch's: uint8.to(float32).div(255).sub_(mean).div_(std), little-endian. */
static void test_table(void **state)
{
    static const float mean[3] = {0.4914f, 0.4822f, 0.4465f}, std[3] = {0.2470f, 0.2435f, 0.2616f};
    unsigned char images[3] = {0};
    float table[3 * 256];
    int32_t label = 0;
    struct claret_dataset *dataset;
    char hex[65];

    (void)state;
    assert_int_equal(claret_dataset_from_arrays(CLARET_U8, images, &label, 1, 3, 1, 1, 1, &dataset),
                     CLARET_OK);
    claret_dataset_table(dataset, table);
    assert_true(table[0] == -1 && table[255] == 1 && table[256] == -1);
    claret_sha256(table, sizeof(table), hex);
    assert_string_equal(hex, "59e92db758d185f3e78b2d7a346580fc50ce7b0317d28f68f40ad10293501ab3");
    assert_int_equal(claret_dataset_set_normalisation(dataset, mean, std), CLARET_OK);
    claret_dataset_table(dataset, table);
    claret_sha256(table, sizeof(table), hex);
    assert_string_equal(hex, "9e58fd8280aea6af5045cfdd44d0f3d8fe5f24a3eff94131f585cde21b6c2508");
    claret_dataset_destroy(dataset);
}

static void test_normalisation_faults(void **state)
{
    static const float good[3] = {0.5f, 0.5f, 0.5f}, zero[3] = {1, 1, 0}, nan[3] = {1, NAN, 1},
                       infinite[3] = {INFINITY, 1, 1}, negative[3] = {1, 1, -1};
    static const float *const bad[][2] = {{good, zero},     {good, nan},      {nan, good},
                                          {infinite, good}, {good, infinite}, {good, negative}};
    unsigned char images[3] = {0};
    int32_t label = 0;
    struct claret_dataset *dataset;

    (void)state;
    assert_int_equal(claret_dataset_from_arrays(CLARET_U8, images, &label, 1, 3, 1, 1, 1, &dataset),
                     CLARET_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(claret_dataset_set_normalisation(dataset, bad[i][0], bad[i][1]), CLARET_INVALID);
        assert_true(scratch_says(claret_error(), "normalisation: channel"));
        assert_true(dataset->mean[0] == 0.5f && dataset->std[2] == 0.5f);
    }
    claret_dataset_destroy(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_shapes_differ),
        cmocka_unit_test(test_shapes_are_not_linear),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_array_faults),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_normalisation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
