/* Softmax cross-entropy and its gradient, one item a row of logits (N, C). Overwrites losses (N) and
 * dlogits (N, C). The largest logit is subtracted first, so that exp cannot overflow. Items: (N). */
__kernel void cross_entropy(CONST_TENSOR(float, logits), CONST_TENSOR(int, labels), CONST_TENSOR(uint, step),
                            TENSOR(float, losses), TENSOR(float, dlogits), int n_count, int c_count)
{
    USE_CONST(float, logits);
    USE_CONST(int, labels);
    USE_CONST(uint, step);
    USE(float, losses);
    USE(float, dlogits);
    const int n = get_global_id(0);
    if (n >= n_count)
        return;
    const int count = step[STEP_COUNT];
    logits += (ulong)n * c_count;
    dlogits += (ulong)n * c_count;
    if (n >= count) {
        losses[n] = 0.0f;
        for (int c = 0; c < c_count; c++)
            dlogits[c] = 0.0f;
        return;
    }
    float largest = logits[0];
    for (int c = 1; c < c_count; c++)
        largest = fmax(largest, logits[c]);
    float sum = 0.0f;
    for (int c = 0; c < c_count; c++)
        sum += exp(logits[c] - largest);
    const int label = labels[n];
    losses[n] = log(sum) - (logits[label] - largest);
    for (int c = 0; c < c_count; c++)
        dlogits[c] = (exp(logits[c] - largest) / sum - (c == label ? 1.0f : 0.0f)) / count;
}
