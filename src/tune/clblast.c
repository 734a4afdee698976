/* The search for CLBlast's own parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/gemms.h"
#include "tune/trials.h"

#define BETTER 0.97

/* *seconds: of all GEMMs; INFINITY where these parameters do not work, which is said. */
static enum claret_status measure(struct claret_search *search, const json_t *parameters, double *seconds)
{
    json_t *answer = NULL;
    CLARET_TRY(
        claret_search_ask(search, json_pack("{s:s,s:O}", "op", "gemms", "parameters", parameters), &answer));
    const char *fault = claret_answer_fault(answer);
    *seconds = fault ? INFINITY : json_number_value(json_object_get(answer, "seconds"));
    if (fault)
        claret_search_say(search, false, "CLBlast: %s", fault);
    json_decref(answer);
    return CLARET_OK;
}

/* The sets of both kernels, each on top of the best so far. */
static enum claret_status try_sets(struct claret_search *search, json_t *best, double *best_seconds)
{
    const char *kernel;
    json_t *values;
    for (int i = 0; !claret_search_late(search, search->end) && (values = claret_gemms_set(i, &kernel));
         i++) {
        json_t *tried = json_copy(best);
        char *text = json_dumps(values, JSON_COMPACT);
        double seconds = INFINITY;
        json_object_set_new(tried, kernel, values);
        enum claret_status status = text ? claret_trying_begin(search, "clblast", text) : claret_no_memory();
        if (status == CLARET_OK)
            status = measure(search, tried, &seconds);
        claret_trying_end(search);
        search->result->candidates++;
        search->result->faults += isinf(seconds) != 0;
        claret_search_say(search, true, "CLBlast's %s, set %d: %.1f us (best: %.1f us)", kernel, i + 1,
                          1e6 * seconds, 1e6 * *best_seconds);
        if (status == CLARET_OK && seconds < BETTER * *best_seconds) {
            *best_seconds = seconds;
            json_object_set(best, kernel, json_object_get(tried, kernel));
        }
        json_decref(tried);
        free(text);
        CLARET_TRY(status);
    }
    return CLARET_OK;
}

enum claret_status claret_search_clblast(struct claret_search *search)
{
    json_t *best = json_object(), *none = json_object();
    double before = INFINITY, after = INFINITY, again = INFINITY;
    enum claret_status status = best && none ? CLARET_OK : claret_no_memory();
    if (status == CLARET_OK)
        status = measure(search, none, &before);
    after = before;
    if (status == CLARET_OK && !isinf(before))
        status = try_sets(search, best, &after);
    /* Both once more, each in a process of its own, for what is in force stays in force. */
    if (status == CLARET_OK && json_object_size(best)) {
        claret_worker_end(&search->worker);
        status = measure(search, none, &before);
        claret_worker_end(&search->worker);
        if (status == CLARET_OK)
            status = measure(search, best, &again);
    }
    if (status == CLARET_OK && again < BETTER * before) {
        json_object_set_new(search->records.root, "clblast",
                            json_pack("{s:O,s:s,s:f,s:f}", "parameters", best, "driver",
                                      search->device.driver, "seconds", again, "default_seconds", before));
        status = claret_records_save(&search->records);
        claret_search_say(search, false,
                          "CLBlast: %.2f times as fast with other parameters (%.1f us of GEMMs, %.1f us)",
                          before / again, 1e6 * again, 1e6 * before);
    } else if (status == CLARET_OK) {
        claret_search_say(search, false, "CLBlast: its own parameters stay");
    }
    json_decref(best);
    json_decref(none);
    return status;
}
