/* Losses that add each logit's own, and their gradient, one item a row of logits (N, C). Overwrites losses (N), the mean of a row's,
 * and dlogits (N, C). The target is 1 for the label, else 0. Defines: BCE: 0, the squared difference, or 1, the binary
 * cross-entropy of the logistic function, from which nothing overflows. Items: (N). */
#ifndef BCE
#define BCE 0
#endif

__kernel void elementwise_loss(CONST_TENSOR(float, logits), CONST_TENSOR(int, labels), CONST_TENSOR(uint, step),
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
    float loss = 0.0f;
    for (int c = 0; c < c_count; c++) {
        const float x = logits[c], target = c == labels[n] ? 1.0f : 0.0f;
        float slope;
        if (BCE) {
            const float small = exp(-fabs(x)); /* of 1 and exp(-x), or of exp(x) and 1 */
            loss += (isgreater(x, 0.0f) ? x : 0.0f) - x * target + log1p(small) + 0.0f * x; /* infinities give NaN */
            slope = (isgreater(x, 0.0f) ? 1.0f : small) / (1.0f + small) - target;
        } else {
            loss = fma(x - target, x - target, loss);
            slope = 2.0f * (x - target);
        }
        dlogits[c] = n < count ? slope / ((float)count * c_count) : 0.0f;
    }
    losses[n] = n < count ? loss / c_count : 0.0f;
}
