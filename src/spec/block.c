/* Blocks of a network text: their definitions, and what a use of one expands to. */
#include <string.h>

#include "base/text.h"
#include "spec/parser.h"

/* ---- definitions ---- */

/* Whether the line at the parser's place begins with `word` alone. *rest: what follows it. */
static bool begins(const struct claret_parser *parser, const char *word, const char **rest)
{
    size_t length = strlen(word), room = (size_t)(parser->line_end - parser->at);
    const char *at = parser->at + length;
    if (room < length || memcmp(parser->at, word, length) != 0 ||
        (room > length && !claret_spec_is_space(*at)))
        return false;
    while (at < parser->line_end && claret_spec_is_space(*at))
        at++;
    *rest = at;
    return true;
}

bool claret_spec_at_block(const struct claret_parser *parser)
{
    const char *rest;
    return begins(parser, "block", &rest) && (rest == parser->line_end || *rest != '=');
}

bool claret_spec_at_end(const struct claret_parser *parser)
{
    const char *rest;
    return begins(parser, "end", &rest) && (rest == parser->line_end || *rest != '=');
}

struct claret_spec_block *claret_spec_find_block(const struct claret_parser *parser, const char *name)
{
    struct claret_spec_block *block = parser->blocks;
    while (block && strcmp(block->name, name) != 0)
        block = block->next;
    return block;
}

static enum claret_status check_block_name(const struct claret_parser *parser, const char *start,
                                           const char *name)
{
    bool known = strcmp(name, "input") == 0 || strcmp(name, "block") == 0 || strcmp(name, "end") == 0;
    for (int i = 0; parser->schemas[i]; i++)
        known = known || strcmp(parser->schemas[i]->name, name) == 0;
    if (known)
        return claret_spec_fail(parser, start, "'%s' has a meaning already: give the block another name",
                                name);
    if (claret_spec_find_block(parser, name))
        return claret_spec_fail(parser, start, "a block called '%s' is there already", name);
    return CLARET_OK;
}

/* "channels" or "stride=1" at the parser's place. */
static enum claret_status parse_param(struct claret_parser *parser, struct claret_spec_block *block)
{
    static const char *const taken[] = {"from", "repeat", "input", "true", "false", "True", "False", NULL};
    const char *start, *name;
    CLARET_TRY(claret_spec_take_name(parser, "a parameter", &start, &name));
    for (int i = 0; taken[i]; i++)
        if (strcmp(name, taken[i]) == 0)
            return claret_spec_fail(parser, start, "a parameter cannot be called '%s'", name);
    for (int i = 0; i < block->param_count; i++)
        if (strcmp(block->params[i].name, name) == 0)
            return claret_spec_fail(parser, start, "the block has a parameter '%s' already", name);
    if (block->param_count == CLARET_SPEC_MAX_PARAMS)
        return claret_spec_fail(parser, start, "more than %d parameters", CLARET_SPEC_MAX_PARAMS);
    struct claret_spec_param *param = &block->params[block->param_count++];
    param->name = name;
    param->column = claret_spec_column(parser, start);
    claret_spec_skip_space(parser);
    if (parser->at == parser->line_end || *parser->at != '=')
        return CLARET_OK;
    parser->at++;
    claret_spec_skip_space(parser);
    const char *end = parser->at;
    while (end < parser->line_end && !claret_spec_is_space(*end) && !strchr(",()=", *end))
        end++;
    if (end == parser->at)
        return claret_spec_fail(parser, end, "the default of '%s' is missing", name);
    param->value = claret_arena_printf(&parser->spec->arena, "%.*s", (int)(end - parser->at), parser->at);
    parser->at = end;
    claret_spec_skip_space(parser);
    return param->value ? CLARET_OK : claret_no_memory();
}

/* "(channels, stride=1)" up to the end of the line; nothing is as good as "()". */
static enum claret_status parse_params(struct claret_parser *parser, struct claret_spec_block *block)
{
    claret_spec_skip_space(parser);
    if (parser->at == parser->line_end)
        return CLARET_OK;
    if (*parser->at != '(')
        return claret_spec_fail(parser, parser->at,
                                "unexpected %s: a block begins as 'block %.40s(channels, stride=1)'",
                                claret_spec_show_byte(*parser->at, (char[16]){0}), block->name);
    for (bool more = true; more;) {
        parser->at++;
        claret_spec_skip_space(parser);
        if (block->param_count == 0 && parser->at < parser->line_end && *parser->at == ')')
            break;
        CLARET_TRY(parse_param(parser, block));
        more = parser->at < parser->line_end && *parser->at == ',';
    }
    if (parser->at == parser->line_end || *parser->at != ')')
        return claret_spec_fail(parser, parser->at, "')' is missing behind the block's parameters");
    parser->at++;
    claret_spec_skip_space(parser);
    if (parser->at < parser->line_end)
        return claret_spec_fail(parser, parser->at, "a block's layers begin on the next line");
    return CLARET_OK;
}

enum claret_status claret_spec_define(struct claret_parser *parser, const char *text, const char *end,
                                      const char **next)
{
    struct claret_spec_block *block = claret_arena_alloc(&parser->spec->arena, sizeof *block);
    const char *start, *name;
    if (!block)
        return claret_no_memory();
    parser->at += strlen("block");
    claret_spec_skip_space(parser);
    CLARET_TRY(claret_spec_take_name(parser, "a block's name", &start, &name));
    CLARET_TRY(check_block_name(parser, start, name));
    int number = parser->blocks ? parser->blocks->number + 1 : 0;
    if (number == CLARET_SPEC_MAX_BLOCKS)
        return claret_spec_fail(parser, start, "more than %d blocks", CLARET_SPEC_MAX_BLOCKS);
    *block = (struct claret_spec_block){.next = parser->blocks,
                                        .number = number,
                                        .name = name,
                                        .body = text,
                                        .line_start = parser->line_start,
                                        .line = parser->line,
                                        .column = claret_spec_column(parser, start)};
    CLARET_TRY(parse_params(parser, block));
    bool empty = true;
    for (*next = text; *next < end;) {
        claret_spec_next_line(parser, next, end);
        if (claret_spec_at_end(parser)) {
            const char *after = parser->at + strlen("end");
            if (after < parser->line_end)
                return claret_spec_fail(parser, parser->line_end - 1, "'end' stands alone on its line");
            block->body_end = parser->line_start;
            if (empty)
                return claret_spec_fail(parser, parser->at, "block '%s' has no layers", name);
            parser->blocks = block;
            return CLARET_OK;
        }
        if (claret_spec_at_block(parser))
            return claret_spec_fail(
                parser, parser->at,
                "blocks are defined one after another: '%s' (line %d) has no line 'end' yet", name,
                block->line);
        empty = empty && parser->at == parser->line_end;
    }
    parser->line = block->line;
    parser->line_start = block->line_start;
    return claret_spec_fail(parser, start, "block '%s' has no line 'end'", name);
}

enum claret_status claret_spec_check_blocks(struct claret_parser *parser)
{
    for (const struct claret_spec_block *block = parser->blocks; block; block = block->next) {
        parser->line = block->line;
        parser->line_start = block->line_start;
        if (!block->used)
            return claret_spec_fail(parser, block->line_start + block->column - 1, "block '%s' is not used",
                                    block->name);
        for (int i = 0; i < block->param_count; i++)
            if (!block->params[i].used)
                return claret_spec_fail(parser, block->line_start + block->params[i].column - 1,
                                        "parameter '%s' of block '%s' is not used", block->params[i].name,
                                        block->name);
    }
    return CLARET_OK;
}

/* ---- uses ---- */

/* One line that uses a block. */
struct use {
    struct claret_spec_block *block;
    const char *start;                          /* of the block's name in the line */
    const char *values[CLARET_SPEC_MAX_PARAMS]; /* NULL: not given */
    int input;                                  /* layer */
    int64_t repeat;                             /* 0: not given */
};

static const char *key_name(int index, const void *user)
{
    const struct claret_spec_block *block = user;
    if (index < block->param_count)
        return block->params[index].name;
    return index == block->param_count ? "repeat" : index == block->param_count + 1 ? "from" : NULL;
}

static enum claret_status fail_key(const struct claret_parser *parser, const struct use *use,
                                   const char *start, const char *key)
{
    const struct claret_spec_block *block = use->block;
    struct claret_text known = {0};
    int near = claret_nearest(key, key_name, block);
    if (near >= 0)
        return claret_spec_fail(parser, start, "block '%s' has no parameter '%s': did you mean '%s'?",
                                block->name, key, key_name(near, block));
    for (int i = 0; i < block->param_count; i++)
        claret_text_add(&known, " %s", block->params[i].name);
    enum claret_status status = claret_spec_fail(parser, start, "block '%s' has no parameter '%s': it has%s",
                                                 block->name, key, known.data ? known.data : " none");
    claret_text_drop(&known);
    return status;
}

static enum claret_status use_key(struct claret_parser *parser, struct use *use, bool *from_given)
{
    const char *start, *key, *value_start, *value;
    CLARET_TRY(claret_spec_take_key(parser, &start, &key, &value_start, &value));
    if (strcmp(key, "from") == 0) {
        if (*from_given)
            return claret_spec_fail(parser, start, "from is given twice");
        *from_given = true;
        if (strchr(value, ','))
            return claret_spec_fail(parser, value_start, "a block takes one layer");
        return claret_spec_from(parser, value_start, value, value, value, &use->input);
    }
    if (strcmp(key, "repeat") == 0) {
        if (use->repeat)
            return claret_spec_fail(parser, start, "repeat is given twice");
        if (!claret_parse_int(value, 1, CLARET_SPEC_MAX_LAYERS, &use->repeat))
            return claret_spec_fail(parser, value_start,
                                    "repeat=%.60s: a whole number from 1 to %d is wanted", value,
                                    CLARET_SPEC_MAX_LAYERS);
        return CLARET_OK;
    }
    for (int i = 0; i < use->block->param_count; i++)
        if (strcmp(use->block->params[i].name, key) == 0) {
            if (use->values[i])
                return claret_spec_fail(parser, start, "%s is given twice", key);
            use->values[i] = value;
            return CLARET_OK;
        }
    return fail_key(parser, use, start, key);
}

static enum claret_status parse_use(struct claret_parser *parser, struct use *use)
{
    bool from_given = false;
    while (parser->at < parser->line_end) {
        CLARET_TRY(use_key(parser, use, &from_given));
        claret_spec_skip_space(parser);
    }
    for (int i = 0; i < use->block->param_count; i++) {
        if (!use->values[i])
            use->values[i] = use->block->params[i].value;
        if (!use->values[i])
            return claret_spec_fail(parser, use->start, "block '%s' needs %s=VALUE", use->block->name,
                                    use->block->params[i].name);
    }
    return CLARET_OK;
}

static enum claret_status remember(struct claret_parser *parser, const char *full)
{
    struct claret_spec_name *name = claret_arena_alloc(&parser->spec->arena, sizeof *name);
    if (!name)
        return claret_no_memory();
    *name = (struct claret_spec_name){.next = parser->names, .name = full, .layer = parser->scope->last};
    parser->names = name;
    return CLARET_OK;
}

/* The block's lines once, under the full name `full`; the parser's place in the line of the use stays. */
static enum claret_status expand(struct claret_parser *parser, const struct use *use, const char *full)
{
    struct claret_arena *arena = &parser->spec->arena;
    struct claret_spec_scope inner = {
        .prefix = claret_arena_printf(arena, "%s.", full),
        .block = use->block,
        .values = use->values,
        .input = use->input,
        .last = use->input,
        .counts = claret_arena_alloc(arena, claret_spec_counts(parser) * sizeof *inner.counts)};
    if (!inner.prefix || !inner.counts)
        return claret_no_memory();
    struct claret_parser outer = *parser;
    parser->scope = &inner;
    parser->depth++;
    enum claret_status status =
        claret_spec_parse_lines(parser, use->block->body, use->block->body_end, use->block->line + 1);
    parser->scope = outer.scope;
    parser->depth--;
    parser->line = outer.line;
    parser->line_start = outer.line_start;
    parser->at = outer.at;
    parser->line_end = outer.line_end;
    if (status != CLARET_OK)
        claret_error_context("in block %s, which line %d uses as %s", use->block->name, parser->line, full);
    else
        parser->scope->last = inner.last;
    return status;
}

/* Number i of those under `name`: "layer1.0", or where the name ends in a number, on from that. */
static const char *numbered(struct claret_parser *parser, const char *name, int64_t i)
{
    const char *dot = strrchr(name, '.');
    int64_t first = 0;
    bool number = dot && claret_parse_int(dot + 1, 0, CLARET_SPEC_MAX_LAYERS, &first);
    return claret_arena_printf(&parser->spec->arena, "%.*s.%lld",
                               number ? (int)(dot - name) : (int)strlen(name), name, (long long)(first + i));
}

static enum claret_status repeat(struct claret_parser *parser, struct use *use, const char *name,
                                 const char *at)
{
    const char *full, *each, *given = name;
    CLARET_TRY(claret_spec_full_name(parser, at, name, &full));
    if (!use->repeat) {
        CLARET_TRY(expand(parser, use, full));
        return remember(parser, full);
    }
    for (int64_t i = 0; i < use->repeat; i++) {
        if (!(name = numbered(parser, name, i > 0)))
            return claret_no_memory();
        CLARET_TRY(claret_spec_full_name(parser, at, name, &each));
        CLARET_TRY(expand(parser, use, each));
        CLARET_TRY(remember(parser, each));
        use->input = parser->scope->last;
    }
    return claret_spec_find(parser, given) > -2 ? CLARET_OK : remember(parser, full);
}

enum claret_status claret_spec_use(struct claret_parser *parser, struct claret_spec_block *block,
                                   const char *start, const char *name, const char *name_start)
{
    struct use use = {.block = block, .start = start, .input = parser->scope->last};
    if (parser->depth == CLARET_SPEC_MAX_DEPTH)
        return claret_spec_fail(parser, start, "more than %d blocks in one another", CLARET_SPEC_MAX_DEPTH);
    CLARET_TRY(parse_use(parser, &use));
    block->used = true;
    if (!name)
        name = claret_arena_printf(&parser->spec->arena, "%s%d", block->name,
                                   ++parser->scope->counts[parser->schema_count + (size_t)block->number]);
    if (!name)
        return claret_no_memory();
    return repeat(parser, &use, name, name_start ? name_start : start);
}
