/* The folder of one training run. Every file in it is whole or not there: while training goes on, log.csv is
 * written under a temporary name. */
#ifndef CLARET_TRAIN_RUN_H
#define CLARET_TRAIN_RUN_H

#include "base/status.h"

/* Appends a row to the log and hands it to the system: `step` in `epoch`, both from 1; `images` seen and
 * `seconds` spent in training so far; `loss` the mean over the last window of steps. */
enum claret_status claret_run_log(struct claret_run *run, int epoch, size_t step, size_t images, double loss,
                                  double lr, double seconds);

/* A row of validation.csv: after `steps` of the training, accuracy in percent. */
enum claret_status claret_run_log_test(struct claret_run *run, int epoch, size_t steps, double loss,
                                       double accuracy);
/* All rows so far, with their head; "": none. */
const char *claret_run_tests(const struct claret_run *run);
/* The path of best.safetensors, malloc'ed; NULL: out of memory. */
char *claret_run_best(const struct claret_run *run);
/* The log so far, malloc'ed. */
enum claret_status claret_run_read_log(struct claret_run *run, char **text);
/* A checkpoint of so many steps has been written: of this training's the last `count` stay; of others', which
 * it follows or replaces, none. */
void claret_run_keep(struct claret_run *run, size_t steps, size_t count);

/* Training is over or interrupted: log.csv gets its name, and config.ini where it had to wait. No row can
 * follow. Without it claret_run_destroy() drops them. A second call does nothing. */
enum claret_status claret_run_finish(struct claret_run *run);

/* The path of weights.safetensors in the folder. */
const char *claret_run_weights(const struct claret_run *run);

#endif
