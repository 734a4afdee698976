/* The bench's commands and flags: one table that parsing and --help come from. Defaults of the library's
 * options are the library's. */
#ifndef CLARET_TOOLS_BENCH_FLAGS_H
#define CLARET_TOOLS_BENCH_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool_flags.h"

enum bench_command { BENCH_DEVICE, BENCH_STEP, BENCH_OPS, BENCH_TRAIN, BENCH_COMPARE, BENCH_COMMANDS };

enum bench_mask {
    BENCH_IN_D = 1 << BENCH_DEVICE,
    BENCH_IN_S = 1 << BENCH_STEP,
    BENCH_IN_O = 1 << BENCH_OPS,
    BENCH_IN_T = 1 << BENCH_TRAIN,
    BENCH_IN_C = 1 << BENCH_COMPARE,
    BENCH_IN_ST = BENCH_IN_S | BENCH_IN_T,
    BENCH_IN_SOT = BENCH_IN_ST | BENCH_IN_O,
    BENCH_IN_DSO = BENCH_IN_D | BENCH_IN_S | BENCH_IN_O,
    BENCH_IN_DSOT = BENCH_IN_D | BENCH_IN_SOT,
    BENCH_IN_ALL = BENCH_IN_DSOT | BENCH_IN_C
};

/* X(id, name, letter or 0, argument or NULL, the option's key in the library or NULL, the bench's own default
 * or NULL, commands, help) */
#define BENCH_FLAG_LIST(X)                                                                                   \
    X(MODEL, "model", 0, "NAME|FILE", "model", NULL, SOT,                                                    \
      "the network: a name of the zoo, or the path of a network text; ops: its nodes instead of the cases")  \
    X(BATCH_SIZE, "batch-size", 'b', "N", "batch-size", NULL, SOT, "images in a step")                       \
    X(DATA, "data", 0, "DIR|shapes", "data", NULL, T, "what to train on")                                    \
    X(STEPS, "steps", 0, "K", NULL, "1000", T, "steps in a repeat")                                          \
    X(WORKERS, "workers", 'j', "N", "workers", NULL, T, "threads that make batches; 0: none")                \
    X(REPEAT, "repeat", 0, "R", NULL, "5", DSOT, "times to measure; the spread is over them")                \
    X(SECONDS, "seconds", 0, "S", NULL, NULL, DSO,                                                           \
      "length of a repeat; device and ops: for each number (default: step 0.5, device 0.1, ops 0.05)")       \
    X(CASE, "case", 0, "NAME", NULL, NULL, O, "this op case alone")                                          \
    X(DATA_FILE, "data-file", 0, "FILE", NULL, NULL, S,                                                      \
      "images (F32, normalised) and labels (I64) of this safetensors file instead of random ones")           \
    X(LOSSES, "losses", 0, "K", NULL, NULL, S,                                                               \
      "measure nothing: print the losses of the first K steps over --data-file, batch after batch in its "   \
      "order, from its start again when fewer than a batch are left")                                        \
    X(INIT, "init", 0, "FILE", "init", NULL, ST, "start from these weights (safetensors)")                   \
    X(SEED, "seed", 0, "N", "seed", NULL, ST, "of the initial weights, the images and the shuffling")        \
    X(LR, "lr", 0, "RATE", "lr", NULL, ST, "learning rate")                                                  \
    X(MOMENTUM, "momentum", 0, "X", "momentum", NULL, SOT, "momentum of SGD")                                \
    X(WEIGHT_DECAY, "weight-decay", 0, "X", "weight-decay", NULL, ST, "L2 decay")                            \
    X(NO_FUSE, "no-fuse", 0, NULL, "no-fuse", NULL, ST, "keep every layer apart")                            \
    X(DEVICE, "device", 0, "SEL|all", "device", NULL, DSOT,                                                  \
      "as claret's --device; all: every usable device in turn")                                              \
    X(PLATFORM, "platform", 0, "SEL", "platform", NULL, DSOT, "as claret's --platform")                      \
    X(MAX_MEMORY, "max-memory", 0, "SIZE", "max-memory", NULL, ST, "use at most so much device memory")      \
    X(SOLVER, "solver", 0, "NODE=NAME...", "solver", NULL, ST, "as claret's --solver")                       \
    X(TUNING, "tuning", 0, "FILE", "tuning", NULL, ST, "as claret's --tuning")                               \
    X(NO_TUNING, "no-tuning", 0, NULL, "no-tuning", NULL, ST, "use no tuning records")                       \
    X(CACHE_DIR, "cache-dir", 0, "DIR", "cache-dir", NULL, DSOT, "keep compiled programs there")             \
    X(NO_CACHE, "no-cache", 0, NULL, "no-cache", NULL, DSOT, "neither read nor write compiled programs")     \
    X(KERNEL_DIR, "kernel-dir", 0, "DIR", "kernel-dir", NULL, DSOT, "take the .cl sources from there")       \
    X(JSON, "json", 0, NULL, NULL, NULL, ALL,                                                                \
      "one JSON object on standard output at the end; what would be there goes to standard error")           \
    X(CSV, "csv", 0, NULL, NULL, NULL, ALL, "a table with commas on standard output at the end, likewise")   \
    X(QUIET, "quiet", 'q', NULL, NULL, NULL, ALL, "only warnings and errors on standard error")              \
    X(VERBOSE, "verbose", 'v', NULL, NULL, NULL, ALL, "more on standard error")                              \
    X(HELP, "help", 'h', NULL, NULL, NULL, ALL, "print this help and end")                                   \
    X(VERSION, "version", 0, NULL, NULL, NULL, ALL, "print the version and end")

enum bench_flag_id {
#define X(id, name, letter, argument, key, value, commands, help) BENCH_FLAG_##id,
    BENCH_FLAG_LIST(X)
#undef X
        BENCH_FLAGS
};

extern const struct tool bench_tool;

/* A command line, read. Texts point into argv. */
struct bench_args {
    enum bench_command command; /* BENCH_COMMANDS: none */
    struct claret_options *options;
    const char *value[BENCH_FLAGS]; /* "" for a switch; NULL: not given and no default */
    const char *operand[2];         /* compare's files */
    int operands;
    int64_t repeat, steps, losses; /* losses 0: not asked for */
    double seconds;
};

/* false: said what is wrong. Stops at --help and --version. args->options is to be destroyed. */
bool bench_parse(int argc, char **argv, struct bench_args *args);
/* --help of a command, of the bench for BENCH_COMMANDS. */
void bench_help(enum bench_command command, struct claret_options *defaults);

#endif
