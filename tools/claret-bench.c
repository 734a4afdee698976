/* claret-bench: how fast, on which device, how far from its limit. */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "train/engine.h"

int bench_failed(int code)
{
    const char *text = claret_error();
    cli_error("%s", text[0] ? text : "failed without a reason: a fault of claret itself");
    return code;
}

static int exit_code(enum claret_status status)
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

enum claret_status bench_open(const struct bench_args *args, struct claret_rt **rt)
{
    const struct claret_options *options = args->options;
    char *folder = NULL;
    if (!options->no_cache)
        CLARET_TRY(claret_engine_cache_folder(options, &folder));
    struct claret_rt_options rt_options = {.device = options->device,
                                           .cache_dir = folder,
                                           .kernel_dir = options->kernel_dir[0] ? options->kernel_dir : NULL};
    enum claret_status status = claret_rt_open(&rt_options, rt);
    free(folder);
    return status;
}

void bench_set_device(json_t *result, const struct claret_rt *rt)
{
    const struct claret_device_desc *device = claret_rt_device(rt);
    struct claret_text text = {0};
    claret_text_add(&text, "%s, %s, driver %s", device->name, device->platform, device->driver);
    json_object_set_new(result, "device", cli_json_text(text.failed ? "" : text.data));
    claret_text_drop(&text);
}

/* ---- devices --------------------------------------------------------------------------------------------
 */

typedef enum claret_status (*device_command)(const struct bench_args *args, json_t *result);

static int run_on(const struct bench_args *args, const struct claret_devices *devices, size_t device,
                  device_command command, json_t *results)
{
    char number[24];
    cli_note("device %zu (%s): %s, %s, driver %s", device,
             claret_devices_text(devices, device, CLARET_DEVICE_ID),
             claret_devices_text(devices, device, CLARET_DEVICE_NAME),
             claret_devices_text(devices, device, CLARET_DEVICE_PLATFORM_NAME),
             claret_devices_text(devices, device, CLARET_DEVICE_DRIVER));
    snprintf(number, sizeof number, "%zu", device);
    if (claret_options_set(args->options, "device", number) != CLARET_OK ||
        claret_options_set(args->options, "platform", "") != CLARET_OK)
        return bench_failed(CLI_FAILED);
    json_t *result = json_object();
    claret_error_clear();
    enum claret_status status = command(args, result);
    if (status == CLARET_OK) {
        json_array_append_new(results, result);
        return CLI_DONE;
    }
    json_decref(result);
    return bench_failed(exit_code(status));
}

static bool in_platform(const struct claret_devices *devices, size_t device, const char *platform)
{
    char number[24];
    size_t chosen;
    snprintf(number, sizeof number, "%s", claret_devices_text(devices, device, CLARET_DEVICE_ID));
    return !platform[0] || claret_devices_choose(devices, number, platform, &chosen, NULL) == CLARET_OK;
}

static int run_on_all(const struct bench_args *args, const struct claret_devices *devices,
                      device_command command, json_t *results)
{
    char *platform = claret_strdup(claret_options_get(args->options, "platform"));
    int code = CLI_DONE;
    size_t tried = 0;
    for (size_t i = 0; platform && i < claret_devices_count(devices); i++) {
        if (!claret_devices_number(devices, i, CLARET_DEVICE_USABLE) || !in_platform(devices, i, platform))
            continue;
        int of_device = run_on(args, devices, i, command, results);
        code = code == CLI_DONE ? of_device : code;
        tried++;
    }
    free(platform);
    if (tried)
        return code;
    cli_error("no usable OpenCL device; why, and what to do: claret devices");
    return CLI_NO_DEVICE;
}

static int run_on_one(const struct bench_args *args, const struct claret_devices *devices,
                      device_command command, json_t *results)
{
    const char *note = "";
    size_t device;
    enum claret_status status =
        claret_devices_choose(devices, claret_options_get(args->options, "device"),
                              claret_options_get(args->options, "platform"), &device, &note);
    if (status != CLARET_OK)
        return bench_failed(status == CLARET_NOT_FOUND ? CLI_USAGE : exit_code(status));
    if (note && note[0])
        cli_note("%s", note);
    return run_on(args, devices, device, command, results);
}

/* ---- output ---------------------------------------------------------------------------------------------
 */

/* One device's object as it is; those of --device all in {"results": [...]}. */
static int print_results(const struct bench_args *args, json_t *results, bool all)
{
    if (args->value[BENCH_FLAG_CSV])
        return bench_print_csv(results);
    if (!args->value[BENCH_FLAG_JSON])
        return CLI_DONE;
    if (!all)
        return cli_print_json(json_incref(json_array_get(results, 0)));
    json_t *object = json_object();
    json_object_set(object, "results", results);
    return cli_print_json(object);
}

static int run_device_command(const struct bench_args *args, device_command command)
{
    bool all = strcmp(claret_options_get(args->options, "device"), "all") == 0;
    struct claret_devices *devices = NULL;
    if (claret_devices_list(&devices) != CLARET_OK)
        return bench_failed(CLI_FAILED);
    json_t *results = json_array();
    int code = (all ? run_on_all : run_on_one)(args, devices, command, results);
    if (json_array_size(results)) {
        int printed = print_results(args, results, all);
        code = code == CLI_DONE ? printed : code;
    }
    json_decref(results);
    claret_devices_destroy(devices);
    return code;
}

static int run_command(const struct bench_args *args)
{
    static const device_command of_device[BENCH_COMMANDS] = {[BENCH_DEVICE] = bench_device,
                                                             [BENCH_STEP] = bench_step,
                                                             [BENCH_OPS] = bench_ops,
                                                             [BENCH_TRAIN] = bench_train};
    if (args->value[BENCH_FLAG_VERSION]) {
        cli_out("claret-bench %s\n", claret_version());
        return CLI_DONE;
    }
    if (args->value[BENCH_FLAG_HELP]) {
        bench_help(args->command, args->options);
        return CLI_DONE;
    }
    cli_terminal_set(args->value[BENCH_FLAG_QUIET], args->value[BENCH_FLAG_VERBOSE], true,
                     args->value[BENCH_FLAG_JSON] || args->value[BENCH_FLAG_CSV]);
    if (args->command == BENCH_COMPARE)
        return bench_compare(args);
    return run_device_command(args, of_device[args->command]);
}

int main(int argc, char **argv)
{
    struct bench_args args;
    int code = CLI_USAGE;
    cli_terminal_start("claret-bench");
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* what scripts read has a point */
    signal(SIGPIPE, SIG_IGN);
    if (bench_parse(argc, argv, &args))
        code = run_command(&args);
    claret_options_destroy(args.options);
    if (!cli_terminal_end() && code == CLI_DONE)
        code = CLI_FAILED;
    return code;
}
