/* How a batch travels: the layout of one slot of the stage buffer, shared by loader, session and cl/batch.cl.
 *
 * A slot is: header (claret_stage_header, CLARET_STAGE_HEADER bytes), labels (int32, N), images (N, C, H, W)
 * as uint8 or float32, each part starting at a multiple of 128 bytes, the whole rounded up likewise. Where
 * the data set lives on the device, the slot has in place of the images their numbers in it (uint32, N), or
 * where they are augmented there, their recipes (claret_recipe, N). */
#ifndef CLARET_OP_BATCH_H
#define CLARET_OP_BATCH_H

#include <stddef.h>
#include <stdint.h>

#define CLARET_STAGE_HEADER 128
/* Slots that go round: at least one being read by a step and one being filled for the next; as many as lie in
 * STAGE_BYTES, so that short steps can be queued ahead. */
#define CLARET_STAGE_SLOTS_MIN 2
#define CLARET_STAGE_SLOTS_MAX 16
#define CLARET_STAGE_BYTES ((size_t)1 << 20)

struct claret_stage_header {
    uint32_t count;                 /* true batch size */
    float lr;                       /* learning rate of this step */
    uint32_t first;                 /* 1: the optimizer's first step (momentum starts as the gradient) */
    uint32_t reset_loss;            /* 1: the loss window starts anew with this step */
    uint32_t resident;              /* claret_resident */
    uint32_t seed[2];               /* of what is drawn on the device: its low and its high half */
    float mean_scale, square_scale; /* claret_optimizer_corrections() */
    uint32_t more;                  /* 1: more batches follow before the update */
    float weight;                   /* this batch's share of the images since the last update */
    float momentum;                 /* claret_optimizer_momentum() */
};

/* Where a batch's images are. */
enum claret_resident {
    CLARET_SENT,      /* in the slot */
    CLARET_NUMBERED,  /* in the data set on the device, under the numbers in the slot */
    CLARET_AUGMENTED, /* on the device one behind the other, where an augment node left them */
};

struct claret_stage_layout {
    size_t labels, images; /* byte offsets in a slot */
    size_t slot;           /* bytes of a slot */
    int slots;             /* how many there are */
    size_t image;          /* bytes of one image */
};
void claret_stage_layout(int64_t batch, int64_t elements_per_image, size_t element_size,
                         struct claret_stage_layout *layout);

/* The normalisation table, CLARET_TABLE_ROW floats a channel: what each of the 256 values becomes, then mean,
 * std, 1 / std, and 1 where claret_normalise() gives all 256 to the bit: kernels with wide vectors compute
 * instead of looking up. */
#define CLARET_TABLE_ROW 260
/* values (channels, 256), mean and std (channels); table (channels, CLARET_TABLE_ROW) */
void claret_stage_table(const float *values, const float *mean, const float *std, int channels, float *table);
/* (v / 255 - mean) / std, each operation rounded, with divisions made of multiplications (cl/batch.cl has the
 * same). */
float claret_normalise(int v, float mean, float std, float reciprocal);

/* Attributes of a batch_load node whose images come split by columns (cl/split_columns.cl); NULL: as they
 * are. */
enum { CLARET_LOAD_Q, CLARET_LOAD_SIZE /* height, width */, CLARET_LOAD_PADDING, CLARET_LOAD_ATTRS };

/* Attributes of a step_end node. */
enum { CLARET_END_SLOTS /* of the stage */, CLARET_END_ATTRS };

/* 32-bit words of the step buffer (CLARET_HOME_STEP); cl/common.clh has the same names. */
enum claret_step_word {
    CLARET_STEP_SLOT,       /* uint: slot that this step's batch lies in */
    CLARET_STEP_COUNT,      /* uint: true batch size */
    CLARET_STEP_LR,         /* float */
    CLARET_STEP_FIRST,      /* uint */
    CLARET_STEP_NUMBER,     /* uint: steps done */
    CLARET_STEP_LOSS_SUM,   /* float: of the steps' mean losses since the window began, with … */
    CLARET_STEP_LOSS_LOW,   /* float: … what rounding took from it (Kahan) */
    CLARET_STEP_LOSS_COUNT, /* uint: steps in the window */
    CLARET_STEP_LOSS,       /* float: of the last step */
    CLARET_STEP_BAD,        /* uint: 1 + the first step whose loss was not finite, 0: none */
    CLARET_STEP_SEED,       /* uint, two of them: low, high */
    CLARET_STEP_MEAN_SCALE = CLARET_STEP_SEED + 2, /* float: … */
    CLARET_STEP_SQUARE_SCALE,                      /* … Adam's corrections */
    CLARET_STEP_MORE,                              /* uint */
    CLARET_STEP_WEIGHT,                            /* float */
    CLARET_STEP_MOMENTUM,                          /* float */
    CLARET_STEP_WORDS = 32
};

#endif
