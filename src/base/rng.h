/* Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC11) from Random123. The same (seed, stream, counter) gives the same numbers everywhere, in any order. */
#ifndef CLARET_BASE_RNG_H
#define CLARET_BASE_RNG_H

#include <stdint.h>
#include <stddef.h>

/* What a stream is for, so that no two uses share numbers. */
enum claret_stream {
    CLARET_STREAM_INIT = 1,
    CLARET_STREAM_SHUFFLE = 2,
    CLARET_STREAM_SHAPES = 3,
    CLARET_STREAM_SPLIT = 4,
    CLARET_STREAM_AUGMENT = 5,
    CLARET_STREAM_DROPOUT = 6
};

struct claret_rng {
    uint64_t seed;
    uint32_t stream, index; /* index: the parameter's, the epoch's, the image's, the layer's number */
    uint32_t part;          /* of that, where it has several: the image's epoch, the layer's step */
    uint32_t block, used;   /* position */
    uint32_t words[4];
};
void claret_rng_init(struct claret_rng *rng, uint64_t seed, enum claret_stream stream, uint32_t index);
void claret_rng_init_part(struct claret_rng *rng, uint64_t seed, enum claret_stream stream, uint32_t index,
                          uint32_t part);
uint32_t claret_rng_u32(struct claret_rng *rng);
/* Uniform in [0, bound), unbiased (Lemire's multiply and reject). bound > 0. */
uint32_t claret_rng_below(struct claret_rng *rng, uint32_t bound);
/* Uniform in [0, 1) with 24 bits. */
float claret_rng_float(struct claret_rng *rng);
/* Fisher-Yates permutation of 0 .. count - 1. */
void claret_rng_permutation(struct claret_rng *rng, uint32_t *order, size_t count);

#endif
