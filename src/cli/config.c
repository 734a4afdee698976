/* --config: options out of an INI file, as a run's config.ini is one. */
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flags.h"
#include "cli/terminal.h"

#define LONGEST_LINE (1 << 20)

struct reading {
    const char *path;
    FILE *stream;
    struct claret_options *options;
    bool *seen; /* by the key's index */
    int line;   /* the one read last, from 1 */
    bool ended; /* it came to its end */
    bool failed;
};

/* libinih reads a long line in pieces and tells no line's number. */
static char *read_piece(char *text, int size, void *user)
{
    struct reading *reading = user;
    char *read = fgets(text, size, reading->stream);

    if (read) {
        reading->line += reading->ended;
        reading->ended = strchr(text, '\n') != NULL;
    }
    return read;
}

static int fail(struct reading *reading, const char *key, const char *why)
{
    cli_error("%s:%d: %s%s", reading->path, reading->line, key, why);
    reading->failed = true;
    return 0;
}

static bool said_before(struct reading *reading, const char *key)
{
    for (size_t i = 0; claret_options_key(i); i++)
        if (strcmp(claret_options_key(i), key) == 0) {
            bool before = reading->seen[i];
            reading->seen[i] = true;
            return before;
        }
    return false;
}

static int take(void *user, const char *section, const char *key, const char *value)
{
    struct reading *reading = user;

    if (strcmp(section, "train") != 0)
        return fail(reading, key, ": options stand in the section [train]");
    if (said_before(reading, key))
        return fail(reading, key, " stands there twice");
    if (claret_options_set(reading->options, key, value) != CLARET_OK)
        return fail(reading, "", claret_error());
    return 1;
}

/* Whole lines of any length, nothing of a value taken for a comment or for the line before. */
static void set_up_libinih(void)
{
    ini_allow_inline_comments = false;
    ini_allow_multiline = false;
    ini_stop_on_first_error = true;
    ini_use_stack = false;
    ini_allow_realloc = true;
    ini_max_line = LONGEST_LINE;
}

struct looking {
    const char *key;
    char *value;
};

static int look(void *user, const char *section, const char *key, const char *value)
{
    struct looking *looking = user;

    if (strcmp(section, "train") == 0 && strcmp(key, looking->key) == 0 && !looking->value)
        looking->value = strdup(value);
    return 1;
}

char *cli_config_value(const char *path, const char *key)
{
    struct looking looking = {key, NULL};

    set_up_libinih();
    ini_parse(path, look, &looking);
    return looking.value;
}

static int take_kindly(void *user, const char *section, const char *key, const char *value)
{
    if (strcmp(section, "train") == 0)
        claret_options_set(user, key, value);
    return 1;
}

void cli_take_config(const char *path, struct claret_options *options)
{
    set_up_libinih();
    ini_parse(path, take_kindly, options);
}

bool cli_read_config(const char *path, struct claret_options *options, bool *unread)
{
    struct reading reading = {.path = path, .options = options, .ended = true};
    size_t keys = 0;

    *unread = false;
    while (claret_options_key(keys))
        keys++;
    reading.seen = calloc(keys, sizeof *reading.seen);
    reading.stream = fopen(path, "r");
    if (!reading.seen || !reading.stream) {
        cli_error("%s cannot be read: %s", path, strerror(errno));
        *unread = true;
    } else {
        set_up_libinih();
        int bad = ini_parse_stream(read_piece, &reading, take, &reading);
        *unread = ferror(reading.stream);
        if (*unread)
            cli_error("%s cannot be read: %s", path, strerror(errno));
        else if (bad && !reading.failed)
            cli_error("%s:%d: neither [section] nor key = value", path, reading.line);
        reading.failed |= bad || *unread;
    }
    bool fine = reading.seen && reading.stream && !reading.failed;
    if (reading.stream)
        fclose(reading.stream);
    free(reading.seen);
    return fine;
}
