/* GEMM for devices whose work-items own wide vectors: operands packed into panels, so that the inner loop reads both
 * in order; a register tile of MR rows and NV vectors of columns; no local memory.
 *
 * pack: panels (ceil(extent / TILE), k, TILE) of a matrix whose element (i, k) lies at i + k * ld where CONTIGUOUS, else at
 * i * ld + k; rows past `extent` become 0. Overwrites the panels. Items: (panels, ceil(k / BLOCK)).
 * gemm_packed: C (m, n) = alpha * A * B + beta * C from panels a (MR) and b (NV * LANES). With PARTS 1 each of the
 * chunks of `chunk` terms writes its sum to parts (chunks, m, n) instead, for gemm.cl's gemm_sum.
 * Items: (row panels, column panels, chunks). */
#ifndef TILE
#define TILE 8
#define CONTIGUOUS 0
#endif
#define BLOCK 64
#ifndef MR
#define MR 8
#define NV 1
#endif
#ifndef PARTS
#define PARTS 0
#endif
#define NR (NV * LANES)

__kernel void pack(CONST_TENSOR(float, from), TENSOR(float, panels), int ld, int extent, int k_count)
{
    USE_CONST(float, from);
    USE(float, panels);
    const int panel = get_global_id(0), first = (int)get_global_id(1) * BLOCK;
    const int i0 = panel * TILE, rows = min(TILE, extent - i0), end = min(first + BLOCK, k_count);
    panels += (ulong)panel * k_count * TILE;
#if CONTIGUOUS
    for (int k = first; k < end; k++) {
        __global const float *row = from + (ulong)k * ld + i0;
        if (rows == TILE) {
            for (int i = 0; i < TILE; i++)
                panels[k * TILE + i] = row[i];
        } else {
            for (int i = 0; i < TILE; i++)
                panels[k * TILE + i] = i < rows ? row[i] : 0.0f;
        }
    }
#else
    for (int i = 0; i < TILE; i++) {
        __global const float *row = from + (ulong)(i0 + i) * ld;
        for (int k = first; k < end; k++)
            panels[k * TILE + i] = i < rows ? row[k] : 0.0f;
    }
#endif
}

__kernel void gemm_packed(CONST_TENSOR(float, a), CONST_TENSOR(float, b), TENSOR(float, c), int ldc, int m_count,
                          int n_count, int k_count, int chunk, float alpha, float beta)
{
    USE_CONST(float, a);
    USE_CONST(float, b);
    USE(float, c);
    const int m = (int)get_global_id(0) * MR, n = (int)get_global_id(1) * NR;
    const int first = (int)get_global_id(2) * chunk, end = min(first + chunk, k_count);
    a += (ulong)get_global_id(0) * k_count * MR;
    b += (ulong)get_global_id(1) * k_count * NR;
    FLOATS acc[MR][NV];
#pragma unroll
    for (int i = 0; i < MR; i++)
#pragma unroll
        for (int j = 0; j < NV; j++)
            acc[i][j] = 0.0f;
    for (int k = first; k < end; k++) {
        FLOATS v[NV];
#pragma unroll
        for (int j = 0; j < NV; j++)
            v[j] = LOAD(b + k * NR + j * LANES);
#pragma unroll
        for (int i = 0; i < MR; i++) {
            const FLOATS w = a[k * MR + i];
#pragma unroll
            for (int j = 0; j < NV; j++)
                acc[i][j] = fma(w, v[j], acc[i][j]);
        }
    }
#if PARTS
    c += (ulong)get_global_id(2) * m_count * n_count;
#endif
#pragma unroll
    for (int i = 0; i < MR; i++)
#pragma unroll
        for (int j = 0; j < NV; j++) {
            const int left = n_count - n - j * LANES;
            if (m + i >= m_count || left <= 0)
                continue;
            __global float *to = c + (ulong)(m + i) * ldc + n + j * LANES;
            FLOATS value = acc[i][j];
#if !PARTS
            value *= alpha;
            if (beta != 0.0f) {
                float old[LANES];
                for (int l = 0; l < LANES; l++)
                    old[l] = l < left ? to[l] : 0.0f;
                value += beta * LOAD(old);
            }
#endif
            STORE_UP_TO(value, to, left);
        }
}
