/* The build's tool that writes the manual pages and bash's completion from the command's own tables:
 *     pages man [COMMAND] | pages bash */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/flags.h"
#include "cli/help.h"

/* Text in roff: no macro at a line's start, '-' as it is typed. */
static void roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '\'')
            fputs("\\(aq", stdout);
        else if (*text == '~')
            fputs("\\(ti", stdout);
        else if (*text == '^')
            fputs("\\(ha", stdout);
        else if (*text == '`')
            fputs("\\(ga", stdout);
        else
            putchar(*text);
    }
}

static void line(const char *before, const char *text, const char *after)
{
    fputs(before, stdout);
    roff(text);
    puts(after);
}

static void paragraph(const char *text)
{
    puts(".PP");
    line("", text, "");
}

static void entry(const char *name, const char *text)
{
    puts(".TP");
    line("\\fB", name, "\\fR");
    line("", text, "");
}

static void head(const char *name, const char *summary)
{
    puts(".\\\" Made from the command's flag table.");
    fputs(".TH ", stdout);
    for (const char *letter = name; *letter; letter++)
        fputs(*letter == '-' ? "\\-" : (char[]){(char)toupper((unsigned char)*letter), '\0'}, stdout);
    printf(" 1 \"\" \"claret %s\" \"claret\"\n.SH NAME\n", claret_version());
    line("", name, " \\-");
    line("", summary, "");
}

static void examples(const struct cli_example *rows)
{
    for (; rows->line; rows++)
        entry(rows->line, rows->text);
}

static void flag_entry(const struct cli_flag *flag, const struct claret_options *defaults)
{
    const char *value = cli_flag_default(flag, defaults);

    puts(".TP");
    if (flag->letter)
        printf("\\fB\\-%c\\fR, ", flag->letter);
    line("\\fB\\-\\-", flag->name, flag->argument ? "\\fR \\c" : "\\fR");
    if (flag->argument)
        line("\\fI", flag->argument, "\\fR");
    line("", flag->help, value ? "" : ".");
    if (value)
        line("(default: ", value, ").");
}

static void exit_status(unsigned mask)
{
    puts(".SH EXIT STATUS");
    entry("0", "done");
    entry("1", "data, files, network text, memory, driver or numbers are wrong");
    entry("2", "wrong usage, or an unknown or ambiguous device");
    entry("3", "no usable device");
    if (mask & CLI_IN_T)
        entry("130, 143", "as a shell shows it: interrupted by SIGINT or SIGTERM, weights saved");
}

static void environment(unsigned mask)
{
    puts(".SH ENVIRONMENT");
    if (mask & CLI_IN_TESP)
        entry("CLARET_DEVICE", "what --device is when it is not given");
    if (mask & CLI_IN_TESP)
        entry("XDG_CACHE_HOME", "compiled programs and tuning records are kept in its folder claret; in "
                                "~/.cache/claret when it is unset or cannot be written");
    entry("NO_COLOR", "when set and not empty: no colours");
    paragraph("The OpenCL loader and drivers have variables of their own, such as OCL_ICD_VENDORS, "
              "RUSTICL_ENABLE and POCL_DEVICES.");
}

static void see_also(int self)
{
    puts(".SH SEE ALSO");
    if (self >= 0)
        puts(".BR claret (1)");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        if (i != self)
            printf(".BR claret\\-%s (1)\n", cli_commands[i].name);
}

static void page_claret(void)
{
    head("claret", "train convolutional networks on any OpenCL device");
    puts(".SH SYNOPSIS\n.B claret\n.I COMMAND\n.RI [ OPTION ]...\n.SH EXAMPLES");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        entry(cli_commands[i].examples->line, cli_commands[i].examples->text);
    puts(".SH COMMANDS");
    for (int i = 0; i < CLI_COMMAND_COUNT; i++)
        entry(cli_commands[i].name, cli_commands[i].summary);
    entry("help", "what a command does: claret help COMMAND");
    puts(".SH DESCRIPTION");
    paragraph(
        "Options may stand anywhere, a long one may be shortened as long as it is the only one that begins "
        "so, its value follows after '=' or a space, and -- ends them. Numbers have a decimal point whatever "
        "the locale is.");
    exit_status(CLI_IN_ALL);
    environment(CLI_IN_ALL);
    see_also(-1);
}

static void page_command(enum cli_command_id id, const struct claret_options *defaults)
{
    const struct cli_command *command = &cli_commands[id];
    char name[64];

    snprintf(name, sizeof(name), "claret-%s", command->name);
    head(name, command->summary);
    printf(".SH SYNOPSIS\n.B claret %s\n.RI [ OPTION ]...\n", command->name);
    if (command->operand)
        line(".I ", command->operand, "");
    puts(".SH EXAMPLES");
    examples(command->examples);
    puts(".SH DESCRIPTION");
    for (const char *const *text = command->paragraphs; *text; text++)
        paragraph(*text);
    puts(".SH OPTIONS");
    for (int group = 0; group < CLI_GROUP_COUNT; group++) {
        bool titled = false;
        for (int i = 0; i < CLI_FLAG_COUNT; i++) {
            if ((int)cli_flags[i].group != group || !(cli_flags[i].commands & 1U << id))
                continue;
            if (!titled)
                line(".SS ", cli_groups[group], "");
            titled = true;
            flag_entry(&cli_flags[i], defaults);
        }
    }
    exit_status(1U << id);
    environment(1U << id);
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
