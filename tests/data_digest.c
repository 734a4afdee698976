/* For tests of data sets in Python: what the library makes of the options.
 *
 *     data_digest train|test CHANNELSxHEIGHTxWIDTH IMAGES-FILE [KEY=VALUE]...
 *
 * Opens the split for a network of that input, prints a JSON object and writes the images' bytes, one after
 * the other. What is wrong goes to standard error; the exit code is the status. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <claret/claret.h>

static void check(enum claret_status status)
{
    if (status == CLARET_OK)
        return;
    fprintf(stderr, "%s: %s\n", claret_status_name(status), claret_error());
    exit((int)status);
}

static void say(void *user, enum claret_log_level level, const char *message)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", message);
}

static void describe(const struct claret_dataset *data, const char *path)
{
    json_t *object = json_object(), *labels = json_array(), *names = json_array();
    size_t count = claret_dataset_count(data);
    int shape[3];
    FILE *file = fopen(path, "wb");

    claret_dataset_shape(data, shape);
    size_t bytes = (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2];
    bytes *= claret_dataset_element(data) == CLARET_U8 ? 1 : sizeof(float);
    unsigned char *image = malloc(bytes);
    for (size_t i = 0; i < count; i++) {
        int32_t label;
        check(claret_dataset_read(data, i, image, &label));
        json_array_append_new(labels, json_integer(label));
        if (!file || fwrite(image, 1, bytes, file) != bytes)
            exit(99);
    }
    for (int label = 0; label < claret_dataset_classes(data); label++)
        json_array_append_new(names, json_string(claret_dataset_class_name(data, label)));
    json_object_set_new(object, "count", json_integer((json_int_t)count));
    json_object_set_new(object, "shape", json_pack("[iii]", shape[0], shape[1], shape[2]));
    json_object_set_new(object, "names", names);
    json_object_set_new(object, "labels", labels);
    free(image);
    if (!file || fclose(file) != 0 || json_dumpf(object, stdout, JSON_COMPACT) != 0)
        exit(99);
    json_decref(object);
}

int main(int argc, char **argv)
{
    struct claret_options *options = NULL;
    struct claret_network *network = NULL;
    struct claret_dataset *data = NULL;
    char text[256];
    int shape[3];

    if (argc < 4 || sscanf(argv[2], "%dx%dx%d", &shape[0], &shape[1], &shape[2]) != 3)
        return 99;
    claret_set_log(say, NULL);
    snprintf(text, sizeof(text), "input %d %d %d\nflatten\nlinear out_features=10\n", shape[0], shape[1],
             shape[2]);
    check(claret_network_parse(text, "test", &network));
    check(claret_options_create(&options));
    for (int i = 4; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            return 99;
        *equals = '\0';
        check(claret_options_set(options, argv[i], equals + 1));
    }
    check(claret_dataset_load(options, network, strcmp(argv[1], "train") == 0 ? CLARET_TRAIN : CLARET_TEST,
                              &data));
    describe(data, argv[3]);
    claret_dataset_destroy(data);
    claret_options_destroy(options);
    claret_network_destroy(network);
    return 0;
}
