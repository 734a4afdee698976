/* From options to data, device and session, with what is said on the way. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal.h"

int cli_failed(enum cli_exit code)
{
    const char *text = claret_error();

    cli_error("%s", text[0] ? text : "failed without a reason: a fault of claret itself");
    return (int)code;
}

enum cli_exit cli_exit_code(enum claret_status status)
{
    switch (status) {
    case CLARET_OK:
        return CLI_DONE;
    case CLARET_INVALID:
    case CLARET_AMBIGUOUS:
        return CLI_USAGE;
    case CLARET_NO_DEVICE:
        return CLI_NO_DEVICE;
    default:
        return CLI_FAILED;
    }
}

long long cli_number(const struct cli_args *args, const char *key)
{
    return strtoll(claret_options_get(args->options, key), NULL, 10);
}

/* What `needs` of flags.h cannot tell: the flags that have no effect on data of that kind. Data that are not
 * found are told of where they are opened. */
static bool flags_fit_data(const struct cli_args *args)
{
    const char *data = claret_options_get(args->options, "data"), *kind;
    int in_files;

    if (!args->value[CLI_SKIP_UNREADABLE] || claret_dataset_recognise(data, &kind, &in_files) != CLARET_OK ||
        in_files)
        return true;
    cli_error("--skip-unreadable has no effect on %s, which is in %s: it is for image folders", kind, data);
    return false;
}

/* Of --resume, where the checkpoint's data are not found. */
static void say_whose_data(const struct cli_args *args)
{
    const char *data = claret_options_get(args->options, "data");

    cli_error("--data %s is what %s has%s, or give the folder where the data set is now: --data DIR", data,
              claret_checkpoint_file(args->checkpoint),
              data[0] == '/' ? ""
                             : ", as seen from the folder that the training was started in: go on there");
}

int cli_open_data(const struct cli_args *args, const struct claret_network *network, enum claret_split split,
                  struct claret_dataset **dataset)
{
    if (!flags_fit_data(args))
        return CLI_USAGE;
    enum claret_status status = claret_dataset_load(args->options, network, split, dataset);

    if (status == CLARET_OK)
        return CLI_DONE;
    int code = cli_failed(cli_exit_code(status));
    if (status == CLARET_NOT_FOUND && args->checkpoint && !args->value[CLI_DATA] &&
        !args->value[CLI_DATA_PATH])
        say_whose_data(args);
    return code;
}

/* A folder's name, which a class's may be, can hold any character but those of control. */
#define BETWEEN_NAMES '\t'

bool cli_class_unnamed(const char *name, int label)
{
    char number[16];

    snprintf(number, sizeof number, "%d", label);
    return strcmp(name, number) == 0;
}

int cli_keep_class_names(struct claret_options *options, const struct claret_dataset *dataset)
{
    int classes = claret_dataset_classes(dataset);
    size_t size = 1, used = 0;
    bool named = false;

    for (int label = 0; label < classes; label++) {
        size += strlen(claret_dataset_class_name(dataset, label)) + 1;
        named |= !cli_class_unnamed(claret_dataset_class_name(dataset, label), label);
    }
    char *text = malloc(size);
    if (!text) {
        cli_error("host memory is used up");
        return CLI_FAILED;
    }
    for (int label = 0; named && label < classes; label++) {
        if (label)
            text[used++] = BETWEEN_NAMES;
        const char *name = claret_dataset_class_name(dataset, label);
        memcpy(text + used, name, strlen(name));
        used += strlen(name);
    }
    text[used] = '\0';
    enum claret_status status = claret_options_set(options, "class-names", text);
    free(text);
    return status == CLARET_OK ? CLI_DONE : cli_failed(CLI_FAILED);
}

const char *cli_class_name(const struct claret_options *options, int classes, int label, int *length)
{
    const char *name = claret_options_get(options, "class-names");
    int count = name[0] != '\0';

    for (const char *at = name; *at; at++)
        count += *at == BETWEEN_NAMES;
    if (count != classes)
        return NULL;
    for (; label > 0; label--)
        name = strchr(name, BETWEEN_NAMES) + 1;
    const char *end = strchr(name, BETWEEN_NAMES);
    *length = (int)(end ? (size_t)(end - name) : strlen(name));
    return name;
}

static void print_advice(const struct claret_devices *devices)
{
    const char *paragraph;

    for (size_t i = 0; (paragraph = claret_devices_advice(devices, i)); i++)
        cli_note("\n%s", paragraph);
}

/* *devices is to be destroyed, whatever comes of it. */
static enum claret_status look_for_device(const struct cli_args *args, struct claret_devices **devices,
                                          size_t *index, const char **note)
{
    enum claret_status status = claret_options_devices(args->options, devices);

    if (status != CLARET_OK)
        return status;
    return claret_devices_choose(*devices, claret_options_get(args->options, "device"),
                                 claret_options_get(args->options, "platform"), index, note);
}

static int refuse_device(const struct cli_args *args, const struct claret_devices *devices,
                         enum claret_status status)
{
    const char *ours = claret_options_get(args->options, "device"), *environment = getenv("CLARET_DEVICE");
    int code = cli_failed(status == CLARET_NOT_FOUND ? CLI_USAGE : cli_exit_code(status));

    if (!args->value[CLI_DEVICE] && ours[0] && environment && strcmp(ours, environment) == 0)
        cli_error("the device is what CLARET_DEVICE in the environment says");
    if (code == CLI_NO_DEVICE && devices)
        print_advice(devices);
    return code;
}

int cli_check_device(const struct cli_args *args)
{
    struct claret_devices *devices = NULL;
    const char *note;
    size_t index;
    int code = CLI_DONE;

    if (!claret_options_get(args->options, "device")[0] && !claret_options_get(args->options, "platform")[0])
        return CLI_DONE;
    enum claret_status status = look_for_device(args, &devices, &index, &note);
    if (status != CLARET_OK && status != CLARET_NO_DEVICE)
        code = refuse_device(args, devices, status);
    claret_devices_destroy(devices);
    return code;
}

/* Says which device it will be before anything is compiled for it, which may take a while. */
static int choose_device(const struct cli_args *args)
{
    struct claret_devices *devices = NULL;
    const char *note = "";
    size_t index = 0;
    int code = CLI_DONE;

    enum claret_status status = look_for_device(args, &devices, &index, &note);
    if (status == CLARET_OK) {
        cli_note("device %zu (%s): %s, %s, driver %s", index,
                 claret_devices_text(devices, index, CLARET_DEVICE_ID),
                 claret_devices_text(devices, index, CLARET_DEVICE_NAME),
                 claret_devices_text(devices, index, CLARET_DEVICE_PLATFORM_NAME),
                 claret_devices_text(devices, index, CLARET_DEVICE_DRIVER));
        if (note && note[0])
            cli_note("%s", note);
    } else {
        code = refuse_device(args, devices, status);
    }
    claret_devices_destroy(devices);
    return code;
}

int cli_open_session(const struct cli_args *args, const struct claret_network *network,
                     const struct claret_dataset *dataset, int training, struct claret_session **session)
{
    char *programs = NULL;
    int code = choose_device(args);

    if (code != CLI_DONE)
        return code;
    enum claret_status status = claret_session_create(network, args->options, dataset, training, session);
    if (status != CLARET_OK)
        return cli_failed(cli_exit_code(status));
    if (claret_session_report(*session, CLARET_REPORT_PROGRAMS, &programs) == CLARET_OK && programs[0])
        cli_note("%.*s", (int)(strlen(programs) - (programs[strlen(programs) - 1] == '\n')), programs);
    claret_text_free(programs);
    return CLI_DONE;
}

bool cli_plan_wanted(const struct cli_args *args)
{
    return args->value[CLI_DUMP_PLAN] || args->value[CLI_EXPLAIN];
}

static int print_report(struct claret_session *session, enum claret_report what)
{
    char *text = NULL;

    if (claret_session_report(session, what, &text) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    cli_out("%s", text);
    claret_text_free(text);
    return CLI_DONE;
}

int cli_print_plan(const struct cli_args *args, struct claret_session *session)
{
    int code = CLI_DONE;

    if (args->value[CLI_EXPLAIN])
        code = print_report(session, CLARET_REPORT_EXPLAIN);
    if (code == CLI_DONE && args->value[CLI_DUMP_PLAN])
        code = print_report(session, CLARET_REPORT_PLAN);
    return code;
}

json_t *cli_device_json(struct claret_session *session)
{
    char *line = NULL;

    if (claret_session_report(session, CLARET_REPORT_DEVICE, &line) != CLARET_OK)
        return json_null();
    line[strcspn(line, "\n")] = '\0';
    const char *name = strstr(line, "): ");
    json_t *text = cli_json_text(name ? name + 3 : line);
    claret_text_free(line);
    return text;
}
