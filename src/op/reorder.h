/* Images from one layout to another. */
#ifndef CLARET_OP_REORDER_H
#define CLARET_OP_REORDER_H

#include "op/op.h"

/* Appends the launch that fills images `to` from `from`, of the same shape and type. */
void claret_reorder_emit(struct claret_emit *emit, int from, int to);
/* Appends the launch that fills `to` (n, columns, rows) from `from` (n, rows, columns), of bytes or of 32
 * bits. */
void claret_transpose_emit(struct claret_emit *emit, int from, int to, bool bytes, int64_t n, int64_t rows,
                           int64_t columns);

#endif
