/* The networks of the zoo against PyTorch: golden/zoo/NAME.json, made by golden/make_zoo.py, which says what
 * they hold.
 *
 *     test_zoo [--all | NAME...]
 *
 * With no arguments only a quick one; --all: all of them. Exit 0: all alike; 1: not; 77: no device. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <claret/claret.h>

#include "train/session.h"

#define SAMPLES 4
#define LOGIT_LIMIT 1e-4 /* of the largest logit */
#define NOTHING 1e-5     /* a gradient that should be 0: of a bias in front of a norm */
#define NORM_LIMIT 1e-3
#define LITTLE 1 /* losses below are compared as this one is */

static const char *const names[] = {"lenet5",   "resnet20",       "mobilenet_v2", "densenet", "resnet9",
                                    "vgg11_bn", "resnet18_cifar", "resnet18",     "resnet50", NULL};

struct zoo {
    const char *name;
    json_t *json;
    int shape[3], classes, batch;
    uint8_t *images; /* (2 * batch, C, H, W) */
    int32_t *labels; /* (2 * batch) */
    struct claret_network *network;
    struct claret_dataset *dataset;
    struct claret_session *session;
};

static int failures;

static void check(const struct zoo *zoo, enum claret_status status)
{
    if (status == CLARET_OK)
        return;
    printf("FAILED %s: %s\n", zoo->name, claret_error());
    exit(1);
}

static void *memory(size_t count, size_t size)
{
    void *result = calloc(count + 1, size);
    if (!result)
        exit(1);
    return result;
}

/* `got` within limit of `want`; false for NaN. */
static void compare(const struct zoo *zoo, const char *what, const char *of, double got, double want,
                    double limit, double *worst)
{
    double error = fabs(got - want) / limit;
    if (!(error <= 1)) {
        failures++;
        printf("FAILED %s: %s %s is %.7g, PyTorch's is %.7g, allowed %.1e\n", zoo->name, what, of, got, want,
               limit);
    }
    if (!(error <= *worst))
        *worst = error;
}

/* ---- the formula ---- */

static uint32_t seed_of(const char *name)
{
    uint32_t seed = 0x811c9dc5u;
    for (; *name; name++)
        seed = (seed ^ (unsigned char)*name) * 0x01000193u;
    return seed;
}

static uint32_t hashed(uint32_t seed, size_t at)
{
    uint32_t x = (uint32_t)at * 0x9e3779b9u + seed;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), of = strlen(end);
    return length >= of && strcmp(name + length - of, end) == 0;
}

static void write_all(const struct zoo *zoo)
{
    for (size_t i = 0; i < claret_session_parameters(zoo->session); i++) {
        const char *name = claret_session_parameter_name(zoo->session, i);
        size_t shape[4], count;
        int rank;
        count = claret_session_parameter_shape(zoo->session, i, shape, &rank);
        if (ends_with(name, "num_batches_tracked"))
            continue;
        float *values = memory(count, sizeof *values);
        uint32_t seed = seed_of(name);
        double spread = rank > 1 ? sqrt(6.0 / (double)(count / shape[0])) : 0.075, about = rank > 1 ? 0 : 0.3;
        if (ends_with(name, "running_var")) {
            spread = 0.25;
            about = 1;
        } else if (ends_with(name, "running_mean") || ends_with(name, "bias")) {
            spread = 0.1;
            about = 0;
        }
        for (size_t j = 0; j < count; j++)
            values[j] = (float)(about + spread * ((double)(hashed(seed, j) >> 8) * 0x1p-23 - 1));
        check(zoo, claret_session_write(zoo->session, name, values, count));
        free(values);
    }
}

/* ---- a network ---- */

/* Its text, where dropout lets everything through. */
static void load(struct zoo *zoo)
{
    char path[512], text[8192] = "";
    snprintf(path, sizeof path, "%s/../../models/%s.net", CLARET_GOLDEN_DIR, zoo->name);
    FILE *file = fopen(path, "r");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0) {
        printf("FAILED %s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    char *dropout = strstr(text, "dropout p=0.2");
    if (dropout)
        memcpy(dropout, "dropout p=0.0", strlen("dropout p=0.0"));
    check(zoo, claret_network_parse(text, zoo->name, &zoo->network));
    claret_network_shape(zoo->network, zoo->shape, &zoo->classes);
}

static void open_zoo(struct zoo *zoo)
{
    char path[512], batch[16];
    json_error_t error;
    struct claret_options *options;
    snprintf(path, sizeof path, "%s/zoo/%s.json", CLARET_GOLDEN_DIR, zoo->name);
    zoo->json = json_load_file(path, 0, &error);
    if (!zoo->json) {
        printf("FAILED %s: %s\n", path, error.text);
        exit(1);
    }
    zoo->batch = (int)json_integer_value(json_object_get(zoo->json, "batch"));
    load(zoo);
    size_t count = 2 * (size_t)zoo->batch, image = (size_t)(zoo->shape[0] * zoo->shape[1] * zoo->shape[2]);
    zoo->images = memory(count * image, 1);
    zoo->labels = memory(count, sizeof *zoo->labels);
    for (size_t i = 0; i < count * image; i++)
        zoo->images[i] = (uint8_t)(hashed(seed_of("images"), i) >> 24);
    for (size_t i = 0; i < count; i++)
        zoo->labels[i] = (int32_t)(hashed(seed_of("labels"), i) % (uint32_t)zoo->classes);
    check(zoo, claret_dataset_from_arrays(CLARET_U8, zoo->images, zoo->labels, count, zoo->shape[0],
                                          zoo->shape[1], zoo->shape[2], zoo->classes, &zoo->dataset));
    check(zoo, claret_options_create(&options));
    snprintf(batch, sizeof batch, "%d", zoo->batch);
    check(zoo, claret_options_set(options, "batch-size", batch));
    check(zoo, claret_options_set(options, "momentum", "0"));
    check(zoo, claret_session_create(zoo->network, options, zoo->dataset, 1, &zoo->session));
    claret_options_destroy(options);
}

static void close_zoo(struct zoo *zoo)
{
    claret_session_destroy(zoo->session);
    claret_dataset_destroy(zoo->dataset);
    claret_network_destroy(zoo->network);
    json_decref(zoo->json);
    free(zoo->images);
    free(zoo->labels);
}

static float step(const struct zoo *zoo, int number, double lr)
{
    size_t image = (size_t)(zoo->shape[0] * zoo->shape[1] * zoo->shape[2]),
           first = (size_t)(number % 2 * zoo->batch);
    float loss;
    zoo->session->options->lr = lr;
    check(zoo, claret_session_step(zoo->session, zoo->images + first * image, zoo->labels + first, zoo->batch,
                                   &loss));
    return loss;
}

static double *read(const struct zoo *zoo, size_t index, size_t *count)
{
    size_t shape[4];
    int rank;
    *count = claret_session_parameter_shape(zoo->session, index, shape, &rank);
    float *values = memory(*count, sizeof *values);
    double *result = memory(*count, sizeof *result);
    check(zoo, claret_session_read(zoo->session, claret_session_parameter_name(zoo->session, index), values,
                                   *count));
    for (size_t i = 0; i < *count; i++)
        result[i] = (double)values[i];
    free(values);
    return result;
}

/* ---- what is compared ---- */

/* The norm and the samples of `values` with those of the list from `first` on. */
static void compare_samples(const struct zoo *zoo, const char *what, const char *name, const json_t *list,
                            size_t first, const double *values, size_t count, double limit, double *worst)
{
    double norm = 0;
    for (size_t i = 0; i < count; i++)
        norm += values[i] * values[i];
    double want = json_number_value(json_array_get(list, first));
    compare(zoo, what, name, sqrt(norm / (double)count), want, want * NORM_LIMIT + limit, worst);
    for (size_t i = 0; i < SAMPLES; i++)
        compare(zoo, what, name, values[hashed(seed_of(name), i) % count],
                json_number_value(json_array_get(list, first + 1 + i)), limit, worst);
}

static void compare_logits(const struct zoo *zoo, double *worst)
{
    const json_t *want = json_object_get(zoo->json, "logits");
    float *logits = memory((size_t)(zoo->batch * zoo->classes), sizeof *logits);
    double largest = 1;
    write_all(zoo);
    check(zoo, claret_session_predict(zoo->session, zoo->images, zoo->batch, logits));
    for (size_t i = 0; i < json_array_size(want); i++)
        largest = fmax(largest, fabs(json_number_value(json_array_get(want, i))));
    size_t shown = json_array_size(want) / (size_t)zoo->batch; /* of each image's */
    for (size_t i = 0; i < json_array_size(want); i++)
        compare(zoo, "a logit", "in eval mode", (double)logits[i / shown * (size_t)zoo->classes + i % shown],
                json_number_value(json_array_get(want, i)), LOGIT_LIMIT * largest, worst);
    free(logits);
}

/* The change that a step with the learning rate 1 makes. */
static void compare_gradients(const struct zoo *zoo, double *worst)
{
    const json_t *all = json_object_get(zoo->json, "gradients");
    size_t parameters = claret_session_parameters(zoo->session), found = 0, elements = 0;
    double limit = json_number_value(json_object_get(zoo->json, "gradient_limit"));
    double **before = memory(parameters, sizeof *before);
    size_t count;
    write_all(zoo);
    for (size_t i = 0; i < parameters; i++)
        before[i] = read(zoo, i, &count);
    step(zoo, 0, 1);
    for (size_t i = 0; i < parameters; i++) {
        const char *name = claret_session_parameter_name(zoo->session, i);
        const json_t *want = json_object_get(all, name);
        double *after = read(zoo, i, &count), largest = json_number_value(json_array_get(want, 0));
        for (size_t j = 0; j < count; j++)
            after[j] = before[i][j] - after[j];
        if (want)
            compare_samples(zoo, "the gradient of", name, want, 1, after, count,
                            largest > NOTHING ? limit * largest : NOTHING, worst);
        found += want != NULL;
        elements += want ? count : 0;
        free(after);
        free(before[i]);
    }
    free(before);
    if (found != json_object_size(all) ||
        elements != (size_t)json_integer_value(json_object_get(zoo->json, "parameters"))) {
        failures++;
        printf("FAILED %s: other parameters than PyTorch's\n", zoo->name);
    }
}

static void compare_training(const struct zoo *zoo, double *worst, double *worst_buffer)
{
    const json_t *losses = json_object_get(zoo->json, "losses"),
                 *buffers = json_object_get(zoo->json, "buffers");
    double limit = json_number_value(json_object_get(zoo->json, "loss_limit"));
    double lr = json_number_value(json_object_get(zoo->json, "lr"));
    double buffer_limit = json_number_value(json_object_get(zoo->json, "buffer_limit"));
    size_t found = 0;
    write_all(zoo);
    for (size_t i = 0; i < json_array_size(losses); i++) {
        double want = json_number_value(json_array_get(losses, i));
        char text[32];
        snprintf(text, sizeof text, "of step %zu", i + 1);
        compare(zoo, "the loss", text, (double)step(zoo, (int)i, lr), want, limit * fmax(want, LITTLE),
                worst);
    }
    for (size_t i = 0; i < claret_session_parameters(zoo->session); i++) {
        const char *name = claret_session_parameter_name(zoo->session, i);
        const json_t *want = json_object_get(buffers, name);
        size_t count;
        double *values = read(zoo, i, &count), rms = json_number_value(json_array_get(want, 0));
        if (want)
            compare_samples(zoo, "the buffer", name, want, 0, values, count, buffer_limit * rms,
                            worst_buffer);
        found += want != NULL;
        free(values);
    }
    if (found != json_object_size(buffers)) {
        failures++;
        printf("FAILED %s: other buffers than PyTorch's\n", zoo->name);
    }
}

static void run(const char *name)
{
    struct zoo zoo = {.name = name};
    double logits = 0, gradients = 0, losses = 0, buffers = 0;
    open_zoo(&zoo);
    compare_logits(&zoo, &logits);
    compare_gradients(&zoo, &gradients);
    compare_training(&zoo, &losses, &buffers);
    printf("%s: of what is allowed: logits %.3f, gradients %.3f, losses %.3f, running statistics %.3f\n",
           name, logits, gradients, losses, buffers);
    close_zoo(&zoo);
    if (claret_live_objects() != 0) {
        failures++;
        printf("FAILED %s: %zu OpenCL objects are left\n", name, claret_live_objects());
    }
}

static bool device_is_there(void)
{
    struct claret_devices *devices;
    bool usable = false;
    if (claret_devices_list(&devices) != CLARET_OK) {
        printf("%s\n", claret_error());
        exit(1);
    }
    for (size_t i = 0; i < claret_devices_count(devices); i++)
        usable = usable || claret_devices_number(devices, i, CLARET_DEVICE_USABLE);
    claret_devices_destroy(devices);
    return usable;
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!device_is_there()) {
        printf("SKIPPED: no usable OpenCL device\n");
        return 77;
    }
    for (int i = 0; all && names[i]; i++)
        run(names[i]);
    for (int i = 1; !all && i < argc; i++)
        run(argv[i]);
    if (argc == 1)
        run(names[0]);
    return failures > 0;
}
