/* The last, fully connected layer with the loss, for GPUs: a work-group of GROUP items (a power of 2) makes an image's logits and loss.
 * An item adds every GROUP-th term of OT outputs at a time; the items' sums are added by halves, in local memory.
 * x (N, F), weight (O, F), bias (O). Defines: GROUP; F, O, HAS_BIAS. Tunable: OT. */
#ifndef GROUP
#define GROUP 1
#endif
#ifndef OT
#define OT 1
#endif

/* Overwrites losses (N) and dlogits (N, O): 0 from the true batch size on. Groups: (N). */
__kernel GROUP_OF(GROUP) void
linear_loss_tiled(CONST_TENSOR(float, x), CONST_TENSOR(float, weight), CONST_TENSOR(float, bias), CONST_TENSOR(int, labels),
                  CONST_TENSOR(uint, step), TENSOR(float, losses), TENSOR(float, dlogits))
{
    USE_CONST(float, x);
    USE_CONST(float, weight);
    USE_CONST(float, bias);
    USE_CONST(int, labels);
    USE_CONST(uint, step);
    USE(float, losses);
    USE(float, dlogits);
    __local float logits[O], sums[OT * GROUP];
    const int item = get_local_id(0), n = get_group_id(0);
    x += (ulong)n * F;
    for (int o = 0; o < O; o += OT) {
        float acc[OT];
#pragma unroll
        for (int t = 0; t < OT; t++)
            acc[t] = 0.0f;
        for (int f = item; f < F; f += GROUP) {
            const float v = x[f];
#pragma unroll
            for (int t = 0; t < OT; t++)
                acc[t] = fma(v, weight[min(o + t, O - 1) * F + f], acc[t]);
        }
#pragma unroll
        for (int t = 0; t < OT; t++)
            sums[t * GROUP + item] = acc[t];
        for (int half_of = GROUP / 2; half_of > 0; half_of /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < half_of)
#pragma unroll
                for (int t = 0; t < OT; t++)
                    sums[t * GROUP + item] += sums[t * GROUP + item + half_of];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = item; t < OT; t += GROUP)
            if (o + t < O)
                logits[o + t] = sums[t * GROUP] + (HAS_BIAS ? bias[o + t] : 0.0f);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int count = (int)step[STEP_COUNT];
    float largest = logits[0], sum = 0.0f;
    for (int o = 1; o < O; o++)
        largest = fmax(largest, logits[o]);
    for (int o = 0; o < O; o++)
        sum += exp(logits[o] - largest);
    const int label = labels[n];
    for (int o = item; o < O; o += GROUP) {
        const float g = (exp(logits[o] - largest) / sum - (o == label ? 1.0f : 0.0f)) / count;
        dlogits[(ulong)n * O + o] = n < count ? g : 0.0f;
    }
    if (item == 0)
        losses[n] = n < count ? log(sum) - (logits[label] - largest) : 0.0f;
}
