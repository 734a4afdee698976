/* Dropout: y is x / (1 - p), or 0 with probability p. What is drawn for an element depends on the seed, the step's number, the layer
 * and the element's place among (N, H, W, C) alone, not on work-groups or on how images lie; so the gradient's kernel is
 * the same again.
 *
 * Define: PLANE = H * W where channels lie apart, 1 where they are neighbours in memory (flat tensors, images in NHWC). */
#ifndef PLANE
#define PLANE 1
#endif

/* Philox4x32-10 (Salmon et al., SC11), as src/base/rng.c has it. */
uint4 philox(uint4 counter, uint2 key);
uint4 philox(uint4 counter, uint2 key)
{
    for (int round = 0; round < 10; round++, key += (uint2)(0x9E3779B9u, 0xBB67AE85u)) {
        const uint2 factor = (uint2)(0xD2511F53u, 0xCD9E8D57u);
        const uint2 high = mul_hi(factor, counter.xz), low = factor * counter.xz;
        counter = (uint4)(high.y ^ counter.y ^ key.x, low.y, high.x ^ counter.w ^ key.y, low.x);
    }
    return counter;
}

/* Overwrites y, `count` elements, of images of `channels`. An item does four. Items: (ceil(count / 4)). */
__kernel void dropout(CONST_TENSOR(float, x), CONST_TENSOR(uint, step), TENSOR(float, y), int count, int channels,
                      int layer, int stream, float p, float scale)
{
    USE_CONST(float, x);
    USE_CONST(uint, step);
    USE(float, y);
    const int first = (int)get_global_id(0) * 4;
    if (first >= count)
        return;
    const uint2 key = (uint2)(step[STEP_SEED], step[STEP_SEED + 1]);
    uint4 counter = (uint4)(first / 4, step[STEP_NUMBER], layer, stream);
    uint words[4];
    vstore4(philox(counter, key), 0, words);
    for (int i = 0; i < min(4, count - first); i++) {
        uint word = words[i];
#if PLANE > 1
        const int at = first + i, n = at / (channels * PLANE), c = at / PLANE % channels;
        const uint place = (uint)(n * PLANE + at % PLANE) * channels + c;
        counter.x = place / 4;
        vstore4(philox(counter, key), 0, words);
        word = words[place % 4];
#endif
        const float drawn = (float)(word >> 8) * (1.0f / 16777216.0f);
        y[first + i] = drawn < p ? 0.0f : x[first + i] * scale;
    }
}
