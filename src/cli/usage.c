/* What is wrong of options that are each right: they do not fit each other, or one has no effect. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flags.h"
#include "cli/terminal.h"

#define ROOM 512

/* Adds to a text of ROOM bytes; what does not fit is left out. */
static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, ROOM - used, format, arguments);
    va_end(arguments);
}

/* ---- flags without effect ----------------------------------------------------------------------- */

/* A condition of a flag's `needs`: "out", "!resume", "lr-schedule=step,plateau", "!data=shapes". */
struct condition {
    char name[64];
    char values[ROOM]; /* "": any that is set */
    bool absent;       /* it must not be set, or have none of the values */
};

/* The one that *at begins with, which goes on behind it. */
static struct condition read_condition(const char **at)
{
    struct condition read = {.absent = **at == '!'};
    const char *from = *at + read.absent;
    size_t name = strcspn(from, "=| "), whole = strcspn(from, "| ");

    snprintf(read.name, sizeof read.name, "%.*s", (int)name, from);
    if (name < whole)
        snprintf(read.values, sizeof read.values, "%.*s", (int)(whole - name - 1), from + name + 1);
    *at = from + whole;
    return read;
}

/* The value in force of the option or flag of that name; NULL: not given. */
static const char *value_of(const struct cli_args *args, const char *name)
{
    const char *value = claret_options_get(args->options, name);

    for (int i = 0; !value && i < CLI_FLAG_COUNT; i++)
        if (strcmp(cli_flags[i].name, name) == 0 && args->value[i])
            value = "true";
    return value;
}

/* Whether a value asks for something: not "", "false", "0" or "0.0". */
static bool is_set(const char *value)
{
    char *end;

    if (!value || !value[0] || strcmp(value, "false") == 0)
        return false;
    return strtod(value, &end) != 0 || *end;
}

static bool is_one_of(const char *value, const char *values)
{
    size_t length = strlen(value);

    for (const char *at = values; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == length && strncmp(at, value, length) == 0)
            return true;
    return false;
}

static bool holds(const struct cli_args *args, const struct condition *condition)
{
    const char *value = value_of(args, condition->name);

    if (condition->values[0])
        return (value && is_one_of(value, condition->values)) != condition->absent;
    return is_set(value) != condition->absent;
}

/* "step, multistep or plateau" of "step,multistep,plateau". */
static void add_values(char *text, const char *values)
{
    for (const char *at = values; *at;) {
        size_t length = strcspn(at, ",");
        add(text, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
        if (*at)
            add(text, "%s", strchr(at, ',') ? ", " : " or ");
    }
}

/* Of conditions with '|' between at `from` none holds: what to say of it. */
static void explain(const struct cli_args *args, const char *from, char why[ROOM])
{
    const char *at = from;
    struct condition first = read_condition(&at);

    if (first.absent) {
        add(why, "with --%s%s", first.name, first.values[0] ? " " : "");
        add_values(why, first.values);
    } else if (*at != '|' && first.values[0]) {
        add(why, "with --%s %s: give --%s ", first.name, value_of(args, first.name), first.name);
        add_values(why, first.values);
    } else {
        add(why, "without ");
        for (at = from; *at && *at != ' ';) {
            struct condition condition = read_condition(&at);
            add(why, "--%s%s", condition.name, condition.values[0] ? " " : "");
            add_values(why, condition.values);
            if (*at == '|') {
                add(why, " or ");
                at++;
            }
        }
    }
}

/* What a flag has no effect without. `claret show` runs nothing: what says how is for its plans alone. */
static const char *needs_of(enum cli_command_id command, const struct cli_flag *flag)
{
    if (command == CLI_SHOW && flag->group == CLI_GROUP_DEVICE)
        return "dump-plan|explain";
    return flag->needs;
}

/* Of all that `needs` says the first that is not so; NULL: there is none. */
static const char *missing(const struct cli_args *args, const char *needs)
{
    for (const char *at = needs; at && *at; at += *at == ' ') {
        const char *from = at;
        bool met = false;
        for (;; at++) {
            struct condition condition = read_condition(&at);
            met |= holds(args, &condition);
            if (*at != '|')
                break;
        }
        if (!met)
            return from;
    }
    return NULL;
}

/* Of flags alone: a file, as a run's config.ini, holds all options. */
static bool check_effects(enum cli_command_id command, const struct cli_args *args)
{
    bool right = true;

    for (int i = 0; i < CLI_FLAG_COUNT; i++) {
        const char *lacks = args->value[i] ? missing(args, needs_of(command, &cli_flags[i])) : NULL;
        char why[ROOM] = "";
        if (!lacks)
            continue;
        explain(args, lacks, why);
        cli_error("--%s has no effect %s", cli_flags[i].name, why);
        right = false;
    }
    return right;
}

/* ---- options that do not fit -------------------------------------------------------------------- */

/* Whether the option was taken from the file of --config. */
static bool is_of_file(const struct cli_args *args, const char *key)
{
    for (int i = 0; i < CLI_FLAG_COUNT; i++)
        if (args->value[i] && cli_flags[i].key && strcmp(cli_flags[i].key, key) == 0)
            return false;
    char *value = cli_config_value(args->value[CLI_CONFIG], key);
    free(value);
    return value != NULL;
}

/* The library's message names options as flags, "--lr-step": those of a file get their names there. */
static void say_misfit(const struct cli_args *args, const char *message)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    const char *file = args->value[CLI_CONFIG];
    char text[4 * ROOM] = "", key[64];
    size_t used = 0;
    bool named = false;

    while (file && *message && used + sizeof key < sizeof text) {
        size_t length = strncmp(message, "--", 2) == 0 ? strspn(message + 2, letters) : 0;
        snprintf(key, sizeof key, "%.*s", (int)length, message + 2 * (length > 0));
        if (length > 0 && length < sizeof key && is_of_file(args, key)) {
            message += 2;
            named = true;
        } else {
            length += length > 0 ? 2 : 1;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s", (int)length, message);
        message += length;
    }
    cli_error("%s%s%s%s", named ? file : "", named ? ": " : "", text, message);
}

/* ---- values that can hardly be meant ------------------------------------------------------------ */

#define FAR 2.0 /* from pixels of 0 to 1, as a mean or deviation */

/* Means and deviations of pixels from 0 to 255, which others have. */
static void warn_of_scale(const struct cli_args *args)
{
    static const enum cli_flag_id flags[] = {CLI_MEAN, CLI_STD};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const char *at = args->value[flags[i]];
        for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            double number = strtod(at, NULL);
            if (number <= FAR && number >= -FAR)
                continue;
            cli_warning(
                "--%s %s: pixels are 0 to 1 when it is applied; numbers for pixels of 0 to 255 are to "
                "be divided by 255",
                cli_flags[flags[i]].name, args->value[flags[i]]);
            break;
        }
    }
}

bool cli_check_usage(enum cli_command_id command, const struct cli_args *args)
{
    if (claret_options_check(args->options) == CLARET_OK) {
        warn_of_scale(args);
        return check_effects(command, args);
    }
    char *message = strdup(claret_error());
    say_misfit(args, message ? message : "host memory is used up");
    free(message);
    return false;
}
