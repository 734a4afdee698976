#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tune/trials.h"

#define LEAST 0.06       /* seconds that one timing of the step takes at least */
#define ROUNDS 15        /* of the step by the defaults and by what was found */
#define SOLVERS_PART 0.5 /* of the budget, where CLBlast's own parameters take the rest */
#define LEAST_SHARE 2.0  /* seconds for a problem, however small its share */

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
        if (claret_search_late(search, search->end))
            break;
        enum claret_status status =
            claret_contest(search, &problems[i].target, now + fmax(share, LEAST_SHARE));
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

/* {key: choice} of all that was found. */
static json_t *collect(const struct claret_search *search, const struct problem *problems, int count)
{
    json_t *choices = json_copy(search->best);
    for (int i = 0; i < count; i++) {
        const json_t *record = claret_records_find(&search->records, problems[i].target.key);
        struct claret_text choice = {0};
        if (record)
            claret_record_choice(record, &choice);
        if (record && !choice.failed)
            json_object_set_new(choices, problems[i].target.key, json_string(choice.data));
        claret_text_drop(&choice);
    }
    return choices;
}

static const char *chosen(void *user, const char *key)
{
    return json_string_value(json_object_get(user, key));
}

/* *same: the step's launches by those choices are the ones by the defaults. */
static enum claret_status compare_plans(const struct claret_search *search, json_t *choices, bool *same)
{
    const struct claret_plan_options options = {
        .device = &search->device, .record = chosen, .record_user = choices};
    struct claret_plan *plan = NULL;
    struct claret_text normal = {0}, found = {0};
    CLARET_TRY(claret_plan_create(search->graph, &options, &plan));
    claret_plan_dump(search->plan, &normal);
    claret_plan_dump(plan, &found);
    enum claret_status status = normal.failed || found.failed ? claret_no_memory() : CLARET_OK;
    *same = status == CLARET_OK && strcmp(normal.data, found.data) == 0;
    claret_text_drop(&normal);
    claret_text_drop(&found);
    claret_plan_destroy(plan);
    return status;
}

/* The whole step by the defaults against the whole step by what was found; by itself where that is the same,
 * as another's time would be chance. */
static enum claret_status race_step(struct claret_search *search, json_t *choices, double predicted)
{
    struct claret_tune_result *result = search->result;
    struct claret_racer racers[2] = {{.runs = 0}};
    const int count = result->same ? 1 : 2;
    char *fault = NULL;
    int lost;
    CLARET_TRY(prepare_step(search, 0, json_object()));
    if (!result->same)
        CLARET_TRY(prepare_step(search, 1, json_incref(choices)));
    CLARET_TRY(claret_race_run(search, racers, count, ROUNDS, LEAST, &lost, &fault));
    if (fault) {
        enum claret_status status = claret_fail(CLARET_OPENCL, "timing the step: %s", fault);
        free(fault);
        return status;
    }
    const struct claret_racer *tuned = &racers[count - 1];
    result->step_default = racers[0].median;
    result->step_tuned = tuned->median;
    result->step_predicted = result->same ? racers[0].median : racers[0].median * predicted;
    result->faster = claret_race_won(tuned, &racers[0]);
    return CLARET_OK;
}

static enum claret_status measure_step(struct claret_search *search, const struct problem *problems,
                                       int count, double all)
{
    json_t *choices = collect(search, problems, count);
    enum claret_status status = compare_plans(search, choices, &search->result->same);
    if (status == CLARET_OK)
        status = race_step(search, choices, predict(search, problems, count, all));
    json_decref(choices);
    return status;
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
