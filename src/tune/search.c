#include "tune/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tune/trials.h"

#define LEAST 0.006     /* seconds that one timing takes at least: launches are repeated */
#define SCREEN_ROUNDS 5 /* of a candidate against the default */
#define FINAL_ROUNDS 15
#define HOPELESS 1.5     /* times as slow as the default in the first round: no more rounds */
#define BETTER 0.985     /* of the best so far: worth going on from there */
#define WIN 0.98         /* of the default's time: what makes another the winner */
#define NEAR 1.3         /* times the best: a solver whose parameters are worth a look too */
#define SOLVERS_PART 0.5 /* of the budget, where CLBlast's own parameters take the rest */
#define LEAST_SHARE 2.0  /* seconds for a problem, however small its share */

/* ---- one candidate ---- */

static bool out_of_time(const struct claret_search *search, double end)
{
    const volatile sig_atomic_t *stop = search->options->stop;
    return claret_clock() > end || (stop && *stop);
}

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
        if (out_of_time(descent->trials->search, descent->end) &&
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

/* The default and the best three again, with more rounds; the record gets the winner. */
static enum claret_status finals(struct claret_trials *trials, bool complete, int attempts)
{
    struct claret_search *search = trials->search;
    const struct claret_target *target = trials->target;
    struct claret_racer racers[CLARET_RACERS] = {{.runs = 0}};
    const char *names[CLARET_RACERS] = {target->normal};
    int count = 1, lost = -1, winner = 0;
    char *fault = NULL;
    enum claret_status status = CLARET_OK;
    for (const char *next; count < CLARET_RACERS && (next = claret_trials_best(trials, names, count, 1.1));)
        names[count++] = next;
    for (int i = 0; status == CLARET_OK && i < count; i++) {
        snprintf(racers[i].choice, sizeof racers[i].choice, "%s", names[i]);
        status = claret_race_prepare(search, target, i, names[i], true, &fault, &racers[i].prepared);
        lost = fault && lost < 0 ? i : lost;
    }
    if (status == CLARET_OK && !fault)
        status = claret_race_run(search, racers, count, FINAL_ROUNDS, 2 * LEAST, &lost, &fault);
    if (status == CLARET_OK && fault) {
        /* It was fine before: without it once more. The default itself may have met a moment when the machine
         * had other things to do. */
        if (lost > 0)
            status = claret_trials_add(trials, racers[lost].choice, NULL, 0, fault);
        else if (attempts <= 1)
            status = claret_fail(CLARET_OPENCL, "the default %s: %s", target->normal, fault);
        for (int i = 0; i < count; i++)
            json_decref(racers[i].prepared);
        free(fault);
        return status == CLARET_OK ? finals(trials, complete, lost > 0 ? attempts : attempts - 1) : status;
    }
    /* Its best run has to be better too: a busy machine makes medians that mean nothing. */
    for (int i = 1; status == CLARET_OK && i < count; i++)
        if (racers[i].median < racers[winner].median && racers[i].median < WIN * racers[0].median &&
            racers[i].min < WIN * racers[0].min)
            winner = i;
    if (status == CLARET_OK)
        status = claret_trials_end(trials, &racers[winner], racers[0].median, complete);
    search->result->changed += status == CLARET_OK && winner > 0;
    for (int i = 0; i < count; i++)
        json_decref(racers[i].prepared);
    return status;
}

static enum claret_status tune(struct claret_search *search, const struct claret_target *target, double end);

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
            status = tune(search, &gemm, end);
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
        if (out_of_time(trials->search, end)) {
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
    struct claret_text choice = {0};
    double seconds = claret_record_number(json_object_get(record, "seconds"), "median");
    claret_record_choice(record, &choice);
    if (!choice.failed && seconds > 0)
        claret_search_say(search, false, "%s%s: %s, %.2f times as fast as the default %s (%zu tried%s)",
                          search->graph->nodes[target->node].name, target->is_gemm ? " GEMM" : "",
                          choice.data, claret_record_number(record, "default_seconds") / seconds,
                          target->normal, json_array_size(json_object_get(record, "trials")),
                          json_is_true(json_object_get(record, "complete")) ? "" : ", not all");
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

static enum claret_status tune(struct claret_search *search, const struct claret_target *target, double end)
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
        CLARET_TRY(finals(&trials, complete, 3));
        say_outcome(search, target, trials.record);
    }
    keep_gemm(search, target, trials.record);
    search->result->tuned += !target->is_gemm && json_is_true(json_object_get(trials.record, "complete"));
    return CLARET_OK;
}

/* ---- the network ---- */

struct problem {
    struct claret_target target;
    double seconds; /* of all nodes that have it, in a step */
};

static int by_seconds(const void *a, const void *b)
{
    double left = ((const struct problem *)a)->seconds, right = ((const struct problem *)b)->seconds;
    return left > right ? -1 : left < right;
}

/* Each problem of the step once, those that take longest first. */
static enum claret_status list_problems(struct claret_search *search, const json_t *nodes,
                                        struct problem *problems, int *count)
{
    for (int i = 0; i < search->graph->node_count; i++) {
        struct problem problem = {.seconds = json_number_value(json_array_get(nodes, (size_t)i))};
        int at = 0;
        if (!search->plan->choices[i].solver)
            continue;
        CLARET_TRY(claret_target_node(search->plan, &search->device, i, &problem.target));
        while (at < *count && strcmp(problems[at].target.key, problem.target.key) != 0)
            at++;
        if (at < *count)
            problems[at].seconds += problem.seconds;
        if (at < *count || !claret_target_has_choice(&problem.target))
            claret_target_free(&problem.target);
        else
            problems[(*count)++] = problem;
    }
    if (*count > 1)
        qsort(problems, (size_t)*count, sizeof *problems, by_seconds);
    return CLARET_OK;
}

static enum claret_status tune_all(struct claret_search *search, struct problem *problems, int count)
{
    double left = 0;
    for (int i = 0; i < count; i++)
        left += problems[i].seconds;
    for (int i = 0; i < count; i++) {
        double now = claret_clock(), seconds = search->end - now;
        double share = left > 0 ? seconds * problems[i].seconds / left : seconds;
        left -= problems[i].seconds;
        if (out_of_time(search, search->end))
            break;
        enum claret_status status = tune(search, &problems[i].target, now + fmax(share, LEAST_SHARE));
        if (status == CLARET_OPENCL) {
            claret_search_say(search, false, "%s is left as it is: %s",
                              search->graph->nodes[problems[i].target.node].name, claret_error());
            claret_error_clear();
        } else if (status != CLARET_OK) {
            return status;
        }
    }
    return search->options->stop && *search->options->stop ? claret_fail(CLARET_STOPPED, "stopped")
                                                           : CLARET_OK;
}

/* The step's time that the records promise, from each problem's share of it. */
static double predict(const struct claret_search *search, const struct problem *problems, int count,
                      double all)
{
    double saved = 0;
    for (int i = 0; i < count; i++) {
        const json_t *record = claret_records_find(&search->records, problems[i].target.key);
        double before = claret_record_number(record, "default_seconds");
        double after = claret_record_number(json_object_get(record, "seconds"), "median");
        if (before > 0 && after > 0)
            saved += problems[i].seconds * (1 - after / before);
    }
    return all > 0 ? 1 - saved / all : 1;
}

static enum claret_status prepare_step(struct claret_search *search, int slot, json_t *choices)
{
    json_t *answer = NULL;
    CLARET_TRY(claret_search_ask(
        search, json_pack("{s:s,s:i,s:i,s:o}", "op", "prepare", "slot", slot, "node", -1, "choices", choices),
        &answer));
    const char *fault = claret_answer_fault(answer);
    enum claret_status status = fault ? claret_fail(CLARET_OPENCL, "the step: %s", fault) : CLARET_OK;
    json_decref(answer);
    return status;
}

/* The whole step by the defaults against the whole step by what was found. */
static enum claret_status measure_step(struct claret_search *search, const struct problem *problems,
                                       int count, double all)
{
    struct claret_racer racers[2] = {{.runs = 0}};
    json_t *choices = json_copy(search->best);
    char *fault = NULL;
    int lost;
    for (int i = 0; i < count; i++) {
        const json_t *record = claret_records_find(&search->records, problems[i].target.key);
        struct claret_text choice = {0};
        if (record)
            claret_record_choice(record, &choice);
        if (record && !choice.failed)
            json_object_set_new(choices, problems[i].target.key, json_string(choice.data));
        claret_text_drop(&choice);
    }
    enum claret_status status = prepare_step(search, 0, json_object());
    if (status == CLARET_OK)
        status = prepare_step(search, 1, json_incref(choices));
    json_decref(choices);
    CLARET_TRY(status);
    CLARET_TRY(claret_race_run(search, racers, 2, FINAL_ROUNDS, 10 * LEAST, &lost, &fault));
    if (fault) {
        status = claret_fail(CLARET_OPENCL, "timing the step: %s", fault);
        free(fault);
        return status;
    }
    search->result->step_default = racers[0].median;
    search->result->step_tuned = racers[1].median;
    search->result->step_predicted = racers[0].median * predict(search, problems, count, all);
    return CLARET_OK;
}

static enum claret_status open_records(struct claret_search *search)
{
    const struct claret_tune_options *options = search->options;
    struct claret_text trying = {0};
    char *path = options->records ? claret_strdup(options->records)
                                  : claret_records_path(options->cache_folder, &search->device);
    if (!path)
        return claret_no_memory();
    search->result->path = path;
    CLARET_TRY(claret_records_open(path, &search->device, &search->records));
    if (search->records.refused)
        return claret_fail(CLARET_FORMAT,
                           "%s is no file of this device's records: remove it, or name another by --tuning",
                           path);
    claret_text_add(&trying, "%s.trying", path);
    CLARET_TRY(claret_text_take(&trying, &search->trying));
    CLARET_TRY(claret_records_save(&search->records));
    return claret_trying_recover(search);
}

static enum claret_status run(struct claret_search *search)
{
    json_t *answer = NULL;
    CLARET_TRY(claret_search_ask(search, NULL, &answer));
    claret_search_say(search, false, "%s", claret_record_text(search->opened, "describe"));
    CLARET_TRY(open_records(search));
    const struct claret_plan_options options = {.device = &search->device};
    CLARET_TRY(claret_graph_create(search->options->network->spec, &search->graph_options, &search->graph));
    CLARET_TRY(claret_plan_create(search->graph, &options, &search->plan));
    struct problem *problems = calloc((size_t)search->graph->node_count + 1, sizeof *problems);
    int count = 0;
    double all = 0;
    enum claret_status status = problems ? CLARET_OK : claret_no_memory();
    if (status == CLARET_OK)
        status = claret_search_ask(search, json_pack("{s:s}", "op", "profile"), &answer);
    if (status == CLARET_OK && claret_answer_fault(answer))
        status = claret_fail(CLARET_OPENCL, "the step by the defaults: %s", claret_answer_fault(answer));
    const json_t *nodes = json_object_get(answer, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        all += json_number_value(json_array_get(nodes, i));
    if (status == CLARET_OK)
        status = list_problems(search, nodes, problems, &count);
    search->result->problems = count;
    const double start = claret_clock(), budget = search->options->budget;
    const bool clblast = search->options->probe_clblast && search->device.clblast;
    search->end = start + (clblast ? SOLVERS_PART : 1) * budget;
    if (status == CLARET_OK)
        status = tune_all(search, problems, count);
    search->end = start + budget;
    if (status == CLARET_OK)
        status = measure_step(search, problems, count, all);
    if (status == CLARET_OK && clblast)
        status = claret_search_clblast(search);
    for (int i = 0; i < count; i++)
        claret_target_free(&problems[i].target);
    free(problems);
    json_decref(answer);
    return status;
}

enum claret_status claret_tune_run(const struct claret_tune_options *options,
                                   struct claret_tune_result *result)
{
    *result = (struct claret_tune_result){.problems = 0};
    struct claret_search search = {.options = options,
                                   .result = result,
                                   .worker = {.command = options->worker, .stop = options->stop},
                                   .best = json_object()};
    enum claret_status status = search.best ? run(&search) : claret_no_memory();
    claret_worker_end(&search.worker);
    claret_plan_destroy(search.plan);
    claret_graph_destroy(search.graph);
    claret_records_close(&search.records);
    json_decref(search.best);
    json_decref(search.opened);
    free(search.trying);
    return status;
}
