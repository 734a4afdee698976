/* The last, fully connected layer with the loss, and its whole backward, for devices whose work-items own wide vectors: lanes are
 * features.
 *
 * Defines: LANES; N images, F features (but for linear_rows, where they are arguments: a program for each batch size would be too many);
 * O outputs; HAS_BIAS; RELU behind y (linear_rows); HAS_DX, UPDATE (linear_backward). Tunables: OT; IMAGES at a time; BLOCK vectors of features an item, FT of them at a time (linear_backward). */
#ifndef OT
#define OT 1
#endif
#ifndef IMAGES
#define IMAGES 1
#endif
#ifndef BLOCK
#define BLOCK 1
#endif
#ifndef FT
#define FT 1
#endif
#ifndef UPDATE
#define UPDATE 0
#endif
#ifndef RELU
#define RELU 0
#endif
#ifndef HAS_DX
#define HAS_DX 0
#endif

/* Features that fill vectors. */
#define WHOLE(features) ((features) / LANES * LANES)
/* An image of a register tile, or the last one where that reaches beyond. */
#define IMAGE_OF(n, images) ((images) % IMAGES ? min(n, (images)-1) : (n))
#define OUTPUT(o) (O % OT ? min(o, O - 1) : (o))

/* An image's logits, filled up to whole vectors. */
#define LOGITS ((O + LANES - 1) / LANES * LANES)

/* The logits of IMAGES images from n on (those past the last are the last again). */
void logits_of(__global const float *x, __global const float *weight, __global const float *bias, int n,
               int images, int features, float logits[IMAGES][LOGITS]);
void logits_of(__global const float *x, __global const float *weight, __global const float *bias, int n,
               int images, int features, float logits[IMAGES][LOGITS])
{
    for (int o = 0; o < O; o += OT) {
        FLOATS acc[OT][IMAGES];
#pragma unroll
        for (int t = 0; t < OT; t++)
#pragma unroll
            for (int i = 0; i < IMAGES; i++)
                acc[t][i] = 0.0f;
        for (int f = 0; f < WHOLE(features); f += LANES) {
            FLOATS v[IMAGES];
#pragma unroll
            for (int i = 0; i < IMAGES; i++)
                v[i] = LOAD(x + (ulong)IMAGE_OF(n + i, images) * features + f);
#pragma unroll
            for (int t = 0; t < OT; t++) {
                const FLOATS w = LOAD(weight + (ulong)OUTPUT(o + t) * features + f);
#pragma unroll
                for (int i = 0; i < IMAGES; i++)
                    acc[t][i] = fma(w, v[i], acc[t][i]);
            }
        }
#pragma unroll
        for (int t = 0; t < OT; t++)
#pragma unroll
            for (int i = 0; i < IMAGES; i++) {
                if (O % OT && o + t >= O)
                    break;
                float sum = sum_lanes(acc[t][i]);
                for (int f = WHOLE(features); f < features; f++)
                    sum = fma(weight[(ulong)(o + t) * features + f], x[(ulong)IMAGE_OF(n + i, images) * features + f], sum);
                logits[i][o + t] = HAS_BIAS ? sum + bias[o + t] : sum;
            }
    }
}

/* Overwrites y (images, O) = x (images, features) * weight (O, features)^T + bias. Items: (ceil(images / IMAGES)). */
__kernel void linear_rows(CONST_TENSOR(float, x), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias),
                          TENSOR(float, y), int images, int features)
{
    USE_CONST(float, x);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    const int n = (int)get_global_id(0) * IMAGES;
    float logits[IMAGES][LOGITS];
    logits_of(x, weight, bias, n, images, features, logits);
    for (int i = 0; i < IMAGES && n + i < images; i++)
        for (int o = 0; o < O; o++)
            y[(ulong)(n + i) * O + o] = RELU && isless(logits[i][o], 0.0f) ? 0.0f : logits[i][o];
}

#ifdef N
/* Softmax cross-entropy of one image and its gradient (0 from the true batch size on); the logits are used up. */
void loss_of(float logits[LOGITS], __global const int *labels, int n, int count, __global float *losses,
             __global float *dlogits);
void loss_of(float logits[LOGITS], __global const int *labels, int n, int count, __global float *losses,
             __global float *dlogits)
{
    const int label = labels[n];
    float largest = logits[0];
    FLOATS sums = 0.0f;
    for (int o = 1; o < O; o++)
        largest = fmax(largest, logits[o]);
    const float own = logits[label] - largest;
    for (int o = O; o < LOGITS; o++)
        logits[o] = -INFINITY;
    for (int o = 0; o < O; o += LANES) {
        const FLOATS e = exp(LOAD(logits + o) - largest);
        STORE(e, logits + o);
        sums += e;
    }
    const float sum = sum_lanes(sums);
    losses[n] = n < count ? log(sum) - own : 0.0f;
    for (int o = 0; o < O; o += LANES) {
        const FLOATS right = LANE_NUMBERS == label - o ? (FLOATS)1.0f : (FLOATS)0.0f;
        const FLOATS g = n < count ? (LOAD(logits + o) / sum - right) / (float)count : (FLOATS)0.0f;
        STORE_UP_TO(g, dlogits + (ulong)n * O + o, O - o);
    }
}

/* Overwrites losses (N) and dlogits (N, O) from x (N, F), weight (O, F), bias, labels. Items: (ceil(N / IMAGES)). */
__kernel void linear_loss(CONST_TENSOR(float, x), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias),
                          CONST_TENSOR(int, labels), CONST_TENSOR(uint, step), TENSOR(float, losses),
                          TENSOR(float, dlogits))
{
    USE_CONST(float, x);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE_CONST(int, labels);
    USE_CONST(uint, step);
    USE(float, losses);
    USE(float, dlogits);
    const int n = (int)get_global_id(0) * IMAGES;
    float logits[IMAGES][LOGITS];
    logits_of(x, weight, bias, n, N, F, logits);
    for (int i = 0; i < IMAGES && n + i < N; i++)
        loss_of(logits[i], labels, n + i, step[STEP_COUNT], losses, dlogits);
}

/* Overwrites dx (N, F) where HAS_DX; overwrites the gradients of weight (O, F) and bias (O), or updates these (weight_out is
 * weight then). An item does BLOCK vectors of features for all images; what dx needs of the weights it reads before it
 * changes them. Items: (ceil(ceil(F / LANES) / BLOCK)). */
__kernel void linear_backward(CONST_TENSOR(float, dy), CONST_TENSOR(float, x), __global const float *weight_base,
                              ulong weight_offset, TENSOR(float, dx), GRADIENT_PARAMETERS)
{
    USE_CONST(float, dy);
    USE_CONST(float, x);
    USE(float, dx);
    __global const float *weight = READ_WEIGHT;
    const int item = get_global_id(0);
    const int end = min((item + 1) * BLOCK * LANES, WHOLE(F));
#if N > IMAGES /* the gradients over the images so far, and the weights, which are read and written row by row */
    FLOATS sums[FT][OT], old[FT][OT];
#define WEIGHT_OF(j, o) old[j][o]
#else
#define WEIGHT_OF(j, o) LOAD(weight + (ulong)(o0 + (o)) * F + f0 + (j)*LANES)
#endif
    for (int f0 = item * BLOCK * LANES; f0 < end; f0 += FT * LANES)
        for (int o0 = 0; o0 < O; o0 += OT) {
            const int vectors = min(FT, (end - f0) / LANES), outputs = min(OT, O - o0);
#if N > IMAGES
            for (int o = 0; o < outputs; o++)
                for (int j = 0; j < vectors; j++) {
                    sums[j][o] = 0.0f;
                    if (HAS_DX)
                        old[j][o] = LOAD(weight + (ulong)(o0 + o) * F + f0 + j * LANES);
                }
#endif
            for (int n = 0; n < N; n += IMAGES)
                for (int j = 0; j < vectors; j++) {
                    FLOATS v[IMAGES], d[IMAGES];
#pragma unroll
                    for (int i = 0; i < IMAGES; i++) {
                        const ulong at = (ulong)IMAGE_OF(n + i, N) * F + f0 + j * LANES;
                        v[i] = LOAD(x + at);
                        d[i] = HAS_DX && o0 > 0 ? LOAD(dx + at) : (FLOATS)0.0f;
                    }
                    for (int o = 0; o < outputs; o++) {
                        const FLOATS w = HAS_DX ? WEIGHT_OF(j, o) : (FLOATS)0.0f;
#if N > IMAGES
                        FLOATS g = sums[j][o];
#else
                        FLOATS g = 0.0f;
#endif
#pragma unroll
                        for (int i = 0; i < IMAGES; i++) {
                            const float slope =
                                N % IMAGES && n + i >= N ? 0.0f : dy[(ulong)IMAGE_OF(n + i, N) * O + o0 + o];
                            g = fma((FLOATS)slope, v[i], g);
                            if (HAS_DX)
                                d[i] = fma((FLOATS)slope, w, d[i]);
                        }
#if N > IMAGES
                        sums[j][o] = g;
#else
                        FINISH_VECTOR(weight, (ulong)(o0 + o) * F + f0 + j * LANES, g);
#endif
                    }
#pragma unroll
                    for (int i = 0; HAS_DX && i < IMAGES; i++) {
                        if (N % IMAGES == 0 || n + i < N)
                            STORE_FLOATS(d[i], dx + (ulong)(n + i) * F + f0 + j * LANES);
                    }
                }
#if N > IMAGES
            for (int o = 0; o < outputs; o++)
                for (int j = 0; j < vectors; j++)
                    FINISH_VECTOR(weight, (ulong)(o0 + o) * F + f0 + j * LANES, sums[j][o]);
#endif
        }
    FINISH_LINEAR
}
#endif
