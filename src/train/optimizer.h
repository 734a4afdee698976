/* What the options say of the optimizer. */
#ifndef CLARET_TRAIN_OPTIMIZER_H
#define CLARET_TRAIN_OPTIMIZER_H

#include "op/update.h"
#include "train/options.h"

/* Gives the options that were not set and depend on the option `optimizer` that optimizer's defaults.
 * CLARET_INVALID: there is no such optimizer, or one was set that it does not take. */
enum claret_status claret_optimizer_resolve(struct claret_options *options);
/* Of options that were resolved. */
struct claret_optimizer claret_optimizer_of(const struct claret_options *options);
/* What a schedule can change of it: SGD's and RMSprop's momentum, Adam's beta1. 0: nothing, there is none. */
double claret_optimizer_cycled(const struct claret_optimizer *optimizer);
/* The optimizer with that. */
struct claret_optimizer claret_optimizer_at(const struct claret_optimizer *optimizer, double momentum);
/* Whether the option `key` is none of another optimizer's. */
bool claret_optimizer_takes(const struct claret_options *options, const char *key);

#endif
