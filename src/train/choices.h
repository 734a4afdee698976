/* What a session's options say about solvers. */
#ifndef CLARET_TRAIN_CHOICES_H
#define CLARET_TRAIN_CHOICES_H

#include "plan/plan.h"
#include "rt/rt.h"
#include "train/options.h"
#include "tune/records.h"

struct claret_choices {
    char *text; /* the option `solver`, cut into words */
    struct claret_plan_force *force;
    int force_count;
    struct claret_rt *rt;
    struct claret_records records; /* path NULL: none are used */
    struct claret_text choice;     /* the last one told */
    int stale, foreign;            /* records met that are of other kernels, of another driver */
    bool said;
};

/* Reads the tuning records that the options name, of rt's device. */
enum claret_status claret_choices_init(const struct claret_options *options, struct claret_rt *rt,
                                       struct claret_choices *choices);
void claret_choices_finish(struct claret_choices *choices);
/* Sets what chooses solvers in a plan's options; `choices` must outlive the plan's making. */
void claret_choices_apply(struct claret_choices *choices, struct claret_plan_options *options);
/* Says, once, what of the records could not be used. */
void claret_choices_say(struct claret_choices *choices);
/* The file with the records of rt's device: the option `tuning`, else its place in the cache; NULL: there is
 * no cache. malloc'ed. */
enum claret_status claret_choices_path(const struct claret_options *options, struct claret_rt *rt,
                                       char **path);

#endif
