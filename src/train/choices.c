#include "train/choices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "train/engine.h"
#include "tune/gemms.h"

static int count_words(const char *text)
{
    int count = 0;
    for (const char *at = text; *(at += strspn(at, " ")); at += strcspn(at, " "))
        count++;
    return count;
}

/* Cuts the option `solver` into nodes and names. */
static enum claret_status read_forced(const struct claret_options *options, struct claret_choices *choices)
{
    choices->text = claret_strdup(options->solver);
    choices->force = calloc((size_t)count_words(options->solver) + 1, sizeof *choices->force);
    if (!choices->text || !choices->force)
        return claret_no_memory();
    for (char *at = choices->text; *(at += strspn(at, " "));) {
        char *equals = strchr(at, '='), *end = at + strcspn(at, " "); /* options.c has seen to the '=' */
        struct claret_plan_force *force = &choices->force[choices->force_count++];
        force->node = at;
        force->solver = equals + 1;
        *equals = '\0';
        at = *end ? end + 1 : end;
        *end = '\0';
    }
    return CLARET_OK;
}

enum claret_status claret_choices_path(const struct claret_options *options, struct claret_rt *rt,
                                       char **path)
{
    char *folder = NULL;
    if (options->tuning[0]) {
        *path = claret_strdup(options->tuning);
        return *path ? CLARET_OK : claret_no_memory();
    }
    *path = NULL;
    CLARET_TRY(claret_engine_cache_folder(options, &folder));
    if (folder && !(*path = claret_records_path(folder, claret_rt_device(rt)))) {
        free(folder);
        return claret_no_memory();
    }
    free(folder);
    return CLARET_OK;
}

/* CLBlast's parameters that were found for the device. */
static void override_clblast(struct claret_choices *choices)
{
    const json_t *found = json_object_get(choices->records.root, "clblast");
    if (!found || strcmp(claret_record_text(found, "driver"), claret_rt_device(choices->rt)->driver) != 0)
        return;
    if (claret_gemms_override(choices->rt, json_object_get(found, "parameters")) != CLARET_OK) {
        claret_warn("%s: %s: CLBlast's own are used", choices->records.path, claret_error());
        claret_error_clear();
    }
}

static enum claret_status read_records(const struct claret_options *options, struct claret_choices *choices)
{
    char *path = NULL;
    if (options->no_tuning)
        return CLARET_OK;
    CLARET_TRY(claret_choices_path(options, choices->rt, &path));
    enum claret_status status = CLARET_OK;
    if (path && options->tuning[0] && access(path, R_OK) != 0)
        status = claret_fail(CLARET_IO, "the tuning records %s cannot be read: %s", path, strerror(errno));
    else if (path)
        status = claret_records_open(path, claret_rt_device(choices->rt), &choices->records);
    /* In its own place a file that cannot be read costs only speed. */
    if (status == CLARET_IO && !options->tuning[0]) {
        claret_warn("%s", claret_error());
        claret_error_clear();
        status = CLARET_OK;
    }
    free(path);
    if (status == CLARET_OK && choices->records.root)
        override_clblast(choices);
    return status;
}

enum claret_status claret_choices_init(const struct claret_options *options, struct claret_rt *rt,
                                       struct claret_choices *choices)
{
    *choices = (struct claret_choices){.rt = rt};
    enum claret_status status = read_forced(options, choices);
    if (status == CLARET_OK)
        status = read_records(options, choices);
    if (status != CLARET_OK)
        claret_choices_finish(choices);
    return status;
}

void claret_choices_finish(struct claret_choices *choices)
{
    free(choices->text);
    free(choices->force);
    claret_records_close(&choices->records);
    claret_text_drop(&choices->choice);
    *choices = (struct claret_choices){.text = NULL};
}

/* claret_plan_options.record */
static const char *recorded(void *user, const char *key)
{
    struct claret_choices *choices = user;
    const json_t *record = claret_records_find(&choices->records, key);
    if (!record)
        return NULL;
    if (strcmp(claret_record_text(record, "driver"), claret_rt_device(choices->rt)->driver) != 0) {
        choices->foreign++;
        return NULL;
    }
    if (!claret_record_fresh(record, choices->rt)) {
        choices->stale++;
        return NULL;
    }
    claret_text_drop(&choices->choice);
    claret_record_choice(record, &choices->choice);
    return choices->choice.failed ? NULL : choices->choice.data;
}

void claret_choices_apply(struct claret_choices *choices, struct claret_plan_options *options)
{
    options->force = choices->force;
    options->force_count = choices->force_count;
    options->force_checked = true;
    if (choices->records.root) {
        options->record = recorded;
        options->record_user = choices;
    }
}

void claret_choices_say(struct claret_choices *choices)
{
    if (!choices->said && choices->stale + choices->foreign > 0)
        claret_info("tuning records %s are not used: they were made %s%s%s; claret-tune run makes them anew",
                    choices->records.path, choices->stale ? "of other kernels" : "",
                    choices->stale && choices->foreign ? " or " : "",
                    choices->foreign ? "with another driver" : "");
    choices->said = true;
}
