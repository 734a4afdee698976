/* The parser of network texts: what its files share. */
#ifndef CLARET_SPEC_PARSER_H
#define CLARET_SPEC_PARSER_H

#include "spec/spec.h"

#define CLARET_SPEC_MAX_LAYERS 10000 /* names are looked up one by one: the time goes with the square */
#define CLARET_SPEC_MAX_NAME 200     /* characters of a name, of all blocks around it too */
#define CLARET_SPEC_MAX_DEPTH 16     /* blocks in one another */
#define CLARET_SPEC_MAX_PARAMS 32
#define CLARET_SPEC_MAX_BLOCKS 100

/* A parameter of a block; default NULL: it has to be given. */
struct claret_spec_param {
    const char *name, *value;
    int column; /* of its name in the block's line */
    bool used;
};

/* "block NAME(params)" and the lines up to its "end", which are parsed anew wherever it is used. */
struct claret_spec_block {
    struct claret_spec_block *next; /* the one defined before */
    const char *name;
    struct claret_spec_param params[CLARET_SPEC_MAX_PARAMS];
    int param_count;
    const char *body, *body_end, *line_start;
    int line, column; /* of the block's name */
    int number;       /* from 0 */
    bool used;
};

/* Blocks that were used, by their full names, for from=. */
struct claret_spec_name {
    struct claret_spec_name *next;
    const char *name;
    int layer; /* the last in it: its output */
};

/* Where the lines being parsed stand: the whole text, or one use of a block. */
struct claret_spec_scope {
    const char *prefix;              /* "layer1.0.", of names in it */
    struct claret_spec_block *block; /* NULL: the whole text */
    const char *const *values;       /* of the block's parameters */
    int input, last;                 /* layers: what "input" is, what the next line reads unasked */
    int *counts;                     /* by op, then by block: those without a name */
};

struct claret_parser {
    struct claret_spec *spec;
    const struct claret_schema *const *schemas;
    size_t schema_count;
    const char *line_start, *at, *line_end;
    int line, capacity, depth;
    struct claret_spec_block *blocks;
    struct claret_spec_name *names;
    struct claret_spec_scope *scope;
    bool have_input;
};

/* ---- words.c ---- */

int claret_spec_column(const struct claret_parser *parser, const char *at);
enum claret_status claret_spec_fail(const struct claret_parser *parser, const char *at, const char *format,
                                    ...) CLARET_PRINTF(3, 4);
bool claret_spec_is_space(char c);
/* Goes to the line at *next of the text that ends at `end`; parser->at to line_end are what is left of it
 * without spaces around it and without its comment. *next gets the line after it. */
void claret_spec_next_line(struct claret_parser *parser, const char **next, const char *end);
void claret_spec_skip_space(struct claret_parser *parser);
/* "'x'", or "byte 0x01" for what would not print. */
const char *claret_spec_show_byte(char c, char buffer[16]);
/* A name at the parser's place, copied; *start gets where it began. */
enum claret_status claret_spec_take_name(struct claret_parser *parser, const char *what, const char **start,
                                         const char **name);
/* Likewise, where it may begin with a digit, as names in PyTorch's Sequential do. */
enum claret_status claret_spec_take_layer(struct claret_parser *parser, const char *what, const char **start,
                                          const char **name);
/* The characters up to the next space, copied. */
enum claret_status claret_spec_take_value(struct claret_parser *parser, const char *key, const char **start,
                                          const char **value);
/* "KEY=VALUE" at the parser's place; parameters and products in the value are replaced by what they are. */
enum claret_status claret_spec_take_key(struct claret_parser *parser, const char **start, const char **key,
                                        const char **value_start, const char **value);
/* Fills attr, whose def is there, from `value`, which stands at `start`. */
enum claret_status claret_spec_parse_value(const struct claret_parser *parser, const char *start,
                                           const char *value, struct claret_attr *attr);

/* ---- spec.c ---- */

size_t claret_spec_counts(const struct claret_parser *parser); /* numbers in a scope's counts */
/* Lines from `text` up to `end`, which begin with line `line`. */
enum claret_status claret_spec_parse_lines(struct claret_parser *parser, const char *text, const char *end,
                                           int line);
/* The layer called `name` in this scope, or a block's last; -1: the network's input; -2: there is none. */
int claret_spec_find(const struct claret_parser *parser, const char *name);
/* The layer that a name in from=`value` (at `start`) means; `at`: where in `value` it begins. */
enum claret_status claret_spec_from(const struct claret_parser *parser, const char *start, const char *value,
                                    const char *at, const char *name, int *layer);
/* The name with that of the scope before it. */
enum claret_status claret_spec_full_name(const struct claret_parser *parser, const char *at, const char *name,
                                         const char **full);

/* ---- block.c ---- */

/* Whether the line at the parser's place begins or ends a block. */
bool claret_spec_at_block(const struct claret_parser *parser);
bool claret_spec_at_end(const struct claret_parser *parser);
/* The definition that the line begins; its lines end before `end`. *next gets the line after its "end". */
enum claret_status claret_spec_define(struct claret_parser *parser, const char *next_line, const char *end,
                                      const char **next);
struct claret_spec_block *claret_spec_find_block(const struct claret_parser *parser, const char *name);
/* The layers of `block`, used at `start` under `name` (NULL: none is given), at `name_start`. */
enum claret_status claret_spec_use(struct claret_parser *parser, struct claret_spec_block *block,
                                   const char *start, const char *name, const char *name_start);
/* Every block is used, and every parameter of each. */
enum claret_status claret_spec_check_blocks(struct claret_parser *parser);

#endif
