/* One search's process, records and the timing of candidates against each other. */
#ifndef CLARET_TUNE_RACE_H
#define CLARET_TUNE_RACE_H

#include "tune/search.h"
#include "tune/target.h"

#define CLARET_RACERS 4 /* the default and the best three */

struct claret_search {
    const struct claret_tune_options *options;
    struct claret_tune_result *result;
    struct claret_worker worker;
    bool ready;     /* the worker has device and graph */
    json_t *opened; /* its answer with the device */
    json_t *best;   /* {key: choice} of GEMMs whose solver is known, by this run or by records */
    struct claret_device_desc device;
    struct claret_graph_options graph_options;
    struct claret_graph *graph;
    struct claret_plan *plan; /* by the defaults */
    struct claret_records records;
    char *trying; /* file that says what is being tried */
    double end;   /* of the budget, on claret_clock() */
};

/* A candidate of a race. */
struct claret_racer {
    char choice[CLARET_CHOICE_TEXT];
    double median, min, max; /* seconds */
    int runs;
    json_t *prepared; /* the worker's answer: sources, hash, verified */
};

/* Asks the worker, started anew where it has to be. *answer has {"error"} or {"fault"} where it went wrong.
 */
enum claret_status claret_search_ask(struct claret_search *search, json_t *request, json_t **answer);
/* What is wrong with an answer; NULL: nothing. */
const char *claret_answer_fault(const json_t *answer);
void claret_search_say(struct claret_search *search, bool progress, const char *format, ...)
    CLARET_PRINTF(3, 4);

/* Whether it is past `end`, on claret_clock(), or the search is to stop. */
bool claret_search_late(const struct claret_search *search, double end);
/* Searches for one target until `end` (contest.c); its record has the winner. */
enum claret_status claret_contest(struct claret_search *search, const struct claret_target *target,
                                  double end);
/* Looks for better parameters of CLBlast for the network's GEMMs (clblast.c). */
enum claret_status claret_search_clblast(struct claret_search *search);

/* Prepares the choice in that slot: built, and found right at the problem's size, with `everywhere` also at
 * one that fits no tile. *fault (malloc'ed; NULL: fine). `prepared` may be NULL. */
enum claret_status claret_race_prepare(struct claret_search *search, const struct claret_target *target,
                                       int slot, const char *choice, bool everywhere, char **fault,
                                       json_t **prepared);
/* Times the racers in slots 0 …, in turn, `rounds` times; the medians come out. *lost: the slot whose racer
 * brought the worker down, with *fault (malloc'ed); -1: none. */
enum claret_status claret_race_run(struct claret_search *search, struct claret_racer *racers, int count,
                                   int rounds, double least, int *lost, char **fault);
/* Whether a racer was faster than the default beside it, by more than chance. */
bool claret_race_won(const struct claret_racer *racer, const struct claret_racer *normal);

#endif
