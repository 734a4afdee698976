#include "tune/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

/* ---- what was being tried ---- */

enum claret_status claret_trying_begin(struct claret_search *search, const char *problem, const char *choice)
{
    json_t *json = json_pack("{s:s,s:s}", "problem", problem, "choice", choice);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    enum claret_status status =
        text ? claret_file_write(search->trying, text, strlen(text)) : claret_no_memory();
    free(text);
    json_decref(json);
    return status;
}

void claret_trying_end(struct claret_search *search)
{
    unlink(search->trying);
}

static bool lost_before(const struct claret_search *search, const char *problem, const char *choice)
{
    const json_t *list = json_object_get(search->records.root, "lost");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *lost = json_array_get(list, i);
        if (strcmp(claret_record_text(lost, "problem"), problem) == 0 &&
            strcmp(claret_record_text(lost, "choice"), choice) == 0)
            return true;
    }
    return false;
}

enum claret_status claret_trying_recover(struct claret_search *search)
{
    json_t *lost = access(search->trying, F_OK) == 0 ? json_load_file(search->trying, 0, NULL) : NULL;
    if (lost && json_is_string(json_object_get(lost, "problem")) &&
        json_is_string(json_object_get(lost, "choice"))) {
        json_t *list = json_object_get(search->records.root, "lost");
        if (!json_is_array(list)) {
            list = json_array();
            json_object_set_new(search->records.root, "lost", list);
        }
        claret_search_say(search, false, "an earlier run ended while it tried %s: passed over from now on",
                          claret_record_text(lost, "choice"));
        json_array_append(list, lost);
        enum claret_status status = claret_records_save(&search->records);
        json_decref(lost);
        CLARET_TRY(status);
    }
    claret_trying_end(search);
    return CLARET_OK;
}

/* ---- the record ---- */

static void set_date(json_t *record)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_object_set_new(record, "date", json_string(date));
}

/* Until a race has been won the default counts. */
static json_t *new_record(const struct claret_search *search, const struct claret_target *target)
{
    json_t *record =
        json_pack("{s:s,s:s,s:{},s:{s:f,s:f,s:f},s:i,s:f,s:[],s:s,s:[],s:s,s:b,s:[]}", "problem", target->key,
                  "solver", target->normal, "parameters", "seconds", "median", 0.0, "min", 0.0, "max", 0.0,
                  "runs", 0, "default_seconds", 0.0, "verified", "driver", search->device.driver, "sources",
                  "kernel_hash", "", "complete", 0, "trials");
    if (record)
        set_date(record);
    return record;
}

/* Whether its kernels are still the same, as the worker says. */
static enum claret_status is_fresh(struct claret_search *search, const json_t *record, bool *fresh)
{
    json_t *answer = NULL;
    CLARET_TRY(claret_search_ask(
        search, json_pack("{s:s,s:O}", "op", "hash", "sources", json_object_get(record, "sources")),
        &answer));
    *fresh = strcmp(claret_record_text(answer, "hash"), claret_record_text(record, "kernel_hash")) == 0;
    json_decref(answer);
    return CLARET_OK;
}

enum claret_status claret_trials_begin(struct claret_search *search, const struct claret_target *target,
                                       struct claret_trials *trials, bool *done)
{
    json_t *record = claret_records_find(&search->records, target->key);
    bool fresh = false;
    *trials = (struct claret_trials){.search = search, .target = target};
    *done = false;
    if (record)
        CLARET_TRY(is_fresh(search, record, &fresh));
    if (fresh) {
        trials->again = strcmp(claret_record_text(record, "driver"), search->device.driver) != 0;
        *done = !trials->again && json_is_true(json_object_get(record, "complete"));
    } else {
        CLARET_TRY(claret_records_put(&search->records, new_record(search, target)));
        record = claret_records_find(&search->records, target->key);
    }
    trials->record = record;
    return CLARET_OK;
}

static void set_sources(json_t *record, const json_t *prepared)
{
    json_object_set(record, "sources", json_object_get(prepared, "sources"));
    json_object_set_new(record, "kernel_hash", json_string(claret_record_text(prepared, "hash")));
}

void claret_trials_sources(struct claret_trials *trials, const json_t *prepared)
{
    if (claret_record_text(trials->record, "kernel_hash")[0] == '\0')
        set_sources(trials->record, prepared);
}

json_t *claret_trials_find(const struct claret_trials *trials, const char *choice)
{
    const json_t *list = json_object_get(trials->record, "trials");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(claret_record_text(json_array_get(list, i), "choice"), choice) == 0)
            return json_array_get(list, i);
    return NULL;
}

static double ratio_of(const json_t *trial)
{
    return json_object_get(trial, "fault") ? INFINITY : claret_record_number(trial, "ratio");
}

double claret_trials_ratio(const struct claret_trials *trials, const char *choice)
{
    const json_t *trial = claret_trials_find(trials, choice);
    if (trial)
        return ratio_of(trial);
    return lost_before(trials->search, trials->target->key, choice) ? INFINITY : NAN;
}

const char *claret_trials_best(const struct claret_trials *trials, const char *const *except, int count,
                               double limit)
{
    const json_t *list = json_object_get(trials->record, "trials");
    const char *best = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *trial = json_array_get(list, i);
        const char *choice = claret_record_text(trial, "choice");
        bool excepted = false;
        for (int e = 0; e < count; e++)
            excepted |= strcmp(choice, except[e]) == 0;
        if (excepted || !(ratio_of(trial) < limit))
            continue;
        limit = ratio_of(trial);
        best = choice;
    }
    return best;
}

enum claret_status claret_trials_add(struct claret_trials *trials, const char *choice,
                                     const struct claret_racer *racer, double ratio, const char *fault)
{
    json_t *list = json_object_get(trials->record, "trials"), *old = claret_trials_find(trials, choice);
    json_t *trial = fault ? json_pack("{s:s,s:s}", "choice", choice, "fault", fault)
                          : json_pack("{s:s,s:f,s:f,s:i}", "choice", choice, "ratio", ratio, "seconds",
                                      racer->median, "runs", racer->runs);
    for (size_t i = 0; old && i < json_array_size(list); i++)
        if (json_array_get(list, i) == old) {
            json_array_remove(list, i);
            old = NULL;
        }
    if (!trial || json_array_append_new(list, trial))
        return claret_no_memory();
    return claret_records_save(&trials->search->records);
}

enum claret_status claret_trials_end(struct claret_trials *trials, const struct claret_racer *winner,
                                     double default_seconds, bool complete)
{
    json_t *record = trials->record;
    claret_record_set_choice(record, winner->choice);
    json_object_set_new(
        record, "seconds",
        json_pack("{s:f,s:f,s:f}", "median", winner->median, "min", winner->min, "max", winner->max));
    json_object_set_new(record, "runs", json_integer(winner->runs));
    json_object_set_new(record, "default_seconds", json_real(default_seconds));
    json_object_set(record, "verified", json_object_get(winner->prepared, "verified"));
    set_sources(record, winner->prepared);
    json_object_set_new(record, "driver", json_string(trials->search->device.driver));
    json_object_set_new(record, "complete", json_boolean(complete));
    set_date(record);
    return claret_records_save(&trials->search->records);
}
