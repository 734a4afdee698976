/* Reading a command line by the flag table: GNU's conventions. */
#include "cli/flags.h"

#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"

const struct cli_flag cli_flags[CLI_FLAG_COUNT] = {
#define X(id, name, letter, argument, key, commands, group, needs, help)                                     \
    {name, letter, argument, key, CLI_IN_##commands, CLI_GROUP_##group, needs, help},
    CLI_FLAG_LIST(X)
#undef X
};

const char *const cli_groups[CLI_GROUP_COUNT] = {
#define X(id, title) title,
    CLI_GROUP_LIST(X)
#undef X
};

enum { NO_FLAG = -1, SEVERAL_FLAGS = -2 };

/* ---- names -------------------------------------------------------------------------------------- */

#define LONGEST 40

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Letters to insert, drop or replace to make one name of the other; -1: too long to be a name. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST + 1]; /* of the table: distances of a's beginning to b's beginnings */
    size_t length = strlen(b);

    if (strlen(a) > LONGEST || length > LONGEST)
        return -1;
    for (size_t j = 0; j <= length; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < length; j++) {
            int above = row[j + 1];
            row[j + 1] = smallest(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
        }
    }
    return row[length];
}

int cli_nearest(const char *name, const char *(*next)(int index, unsigned commands), unsigned commands)
{
    int length = (int)strlen(name), limit = length / 3 > 2 ? length / 3 : 2, best = -1;
    const char *candidate;

    for (int i = 0; (candidate = next(i, commands)); i++) {
        int d = distance(name, candidate);
        if (d >= 0 && d <= limit && d < (int)strlen(candidate)) {
            best = i;
            limit = d - 1; /* the next one must be nearer */
        }
    }
    return best;
}

/* What others call it, where no name of ours is near, or the wrong one is. */
static const struct {
    const char *name, *ours; /* ours: with a value where it needs one */
} synonyms[] = {
    {"learning-rate", "lr"},
    {"lr-decay", "lr-gamma"},
    {"gamma", "lr-gamma"},
    {"step-size", "lr-step"},
    {"milestones", "lr-milestones"},
    {"scheduler", "lr-schedule"},
    {"warmup", "lr-warmup"},
    {"warmup-epochs", "lr-warmup"},
    {"bs", "batch-size"},
    {"num-epochs", "epochs"},
    {"iterations", "max-steps"},
    {"wd", "weight-decay"},
    {"criterion", "loss"},
    {"grad-clip", "clip-norm"},
    {"max-grad-norm", "clip-norm"},
    {"gradient-accumulation-steps", "accumulate"},
    {"num-workers", "workers"},
    {"threads", "workers"},
    {"print-freq", "log-every"},
    {"log-interval", "log-every"},
    {"dataset", "data"},
    {"data-dir", "data"},
    {"val-split", "val-fraction"},
    {"validation-split", "val-fraction"},
    {"patience", "early-stopping"},
    {"network", "model"},
    {"net", "model"},
    {"arch", "model"},
    {"pretrained", "init"},
    {"weights", "init"},
    {"checkpoint", "weights"},
    {"init", "weights"},
    {"resume-from", "resume"},
    {"resume-from-checkpoint", "resume"},
    {"output", "out"},
    {"output-dir", "out"},
    {"save-dir", "out"},
    {"save", "out"},
    {"force", "overwrite"},
    {"gpu", "device gpu"},
    {"cuda", "device gpu"},
    {"cpu", "device cpu"},
};

static const char *next_flag(int index, unsigned commands)
{
    if (index >= CLI_FLAG_COUNT)
        return NULL;
    return cli_flags[index].commands & commands ? cli_flags[index].name : "";
}

static const char *next_command(int index, unsigned commands)
{
    (void)commands;
    return index < CLI_COMMAND_COUNT ? cli_commands[index].name : NULL;
}

enum cli_command_id cli_command_find(const char *name)
{
    int i = 0;

    while (i < CLI_COMMAND_COUNT && strcmp(cli_commands[i].name, name) != 0)
        i++;
    return (enum cli_command_id)i;
}

void cli_command_unknown(const char *name)
{
    int near = cli_nearest(name, next_command, 0);

    if (near >= 0)
        cli_error("there is no command '%s'; did you mean '%s'?", name, cli_commands[near].name);
    else
        cli_error("there is no command '%s'; see claret --help", name);
}

/* ---- flags -------------------------------------------------------------------------------------- */

static bool same_key(const struct cli_flag *a, const struct cli_flag *b)
{
    return a->key && b->key && strcmp(a->key, b->key) == 0;
}

/* The flag of that name, or the only one that begins so, among those of `commands`. */
static int find_long(const char *name, size_t length, unsigned commands)
{
    int found = NO_FLAG;

    for (int i = 0; i < CLI_FLAG_COUNT; i++) {
        if (!(cli_flags[i].commands & commands) || strncmp(cli_flags[i].name, name, length) != 0)
            continue;
        if (cli_flags[i].name[length] == '\0')
            return i;
        if (found == NO_FLAG)
            found = i;
        else if (found >= 0 && !same_key(&cli_flags[found], &cli_flags[i]))
            found = SEVERAL_FLAGS;
    }
    return length ? found : NO_FLAG;
}

static int find_letter(char letter, unsigned commands)
{
    for (int i = 0; i < CLI_FLAG_COUNT; i++)
        if (cli_flags[i].letter == letter && (cli_flags[i].commands & commands))
            return i;
    return NO_FLAG;
}

/* One of the command's own by another's name, such as "device gpu"; NULL: there is none. */
static const char *find_synonym(const char *name, unsigned commands)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        const char *ours = synonyms[i].ours;
        if (strcmp(synonyms[i].name, name) == 0 && find_long(ours, strcspn(ours, " "), commands) >= 0)
            return ours;
    }
    return NULL;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* Whether the option `word` takes the next word as its value, whichever command it belongs to. */
static bool takes_next(const char *word)
{
    int flag;

    if (word[1] == '-') {
        flag = find_long(word + 2, strlen(word + 2), CLI_IN_ALL);
        return flag >= 0 && cli_flags[flag].argument;
    }
    for (const char *letter = word + 1; *letter; letter++) {
        flag = find_letter(*letter, CLI_IN_ALL);
        if (flag >= 0 && cli_flags[flag].argument)
            return letter[1] == '\0';
    }
    return false;
}

int cli_find_word(int argc, char **argv, int from)
{
    for (int i = from; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1 < argc ? i + 1 : argc;
        if (!is_option(argv[i]))
            return i;
        if (takes_next(argv[i]))
            i++;
    }
    return argc;
}

/* ---- parsing ------------------------------------------------------------------------------------ */

struct parser {
    enum cli_command_id command;
    unsigned mask;
    int argc, at; /* at: the word being read */
    char **argv;
    int skip;
    struct cli_args *args;
};

/* " train", "" for claret's own. */
static const char *spaced_command(const struct parser *parser, char text[32])
{
    text[0] = '\0';
    if (parser->command < CLI_COMMAND_COUNT)
        snprintf(text, 32, " %s", cli_commands[parser->command].name);
    return text;
}

/* `word` is how it was given, "--lr" or "-x"; ours: what may have been meant, NULL: where to look. */
static void no_option(const struct parser *parser, const char *word, bool others, const char *ours)
{
    char command[32], what[64], hint[64];

    spaced_command(parser, command);
    if (!others)
        snprintf(what, sizeof what, "there is no option %s", word);
    else if (command[0])
        snprintf(what, sizeof what, "%s is not an option of claret%s", word, command);
    else
        snprintf(what, sizeof what, "%s stands without a command", word);
    if (ours)
        snprintf(hint, sizeof hint, "did you mean --%s?", ours);
    else
        snprintf(hint, sizeof hint, "see claret%s --help", command);
    cli_error("%s; %s", what, hint);
}

static void unknown_option(const struct parser *parser, const char *name)
{
    int near = cli_nearest(name, next_flag, parser->mask);
    int other = find_long(name, strlen(name), CLI_IN_ALL);
    bool others = other >= 0 && strcmp(cli_flags[other].name, name) == 0;
    const char *ours = find_synonym(name, parser->mask);
    char word[LONGEST + 3];

    snprintf(word, sizeof word, "--%s", name);
    if (!ours && !others && near >= 0)
        ours = cli_flags[near].name;
    no_option(parser, word, others, ours);
}

static void several_options(const struct parser *parser, const char *name)
{
    char list[512] = "";
    size_t used = 0, length = strlen(name);

    for (int i = 0; i < CLI_FLAG_COUNT; i++) {
        const char *flag = cli_flags[i].name;
        if (!(cli_flags[i].commands & parser->mask) || strncmp(flag, name, length) != 0)
            continue;
        if (used + strlen(flag) + 8 > sizeof(list))
            break;
        used += (size_t)snprintf(list + used, sizeof(list) - used, " --%s", flag);
    }
    cli_error("--%s may be any of%s", name, list);
}

static bool take(struct parser *parser, int flag, const char *value)
{
    const struct cli_flag *row = &cli_flags[flag];

    if (!value && row->argument) {
        if (++parser->at >= parser->argc || parser->at == parser->skip) {
            cli_error("--%s needs a value: %s", row->name, row->argument);
            return false;
        }
        value = parser->argv[parser->at];
    }
    parser->args->value[flag] = value ? value : "";
    if (!row->key)
        return true;
    if (cli_set_option(parser->args->options, row->key, row->argument, value) == CLARET_OK)
        return true;
    cli_error("--%s", claret_error());
    return false;
}

static bool read_long(struct parser *parser, const char *word)
{
    char name[LONGEST + 1];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    int flag = find_long(word, length, parser->mask);

    snprintf(name, sizeof(name), "%.*s", (int)(length < LONGEST ? length : LONGEST), word);
    if (flag == SEVERAL_FLAGS) {
        several_options(parser, name);
        return false;
    }
    if (flag == NO_FLAG) {
        unknown_option(parser, name);
        return false;
    }
    if (equals && !cli_flags[flag].argument) {
        cli_error("--%s takes no value", cli_flags[flag].name);
        return false;
    }
    return take(parser, flag, equals ? equals + 1 : NULL);
}

/* "-qb8": switches, then at most one option with its value attached or in the next word. */
static bool read_letters(struct parser *parser, const char *letters)
{
    for (; *letters; letters++) {
        int flag = find_letter(*letters, parser->mask);
        if (flag < 0) {
            no_option(parser, (char[]){'-', *letters, '\0'}, false, NULL);
            return false;
        }
        if (cli_flags[flag].argument)
            return take(parser, flag, letters[1] ? letters + 1 : NULL);
        if (!take(parser, flag, NULL))
            return false;
    }
    return true;
}

bool cli_ends_in(const char *word, const char *ending)
{
    size_t length = strlen(word), rest = strlen(ending);
    return length > rest && strcmp(word + length - rest, ending) == 0;
}

/* The option that takes such a word where the command takes none by itself; NULL: none is known. */
static const char *option_of(enum cli_command_id command, const char *word)
{
    if (command != CLI_TRAIN && command != CLI_EVAL)
        return NULL;
    if (cli_ends_in(word, ".safetensors"))
        return command == CLI_TRAIN ? "init" : "weights";
    bool network = cli_ends_in(word, ".net");
    for (size_t i = 0; claret_network_zoo(i) && !network; i++)
        network = strcmp(claret_network_zoo(i), word) == 0;
    return network ? "model" : NULL;
}

static bool read_operand(struct parser *parser, char *word)
{
    const char *operand = parser->command < CLI_COMMAND_COUNT ? cli_commands[parser->command].operand : NULL;
    struct cli_args *args = parser->args;
    char command[32];

    if (operand && (!args->operand || strstr(operand, "..."))) {
        args->operand = args->operand ? args->operand : word;
        args->operands[args->operand_count++] = word;
        return true;
    }
    spaced_command(parser, command);
    const char *option = option_of(parser->command, word);
    cli_error("'%s' is one word too many%s%s%s%s%s%s%s", word, command[0] ? " for claret" : "", command,
              option ? "; did you mean --" : "", option ? option : "", option ? " " : "", option ? word : "",
              option ? "?" : "");
    return false;
}

static bool read_words(struct parser *parser)
{
    bool options_end = false;

    for (parser->at = 1; parser->at < parser->argc; parser->at++) {
        char *word = parser->argv[parser->at];
        bool right;
        if (parser->at == parser->skip)
            continue;
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
            continue;
        }
        if (options_end || !is_option(word))
            right = read_operand(parser, word);
        else if (word[1] == '-')
            right = read_long(parser, word + 2);
        else
            right = read_letters(parser, word + 1);
        if (!right)
            return false;
        if (parser->args->value[CLI_HELP] || parser->args->value[CLI_VERSION])
            return true;
    }
    return true;
}

/* The defaults, those of the environment and of a file or checkpoint. */
static bool make_options(const char *config, struct cli_args *args)
{
    const char *device = getenv("CLARET_DEVICE");

    if (claret_options_create(&args->options) != CLARET_OK) {
        cli_error("%s", claret_error());
        return false;
    }
    if (config && !cli_read_config(config, args->options, &args->unread))
        return false;
    if (args->checkpoint && claret_checkpoint_options(args->checkpoint, args->options) != CLARET_OK) {
        cli_error("%s", claret_error());
        return false;
    }
    if (!device || claret_options_get(args->options, "device")[0])
        return true;
    if (claret_options_set(args->options, "device", device) == CLARET_OK)
        return true;
    cli_error("%s", claret_error());
    return false;
}

bool cli_parse(enum cli_command_id command, int argc, char **argv, int skip, struct cli_args *args)
{
    struct parser parser = {command, 1U << command, argc, 1, argv, skip, args};

    *args = (struct cli_args){.operands = malloc((size_t)argc * sizeof(*args->operands))};
    if (!args->operands) {
        cli_error("host memory is used up");
        return false;
    }
    if (!make_options(NULL, args) || !read_words(&parser))
        return false;
    const char *config = args->value[CLI_CONFIG], *resume = args->value[CLI_RESUME];
    if ((!config && !resume) || args->value[CLI_HELP])
        return true;
    if (config && resume) {
        cli_error("--resume brings the options of its run: it does not go with --config");
        return false;
    }
    if (resume && claret_checkpoint_open(resume, &args->checkpoint) != CLARET_OK) {
        cli_error("%s", claret_error());
        args->unread = true;
        return false;
    }
    /* Once more upon what the file says: the flags win, wherever --config stands among them. */
    claret_options_destroy(args->options);
    args->options = NULL;
    args->operand = NULL;
    args->operand_count = 0;
    if (!make_options(config, args) || !read_words(&parser))
        return false;
    if (!resume || claret_checkpoint_check(args->checkpoint, args->options) == CLARET_OK)
        return true;
    cli_error("%s", claret_error());
    return false;
}
