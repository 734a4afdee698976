#include "spec/spec.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MAX_LAYERS 10000   /* names are looked up one by one, so the time goes with the square */
#define MAX_SIZE (1 << 24) /* of an input dimension: far above any real one, far below overflow */

struct parser {
    struct claret_spec *spec;
    const struct claret_schema *const *schemas;
    const char *text, *line_start, *at, *line_end;
    int line, capacity;
};

/* ---- errors ---- */

static int column_of(const struct parser *parser, const char *at)
{
    return (int)(at - parser->line_start) + 1;
}

static enum claret_status fail_at(const struct parser *parser, const char *at, const char *format, ...)
    CLARET_PRINTF(3, 4);
static enum claret_status fail_at(const struct parser *parser, const char *at, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return claret_fail(CLARET_NETWORK, "%s:%d:%d: %s", parser->spec->file, parser->line,
                       column_of(parser, at), message);
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

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!first && ((c >= '0' && c <= '9') || c == '.'));
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->line_end && is_space(*parser->at))
        parser->at++;
}

/* "'x'", or "byte 0x01" for what would not print. */
static const char *show_byte(char c, char buffer[16])
{
    unsigned char byte = (unsigned char)c;
    snprintf(buffer, 16, byte < ' ' || byte > '~' ? "byte 0x%02x" : "'%c'", byte);
    return buffer;
}

/* A name at the parser's place, copied; *start gets where it began. */
static enum claret_status take_name(struct parser *parser, const char *what, const char **start,
                                    const char **name)
{
    *start = parser->at;
    const char *end = parser->at;
    while (end < parser->line_end && is_name(*end, end == parser->at))
        end++;
    if (end == parser->at) {
        if (end == parser->line_end)
            return fail_at(parser, end, "%s is missing at the end of the line", what);
        return fail_at(parser, end, "unexpected %s where %s should begin", show_byte(*end, (char[16]){0}),
                       what);
    }
    if (end - parser->at > 200)
        return fail_at(parser, end, "%s is longer than 200 characters", what);
    *name = claret_arena_printf(&parser->spec->arena, "%.*s", (int)(end - parser->at), parser->at);
    parser->at = end;
    return *name ? CLARET_OK : claret_no_memory();
}

/* The characters up to the next space, copied. */
static enum claret_status take_value(struct parser *parser, const char *key, const char **start,
                                     const char **value)
{
    *start = parser->at;
    const char *end = parser->at;
    while (end < parser->line_end && !is_space(*end))
        end++;
    if (end == parser->at)
        return fail_at(parser, end, "%s has no value: write %s=VALUE without spaces", key, key);
    *value = claret_arena_printf(&parser->spec->arena, "%.*s", (int)(end - parser->at), parser->at);
    parser->at = end;
    return *value ? CLARET_OK : claret_no_memory();
}

/* ---- names of ops, keys, layers ---- */

static const char *schema_name(int index, const void *user)
{
    const struct claret_schema *const *schemas = user;
    return schemas[index] ? schemas[index]->name : NULL;
}

static const char *attr_key(int index, const void *user)
{
    const struct claret_attr_def *attrs = user;
    return attrs[index].key;
}

static const char *layer_name(int index, const void *user)
{
    const struct claret_spec *spec = user;
    return index < spec->layer_count ? spec->layers[index].name : NULL;
}

static int find_layer(const struct claret_spec *spec, const char *name)
{
    for (int i = 0; i < spec->layer_count; i++)
        if (strcmp(spec->layers[i].name, name) == 0)
            return i;
    return -1;
}

static enum claret_status find_schema(const struct parser *parser, const char *start, const char *name,
                                      const struct claret_schema **schema)
{
    for (int i = 0; parser->schemas[i]; i++)
        if (strcmp(parser->schemas[i]->name, name) == 0) {
            *schema = parser->schemas[i];
            return CLARET_OK;
        }
    int near = claret_nearest(name, schema_name, parser->schemas);
    if (near >= 0)
        return fail_at(parser, start, "unknown op '%s': did you mean '%s'?", name,
                       parser->schemas[near]->name);
    struct claret_text known = {0};
    for (int i = 0; parser->schemas[i]; i++)
        claret_text_add(&known, "%s%s", i ? ", " : "", parser->schemas[i]->name);
    enum claret_status status =
        fail_at(parser, start, "unknown op '%s': known are %s", name, known.data ? known.data : "");
    claret_text_drop(&known);
    return status;
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

static enum claret_status parse_value(const struct parser *parser, const struct claret_attr_def *def,
                                      const char *start, const char *value, struct claret_attr *attr)
{
    char range[64];
    bool fine = false;
    switch (def->type) {
    case CLARET_ATTR_INT:
        fine = claret_parse_int(value, (int64_t)def->minimum, (int64_t)def->maximum, &attr->i[0]);
        if (!fine)
            return fail_at(parser, start, "%s=%.60s: a whole number %s is wanted", def->key, value,
                           range_text(def, range));
        break;
    case CLARET_ATTR_PAIR:
        fine = parse_pair(value, def, attr->i);
        if (!fine)
            return fail_at(parser, start, "%s=%.60s: a whole number %s, or two as HEIGHT,WIDTH, is wanted",
                           def->key, value, range_text(def, range));
        break;
    case CLARET_ATTR_BOOL:
        fine = parse_bool(value, &attr->i[0]);
        if (!fine)
            return fail_at(parser, start, "%s=%.60s: true or false is wanted", def->key, value);
        break;
    case CLARET_ATTR_FLOAT:
        fine = claret_parse_double(value, &attr->f) && attr->f >= def->minimum && attr->f <= def->maximum;
        if (!fine)
            return fail_at(parser, start, "%s=%.60s: a number from %g to %g is wanted", def->key, value,
                           def->minimum, def->maximum);
        break;
    }
    attr->given = true;
    attr->column = column_of(parser, start);
    return CLARET_OK;
}

/* ---- lines ---- */

static enum claret_status parse_input(struct parser *parser)
{
    const char *start, *word;
    static const char *const names[3] = {"channels", "height", "width"};
    CLARET_TRY(take_name(parser, "'input'", &start, &word));
    if (strcmp(word, "input") != 0)
        return fail_at(parser, start,
                       "a network begins with its input, as 'input 3 32 32' (channels height width), not "
                       "with '%s'",
                       word);
    for (int i = 0; i < 3; i++) {
        skip_space(parser);
        const char *value;
        if (parser->at == parser->line_end)
            return fail_at(parser, parser->at, "input wants channels, height and width; %s is missing",
                           names[i]);
        CLARET_TRY(take_value(parser, names[i], &start, &value));
        if (!claret_parse_int(value, 1, MAX_SIZE, &parser->spec->input[i]))
            return fail_at(parser, start, "input %s '%.60s': a whole number from 1 to %d is wanted", names[i],
                           value, MAX_SIZE);
    }
    skip_space(parser);
    if (parser->at != parser->line_end)
        return fail_at(parser, parser->at, "input takes three numbers: channels, height, width");
    return CLARET_OK;
}

static enum claret_status parse_from(struct parser *parser, struct claret_layer *layer, const char *start,
                                     const char *value)
{
    int count = 0;
    for (const char *at = value; at; count++) {
        const char *comma = strchr(at, ',');
        int length = comma ? (int)(comma - at) : (int)strlen(at);
        const char *name = claret_arena_printf(&parser->spec->arena, "%.*s", length, at);
        if (!name)
            return claret_no_memory();
        int from = strcmp(name, "input") == 0 ? -1 : find_layer(parser->spec, name);
        if (from < 0 && strcmp(name, "input") != 0) {
            int near = claret_nearest(name, layer_name, parser->spec);
            return fail_at(parser, start + (at - value),
                           "from=%.60s: no layer before this one is called '%.60s'%s%s%s", value, name,
                           near >= 0 ? ": did you mean '" : "",
                           near >= 0 ? parser->spec->layers[near].name : "", near >= 0 ? "'?" : "");
        }
        if (count < layer->schema->inputs)
            layer->from[count] = from;
        at = comma ? comma + 1 : NULL;
    }
    if (count != layer->schema->inputs)
        return fail_at(parser, start, "from names %d layers, %s takes %d", count, layer->schema->name,
                       layer->schema->inputs);
    return CLARET_OK;
}

static enum claret_status parse_key(struct parser *parser, struct claret_layer *layer, bool *from_given)
{
    const char *start, *key, *value_start, *value;
    CLARET_TRY(take_name(parser, "a key", &start, &key));
    if (parser->at == parser->line_end || *parser->at != '=')
        return fail_at(parser, parser->at, "'%s' is not followed by '=': keys are written %s=VALUE", key,
                       key);
    parser->at++;
    CLARET_TRY(take_value(parser, key, &value_start, &value));
    if (strcmp(key, "from") == 0) {
        if (*from_given)
            return fail_at(parser, start, "from is given twice");
        *from_given = true;
        return parse_from(parser, layer, value_start, value);
    }
    const struct claret_attr_def *attrs = layer->schema->attrs;
    for (int i = 0; attrs[i].key; i++)
        if (strcmp(attrs[i].key, key) == 0) {
            if (layer->attr[i].given)
                return fail_at(parser, start, "%s is given twice", key);
            return parse_value(parser, &attrs[i], value_start, value, &layer->attr[i]);
        }
    int near = claret_nearest(key, attr_key, attrs);
    if (near >= 0)
        return fail_at(parser, start, "%s has no key '%s': did you mean '%s'?", layer->schema->name, key,
                       attrs[near].key);
    struct claret_text known = {0};
    for (int i = 0; attrs[i].key; i++)
        claret_text_add(&known, " %s", attrs[i].key);
    enum claret_status status = fail_at(parser, start, "%s has no key '%s': it has%s", layer->schema->name,
                                        key, known.data ? known.data : " none");
    claret_text_drop(&known);
    return status;
}

static enum claret_status prepare_layer(struct parser *parser, struct claret_layer *layer)
{
    const struct claret_attr_def *attrs = layer->schema->attrs;
    size_t count = 0;
    while (attrs[count].key)
        count++;
    layer->attr = claret_arena_alloc(&parser->spec->arena, (count + 1) * sizeof *layer->attr);
    layer->from =
        claret_arena_alloc(&parser->spec->arena, ((size_t)layer->schema->inputs + 1) * sizeof *layer->from);
    if (!layer->attr || !layer->from)
        return claret_no_memory();
    for (size_t i = 0; i <= count; i++)
        layer->attr[i].def = &attrs[i];
    for (size_t i = 0; i < count; i++) {
        layer->attr[i].i[0] = layer->attr[i].i[1] =
            attrs[i].type == CLARET_ATTR_FLOAT ? 0 : (int64_t)attrs[i].value;
        layer->attr[i].f = attrs[i].value;
    }
    for (int i = 0; i < layer->schema->inputs; i++)
        layer->from[i] = parser->spec->layer_count - 1;
    return CLARET_OK;
}

/* "relu1": the op and its count among the layers of that op without a name. */
static enum claret_status default_name(struct parser *parser, struct claret_layer *layer, const int *counts)
{
    int op = 0;
    while (parser->schemas[op] != layer->schema)
        op++;
    layer->name = claret_arena_printf(&parser->spec->arena, "%s%d", layer->schema->name, counts[op] + 1);
    return layer->name ? CLARET_OK : claret_no_memory();
}

static enum claret_status add_layer(struct parser *parser, struct claret_layer **layer)
{
    struct claret_spec *spec = parser->spec;
    if (spec->layer_count == MAX_LAYERS)
        return fail_at(parser, parser->at, "more than %d layers", MAX_LAYERS);
    if (spec->layer_count == parser->capacity) {
        int capacity = parser->capacity ? 2 * parser->capacity : 32;
        struct claret_layer *layers = claret_arena_alloc(&spec->arena, (size_t)capacity * sizeof *layers);
        if (!layers)
            return claret_no_memory();
        if (spec->layer_count)
            memcpy(layers, spec->layers, (size_t)spec->layer_count * sizeof *layers);
        spec->layers = layers;
        parser->capacity = capacity;
    }
    *layer = &spec->layers[spec->layer_count];
    memset(*layer, 0, sizeof **layer);
    return CLARET_OK;
}

static enum claret_status parse_layer(struct parser *parser, int *counts)
{
    struct claret_layer *layer = NULL;
    const char *start, *word, *name_start = NULL;
    CLARET_TRY(add_layer(parser, &layer));
    CLARET_TRY(take_name(parser, "a layer's name or op", &start, &word));
    skip_space(parser);
    if (parser->at < parser->line_end && *parser->at == '=') {
        parser->at++;
        skip_space(parser);
        layer->name = word;
        name_start = start;
        CLARET_TRY(take_name(parser, "an op", &start, &word));
        skip_space(parser);
    }
    if (strcmp(word, "input") == 0)
        return fail_at(parser, start, "input stands once, on the first line");
    if (parser->at < parser->line_end && !is_space(parser->at[-1]))
        return fail_at(parser, parser->at, "unexpected %s after '%s'", show_byte(*parser->at, (char[16]){0}),
                       word);
    CLARET_TRY(find_schema(parser, start, word, &layer->schema));
    layer->line = parser->line;
    layer->column = column_of(parser, start);
    CLARET_TRY(prepare_layer(parser, layer));
    if (!layer->name)
        CLARET_TRY(default_name(parser, layer, counts));
    if (strcmp(layer->name, "input") == 0 || find_layer(parser->spec, layer->name) >= 0)
        return fail_at(parser, name_start ? name_start : start, "a layer called '%s' is there already",
                       layer->name);
    for (int op = 0; !name_start && parser->schemas[op]; op++)
        counts[op] += parser->schemas[op] == layer->schema;
    bool from_given = false;
    while (parser->at < parser->line_end) {
        CLARET_TRY(parse_key(parser, layer, &from_given));
        skip_space(parser);
    }
    for (int i = 0; layer->schema->attrs[i].key; i++)
        if (layer->schema->attrs[i].required && !layer->attr[i].given)
            return fail_at(parser, start, "%s needs %s=VALUE", word, layer->schema->attrs[i].key);
    if (!from_given && layer->schema->inputs > 1)
        return fail_at(parser, start, "%s takes %d layers: say which by from=NAME,NAME", word,
                       layer->schema->inputs);
    parser->spec->layer_count++;
    return CLARET_OK;
}

static enum claret_status parse_lines(struct parser *parser, int *counts)
{
    bool have_input = false;
    const char *next = parser->text;
    if (strncmp(next, "\xef\xbb\xbf", 3) == 0)
        next += 3; /* a byte order mark, as some editors put it before UTF-8 */
    while (*next) {
        parser->line++;
        parser->line_start = parser->at = next;
        next += strcspn(next, "\n");
        parser->line_end = parser->at + strcspn(parser->at, "#\n");
        if (*next)
            next++;
        skip_space(parser);
        while (parser->line_end > parser->at && is_space(parser->line_end[-1]))
            parser->line_end--;
        if (parser->at == parser->line_end)
            continue;
        if (!have_input)
            CLARET_TRY(parse_input(parser));
        else
            CLARET_TRY(parse_layer(parser, counts));
        have_input = true;
    }
    if (!have_input)
        return claret_fail(CLARET_NETWORK, "%s: the network is empty: it begins with a line 'input 3 32 32'",
                           parser->spec->file);
    if (parser->spec->layer_count == 0)
        return claret_fail(CLARET_NETWORK, "%s: the network has an input and no layers", parser->spec->file);
    return CLARET_OK;
}

enum claret_status claret_spec_parse(const char *text, const char *file,
                                     const struct claret_schema *const *schemas, struct claret_spec **result)
{
    struct claret_spec *spec = calloc(1, sizeof *spec);
    if (!spec)
        return claret_no_memory();
    enum claret_status status = CLARET_OK;
    size_t ops = 0;
    while (schemas[ops])
        ops++;
    int *counts = claret_arena_alloc(&spec->arena, (ops + 1) * sizeof *counts);
    spec->file = claret_arena_strdup(&spec->arena, file);
    if (!counts || !spec->file) {
        status = claret_no_memory();
        goto fail;
    }
    struct parser parser = {.spec = spec, .schemas = schemas, .text = text};
    CLARET_GOTO(fail, parse_lines(&parser, counts));
    *result = spec;
    return CLARET_OK;
fail:
    claret_spec_destroy(spec);
    return status;
}

void claret_spec_destroy(struct claret_spec *spec)
{
    if (!spec)
        return;
    claret_arena_free(&spec->arena);
    free(spec);
}
