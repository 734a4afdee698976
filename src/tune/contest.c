/* One target's search: its solvers, the parameters of those near the best, the finals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tune/trials.h"

#define LEAST 0.006     /* seconds that one timing takes at least: launches are repeated */
#define SCREEN_ROUNDS 5 /* of a candidate against the default */
#define FINAL_ROUNDS 15
#define HOPELESS 1.5 /* times as slow as the default in the first round: no more rounds */
#define BETTER 0.985 /* of the best so far: worth going on from there */
#define NEAR 1.3     /* times the best: a solver whose parameters are worth a look too */

/* ---- one candidate ---- */

/* Slot 0 holds the default, which every candidate runs against. */
static enum claret_status prepare_default(struct claret_trials *trials)
{
    char *fault = NULL;
    json_t *prepared = NULL;
    CLARET_TRY(claret_race_prepare(trials->search, trials->target, 0, trials->target->normal, false, &fault,
                                   &prepared));
    if (!fault)
        claret_trials_sources(trials, prepared);
    json_decref(prepared);
    if (!fault)
        return CLARET_OK;
    enum claret_status status = claret_fail(CLARET_OPENCL, "the default itself, %s, does not work: %s",
                                            trials->target->normal, fault);
    free(fault);
    return status;
}

static enum claret_status screen(struct claret_trials *trials, const char *choice, char **fault)
{
    struct claret_search *search = trials->search;
    struct claret_racer racers[2] = {{.runs = 0}};
    int lost;
    CLARET_TRY(claret_race_prepare(search, trials->target, 1, choice, false, fault, NULL));
    if (*fault)
        return CLARET_OK;
    CLARET_TRY(claret_race_run(search, racers, 2, 1, LEAST, &lost, fault));
    if (!*fault && racers[1].median < HOPELESS * racers[0].median)
        CLARET_TRY(claret_race_run(search, racers, 2, SCREEN_ROUNDS, LEAST, &lost, fault));
    if (*fault)
        return CLARET_OK;
    /* The best runs count as well as the medians: on a busy machine either may be off. */
    double ratio = fmax(racers[1].median / racers[0].median, racers[1].min / racers[0].min);
    return claret_trials_add(trials, choice, &racers[1], ratio, NULL);
}

/* Tries a choice, unless it is known already. Its ratio is in the trials afterwards. */
static enum claret_status try_choice(struct claret_trials *trials, const char *choice, bool anew)
{
    struct claret_search *search = trials->search;
    char *fault = NULL;
    if (!anew && !isnan(claret_trials_ratio(trials, choice)))
        return CLARET_OK;
    if (search->worker.pid == 0 || !search->ready)
        CLARET_TRY(prepare_default(trials));
    CLARET_TRY(claret_trying_begin(search, trials->target->key, choice));
    enum claret_status status = screen(trials, choice, &fault);
    claret_trying_end(search);
    search->result->candidates++;
    if (status == CLARET_OK && fault) {
        search->result->faults++;
        status = claret_trials_add(trials, choice, NULL, 0, fault);
    }
    const char *best = claret_trials_best(trials, NULL, 0, INFINITY);
    if (fault)
        claret_search_say(search, false, "%s: %s: %s", search->graph->nodes[trials->target->node].name,
                          choice, fault);
    else if (status == CLARET_OK)
        claret_search_say(search, true, "%s: %s %.2f (best: %s %.2f), %.0f s left",
                          search->graph->nodes[trials->target->node].name, choice,
                          claret_trials_ratio(trials, choice), best ? best : "-",
                          best ? claret_trials_ratio(trials, best) : 1.0,
                          fmax(0, search->end - claret_clock()));
    free(fault);
    return status;
}

/* ---- one target ---- */

static double ratio_or_one(const struct claret_trials *trials, const char *choice)
{
    double ratio = strcmp(choice, trials->target->normal) == 0 ? 1.0 : claret_trials_ratio(trials, choice);
    return isnan(ratio) ? INFINITY : ratio;
}

/* Where a search for better parameters is. */
struct descent {
    struct claret_trials *trials;
    double end;
    bool *complete; /* set to false where the time was not enough */
    char current[CLARET_CHOICE_TEXT], best[CLARET_CHOICE_TEXT];
};

/* The values of a tunable from index `from` on, as long as no two in a row fail to be better. */
static enum claret_status walk(struct descent *descent, const struct claret_tunable *tunable, int from,
                               int step)
{
    char varied[CLARET_CHOICE_TEXT];
    int worse = 0;
    for (int v = from; v >= 0 && v < CLARET_MAX_TUNABLE_VALUES && tunable->values[v] && worse < 2;
         v += step) {
        if (!claret_target_vary(descent->trials->target, descent->current, tunable->name, tunable->values[v],
                                varied))
            continue;
        if (claret_search_late(descent->trials->search, descent->end) &&
            isnan(claret_trials_ratio(descent->trials, varied))) {
            *descent->complete = false;
            return CLARET_OK;
        }
        CLARET_TRY(try_choice(descent->trials, varied, false));
        if (ratio_or_one(descent->trials, varied) < BETTER * ratio_or_one(descent->trials, descent->best)) {
            snprintf(descent->best, sizeof descent->best, "%s", varied);
            worse = 0;
        } else {
            worse++;
        }
    }
    return CLARET_OK;
}

/* Each parameter in turn, up and down from where it is, the others as they are, as long as that helps. */
static enum claret_status descend(struct claret_trials *trials, const char *start, double end, bool *complete)
{
    struct descent descent = {.trials = trials, .end = end, .complete = complete};
    bool moved = true;
    snprintf(descent.current, sizeof descent.current, "%s", start);
    while (moved) {
        const struct claret_tunable *tunables = claret_target_tunables(trials->target, descent.current);
        moved = false;
        for (int t = 0; tunables && tunables[t].name; t++) {
            int64_t value = claret_target_value(trials->target, descent.current, tunables[t].name);
            int above = 0;
            while (above < CLARET_MAX_TUNABLE_VALUES && tunables[t].values[above] &&
                   tunables[t].values[above] <= value)
                above++;
            int below = above - 1;
            if (below >= 0 && tunables[t].values[below] == value)
                below--;
            if (value == 0)
                continue;
            snprintf(descent.best, sizeof descent.best, "%s", descent.current);
            CLARET_TRY(walk(&descent, &tunables[t], above, 1));
            CLARET_TRY(walk(&descent, &tunables[t], below, -1));
            moved |= strcmp(descent.best, descent.current) != 0;
            snprintf(descent.current, sizeof descent.current, "%s", descent.best);
        }
    }
    return CLARET_OK;
}

/* The default, in slot 0, and the best three. *lost: the one that no longer works, with *fault; -1: none. */
static enum claret_status prepare_finals(struct claret_trials *trials, struct claret_racer *racers,
                                         int *count, int *lost, char **fault)
{
    const char *names[CLARET_RACERS] = {trials->target->normal}, *next;
    *count = 1;
    *lost = -1;
    *fault = NULL;
    while (*count < CLARET_RACERS && (next = claret_trials_best(trials, names, *count, 1.1)))
        names[(*count)++] = next;
    for (int i = 0; i < *count; i++)
        snprintf(racers[i].choice, sizeof racers[i].choice, "%s", names[i]);
    for (int i = 0; i < *count; i++) {
        CLARET_TRY(claret_race_prepare(trials->search, trials->target, i, racers[i].choice, true, fault,
                                       &racers[i].prepared));
        if (*fault) {
            *lost = i;
            return CLARET_OK;
        }
    }
    return CLARET_OK;
}

/* Its best run has to be better too: a busy machine makes medians that mean nothing. */
static int pick_winner(const struct claret_racer *racers, int count)
{
    int winner = 0;
    for (int i = 1; i < count; i++)
        if (racers[i].median < racers[winner].median && claret_race_won(&racers[i], &racers[0]))
            winner = i;
    return winner;
}

/* One race of the finalists. *again: one that was fine before is so no longer; without it once more. */
static enum claret_status race_finals(struct claret_trials *trials, bool complete, int *attempts, bool *again)
{
    struct claret_search *search = trials->search;
    struct claret_racer racers[CLARET_RACERS] = {{.runs = 0}};
    int count, lost;
    char *fault;
    enum claret_status status = prepare_finals(trials, racers, &count, &lost, &fault);
    if (status == CLARET_OK && !fault)
        status = claret_race_run(search, racers, count, FINAL_ROUNDS, 2 * LEAST, &lost, &fault);
    *again = status == CLARET_OK && fault;
    if (*again && lost > 0)
        status = claret_trials_add(trials, racers[lost].choice, NULL, 0, fault);
    else if (*again && --*attempts == 0) /* the machine may have had other things to do, but not each time */
        status = claret_fail(CLARET_OPENCL, "the default %s: %s", trials->target->normal, fault);
    if (status == CLARET_OK && !*again) {
        int winner = pick_winner(racers, count);
        status = claret_trials_end(trials, &racers[winner], racers[0].median, complete);
        search->result->changed += winner > 0;
    }
    for (int i = 0; i < CLARET_RACERS; i++)
        json_decref(racers[i].prepared);
    free(fault);
    return status;
}

/* The default and the best three again, with more rounds; the record gets the winner. */
static enum claret_status finals(struct claret_trials *trials, bool complete)
{
    int attempts = 3;
    bool again = true;
    while (again)
        CLARET_TRY(race_finals(trials, complete, &attempts, &again));
    return CLARET_OK;
}

/* The solvers of the GEMMs inside the node by that choice. *tuned: there were some. */
static enum claret_status tune_gemms(struct claret_trials *trials, const char *choice, double end,
                                     bool *tuned)
{
    struct claret_search *search = trials->search;
    const struct claret_node *node = &search->graph->nodes[trials->target->node];
    const struct claret_plan_force force = {node->name, choice};
    const struct claret_plan_options options = {.device = &search->device, .force = &force, .force_count = 1};
    struct claret_plan *plan = NULL;
    *tuned = false;
    CLARET_TRY(claret_plan_create(search->graph, &options, &plan));
    enum claret_status status = CLARET_OK;
    for (int i = 0; status == CLARET_OK && i < plan->gemm_count; i++) {
        struct claret_target gemm;
        if (plan->gemms[i].node != trials->target->node)
            continue;
        status = claret_target_gemm(plan, &search->device, &plan->gemms[i], choice, &gemm);
        if (status == CLARET_OK && !json_object_get(search->best, gemm.key)) {
            status = claret_contest(search, &gemm, end);
            *tuned = true;
        }
        claret_target_free(&gemm);
    }
    claret_plan_destroy(plan);
    return status;
}

static enum claret_status try_solvers(struct claret_trials *trials, double end, bool *complete)
{
    const char *name;
    char reason[128];
    for (int i = 0; (name = claret_target_solver(trials->target, i)); i++) {
        if (strcmp(name, trials->target->normal) == 0 ||
            !claret_target_applicable(trials->target, name, reason))
            continue;
        if (claret_search_late(trials->search, end)) {
            *complete = false;
            return CLARET_OK;
        }
        CLARET_TRY(try_choice(trials, name, false));
    }
    return CLARET_OK;
}

/* The solvers whose parameters are worth it: those near the best one. */
static enum claret_status try_parameters(struct claret_trials *trials, double end, bool *complete)
{
    const struct claret_target *target = trials->target;
    const char *name = claret_trials_best(trials, NULL, 0, 1.0);
    double best = name ? claret_trials_ratio(trials, name) : 1.0;
    char reason[128];
    for (int i = 0; (name = claret_target_solver(target, i)); i++) {
        bool tuned = false;
        if (!claret_target_applicable(target, name, reason) || ratio_or_one(trials, name) > NEAR * best)
            continue;
        if (!target->is_gemm)
            CLARET_TRY(tune_gemms(trials, name, end, &tuned));
        if (tuned) {
            CLARET_TRY(prepare_default(trials));
            if (strcmp(name, target->normal) != 0)
                CLARET_TRY(try_choice(trials, name, true));
        }
        CLARET_TRY(descend(trials, name, end, complete));
    }
    return CLARET_OK;
}

static void say_outcome(struct claret_search *search, const struct claret_target *target,
                        const json_t *record)
{
    const char *node = search->graph->nodes[target->node].name, *what = target->is_gemm ? " GEMM" : "";
    const char *rest = json_is_true(json_object_get(record, "complete")) ? "" : ", not all";
    const size_t tried = json_array_size(json_object_get(record, "trials"));
    struct claret_text choice = {0};
    double seconds = claret_record_number(json_object_get(record, "seconds"), "median");
    claret_record_choice(record, &choice);
    if (!choice.failed && strcmp(choice.data, target->normal) == 0)
        claret_search_say(search, false, "%s%s: nothing is faster than the default %s (%zu tried%s)", node,
                          what, target->normal, tried, rest);
    else if (!choice.failed && seconds > 0)
        claret_search_say(search, false, "%s%s: %s, %.2f times as fast as the default %s (%zu tried%s)", node,
                          what, choice.data, claret_record_number(record, "default_seconds") / seconds,
                          target->normal, tried, rest);
    claret_text_drop(&choice);
}

static void keep_gemm(struct claret_search *search, const struct claret_target *target, const json_t *record)
{
    struct claret_text choice = {0};
    claret_record_choice(record, &choice);
    if (target->is_gemm && !choice.failed)
        json_object_set_new(search->best, target->key, json_string(choice.data));
    claret_text_drop(&choice);
}

enum claret_status claret_contest(struct claret_search *search, const struct claret_target *target,
                                  double end)
{
    struct claret_trials trials;
    bool done, complete = true;
    CLARET_TRY(claret_trials_begin(search, target, &trials, &done));
    if (!done) {
        CLARET_TRY(prepare_default(&trials));
        if (!trials.again) {
            CLARET_TRY(try_solvers(&trials, end, &complete));
            CLARET_TRY(try_parameters(&trials, end, &complete));
        }
        /* What was stopped is taken up from the trials: nothing has been won yet. */
        if (search->options->stop && *search->options->stop)
            return claret_fail(CLARET_STOPPED, "stopped");
        CLARET_TRY(finals(&trials, complete));
        say_outcome(search, target, trials.record);
    }
    keep_gemm(search, target, trials.record);
    search->result->tuned += !target->is_gemm && json_is_true(json_object_get(trials.record, "complete"));
    return CLARET_OK;
}
