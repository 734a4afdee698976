/* claret predict */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/shell.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#define LINE 4096

/* What a class's number is, by the loss that the network was trained with. */
enum scale { SOFTMAX, SIGMOID, PLAIN };

struct predicting {
    const struct cli_args *args;
    struct claret_network *network;
    struct claret_dataset *stand_in;
    struct claret_session *session;
    int shape[3], classes, batch, top;
    enum scale scale;
    char **names;          /* (classes); NULL: numbers */
    unsigned char *images; /* (batch, C, H, W) */
    char **files;          /* (batch) */
    float *logits;         /* (batch, classes) */
    int *order;            /* (classes) */
    int count;             /* images waiting */
    int failed;            /* files that could not be read */
    bool headed;           /* --csv: the head is printed */
    size_t done;
    json_t *list; /* of --json */
};

/* ---- class names -------------------------------------------------------------------------------- */

static int names_from_file(struct predicting *predicting, const char *path)
{
    char line[LINE];
    int count = 0;
    FILE *file = fopen(path, "r");

    if (!file) {
        cli_error("%s: cannot be opened: %s", path, strerror(errno));
        return CLI_FAILED;
    }
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!line[0])
            continue;
        if (count < predicting->classes)
            predicting->names[count] = strdup(line);
        count++;
    }
    fclose(file);
    if (count == predicting->classes)
        return CLI_DONE;
    cli_error("%s has %d class names, the network %s gives %d classes", path, count,
              claret_network_name(predicting->network), predicting->classes);
    return CLI_FAILED;
}

static int names_from_data(struct predicting *predicting, const char *path)
{
    struct claret_dataset *dataset = NULL;
    int code = CLI_DONE;

    if (claret_options_set(predicting->args->options, "data", path) != CLARET_OK)
        return cli_failed(CLI_USAGE);
    code = cli_open_data(predicting->args, predicting->network, CLARET_TRAIN, &dataset);
    if (code != CLI_DONE)
        return code;
    if (claret_dataset_classes(dataset) == predicting->classes) {
        for (int i = 0; i < predicting->classes; i++)
            predicting->names[i] = strdup(claret_dataset_class_name(dataset, i));
    } else {
        cli_error("%s has %d classes, the network %s gives %d", path, claret_dataset_classes(dataset),
                  claret_network_name(predicting->network), predicting->classes);
        code = CLI_FAILED;
    }
    claret_dataset_destroy(dataset);
    return code;
}

/* What the training knew of them. */
static void names_from_training(struct predicting *predicting)
{
    for (int i = 0; i < predicting->classes; i++) {
        int length;
        const char *name = cli_class_name(predicting->args->options, predicting->classes, i, &length);
        predicting->names[i] = name ? strndup(name, (size_t)length) : NULL;
    }
}

static int read_names(struct predicting *predicting)
{
    const char *path = predicting->args->value[CLI_CLASSES];
    struct stat info;

    predicting->names = calloc((size_t)predicting->classes, sizeof(*predicting->names));
    if (!predicting->names) {
        cli_error("host memory is used up");
        return CLI_FAILED;
    }
    if (!path) {
        names_from_training(predicting);
        return CLI_DONE;
    }
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && !cli_ends_in(path, ".npz"))
        return names_from_file(predicting, path);
    return names_from_data(predicting, path);
}

static const char *name_of(const struct predicting *predicting, int label, char number[16])
{
    if (predicting->names && predicting->names[label])
        return predicting->names[label];
    snprintf(number, 16, "%d", label);
    return number;
}

/* ---- results ------------------------------------------------------------------------------------ */

static enum scale scale_of(const char *loss)
{
    return strcmp(loss, "bce") == 0 ? SIGMOID : strcmp(loss, "mse") == 0 ? PLAIN : SOFTMAX;
}

static void softmax(float *logits, int classes)
{
    double largest = logits[0], sum = 0;

    for (int i = 0; i < classes; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int i = 0; i < classes; i++)
        sum += exp(logits[i] - largest);
    for (int i = 0; i < classes; i++)
        logits[i] = (float)(exp(logits[i] - largest) / sum);
}

static void sigmoid(float *logits, int classes)
{
    for (int i = 0; i < classes; i++)
        logits[i] = (float)(1 / (1 + exp(-(double)logits[i])));
}

/* The `top` classes to the front of order, the likeliest first. A tie goes to the lower class. */
static void rank(struct predicting *predicting, const float *logits)
{
    for (int i = 0; i < predicting->classes; i++)
        predicting->order[i] = i;
    for (int i = 0; i < predicting->top; i++) {
        int best = i;
        for (int j = i + 1; j < predicting->classes; j++) {
            float a = logits[predicting->order[j]], b = logits[predicting->order[best]];
            if (a > b || (a == b && predicting->order[j] < predicting->order[best]))
                best = j;
        }
        int label = predicting->order[best];
        predicting->order[best] = predicting->order[i];
        predicting->order[i] = label;
    }
}

/* A field of CSV, in quotes where it has to be. */
static void print_field(const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        cli_out("%s,", text);
        return;
    }
    cli_out("\"");
    for (; *text; text++)
        cli_out(*text == '"' ? "\"\"" : "%c", *text);
    cli_out("\",");
}

static const char *value_name(const struct predicting *predicting)
{
    return predicting->scale == PLAIN ? "score" : "probability";
}

static void print_image(struct predicting *predicting, const char *file, const float *values)
{
    bool csv = predicting->args->value[CLI_CSV] != NULL;
    json_t *classes = predicting->list ? json_array() : NULL;
    char number[16];

    if (!csv)
        cli_out("%s:", file);
    for (int i = 0; i < predicting->top; i++) {
        int label = predicting->order[i];
        const char *name = name_of(predicting, label, number);
        if (csv) {
            print_field(file);
            cli_out("%d,%d,", i + 1, label);
            print_field(name);
            cli_out("%.6g\n", (double)values[label]);
        } else if (predicting->scale == PLAIN) {
            cli_out("%s %s %.4f", i ? "," : "", name, (double)values[label]);
        } else {
            cli_out("%s %s %.2f%%", i ? "," : "", name, 100.0 * (double)values[label]);
        }
        if (classes) {
            json_t *row = json_object();
            json_object_set_new(row, "label", json_integer(label));
            json_object_set_new(row, "name", cli_json_text(name));
            json_object_set_new(row, value_name(predicting), cli_json_number((double)values[label]));
            json_array_append_new(classes, row);
        }
    }
    if (!csv)
        cli_out("\n");
    if (classes) {
        json_t *image = json_object();
        json_object_set_new(image, "file", cli_json_text(file));
        json_object_set_new(image, "classes", classes);
        json_array_append_new(predicting->list, image);
    }
}

/* Runs what is waiting. */
static int flush(struct predicting *predicting)
{
    int code = CLI_DONE;

    if (predicting->count && claret_session_predict(predicting->session, predicting->images,
                                                    predicting->count, predicting->logits) != CLARET_OK)
        code = cli_failed(CLI_FAILED);
    for (int i = 0; i < predicting->count; i++) {
        float *logits = predicting->logits + (size_t)i * (size_t)predicting->classes;
        if (code == CLI_DONE) {
            rank(predicting, logits);
            if (predicting->scale == SOFTMAX)
                softmax(logits, predicting->classes);
            else if (predicting->scale == SIGMOID)
                sigmoid(logits, predicting->classes);
            print_image(predicting, predicting->files[i], logits);
        }
        free(predicting->files[i]);
    }
    predicting->done += (size_t)predicting->count;
    predicting->count = 0;
    return code;
}

/* One that cannot be read does not keep the others from being done. */
static int add(struct predicting *predicting, const char *file)
{
    size_t bytes = (size_t)predicting->shape[0] * (size_t)predicting->shape[1] * (size_t)predicting->shape[2];
    struct stat info;

    if (predicting->args->value[CLI_CSV] && !predicting->headed)
        cli_out("file,rank,label,class,%s\n", value_name(predicting));
    predicting->headed = true;
    if (stat(file, &info) == 0 && S_ISDIR(info.st_mode)) {
        char *word = claret_shell_word(file);
        predicting->failed++;
        cli_error("%s: a folder, where an image is wanted; for those in it: find %s -name '*.png' | claret "
                  "predict - ...",
                  file, word ? word : file);
        free(word);
        return CLI_DONE;
    }
    if (claret_image_read(file, predicting->shape[0], predicting->shape[1], predicting->shape[2],
                          predicting->images + (size_t)predicting->count * bytes) != CLARET_OK) {
        predicting->failed++;
        cli_failed(CLI_FAILED);
        return CLI_DONE;
    }
    predicting->files[predicting->count] = strdup(file);
    if (!predicting->files[predicting->count]) {
        cli_error("host memory is used up");
        return CLI_FAILED;
    }
    predicting->count++;
    return predicting->count == predicting->batch ? flush(predicting) : CLI_DONE;
}

static int add_list(struct predicting *predicting)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int code = CLI_DONE;

    while (code == CLI_DONE && (length = getline(&line, &room, stdin)) > 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0])
            code = add(predicting, line);
    }
    free(line);
    return code;
}

/* ---- the command -------------------------------------------------------------------------------- */

static int check_usage(struct predicting *predicting)
{
    const struct cli_args *args = predicting->args;
    const char *top = args->value[CLI_TOP];
    char *end = NULL;

    if (!args->operand || !args->value[CLI_WEIGHTS]) {
        const char *word = args->operand;
        if (!word)
            cli_error(
                "claret predict needs images: PNG or JPEG files, or - for a list of them on standard input");
        else if (cli_ends_in(word, ".safetensors"))
            cli_error("claret predict needs --weights FILE; did you mean --weights %s?", word);
        else
            cli_error("claret predict needs --weights FILE");
        return CLI_USAGE;
    }
    if (args->value[CLI_CSV] && args->value[CLI_JSON]) {
        cli_error("--csv and --json do not go together");
        return CLI_USAGE;
    }
    long number = top ? strtol(top, &end, 10) : 5;
    if (top && (*top < '0' || *top > '9' || *end || number < 1 || number > 1000000)) {
        cli_error("--top: '%s' is not a whole number from 1", top);
        return CLI_USAGE;
    }
    predicting->top = (int)number;
    return CLI_DONE;
}

static int prepare(struct predicting *predicting)
{
    const struct cli_args *args = predicting->args;

    int code = cli_open_trained(CLI_PREDICT, args, &predicting->network);
    if (code != CLI_DONE)
        return code;
    claret_network_shape(predicting->network, predicting->shape, &predicting->classes);
    if (predicting->shape[0] != 1 && predicting->shape[0] != 3) {
        cli_error("images have 1 channel (grey) or 3 (RGB), but the network %s takes %d",
                  claret_network_name(predicting->network), predicting->shape[0]);
        return CLI_FAILED;
    }
    predicting->top = predicting->top < predicting->classes ? predicting->top : predicting->classes;
    predicting->batch = (int)cli_number(args, "batch-size");
    predicting->scale = scale_of(claret_options_get(args->options, "loss"));
    code = read_names(predicting);
    if (code != CLI_DONE)
        return code;
    size_t batch = (size_t)predicting->batch;
    predicting->images = calloc(batch * (size_t)predicting->shape[0],
                                (size_t)predicting->shape[1] * (size_t)predicting->shape[2]);
    predicting->files = calloc(batch, sizeof(*predicting->files));
    predicting->logits = calloc(batch * (size_t)predicting->classes, sizeof(*predicting->logits));
    predicting->order = calloc((size_t)predicting->classes, sizeof(*predicting->order));
    if (!predicting->images || !predicting->files || !predicting->logits || !predicting->order) {
        cli_error("host memory is used up");
        return CLI_FAILED;
    }
    enum claret_status status =
        claret_dataset_stand_in(args->options, predicting->network, &predicting->stand_in);
    if (status != CLARET_OK)
        return cli_failed(cli_exit_code(status));
    code = cli_open_session(args, predicting->network, predicting->stand_in, 0, &predicting->session);
    if (code == CLI_DONE && claret_session_load(predicting->session, args->value[CLI_WEIGHTS]) != CLARET_OK)
        code = cli_failed(CLI_FAILED);
    return code;
}

static int predict(struct predicting *predicting)
{
    const struct cli_args *args = predicting->args;
    int code = CLI_DONE;

    if (args->value[CLI_JSON])
        predicting->list = json_array();
    for (int i = 0; i < args->operand_count && code == CLI_DONE; i++)
        code =
            strcmp(args->operands[i], "-") == 0 ? add_list(predicting) : add(predicting, args->operands[i]);
    if (code == CLI_DONE)
        code = flush(predicting);
    if (code == CLI_DONE && predicting->failed + (int)predicting->done == 0) {
        cli_error("no image was named: the list on standard input is empty");
        return CLI_FAILED;
    }
    if (code == CLI_DONE && predicting->failed)
        cli_error("%d of %zu images could not be read", predicting->failed,
                  predicting->done + (size_t)predicting->failed);
    if (code == CLI_DONE && args->value[CLI_JSON]) {
        json_t *object = json_object();
        json_object_set_new(object, "images", predicting->list);
        predicting->list = NULL;
        json_object_set_new(object, "weights", cli_json_text(args->value[CLI_WEIGHTS]));
        json_object_set_new(object, "device", cli_device_json(predicting->session));
        code = cli_print_json(object);
    }
    return code == CLI_DONE && predicting->failed ? CLI_FAILED : code;
}

int cli_predict(const struct cli_args *args)
{
    struct predicting predicting = {.args = args};
    int code = check_usage(&predicting);

    if (code == CLI_DONE)
        code = cli_check_device(args);
    if (code == CLI_DONE)
        code = prepare(&predicting);
    if (code == CLI_DONE)
        code = predict(&predicting);
    json_decref(predicting.list);
    for (int i = 0; predicting.names && i < predicting.classes; i++)
        free(predicting.names[i]);
    free(predicting.names);
    free(predicting.images);
    free(predicting.files);
    free(predicting.logits);
    free(predicting.order);
    claret_session_destroy(predicting.session);
    claret_dataset_destroy(predicting.stand_in);
    claret_network_destroy(predicting.network);
    return code;
}
