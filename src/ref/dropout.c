#include "base/rng.h"
#include "op/batch.h"
#include "ref/ref.h"

/* in: x or dy, step; out: y or dx. An element's place is that among (N, H, W, C); four draw from one block.
 */
static void dropout(const struct claret_node *node, const struct claret_tensor *tensors,
                    const double *const *in, double *const *out)
{
    const struct claret_shape *shape = &tensors[node->out[0]].shape;
    int64_t count = claret_shape_count(shape), channels = shape->dim[1];
    int64_t plane = shape->rank == 4 ? shape->dim[2] * shape->dim[3] : 1;
    uint64_t seed = (uint64_t)in[1][CLARET_STEP_SEED] | (uint64_t)in[1][CLARET_STEP_SEED + 1] << 32;
    double p = (double)(float)node->attr[0].f;
    for (int64_t i = 0; i < count; i++) {
        int64_t n = i / (channels * plane), c = i / plane % channels;
        int64_t place = (n * plane + i % plane) * channels + c;
        struct claret_rng rng;
        float drawn = 0;
        claret_rng_init_part(&rng, seed, CLARET_STREAM_DROPOUT, (uint32_t)node->layer,
                             (uint32_t)in[1][CLARET_STEP_NUMBER]);
        rng.block = (uint32_t)(place / 4);
        for (int64_t word = 0; word <= place % 4; word++)
            drawn = claret_rng_float(&rng);
        out[0][i] = (double)drawn < p ? 0 : in[0][i] / (1 - node->attr[0].f);
    }
}

const struct claret_ref claret_ref_dropout[] = {
    {.op = "dropout", .run = dropout}, {.op = "dropout_dx", .run = dropout}, {.op = NULL}};
