/* An evaluation's result, as lines and as JSON. */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/terminal.h"

/* Images of the class, and those of them that were recognised. */
static size_t class_count(const struct claret_result *result, int classes, int label, size_t *right)
{
    size_t count = 0;

    for (int predicted = 0; predicted < classes; predicted++)
        count += claret_result_confusion(result, label, predicted);
    *right = claret_result_confusion(result, label, label);
    return count;
}

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

void cli_print_result(const struct claret_result *result, const struct claret_dataset *dataset)
{
    int classes = claret_dataset_classes(dataset);
    size_t count = claret_result_count(result), correct = claret_result_correct(result);

    cli_out("Test loss: %.4f  accuracy: %.2f%% (%zu/%zu)\n", claret_result_loss(result),
            percent(correct, count), correct, count);
    for (int label = 0; label < classes; label++) {
        size_t right = 0, images = class_count(result, classes, label, &right);
        if (images)
            cli_out("  %s: %.2f%%\n", claret_dataset_class_name(dataset, label), percent(right, images));
        else
            cli_out("  %s: no images\n", claret_dataset_class_name(dataset, label));
    }
}

void cli_warn_of_one_class(const struct claret_result *result, const struct claret_dataset *dataset,
                           const char *advice)
{
    int classes = claret_dataset_classes(dataset), there = 0, taken = 0, last = 0;

    for (int i = 0; i < classes; i++) {
        size_t right, predicted = 0;
        there += class_count(result, classes, i, &right) > 0;
        for (int label = 0; label < classes; label++)
            predicted += claret_result_confusion(result, label, i);
        taken += predicted > 0;
        last = predicted ? i : last;
    }
    if (there > 1 && taken == 1)
        cli_warning("all %zu test images, of %d classes, were taken for one, %s: the network tells them not "
                    "apart; %s",
                    claret_result_count(result), there, claret_dataset_class_name(dataset, last), advice);
}

void cli_result_json(json_t *object, const struct claret_result *result, const struct claret_dataset *dataset)
{
    int classes = claret_dataset_classes(dataset);
    json_t *by_class = json_object();

    for (int label = 0; label < classes; label++) {
        size_t right = 0, images = class_count(result, classes, label, &right);
        json_t *value = images ? cli_json_number(percent(right, images)) : json_null();
        char number[16];
        /* A folder's name may be no UTF-8, which JSON cannot hold. */
        snprintf(number, sizeof(number), "%d", label);
        if (json_object_set(by_class, claret_dataset_class_name(dataset, label), value) != 0)
            json_object_set(by_class, number, value);
        json_decref(value);
    }
    json_object_set_new(object, "loss", cli_json_number(claret_result_loss(result)));
    json_object_set_new(object, "accuracy",
                        cli_json_number(percent(claret_result_correct(result), claret_result_count(result))));
    json_object_set_new(object, "class_accuracy", by_class);
}

/* ---- JSON --------------------------------------------------------------------------------------- */

json_t *cli_json_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* Drivers may give names that are not UTF-8, which JSON cannot hold: their odd bytes become '?'. */
json_t *cli_json_text(const char *text)
{
    json_t *value = json_string(text);
    struct json_t *plain = NULL;

    if (value)
        return value;
    char copy[256];
    size_t length = 0;
    for (; text[length] && length + 1 < sizeof(copy); length++)
        copy[length] = (unsigned char)text[length] < 0x80 ? text[length] : '?';
    copy[length] = '\0';
    plain = json_string(copy);
    return plain;
}

int cli_print_json(json_t *object)
{
    /* Ten digits: more than any of the numbers is good for, and none of them ends in 0000001. */
    char *text = object ? json_dumps(object, JSON_REAL_PRECISION(10)) : NULL;

    json_decref(object);
    if (!text) {
        cli_error("host memory is used up");
        return CLI_FAILED;
    }
    cli_out_json(text);
    free(text);
    return CLI_DONE;
}
