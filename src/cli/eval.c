/* claret eval */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal.h"

static int digits(size_t number)
{
    int count = 1;

    for (; number > 9; number /= 10)
        count++;
    return count;
}

/* A row for each true class, a column for each class it was taken for, in the same order. */
static void print_confusion(const struct claret_result *result, const struct claret_dataset *dataset)
{
    int classes = claret_dataset_classes(dataset), name_width = 0, width = 2;

    for (int label = 0; label < classes; label++) {
        int length = (int)strlen(claret_dataset_class_name(dataset, label));
        name_width = length > name_width ? length : name_width;
        for (int predicted = 0; predicted < classes; predicted++) {
            int needed = digits(claret_result_confusion(result, label, predicted));
            width = needed > width ? needed : width;
        }
    }
    cli_out("Confusion (rows: true class, columns: taken for, by number)\n  %*s", name_width + 4, "");
    for (int predicted = 0; predicted < classes; predicted++)
        cli_out(" %*d", width, predicted);
    cli_out("\n");
    for (int label = 0; label < classes; label++) {
        cli_out("  %3d %-*s", label, name_width, claret_dataset_class_name(dataset, label));
        for (int predicted = 0; predicted < classes; predicted++)
            cli_out(" %*zu", width, claret_result_confusion(result, label, predicted));
        cli_out("\n");
    }
}

static double images_per_second(const struct claret_result *result)
{
    double seconds = claret_result_seconds(result);

    return seconds > 0 ? (double)claret_result_count(result) / seconds : 0.0;
}

static int print_eval_json(const struct cli_args *args, struct claret_session *session,
                           const struct claret_result *result, const struct claret_dataset *dataset)
{
    int classes = claret_dataset_classes(dataset);
    json_t *object = json_object(), *confusion = json_array();

    for (int label = 0; label < classes; label++) {
        json_t *row = json_array();
        for (int predicted = 0; predicted < classes; predicted++)
            json_array_append_new(
                row, json_integer((json_int_t)claret_result_confusion(result, label, predicted)));
        json_array_append_new(confusion, row);
    }
    cli_result_json(object, result, dataset);
    json_object_set_new(object, "confusion", confusion);
    json_object_set_new(object, "images", json_integer((json_int_t)claret_result_count(result)));
    json_object_set_new(object, "images_per_second", cli_json_number(images_per_second(result)));
    json_object_set_new(object, "weights", cli_json_text(args->value[CLI_WEIGHTS]));
    json_object_set_new(object, "device", cli_device_json(session));
    return cli_print_json(object);
}

static int evaluate(const struct cli_args *args, struct claret_session *session,
                    const struct claret_dataset *dataset)
{
    struct claret_result *result = NULL;
    int code = CLI_DONE;

    if (claret_session_load(session, args->value[CLI_WEIGHTS]) != CLARET_OK ||
        claret_session_evaluate(session, dataset, &result) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    cli_print_result(result, dataset);
    cli_warn_of_one_class(result, dataset,
                          "either --mean and --std are not the training's, or its steps were too large: "
                          "train with a smaller --lr or a larger --batch-size");
    print_confusion(result, dataset);
    cli_out("Speed: %.1f images/s\n", images_per_second(result));
    if (args->value[CLI_JSON])
        code = print_eval_json(args, session, result, dataset);
    claret_result_destroy(result);
    return code;
}

/* Classes in another order than in training, as of folders with other names, make results that mean nothing.
 */
static void compare_classes(const struct cli_args *args, const struct claret_dataset *dataset)
{
    int classes = claret_dataset_classes(dataset), length;

    for (int label = 0; label < classes; label++) {
        const char *here = claret_dataset_class_name(dataset, label);
        const char *trained = cli_class_name(args->options, classes, label, &length);
        if (!trained || cli_class_unnamed(here, label) ||
            (strlen(here) == (size_t)length && memcmp(here, trained, (size_t)length) == 0))
            continue;
        cli_note("class %d is %s in these data, and was %.*s in training: are they the same classes?", label,
                 here, length, trained);
        return;
    }
}

int cli_eval(const struct cli_args *args)
{
    struct claret_network *network = NULL;
    struct claret_dataset *dataset = NULL;
    struct claret_session *session = NULL;
    int code = CLI_DONE;

    if (!args->value[CLI_WEIGHTS]) {
        cli_error("claret eval needs --weights FILE");
        return CLI_USAGE;
    }
    code = cli_check_device(args);
    if (code == CLI_DONE)
        code = cli_open_trained(CLI_EVAL, args, &network);
    if (code == CLI_DONE)
        code = cli_open_data(args, network, CLARET_TEST, &dataset);
    if (code == CLI_DONE)
        compare_classes(args, dataset);
    if (code == CLI_DONE)
        code = cli_open_session(args, network, dataset, 0, &session);
    if (code == CLI_DONE)
        code = evaluate(args, session, dataset);
    claret_session_destroy(session);
    claret_dataset_destroy(dataset);
    claret_network_destroy(network);
    return code;
}
