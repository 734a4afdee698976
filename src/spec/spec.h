/* Network text to a list of layers.
 *
 *     input CHANNELS HEIGHT WIDTH
 *     [NAME =] OP key=value ...        a layer; "#" begins a comment
 *     block NAME(param, param=default) lines up to "end": layers that a line "[NAME =] BLOCK param=value ..."
 * stands end                              for, repeat=N of them in a row
 *
 * A layer reads the one before it, or those of from=NAME,NAME. In a block a parameter's name stands for its
 * value, "4*channels" for a product, "input" for what the block reads; its output is its last layer's, and
 * its layers' names have its own before them: "layer1.0.conv1". Layers of blocks are in the list like others.
 */
#ifndef CLARET_SPEC_SPEC_H
#define CLARET_SPEC_SPEC_H

#include "base/arena.h"
#include "base/status.h"
#include "spec/schema.h"

struct claret_layer {
    const char *name; /* given, or op and count: "relu1" */
    const struct claret_schema *schema;
    struct claret_attr *attr; /* in the schema's order */
    int *from;                /* from_count layer indices; -1 is the network's input */
    int from_count;
    int line, column; /* of the op's word, from 1 */
};

struct claret_spec {
    struct claret_arena arena;
    const char *file; /* for messages */
    int64_t input[3]; /* channels, height, width */
    struct claret_layer *layers;
    int layer_count; /* at least 1 */
};

/* `schemas` ends with NULL. Errors: CLARET_NETWORK with "file:line:column: …". */
enum claret_status claret_spec_parse(const char *text, const char *file,
                                     const struct claret_schema *const *schemas, struct claret_spec **spec);
void claret_spec_destroy(struct claret_spec *spec);

/* CLARET_SHAPE, "file:line:column: layer NAME: …"; column 0: the layer's own. */
enum claret_status claret_spec_shape_error(const struct claret_spec *spec, int layer, int column,
                                           const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
