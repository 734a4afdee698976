/* The build's tool that writes the manual pages and bash's completion from the command's own tables:
 *     pages man [COMMAND] | pages bash */
#include <stdio.h>
#include <string.h>

#include "cli/flags.h"
#include "cli/help.h"
#include "cli/roff.h"

static void examples(const struct cli_example *rows)
{
    for (; rows->line; rows++)
        cli_roff_entry(rows->line, rows->text);
}

static void flag_entry(const struct cli_flag *flag, const struct claret_options *defaults)
{
    cli_roff_flag(flag->letter, flag->name, flag->argument, flag->help, cli_flag_default(flag, defaults));
}

static void see_also(int self)
{
    puts(".SH SEE ALSO");
    if (self >= 0)
        puts(".BR claret (1)");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        if (i != self)
            printf(".BR claret\\-%s (1)\n", cli_commands[i].name);
    puts(".BR claret\\-bench (1)\n.BR claret\\-tune (1)");
}

static void page_claret(void)
{
    cli_roff_head("claret", "train convolutional networks on any OpenCL device");
    puts(".SH SYNOPSIS\n.B claret\n.I COMMAND\n.RI [ OPTION ]...\n.SH EXAMPLES");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        cli_roff_entry(cli_commands[i].examples->line, cli_commands[i].examples->text);
    puts(".SH COMMANDS");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        cli_roff_entry(cli_commands[i].name, cli_commands[i].summary);
    cli_roff_entry("help", "what a command does: claret help COMMAND");
    puts(".SH DESCRIPTION");
    cli_roff_paragraph(
        "Options may stand anywhere, a long one may be shortened as long as it is the only one that begins "
        "so, its value follows after '=' or a space, and -- ends them. Numbers have a decimal point whatever "
        "the locale is.");
    cli_roff_exit_status(true);
    cli_roff_environment(true);
    see_also(-1);
}

static void page_command(enum cli_command_id id, const struct claret_options *defaults)
{
    const struct cli_command *command = &cli_commands[id];
    char name[64];

    snprintf(name, sizeof(name), "claret-%s", command->name);
    cli_roff_head(name, command->summary);
    printf(".SH SYNOPSIS\n.B claret %s\n.RI [ OPTION ]...\n", command->name);
    if (command->operand)
        cli_roff_line(".I ", command->operand, "");
    puts(".SH EXAMPLES");
    examples(command->examples);
    puts(".SH DESCRIPTION");
    for (const char *const *text = command->paragraphs; *text; text++)
        cli_roff_paragraph(*text);
    puts(".SH OPTIONS");
    for (int group = 0; group < CLI_GROUP_COUNT; group++) {
        bool titled = false;
        for (int i = 0; i < CLI_FLAG_COUNT; i++) {
            if ((int)cli_flags[i].group != group || !(cli_flags[i].commands & 1U << id))
                continue;
            if (!titled)
                cli_roff_line(".SS ", cli_groups[group], "");
            titled = true;
            flag_entry(&cli_flags[i], defaults);
        }
    }
    cli_roff_exit_status(id == CLI_TRAIN);
    cli_roff_environment(CLI_IN_TESP & 1U << id);
    see_also((int)id);
}

/* ---- bash --------------------------------------------------------------------------------------- */

/* The names of a command's flags, those with a value first. */
static void bash_flags(enum cli_command_id command)
{
    for (int i = 0; i < CLI_FLAG_COUNT; i++)
        if (cli_flags[i].commands & 1U << command)
            printf(" --%s", cli_flags[i].name);
}

/* "--data|--weights|-o": the flags whose value is a path, or (paths false) another text. */
static void bash_values(bool paths)
{
    const char *bar = "";

    for (int i = 0; i < CLI_FLAG_COUNT; i++) {
        const struct cli_flag *flag = &cli_flags[i];
        bool path = flag->argument && (strstr(flag->argument, "FILE") || strstr(flag->argument, "DIR"));
        if (!flag->argument || path != paths)
            continue;
        printf("%s--%s", bar, flag->name);
        if (flag->letter)
            printf("|-%c", flag->letter);
        bar = "|";
    }
}

static void page_bash(void)
{
    puts("# Made from claret's flag table.\n_claret()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} i "
         "command= flags=\n"
         "    case ${COMP_WORDS[COMP_CWORD-1]} in");
    fputs("    ", stdout);
    bash_values(true);
    puts(")\n        COMPREPLY=($(compgen -f -- \"$word\"))\n        return ;;");
    fputs("    ", stdout);
    bash_values(false);
    puts(")\n        return ;;\n    esac\n    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        case ${COMP_WORDS[i]} in");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        printf("        %s) command=%s flags=\"", cli_commands[i].name, cli_commands[i].name);
        bash_flags((enum cli_command_id)i);
        puts("\" ;;");
    }
    fputs("        esac\n    done\n    if [[ -z $command ]]; then\n        flags=\"--help --version help",
          stdout);
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        printf(" %s", cli_commands[i].name);
    puts("\"\n    elif [[ $word != -* ]]; then\n        COMPREPLY=($(compgen -f -- \"$word\"))\n        "
         "return\n"
         "    fi\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n}\ncomplete -o filenames -F _claret "
         "claret");
}

int main(int argc, char **argv)
{
    struct claret_options *defaults = NULL;
    bool right = argc > 1;

    if (claret_options_create(&defaults) != CLARET_OK)
        return 1;
    if (argc == 2 && strcmp(argv[1], "man") == 0)
        page_claret();
    else if (argc == 2 && strcmp(argv[1], "bash") == 0)
        page_bash();
    else if (argc == 3 && strcmp(argv[1], "man") == 0 && cli_command_find(argv[2]) < CLI_COMMAND_COUNT)
        page_command(cli_command_find(argv[2]), defaults);
    else
        right = false;
    claret_options_destroy(defaults);
    if (!right)
        fputs("pages man [COMMAND] | pages bash\n", stderr);
    return right && fflush(stdout) == 0 ? 0 : 1;
}
