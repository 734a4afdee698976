/* What is known of a target's candidates: from this run, or from its record. */
#ifndef CLARET_TUNE_TRIALS_H
#define CLARET_TUNE_TRIALS_H

#include "tune/race.h"

/* The target's record, kept as the search goes: trials are added to it and it is saved. */
struct claret_trials {
    struct claret_search *search;
    const struct claret_target *target;
    json_t *record; /* borrowed from the search's records */
    bool again;     /* another driver's: only its best are raced again */
};

/* Takes up the target's record, or begins one. *done: it is complete, with these kernels and this driver. */
enum claret_status claret_trials_begin(struct claret_search *search, const struct claret_target *target,
                                       struct claret_trials *trials, bool *done);
/* Of a record that is begun: the kernels that it is about, for now the default's. */
void claret_trials_sources(struct claret_trials *trials, const json_t *prepared);
/* The trial of that choice; NULL: none. */
json_t *claret_trials_find(const struct claret_trials *trials, const char *choice);
/* Its seconds by the default's; INFINITY: a fault; NAN: not tried. */
double claret_trials_ratio(const struct claret_trials *trials, const char *choice);
/* The choice with the least ratio that is not in `except` (count of them); NULL: none below `limit`. */
const char *claret_trials_best(const struct claret_trials *trials, const char *const *except, int count,
                               double limit);
/* Adds one and saves. `racer` NULL: `fault` says what went wrong. */
enum claret_status claret_trials_add(struct claret_trials *trials, const char *choice,
                                     const struct claret_racer *racer, double ratio, const char *fault);
/* The race is over: the winner goes into the record. */
enum claret_status claret_trials_end(struct claret_trials *trials, const struct claret_racer *winner,
                                     double default_seconds, bool complete);

/* What is about to be tried is written down first, so that a machine that locks up loses one candidate. */
enum claret_status claret_trying_begin(struct claret_search *search, const char *problem, const char *choice);
void claret_trying_end(struct claret_search *search);
/* What an earlier run was trying when it ended goes among the records' "lost". */
enum claret_status claret_trying_recover(struct claret_search *search);

#endif
