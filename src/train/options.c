/* A session's options: one table drives defaults, parsing, ranges and names. */
#include "train/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "base/text.h"
#include "data/augment.h"
#include "train/keeping.h"
#include "train/loss.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/validation.h"

enum option_type { OPTION_INT, OPTION_REAL, OPTION_SIZE, OPTION_SWITCH, OPTION_TEXT, OPTION_CHOICES };

struct option_row {
    const char *key;
    enum option_type type;
    size_t offset; /* of the typed value in struct claret_options */
    const char *value;
    double minimum, maximum; /* INT and REAL */
};

static const struct option_row rows[] = {
#define X(key, field, type, value, minimum, maximum)                                                         \
    {key, OPTION_##type, offsetof(struct claret_options, field), value, minimum, maximum},
    CLARET_OPTION_LIST(X)
#undef X
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const char *next_key(int index, const void *user)
{
    (void)user;
    return claret_options_key((size_t)index);
}

static const struct option_row *find_row(const char *key)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    return NULL;
}

/* Words with something on both sides of their first '='. */
static enum claret_status check_choices(const struct option_row *row, const char *text)
{
    for (const char *at = text; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
        size_t length = strcspn(at, " "), node = strcspn(at, "= ");
        if (node == 0 || node + 1 >= length)
            return claret_fail(CLARET_INVALID, "%s: '%.*s' is not NODE=NAME, such as conv1=direct", row->key,
                               (int)length, at);
    }
    return CLARET_OK;
}

/* Writes the typed value. `text` is the copy that the options keep: a TEXT field points at it. */
static enum claret_status parse_value(struct claret_options *options, const struct option_row *row,
                                      const char *text)
{
    void *field = (char *)options + row->offset;
    double real = 0;

    switch (row->type) {
    case OPTION_INT:
        if (claret_parse_int(text, (int64_t)row->minimum, (int64_t)row->maximum, field))
            return CLARET_OK;
        return claret_fail(CLARET_INVALID, "%s: '%s' is not a whole number from %.0f to %.0f", row->key, text,
                           row->minimum, row->maximum);
    case OPTION_REAL:
        if (claret_parse_double(text, &real) && real >= row->minimum && real <= row->maximum) {
            *(double *)field = real;
            return CLARET_OK;
        }
        return claret_fail(CLARET_INVALID, "%s: '%s' is not a number from %g to %g", row->key, text,
                           row->minimum, row->maximum);
    case OPTION_SIZE:
        if (claret_parse_size(text, field))
            return CLARET_OK;
        return claret_fail(CLARET_INVALID, "%s: '%s' is not a size such as 1073741824, 512M or 2G", row->key,
                           text);
    case OPTION_SWITCH:
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
            *(bool *)field = text[0] == 't';
            return CLARET_OK;
        }
        return claret_fail(CLARET_INVALID, "%s: '%s' is neither true nor false", row->key, text);
    case OPTION_CHOICES:
        CLARET_TRY(check_choices(row, text));
        /* fall through */
    case OPTION_TEXT:
        /* config.ini holds one option a line. */
        if (strpbrk(text, "\r\n"))
            return claret_fail(CLARET_INVALID, "%s: the value has a line break in it", row->key);
        *(const char **)field = text;
        return CLARET_OK;
    }
    return CLARET_INTERNAL;
}

static enum claret_status set_row(struct claret_options *options, const struct option_row *row,
                                  const char *value)
{
    char *copy = claret_strdup(value);

    if (!copy)
        return claret_no_memory();
    enum claret_status status = parse_value(options, row, copy);
    if (status != CLARET_OK) {
        free(copy);
        return status;
    }
    char **kept = &options->texts[row - rows];
    free(*kept);
    *kept = copy;
    return CLARET_OK;
}

enum claret_status claret_options_create(struct claret_options **options)
{
    claret_error_clear();
    if (!options)
        return claret_fail(CLARET_INVALID, "claret_options_create: options is NULL");
    struct claret_options *made = calloc(1, sizeof(*made));
    enum claret_status status = CLARET_OK;
    if (!made || !(made->texts = calloc(ROW_COUNT, sizeof(*made->texts))) ||
        !(made->given = calloc(ROW_COUNT, sizeof(*made->given)))) {
        status = claret_no_memory();
        goto failed;
    }
    for (size_t i = 0; i < ROW_COUNT; i++)
        CLARET_GOTO(failed, set_row(made, &rows[i], rows[i].value));
    *options = made;
    return CLARET_OK;
failed:
    claret_options_destroy(made);
    return status;
}

void claret_options_destroy(struct claret_options *options)
{
    if (!options)
        return;
    for (size_t i = 0; options->texts && i < ROW_COUNT; i++)
        free(options->texts[i]);
    free(options->texts);
    free(options->given);
    free(options);
}

enum claret_status claret_options_set(struct claret_options *options, const char *key, const char *value)
{
    claret_error_clear();
    if (!options || !key || !value)
        return claret_fail(CLARET_INVALID, "claret_options_set: options, key and value must not be NULL");
    const struct option_row *row = find_row(key);
    if (row) {
        CLARET_TRY(set_row(options, row, value));
        options->given[row - rows] = true;
        return CLARET_OK;
    }
    int near = claret_nearest(key, next_key, NULL);
    if (near < 0)
        return claret_fail(CLARET_NOT_FOUND, "there is no option '%s'", key);
    return claret_fail(CLARET_NOT_FOUND, "there is no option '%s'; did you mean '%s'?", key, rows[near].key);
}

bool claret_options_given(const struct claret_options *options, const char *key)
{
    const struct option_row *row = find_row(key);

    return row && options->given[row - rows];
}

enum claret_status claret_options_default(struct claret_options *options, const char *key, const char *value)
{
    const struct option_row *row = find_row(key);

    return row ? set_row(options, row, value) : CLARET_INTERNAL;
}

const char *claret_options_get(const struct claret_options *options, const char *key)
{
    const struct option_row *row = options && key ? find_row(key) : NULL;

    return row ? options->texts[row - rows] : NULL;
}

const char *claret_options_key(size_t index)
{
    return index < ROW_COUNT ? rows[index].key : NULL;
}

/* `options` have their optimizer's defaults. */
static enum claret_status check(const struct claret_options *options)
{
    struct claret_augment augment;
    CLARET_TRY(claret_options_augment(options, &augment));
    if (options->nesterov && (options->momentum == 0 || options->dampening != 0))
        return claret_fail(CLARET_INVALID,
                           "--nesterov needs a --momentum above 0 and no --dampening (they are %g and %g)",
                           options->momentum, options->dampening);
    CLARET_TRY(claret_pattern_parse_numbers("--lr-for", options->lr_for));
    if (options->lr_for[0] && options->lr == 0)
        return claret_fail(CLARET_INVALID, "--lr-for gives rates that go on as --lr does, which is 0");
    if (options->clip_norm > 0 && options->clip_value > 0)
        return claret_fail(CLARET_INVALID, "--clip-norm and --clip-value exclude each other");
    if (options->reset[0] && !options->init[0])
        return claret_fail(CLARET_INVALID,
                           "--reset names what is not taken from the weights of --init, and there are none");
    struct claret_loss loss;
    CLARET_TRY(claret_loss_init(options, &loss));
    struct claret_keeping keeping;
    CLARET_TRY(claret_keeping_init(options, NULL, &keeping));
    struct claret_validation validation;
    CLARET_TRY(claret_validation_init(options, NULL, &validation));
    struct claret_schedule schedule;
    return claret_schedule_init(options, &schedule);
}

enum claret_status claret_options_check(const struct claret_options *options)
{
    struct claret_options *resolved = NULL;

    claret_error_clear();
    if (!options)
        return claret_fail(CLARET_INVALID, "claret_options_check: options is NULL");
    CLARET_TRY(claret_options_copy(options, &resolved));
    enum claret_status status = claret_optimizer_resolve(resolved);
    if (status == CLARET_OK)
        status = check(resolved);
    claret_options_destroy(resolved);
    return status;
}

enum claret_status claret_options_copy(const struct claret_options *options, struct claret_options **copy)
{
    struct claret_options *made = NULL;
    enum claret_status status = claret_options_create(&made);

    for (size_t i = 0; status == CLARET_OK && i < ROW_COUNT; i++)
        status = set_row(made, &rows[i], options->texts[i]);
    if (status == CLARET_OK)
        memcpy(made->given, options->given, ROW_COUNT * sizeof(*made->given));
    if (status != CLARET_OK) {
        claret_options_destroy(made);
        return status;
    }
    *copy = made;
    return CLARET_OK;
}
