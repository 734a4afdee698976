#include "op/vectors.h"

#include <stdio.h>

#define WORKSPACE_MARGIN 4096 /* bytes that the plan may add to a tensor's own */

bool claret_vector_device(const struct claret_device_desc *device, char reason[128])
{
    bool fine = device->kind == CLARET_CLASS_CPU;
    if (!fine)
        snprintf(reason, 128, "no CPU device");
    return fine;
}

bool claret_vector_workspace(const struct claret_device_desc *device, int64_t floats, char reason[128])
{
    bool fine = device->max_alloc > WORKSPACE_MARGIN &&
                (uint64_t)floats <= (device->max_alloc - WORKSPACE_MARGIN) / sizeof(float);
    if (!fine)
        snprintf(reason, 128, "its workspace is larger than the device's largest allocation");
    return fine;
}

int64_t claret_vector_room(const struct claret_device_desc *device, int64_t most)
{
    int64_t room = (int64_t)device->local_mem / 2;
    return most < room ? most : room;
}

bool claret_vector_local(const struct claret_device_desc *device, int64_t bytes, char reason[128])
{
    bool fine = bytes <= claret_vector_room(device, bytes);
    if (!fine)
        snprintf(reason, 128, "it takes %lld bytes of local memory, of %llu it may not", (long long)bytes,
                 (unsigned long long)device->local_mem);
    return fine;
}

bool claret_vector_tile_fits(const struct claret_device_desc *device, int rows, int vectors, char reason[128])
{
    bool fine = rows * vectors <= claret_vector_tile(device) * 4 / 3;
    if (!fine)
        snprintf(reason, 128, "a tile of %d times %d vectors is too large", rows, vectors);
    return fine;
}

int claret_vector_lanes(const struct claret_device_desc *device, int64_t extent)
{
    int lanes = device->float_width >= 16 ? 16 : device->float_width >= 8 ? 8 : 4;
    while (lanes > 4 && extent <= lanes / 2)
        lanes /= 2;
    return lanes;
}

int claret_vector_tile(const struct claret_device_desc *device)
{
    /* 32 vector registers come with 16 lanes of float (AVX-512), 16 with 8 (AVX), and 32 with 4 on ARM. */
    return device->float_width >= 16 ? 24 : 12;
}

int claret_vector_split(int64_t extent, int limit)
{
    if (limit < 1)
        limit = 1;
    if (extent <= limit)
        return (int)extent;
    int64_t tiles = (extent + limit - 1) / limit;
    return (int)((extent + tiles - 1) / tiles);
}
