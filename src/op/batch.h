/* How a batch travels: the layout of one slot of the stage buffer, shared by loader, session and cl/batch.cl.
 *
 * A slot is: header (claret_stage_header, CLARET_STAGE_HEADER bytes), labels (int32, N), images (N, C, H, W) as
 * uint8 or float32, each part starting at a multiple of 128 bytes, the whole rounded up likewise. */
#ifndef CLARET_OP_BATCH_H
#define CLARET_OP_BATCH_H

#include <stddef.h>
#include <stdint.h>

#define CLARET_STAGE_HEADER 128
#define CLARET_STAGE_SLOTS 2 /* one being read by a step, one being filled for the next */

struct claret_stage_header {
    uint32_t count;       /* true batch size */
    float lr;             /* learning rate of this step */
    uint32_t first;       /* 1: the optimizer's first step (momentum starts as the gradient) */
    uint32_t reset_loss;  /* 1: the loss window starts anew with this step */
};

struct claret_stage_layout {
    size_t labels, images; /* byte offsets in a slot */
    size_t slot;           /* bytes of a slot */
    size_t image;          /* bytes of one image */
};
void claret_stage_layout(int64_t batch, int64_t elements_per_image, size_t element_size,
                         struct claret_stage_layout *layout);

/* 32-bit words of the step buffer (CLARET_HOME_STEP); cl/common.clh has the same names. */
enum claret_step_word {
    CLARET_STEP_SLOT,      /* uint: slot that this step's batch lies in */
    CLARET_STEP_COUNT,     /* uint: true batch size */
    CLARET_STEP_LR,        /* float */
    CLARET_STEP_FIRST,     /* uint */
    CLARET_STEP_NUMBER,    /* uint: steps done */
    CLARET_STEP_LOSS_SUM,  /* float: of the steps' mean losses since the window began, with … */
    CLARET_STEP_LOSS_LOW,  /* float: … what rounding took from it (Kahan) */
    CLARET_STEP_LOSS_COUNT,/* uint: steps in the window */
    CLARET_STEP_LOSS,      /* float: of the last step */
    CLARET_STEP_BAD,       /* uint: 1 + the first step whose loss was not finite, 0: none */
    CLARET_STEP_WORDS = 32
};

#endif
