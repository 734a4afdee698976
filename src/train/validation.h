/* Tests in the middle of a training: what is best so far, when to end early, when to lower the rate. */
#ifndef CLARET_TRAIN_VALIDATION_H
#define CLARET_TRAIN_VALIDATION_H

#include "train/keeping.h"
#include "train/session.h"

struct claret_validation {
    const struct claret_dataset *dataset; /* NULL: there are none */
    size_t every, patience;   /* epochs from one to the next; tests without a better one, 0: any */
    bool by_loss;             /* the best has the least loss, else the highest accuracy */
    double lr, factor, least; /* plateau: of the rate, down to this part of --lr … */
    size_t plateau_patience;  /* … after more tests than this without a lower loss */
    bool plateau;
};

/* By the options val-every, best-by, early-stopping, lr-schedule. CLARET_INVALID. */
enum claret_status claret_validation_init(const struct claret_options *options,
                                          const struct claret_dataset *dataset,
                                          struct claret_validation *validation);
/* Whether a test is due after that epoch (from 1). */
bool claret_validation_due(const struct claret_validation *validation, size_t epoch);
/* Takes a test's outcome in; true: it is the best so far. */
bool claret_validation_take(const struct claret_validation *validation, double loss, double accuracy,
                            struct claret_validated *state);
/* Whether training is to end, for too many tests were not better. */
bool claret_validation_over(const struct claret_validation *validation, const struct claret_validated *state);

#endif
