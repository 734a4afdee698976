/* What a device can do: claret-bench measures it with these.
 *
 * Defines: WIDTH, floats in a vector: 1, 4, 8 or 16. Tunables: CHAINS, sums that an item keeps in flight. */
#ifndef WIDTH
#define WIDTH 1
#endif
#ifndef CHAINS
#define CHAINS 8
#endif

#if WIDTH == 1
typedef float vector;
#elif WIDTH == 4
typedef float4 vector;
#elif WIDTH == 8
typedef float8 vector;
#else
typedef float16 vector;
#endif

/* Multiply-adds that depend on nothing but their own chain: 2 * WIDTH * CHAINS * rounds operations an item. Overwrites y
 * (items, WIDTH), so that nothing can be left out. Items: (items). */
__kernel void bench_fma(TENSOR(vector, y), int items, int rounds, float factor, float step)
{
    USE(vector, y);
    const int i = get_global_id(0);
    if (i >= items)
        return;
    vector sum[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++)
        sum[c] = (vector)((float)(i + c));
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            sum[c] = fma(sum[c], (vector)factor, (vector)step);
    }
    vector all = sum[0];
#pragma unroll
    for (int c = 1; c < CHAINS; c++)
        all += sum[c];
    y[i] = all;
}

/* Copies a to b (vectors of WIDTH floats each) and back again, `rounds` times: by turns, so that no copy can be left
 * out. Item i has `span` vectors from i * first on, every stride-th: neighbours of one another or pieces in one. Items:
 * (items). */
__kernel void bench_copy(TENSOR(vector, a), TENSOR(vector, b), int vectors, int items, int first, int span,
                         int stride, int rounds)
{
    __global vector *from = a_base + a_offset, *to = b_base + b_offset;
    const int item = get_global_id(0);
    if (item >= items)
        return;
    for (int r = 0; r < rounds; r++) {
        int at = item * first;
        for (int v = 0; v < span && at < vectors; v++, at += stride)
            to[at] = from[at];
        __global vector *other = from;
        from = to;
        to = other;
    }
}

/* Nothing: what a launch costs by itself. */
__kernel void bench_nothing(TENSOR(float, y))
{
    USE(float, y);
    if (get_global_id(0) == 1)
        y[0] = 0.0f;
}
