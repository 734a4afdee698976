/* Softmax cross-entropy and its gradient, one item a row of logits (N, C). Overwrites losses (N) and dlogits (N, C). The
 * largest logit is subtracted first, so that exp cannot overflow. Defines: SMOOTHED, WEIGHTED by weights (C): 0 or 1 (formulas:
 * src/op/cross_entropy.c). Items: (N). */
#ifndef SMOOTHED
#define SMOOTHED 0
#endif
#ifndef WEIGHTED
#define WEIGHTED 0
#endif
#if WEIGHTED
#define WEIGHT(c) weights[c]
#else
#define WEIGHT(c) 1.0f
#endif

__kernel void cross_entropy(CONST_TENSOR(float, logits), CONST_TENSOR(int, labels), CONST_TENSOR(uint, step),
                            CONST_TENSOR(float, weights), TENSOR(float, losses), TENSOR(float, dlogits),
                            float smoothing, int n_count, int c_count)
{
    USE_CONST(float, logits);
    USE_CONST(int, labels);
    USE_CONST(uint, step);
    USE_CONST(float, weights);
    USE(float, losses);
    USE(float, dlogits);
    const int n = get_global_id(0);
    if (n >= n_count)
        return;
    const int count = step[STEP_COUNT];
    logits += (ulong)n * c_count;
    dlogits += (ulong)n * c_count;
    float batch_weight = count;
    if (WEIGHTED) {
        batch_weight = 0.0f;
        for (int i = 0; i < count; i++)
            batch_weight += WEIGHT(labels[i]);
    }
    if (n >= count || batch_weight == 0.0f) {
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
    /* The targets: `hot` that of the label, WEIGHT(c) * `each` that of every class. */
    float hot = WEIGHT(label), each = 0.0f, all = hot;
    float loss = hot * (log(sum) - (logits[label] - largest));
    if (SMOOTHED) {
        hot *= 1.0f - smoothing;
        each = smoothing / c_count;
        loss *= 1.0f - smoothing;
        all = hot;
        for (int c = 0; c < c_count; c++) {
            all += WEIGHT(c) * each;
            loss += WEIGHT(c) * each * (log(sum) - (logits[c] - largest));
        }
    }
    losses[n] = WEIGHTED ? loss * (count / batch_weight) : loss;
    for (int c = 0; c < c_count; c++) {
        const float target = (c == label ? hot : 0.0f) + (SMOOTHED ? WEIGHT(c) * each : 0.0f);
        dlogits[c] = (all * (exp(logits[c] - largest) / sum) - target) / batch_weight;
    }
}
