/* --help: examples first. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/terminal.h"

#define WIDTH 80
#define HELP_COLUMN 28

/* Words of `text` and, in one piece, `tail` after them; lines of at most WIDTH, from `column` where the
 * cursor is already. */
static void wrap(const char *text, int column, const char *tail)
{
    size_t room = (size_t)(WIDTH - column - 1), used = 0;

    while (*text || *tail) {
        size_t length = strcspn(text, " ");
        const char *word = length ? text : tail;
        if (length) {
            text += length;
            text += strspn(text, " ");
        } else {
            length = strlen(tail);
            tail = "";
        }
        if (used && used + 1 + length > room) {
            cli_out("\n%*s", column, "");
            used = 0;
        }
        cli_out("%s%.*s", used ? " " : "", (int)length, word);
        used += length + (used > 0);
    }
    cli_out("\n");
}

const char *cli_flag_default(const struct cli_flag *flag, const struct claret_options *defaults)
{
    const char *value = flag->key && flag->argument ? claret_options_get(defaults, flag->key) : NULL;

    if (flag == &cli_flags[CLI_DATA_PATH] ||
        flag == &cli_flags[CLI_EVAL_BATCH]) /* said at --data, by itself */
        return NULL;
    return value && value[0] ? value : NULL;
}

static void print_flag(const struct cli_flag *flag, const struct claret_options *defaults)
{
    const char *value = cli_flag_default(flag, defaults);
    char head[WIDTH], tail[WIDTH] = "";

    snprintf(head, sizeof(head), "  %c%c%c --%s%s%s", flag->letter ? '-' : ' ',
             flag->letter ? flag->letter : ' ', flag->letter ? ',' : ' ', flag->name,
             flag->argument ? " " : "", flag->argument ? flag->argument : "");
    if (value)
        snprintf(tail, sizeof(tail), "(default: %s)", value);
    if (strlen(head) + 2 > HELP_COLUMN)
        cli_out("%s\n%*s", head, HELP_COLUMN, "");
    else
        cli_out("%-*s", HELP_COLUMN, head);
    wrap(flag->help, HELP_COLUMN, tail);
}

static void print_examples(const struct cli_example *examples)
{
    cli_out("Examples:\n");
    for (; examples->line; examples++) {
        cli_out("  %s\n      ", examples->line);
        wrap(examples->text, 6, "");
    }
}

void cli_help_command(enum cli_command_id command, const struct claret_options *defaults)
{
    const struct cli_command *row = &cli_commands[command];

    cli_out("claret %s: %s\n\n", row->name, row->summary);
    print_examples(row->examples);
    cli_out("\nUsage: claret %s [OPTION]...%s%s\n", row->name, row->operand ? " " : "",
            row->operand ? row->operand : "");
    for (int group = 0; group < CLI_GROUP_COUNT; group++) {
        bool titled = false;
        for (int i = 0; i < CLI_FLAG_COUNT; i++) {
            const struct cli_flag *flag = &cli_flags[i];
            if ((int)flag->group != group || !(flag->commands & 1U << command))
                continue;
            if (!titled)
                cli_out("\n%s:\n", cli_groups[group]);
            titled = true;
            print_flag(flag, defaults);
        }
    }
    cli_out("\nMore: man claret-%s\n", row->name);
}

void cli_help(void)
{
    cli_out("claret trains convolutional networks on any OpenCL device.\n\nExamples:\n");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        cli_out("  %s\n      %s\n", cli_commands[i].examples->line, cli_commands[i].examples->text);
    cli_out("\nUsage: claret COMMAND [OPTION]...\n\nCommands:\n");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        cli_out("  %-10s%s\n", cli_commands[i].name, cli_commands[i].summary);
    cli_out("  %-10s%s\n", "help", "what a command does: claret help COMMAND");
    cli_out("\nEach command explains its options: claret COMMAND --help. More: man claret\n");
}
