/* claret-tune's command line. */
#include "tune_flags.h"

static const struct tool_flag flags[TUNE_FLAGS] = {
#define X(id, name, letter, argument, key, value, commands, help)                                            \
    {name, letter, argument, key, value, TUNE_IN_##commands, help},
    TUNE_FLAG_LIST(X)
#undef X
};

static const struct tool_command commands[TUNE_COMMANDS] = {
    {"run",
     "find the fastest kernels for a network on this device",
     "",
     0,
     {"claret-tune run --model simplecnn --batch-size 32",
      "claret-tune run --model ./mynet.net -b 128 --device gpu --budget 600 --clblast"}},
    {"list", "list what has been found", "", 0, {"claret-tune list", "claret-tune list --device radeon"}},
    {"show",
     "say why each candidate won or lost",
     " [PROBLEM]",
     1,
     {"claret-tune show", "claret-tune show conv2d_dw"}},
    {"export",
     "write a device's records to a file, for --tuning elsewhere",
     " [FILE]",
     1,
     {"claret-tune export", "claret-tune export --device radeon tuned.json"}},
    {"clear", "remove the records", "", 0, {"claret-tune clear", "claret-tune clear --device radeon"}},
};

const struct tool tune_tool = {
    .name = "claret-tune",
    .about = "claret-tune finds the fastest kernels for a network on a device; claret uses "
             "what it found unasked.",
    .flags = flags,
    .flag_count = TUNE_FLAGS,
    .commands = commands,
    .command_count = TUNE_COMMANDS};
