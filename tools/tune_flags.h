/* claret-tune's commands and flags. */
#ifndef CLARET_TOOLS_TUNE_FLAGS_H
#define CLARET_TOOLS_TUNE_FLAGS_H

#include "tool_flags.h"

enum tune_command { TUNE_RUN, TUNE_LIST, TUNE_SHOW, TUNE_EXPORT, TUNE_CLEAR, TUNE_COMMANDS };

enum tune_mask {
    TUNE_IN_R = 1 << TUNE_RUN,
    TUNE_IN_SAVED = 1 << TUNE_LIST | 1 << TUNE_SHOW | 1 << TUNE_EXPORT | 1 << TUNE_CLEAR,
    TUNE_IN_ALL = TUNE_IN_R | TUNE_IN_SAVED
};

/* X(id, name, letter or 0, argument or NULL, the option's key in the library or NULL, the tool's own default
 * or NULL, commands, help) */
#define TUNE_FLAG_LIST(X)                                                                                    \
    X(MODEL, "model", 0, "NAME|FILE", "model", NULL, R,                                                      \
      "the network: a name of the zoo, or the path of a network text")                                       \
    X(BATCH_SIZE, "batch-size", 'b', "N", "batch-size", NULL, R, "images in a step")                         \
    X(BUDGET, "budget", 0, "SECONDS", NULL, "120", R,                                                        \
      "time for the search in all; what is not done in it is done by the next run")                          \
    X(CLBLAST, "clblast", 0, NULL, NULL, NULL, R,                                                            \
      "try CLBlast for the GEMMs too; on some devices it compiles for minutes")                              \
    X(COMPILE_LIMIT, "compile-limit", 0, "SECONDS", NULL, "60", R, "end a candidate that compiles longer")   \
    X(RUN_LIMIT, "run-limit", 0, "SECONDS", NULL, "30", R, "end a candidate that runs longer")               \
    X(MOMENTUM, "momentum", 0, "X", "momentum", NULL, R, "momentum of SGD")                                  \
    X(NO_FUSE, "no-fuse", 0, NULL, "no-fuse", NULL, R, "keep every layer apart")                             \
    X(DEVICE, "device", 0, "SEL", "device", NULL, ALL,                                                       \
      "run: as claret's --device; else: part of the name of a device that there are records of")             \
    X(PLATFORM, "platform", 0, "SEL", "platform", NULL, R, "as claret's --platform")                         \
    X(TUNING, "tuning", 0, "FILE", "tuning", NULL, ALL, "this file of records instead of the cache's")       \
    X(CACHE_DIR, "cache-dir", 0, "DIR", "cache-dir", NULL, ALL,                                              \
      "as claret's --cache-dir; the records are in its folder tuning")                                       \
    X(KERNEL_DIR, "kernel-dir", 0, "DIR", "kernel-dir", NULL, R, "take the .cl sources from there")          \
    X(JSON, "json", 0, NULL, NULL, NULL, R,                                                                  \
      "one JSON object on standard output at the end; what would be there goes to standard error")           \
    X(QUIET, "quiet", 'q', NULL, NULL, NULL, ALL, "only warnings and errors on standard error")              \
    X(VERBOSE, "verbose", 'v', NULL, NULL, NULL, ALL, "more on standard error")                              \
    X(HELP, "help", 'h', NULL, NULL, NULL, ALL, "print this help and end")                                   \
    X(VERSION, "version", 0, NULL, NULL, NULL, ALL, "print the version and end")

enum tune_flag_id {
#define X(id, name, letter, argument, key, value, commands, help) TUNE_FLAG_##id,
    TUNE_FLAG_LIST(X)
#undef X
        TUNE_FLAGS
};

extern const struct tool tune_tool;

/* list, show, export, clear (tune_show.c): of the records that are there. Return the exit code. */
int tune_saved(const struct tool_args *args);

#endif
