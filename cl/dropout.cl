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

#ifdef LANES
#define UINTS JOIN(uint, LANES)
#define ELEMENTS 2048 /* src/op/elementwise.h */
#define BLOCK (4 * LANES)

/* The same where channels are neighbours, for devices whose work-items own wide vectors: LANES counters at a time. Items:
 * (ceil(count / ELEMENTS)). */
__kernel void dropout_vectors(CONST_TENSOR(float, x), CONST_TENSOR(uint, step), TENSOR(float, y), int count, int layer, int stream,
                              float p, float scale)
{
    USE_CONST(float, x);
    USE_CONST(uint, step);
    USE(float, y);
    const int begin = (int)get_global_id(0) * ELEMENTS, end = min(begin + ELEMENTS, count);
    for (int first = begin; first < end; first += BLOCK) {
        uint key0 = step[STEP_SEED], key1 = step[STEP_SEED + 1];
        UINTS a = JOIN(convert_uint, LANES)(LANE_NUMBERS) + (uint)(first / 4), b = (UINTS)step[STEP_NUMBER];
        UINTS c = (UINTS)(uint)layer, d = (UINTS)(uint)stream;
#pragma unroll
        for (int round = 0; round < 10; round++, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
            const UINTS high_a = mul_hi(a, (UINTS)0xD2511F53u), low_a = a * 0xD2511F53u;
            const UINTS high_c = mul_hi(c, (UINTS)0xCD9E8D57u), low_c = c * 0xCD9E8D57u;
            a = high_c ^ b ^ key0;
            b = low_c;
            c = high_a ^ d ^ key1;
            d = low_a;
        }
        uint words[BLOCK]; /* a counter's four are LANES apart */
        JOIN(vstore, LANES)(a, 0, words);
        JOIN(vstore, LANES)(b, 1, words);
        JOIN(vstore, LANES)(c, 2, words);
        JOIN(vstore, LANES)(d, 3, words);
        for (int i = 0; i < min(BLOCK, end - first); i++) {
            const float drawn = (float)(words[i % 4 * LANES + i / 4] >> 8) * (1.0f / 16777216.0f);
            y[first + i] = drawn < p ? 0.0f : x[first + i] * scale;
        }
    }
}
#endif
