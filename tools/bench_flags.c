/* Reading the command line, and --help. */
#include "bench_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/terminal.h"

static const struct flag {
    const char *name;
    char letter;
    const char *argument, *key, *value;
    unsigned commands;
    const char *help;
} flags[BENCH_FLAGS] = {
#define X(id, name, letter, argument, key, value, commands, help)                                            \
    {name, letter, argument, key, value, BENCH_IN_##commands, help},
    BENCH_FLAG_LIST(X)
#undef X
};

static const struct command {
    const char *name, *summary, *operands;
    const char *examples[3]; /* lines, NULL ends them */
} commands[BENCH_COMMANDS] = {
    {"device",
     "measure a device's limits: arithmetic, memory, latencies",
     "",
     {"claret-bench device", "claret-bench device --device all --json"}},
    {"step",
     "measure training steps with the data in memory, launch by launch",
     "",
     {"claret-bench step --model simplecnn --batch-size 32",
      "claret-bench step --model ./mynet.net -b 128 --no-fuse --json",
      "claret-bench step --data-file batches.safetensors --init weights.safetensors --losses 10 --json"}},
    {"ops",
     "measure each op by each of its solvers",
     "",
     {"claret-bench ops --case conv-cifar", "claret-bench ops --model simplecnn -b 32 --csv"}},
    {"train",
     "measure training from data on disk to the device",
     "",
     {"claret-bench train --model simplecnn --data ./data -b 4 --steps 2000"}},
    {"compare",
     "say what changed between two results by more than their spread",
     " A.json B.json",
     {"claret-bench step --json > before.json; claret-bench step --json > after.json",
      "claret-bench compare before.json after.json"}},
};

/* ---- names ----------------------------------------------------------------------------------------------
 */

#define NO_FLAG (-1)
#define LONGEST 40

static const char *next_flag(int index, const void *user)
{
    return index < BENCH_FLAGS ? (void)user, flags[index].name : NULL;
}

static const char *next_command(int index, const void *user)
{
    return index < BENCH_COMMANDS ? (void)user, commands[index].name : NULL;
}

/* The flag of that name, or the only one that begins so, among those of `mask`. */
static int find_long(const char *name, size_t length, unsigned mask)
{
    int found = NO_FLAG, count = 0;
    for (int i = 0; i < BENCH_FLAGS; i++) {
        if (!(flags[i].commands & mask) || strncmp(flags[i].name, name, length) != 0)
            continue;
        if (!flags[i].name[length])
            return i;
        found = i;
        count++;
    }
    return length && count == 1 ? found : NO_FLAG;
}

static int find_letter(char letter, unsigned mask)
{
    for (int i = 0; i < BENCH_FLAGS; i++)
        if (flags[i].letter == letter && (flags[i].commands & mask))
            return i;
    return NO_FLAG;
}

/* ---- parsing --------------------------------------------------------------------------------------------
 */

struct parser {
    int argc, at; /* at: the word being read */
    int skip;     /* the command's own */
    char **argv;
    struct bench_args *args;
};

static unsigned mask_of(const struct parser *parser)
{
    return parser->args->command < BENCH_COMMANDS ? 1U << parser->args->command : BENCH_IN_ALL;
}

static bool unknown(const struct parser *parser, const char *name)
{
    int other = find_long(name, strlen(name), BENCH_IN_ALL), near = claret_nearest(name, next_flag, NULL);
    if (other >= 0)
        cli_error("--%s is not an option of claret-bench %s", flags[other].name,
                  commands[parser->args->command].name);
    else if (near >= 0)
        cli_error("there is no option --%s; did you mean --%s?", name, flags[near].name);
    else
        cli_error("there is no option --%s; see claret-bench --help", name);
    return false;
}

static bool take(struct parser *parser, int index, const char *value)
{
    const struct flag *flag = &flags[index];
    if (!value && flag->argument) {
        if (++parser->at >= parser->argc || parser->at == parser->skip) {
            cli_error("--%s needs a value: %s", flag->name, flag->argument);
            return false;
        }
        value = parser->argv[parser->at];
    }
    parser->args->value[index] = value ? value : "";
    if (!flag->key ||
        claret_options_set(parser->args->options, flag->key, flag->argument ? value : "true") == CLARET_OK)
        return true;
    cli_error("--%s", claret_error());
    return false;
}

static bool read_long(struct parser *parser, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    char name[LONGEST + 1];
    int index = find_long(word, length, mask_of(parser));
    snprintf(name, sizeof name, "%.*s", (int)(length < LONGEST ? length : LONGEST), word);
    if (index == NO_FLAG)
        return unknown(parser, name);
    if (equals && !flags[index].argument) {
        cli_error("--%s takes no value", flags[index].name);
        return false;
    }
    return take(parser, index, equals ? equals + 1 : NULL);
}

static bool read_letters(struct parser *parser, const char *letters)
{
    for (; *letters; letters++) {
        int index = find_letter(*letters, mask_of(parser));
        if (index == NO_FLAG) {
            cli_error("there is no option -%c", *letters);
            return false;
        }
        if (flags[index].argument)
            return take(parser, index, letters[1] ? letters + 1 : NULL);
        if (!take(parser, index, NULL))
            return false;
    }
    return true;
}

static bool read_word(struct parser *parser, const char *word)
{
    struct bench_args *args = parser->args;
    if (args->command == BENCH_COMPARE && args->operands < 2) {
        args->operand[args->operands++] = word;
        return true;
    }
    cli_error("'%s' is one word too many for claret-bench %s", word, commands[args->command].name);
    return false;
}

/* Whether the option `word` has its value in the next word, whichever command it belongs to. */
static bool takes_next(const char *word)
{
    if (word[1] == '-') {
        int index = find_long(word + 2, strlen(word + 2), BENCH_IN_ALL);
        return index != NO_FLAG && flags[index].argument;
    }
    for (const char *letter = word + 1; *letter; letter++) {
        int index = find_letter(*letter, BENCH_IN_ALL);
        if (index != NO_FLAG && flags[index].argument)
            return letter[1] == '\0';
    }
    return false;
}

/* The first word that is neither an option nor an option's value is the command. */
static bool read_command(struct parser *parser)
{
    int at = 1;
    for (; at < parser->argc && parser->argv[at][0] == '-'; at++)
        at += takes_next(parser->argv[at]);
    if (at >= parser->argc)
        return true;
    const char *word = parser->argv[parser->skip = at];
    for (int i = 0; i < BENCH_COMMANDS; i++)
        if (strcmp(commands[i].name, word) == 0) {
            parser->args->command = (enum bench_command)i;
            return true;
        }
    int near = claret_nearest(word, next_command, NULL);
    if (near >= 0)
        cli_error("there is no command '%s'; did you mean '%s'?", word, commands[near].name);
    else
        cli_error("there is no command '%s'; see claret-bench --help", word);
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
        if (parser->args->value[BENCH_FLAG_HELP] || parser->args->value[BENCH_FLAG_VERSION])
            return true;
        if (parser->args->command == BENCH_COMMANDS) {
            cli_error("%s stands without a command; see claret-bench --help", word);
            return false;
        }
    }
    return true;
}

/* ---- values ---------------------------------------------------------------------------------------------
 */

static bool number(const struct bench_args *args, int index, int64_t most, int64_t *value)
{
    const char *text = args->value[index] ? args->value[index] : flags[index].value;
    if (!text || claret_parse_int(text, 1, most, value))
        return true;
    cli_error("--%s: '%s' is not a whole number from 1 to %lld", flags[index].name, text, (long long)most);
    return false;
}

static bool check(struct bench_args *args)
{
    const char *seconds = args->value[BENCH_FLAG_SECONDS];
    args->seconds = args->command == BENCH_DEVICE ? 0.1 : args->command == BENCH_OPS ? 0.05 : 0.5;
    if (!number(args, BENCH_FLAG_REPEAT, 1000, &args->repeat) ||
        !number(args, BENCH_FLAG_STEPS, INT64_C(1) << 40, &args->steps) ||
        !number(args, BENCH_FLAG_LOSSES, 1 << 20, &args->losses))
        return false;
    if (seconds &&
        (!claret_parse_double(seconds, &args->seconds) || args->seconds < 0 || args->seconds > 3600)) {
        cli_error("--seconds: '%s' is not a number from 0 to 3600", seconds);
        return false;
    }
    if (args->command == BENCH_COMMANDS)
        cli_error("no command; see claret-bench --help");
    else if (args->value[BENCH_FLAG_JSON] && args->value[BENCH_FLAG_CSV])
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
    struct parser parser = {argc, 1, 0, argv, args};
    const char *device = getenv("CLARET_DEVICE");
    *args = (struct bench_args){.command = BENCH_COMMANDS};
    if (claret_options_create(&args->options) != CLARET_OK ||
        (device && claret_options_set(args->options, "device", device) != CLARET_OK)) {
        cli_error("%s", claret_error());
        return false;
    }
    if (!read_command(&parser) || !read_words(&parser))
        return false;
    return args->value[BENCH_FLAG_HELP] || args->value[BENCH_FLAG_VERSION] || check(args);
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

static void print_flag(const struct flag *flag, const struct claret_options *defaults)
{
    const char *value = flag->value;
    char head[WIDTH], tail[WIDTH] = "";
    if (!value && flag->key && flag->argument)
        value = claret_options_get(defaults, flag->key);
    snprintf(head, sizeof head, "  %c%c%c --%s%s%s", flag->letter ? '-' : ' ',
             flag->letter ? flag->letter : ' ', flag->letter ? ',' : ' ', flag->name,
             flag->argument ? " " : "", flag->argument ? flag->argument : "");
    if (value && value[0])
        snprintf(tail, sizeof tail, "(default: %s)", value);
    if (strlen(head) + 2 > HELP_COLUMN)
        cli_out("%s\n%*s", head, HELP_COLUMN, "");
    else
        cli_out("%-*s", HELP_COLUMN, head);
    wrap(flag->help, tail);
}

void bench_help(enum bench_command command, const struct claret_options *defaults)
{
    if (command == BENCH_COMMANDS)
        cli_out("claret-bench measures claret, and the devices it runs on.\n");
    else
        cli_out("claret-bench %s: %s\n", commands[command].name, commands[command].summary);
    cli_out("\nExamples:\n");
    for (int i = 0; i < BENCH_COMMANDS; i++)
        for (int e = 0; (int)command == i && e < 3 && commands[i].examples[e]; e++)
            cli_out("  %s\n", commands[i].examples[e]);
    for (int i = 0; command == BENCH_COMMANDS && i < BENCH_COMMANDS; i++)
        cli_out("  %s\n", commands[i].examples[i == BENCH_COMPARE]);
    if (command < BENCH_COMMANDS) {
        cli_out("\nUsage: claret-bench %s [OPTION]...%s\n\nOptions:\n", commands[command].name,
                commands[command].operands);
        for (int i = 0; i < BENCH_FLAGS; i++)
            if (flags[i].commands & 1U << command)
                print_flag(&flags[i], defaults);
        return;
    }
    cli_out("\nUsage: claret-bench COMMAND [OPTION]...\n\nCommands:\n");
    for (int i = 0; i < BENCH_COMMANDS; i++)
        cli_out("  %-10s%s\n", commands[i].name, commands[i].summary);
    cli_out("\nEach command explains its options: claret-bench COMMAND --help\n");
}
