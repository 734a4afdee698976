/* claret-tune: finds the fastest solvers for a network's problems; the search itself is in src/tune. */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "train/engine.h"
#include "tune/search.h"
#include "tune/worker.h"
#include "tune_flags.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
    signal(number, SIG_DFL); /* a second one ends at once */
}

static int failed(enum claret_status status)
{
    const char *text = claret_error();
    cli_error("%s", text[0] ? text : "failed without a reason: a fault of claret itself");
    switch (status) {
    case CLARET_INVALID:
    case CLARET_AMBIGUOUS:
        return CLI_USAGE;
    case CLARET_NO_DEVICE:
        return CLI_NO_DEVICE;
    default:
        return CLI_FAILED;
    }
}

/* ---- run ------------------------------------------------------------------------------------------------
 */

static void say(void *user, bool progress, const char *line)
{
    (void)user;
    if (progress) {
        cli_progress("%s", line);
    } else {
        cli_progress_clear();
        cli_note("%s", line);
    }
}

static void graph_options(void *user, const struct claret_device_desc *device,
                          struct claret_graph_options *options)
{
    const struct claret_options *of = user;
    *options = claret_engine_graph_options(of, device, false, true, of->batch_size);
}

static void report_step(const struct claret_tune_result *result)
{
    double before = result->step_default, after = result->step_tuned;
    if (!(before > 0 && after > 0))
        return;
    if (result->same) {
        cli_out("step: %.1f us, by the defaults: nothing faster was found\n", 1e6 * before);
        return;
    }
    cli_out("step: %.1f us by the defaults, %.1f us predicted, %.1f us measured: ", 1e6 * before,
            1e6 * result->step_predicted, 1e6 * after);
    if (result->faster)
        cli_out("%.2f times as fast\n", before / after);
    else
        cli_out("no faster by more than chance; on a machine with other work try it again without, "
                "claret-tune clear goes back to the defaults\n");
}

static void report(const struct tool_args *args, const struct claret_tune_result *result)
{
    double before = result->step_default, after = result->step_tuned, predicted = result->step_predicted;
    cli_out("%d of %d problems searched to the end, %d candidates tried in this run, %d of them faulty\n",
            result->tuned, result->problems, result->candidates, result->faults);
    report_step(result);
    cli_out("Records: %s\n", result->path);
    if (!args->value[TUNE_FLAG_JSON])
        return;
    json_t *object = json_object();
    json_object_set_new(object, "problems", json_integer(result->problems));
    json_object_set_new(object, "searched", json_integer(result->tuned));
    json_object_set_new(object, "changed", json_integer(result->changed));
    json_object_set_new(object, "candidates", json_integer(result->candidates));
    json_object_set_new(object, "faulty", json_integer(result->faults));
    json_object_set_new(object, "step_microseconds",
                        json_pack("{s:o,s:o,s:o}", "default", cli_json_number(1e6 * before), "predicted",
                                  cli_json_number(1e6 * predicted), "tuned", cli_json_number(1e6 * after)));
    json_object_set_new(object, "records", cli_json_text(result->path));
    cli_print_json(object);
}

static const char *given(const char *text)
{
    return text[0] ? text : NULL;
}

static int run(const struct tool_args *args, char *program)
{
    char *worker[] = {program, "worker", NULL}, *folder = NULL;
    struct claret_network *network = NULL;
    struct claret_tune_result result = {.problems = 0};
    const struct claret_options *options = args->options;
    struct claret_tune_options tune = {.worker = worker,
                                       .device = given(options->device),
                                       .platform = given(options->platform),
                                       .kernel_dir = given(options->kernel_dir),
                                       .graph_options = graph_options,
                                       .graph_user = args->options,
                                       .records = given(options->tuning),
                                       .probe_clblast = args->value[TUNE_FLAG_CLBLAST] != NULL,
                                       .stop = &stop,
                                       .say = say};
    if (!tool_seconds(args, TUNE_FLAG_BUDGET, 1e6, &tune.budget) ||
        !tool_seconds(args, TUNE_FLAG_COMPILE_LIMIT, 1e6, &tune.compile_limit) ||
        !tool_seconds(args, TUNE_FLAG_RUN_LIMIT, 1e6, &tune.run_limit))
        return CLI_USAGE;
    enum claret_status status = claret_network_load(options->model, &network);
    if (status == CLARET_OK)
        status = claret_engine_cache_folder(options, &folder);
    if (status == CLARET_OK && !folder && !tune.records)
        status = claret_fail(CLARET_INVALID,
                             "there is no place for the records: give --tuning FILE or --cache-dir DIR");
    tune.network = network;
    tune.cache_folder = tune.cache_dir = folder;
    if (status == CLARET_OK) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        status = claret_tune_run(&tune, &result);
        cli_progress_clear();
    }
    int code = status == CLARET_OK ? CLI_DONE : CLI_FAILED;
    if (status == CLARET_STOPPED)
        cli_note("stopped; what was found is in %s, and the same command goes on from there", result.path);
    else if (status != CLARET_OK)
        code = failed(status);
    else
        report(args, &result);
    free(result.path);
    free(folder);
    claret_network_destroy(network);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------------------
 */

static int run_command(const struct tool_args *args, char *program)
{
    if (args->version) {
        cli_out("claret-tune %s\n", claret_version());
        return CLI_DONE;
    }
    if (args->help) {
        tool_help(args);
        return CLI_DONE;
    }
    cli_terminal_set(args->value[TUNE_FLAG_QUIET], args->value[TUNE_FLAG_VERBOSE], true,
                     args->value[TUNE_FLAG_JSON]);
    return args->command == TUNE_RUN ? run(args, program) : tune_saved(args);
}

int main(int argc, char **argv)
{
    static char self[] = "/proc/self/exe";
    struct tool_args args;
    int code = CLI_USAGE;
    /* The process that owns the device; CLARET_TUNE_FAULT is the tests'. */
    if (argc == 2 && strcmp(argv[1], "worker") == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        return claret_worker_run(0, 3, getenv("CLARET_TUNE_FAULT")) == CLARET_OK ? 0 : 1;
    }
    cli_terminal_start("claret-tune");
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* what scripts read has a point */
    signal(SIGPIPE, SIG_IGN);
    if (tool_parse(&tune_tool, argc, argv, &args))
        code = run_command(&args, self);
    claret_options_destroy(args.options);
    if (!cli_terminal_end() && code == CLI_DONE)
        code = CLI_FAILED;
    if (stop) {
        signal((int)stop, SIG_DFL);
        raise((int)stop);
    }
    return code;
}
