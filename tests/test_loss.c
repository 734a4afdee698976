/* What the options say of the loss, the classes' weights, and that evaluated images have the loss that
 * training has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "op/batch.h"
#include "op_cases.h"
#include "train/loss.h"
#include "values.h"

#define CLASSES 3

static struct claret_options *options_of(const char *loss, const char *smoothing, const char *weights)
{
    struct claret_options *options = NULL;
    assert_int_equal(claret_options_create(&options), CLARET_OK);
    assert_int_equal(claret_options_set(options, "loss", loss), CLARET_OK);
    assert_int_equal(claret_options_set(options, "label-smoothing", smoothing), CLARET_OK);
    assert_int_equal(claret_options_set(options, "class-weights", weights), CLARET_OK);
    return options;
}

/* Six images: three of class 0, two of class 1, one of class 2; or without the last. */
static struct claret_dataset *set_of(size_t count)
{
    static const unsigned char images[6] = {0};
    static const int32_t labels[6] = {0, 1, 0, 1, 0, 2};
    struct claret_dataset *dataset = NULL;
    assert_int_equal(claret_dataset_from_arrays(CLARET_U8, images, labels, count, 1, 1, 1, CLASSES, &dataset),
                     CLARET_OK);
    return dataset;
}

static void refused(const char *loss, const char *smoothing, const char *weights, const char *says)
{
    struct claret_options *options = options_of(loss, smoothing, weights);
    claret_error_clear();
    assert_int_equal(claret_options_check(options), CLARET_INVALID);
    if (!strstr(claret_error(), says))
        fail_msg("%s %s %s: %s", loss, smoothing, weights, claret_error());
    claret_options_destroy(options);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("crossentropy", "0", "", "cross_entropy");
    refused("msee", "0", "", "did you mean 'mse'");
    refused("mse", "0.1", "", "label-smoothing");
    refused("bce", "0", "1,2,3", "class-weights");
    refused("cross_entropy", "0", "1,,3", "''");
    refused("cross_entropy", "0", "1,2,", "''");
    refused("cross_entropy", "0", "1,-2", "'-2'");
    refused("cross_entropy", "0", "1,nan", "'nan'");
    refused("cross_entropy", "0", "1,2e9", "'2e9'");
    refused("cross_entropy", "0", "balance", "balanced");
    refused("cross_entropy", "0", "0,0,0", "all of them are 0");
    struct claret_options *options = options_of("cross_entropy", "0", "");
    assert_int_equal(claret_options_set(options, "label-smoothing", "1.01"), CLARET_INVALID);
    assert_int_equal(claret_options_set(options, "label-smoothing", "-0.1"), CLARET_INVALID);
    claret_options_destroy(options);
}

/* Of what goes with the data alone. */
static void criterion_refused(const char *weights, size_t images, bool training, const char *says)
{
    struct claret_options *options = options_of("cross_entropy", "0", weights);
    struct claret_dataset *dataset = set_of(images);
    struct claret_criterion criterion;
    assert_int_equal(claret_options_check(options), CLARET_OK);
    claret_error_clear();
    assert_int_equal(claret_criterion_init(options, dataset, training, &criterion), CLARET_INVALID);
    if (!strstr(claret_error(), says))
        fail_msg("%s: %s", weights, claret_error());
    claret_criterion_finish(&criterion);
    claret_dataset_destroy(dataset);
    claret_options_destroy(options);
}

static void test_weights(void **state)
{
    (void)state;
    struct claret_options *options = options_of("cross_entropy", "0", "balanced");
    struct claret_dataset *dataset = set_of(6);
    struct claret_criterion criterion;
    assert_int_equal(claret_criterion_init(options, dataset, true, &criterion), CLARET_OK);
    const float want[CLASSES] = {6.f / 9, 1, 2}; /* images / (classes * the class's) */
    assert_memory_equal(criterion.weights, want, sizeof want);
    claret_criterion_finish(&criterion);
    claret_dataset_destroy(dataset);
    claret_options_destroy(options);
    criterion_refused("1,2", 6, true, "3 classes");
    criterion_refused("1,2,3,4", 6, true, "there are 4");
    criterion_refused("balanced", 6, false, "numbers");
    criterion_refused("balanced", 5, true, "no training image");
}

/* The parts of all images by the sum of their weights, against the mean of the reference's losses. */
static void compare(const char *loss, const char *smoothing, const char *weights)
{
    const struct claret_op_case row = {"evaluated", "1 1 5", "flatten; linear out_features=3", 6, true, {0}};
    struct claret_options *options = options_of(loss, smoothing, weights);
    struct claret_dataset *dataset = set_of(6);
    struct claret_criterion criterion;
    struct claret_op_case with_loss = row;
    struct claret_graph_options graph_options = {.training = true};
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_rng rng;
    double sum = 0, all = 0, mean = 0;
    assert_int_equal(claret_criterion_init(options, dataset, true, &criterion), CLARET_OK);
    with_loss.loss = criterion.loss;
    assert_int_equal(claret_op_case_graph(&with_loss, &graph_options, &spec, &graph), CLARET_OK);
    struct claret_values *values = claret_values_create(graph);
    assert_non_null(values);
    claret_rng_init(&rng, 3, CLARET_STREAM_SHAPES, 0);
    claret_values_random(values, graph->logits, &rng, 0);
    values->at[graph->step][CLARET_STEP_COUNT] = 6;
    for (int c = 0; criterion.weights && c < CLASSES; c++)
        values->at[graph->class_weights][c] = (double)criterion.weights[c];
    for (int n = 0; n < 6; n++) {
        float logits[CLASSES];
        double weight;
        for (int c = 0; c < CLASSES; c++)
            logits[c] = (float)(values->at[graph->logits][n * CLASSES + c] *= 4);
        values->at[graph->labels][n] = dataset->labels[n];
        sum += claret_criterion_part(&criterion, logits, dataset->labels[n], &weight);
        all += weight;
    }
    for (int i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].name, "loss") == 0)
            assert_true(claret_values_run(values, &graph->nodes[i]));
    for (int n = 0; n < 6; n++)
        mean += values->at[graph->losses][n] / 6;
    if (!(fabs(sum / all - mean) <= 1e-7 * mean) || !(mean > 0))
        fail_msg("%s %s %s: %.9g, in training %.9g", loss, smoothing, weights, sum / all, mean);
    claret_values_destroy(values);
    claret_graph_destroy(graph);
    claret_spec_destroy(spec);
    claret_criterion_finish(&criterion);
    claret_dataset_destroy(dataset);
    claret_options_destroy(options);
}

static void test_evaluated(void **state)
{
    (void)state;
    compare("cross_entropy", "0", "");
    compare("cross_entropy", "0.2", "");
    compare("cross_entropy", "0", "0.5,0,3");
    compare("cross_entropy", "0.1", "balanced");
    compare("mse", "0", "");
    compare("bce", "0", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_weights),
                                       cmocka_unit_test(test_evaluated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
