/* The last, fully connected layer with the loss, and its whole backward, for devices whose work-items own wide vectors: lanes are
 * features, a register tile holds OT outputs.
 *
 * Defines: LANES; N images, F features, O outputs; HAS_BIAS; HAS_DX, UPDATE (linear_backward). Tunables: OT;
 * IMAGES an item (linear_loss); BLOCK vectors of features an item (linear_backward). */
#ifndef OT
#define OT 1
#endif
#ifndef IMAGES
#define IMAGES 1
#endif
#ifndef BLOCK
#define BLOCK 1
#endif
#ifndef UPDATE
#define UPDATE 0
#endif
#ifndef HAS_DX
#define HAS_DX 0
#endif

#define WHOLE (F / LANES * LANES)

/* Softmax cross-entropy of one image and its gradient (0 from the true batch size on). */
void loss_of(const float *logits, __global const int *labels, int n, int count, __global float *losses,
             __global float *dlogits);
void loss_of(const float *logits, __global const int *labels, int n, int count, __global float *losses,
             __global float *dlogits)
{
    float largest = logits[0], sum = 0.0f;
    for (int o = 1; o < O; o++)
        largest = fmax(largest, logits[o]);
    for (int o = 0; o < O; o++)
        sum += exp(logits[o] - largest);
    const int label = labels[n];
    losses[n] = n < count ? log(sum) - (logits[label] - largest) : 0.0f;
    for (int o = 0; o < O; o++) {
        const float g = (exp(logits[o] - largest) / sum - (o == label ? 1.0f : 0.0f)) / count;
        dlogits[(ulong)n * O + o] = n < count ? g : 0.0f;
    }
}

/* The logits of IMAGES images from n on (those past the last are the last again). */
void logits_of(__global const float *x, __global const float *weight, __global const float *bias, int n,
               float logits[IMAGES][O]);
void logits_of(__global const float *x, __global const float *weight, __global const float *bias, int n,
               float logits[IMAGES][O])
{
    for (int o = 0; o < O; o += OT) {
        FLOATS acc[OT][IMAGES];
#pragma unroll
        for (int t = 0; t < OT; t++)
#pragma unroll
            for (int i = 0; i < IMAGES; i++)
                acc[t][i] = 0.0f;
        for (int f = 0; f < WHOLE; f += LANES) {
            FLOATS v[IMAGES];
#pragma unroll
            for (int i = 0; i < IMAGES; i++)
                v[i] = LOAD(x + (ulong)min(n + i, N - 1) * F + f);
#pragma unroll
            for (int t = 0; t < OT; t++) {
                const FLOATS w = LOAD(weight + (ulong)min(o + t, O - 1) * F + f);
#pragma unroll
                for (int i = 0; i < IMAGES; i++)
                    acc[t][i] = fma(w, v[i], acc[t][i]);
            }
        }
#pragma unroll
        for (int t = 0; t < OT; t++)
#pragma unroll
            for (int i = 0; i < IMAGES; i++) {
                if (o + t >= O)
                    break;
                float sum = sum_lanes(acc[t][i]);
                for (int f = WHOLE; f < F; f++)
                    sum = fma(weight[(ulong)(o + t) * F + f], x[(ulong)min(n + i, N - 1) * F + f], sum);
                logits[i][o + t] = HAS_BIAS ? sum + bias[o + t] : sum;
            }
    }
}

/* Overwrites y (N, O) = x (N, F) * weight (O, F)^T + bias. Items: (ceil(N / IMAGES)). */
__kernel void linear_rows(CONST_TENSOR(float, x), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias),
                          TENSOR(float, y))
{
    USE_CONST(float, x);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE(float, y);
    const int n = (int)get_global_id(0) * IMAGES;
    float logits[IMAGES][O];
    logits_of(x, weight, bias, n, logits);
    for (int i = 0; i < IMAGES && n + i < N; i++)
        for (int o = 0; o < O; o++)
            y[(ulong)(n + i) * O + o] = logits[i][o];
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
    float logits[IMAGES][O];
    logits_of(x, weight, bias, n, logits);
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
#if UPDATE /* through the pointer that it is changed by: the two may not be taken for different */
    __global const float *weight = weight_out_base + weight_out_offset;
#else
    __global const float *weight = weight_base + weight_offset;
#endif
    const int item = get_global_id(0);
    for (int f = item * BLOCK * LANES; f < min((item + 1) * BLOCK * LANES, WHOLE); f += LANES)
        for (int o = 0; o < O; o += OT) {
            FLOATS w[OT], g[OT];
#pragma unroll
            for (int t = 0; t < OT; t++) {
                w[t] = HAS_DX && o + t < O ? LOAD(weight + (ulong)min(o + t, O - 1) * F + f) : (FLOATS)0.0f;
                g[t] = 0.0f;
            }
            for (int n = 0; n < N; n++) {
                const FLOATS v = LOAD(x + (ulong)n * F + f);
                FLOATS d = HAS_DX && o > 0 ? LOAD(dx + (ulong)n * F + f) : (FLOATS)0.0f;
#pragma unroll
                for (int t = 0; t < OT; t++) {
                    const FLOATS dn = dy[(ulong)n * O + min(o + t, O - 1)];
                    g[t] = fma(dn, v, g[t]);
                    if (HAS_DX)
                        d = fma(dn, w[t], d);
                }
                if (HAS_DX)
                    STORE(d, dx + (ulong)n * F + f);
            }
#pragma unroll
            for (int t = 0; t < OT; t++) {
                if (o + t < O)
                    FINISH_VECTOR(weight, (ulong)(o + t) * F + f, g[t]);
            }
        }
    /* The features that fill no vector, and the bias, belong to the last item and the first. */
    for (int f = WHOLE; f < F && item == (int)get_global_size(0) - 1; f++) {
        for (int n = 0; HAS_DX && n < N; n++) {
            float d = 0.0f;
            for (int o = 0; o < O; o++)
                d = fma(dy[(ulong)n * O + o], weight[(ulong)o * F + f], d);
            dx[(ulong)n * F + f] = d;
        }
        for (int o = 0; o < O; o++) {
            float g = 0.0f;
            for (int n = 0; n < N; n++)
                g = fma(dy[(ulong)n * O + o], x[(ulong)n * F + f], g);
            FINISH(weight, (ulong)o * F + f, g);
        }
    }
    for (int o = 0; HAS_BIAS && item == 0 && o < O; o++) {
        float g = 0.0f;
        for (int n = 0; n < N; n++)
            g += dy[(ulong)n * O + o];
        FINISH(bias, o, g);
    }
}
