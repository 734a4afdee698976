/* Repeats PyTorch's trainings of golden/ step by step.
 *
 *     test_golden [NAME [STEPS [DEVICE]]]
 *
 * With no arguments all goldens run whole on the default device; the build names
 * their folder. With fewer STEPS than the golden has only the losses are compared. Exit code 77: there
 * is no device to run on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <claret/claret.h>

#include "scratch.h"
#include "train/engine.h"
#include "train/weights.h"

static const char *device_selector = "";
static long step_limit; /* 0: all of them */

struct golden {
    char path[512]; /* of the .safetensors file */
    json_t *settings;
    int shape[3], classes; /* channels, height, width */
    size_t count, steps, batch;
    uint8_t *images; /* (count, C, H, W) */
    int32_t *labels; /* (count) */
    float *losses;   /* (steps) */
    struct claret_network *network;
    struct claret_dataset *dataset;
    struct claret_session *session;
};

static void check(enum claret_status status)
{
    if (status != CLARET_OK)
        fail_msg("%s: %s", claret_status_name(status), claret_error());
}

static double number(const struct golden *golden, const char *key)
{
    const json_t *value = json_object_get(golden->settings, key);

    if (!json_is_number(value))
        fail_msg("%s: no number %s in its .json", golden->path, key);
    return json_number_value(value);
}

/* The tensor's values; it must have `expected` of them. */
static float *tensor(const struct golden *golden, const char *name, size_t expected)
{
    float *values = NULL;
    size_t count = 0;

    check(claret_weights_read(golden->path, name, &values, &count));
    if (count != expected)
        fail_msg("%s: %s has %zu elements, not %zu", golden->path, name, count, expected);
    return values;
}

static void read_arrays(struct golden *golden)
{
    size_t image = (size_t)golden->shape[0] * (size_t)golden->shape[1] * (size_t)golden->shape[2];
    float *values = tensor(golden, "images", golden->count * image);

    golden->images = malloc(golden->count * image);
    golden->labels = malloc(golden->count * sizeof *golden->labels);
    assert_non_null(golden->images);
    assert_non_null(golden->labels);
    for (size_t i = 0; i < golden->count * image; i++)
        golden->images[i] = (uint8_t)values[i];
    free(values);
    values = tensor(golden, "labels", golden->count);
    for (size_t i = 0; i < golden->count; i++)
        golden->labels[i] = (int32_t)values[i];
    free(values);
    golden->losses = tensor(golden, "losses", golden->steps);
}

/* The options that stand in the golden's settings, by the names of PyTorch's arguments. */
static void set_options(struct claret_options *options, const struct golden *golden)
{
    static const struct {
        const char *option, *key;
    } names[] = {{"batch-size", "batch"},
                 {"optimizer", "optimizer"},
                 {"lr", "lr"},
                 {"momentum", "momentum"},
                 {"weight-decay", "weight_decay"},
                 {"dampening", "dampening"},
                 {"nesterov", "nesterov"},
                 {"beta1", "beta1"},
                 {"beta2", "beta2"},
                 {"eps", "eps"},
                 {"alpha", "alpha"},
                 {"centered", "centered"},
                 {"freeze", "freeze"},
                 {"lr-for", "lr_for"},
                 {"no-decay-norm-bias", "no_decay_norm_bias"},
                 {"ema", "ema"},
                 {"accumulate", "accumulate"},
                 {"clip-norm", "clip_norm"},
                 {"clip-value", "clip_value"},
                 {"loss", "loss"},
                 {"label-smoothing", "label_smoothing"},
                 {"class-weights", "class_weights"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *value = json_object_get(golden->settings, names[i].key);
        char text[128] = "";
        if (!value)
            continue;
        for (size_t j = 0; j < json_array_size(value); j++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.9g", j ? "," : "",
                     json_number_value(json_array_get(value, j)));
        if (json_is_number(value))
            snprintf(text, sizeof text, "%.9g", json_number_value(value));
        else if (!json_is_array(value))
            snprintf(text, sizeof text, "%s",
                     json_is_string(value) ? json_string_value(value)
                     : json_is_true(value) ? "true"
                                           : "false");
        check(claret_options_set(options, names[i].option, text));
    }
}

static void open_session(struct golden *golden, const char *name)
{
    struct claret_options *options;
    char path[512];

    snprintf(path, sizeof path, "%s/%s.net", CLARET_GOLDEN_DIR, name);
    check(claret_network_load(path, &golden->network));
    check(claret_dataset_from_arrays(CLARET_U8, golden->images, golden->labels, golden->count,
                                     golden->shape[0], golden->shape[1], golden->shape[2], golden->classes,
                                     &golden->dataset));
    check(claret_options_create(&options));
    set_options(options, golden);
    check(claret_options_set(options, "device", device_selector));
    check(claret_session_create(golden->network, options, golden->dataset, 1, &golden->session));
    claret_options_destroy(options);
}

static void open_golden(struct golden *golden, const char *name)
{
    json_error_t error;
    const json_t *shape;
    char path[512];

    memset(golden, 0, sizeof *golden);
    snprintf(golden->path, sizeof golden->path, "%s/%s.safetensors", CLARET_GOLDEN_DIR, name);
    snprintf(path, sizeof path, "%s/%s.json", CLARET_GOLDEN_DIR, name);
    golden->settings = json_load_file(path, 0, &error);
    if (!golden->settings)
        fail_msg("%s: %s", path, error.text);
    shape = json_object_get(golden->settings, "shape");
    for (size_t i = 0; i < 3; i++)
        golden->shape[i] = (int)json_integer_value(json_array_get(shape, i));
    golden->classes = (int)number(golden, "classes");
    golden->count = (size_t)number(golden, "images");
    golden->steps = (size_t)number(golden, "steps");
    golden->batch = (size_t)number(golden, "batch");
    read_arrays(golden);
    open_session(golden, name);
}

static void close_golden(struct golden *golden)
{
    claret_session_destroy(golden->session);
    claret_dataset_destroy(golden->dataset);
    claret_network_destroy(golden->network);
    json_decref(golden->settings);
    free(golden->images);
    free(golden->labels);
    free(golden->losses);
}

/* Elements of parameter `index`; *name gets "init.NAME" or "final.NAME". */
static size_t parameter(const struct golden *golden, size_t index, const char *prefix, char name[128])
{
    size_t shape[4];
    int rank;

    snprintf(name, 128, "%s.%s", prefix, claret_session_parameter_name(golden->session, index));
    return claret_session_parameter_shape(golden->session, index, shape, &rank);
}

static void write_initial(struct golden *golden)
{
    char name[128];

    for (size_t i = 0; i < claret_session_parameters(golden->session); i++) {
        size_t count = parameter(golden, i, "init", name);
        float *values = tensor(golden, name, count);

        check(claret_session_write(golden->session, claret_session_parameter_name(golden->session, i), values,
                                   count));
        free(values);
    }
}

/* The largest relative error of a loss, and at which step; comparisons are so written that NaN fails. */
static void compare_losses(struct golden *golden, size_t steps)
{
    size_t image = (size_t)golden->shape[0] * (size_t)golden->shape[1] * (size_t)golden->shape[2];
    double limit = number(golden, "loss_limit"), worst = 0;
    size_t at = 0;

    for (size_t step = 0; step < steps; step++) {
        size_t count = golden->count - at < golden->batch ? golden->count - at : golden->batch;
        double error;
        float loss;

        check(claret_session_step(golden->session, golden->images + at * image, golden->labels + at,
                                  (int)count, &loss));
        error = fabs((double)loss - golden->losses[step]) / fabs(golden->losses[step]);
        if (!(error <= limit))
            fail_msg("step %zu: loss %.9g, PyTorch's is %.9g: off by %.1e, allowed %.1e", step + 1, loss,
                     golden->losses[step], error, limit);
        worst = error > worst ? error : worst;
        at = at + count == golden->count ? 0 : at + count;
    }
    print_message("%zu steps: losses within %.1e relative\n", steps, worst);
}

static void compare_final(struct golden *golden)
{
    double limit = number(golden, "weight_limit"), worst = 0;
    char name[128];

    for (size_t i = 0; i < claret_session_parameters(golden->session); i++) {
        size_t count = parameter(golden, i, "final", name);
        float *expected = tensor(golden, name, count), *values = malloc(count * sizeof *values);

        assert_non_null(values);
        check(claret_session_read(golden->session, claret_session_parameter_name(golden->session, i), values,
                                  count));
        for (size_t j = 0; j < count; j++) {
            double error = fabs((double)values[j] - expected[j]);

            if (!(error <= limit))
                fail_msg("%s[%zu]: %.9g, PyTorch's is %.9g: off by %.1e, allowed %.1e", name, j, values[j],
                         expected[j], error, limit);
            worst = error > worst ? error : worst;
        }
        free(values);
        free(expected);
    }
    print_message("final weights within %.1e\n", worst);
}

/* What is saved is the average of the weights. */
static void compare_average(struct golden *golden)
{
    double limit = number(golden, "weight_limit"), worst = 0;
    const char *path = scratch("average");
    char name[128];

    check(claret_session_save(golden->session, path, NULL));
    for (size_t i = 0; i < claret_session_parameters(golden->session); i++) {
        size_t count = parameter(golden, i, "ema", name), saved;
        float *expected = tensor(golden, name, count), *values;

        check(claret_weights_read(path, name + 4, &values, &saved));
        assert_true(saved == count);
        for (size_t j = 0; j < count; j++) {
            double error = fabs((double)values[j] - expected[j]);

            if (!(error <= limit))
                fail_msg("%s[%zu]: %.9g, PyTorch's is %.9g", name, j, values[j], expected[j]);
            worst = error > worst ? error : worst;
        }
        free(values);
        free(expected);
    }
    print_message("their average within %.1e\n", worst);
}

static void run_golden(const char *name)
{
    struct golden golden;
    size_t steps;

    open_golden(&golden, name);
    steps = step_limit && (size_t)step_limit < golden.steps ? (size_t)step_limit : golden.steps;
    write_initial(&golden);
    compare_losses(&golden, steps);
    if (steps == golden.steps && json_object_get(golden.settings, "ema"))
        compare_average(&golden); /* and leaves the weights as they are */
    if (steps == golden.steps)
        compare_final(&golden);
    close_golden(&golden);
    assert_int_equal(claret_live_objects(), 0);
}

static void simplecnn(void **state)
{
    (void)state;
    run_golden("simplecnn");
}

/* Stride, padding, dilation, no bias, weight decay, Nesterov, short last batch. */
static void nesterov(void **state)
{
    (void)state;
    run_golden("nesterov");
}

/* By the kernels for GPUs, whatever the device; too slow as a whole where that is none. */
static void run_tiles(const char *name, long steps)
{
    long limit = step_limit;

    step_limit = step_limit && step_limit < steps ? step_limit : steps;
    claret_engine_class = CLARET_CLASS_GPU;
    run_golden(name);
    claret_engine_class = -1;
    step_limit = limit;
}

static void simplecnn_tiles(void **state)
{
    (void)state;
    run_tiles("simplecnn", 100);
}

static void nesterov_tiles(void **state)
{
    (void)state;
    run_tiles("nesterov", 100);
}

/* The same with dampening. */
static void dampening(void **state)
{
    (void)state;
    run_golden("dampening");
}

/* The other optimizers, each with every argument somewhere. */
static void adam(void **state)
{
    (void)state;
    run_golden("adam");
}

static void adamw(void **state)
{
    (void)state;
    run_golden("adamw");
}

static void rmsprop(void **state)
{
    (void)state;
    run_golden("rmsprop");
}

/* Batch norm, whose statistics go on where it is frozen. */
static void frozen(void **state)
{
    (void)state;
    run_golden("frozen");
    run_tiles("frozen", 25);
}

static void clip_norm(void **state)
{
    (void)state;
    run_golden("clip_norm");
}

static void clip_value(void **state)
{
    (void)state;
    run_golden("clip_value");
}

static void accumulate(void **state)
{
    (void)state;
    run_golden("accumulate");
}

static void groups(void **state)
{
    (void)state;
    run_golden("groups");
    run_tiles("groups", 40);
}

static void everything(void **state)
{
    (void)state;
    run_golden("everything");
}

static void ema(void **state)
{
    (void)state;
    run_golden("ema");
}

/* Cross-entropy with smoothed labels and weighted classes; the other losses. */
static void smoothing(void **state)
{
    (void)state;
    run_golden("smoothing");
}

/* group_norm, layer_norm, conv_transpose2d, upsample by mode=bilinear. */
static void layers(void **state)
{
    (void)state;
    run_golden("layers");
}

static void layers_tiles(void **state)
{
    (void)state;
    run_tiles("layers", 40);
}

static void mse(void **state)
{
    (void)state;
    run_golden("mse");
}

static void bce(void **state)
{
    (void)state;
    run_golden("bce");
}

static void adamw_tiles(void **state)
{
    (void)state;
    run_tiles("adamw", 100);
}

static bool device_is_there(void)
{
    struct claret_devices *devices;
    bool usable = false;

    if (claret_devices_list(&devices) != CLARET_OK) {
        fprintf(stderr, "%s\n", claret_error());
        exit(1);
    }
    for (size_t i = 0; i < claret_devices_count(devices); i++)
        usable = usable || claret_devices_number(devices, i, CLARET_DEVICE_USABLE);
    claret_devices_destroy(devices);
    return usable;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplecnn),
        cmocka_unit_test(nesterov),
        cmocka_unit_test(dampening),
        cmocka_unit_test(simplecnn_tiles),
        cmocka_unit_test(nesterov_tiles),
        cmocka_unit_test(adam),
        cmocka_unit_test(adamw),
        cmocka_unit_test(rmsprop),
        cmocka_unit_test(adamw_tiles),
        cmocka_unit_test(smoothing),
        cmocka_unit_test(mse),
        cmocka_unit_test(layers),
        cmocka_unit_test(layers_tiles),
        cmocka_unit_test(bce),
        cmocka_unit_test(ema),
        cmocka_unit_test(groups),
        cmocka_unit_test(everything),
        cmocka_unit_test(accumulate),
        cmocka_unit_test(frozen),
        cmocka_unit_test(clip_norm),
        cmocka_unit_test(clip_value),
    };

    if (argc > 1) {
        size_t i = 0;

        while (i < sizeof tests / sizeof tests[0] && strcmp(tests[i].name, argv[1]) != 0)
            i++;
        if (i == sizeof tests / sizeof tests[0]) {
            fprintf(stderr, "no golden is called %s\n", argv[1]);
            return 2;
        }
        cmocka_set_test_filter(argv[1]);
    }
    if (argc > 2)
        step_limit = strtol(argv[2], NULL, 10);
    if (argc > 3)
        device_selector = argv[3];
    if (!device_is_there()) {
        fprintf(stderr, "SKIPPED: no usable OpenCL device\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
