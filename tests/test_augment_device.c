/* Augmentation on a device: what the loader's threads make of the same images. */
#include "rt_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "data/augment.h"
#include "node_run.h"
#include "op/batch.h"
#include "spec/spec.h"

enum { BATCH = 5, SET = 9, HEIGHT = 11, WIDTH = 8, PLANE = HEIGHT * WIDTH, SLOT = 1, EPOCHS = 12, SEED = 3 };

struct device {
    struct claret_rt *rt;
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_values *values;
    struct claret_node_run run;
    struct claret_dataset *dataset;
    struct claret_stage_layout layout;
};

static void begin(struct device *device, const struct claret_augment *augment, int channels)
{
    const char *text = channels == 3 ? "input 3 11 8\nflatten\nlinear out_features=2\n"
                                     : "input 1 11 8\nflatten\nlinear out_features=2\n";
    const struct claret_graph_options options = {.batch = BATCH,
                                                 .training = true,
                                                 .resident = SET * channels * PLANE,
                                                 .augment = claret_augment_kinds(augment)};
    const float mean[3] = {0.1f, 0.5f, 0.8f}, std[3] = {1, 1, 1};
    struct claret_plan_options plan_options = {.guard = 128};
    unsigned char images[SET * 3 * PLANE];
    int32_t labels[SET] = {0};
    struct claret_rng rng;
    *device = (struct device){.rt = fixture_open(NULL, NULL)};
    claret_rng_init(&rng, 5, CLARET_STREAM_SHAPES, 0);
    for (int i = 0; i < SET * channels * PLANE; i++)
        images[i] = (unsigned char)claret_rng_below(&rng, 256);
    plan_options.device = claret_rt_device(device->rt);
    WORKS(claret_dataset_from_arrays(CLARET_U8, images, labels, SET, channels, HEIGHT, WIDTH, 2,
                                     &device->dataset));
    WORKS(claret_dataset_set_normalisation(device->dataset, mean, std));
    WORKS(claret_spec_parse(text, "augment", claret_op_schemas(), &device->spec));
    WORKS(claret_graph_create(device->spec, &options, &device->graph));
    WORKS(claret_node_run_create(device->rt, device->graph, &plan_options, &device->run));
    device->values = claret_values_create(device->graph);
    assert_non_null(device->values);
    claret_values_bytes(device->values->at[device->graph->data], images, (size_t)(SET * channels * PLANE));
    claret_stage_layout(BATCH, channels * PLANE, 1, &device->layout);
}

static void end(struct device *device)
{
    claret_node_run_finish(&device->run);
    claret_values_destroy(device->values);
    claret_graph_destroy(device->graph);
    claret_spec_destroy(device->spec);
    claret_dataset_destroy(device->dataset);
    claret_rt_close(device->rt);
}

/* Recipes of the images first, first + 2, … into the slot, and the node. */
static void run(struct device *device, const struct claret_augment *augment, uint32_t epoch, uint32_t count)
{
    const struct claret_stage_header header = {.count = count, .resident = CLARET_AUGMENTED};
    double *slot = device->values->at[device->graph->stage] + SLOT * device->layout.slot;
    struct claret_recipe recipe;
    char where[200];
    claret_values_bytes(slot, &header, sizeof header);
    for (uint32_t n = 0; n < count; n++) {
        claret_augment_draw(augment, device->dataset, SEED, epoch, (2 * n + epoch) % SET, HEIGHT, WIDTH,
                            &recipe);
        claret_values_bytes(slot + device->layout.images + n * sizeof recipe, &recipe, sizeof recipe);
    }
    device->values->at[device->graph->step][CLARET_STEP_SLOT] = SLOT;
    WORKS(claret_node_run_execute(&device->run, 0, device->values));
    if (claret_node_run_trespass(&device->run, 0, where))
        fail_msg("changed %s", where);
    claret_node_run_output(&device->run, device->graph->augmented, device->values,
                           device->values->at[device->graph->augmented]);
}

/* Values may be `off` from the host's, and 2% of them are. Returns how many images are no longer themselves.
 */
static int check(const struct claret_augment *augment, int channels, uint32_t count, int off)
{
    struct device device;
    unsigned char image[3 * PLANE];
    int size = channels * PLANE, differ = 0, changed = 0;
    begin(&device, augment, channels);
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        run(&device, augment, epoch, count);
        const double *got = device.values->at[device.graph->augmented];
        for (uint32_t n = 0; n < count; n++, got += size) {
            size_t index = (2 * n + epoch) % SET;
            WORKS(claret_augment_fetch(augment, device.dataset, SEED, epoch, index, image));
            changed += memcmp(image, device.dataset->images + index * (size_t)size, (size_t)size) != 0;
            for (int i = 0; i < size; i++) {
                if (!(got[i] >= image[i] - off && got[i] <= image[i] + off))
                    fail_msg("epoch %u, image %u, value %d is %g, not %d", epoch, n, i, got[i], image[i]);
                differ += got[i] != (double)image[i];
            }
        }
    }
    assert_true(differ <= 0.02 * EPOCHS * (int)count * size);
    end(&device);
    return changed;
}

static void exactly(struct claret_augment augment, int channels)
{
    assert_in_range(check(&augment, channels, BATCH, 0), EPOCHS, EPOCHS * BATCH);
    (void)check(&augment, channels, BATCH - 2, 0);
}

static void test_same_bytes(void **state)
{
    (void)state;
    exactly((struct claret_augment){.crop = 3}, 3);
    exactly((struct claret_augment){.crop = 7, .reflect = true, .flip = 0.5}, 3);
    exactly((struct claret_augment){.flip = 0.5}, 1);
    exactly((struct claret_augment){.rotation = 90}, 3);
    exactly((struct claret_augment){.erasing = 0.8}, 3);
    exactly((struct claret_augment){.jitter = {0.4}}, 3);
    exactly((struct claret_augment){.jitter = {0, 0.4}}, 3);
    const struct claret_augment most = {
        .crop = 2, .flip = 0.5, .rotation = 20, .jitter = {0.4, 0.4, 0.4}, .erasing = 0.5};
    exactly(most, 1);
    exactly(most, 3);
}

/* In float and not in double: a value on the edge goes the other way. */
static void test_near_bytes(void **state)
{
    (void)state;
    const struct claret_augment resize = {.resized_crop = 0.2}, hue = {.jitter = {0, 0, 0, 0.5}},
                                all = {.resized_crop = 0.2,
                                       .crop = 2,
                                       .reflect = true,
                                       .flip = 0.5,
                                       .rotation = 20,
                                       .jitter = {0.4, 0.4, 0.4, 0.1},
                                       .erasing = 0.5};
    assert_in_range(check(&resize, 3, BATCH, 1), EPOCHS, EPOCHS * BATCH);
    assert_in_range(check(&resize, 1, BATCH, 1), EPOCHS, EPOCHS * BATCH);
    assert_in_range(check(&hue, 3, BATCH, 1), EPOCHS, EPOCHS * BATCH);
    assert_in_range(check(&all, 3, BATCH, 4), EPOCHS, EPOCHS * BATCH);
    (void)check(&all, 1, BATCH, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_near_bytes),
    };
    int status = fixture_begin();
    if (status)
        return status;
    status = cmocka_run_group_tests(tests, NULL, fixture_no_objects);
    fixture_end();
    return status;
}
