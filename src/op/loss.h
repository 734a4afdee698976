/* The loss at a network's end. Its node: in logits (N, C), labels (N), step, and for a weighted cross-entropy
 * the classes' weights (C); out losses (N), whose mean over the true batch size is the loss, and dlogits (N,
 * C), the gradient of that mean. Rows from the true batch size on give 0. */
#ifndef CLARET_OP_LOSS_H
#define CLARET_OP_LOSS_H

#include <stdbool.h>

enum claret_loss_kind { CLARET_LOSS_CROSS_ENTROPY, CLARET_LOSS_MSE, CLARET_LOSS_BCE };

struct claret_loss {
    enum claret_loss_kind kind;
    double label_smoothing; /* of cross-entropy, as the next */
    bool weighted;          /* classes have weights */
};

/* Attributes of a loss node; NULL: no smoothing. */
enum { CLARET_LOSS_SMOOTHING /* f */, CLARET_LOSS_ATTRS };

/* "cross_entropy", … */
const char *claret_loss_op(enum claret_loss_kind kind);
/* Whether it is what a fused node's chain means by "cross_entropy": neither smoothed nor weighted. */
bool claret_loss_plain(const struct claret_loss *loss);

#endif
