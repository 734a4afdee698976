/* The bench's command line. */
#include "bench_flags.h"

#include "cli/terminal.h"
#include "tool_flags.h"

static const struct tool_flag flags[BENCH_FLAGS] = {
#define X(id, name, letter, argument, key, value, commands, help)                                            \
    {name, letter, argument, key, value, BENCH_IN_##commands, help},
    BENCH_FLAG_LIST(X)
#undef X
};

static const struct tool_command commands[BENCH_COMMANDS] = {
    {"device",
     "measure a device's limits: arithmetic, memory, latencies",
     "",
     0,
     {"claret-bench device", "claret-bench device --device all --json"}},
    {"step",
     "measure training steps with the data in memory, launch by launch",
     "",
     0,
     {"claret-bench step --model simplecnn --batch-size 32",
      "claret-bench step --model ./mynet.net -b 128 --no-fuse --json",
      "claret-bench step --data-file batches.safetensors --init weights.safetensors --losses 10 --json"}},
    {"ops",
     "measure each op by each of its solvers",
     "",
     0,
     {"claret-bench ops --case conv-cifar", "claret-bench ops --model simplecnn -b 32 --csv"}},
    {"train",
     "measure training from data on disk to the device",
     "",
     0,
     {"claret-bench train --model simplecnn --data ./data -b 4 --steps 2000"}},
    {"compare",
     "say what changed between two results by more than their spread",
     " A.json B.json",
     2,
     {"claret-bench step --json > before.json; claret-bench step --json > after.json",
      "claret-bench compare before.json after.json"}},
};

const struct tool bench_tool = {.name = "claret-bench",
                                .about = "claret-bench measures claret, and the devices it runs on.",
                                .flags = flags,
                                .flag_count = BENCH_FLAGS,
                                .commands = commands,
                                .command_count = BENCH_COMMANDS};

static bool check(const struct tool_args *tool, struct bench_args *args)
{
    args->seconds = args->command == BENCH_DEVICE ? 0.1 : args->command == BENCH_OPS ? 0.05 : 0.5;
    if (!tool_integer(tool, BENCH_FLAG_REPEAT, 1000, &args->repeat) ||
        !tool_integer(tool, BENCH_FLAG_STEPS, INT64_C(1) << 40, &args->steps) ||
        !tool_integer(tool, BENCH_FLAG_LOSSES, 1 << 20, &args->losses) ||
        !tool_seconds(tool, BENCH_FLAG_SECONDS, 3600, &args->seconds))
        return false;
    if (args->value[BENCH_FLAG_JSON] && args->value[BENCH_FLAG_CSV])
        cli_error("either --json or --csv");
    else if (args->value[BENCH_FLAG_LOSSES] && !args->value[BENCH_FLAG_DATA_FILE])
        cli_error("--losses needs --data-file");
    else if (args->value[BENCH_FLAG_CASE] && args->value[BENCH_FLAG_MODEL])
        cli_error("either --case or --model");
    else if (args->command == BENCH_COMPARE && args->operands < 2)
        cli_error("compare needs two results: claret-bench compare A.json B.json");
    else
        return true;
    return false;
}

bool bench_parse(int argc, char **argv, struct bench_args *args)
{
    struct tool_args tool;
    bool right = tool_parse(&bench_tool, argc, argv, &tool);
    *args = (struct bench_args){.command = (enum bench_command)tool.command, .options = tool.options};
    for (int i = 0; i < BENCH_FLAGS; i++)
        args->value[i] = tool.value[i];
    for (int i = 0; i < tool.operands; i++)
        args->operand[args->operands++] = tool.operand[i];
    return right && (tool.help || tool.version || check(&tool, args));
}

void bench_help(enum bench_command command, struct claret_options *defaults)
{
    tool_help(&(struct tool_args){.tool = &bench_tool, .command = (int)command, .options = defaults});
}
