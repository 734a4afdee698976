/* Command lines of the tools: one table of a tool's commands and flags that parsing and --help come from.
 * Defaults of the library's options are the library's. */
#ifndef CLARET_TOOLS_TOOL_FLAGS_H
#define CLARET_TOOLS_TOOL_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include <claret/claret.h>

#define TOOL_MAX_FLAGS 40
#define TOOL_MAX_EXAMPLES 4

struct tool_flag {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: a switch */
    const char *key;      /* the library's option, NULL: none */
    const char *value;    /* the tool's own default, NULL: none */
    unsigned commands;    /* bit for each command that has it */
    const char *help;
};
struct tool_command {
    const char *name, *summary, *operands; /* " A.json B.json", "" */
    int operand_count;
    const char
        *examples[TOOL_MAX_EXAMPLES]; /* lines, NULL ends them; the last one stands in the tool's own help */
};
struct tool {
    const char *name, *about;
    const struct tool_flag *flags;
    int flag_count;
    const struct tool_command *commands;
    int command_count;
};

/* A command line, read. Texts point into argv. */
struct tool_args {
    const struct tool *tool;
    int command; /* command_count: none */
    struct claret_options *options;
    const char *value[TOOL_MAX_FLAGS]; /* "" for a switch; NULL: not given */
    const char *operand[2];
    int operands;
    bool help, version;
};

/* false: said what is wrong. Stops at --help and --version. args->options is to be destroyed. */
bool tool_parse(const struct tool *tool, int argc, char **argv, struct tool_args *args);
/* A flag's value, or its default, as a number from 1 (seconds: 0) to `most`; unchanged where there is none.
 * false: said what is wrong. */
bool tool_integer(const struct tool_args *args, int flag, int64_t most, int64_t *value);
bool tool_seconds(const struct tool_args *args, int flag, double most, double *value);
/* The default worth showing for a flag, NULL: none. */
const char *tool_flag_default(const struct tool_flag *flag, const struct claret_options *defaults);
/* --help of the command, of the tool where there is none. */
void tool_help(const struct tool_args *args);

#endif
