/* What a session's options say about solvers. */
#ifndef CLARET_TRAIN_CHOICES_H
#define CLARET_TRAIN_CHOICES_H

#include "plan/plan.h"
#include "train/options.h"

struct claret_choices {
    char *text; /* the option `solver`, cut into words */
    struct claret_plan_force *force;
    int force_count;
};

enum claret_status claret_choices_init(const struct claret_options *options, struct claret_choices *choices);
void claret_choices_finish(struct claret_choices *choices);
/* Sets what chooses solvers in a plan's options. */
void claret_choices_apply(const struct claret_choices *choices, struct claret_plan_options *options);

#endif
