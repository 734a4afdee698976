#include "train/checkpoint.h"
#include "train/optimizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/hash.h"
#include "base/text.h"
#include "train/schedule.h"
#include "train/weights.h"

#define FORMAT 1

struct claret_checkpoint {
    char *path, *folder;
    char *passed; /* files that are newer and broken, a line each with the reason; NULL: none */
    json_t *root; /* the metadata */
    struct claret_weights_list tensors;
};

/* ---- the digest ---- */

/* Of the metadata's text and of each tensor. */
static enum claret_status make_digest(const char *note, const struct claret_weight *tensors, int count,
                                      char hex[65])
{
    struct claret_text text = {0};
    claret_text_add(&text, "%s\n", note);
    for (int i = 0; i < count; i++) {
        claret_sha256(tensors[i].values, (size_t)claret_shape_count(&tensors[i].shape) * sizeof(float), hex);
        claret_text_add(&text, "%s %s\n", tensors[i].name, hex);
    }
    enum claret_status status = text.failed ? claret_no_memory() : CLARET_OK;
    if (status == CLARET_OK)
        claret_sha256(text.data, text.size, hex);
    claret_text_drop(&text);
    return status;
}

/* ---- saving ---- */

static json_t *options_json(const struct claret_options *options)
{
    json_t *object = json_object();
    for (size_t i = 0; claret_options_key(i); i++)
        if (claret_optimizer_takes(options, claret_options_key(i)))
            json_object_set_new(object, claret_options_key(i),
                                json_string(claret_options_get(options, claret_options_key(i))));
    return object;
}

static json_t *words_json(const uint32_t *words)
{
    json_t *array = json_array();
    for (int i = 0; i < CLARET_STEP_WORDS; i++)
        json_array_append_new(array, json_integer((json_int_t)words[i]));
    return array;
}

static json_t *validated_json(const struct claret_validated *state)
{
    return json_pack("{s:b,s:b,s:f,s:I,s:f,s:f,s:I}", "any", state->any, "due", state->due, "best",
                     state->best, "since", (json_int_t)state->since, "scale", state->scale, "plateau_best",
                     state->plateau_best, "plateau_bad", (json_int_t)state->plateau_bad);
}

static json_t *progress_json(const struct claret_progress *progress)
{
    return json_pack("{s:I,s:I,s:I,s:f,s:f,s:f,s:I,s:I,s:f,s:b,s:o?}", "steps", (json_int_t)progress->steps,
                     "images", (json_int_t)progress->images, "updates", (json_int_t)progress->updates,
                     "seconds", progress->seconds, "epoch_seconds", progress->epoch_seconds, "epoch_loss",
                     progress->epoch_loss, "epoch_steps", (json_int_t)progress->epoch_steps, "epoch_images",
                     (json_int_t)progress->epoch_images, "lr", progress->lr, "reset_loss",
                     progress->reset_loss, "validated", validated_json(&progress->validated));
}

static enum claret_status make_note(struct claret_session *session, const struct claret_progress *progress,
                                    const struct claret_run_texts *texts, char **note)
{
    uint32_t words[CLARET_STEP_WORDS];
    CLARET_TRY(claret_session_words(session, words));
    json_t *root = json_pack("{s:i,s:s,s:o?,s:s,s:s,s:o?,s:o?,s:s,s:s,s:I,s:I,s:I,s:I,s:I}", "format", FORMAT,
                             "claret", claret_version(), "options", options_json(session->options), "network",
                             session->network->text, "name", session->network->spec->file, "progress",
                             progress_json(progress), "words", words_json(words), "log", texts->log,
                             "validation", texts->validation, "steps", (json_int_t)session->steps, "updates",
                             (json_int_t)session->updates, "epochs", (json_int_t)session->epochs, "images",
                             (json_int_t)session->images, "train_images", (json_int_t)progress->train_images);
    *note = root ? json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(root);
    return *note ? CLARET_OK : claret_no_memory();
}

enum claret_status claret_checkpoint_save(struct claret_session *session,
                                          const struct claret_progress *progress,
                                          const struct claret_run_texts *texts, const char *path)
{
    struct claret_weights_list tensors = {0};
    char *note = NULL, digest[65];
    enum claret_status status;
    CLARET_GOTO(end, claret_session_keep(session, &tensors));
    CLARET_GOTO(end, make_note(session, progress, texts, &note));
    claret_weights_sort(&tensors);
    CLARET_GOTO(end, make_digest(note, tensors.list, tensors.count, digest));
    const char *const notes[] = {"claret.checkpoint", note, "claret.sha256", digest, NULL};
    CLARET_GOTO(end, claret_weights_save_noted(path, tensors.list, tensors.count, notes, NULL));
end:
    claret_weights_list_free(&tensors);
    free(note);
    return status;
}

/* ---- reading ---- */

static enum claret_status broken(const char *path, const char *what)
{
    return claret_fail(CLARET_FORMAT, "%s: the checkpoint is broken: %s", path, what);
}

static enum claret_status check_root(const struct claret_checkpoint *checkpoint)
{
    static const char *const objects[] = {"options", "progress"}, *const texts[] = {"network", "name", "log",
                                                                                    "validation"};
    json_int_t format = json_integer_value(json_object_get(checkpoint->root, "format"));
    if (format != FORMAT)
        return claret_fail(CLARET_FORMAT,
                           "%s: a checkpoint of format %" JSON_INTEGER_FORMAT
                           ", this claret (%s) reads format %d: take the claret that wrote it",
                           checkpoint->path, format, claret_version(), FORMAT);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (!json_is_object(json_object_get(checkpoint->root, objects[i])))
            return broken(checkpoint->path, objects[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!json_is_string(json_object_get(checkpoint->root, texts[i])))
            return broken(checkpoint->path, texts[i]);
    if (json_array_size(json_object_get(checkpoint->root, "words")) != CLARET_STEP_WORDS)
        return broken(checkpoint->path, "words");
    return CLARET_OK;
}

static enum claret_status read_file(struct claret_checkpoint *checkpoint)
{
    char *note = NULL, *digest = NULL, made[65];
    enum claret_status status;
    const struct claret_weights_note notes[] = {
        {"claret.checkpoint", &note}, {"claret.sha256", &digest}, {NULL, NULL}};
    CLARET_GOTO(end, claret_weights_load_all(checkpoint->path, notes, &checkpoint->tensors));
    if (!note || !digest) {
        status =
            claret_fail(CLARET_FORMAT, "%s: weights, but no checkpoint: to start from them there is --init",
                        checkpoint->path);
        goto end;
    }
    CLARET_GOTO(end, make_digest(note, checkpoint->tensors.list, checkpoint->tensors.count, made));
    if (strcmp(made, digest) != 0) {
        status = broken(checkpoint->path, "its digest is another");
        goto end;
    }
    checkpoint->root = json_loads(note, JSON_REJECT_DUPLICATES, NULL);
    CLARET_GOTO(end, check_root(checkpoint));
end:
    free(note);
    free(digest);
    return status;
}

static void drop_file(struct claret_checkpoint *checkpoint)
{
    json_decref(checkpoint->root);
    checkpoint->root = NULL;
    claret_weights_list_free(&checkpoint->tensors);
    free(checkpoint->path);
    checkpoint->path = NULL;
}

/* The newest whole one. */
static enum claret_status open_newest(struct claret_checkpoint *checkpoint)
{
    struct claret_text passed = {0};
    size_t *numbers, count;
    enum claret_status status = claret_checkpoint_list(checkpoint->folder, SIZE_MAX, &numbers, &count);
    bool found = false;
    for (size_t i = count; status == CLARET_OK && !found && i-- > 0;) {
        checkpoint->path = claret_checkpoint_path(checkpoint->folder, numbers[i]);
        if (!checkpoint->path) {
            status = claret_no_memory();
            break;
        }
        found = read_file(checkpoint) == CLARET_OK;
        if (!found) {
            claret_text_add(&passed, "%s%s", passed.size ? "\n" : "", claret_error());
            claret_error_clear();
            drop_file(checkpoint);
        }
    }
    free(numbers);
    if (status == CLARET_OK && !found)
        status = count ? claret_fail(CLARET_NOT_FOUND, "%s holds no whole checkpoint:\n%s",
                                     checkpoint->folder, passed.failed ? "" : passed.data)
                       : claret_checkpoint_none(checkpoint->folder);
    if (status == CLARET_OK && passed.size)
        status = claret_text_take(&passed, &checkpoint->passed);
    claret_text_drop(&passed);
    return status;
}

static enum claret_status open_file(const char *path, struct claret_checkpoint *checkpoint)
{
    const char *slash = strrchr(path, '/');
    checkpoint->path = claret_strdup(path);
    checkpoint->folder = claret_strdup(slash ? path : ".");
    if (!checkpoint->path || !checkpoint->folder)
        return claret_no_memory();
    if (slash)
        checkpoint->folder[slash == path ? 1 : slash - path] = '\0';
    return read_file(checkpoint);
}

enum claret_status claret_checkpoint_open(const char *path, struct claret_checkpoint **result)
{
    struct stat info;
    claret_error_clear();
    if (!path || !result)
        return claret_fail(CLARET_INVALID, "claret_checkpoint_open: an argument is NULL");
    struct claret_checkpoint *made = calloc(1, sizeof *made);
    if (!made)
        return claret_no_memory();
    enum claret_status status;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        made->folder = claret_strdup(path);
        status = made->folder ? open_newest(made) : claret_no_memory();
    } else {
        status = open_file(path, made);
    }
    if (status == CLARET_OK)
        *result = made;
    else
        claret_checkpoint_destroy(made);
    return status;
}

void claret_checkpoint_destroy(struct claret_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    drop_file(checkpoint);
    free(checkpoint->folder);
    free(checkpoint->passed);
    free(checkpoint);
}

/* ---- what it says ---- */

static const char *text_of(const struct claret_checkpoint *checkpoint, const char *key)
{
    return json_string_value(json_object_get(checkpoint->root, key));
}

const char *claret_checkpoint_file(const struct claret_checkpoint *checkpoint)
{
    return checkpoint->path;
}

const char *claret_checkpoint_passed(const struct claret_checkpoint *checkpoint)
{
    return checkpoint->passed;
}

const char *claret_checkpoint_folder(const struct claret_checkpoint *checkpoint)
{
    return checkpoint->folder;
}

struct claret_run_texts claret_checkpoint_texts(const struct claret_checkpoint *checkpoint)
{
    return (struct claret_run_texts){text_of(checkpoint, "log"), text_of(checkpoint, "validation")};
}

size_t claret_checkpoint_steps(const struct claret_checkpoint *checkpoint)
{
    return (size_t)json_integer_value(
        json_object_get(json_object_get(checkpoint->root, "progress"), "steps"));
}

enum claret_status claret_checkpoint_network(const struct claret_checkpoint *checkpoint,
                                             struct claret_network **network)
{
    return claret_network_parse(text_of(checkpoint, "network"), text_of(checkpoint, "name"), network);
}

enum claret_status claret_checkpoint_options(const struct claret_checkpoint *checkpoint,
                                             struct claret_options *options)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(checkpoint->root, "options"), key, value)
    {
        if (!json_is_string(value))
            return broken(checkpoint->path, key);
        CLARET_TRY(claret_options_set(options, key, json_string_value(value)));
    }
    CLARET_TRY(claret_options_set(options, "init", "")); /* that is long past */
    CLARET_TRY(claret_options_set(options, "reset", ""));
    return claret_options_set(options, "out", checkpoint->folder);
}

/* What says which step comes next and what it does. */
static const char *const fixed[] = {"model",       "accumulate",   "batch-size",    "seed",   "no-shuffle",
                                    "limit-train", "val-fraction", "coarse-labels", "freeze", NULL};

enum claret_status claret_checkpoint_check(const struct claret_checkpoint *checkpoint,
                                           const struct claret_options *options)
{
    const json_t *kept = json_object_get(checkpoint->root, "options");
    for (int i = 0; fixed[i]; i++) {
        const char *was = json_string_value(json_object_get(kept, fixed[i]));
        const char *is = claret_options_get(options, fixed[i]);
        if (was && strcmp(was, is) != 0)
            return claret_fail(CLARET_INVALID,
                               "--%s is '%s' in %s, and cannot become '%s': a training goes on as it was "
                               "begun; for another one there is --init",
                               fixed[i], was, checkpoint->path, is);
    }
    if (strcmp(claret_options_get(options, "out"), checkpoint->folder) != 0)
        return claret_fail(CLARET_INVALID, "--out: a resumed training goes on in its own folder, %s",
                           checkpoint->folder);
    return CLARET_OK;
}

/* ---- into a session ---- */

static size_t size_at(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (size_t)value : 0;
}

/* Of checkpoints that were written before updates were counted apart. */
static size_t updates_at(const json_t *object)
{
    return size_at(object, json_object_get(object, "updates") ? "updates" : "steps");
}

static void set_validated(const json_t *from, struct claret_validated *state)
{
    *state = (struct claret_validated){
        .any = json_is_true(json_object_get(from, "any")),
        .due = json_is_true(json_object_get(from, "due")),
        .best = json_number_value(json_object_get(from, "best")),
        .since = size_at(from, "since"),
        .scale = json_number_value(json_object_get(from, "scale")),
        .plateau_best = json_number_value(json_object_get(from, "plateau_best")),
        .plateau_bad = size_at(from, "plateau_bad"),
    };
}

static void set_progress(const struct claret_checkpoint *checkpoint, struct claret_session *session)
{
    const json_t *from = json_object_get(checkpoint->root, "progress");
    session->progress = (struct claret_progress){
        .steps = size_at(from, "steps"),
        .images = size_at(from, "images"),
        .updates = updates_at(from),
        .seconds = json_number_value(json_object_get(from, "seconds")),
        .epoch_seconds = json_number_value(json_object_get(from, "epoch_seconds")),
        .epoch_loss = json_number_value(json_object_get(from, "epoch_loss")),
        .epoch_steps = size_at(from, "epoch_steps"),
        .epoch_images = size_at(from, "epoch_images"),
        .lr = json_number_value(json_object_get(from, "lr")),
        .reset_loss = json_is_true(json_object_get(from, "reset_loss")),
        .train_images = size_at(checkpoint->root, "train_images"),
    };
    set_validated(json_object_get(from, "validated"), &session->progress.validated);
    session->steps = size_at(checkpoint->root, "steps");
    session->epochs = size_at(checkpoint->root, "epochs");
    session->images = size_at(checkpoint->root, "images");
    session->seconds = session->progress.seconds;
    session->updates = updates_at(checkpoint->root);
    session->stepped = session->updates > 0;
}

/* A training cannot be made shorter than it is. */
static enum claret_status check_length(const struct claret_options *options,
                                       const struct claret_progress *progress)
{
    size_t steps = progress->steps;
    size_t stands_in = claret_schedule_epoch(options, steps, progress->train_images);
    if (options->max_steps && steps > (size_t)options->max_steps)
        return claret_fail(CLARET_INVALID,
                           "--max-steps %zu: the training that goes on has done %zu steps: give more",
                           (size_t)options->max_steps, steps);
    if (stands_in > (size_t)options->epochs)
        return claret_fail(CLARET_INVALID,
                           "--epochs %zu: the training that goes on stands in epoch %zu: give more",
                           (size_t)options->epochs, stands_in);
    if (claret_schedule_lasting(options, steps, progress->train_images) != steps &&
        claret_schedule_steps(options, progress->train_images) > steps)
        return claret_fail(CLARET_INVALID,
                           "--max-steps: the last update, at step %zu, is of fewer batches than --accumulate "
                           "%zu, for the training ended there: it cannot go on from this checkpoint",
                           steps, (size_t)options->accumulate);
    return CLARET_OK;
}

enum claret_status claret_session_resume(struct claret_session *session,
                                         const struct claret_checkpoint *checkpoint)
{
    uint32_t words[CLARET_STEP_WORDS];
    claret_error_clear();
    if (!session || !checkpoint)
        return claret_fail(CLARET_INVALID, "claret_session_resume: an argument is NULL");
    if (!session->train.exec)
        return claret_fail(CLARET_INVALID, "this session was made for evaluation, it cannot train");
    CLARET_TRY(claret_session_restore(session, checkpoint->path, &checkpoint->tensors));
    for (size_t i = 0; i < CLARET_STEP_WORDS; i++)
        words[i] =
            (uint32_t)json_integer_value(json_array_get(json_object_get(checkpoint->root, "words"), i));
    CLARET_TRY(claret_session_set_words(session, words));
    set_progress(checkpoint, session);
    CLARET_TRY(check_length(session->options, &session->progress));
    session->swapped = session->stepped && session->train.graph->ema >= 0; /* as it was kept */
    return claret_session_swap_ema(session);
}
