/* The GEMM by tiles with what it can do beyond a GEMM, for ops whose own solvers use it. */
#ifndef CLARET_OP_GEMM_TILED_H
#define CLARET_OP_GEMM_TILED_H

#include "op/tiles.h"

struct claret_gemm_tiled {
    int64_t products; /* as many GEMMs, the next so many elements further in each matrix; 0: one */
    int64_t a_batch, b_batch, c_batch; /* elements */
    int bias;                          /* a tensor (n) to add to every row, -1: none */
    bool relu;                         /* cut what is below 0 */
};
/* Applicable where the solver "tiled" is, and where spans of all products together are below 2^31 elements.
 */
void claret_gemm_tiled_emit(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm,
                            const struct claret_gemm_tiled *more);

#endif
