/* Reading the command line, and --help. */
#include "tool_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/flags.h"
#include "cli/terminal.h"

/* ---- names ----------------------------------------------------------------------------------------------
 */

#define NO_FLAG (-1)
#define LONGEST 40

static const char *next_flag(int index, const void *user)
{
    const struct tool *tool = user;
    return index < tool->flag_count ? tool->flags[index].name : NULL;
}

static const char *next_command(int index, const void *user)
{
    const struct tool *tool = user;
    return index < tool->command_count ? tool->commands[index].name : NULL;
}

/* The flag of that name, or the only one that begins so, among those of `mask`. */
static int find_long(const struct tool *tool, const char *name, size_t length, unsigned mask)
{
    int found = NO_FLAG, count = 0;
    for (int i = 0; i < tool->flag_count; i++) {
        if (!(tool->flags[i].commands & mask) || strncmp(tool->flags[i].name, name, length) != 0)
            continue;
        if (!tool->flags[i].name[length])
            return i;
        found = i;
        count++;
    }
    return length && count == 1 ? found : NO_FLAG;
}

static int find_letter(const struct tool *tool, char letter, unsigned mask)
{
    for (int i = 0; i < tool->flag_count; i++)
        if (tool->flags[i].letter == letter && (tool->flags[i].commands & mask))
            return i;
    return NO_FLAG;
}

/* ---- parsing --------------------------------------------------------------------------------------------
 */

struct parser {
    int argc, at; /* at: the word being read */
    int skip;     /* the command's own */
    char **argv;
    struct tool_args *args;
    const struct tool *tool;
};

static unsigned mask_of(const struct parser *parser)
{
    return parser->args->command < parser->tool->command_count ? 1U << parser->args->command : ~0U;
}

static bool unknown(const struct parser *parser, const char *name)
{
    const struct tool *tool = parser->tool;
    int other = find_long(tool, name, strlen(name), ~0U), near = claret_nearest(name, next_flag, tool);
    if (other >= 0)
        cli_error("--%s is not an option of %s %s; see %s --help", tool->flags[other].name, tool->name,
                  tool->commands[parser->args->command].name, tool->name);
    else if (near >= 0)
        cli_error("there is no option --%s; did you mean --%s?", name, tool->flags[near].name);
    else
        cli_error("there is no option --%s; see %s --help", name, tool->name);
    return false;
}

static bool take(struct parser *parser, int index, const char *value)
{
    const struct tool_flag *flag = &parser->tool->flags[index];
    if (!value && flag->argument) {
        if (++parser->at >= parser->argc || parser->at == parser->skip) {
            cli_error("--%s needs a value: %s", flag->name, flag->argument);
            return false;
        }
        value = parser->argv[parser->at];
    }
    parser->args->value[index] = value ? value : "";
    parser->args->help |= strcmp(flag->name, "help") == 0;
    parser->args->version |= strcmp(flag->name, "version") == 0;
    if (!flag->key || cli_set_option(parser->args->options, flag->key, flag->argument, value) == CLARET_OK)
        return true;
    cli_error("--%s", claret_error());
    return false;
}

static bool read_long(struct parser *parser, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    char name[LONGEST + 1];
    int index = find_long(parser->tool, word, length, mask_of(parser));
    snprintf(name, sizeof name, "%.*s", (int)(length < LONGEST ? length : LONGEST), word);
    if (index == NO_FLAG)
        return unknown(parser, name);
    if (equals && !parser->tool->flags[index].argument) {
        cli_error("--%s takes no value", parser->tool->flags[index].name);
        return false;
    }
    return take(parser, index, equals ? equals + 1 : NULL);
}

static bool read_letters(struct parser *parser, const char *letters)
{
    for (; *letters; letters++) {
        int index = find_letter(parser->tool, *letters, mask_of(parser));
        if (index == NO_FLAG) {
            cli_error("there is no option -%c; see %s --help", *letters, parser->tool->name);
            return false;
        }
        if (parser->tool->flags[index].argument)
            return take(parser, index, letters[1] ? letters + 1 : NULL);
        if (!take(parser, index, NULL))
            return false;
    }
    return true;
}

static bool read_word(struct parser *parser, const char *word)
{
    struct tool_args *args = parser->args;
    if (args->operands < parser->tool->commands[args->command].operand_count) {
        args->operand[args->operands++] = word;
        return true;
    }
    cli_error("'%s' is one word too many for %s %s", word, parser->tool->name,
              parser->tool->commands[args->command].name);
    return false;
}

/* Whether the option `word` has its value in the next word, whichever command it belongs to. */
static bool takes_next(const struct tool *tool, const char *word)
{
    if (word[1] == '-') {
        int index = find_long(tool, word + 2, strlen(word + 2), ~0U);
        return index != NO_FLAG && tool->flags[index].argument;
    }
    for (const char *letter = word + 1; *letter; letter++) {
        int index = find_letter(tool, *letter, ~0U);
        if (index != NO_FLAG && tool->flags[index].argument)
            return letter[1] == '\0';
    }
    return false;
}

/* The first word that is neither an option nor an option's value is the command. */
static bool read_command(struct parser *parser)
{
    int at = 1;
    for (; at < parser->argc && parser->argv[at][0] == '-'; at++)
        at += takes_next(parser->tool, parser->argv[at]);
    if (at >= parser->argc)
        return true;
    const char *word = parser->argv[parser->skip = at];
    for (int i = 0; i < parser->tool->command_count; i++)
        if (strcmp(parser->tool->commands[i].name, word) == 0) {
            parser->args->command = i;
            return true;
        }
    int near = claret_nearest(word, next_command, parser->tool);
    if (near >= 0)
        cli_error("there is no command '%s'; did you mean '%s'?", word, parser->tool->commands[near].name);
    else
        cli_error("there is no command '%s'; see %s --help", word, parser->tool->name);
    return false;
}

static bool read_words(struct parser *parser)
{
    bool options_end = false;
    for (; parser->at < parser->argc; parser->at++) {
        const char *word = parser->argv[parser->at];
        bool option = !options_end && word[0] == '-' && word[1], right;
        if (parser->at == parser->skip)
            continue;
        if (option && strcmp(word, "--") == 0) {
            options_end = true;
            continue;
        }
        if (!option)
            right = read_word(parser, word);
        else if (word[1] == '-')
            right = read_long(parser, word + 2);
        else
            right = read_letters(parser, word + 1);
        if (!right)
            return false;
        if (parser->args->help || parser->args->version)
            return true;
        if (parser->args->command == parser->tool->command_count) {
            cli_error("%s stands without a command; see %s --help", word, parser->tool->name);
            return false;
        }
    }
    return true;
}

bool tool_parse(const struct tool *tool, int argc, char **argv, struct tool_args *args)
{
    struct parser parser = {argc, 1, 0, argv, args, tool};
    const char *device = getenv("CLARET_DEVICE");
    *args = (struct tool_args){.tool = tool, .command = tool->command_count};
    if (claret_options_create(&args->options) != CLARET_OK ||
        (device && claret_options_set(args->options, "device", device) != CLARET_OK)) {
        cli_error("%s", claret_error());
        return false;
    }
    if (!read_command(&parser) || !read_words(&parser))
        return false;
    if (args->help || args->version || args->command < tool->command_count)
        return true;
    cli_error("no command; see %s --help", tool->name);
    return false;
}

/* ---- values ---------------------------------------------------------------------------------------------
 */

static const char *value_of(const struct tool_args *args, int flag)
{
    return args->value[flag] ? args->value[flag] : args->tool->flags[flag].value;
}

bool tool_integer(const struct tool_args *args, int flag, int64_t most, int64_t *value)
{
    const char *text = value_of(args, flag);
    if (!text || claret_parse_int(text, 1, most, value))
        return true;
    cli_error("--%s: '%s' is not a whole number from 1 to %lld", args->tool->flags[flag].name, text,
              (long long)most);
    return false;
}

bool tool_seconds(const struct tool_args *args, int flag, double most, double *value)
{
    const char *text = value_of(args, flag);
    if (!text || (claret_parse_double(text, value) && *value >= 0 && *value <= most))
        return true;
    cli_error("--%s: '%s' is not a number from 0 to %g", args->tool->flags[flag].name, text, most);
    return false;
}

/* ---- help -----------------------------------------------------------------------------------------------
 */

#define HELP_COLUMN 28
#define WIDTH 80

static void wrap(const char *text, const char *tail)
{
    int used = HELP_COLUMN;
    for (; *text || *tail; text += strspn(text, " ")) {
        const char *word = *text ? text : tail;
        int length = (int)(*text ? strcspn(text, " ") : strlen(tail));
        if (used > HELP_COLUMN && used + 1 + length >= WIDTH) {
            cli_out("\n%*s", HELP_COLUMN, "");
            used = HELP_COLUMN;
        }
        cli_out("%s%.*s", used > HELP_COLUMN ? " " : "", length, word);
        used += length + 1;
        if (*text)
            text += length;
        else
            tail = "";
    }
    cli_out("\n");
}

const char *tool_flag_default(const struct tool_flag *flag, const struct claret_options *defaults)
{
    const char *value = flag->value;

    if (!value && flag->key && flag->argument)
        value = claret_options_get(defaults, flag->key);
    return value && value[0] ? value : NULL;
}

static void print_flag(const struct tool_flag *flag, const struct claret_options *defaults)
{
    const char *value = tool_flag_default(flag, defaults);
    char head[WIDTH], tail[WIDTH] = "";
    snprintf(head, sizeof head, "  %c%c%c --%s%s%s", flag->letter ? '-' : ' ',
             flag->letter ? flag->letter : ' ', flag->letter ? ',' : ' ', flag->name,
             flag->argument ? " " : "", flag->argument ? flag->argument : "");
    if (value)
        snprintf(tail, sizeof tail, "(default: %s)", value);
    if (strlen(head) + 2 > HELP_COLUMN)
        cli_out("%s\n%*s", head, HELP_COLUMN, "");
    else
        cli_out("%-*s", HELP_COLUMN, head);
    wrap(flag->help, tail);
}

static void help_of_command(const struct tool_args *args)
{
    const struct tool *tool = args->tool;
    const struct tool_command *command = &tool->commands[args->command];
    cli_out("%s %s: %s\n\nExamples:\n", tool->name, command->name, command->summary);
    for (int e = 0; e < TOOL_MAX_EXAMPLES && command->examples[e]; e++)
        cli_out("  %s\n", command->examples[e]);
    cli_out("\nUsage: %s %s [OPTION]...%s\n\nOptions:\n", tool->name, command->name, command->operands);
    for (int i = 0; i < tool->flag_count; i++)
        if (tool->flags[i].commands & 1U << args->command)
            print_flag(&tool->flags[i], args->options);
}

void tool_help(const struct tool_args *args)
{
    const struct tool *tool = args->tool;
    if (args->command < tool->command_count) {
        help_of_command(args);
        return;
    }
    cli_out("%s\n\nExamples:\n", tool->about);
    for (int i = 0; i < tool->command_count; i++) {
        const char *const *examples = tool->commands[i].examples;
        int last = 0;
        while (last + 1 < TOOL_MAX_EXAMPLES && examples[last + 1])
            last++;
        cli_out("  %s\n", examples[tool->commands[i].operand_count ? last : 0]);
    }
    cli_out("\nUsage: %s COMMAND [OPTION]...\n\nCommands:\n", tool->name);
    for (int i = 0; i < tool->command_count; i++)
        cli_out("  %-10s%s\n", tool->commands[i].name, tool->commands[i].summary);
    cli_out("\nEach command explains its options: %s COMMAND --help\n", tool->name);
}
