/* The backward of a fully connected layer with many outputs, panel by panel of features that fit a near cache: lanes are features,
 * sums stay in registers from first to last term (src/op/linear_cross_entropy.c).
 *
 * Defines: LANES; N images, F features, O outputs; HAS_BIAS, HAS_DX, UPDATE. Tunables: FT vectors of a panel, IMAGES and OT
 * outputs of its register tiles, BLOCK vectors an item. */
#define WHOLE (F / LANES * LANES)
#define IMAGE_OF(n) (N % IMAGES ? min(n, N - 1) : (n))
#define OUTPUT(o) (O % OT ? min(o, O - 1) : (o))
/* Where vector j of a panel lies: the last that is there for those that are not. And whether image n, output o is there. */
#if F / LANES % FT || BLOCK % FT
#define VECTOR(j) (min(j, vectors - 1) * LANES)
#else
#define VECTOR(j) ((j)*LANES)
#endif
#if N % IMAGES
#define IS_IMAGE(n) ((n) < N)
#else
#define IS_IMAGE(n) true
#endif
#if O % OT
#define IS_OUTPUT(o) ((o) < O)
#else
#define IS_OUTPUT(o) true
#endif

/* Overwrites dx (N, F) where HAS_DX; overwrites the gradients of weight (O, F) and bias (O), or updates these (weight_out is
 * weight then): what dx needs of a panel of the weights is read before that is changed. Items: (ceil(ceil(F / LANES) / BLOCK)). */
__kernel void linear_backward_panels(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), __global const float *weight_base,
                                     ulong weight_offset, TENSOR(float, dx), GRADIENT_PARAMETERS)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE(float, dx);
    __global const float *weight = READ_WEIGHT;
    const int item = get_global_id(0);
    const int end = min((item + 1) * BLOCK * LANES, WHOLE);
    for (int o = 0; o < O; o++) { /* the panels read it in too many short pieces for the hardware to see them coming */
        const ulong at = (ulong)o * F + item * BLOCK * LANES;
        for (int i = 0; i < BLOCK * LANES; i += LANES) {
            PREFETCH(weight + at + i);
            if (UPDATE)
                PREFETCH(weight_state_base + weight_state_offset + at + i);
        }
    }
    for (int f0 = item * BLOCK * LANES; f0 < end; f0 += FT * LANES) {
        const int vectors = min(FT, (end - f0) / LANES);
        for (int n0 = 0; n0 < (HAS_DX ? N : 0); n0 += IMAGES) {
            FLOATS acc[IMAGES][FT];
#pragma unroll
            for (int i = 0; i < IMAGES * FT; i++)
                acc[i / FT][i % FT] = 0.0f;
            for (int o = 0; o < O; o++) {
                FLOATS w[FT];
#pragma unroll
                for (int j = 0; j < FT; j++)
                    w[j] = LOAD(weight + (ulong)o * F + f0 + VECTOR(j));
#pragma unroll
                for (int i = 0; i < IMAGES; i++) {
                    const FLOATS slope = dy[(ulong)IMAGE_OF(n0 + i) * O + o];
#pragma unroll
                    for (int j = 0; j < FT; j++)
                        acc[i][j] = fma(slope, w[j], acc[i][j]);
                }
            }
#pragma unroll
            for (int i = 0; i < IMAGES; i++)
#pragma unroll
                for (int j = 0; j < FT; j++)
                    if (j < (IS_IMAGE(n0 + i) ? vectors : 0))
                        STORE_FLOATS(acc[i][j], dx + (ulong)(n0 + i) * F + f0 + j * LANES);
        }
        for (int o0 = 0; o0 < O; o0 += OT) {
            FLOATS acc[OT][FT];
#pragma unroll
            for (int i = 0; i < OT * FT; i++)
                acc[i / FT][i % FT] = 0.0f;
            for (int n = 0; n < N; n++) {
                FLOATS v[FT];
#pragma unroll
                for (int j = 0; j < FT; j++)
                    v[j] = LOAD(x + (ulong)n * F + f0 + VECTOR(j));
#pragma unroll
                for (int t = 0; t < OT; t++) {
                    const FLOATS slope = dy[(ulong)n * O + OUTPUT(o0 + t)];
#pragma unroll
                    for (int j = 0; j < FT; j++)
                        acc[t][j] = fma(slope, v[j], acc[t][j]);
                }
            }
#pragma unroll
            for (int t = 0; t < OT; t++)
#pragma unroll
                for (int j = 0; j < FT; j++)
                    if (j < (IS_OUTPUT(o0 + t) ? vectors : 0))
                        FINISH_VECTOR(weight, (ulong)(o0 + t) * F + f0 + j * LANES, acc[t][j]);
        }
    }
    FINISH_LINEAR
}
