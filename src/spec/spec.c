/* Network text to a list of layers: its lines. */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "spec/parser.h"

#define MAX_SIZE (1 << 24) /* of an input dimension: far above any real one, far below overflow */

/* ---- names of ops, keys, layers ---- */

/* Ops, then blocks. */
static const char *op_name(int index, const void *user)
{
    const struct claret_parser *parser = user;
    if ((size_t)index < parser->schema_count)
        return parser->schemas[index]->name;
    const struct claret_spec_block *block = parser->blocks;
    for (index -= (int)parser->schema_count; block && index > 0; index--)
        block = block->next;
    return block ? block->name : NULL;
}

static const char *attr_key(int index, const void *user)
{
    const struct claret_attr_def *attrs = user;
    return attrs[index].key;
}

/* As it is called in the scope; what stands outside of it is near to nothing. */
static const char *name_in_scope(const struct claret_parser *parser, const char *full)
{
    size_t length = strlen(parser->scope->prefix);
    return strncmp(full, parser->scope->prefix, length) == 0 ? full + length
                                                             : "                              ";
}

/* Layers, then blocks that were used. */
static const char *layer_name(int index, const void *user)
{
    const struct claret_parser *parser = user;
    if (index < parser->spec->layer_count)
        return name_in_scope(parser, parser->spec->layers[index].name);
    const struct claret_spec_name *name = parser->names;
    for (index -= parser->spec->layer_count; name && index > 0; index--)
        name = name->next;
    return name ? name_in_scope(parser, name->name) : NULL;
}

static int find_full(const struct claret_parser *parser, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    for (int i = 0; i < parser->spec->layer_count; i++) {
        const char *full = parser->spec->layers[i].name;
        if (strncmp(full, prefix, length) == 0 && strcmp(full + length, name) == 0)
            return i;
    }
    for (const struct claret_spec_name *at = parser->names; at; at = at->next)
        if (strncmp(at->name, prefix, length) == 0 && strcmp(at->name + length, name) == 0)
            return at->layer;
    return -2;
}

int claret_spec_find(const struct claret_parser *parser, const char *name)
{
    if (strcmp(name, "input") == 0)
        return parser->scope->input;
    return find_full(parser, parser->scope->prefix, name);
}

enum claret_status claret_spec_full_name(const struct claret_parser *parser, const char *at, const char *name,
                                         const char **full)
{
    if (strlen(parser->scope->prefix) + strlen(name) > CLARET_SPEC_MAX_NAME)
        return claret_spec_fail(parser, at, "the name %.60s%.60s... is longer than %d characters",
                                parser->scope->prefix, name, CLARET_SPEC_MAX_NAME);
    *full = claret_arena_printf(&parser->spec->arena, "%s%s", parser->scope->prefix, name);
    if (!*full)
        return claret_no_memory();
    if (strcmp(name, "input") == 0 || find_full(parser, "", *full) > -2)
        return claret_spec_fail(parser, at, "a layer called '%s' is there already", *full);
    return CLARET_OK;
}

static const struct claret_schema *find_schema(const struct claret_parser *parser, const char *name)
{
    for (int i = 0; parser->schemas[i]; i++)
        if (strcmp(parser->schemas[i]->name, name) == 0)
            return parser->schemas[i];
    return NULL;
}

static enum claret_status fail_unknown(const struct claret_parser *parser, const char *start,
                                       const char *name)
{
    int near = claret_nearest(name, op_name, parser);
    if (near >= 0)
        return claret_spec_fail(parser, start, "unknown op '%s': did you mean '%s'?", name,
                                op_name(near, parser));
    struct claret_text known = {0};
    for (int i = 0; op_name(i, parser); i++)
        claret_text_add(&known, "%s%s", i ? ", " : "", op_name(i, parser));
    enum claret_status status =
        claret_spec_fail(parser, start, "unknown op '%s': known are %s", name, known.data ? known.data : "");
    claret_text_drop(&known);
    return status;
}

/* ---- lines ---- */

static enum claret_status parse_input(struct claret_parser *parser)
{
    const char *start, *word;
    static const char *const names[3] = {"channels", "height", "width"};
    CLARET_TRY(claret_spec_take_name(parser, "'input'", &start, &word));
    if (strcmp(word, "input") != 0)
        return claret_spec_fail(
            parser, start,
            "a network begins with its input, as 'input 3 32 32' (channels height width), not "
            "with '%s'",
            word);
    for (int i = 0; i < 3; i++) {
        claret_spec_skip_space(parser);
        const char *value;
        if (parser->at == parser->line_end)
            return claret_spec_fail(parser, parser->at,
                                    "input wants channels, height and width; %s is missing", names[i]);
        CLARET_TRY(claret_spec_take_value(parser, names[i], &start, &value));
        if (!claret_parse_int(value, 1, MAX_SIZE, &parser->spec->input[i]))
            return claret_spec_fail(parser, start, "input %s '%.60s': a whole number from 1 to %d is wanted",
                                    names[i], value, MAX_SIZE);
    }
    claret_spec_skip_space(parser);
    if (parser->at != parser->line_end)
        return claret_spec_fail(parser, parser->at, "input takes three numbers: channels, height, width");
    return CLARET_OK;
}

enum claret_status claret_spec_from(const struct claret_parser *parser, const char *start, const char *value,
                                    const char *at, const char *name, int *layer)
{
    *layer = claret_spec_find(parser, name);
    if (*layer > -2)
        return CLARET_OK;
    int near = claret_nearest(name, layer_name, parser);
    return claret_spec_fail(
        parser, start + (at - value), "from=%.60s: no layer before this one%s is called '%.60s'%s%s%s", value,
        parser->scope->block ? " in the block" : "", name, near >= 0 ? ": did you mean '" : "",
        near >= 0 ? layer_name(near, parser) : "", near >= 0 ? "'?" : "");
}

static enum claret_status parse_from(struct claret_parser *parser, struct claret_layer *layer,
                                     const char *start, const char *value)
{
    const struct claret_schema *schema = layer->schema;
    int count = 0, most = schema->most > schema->inputs ? schema->most : schema->inputs;
    for (const char *at = value; at; count++) {
        const char *comma = strchr(at, ',');
        int length = comma ? (int)(comma - at) : (int)strlen(at), from;
        const char *name = claret_arena_printf(&parser->spec->arena, "%.*s", length, at);
        if (!name)
            return claret_no_memory();
        CLARET_TRY(claret_spec_from(parser, start, value, at, name, &from));
        if (count < most)
            layer->from[count] = from;
        at = comma ? comma + 1 : NULL;
    }
    if (count < schema->inputs || count > most) {
        char range[32];
        claret_print(range, sizeof range, most > schema->inputs ? "%d to %d" : "%d", schema->inputs, most);
        return claret_spec_fail(parser, start, "from names %d layers, %s takes %s", count, schema->name,
                                range);
    }
    layer->from_count = count;
    return CLARET_OK;
}

static enum claret_status parse_key(struct claret_parser *parser, struct claret_layer *layer,
                                    bool *from_given)
{
    const char *start, *key, *value_start, *value;
    CLARET_TRY(claret_spec_take_key(parser, &start, &key, &value_start, &value));
    if (strcmp(key, "from") == 0) {
        if (*from_given)
            return claret_spec_fail(parser, start, "from is given twice");
        *from_given = true;
        return parse_from(parser, layer, value_start, value);
    }
    const struct claret_attr_def *attrs = layer->schema->attrs;
    for (int i = 0; attrs[i].key; i++)
        if (strcmp(attrs[i].key, key) == 0) {
            if (layer->attr[i].given)
                return claret_spec_fail(parser, start, "%s is given twice", key);
            return claret_spec_parse_value(parser, value_start, value, &layer->attr[i]);
        }
    int near = claret_nearest(key, attr_key, attrs);
    if (near >= 0)
        return claret_spec_fail(parser, start, "%s has no key '%s': did you mean '%s'?", layer->schema->name,
                                key, attrs[near].key);
    struct claret_text known = {0};
    for (int i = 0; attrs[i].key; i++)
        claret_text_add(&known, " %s", attrs[i].key);
    enum claret_status status = claret_spec_fail(parser, start, "%s has no key '%s': it has%s",
                                                 layer->schema->name, key, known.data ? known.data : " none");
    claret_text_drop(&known);
    return status;
}

static enum claret_status prepare_layer(struct claret_parser *parser, struct claret_layer *layer)
{
    const struct claret_attr_def *attrs = layer->schema->attrs;
    int most = layer->schema->most, inputs = layer->schema->inputs > most ? layer->schema->inputs : most;
    size_t count = 0;
    while (attrs[count].key)
        count++;
    layer->attr = claret_arena_alloc(&parser->spec->arena, (count + 1) * sizeof *layer->attr);
    layer->from = claret_arena_alloc(&parser->spec->arena, ((size_t)inputs + 1) * sizeof *layer->from);
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
        layer->from[i] = parser->scope->last;
    layer->from_count = layer->schema->inputs;
    return CLARET_OK;
}

/* "relu1": the op and its count among the layers of that op without a name. */
static enum claret_status default_name(struct claret_parser *parser, const struct claret_schema *schema,
                                       const char **name)
{
    int op = 0;
    while (parser->schemas[op] != schema)
        op++;
    *name = claret_arena_printf(&parser->spec->arena, "%s%d", schema->name, parser->scope->counts[op] + 1);
    parser->scope->counts[op]++;
    return *name ? CLARET_OK : claret_no_memory();
}

static enum claret_status add_layer(struct claret_parser *parser, const char *start,
                                    struct claret_layer **layer)
{
    struct claret_spec *spec = parser->spec;
    if (spec->layer_count == CLARET_SPEC_MAX_LAYERS)
        return claret_spec_fail(parser, start, "more than %d layers", CLARET_SPEC_MAX_LAYERS);
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

/* A layer of op `word`, which stands at `start`, called `name` (NULL: no name is given). */
static enum claret_status parse_layer(struct claret_parser *parser, const struct claret_schema *schema,
                                      const char *start, const char *name, const char *name_start)
{
    struct claret_layer *layer = NULL;
    CLARET_TRY(add_layer(parser, start, &layer));
    layer->schema = schema;
    layer->line = parser->line;
    layer->column = claret_spec_column(parser, start);
    CLARET_TRY(prepare_layer(parser, layer));
    if (!name)
        CLARET_TRY(default_name(parser, schema, &name));
    CLARET_TRY(claret_spec_full_name(parser, name_start ? name_start : start, name, &layer->name));
    bool from_given = false;
    while (parser->at < parser->line_end) {
        CLARET_TRY(parse_key(parser, layer, &from_given));
        claret_spec_skip_space(parser);
    }
    for (int i = 0; schema->attrs[i].key; i++)
        if (schema->attrs[i].required && !layer->attr[i].given)
            return claret_spec_fail(parser, start, "%s needs %s=VALUE", schema->name, schema->attrs[i].key);
    if (!from_given && schema->inputs > 1)
        return claret_spec_fail(parser, start, "%s takes %d layers%s: say which by from=NAME,NAME",
                                schema->name, schema->inputs,
                                schema->most > schema->inputs ? " or more" : "");
    parser->scope->last = parser->spec->layer_count++;
    return CLARET_OK;
}

/* "[NAME =] OP key=value ...", or a block's name for the op. */
static enum claret_status parse_statement(struct claret_parser *parser)
{
    const char *start, *word, *name = NULL, *name_start = NULL;
    CLARET_TRY(claret_spec_take_layer(parser, "a layer's name or op", &start, &word));
    claret_spec_skip_space(parser);
    if (parser->at < parser->line_end && *parser->at == '=') {
        parser->at++;
        claret_spec_skip_space(parser);
        name = word;
        name_start = start;
        CLARET_TRY(claret_spec_take_name(parser, "an op", &start, &word));
        claret_spec_skip_space(parser);
    }
    if (strcmp(word, "input") == 0)
        return claret_spec_fail(parser, start, "input stands once, on the first line");
    if (parser->at < parser->line_end && !claret_spec_is_space(parser->at[-1]))
        return claret_spec_fail(parser, parser->at, "unexpected %s after '%s'",
                                claret_spec_show_byte(*parser->at, (char[16]){0}), word);
    const struct claret_schema *schema = find_schema(parser, word);
    if (schema)
        return parse_layer(parser, schema, start, name, name_start);
    struct claret_spec_block *block = claret_spec_find_block(parser, word);
    if (block)
        return claret_spec_use(parser, block, start, name, name_start);
    return fail_unknown(parser, start, word);
}

enum claret_status claret_spec_parse_lines(struct claret_parser *parser, const char *text, const char *end,
                                           int line)
{
    parser->line = line - 1;
    for (const char *next = text; next < end;) {
        claret_spec_next_line(parser, &next, end);
        if (parser->at == parser->line_end)
            continue;
        if (claret_spec_at_block(parser)) {
            CLARET_TRY(claret_spec_define(parser, next, end, &next));
        } else if (claret_spec_at_end(parser)) {
            return claret_spec_fail(parser, parser->at, "'end' without a line 'block NAME(...)' before it");
        } else if (!parser->have_input) {
            CLARET_TRY(parse_input(parser));
            parser->have_input = true;
        } else {
            CLARET_TRY(parse_statement(parser));
        }
    }
    return CLARET_OK;
}

static enum claret_status parse_all(struct claret_parser *parser, const char *text)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3; /* a byte order mark, as some editors put it before UTF-8 */
    CLARET_TRY(claret_spec_parse_lines(parser, text, text + strlen(text), 1));
    if (!parser->have_input)
        return claret_fail(CLARET_NETWORK, "%s: the network is empty: it begins with a line 'input 3 32 32'",
                           parser->spec->file);
    if (parser->spec->layer_count == 0)
        return claret_fail(CLARET_NETWORK, "%s: the network has an input and no layers", parser->spec->file);
    return claret_spec_check_blocks(parser);
}

size_t claret_spec_counts(const struct claret_parser *parser)
{
    return parser->schema_count + CLARET_SPEC_MAX_BLOCKS;
}

enum claret_status claret_spec_parse(const char *text, const char *file,
                                     const struct claret_schema *const *schemas, struct claret_spec **result)
{
    struct claret_spec *spec = calloc(1, sizeof *spec);
    if (!spec)
        return claret_no_memory();
    enum claret_status status = CLARET_OK;
    struct claret_parser parser = {.spec = spec, .schemas = schemas};
    struct claret_spec_scope scope = {.prefix = "", .input = -1, .last = -1};
    while (schemas[parser.schema_count])
        parser.schema_count++;
    scope.counts = claret_arena_alloc(&spec->arena, claret_spec_counts(&parser) * sizeof *scope.counts);
    spec->file = claret_arena_strdup(&spec->arena, file);
    if (!scope.counts || !spec->file) {
        status = claret_no_memory();
        goto fail;
    }
    parser.scope = &scope;
    CLARET_GOTO(fail, parse_all(&parser, text));
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
