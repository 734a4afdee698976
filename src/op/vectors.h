/* Choices for kernels whose work-items own wide vectors (CPU devices), shared by their ops. */
#ifndef CLARET_OP_VECTORS_H
#define CLARET_OP_VECTORS_H

#include "op/op.h"

/* Whether a device is given such kernels unasked; else `reason` says why not. */
bool claret_vector_device(const struct claret_device_desc *device, char reason[128]);
/* Whether the device can allocate a workspace of so many floats; else `reason` says so. */
bool claret_vector_workspace(const struct claret_device_desc *device, int64_t floats, char reason[128]);
/* Bytes of local memory that a kernel may take there, if it wants `most`: half of what there is, for some
 * drivers count a kernel's arrays twice. */
int64_t claret_vector_room(const struct claret_device_desc *device, int64_t most);
/* Whether so many bytes are within that; else `reason` says so. */
bool claret_vector_local(const struct claret_device_desc *device, int64_t bytes, char reason[128]);
/* Whether `rows` by `vectors` are a register tile that anyone would want; else `reason` says so. */
bool claret_vector_tile_fits(const struct claret_device_desc *device, int rows, int vectors,
                             char reason[128]);
/* Lanes of a vector: the device's, but no more than `extent` fills by more than half. 4, 8 or 16. */
int claret_vector_lanes(const struct claret_device_desc *device, int64_t extent);
/* Vectors that a register tile may hold, so that operands fit beside it. */
int claret_vector_tile(const struct claret_device_desc *device);
/* The largest tile of at most `limit` that covers `extent` in as few and as full tiles as can be. */
int claret_vector_split(int64_t extent, int limit);

#endif
