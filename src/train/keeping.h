/* When a training writes checkpoints into its run's folder, and which of them stay. */
#ifndef CLARET_TRAIN_KEEPING_H
#define CLARET_TRAIN_KEEPING_H

#include "train/session.h"

struct claret_keeping {
    struct claret_run *run; /* NULL: none are written */
    size_t every;           /* steps, 0: not by steps */
    double seconds, last;   /* from one to the next, 0: not by time; when the last one was written */
    size_t keep;            /* that stay */
    size_t saved;           /* steps of the last one */
};

/* By the options checkpoint-every ("2000", "60s") and checkpoint-keep. CLARET_INVALID. */
enum claret_status claret_keeping_init(const struct claret_options *options, struct claret_run *run,
                                       struct claret_keeping *keeping);
/* Whether one is to be written after `steps` of `total`: when it is time, and at the end. */
bool claret_keeping_due(const struct claret_keeping *keeping, size_t steps, size_t total);
/* Whether one is to be written where training is stopped. */
bool claret_keeping_wanted(const struct claret_keeping *keeping, size_t steps);
/* Writes one, and removes those that are too many. What goes wrong is a warning: older ones stay then. */
void claret_keeping_save(struct claret_keeping *keeping, struct claret_session *session,
                         const struct claret_progress *progress);
/* best.safetensors, likewise. */
void claret_keeping_best(struct claret_keeping *keeping, struct claret_session *session,
                         const struct claret_progress *progress);

#endif
