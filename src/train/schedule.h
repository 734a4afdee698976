/* Learning rates over a training, by the formulas of PyTorch's schedulers of the same names
 * (torch.optim.lr_scheduler): StepLR, MultiStepLR, CosineAnnealingLR, LinearLR from 1 to an end factor,
 * OneCycleLR by cosines with its own defaults, the cycle of the momentum too; before any of them but
 * OneCycleLR a warm-up, as SequentialLR puts LinearLR before another. */
#ifndef CLARET_TRAIN_SCHEDULE_H
#define CLARET_TRAIN_SCHEDULE_H

#include "train/options.h"

#define CLARET_MILESTONES 64

enum claret_schedule_kind {
    CLARET_SCHEDULE_CONSTANT,
    CLARET_SCHEDULE_STEP,
    CLARET_SCHEDULE_MULTISTEP,
    CLARET_SCHEDULE_COSINE,
    CLARET_SCHEDULE_LINEAR,
    CLARET_SCHEDULE_ONE_CYCLE,
    CLARET_SCHEDULE_PLATEAU
};

struct claret_schedule {
    enum claret_schedule_kind kind;
    bool by_step; /* time goes by updates, not epochs */
    bool cycle;   /* ONE_CYCLE: the momentum too */
    double lr, gamma, least, end_factor, warmup_factor;
    int64_t every;  /* STEP */
    int64_t warmup; /* of the time, before the schedule's own begins at 0 */
    int64_t milestones[CLARET_MILESTONES];
    int milestone_count;
};

/* What the options say. CLARET_INVALID: of one of them, or of some together. */
enum claret_status claret_schedule_init(const struct claret_options *options,
                                        struct claret_schedule *schedule);
/* The rate at time `at`, from 0, of `total`: updates or epochs, as by_step says. */
double claret_schedule_lr(const struct claret_schedule *schedule, int64_t at, int64_t total);
/* The momentum then (or Adam's beta1), where it is `own` without a schedule; 0 stays. */
double claret_schedule_momentum(const struct claret_schedule *schedule, double own, int64_t at,
                                int64_t total);
/* Updates in so many steps of a training on so many images: an epoch's last one may be of fewer batches. */
size_t claret_schedule_updates(const struct claret_options *options, size_t steps, size_t images);
/* Steps of a training on so many images. */
size_t claret_schedule_steps(const struct claret_options *options, size_t images);
/* Of so many steps those that a longer training has too: an update that the end made before its time, of
 * fewer batches than --accumulate says, is not one of it. */
size_t claret_schedule_lasting(const struct claret_options *options, size_t steps, size_t images);
/* The epoch, from 1, that a training on so many images is in when it has done `steps`; 0 before the first. */
size_t claret_schedule_epoch(const struct claret_options *options, size_t steps, size_t images);
/* Whether a training with these options on so many images has room for its schedule. CLARET_INVALID. */
enum claret_status claret_schedule_fits(const struct claret_options *options, size_t images);

#endif
