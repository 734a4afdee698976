/* What keys a layer's line may have: an op declares it, the parser checks it. */
#ifndef CLARET_SPEC_SCHEMA_H
#define CLARET_SPEC_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

enum claret_attr_type {
    CLARET_ATTR_INT,
    CLARET_ATTR_PAIR, /* "3" or "3,5": height, width */
    CLARET_ATTR_BOOL, /* true, false (any case), 1, 0 */
    CLARET_ATTR_FLOAT,
    CLARET_ATTR_WORD /* one of `words` */
};

struct claret_attr_def {
    const char *key; /* PyTorch's argument name */
    enum claret_attr_type type;
    bool required;
    double value;             /* default */
    double minimum, maximum;  /* allowed, each part of a pair */
    const char *const *words; /* WORD: ends with NULL; its value is its place there */
};

/* A value of such a key. `given` false: the default stands in it. A layer's values end with one whose
 * def->key is NULL; attributes that no network text has have no `def`. */
struct claret_attr {
    const struct claret_attr_def *def;
    bool given;
    int column;   /* of the value in the line, from 1; 0 when not given */
    int64_t i[2]; /* INT, BOOL and WORD: i[0]; PAIR: both */
    double f;     /* FLOAT */
};

struct claret_schema {
    const char *name;                    /* "conv2d" */
    int inputs;                          /* layers it takes */
    const struct claret_attr_def *attrs; /* ends with key NULL; attr arrays are in this order */
    int most;                            /* layers it may take where that is more; else 0 */
};

#endif
