/* The build's tool that writes the tools' manual pages from their own tables: tool-pages bench|tune */
#include <stdio.h>
#include <string.h>

#include "bench_flags.h"
#include "cli/roff.h"
#include "tool_flags.h"
#include "tune_flags.h"

/* "run, list: " where not all commands have the flag. */
static void add_commands(const struct tool *tool, const struct tool_flag *flag, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    if ((flag->commands & ((1U << tool->command_count) - 1)) == (1U << tool->command_count) - 1)
        return;
    for (int i = 0; i < tool->command_count; i++)
        if (flag->commands & 1U << i && used < size)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", tool->commands[i].name);
    if (used < size)
        snprintf(text + used, size - used, ": ");
}

static void page(const struct tool *tool, const char *summary, const struct claret_options *defaults)
{
    cli_roff_head(tool->name, summary);
    printf(".SH SYNOPSIS\n.B ");
    cli_roff_line("", tool->name, "");
    puts(".I COMMAND\n.RI [ OPTION ]...\n.SH EXAMPLES");
    for (int i = 0; i < tool->command_count; i++)
        for (int e = 0; e < TOOL_MAX_EXAMPLES && tool->commands[i].examples[e]; e++) {
            puts(e ? ".TQ" : ".TP");
            cli_roff_line("\\fB", tool->commands[i].examples[e], "\\fR");
            if (e + 1 == TOOL_MAX_EXAMPLES || !tool->commands[i].examples[e + 1])
                cli_roff_line("", tool->commands[i].summary, "");
        }
    puts(".SH COMMANDS");
    for (int i = 0; i < tool->command_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", tool->commands[i].name, tool->commands[i].operands);
        cli_roff_entry(name, tool->commands[i].summary);
    }
    puts(".SH OPTIONS");
    for (int i = 0; i < tool->flag_count; i++) {
        const struct tool_flag *flag = &tool->flags[i];
        char help[1024];
        add_commands(tool, flag, help, sizeof help);
        size_t used = strlen(help);
        snprintf(help + used, sizeof help - used, "%s", flag->help);
        cli_roff_flag(flag->letter, flag->name, flag->argument, help, tool_flag_default(flag, defaults));
    }
    cli_roff_exit_status(false);
    cli_roff_environment(true);
    puts(".SH SEE ALSO\n.BR claret (1)");
}

int main(int argc, char **argv)
{
    struct claret_options *defaults = NULL;
    const char *name = argc == 2 ? argv[1] : "";
    int code = 0;

    if (claret_options_create(&defaults) != CLARET_OK)
        return 1;
    if (strcmp(name, "bench") == 0)
        page(&bench_tool, "measure claret, and the devices it runs on", defaults);
    else if (strcmp(name, "tune") == 0)
        page(&tune_tool, "find the fastest kernels for a network on a device", defaults);
    else
        code = 1;
    claret_options_destroy(defaults);
    if (code)
        fputs("tool-pages bench|tune\n", stderr);
    return fflush(stdout) == 0 ? code : 1;
}
