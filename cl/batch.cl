/* The two ends of a step.
 *
 * Defines: IMAGES_F32 (batch_load), TRAINING (step_end): 0 or 1. */
#ifndef IMAGES_F32
#define IMAGES_F32 0
#endif
#ifndef TRAINING
#define TRAINING 0
#endif

#define TABLE_ROW 260 /* src/op/batch.h: CLARET_TABLE_ROW */

/* What the slot's header says goes into the step's words. */
void take_header(__global const uint *header, __global uint *step);
void take_header(__global const uint *header, __global uint *step)
{
    step[STEP_COUNT] = header[HEADER_COUNT];
    step[STEP_LR] = header[HEADER_LR];
    step[STEP_FIRST] = header[HEADER_FIRST];
    step[STEP_SEED] = header[HEADER_SEED];
    step[STEP_SEED + 1] = header[HEADER_SEED + 1];
    if (header[HEADER_RESET_LOSS]) {
        step[STEP_LOSS_SUM] = step[STEP_LOSS_LOW] = as_uint(0.0f);
        step[STEP_LOSS_COUNT] = 0;
    }
    step[STEP_MEAN_SCALE] = header[HEADER_MEAN_SCALE];
    step[STEP_SQUARE_SCALE] = header[HEADER_SQUARE_SCALE];
    step[STEP_MORE] = header[HEADER_MORE];
    step[STEP_WEIGHT] = header[HEADER_WEIGHT];
    step[STEP_MOMENTUM] = header[HEADER_MOMENTUM];
}

#define NUMBERED 1 /* src/op/batch.h: claret_resident */
#define AUGMENTED 2

/* Where image n of the slot lies: in it, or in the data set on the device under the number that the slot has, or there as the batch's
 * n-th. */
__global const uchar *image_of(__global const uchar *slot, int images_at, __global const uchar *data, int n,
                               ulong image_bytes);
__global const uchar *image_of(__global const uchar *slot, int images_at, __global const uchar *data, int n,
                               ulong image_bytes)
{
    __global const uchar *images = slot + images_at;
    const uint resident = ((__global const uint *)slot)[HEADER_RESIDENT];
    if (resident == NUMBERED)
        return data + ((__global const uint *)images)[n] * image_bytes;
    if (resident == AUGMENTED)
        return data + n * image_bytes;
    return images + n * image_bytes;
}

#ifdef WQ
#define IMAGE_BYTES ((ulong)C * H * W * (IMAGES_F32 ? 4 : 1))

/* v / d, rounded correctly, from 1 / d (src/op/batch.c). */
float divide(float v, float d, float reciprocal);
float divide(float v, float d, float reciprocal)
{
    const float q = v * reciprocal;
    return fma(fma(-d, q, v), reciprocal, q);
}

/* batch_load for devices whose work-items own wide vectors: an item does a plane, normalises by computing where the table allows,
 * and splits the columns by their remainder by Q inside padding PH, PW, as split_columns does: overwrites xs
 * (N, C, HP, Q, WQ), labels (N) and the step's words. Defines: C, H, W, HP, WQ, Q, PH, PW. Items: (N * C). */
__kernel void batch_load_rows(CONST_TENSOR(uchar, stage), TENSOR(uint, step), CONST_TENSOR(float, table),
                              CONST_TENSOR(uchar, data), TENSOR(float, xs), TENSOR(int, labels), int slot_bytes, int labels_at, int images_at)
{
    USE_CONST(uchar, stage);
    USE(uint, step);
    USE_CONST(float, table);
    USE_CONST(uchar, data);
    USE(float, xs);
    USE(int, labels);
    const int item = get_global_id(0), n = item / C, c = item % C;
    __global const uchar *slot = stage + (ulong)step[STEP_SLOT] * slot_bytes;
    __global const uint *header = (__global const uint *)slot;
    const bool there = n < (int)header[HEADER_COUNT];
    __global const uchar *image = there ? image_of(slot, images_at, data, n, IMAGE_BYTES) : slot;
    xs += (ulong)item * HP * Q * WQ;
    float line[PW + W + Q * WQ]; /* a row with its padding, and more zeros than the last phase reads */
    for (int w = 0; w < PW + W + Q * WQ; w++)
        line[w] = 0.0f;
    for (int h = -PH; h < HP - PH; h++, xs += Q * WQ) {
        if (!there || h < 0 || h >= H) {
            for (int w = 0; w < Q * WQ; w++)
                xs[w] = 0.0f;
            continue;
        }
        const int at = (c * H + h) * W;
#if IMAGES_F32
        __global const float *row = (__global const float *)image + at;
        for (int w = 0; w < W; w++)
            line[PW + w] = row[w];
#else
        __global const uchar *row = image + at;
        __global const float *channel = table + c * TABLE_ROW;
        if (channel[259] != 0.0f) {
            const float mean = channel[256], deviation = channel[257], reciprocal = channel[258];
            for (int w = 0; w < W; w++)
                line[PW + w] = divide(divide((float)row[w], 255.0f, 1.0f / 255.0f) - mean, deviation, reciprocal);
        } else {
            for (int w = 0; w < W; w++)
                line[PW + w] = channel[row[w]];
        }
#endif
#if Q == 2 && WQ % 8 == 0 /* what compilers do not find */
        for (int q = 0; q < WQ; q += 8) {
            const float16 both = vload16(0, line + 2 * q);
            vstore8(both.even, 0, xs + q);
            vstore8(both.odd, 0, xs + WQ + q);
        }
#else
#pragma unroll
        for (int phase = 0; phase < Q; phase++)
            for (int q = 0; q < WQ; q++)
                xs[phase * WQ + q] = line[q * Q + phase];
#endif
    }
    if (c == 0)
        labels[n] = there ? ((__global const int *)(slot + labels_at))[n] : 0;
    if (item == 0)
        take_header(header, step);
}
#endif

/* Reads slot step[STEP_SLOT] of the stage (src/op/batch.h: header, labels, images or their numbers in data) and overwrites x (N, C, P),
 * labels (N) and the step's words COUNT, LR, FIRST, SEED, *_SCALE; LOSS_* where the header asks. Rows from the true batch size on
 * become zero. P = height * width. Items: (P, C, N). */
__kernel void batch_load(CONST_TENSOR(uchar, stage), TENSOR(uint, step), CONST_TENSOR(float, table),
                         CONST_TENSOR(uchar, data), TENSOR(float, x), TENSOR(int, labels), int slot_bytes, int labels_at, int images_at,
                         int channels, int plane)
{
    USE_CONST(uchar, stage);
    USE(uint, step);
    USE_CONST(float, table);
    USE_CONST(uchar, data);
    USE(float, x);
    USE(int, labels);
    const int p = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
    if (p >= plane || c >= channels)
        return;
    __global const uchar *slot = stage + (ulong)step[STEP_SLOT] * slot_bytes;
    __global const uint *header = (__global const uint *)slot;
    const uint count = header[HEADER_COUNT];
    float value = 0.0f;
    if (n < (int)count) {
        const ulong size = IMAGES_F32 ? 4 : 1, at = (ulong)c * plane + p;
        __global const uchar *image = image_of(slot, images_at, data, n, size * channels * plane);
#if IMAGES_F32
        value = ((__global const float *)image)[at];
#else
        value = table[c * TABLE_ROW + image[at]];
#endif
    }
    x[((ulong)n * channels + c) * plane + p] = value;
    if (p == 0 && c == 0)
        labels[n] = n < (int)count ? ((__global const int *)(slot + labels_at))[n] : 0;
    if (p == 0 && c == 0 && n == 0)
        take_header(header, step);
}

/* Moves on to the next of `slots` stage slots. Training: adds the batch's mean loss to the window (Kahan: the
 * window may be thousands of steps long) and latches the first step whose loss is not finite. One item. */
__kernel void step_end(TENSOR(uint, step), CONST_TENSOR(float, losses), int slots)
{
    USE(uint, step);
    if (get_global_id(0) > 0)
        return;
    step[STEP_SLOT] = (step[STEP_SLOT] + 1) % slots;
#if TRAINING
    USE_CONST(float, losses);
    const int count = step[STEP_COUNT];
    float sum = 0.0f;
    for (int n = 0; n < count; n++)
        sum += losses[n];
    const float loss = sum / count;
    step[STEP_LOSS] = as_uint(loss);
    const float total = as_float(step[STEP_LOSS_SUM]);
    const float y = loss - as_float(step[STEP_LOSS_LOW]);
    const float t = total + y;
    step[STEP_LOSS_LOW] = as_uint((t - total) - y);
    step[STEP_LOSS_SUM] = as_uint(t);
    step[STEP_LOSS_COUNT] += 1;
    step[STEP_NUMBER] += 1;
    if (!isfinite(loss) && step[STEP_BAD] == 0)
        step[STEP_BAD] = step[STEP_NUMBER];
#endif
}
