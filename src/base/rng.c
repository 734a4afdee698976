#include "rng.h"

/* Only the 32-bit generator is used; the 64-bit one would ask for a 128-bit type, which is not C11. */
#define R123_USE_PHILOX_64BIT 0
#include <Random123/philox.h>

void claret_rng_init(struct claret_rng *rng, uint64_t seed, enum claret_stream stream, uint32_t index)
{
    *rng = (struct claret_rng){.seed = seed, .stream = (uint32_t)stream, .index = index, .used = 4};
}

void claret_rng_init_part(struct claret_rng *rng, uint64_t seed, enum claret_stream stream, uint32_t index,
                          uint32_t part)
{
    claret_rng_init(rng, seed, stream, index);
    rng->part = part;
}

uint32_t claret_rng_u32(struct claret_rng *rng)
{
    if (rng->used == 4) {
        philox4x32_key_t key = {{(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)}};
        philox4x32_ctr_t counter = {{rng->block++, rng->part, rng->index, rng->stream}};
        philox4x32_ctr_t words = philox4x32(counter, key);
        for (int i = 0; i < 4; i++)
            rng->words[i] = words.v[i];
        rng->used = 0;
    }
    return rng->words[rng->used++];
}

uint32_t claret_rng_below(struct claret_rng *rng, uint32_t bound)
{
    uint64_t product = (uint64_t)claret_rng_u32(rng) * bound;

    if ((uint32_t)product < bound) {
        uint32_t threshold = (0 - bound) % bound;
        while ((uint32_t)product < threshold)
            product = (uint64_t)claret_rng_u32(rng) * bound;
    }
    return (uint32_t)(product >> 32);
}

float claret_rng_float(struct claret_rng *rng)
{
    return (float)(claret_rng_u32(rng) >> 8) * 0x1p-24f;
}

void claret_rng_permutation(struct claret_rng *rng, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        uint32_t j = claret_rng_below(rng, (uint32_t)i);
        uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}
