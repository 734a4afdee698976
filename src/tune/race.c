#include "tune/race.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tune/describe.h"

#define MAX_ROUNDS 32
#define WHOLE_STEP 10 /* times the limits of one candidate */
#define WIN 0.98      /* of the default's time: what makes another the winner */

void claret_search_say(struct claret_search *search, bool progress, const char *format, ...)
{
    struct claret_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    claret_text_vadd(&text, format, arguments);
    va_end(arguments);
    if (search->options->say && !text.failed)
        search->options->say(search->options->say_user, progress, text.data);
    claret_text_drop(&text);
}

const char *claret_answer_fault(const json_t *answer)
{
    const char *fault = json_string_value(json_object_get(answer, "fault"));
    return fault ? fault : json_string_value(json_object_get(answer, "error"));
}

bool claret_search_late(const struct claret_search *search, double end)
{
    const volatile sig_atomic_t *stop = search->options->stop;
    return claret_clock() > end || (stop && *stop);
}

/* ---- the worker ---- */

static void set_text(json_t *json, const char *key, const char *text)
{
    if (text)
        json_object_set_new(json, key, json_string(text));
}

static enum claret_status ask_right(struct claret_search *search, json_t *request, double seconds,
                                    json_t **answer)
{
    const struct claret_worker_limits limits = {seconds, search->options->run_limit};
    CLARET_TRY(claret_worker_ask(&search->worker, request, &limits, answer));
    const char *fault = claret_answer_fault(*answer);
    enum claret_status status = fault ? claret_fail(CLARET_OPENCL, "%s", fault) : CLARET_OK;
    if (fault) {
        json_decref(*answer);
        *answer = NULL;
    }
    return status;
}

/* Device and graph; opening compiles CLBlast's kernels where they are probed, which takes its time. */
static enum claret_status make_ready(struct claret_search *search)
{
    const struct claret_tune_options *options = search->options;
    json_t *request = json_pack("{s:s,s:b}", "op", "open", "probe", options->probe_clblast), *answer = NULL;
    CLARET_TRY(claret_worker_start(&search->worker));
    set_text(request, "device", options->device);
    set_text(request, "platform", options->platform);
    set_text(request, "cache_dir", options->cache_dir);
    set_text(request, "kernel_dir", options->kernel_dir);
    CLARET_TRY(ask_right(search, request, 300, &answer));
    if (!search->opened) {
        search->opened = answer;
        claret_device_from_json(json_object_get(answer, "device"), &search->device);
        options->graph_options(options->graph_user, &search->device, &search->graph_options);
    } else {
        json_decref(answer);
    }
    request = json_pack("{s:s,s:s,s:s,s:o}", "op", "graph", "text", options->network->text, "file",
                        options->network->spec->file, "options",
                        claret_graph_options_to_json(&search->graph_options));
    CLARET_TRY(ask_right(search, request, 60, &answer));
    json_decref(answer);
    search->ready = true;
    return CLARET_OK;
}

enum claret_status claret_search_ask(struct claret_search *search, json_t *request, json_t **answer)
{
    struct claret_worker_limits limits = {search->options->compile_limit, search->options->run_limit};
    const char *op = json_string_value(json_object_get(request, "op"));
    /* All kernels of the step, by the defaults: nothing that is on trial. */
    if (op && strcmp(op, "profile") == 0)
        limits = (struct claret_worker_limits){WHOLE_STEP * limits.compile, WHOLE_STEP * limits.run};
    *answer = NULL;
    if (search->worker.pid == 0)
        search->ready = false;
    enum claret_status status = search->ready ? CLARET_OK : make_ready(search);
    if (status != CLARET_OK || !request) {
        json_decref(request);
        return status;
    }
    return claret_worker_ask(&search->worker, request, &limits, answer);
}

/* ---- candidates ---- */

/* {key: choice}: what else than the node's own solver is not left to the defaults. */
static json_t *choices_of(const struct claret_search *search, const struct claret_target *target,
                          const char *choice)
{
    json_t *choices =
        strcmp(choice, target->normal) == 0 && !target->is_gemm ? json_object() : json_copy(search->best);
    if (target->is_gemm)
        json_object_set_new(choices, target->key, json_string(choice));
    return choices;
}

enum claret_status claret_race_prepare(struct claret_search *search, const struct claret_target *target,
                                       int slot, const char *choice, bool everywhere, char **fault,
                                       json_t **prepared)
{
    json_t *answer = NULL;
    json_t *request =
        json_pack("{s:s,s:i,s:i,s:b,s:s,s:o}", "op", "prepare", "slot", slot, "node", target->node,
                  "everywhere", everywhere, "solver", target->is_gemm ? target->host : choice, "choices",
                  choices_of(search, target, choice));
    if (target->is_gemm)
        set_text(request, "gemm", choice);
    *fault = NULL;
    CLARET_TRY(claret_search_ask(search, request, &answer));
    const char *what = claret_answer_fault(answer);
    if (what && !(*fault = claret_strdup(what))) {
        json_decref(answer);
        return claret_no_memory();
    }
    if (prepared && !what)
        *prepared = json_incref(answer);
    json_decref(answer);
    return CLARET_OK;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static enum claret_status time_once(struct claret_search *search, int slot, double least, double *seconds,
                                    char **fault)
{
    json_t *answer = NULL;
    CLARET_TRY(claret_search_ask(
        search, json_pack("{s:s,s:i,s:f}", "op", "time", "slot", slot, "least", least), &answer));
    const char *what = claret_answer_fault(answer);
    *seconds = json_number_value(json_object_get(answer, "seconds"));
    if (!what && !(*seconds > 0))
        what = "took no time";
    *fault = what ? claret_strdup(what) : NULL;
    json_decref(answer);
    return what && !*fault ? claret_no_memory() : CLARET_OK;
}

enum claret_status claret_race_run(struct claret_search *search, struct claret_racer *racers, int count,
                                   int rounds, double least, int *lost, char **fault)
{
    double seconds[CLARET_RACERS][MAX_ROUNDS];
    *lost = -1;
    *fault = NULL;
    for (int round = 0; round < rounds && round < MAX_ROUNDS; round++)
        for (int i = 0; i < count; i++) {
            /* Who goes first changes from round to round. */
            int slot = (i + round) % count;
            CLARET_TRY(time_once(search, slot, least, &seconds[slot][round], fault));
            if (*fault) {
                *lost = slot;
                return CLARET_OK;
            }
        }
    for (int i = 0; i < count; i++) {
        qsort(seconds[i], (size_t)rounds, sizeof(double), by_size);
        racers[i].median = seconds[i][rounds / 2];
        racers[i].min = seconds[i][0];
        racers[i].max = seconds[i][rounds - 1];
        racers[i].runs = rounds;
    }
    return CLARET_OK;
}

bool claret_race_won(const struct claret_racer *racer, const struct claret_racer *normal)
{
    return racer->median < WIN * normal->median && racer->min < WIN * normal->min;
}
