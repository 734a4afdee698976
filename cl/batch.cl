/* The two ends of a step.
 *
 * Defines: IMAGES_F32 (batch_load), TRAINING (step_end): 0 or 1. */
#ifndef IMAGES_F32
#define IMAGES_F32 0
#endif
#ifndef TRAINING
#define TRAINING 0
#endif

/* Reads slot step[STEP_SLOT] of the stage (src/op/batch.h: header, labels, images) and overwrites x (N, C, P),
 * labels (N) and the step's words COUNT, LR, FIRST; LOSS_* where the header asks. Rows from the true batch size on
 * become zero. P = height * width. Items: (P, C, N). */
__kernel void batch_load(CONST_TENSOR(uchar, stage), TENSOR(uint, step), CONST_TENSOR(float, table),
                         TENSOR(float, x), TENSOR(int, labels), int slot_bytes, int labels_at, int images_at,
                         int channels, int plane)
{
    USE_CONST(uchar, stage);
    USE(uint, step);
    USE_CONST(float, table);
    USE(float, x);
    USE(int, labels);
    const int p = get_global_id(0), c = get_global_id(1), n = get_global_id(2);
    if (p >= plane || c >= channels)
        return;
    __global const uchar *slot = stage + (ulong)step[STEP_SLOT] * slot_bytes;
    __global const uint *header = (__global const uint *)slot;
    const uint count = header[0];
    const ulong at = ((ulong)n * channels + c) * plane + p;
    float value = 0.0f;
#if IMAGES_F32
    if (n < (int)count)
        value = ((__global const float *)(slot + images_at))[at];
#else
    if (n < (int)count)
        value = table[c * 256 + slot[images_at + at]];
#endif
    x[at] = value;
    if (p == 0 && c == 0)
        labels[n] = n < (int)count ? ((__global const int *)(slot + labels_at))[n] : 0;
    if (p == 0 && c == 0 && n == 0) {
        step[STEP_COUNT] = count;
        step[STEP_LR] = header[1];
        step[STEP_FIRST] = header[2];
        if (header[3]) {
            step[STEP_LOSS_SUM] = step[STEP_LOSS_LOW] = as_uint(0.0f);
            step[STEP_LOSS_COUNT] = 0;
        }
    }
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
