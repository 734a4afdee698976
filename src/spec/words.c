/* The words of a network text: errors at their place, names, values. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/parser.h"

/* ---- errors ---- */

int claret_spec_column(const struct claret_parser *parser, const char *at)
{
    return (int)(at - parser->line_start) + 1;
}

enum claret_status claret_spec_fail(const struct claret_parser *parser, const char *at, const char *format,
                                    ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return claret_fail(CLARET_NETWORK, "%s:%d:%d: %s", parser->spec->file, parser->line,
                       claret_spec_column(parser, at), message);
}

enum claret_status claret_spec_shape_error(const struct claret_spec *spec, int layer, int column,
                                           const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (layer < 0)
        return claret_fail(CLARET_SHAPE, "%s: %s", spec->file, message);
    const struct claret_layer *at = &spec->layers[layer];
    return claret_fail(CLARET_SHAPE, "%s:%d:%d: layer %s: %s", spec->file, at->line,
                       column > 0 ? column : at->column, at->name, message);
}

/* ---- words ---- */

bool claret_spec_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && ((c >= '0' && c <= '9') || c == '.'));
}

void claret_spec_next_line(struct claret_parser *parser, const char **next, const char *end)
{
    const char *line_end = memchr(*next, '\n', (size_t)(end - *next));
    parser->line++;
    parser->line_start = parser->at = *next;
    *next = line_end ? line_end + 1 : end;
    line_end = line_end ? line_end : end;
    const char *comment = memchr(parser->at, '#', (size_t)(line_end - parser->at));
    parser->line_end = comment ? comment : line_end;
    claret_spec_skip_space(parser);
    while (parser->line_end > parser->at && claret_spec_is_space(parser->line_end[-1]))
        parser->line_end--;
}

void claret_spec_skip_space(struct claret_parser *parser)
{
    while (parser->at < parser->line_end && claret_spec_is_space(*parser->at))
        parser->at++;
}

const char *claret_spec_show_byte(char c, char buffer[16])
{
    unsigned char byte = (unsigned char)c;
    snprintf(buffer, 16, byte < ' ' || byte > '~' ? "byte 0x%02x" : "'%c'", byte);
    return buffer;
}

static enum claret_status take_name(struct claret_parser *parser, const char *what, bool number,
                                    const char **start, const char **name)
{
    *start = parser->at;
    const char *end = parser->at;
    while (end < parser->line_end && is_name(*end, end == parser->at && !number))
        end++;
    if (end == parser->at) {
        if (end == parser->line_end)
            return claret_spec_fail(parser, end, "%s is missing at the end of the line", what);
        return claret_spec_fail(parser, end, "unexpected %s where %s should begin",
                                claret_spec_show_byte(*end, (char[16]){0}), what);
    }
    if (end - parser->at > CLARET_SPEC_MAX_NAME)
        return claret_spec_fail(parser, end, "%s is longer than %d characters", what, CLARET_SPEC_MAX_NAME);
    *name = claret_arena_printf(&parser->spec->arena, "%.*s", (int)(end - parser->at), parser->at);
    parser->at = end;
    return *name ? CLARET_OK : claret_no_memory();
}

enum claret_status claret_spec_take_name(struct claret_parser *parser, const char *what, const char **start,
                                         const char **name)
{
    return take_name(parser, what, false, start, name);
}

enum claret_status claret_spec_take_layer(struct claret_parser *parser, const char *what, const char **start,
                                          const char **name)
{
    return take_name(parser, what, true, start, name);
}

enum claret_status claret_spec_take_value(struct claret_parser *parser, const char *key, const char **start,
                                          const char **value)
{
    *start = parser->at;
    const char *end = parser->at;
    while (end < parser->line_end && !claret_spec_is_space(*end))
        end++;
    if (end == parser->at)
        return claret_spec_fail(parser, end, "%s has no value: write %s=VALUE without spaces", key, key);
    *value = claret_arena_printf(&parser->spec->arena, "%.*s", (int)(end - parser->at), parser->at);
    parser->at = end;
    return *value ? CLARET_OK : claret_no_memory();
}

/* ---- parameters and products in values ---- */

static const char *param_name(int index, const void *user)
{
    const struct claret_spec_block *block = user;
    return index < block->param_count ? block->params[index].name : NULL;
}

/* `length` characters that name a parameter of the block become its value. */
static void substitute(const struct claret_parser *parser, const char **part, size_t *length)
{
    const struct claret_spec_scope *scope = parser->scope;
    for (int i = 0; scope->block && i < scope->block->param_count; i++) {
        struct claret_spec_param *param = &scope->block->params[i];
        if (strncmp(param->name, *part, *length) == 0 && param->name[*length] == '\0') {
            param->used = true;
            *part = scope->values[i];
            *length = strlen(*part);
            return;
        }
    }
}

/* "4*channels" */
static enum claret_status multiply(const struct claret_parser *parser, const char *start, const char *part,
                                   size_t length, struct claret_text *text)
{
    int64_t product = 1;
    for (const char *at = part, *end = part + length; at;) {
        const char *star = memchr(at, '*', (size_t)(end - at)), *factor = at;
        size_t size = (size_t)((star ? star : end) - at);
        char digits[24];
        int64_t value;
        substitute(parser, &factor, &size);
        snprintf(digits, sizeof digits, "%.*s", size < sizeof digits ? (int)size : 0, factor);
        if (!claret_parse_int(digits, 0, INT32_MAX, &value))
            return claret_spec_fail(parser, start, "'%.*s' in '%.*s' is no whole number%s",
                                    size < 40 ? (int)size : 40, factor, length < 60 ? (int)length : 60, part,
                                    parser->scope->block ? " and no parameter of the block" : "");
        if (value > 0 && product > INT32_MAX / value)
            return claret_spec_fail(parser, start, "the product %.*s is more than %d",
                                    length < 60 ? (int)length : 60, part, INT32_MAX);
        product *= value;
        at = star ? star + 1 : NULL;
    }
    claret_text_add(text, "%lld", (long long)product);
    return CLARET_OK;
}

static enum claret_status expand(const struct claret_parser *parser, const char *start, const char **value)
{
    struct claret_text text = {0};
    enum claret_status status = CLARET_OK;
    if (!parser->scope->block && !strchr(*value, '*'))
        return CLARET_OK;
    for (const char *at = *value; at && status == CLARET_OK;) {
        const char *comma = strchr(at, ','), *part = at;
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        if (memchr(at, '*', length)) {
            status = multiply(parser, start, at, length, &text);
        } else {
            substitute(parser, &part, &length);
            claret_text_add(&text, "%.*s", (int)length, part);
        }
        if (comma)
            claret_text_add(&text, ",");
        at = comma ? comma + 1 : NULL;
    }
    if (status == CLARET_OK) {
        *value = text.failed ? NULL : claret_arena_strdup(&parser->spec->arena, text.data);
        status = *value ? CLARET_OK : claret_no_memory();
    }
    claret_text_drop(&text);
    return status;
}

enum claret_status claret_spec_take_key(struct claret_parser *parser, const char **start, const char **key,
                                        const char **value_start, const char **value)
{
    CLARET_TRY(claret_spec_take_name(parser, "a key", start, key));
    if (parser->at == parser->line_end || *parser->at != '=')
        return claret_spec_fail(parser, parser->at, "'%s' is not followed by '=': keys are written %s=VALUE",
                                *key, *key);
    parser->at++;
    CLARET_TRY(claret_spec_take_value(parser, *key, value_start, value));
    return strcmp(*key, "from") == 0 ? CLARET_OK : expand(parser, *value_start, value);
}

/* ---- values ---- */

static const char *range_text(const struct claret_attr_def *def, char buffer[64])
{
    if (def->maximum >= INT_MAX)
        snprintf(buffer, 64, "of at least %.0f", def->minimum);
    else
        snprintf(buffer, 64, "from %.0f to %.0f", def->minimum, def->maximum);
    return buffer;
}

static bool parse_bool(const char *text, int64_t *value)
{
    static const char *const words[] = {"false", "true", "False", "True", "0", "1"};
    for (int i = 0; i < 6; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = i % 2;
            return true;
        }
    return false;
}

static bool parse_pair(const char *text, const struct claret_attr_def *def, int64_t pair[2])
{
    const char *comma = strchr(text, ',');
    if (!comma) {
        bool fine = claret_parse_int(text, (int64_t)def->minimum, (int64_t)def->maximum, &pair[0]);
        pair[1] = pair[0];
        return fine;
    }
    char first[32];
    if (comma - text >= (int)sizeof first)
        return false;
    memcpy(first, text, (size_t)(comma - text));
    first[comma - text] = 0;
    return claret_parse_int(first, (int64_t)def->minimum, (int64_t)def->maximum, &pair[0]) &&
           claret_parse_int(comma + 1, (int64_t)def->minimum, (int64_t)def->maximum, &pair[1]);
}

static const char *nth_word(int index, const void *user)
{
    return ((const char *const *)user)[index];
}

static enum claret_status parse_word(const struct claret_parser *parser, const char *start, const char *value,
                                     struct claret_attr *attr)
{
    const char *const *words = attr->def->words;
    struct claret_text known = {0};
    for (int i = 0; words[i]; i++) {
        if (strcmp(value, words[i]) == 0) {
            claret_text_drop(&known);
            attr->i[0] = i;
            return CLARET_OK;
        }
        claret_text_add(&known, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    enum claret_status status = claret_spec_fail(parser, start, "%s=%.60s: %s is wanted", attr->def->key,
                                                 value, known.data ? known.data : "a word");
    claret_text_drop(&known);
    int near = claret_nearest(value, nth_word, words);
    if (near >= 0)
        claret_error_context("did you mean '%s'?", words[near]);
    return status;
}

static enum claret_status parse_value(const struct claret_parser *parser, const char *start,
                                      const char *value, struct claret_attr *attr)
{
    const struct claret_attr_def *def = attr->def;
    char range[64];
    bool fine = false;
    switch (def->type) {
    case CLARET_ATTR_INT:
        fine = claret_parse_int(value, (int64_t)def->minimum, (int64_t)def->maximum, &attr->i[0]);
        if (!fine)
            return claret_spec_fail(parser, start, "%s=%.60s: a whole number %s is wanted", def->key, value,
                                    range_text(def, range));
        break;
    case CLARET_ATTR_PAIR:
        fine = parse_pair(value, def, attr->i);
        if (!fine)
            return claret_spec_fail(parser, start,
                                    "%s=%.60s: a whole number %s, or two as HEIGHT,WIDTH, is wanted",
                                    def->key, value, range_text(def, range));
        break;
    case CLARET_ATTR_BOOL:
        fine = parse_bool(value, &attr->i[0]);
        if (!fine)
            return claret_spec_fail(parser, start, "%s=%.60s: true or false is wanted", def->key, value);
        break;
    case CLARET_ATTR_FLOAT:
        fine = claret_parse_double(value, &attr->f) && attr->f >= def->minimum && attr->f <= def->maximum;
        if (!fine)
            return claret_spec_fail(parser, start, "%s=%.60s: a number from %g to %g is wanted", def->key,
                                    value, def->minimum, def->maximum);
        break;
    case CLARET_ATTR_WORD:
        CLARET_TRY(parse_word(parser, start, value, attr));
        break;
    }
    attr->given = true;
    attr->column = claret_spec_column(parser, start);
    return CLARET_OK;
}

/* A word that no value takes may have been meant as a parameter. */
enum claret_status claret_spec_parse_value(const struct claret_parser *parser, const char *start,
                                           const char *value, struct claret_attr *attr)
{
    enum claret_status status = parse_value(parser, start, value, attr);
    int near = -1;
    if (status != CLARET_OK && parser->scope->block)
        near = claret_nearest(value, param_name, parser->scope->block);
    if (near >= 0)
        claret_error_context("did you mean the parameter '%s'?", parser->scope->block->params[near].name);
    return status;
}
