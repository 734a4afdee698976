/* Overwrites xs (N*C, HP, Q, WQ) with x (N*C, H, W) inside its padding PH, PW, the columns ordered by their remainder
 * by Q: xs[.., h, phase, q] is padded column q * Q + phase. One item a plane. Items: (N*C).
 * Defines: H, W, HP, WQ, Q, PH, PW. */
__kernel void split_columns(CONST_TENSOR(float, x), TENSOR(float, xs))
{
    USE_CONST(float, x);
    USE(float, xs);
    const ulong plane = get_global_id(0);
    x += plane * H * W;
    xs += plane * HP * Q * WQ;
    for (int h = -PH; h < HP - PH; h++)
#pragma unroll
        for (int phase = 0; phase < Q; phase++, xs += WQ) {
            if (h < 0 || h >= H) {
                for (int q = 0; q < WQ; q++)
                    xs[q] = 0.0f;
                continue;
            }
            const int first = (PW - phase + Q - 1) / Q;            /* the first column inside ... */
            const int end = min((W + PW - phase + Q - 1) / Q, WQ); /* ... and the first beyond */
            for (int q = 0; q < first; q++)
                xs[q] = 0.0f;
            for (int q = first; q < end; q++)
                xs[q] = x[h * W + q * Q + phase - PW];
            for (int q = end; q < WQ; q++)
                xs[q] = 0.0f;
        }
}
