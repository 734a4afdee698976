/* The command `claret`: a client of the library's public interface. */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define LARGE_BLOCK (1 << 20) /* bytes */

static int run_command(enum cli_command_id command, const struct cli_args *args)
{
    static int (*const commands[CLI_COMMAND_COUNT])(const struct cli_args *) = {
        [CLI_DEVICES] = cli_devices, [CLI_TRAIN] = cli_train, [CLI_EVAL] = cli_eval,
        [CLI_SHOW] = cli_show,       [CLI_FETCH] = cli_fetch, [CLI_PREDICT] = cli_predict};

    if (args->value[CLI_VERSION]) {
        cli_out("claret %s\n", claret_version());
        return CLI_DONE;
    }
    if (args->value[CLI_HELP]) {
        if (command == CLI_COMMAND_COUNT)
            cli_help();
        else
            cli_help_command(command, args->options);
        return CLI_DONE;
    }
    if (command == CLI_COMMAND_COUNT) {
        cli_error("no command; see claret --help");
        return CLI_USAGE;
    }
    if (args->value[CLI_JSON] && cli_plan_wanted(args)) {
        cli_error("--%s prints text: it cannot go with --json",
                  args->value[CLI_DUMP_PLAN] ? "dump-plan" : "explain");
        return CLI_USAGE;
    }
    cli_terminal_set(args->value[CLI_QUIET], args->value[CLI_VERBOSE], !args->value[CLI_NO_PROGRESS],
                     args->value[CLI_JSON]);
    return cli_check_usage(command, args) ? commands[command](args) : CLI_USAGE;
}

/* `claret help [COMMAND]` is `claret [COMMAND] --help`. */
static int help(int argc, char **argv, int at)
{
    int topic = cli_find_word(argc, argv, at + 1);
    enum cli_command_id command = topic < argc ? cli_command_find(argv[topic]) : CLI_COMMAND_COUNT;
    struct cli_args args = {.value[CLI_HELP] = ""};
    int code = CLI_USAGE;

    if (topic < argc && command == CLI_COMMAND_COUNT)
        cli_command_unknown(argv[topic]);
    else if (claret_options_create(&args.options) != CLARET_OK)
        code = cli_failed(CLI_FAILED);
    else
        code = run_command(command, &args);
    claret_options_destroy(args.options);
    return code;
}

static int dispatch(int argc, char **argv)
{
    int at = cli_find_word(argc, argv, 1), code = CLI_USAGE;
    enum cli_command_id command = CLI_COMMAND_COUNT;
    struct cli_args args;

    if (at < argc && strcmp(argv[at], "help") == 0)
        return help(argc, argv, at);
    if (at < argc) {
        command = cli_command_find(argv[at]);
        if (command == CLI_COMMAND_COUNT) {
            cli_command_unknown(argv[at]);
            return CLI_USAGE;
        }
    }
    if (cli_parse(command, argc, argv, at, &args))
        code = run_command(command, &args);
    else if (args.unread)
        code = CLI_FAILED;
    claret_options_destroy(args.options);
    claret_checkpoint_destroy(args.checkpoint);
    free(args.operands);
    return code;
}

int main(int argc, char **argv)
{
#ifdef M_MMAP_THRESHOLD /* glibc: what was read of a data set goes back to the system when it is freed */
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
#endif
    cli_terminal_start("claret");
    cli_signals_start();
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* what scripts read has a point */
    /* A reader that goes away is an error of write(): training ends, its weights are saved. */
    signal(SIGPIPE, SIG_IGN);
    int code = dispatch(argc, argv);
    if (!cli_terminal_end() && code == CLI_DONE)
        code = CLI_FAILED;
    if (cli_signals_caught())
        cli_signals_raise();
    return code;
}
