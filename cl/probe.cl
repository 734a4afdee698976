/* Tries a device: buffers with offsets, local memory behind a barrier, integers of 32 and 64 bits, floats and a
 * built-in function, in any work-group size up to GROUP. src/rt/probe.c has the same arithmetic.
 *
 * x, k (items): read, past the end the last one. sum, power, mixed (items): overwritten. Float sums are of small
 * integers, so exact in any order and with or without fused multiply-add. */
#ifndef GROUP
#define GROUP 64
#endif

__kernel void claret_probe(CONST_TENSOR(float, x), CONST_TENSOR(uint, k), TENSOR(float, sum),
                           TENSOR(float, power), TENSOR(uint, mixed), int items)
{
    USE_CONST(float, x);
    USE_CONST(uint, k);
    USE(float, sum);
    USE(float, power);
    USE(uint, mixed);
    __local float tile[GROUP];
    __local uint words[GROUP];
    const int i = get_global_id(0), lane = get_local_id(0), group = get_local_size(0);

    tile[lane] = x[min(i, items - 1)];
    words[lane] = k[min(i, items - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= items)
        return;

    float total = 0.0f;
    for (int j = 0; j < group; j++)
        total += tile[j] * (float)(j + 1);
    const uint other = words[(lane + 1) % group];
    const ulong wide = (ulong)k[i] * 0x9e3779b97f4a7c15UL;

    sum[i] = total;
    power[i] = exp(-0.125f * tile[lane]);
    mixed[i] = other * 2654435761u ^ (uint)(wide >> 32);
}

/* Overwrites counts[0] with `rounds`, by as many rounds of a loop that cannot be told in advance. */
__kernel void claret_probe_loop(TENSOR(uint, counts), int rounds)
{
    USE(uint, counts);
    uint word = 1, done = 0;
    for (int i = 0; i < rounds; i++) {
        word = word * 1664525u + 1013904223u;
        done += word ? 1 : 2;
    }
    counts[0] = done;
}
