/* Choices for kernels whose work-groups share tiles of a matrix product in local memory (GPUs;
 * cl/common.clh), shared by their ops. */
#ifndef CLARET_OP_TILES_H
#define CLARET_OP_TILES_H

#include "op/op.h"

/* A product of (m, k) by (k, n), in groups of wm * wn items with rm * rn elements each. */
struct claret_tiling {
    int rm, rn, wm, wn, terms; /* terms that local memory holds */
    int64_t rows, columns;     /* of tiles */
    int64_t chunk, chunks;     /* terms that one group adds, and parts of the sum: 1, or to be added */
};

/* Whether a device is given such kernels unasked. */
bool claret_tile_unasked(const struct claret_device_desc *device);
/* Whether it can run them, with the tiles that `params` (may be NULL) gives: else `reason` says why not. */
bool claret_tile_device(const struct claret_device_desc *device, const struct claret_params *params,
                        char reason[128]);
/* The tiles that waste least, and enough groups for all units, for what claret_tile_device() allows.
 * `split`: the terms may be added in parts, at most so many. */
struct claret_tiling claret_tile_choose(const struct claret_device_desc *device, struct claret_params *params,
                                        int64_t m, int64_t n, int64_t k, int64_t split);
/* TILE_M, TILE_N: rows and columns of a tile; and where the terms may be split PARTS, at most. */
extern const struct claret_tunable claret_tile_tunables[], claret_tile_split_tunables[];
/* Defines WM, WN, RM, RN and TILE_K; the range: `depth` groups in the third dimension. */
void claret_tile_launch(struct claret_kernel_call *call, const struct claret_tiling *tiling, int64_t depth);

#endif
