/* Products element by element; y, a, dy: `count` elements, of images of `channels` channels, PLANE pixels each. Define: EACH, how b
 * lies: 0 like a; 1 one value for each plane of (N, C, H, W); 2 the same of (N, H, W, C). */
#ifndef EACH
#define EACH 0
#define PLANE 1
#endif
#if EACH == 1
#define OF_B(i) ((i) / PLANE)
#elif EACH == 2
#define OF_B(i) ((i) / (PLANE * channels) * channels + (i) % channels)
#else
#define OF_B(i) (i)
#endif

/* y = a * b. Overwrites y. Items: (count). */
__kernel void mul(CONST_TENSOR(float, a), CONST_TENSOR(float, b), TENSOR(float, y), int count, int channels)
{
    USE_CONST(float, a);
    USE_CONST(float, b);
    USE(float, y);
    const int i = get_global_id(0);
    if (i < count)
        y[i] = a[i] * b[OF_B(i)];
}

/* db (N, C) = sums of dy * a over the pixels, in two parts that are added at the end. Overwrites db. Items: (count = N * C). */
__kernel void mul_db(CONST_TENSOR(float, dy), CONST_TENSOR(float, a), TENSOR(float, db), int count, int channels)
{
    USE_CONST(float, dy);
    USE_CONST(float, a);
    USE(float, db);
    const int i = get_global_id(0);
    if (i >= count)
        return;
    const ulong first = EACH == 1 ? (ulong)i * PLANE : (ulong)(i / channels) * PLANE * channels + i % channels;
    const int step = EACH == 1 ? 1 : channels;
    float even = 0.0f, odd = 0.0f;
    int p = 0;
    for (; p + 2 <= PLANE; p += 2) {
        const ulong at = first + (ulong)p * step;
        even = fma(dy[at], a[at], even);
        odd = fma(dy[at + step], a[at + step], odd);
    }
    if (p < PLANE)
        even = fma(dy[first + (ulong)p * step], a[first + (ulong)p * step], even);
    db[i] = even + odd;
}

#ifdef LANES
/* The same with EACH 2, for devices whose work-items own wide vectors: lanes are channels, an item has `pixels` of an image. Items:
 * (ceil(PLANE / pixels), N). */
__kernel void mul_channels(CONST_TENSOR(float, a), CONST_TENSOR(float, b), TENSOR(float, y), int channels, int pixels)
{
    USE_CONST(float, a);
    USE_CONST(float, b);
    USE(float, y);
    const int begin = (int)get_global_id(0) * pixels, end = min(begin + pixels, PLANE);
    const ulong n = get_global_id(1);
    for (int p = begin; p < end; p++)
        for (int c = 0; c < channels; c += LANES) {
            const ulong at = (n * PLANE + p) * channels + c;
            STORE_CHANNELS(LOAD(a + at) * LOAD(b + n * channels + c), y + at);
        }
}

/* Items: (ceil(channels / LANES), N). */
__kernel void mul_db_channels(CONST_TENSOR(float, dy), CONST_TENSOR(float, a), TENSOR(float, db), int channels, int pixels)
{
    USE_CONST(float, dy);
    USE_CONST(float, a);
    USE(float, db);
    const int c = (int)get_global_id(0) * LANES;
    const ulong n = get_global_id(1);
    if (c >= channels)
        return;
    FLOATS even = 0.0f, odd = 0.0f;
    ulong at = n * PLANE * channels + c;
    int p = 0;
    for (; p + 2 <= PLANE; p += 2, at += 2 * channels) {
        even = fma(LOAD(dy + at), LOAD(a + at), even);
        odd = fma(LOAD(dy + at + channels), LOAD(a + at + channels), odd);
    }
    if (p < PLANE)
        even = fma(LOAD(dy + at), LOAD(a + at), even);
    STORE_CHANNELS(even + odd, db + n * channels + c);
}
#endif
