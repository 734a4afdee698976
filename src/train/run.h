/* The folder of one training run. Every file in it is whole or not there; log.csv and validation.csv are made
 * anew as training goes on. */
#ifndef CLARET_TRAIN_RUN_H
#define CLARET_TRAIN_RUN_H

#include "base/status.h"

/* Adds a row to the log: `step` in `epoch`, both from 1; `images` seen and `seconds` spent in training so
 * far; `loss` the mean over the last window of steps. */
enum claret_status claret_run_log(struct claret_run *run, int epoch, size_t step, size_t images, double loss,
                                  double lr, double seconds);
/* An epoch ends: log.csv gets the rows so far, but for where it did a moment ago, or is another run's, which
 * stays until this one finishes. */
enum claret_status claret_run_end_epoch(struct claret_run *run);

/* A row of validation.csv: after `steps` of the training, accuracy in percent. */
enum claret_status claret_run_log_test(struct claret_run *run, int epoch, size_t steps, double loss,
                                       double accuracy);
/* All rows so far of log.csv, and of validation.csv ("": none), with their heads. */
const char *claret_run_rows(const struct claret_run *run);
const char *claret_run_tests(const struct claret_run *run);
/* The path of best.safetensors, malloc'ed; NULL: out of memory. */
char *claret_run_best(const struct claret_run *run);
/* A checkpoint of so many steps has been written: of this training's the last `count` stay; of others', which
 * it follows or replaces, none. */
void claret_run_keep(struct claret_run *run, size_t steps, size_t count);

/* Training is over or interrupted: log.csv gets all rows, and config.ini its name where it had to wait. No
 * row can follow. Without it claret_run_destroy() drops what no epoch's end has written. A second call does
 * nothing.
 */
enum claret_status claret_run_finish(struct claret_run *run);

/* The path of weights.safetensors in the folder. */
const char *claret_run_weights(const struct claret_run *run);

#endif
