/* The two ends of a step on a device: batches out of the stage's slots, the loss window and the step's words.
 */
#include "rt_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node_run.h"
#include "op/batch.h"
#include "spec/spec.h"

enum { BATCH = 5, CHANNELS = 3, HEIGHT = 7, WIDTH = 9, PLANE = HEIGHT * WIDTH, IMAGE = CHANNELS * PLANE };

struct ends {
    struct claret_rt *rt;
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_values *values;
    struct claret_node_run run;
    double *step; /* the words in `values` */
};

/* `resident`: bytes of a data set on the device. */
static void begin_resident(struct ends *ends, bool training, bool f32_images, int64_t resident)
{
    static const char text[] = "input 3 7 9\nflatten\nlinear out_features=2\n";
    const struct claret_graph_options options = {
        .batch = BATCH, .training = training, .f32_images = f32_images, .resident = resident};
    struct claret_plan_options plan_options = {.guard = 128};
    *ends = (struct ends){.rt = fixture_open(NULL, NULL)};
    plan_options.device = claret_rt_device(ends->rt);
    WORKS(claret_spec_parse(text, "batch", claret_op_schemas(), &ends->spec));
    WORKS(claret_graph_create(ends->spec, &options, &ends->graph));
    WORKS(claret_node_run_create(ends->rt, ends->graph, &plan_options, &ends->run));
    ends->values = claret_values_create(ends->graph);
    assert_non_null(ends->values);
    ends->step = ends->values->at[ends->graph->step];
}

static void begin(struct ends *ends, bool training, bool f32_images)
{
    begin_resident(ends, training, f32_images, 0);
}

static void end(struct ends *ends)
{
    claret_node_run_finish(&ends->run);
    claret_values_destroy(ends->values);
    claret_graph_destroy(ends->graph);
    claret_spec_destroy(ends->spec);
    claret_rt_close(ends->rt);
}

/* Runs batch_load or the last node (step_end) and takes over what it left in the step's words. */
static void run(struct ends *ends, bool last)
{
    int node = last ? ends->graph->node_count - 1 : ends->graph->load;
    char where[200];
    WORKS(claret_node_run_execute(&ends->run, node, ends->values));
    claret_node_run_output(&ends->run, ends->graph->step, ends->values, ends->step);
    if (claret_node_run_trespass(&ends->run, node, where))
        fail_msg("changed %s", where);
}

static int slots_of(bool f32_images)
{
    struct claret_stage_layout layout;
    claret_stage_layout(BATCH, IMAGE, f32_images ? 4 : 1, &layout);
    return layout.slots;
}

/* ---- batch_load ---- */

/* Fills all slots with `count` images each: pixel i of image n in slot s is (7 n + i + 100 s) % 256, as a
 * byte or as that number of halves; its label is n + s. */
static void fill_stage(struct ends *ends, bool f32_images, const struct claret_stage_header *header)
{
    double *stage = ends->values->at[ends->graph->stage];
    size_t element = f32_images ? 4 : 1;
    struct claret_stage_layout layout;
    claret_stage_layout(BATCH, IMAGE, element, &layout);
    assert_true(ends->values->count[ends->graph->stage] == (int64_t)layout.slot * layout.slots);
    for (int s = 0; s < layout.slots; s++, stage += layout.slot) {
        for (size_t i = 0; i < layout.slot; i++)
            stage[i] = 0xEE;
        claret_values_bytes(stage, header, sizeof *header);
        for (int32_t n = 0; n < (int32_t)header->count; n++) {
            int32_t label = n + s;
            claret_values_bytes(stage + layout.labels + (size_t)n * 4, &label, 4);
            for (int i = 0; i < IMAGE; i++) {
                unsigned char byte = (unsigned char)((7 * n + i + 100 * s) % 256);
                float number = (float)byte / 2;
                claret_values_bytes(stage + layout.images + ((size_t)n * IMAGE + (size_t)i) * element,
                                    f32_images ? (const void *)&number : &byte, element);
            }
        }
    }
}

static void check_load(struct ends *ends, bool f32_images, int slot, int count)
{
    double *x = ends->values->at[ends->graph->input], *labels = ends->values->at[ends->graph->labels];
    claret_node_run_output(&ends->run, ends->graph->input, ends->values, x);
    claret_node_run_output(&ends->run, ends->graph->labels, ends->values, labels);
    for (int n = 0; n < BATCH; n++) {
        assert_true(labels[n] == (n < count ? n + slot : 0));
        for (int i = 0; i < IMAGE; i++) {
            int byte = (7 * n + i + 100 * slot) % 256;
            double want = f32_images
                              ? byte / 2.0
                              : ends->values->at[ends->graph->table][i / PLANE * CLARET_TABLE_ROW + byte];
            if (!(x[n * IMAGE + i] == (n < count ? want : 0)))
                fail_msg("image %d, value %d is %g", n, i, x[n * IMAGE + i]);
        }
    }
}

/* Any values where `any`, which are looked up; else those of mean and std, which kernels may compute. */
static void fill_table(struct ends *ends, bool any, struct claret_rng *rng)
{
    static const float mean[CHANNELS] = {0.5f, 0.4914f, 0.0f}, std[CHANNELS] = {0.5f, 0.247f, 1.0f};
    double *to = ends->values->at[ends->graph->table];
    float values[CHANNELS * 256], table[CHANNELS * CLARET_TABLE_ROW];
    for (int i = 0; i < CHANNELS * 256; i++)
        values[i] = any ? claret_rng_float(rng)
                        : claret_normalise(i % 256, mean[i / 256], std[i / 256], 1 / std[i / 256]);
    claret_stage_table(values, mean, std, CHANNELS, table);
    for (int i = 0; i < CHANNELS * CLARET_TABLE_ROW; i++)
        to[i] = (double)table[i];
    for (int c = 0; c < CHANNELS; c++)
        assert_true(table[c * CLARET_TABLE_ROW + 259] == !any);
}

static void load(bool f32_images, bool any, uint32_t count)
{
    struct ends ends;
    struct claret_rng rng;
    const struct claret_stage_header header = {.count = count, .lr = 0.1f, .first = 1};
    begin(&ends, true, f32_images);
    claret_rng_init(&rng, 3, CLARET_STREAM_SHAPES, 0);
    if (!f32_images)
        fill_table(&ends, any, &rng);
    fill_stage(&ends, f32_images, &header);
    for (int slot = 0; slot < slots_of(f32_images); slot++) {
        ends.step[CLARET_STEP_SLOT] = slot;
        ends.step[CLARET_STEP_LOSS_SUM] = 2.5;
        ends.step[CLARET_STEP_LOSS_COUNT] = 3;
        run(&ends, false);
        check_load(&ends, f32_images, slot, (int)count);
        assert_true(ends.step[CLARET_STEP_COUNT] == count && ends.step[CLARET_STEP_FIRST] == 1);
        assert_true(ends.step[CLARET_STEP_LR] == (double)0.1f && ends.step[CLARET_STEP_SLOT] == slot);
        assert_true(ends.step[CLARET_STEP_LOSS_SUM] == 2.5 && ends.step[CLARET_STEP_LOSS_COUNT] == 3);
    }
    end(&ends);
}

static void test_load(void **state)
{
    (void)state;
    load(false, true, BATCH);
    load(false, false, BATCH);
    load(true, true, BATCH);
    load(true, false, BATCH);
}

/* A short last batch: the rows behind it are zero whatever lay in the slot. */
static void test_load_short(void **state)
{
    (void)state;
    load(false, true, 1);
    load(false, false, 1);
    load(true, true, BATCH - 1);
}

/* The slot has numbers of images, which lie in the data set; with the word of its header 0 it has images. */
static void test_load_resident(void **state)
{
    (void)state;
    enum { SET = 9 };
    struct ends ends;
    struct claret_rng rng;
    struct claret_stage_header header = {.count = BATCH - 1, .lr = 0.1f, .resident = 1};
    struct claret_stage_layout layout;
    claret_stage_layout(BATCH, IMAGE, 1, &layout);
    begin_resident(&ends, true, false, SET * IMAGE);
    claret_rng_init(&rng, 3, CLARET_STREAM_SHAPES, 0);
    fill_table(&ends, true, &rng);
    double *data = ends.values->at[ends.graph->data], *x = ends.values->at[ends.graph->input];
    const double *table = ends.values->at[ends.graph->table];
    for (int i = 0; i < SET * IMAGE; i++)
        data[i] = claret_rng_below(&rng, 256);
    fill_stage(&ends, false, &header);
    for (int slot = 0; slot < layout.slots; slot++)
        for (uint32_t n = 0; n + 1 < BATCH; n++) {
            uint32_t number = (2 * n + (uint32_t)slot) % SET;
            claret_values_bytes(ends.values->at[ends.graph->stage] + (size_t)slot * layout.slot +
                                    layout.images + n * 4,
                                &number, 4);
        }
    for (int slot = 0; slot < layout.slots; slot++) {
        ends.step[CLARET_STEP_SLOT] = slot;
        run(&ends, false);
        claret_node_run_output(&ends.run, ends.graph->input, ends.values, x);
        for (int n = 0; n < BATCH; n++)
            for (int i = 0; i < IMAGE; i++) {
                double byte = data[(2 * n + slot) % SET * IMAGE + i];
                double want = n + 1 < BATCH ? table[i / PLANE * CLARET_TABLE_ROW + (int)byte] : 0;
                if (!(x[n * IMAGE + i] == want))
                    fail_msg("slot %d, image %d, value %d is %g, not %g", slot, n, i, x[n * IMAGE + i], want);
            }
    }
    header.resident = 0;
    fill_stage(&ends, false, &header);
    ends.step[CLARET_STEP_SLOT] = 1;
    run(&ends, false);
    check_load(&ends, false, 1, BATCH - 1);
    end(&ends);
}

static void test_reset(void **state)
{
    (void)state;
    struct ends ends;
    const struct claret_stage_header header = {.count = 2, .lr = 0.5f, .reset_loss = 1};
    begin(&ends, true, false);
    fill_stage(&ends, false, &header);
    ends.step[CLARET_STEP_FIRST] = 1;
    ends.step[CLARET_STEP_LOSS_SUM] = ends.step[CLARET_STEP_LOSS_LOW] = 2.5;
    ends.step[CLARET_STEP_LOSS_COUNT] = 3;
    ends.step[CLARET_STEP_NUMBER] = 9;
    run(&ends, false);
    assert_true(ends.step[CLARET_STEP_LOSS_SUM] == 0 && ends.step[CLARET_STEP_LOSS_LOW] == 0);
    assert_true(ends.step[CLARET_STEP_LOSS_COUNT] == 0 && ends.step[CLARET_STEP_FIRST] == 0);
    assert_true(ends.step[CLARET_STEP_NUMBER] == 9);
    end(&ends);
}

/* ---- step_end ---- */

static void set_losses(struct ends *ends, const double loss[BATCH])
{
    memcpy(ends->values->at[ends->graph->losses], loss, BATCH * sizeof *loss);
}

static void test_window(void **state)
{
    (void)state;
    struct ends ends;
    begin(&ends, true, false);
    ends.step[CLARET_STEP_COUNT] = 4; /* the fifth loss is not this step's */
    set_losses(&ends, (double[]){1, 2, 3, 4, 100});
    const int slots = slots_of(false);
    ends.step[CLARET_STEP_SLOT] = slots - 2; /* they go round */
    for (int i = 1; i <= 3; i++) {
        run(&ends, true);
        assert_true(ends.step[CLARET_STEP_LOSS] == 2.5 && ends.step[CLARET_STEP_LOSS_SUM] == 2.5 * i);
        assert_true(ends.step[CLARET_STEP_LOSS_COUNT] == i && ends.step[CLARET_STEP_NUMBER] == i);
        assert_true(ends.step[CLARET_STEP_SLOT] == (slots - 2 + i) % slots);
        assert_true(ends.step[CLARET_STEP_BAD] == 0);
    }
    end(&ends);
}

/* A window so long that float would lose each further loss whole. */
static void test_long_window(void **state)
{
    (void)state;
    struct ends ends;
    begin(&ends, true, false);
    ends.step[CLARET_STEP_COUNT] = 1;
    ends.step[CLARET_STEP_LOSS_SUM] = 16777216;
    set_losses(&ends, (double[]){0.5, 0, 0, 0, 0});
    for (int i = 1; i <= 20; i++) {
        run(&ends, true);
        double sum = ends.step[CLARET_STEP_LOSS_SUM] - ends.step[CLARET_STEP_LOSS_LOW];
        if (!(fabs(sum - (16777216 + 0.5 * i)) <= 1e-3))
            fail_msg("after %d steps the sum is %.9g", i, sum);
    }
    end(&ends);
}

/* The first step whose loss is not finite is kept, whatever comes after it. */
static void test_bad_step(void **state)
{
    (void)state;
    struct ends ends;
    begin(&ends, true, false);
    ends.step[CLARET_STEP_COUNT] = BATCH;
    set_losses(&ends, (double[]){1, 1, 1, 1, 1});
    run(&ends, true);
    assert_true(ends.step[CLARET_STEP_BAD] == 0);
    set_losses(&ends, (double[]){1, INFINITY, 1, 1, 1});
    run(&ends, true);
    assert_true(ends.step[CLARET_STEP_BAD] == 2);
    set_losses(&ends, (double[]){1, 1, 1, 1, NAN});
    run(&ends, true);
    assert_true(ends.step[CLARET_STEP_BAD] == 2 && isnan(ends.step[CLARET_STEP_LOSS]));
    end(&ends);
}

static void test_evaluation(void **state)
{
    (void)state;
    struct ends ends;
    begin(&ends, false, false);
    ends.step[CLARET_STEP_COUNT] = 2;
    ends.step[CLARET_STEP_SLOT] = slots_of(false) - 2;
    run(&ends, true);
    assert_true(ends.step[CLARET_STEP_SLOT] == slots_of(false) - 1 && ends.step[CLARET_STEP_NUMBER] == 0);
    run(&ends, true);
    assert_true(ends.step[CLARET_STEP_SLOT] == 0 && ends.step[CLARET_STEP_LOSS_COUNT] == 0);
    end(&ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),       cmocka_unit_test(test_load_resident),
        cmocka_unit_test(test_load_short), cmocka_unit_test(test_reset),
        cmocka_unit_test(test_window),     cmocka_unit_test(test_long_window),
        cmocka_unit_test(test_bad_step),   cmocka_unit_test(test_evaluation),
    };
    int status = fixture_begin();
    if (status)
        return status;
    status = cmocka_run_group_tests(tests, NULL, fixture_no_objects);
    fixture_end();
    return status;
}
