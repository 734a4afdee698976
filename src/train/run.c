/* A run's folder: which one, whether it may be made, what is in it. */
#include "train/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "train/checkpoint.h"
#include "train/leftovers.h"
#include "train/optimizer.h"
#include "train/options.h"
#include "train/table.h"

#define RUNS "runs"
#define LOG_HEAD "epoch,step,images,loss,lr,seconds\n"

static const char weights_name[] = "weights.safetensors";
static const char log_name[] = "log.csv";
static const char config_name[] = "config.ini";

static const char validation_name[] = "validation.csv";
static const char best_name[] = "best.safetensors";

static const char *const names[] = {weights_name, log_name, config_name, validation_name, best_name};

struct claret_run {
    char *folder, *weights;
    size_t *checkpoints, checkpoint_count; /* this training's, by their steps, in order */
    struct claret_table log, validation;
    struct claret_file config;
    bool logging;   /* rows of the log may follow */
    bool replacing; /* another run's files are there: its log stays until this one is whole */
    bool waiting;   /* `config` is written, but has not got its name yet */
    bool fresh;     /* config.ini is the only whole file, and this training's */
    bool made;      /* the folder, too, was made for it */
};

/* The number after "NAME-" in a folder's name, 0 if it is another kind of name. */
static long run_number(const char *entry, const char *name)
{
    size_t length = strlen(name);
    int64_t number = 0;

    if (strncmp(entry, name, length) != 0 || entry[length] != '-' || strlen(entry + length + 1) < 3)
        return 0;
    return claret_parse_int(entry + length + 1, 1, 999999999, &number) ? (long)number : 0;
}

/* One more than the largest number in use, so that numbers tell the order of the runs. */
static long next_number(const char *name)
{
    long largest = 0;
    DIR *folder = opendir(RUNS);

    if (!folder)
        return 1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        long number = run_number(entry->d_name, name);
        if (number > largest)
            largest = number;
    }
    closedir(folder);
    return largest + 1;
}

/* Whether any of a run's files is in `folder`; *file gets its name. */
static bool holds_run(const char *folder, const char **file)
{
    size_t *numbers, count;
    bool found = claret_checkpoint_list(folder, SIZE_MAX, &numbers, &count) == CLARET_OK && count > 0;

    free(numbers);
    *file = "checkpoint-*.safetensors";
    for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++) {
        struct stat info;
        char *path = claret_path_join(folder, names[i]);
        found = path && lstat(path, &info) == 0;
        *file = names[i];
        free(path);
    }
    return found;
}

/* Whether files can be made in `folder`, or it can be made: asks the nearest folder above it that there is.
 */
static enum claret_status check_writable(const char *folder)
{
    char *path = claret_strdup(folder);
    enum claret_status status = CLARET_OK;
    struct stat info;

    if (!path)
        return claret_no_memory();
    while (stat(path, &info) != 0) {
        if (errno != ENOENT) {
            status =
                claret_fail(CLARET_IO, "the run's folder %s cannot be made: %s", folder, strerror(errno));
            goto done;
        }
        size_t length = strlen(path);
        while (length > 1 && path[length - 1] == '/')
            path[--length] = '\0';
        char *slash = strrchr(path, '/');
        if (slash && slash > path)
            *slash = '\0';
        else
            strcpy(path, slash ? "/" : ".");
    }
    if (!S_ISDIR(info.st_mode))
        status =
            claret_fail(CLARET_IO, "the run's folder %s cannot be made: %s is not a folder", folder, path);
    else if (access(path, W_OK | X_OK) != 0)
        status = claret_fail(CLARET_IO, "the run's folder %s cannot be made: %s: %s", folder, path,
                             strerror(errno));
done:
    free(path);
    return status;
}

/* What could be replaced only by a file: better said now than when training is over. */
static enum claret_status check_files(const char *folder)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct stat info;
        char *path = claret_path_join(folder, names[i]);
        bool taken = path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
        free(path);
        if (taken)
            return claret_fail(CLARET_IO, "%s/%s cannot be written: a folder of that name is there", folder,
                               names[i]);
    }
    return CLARET_OK;
}

static enum claret_status check_folder(const struct claret_options *options, const char *folder)
{
    const char *file = NULL;

    if (!options->overwrite && holds_run(folder, &file))
        return claret_fail(CLARET_INVALID,
                           "%s holds a run already (%s): choose another folder (--out), or replace its files "
                           "(--overwrite)",
                           folder, file);
    CLARET_TRY(check_files(folder));
    return check_writable(folder);
}

enum claret_status claret_run_check(const struct claret_options *options,
                                    const struct claret_network *network)
{
    claret_error_clear();
    if (!options || !network)
        return claret_fail(CLARET_INVALID, "claret_run_check: options and network must not be NULL");
    return options->out[0] ? check_folder(options, options->out) : check_writable(RUNS);
}

/* Makes runs/NAME-NNN. Another process may take a number at the same time: then the next one. */
static enum claret_status make_numbered(const char *name, char **folder)
{
    CLARET_TRY(claret_folder_make(RUNS, 0777));
    for (int tries = 0; tries < 1000; tries++) {
        struct claret_text text = {0};
        claret_text_add(&text, RUNS "/%s-%03ld", name, next_number(name));
        CLARET_TRY(claret_text_take(&text, folder));
        if (mkdir(*folder, 0777) == 0)
            return CLARET_OK;
        int cause = errno;
        enum claret_status status = CLARET_OK;
        if (cause != EEXIST)
            status =
                claret_fail(CLARET_IO, "the run's folder %s cannot be made: %s", *folder, strerror(cause));
        free(*folder);
        *folder = NULL;
        CLARET_TRY(status);
    }
    return claret_fail(CLARET_IO, "no free number for a folder in " RUNS ": name one with the option out");
}

/* One section, one option a line, as INI readers take it. Where it replaces an earlier run's, it waits until
 * that run's other files are replaced too: a training that comes to nothing leaves them with their own
 * options. What the optimizer does not take is left out. */
static enum claret_status write_options(const struct claret_options *options, struct claret_run *run)
{
    char *path = claret_path_join(run->folder, config_name);
    const char *file;

    if (!path)
        return claret_no_memory();
    enum claret_status status = claret_file_create(path, &run->config);
    free(path);
    CLARET_TRY(status);
    run->waiting = true;
    fprintf(run->config.stream, "# claret %s\n[train]\n", claret_version());
    for (size_t i = 0; claret_options_key(i); i++) {
        const char *key = claret_options_key(i), *value = claret_options_get(options, key);
        if (claret_optimizer_takes(options, key))
            fprintf(run->config.stream, "%s =%s%s\n", key, value[0] ? " " : "", value);
    }
    if (fflush(run->config.stream) != 0 || ferror(run->config.stream))
        return claret_fail(CLARET_IO, "%s cannot be written: %s", run->config.path, strerror(errno));
    if (holds_run(run->folder, &file))
        return CLARET_OK;
    run->waiting = false;
    run->fresh = true;
    return claret_file_commit(&run->config);
}

static enum claret_status write_config(const struct claret_options *options, struct claret_run *run)
{
    struct claret_options *in_force = NULL;

    CLARET_TRY(claret_options_copy(options, &in_force));
    enum claret_status status = claret_optimizer_resolve(in_force);
    if (status == CLARET_OK)
        status = write_options(in_force, run);
    claret_options_destroy(in_force);
    return status;
}

/* The tables begin with what `texts` has of them. */
static enum claret_status open_tables(struct claret_run *run, const struct claret_run_texts *texts)
{
    run->logging = true;
    CLARET_TRY(claret_table_init(&run->log, run->folder, log_name, texts->log));
    return claret_table_init(&run->validation, run->folder, validation_name, texts->validation);
}

static void remove_in(const char *folder, const char *name)
{
    char *path = claret_path_join(folder, name);
    if (path)
        unlink(path);
    free(path);
}

static void drop_files(struct claret_run *run)
{
    if (run->waiting)
        claret_file_abandon(&run->config);
    run->logging = run->waiting = false;
}

enum claret_status claret_run_create(const struct claret_options *options,
                                     const struct claret_network *network, struct claret_run **run)
{
    bool made_folder = false;
    enum claret_status status = CLARET_OK;

    claret_error_clear();
    if (!options || !network || !run)
        return claret_fail(CLARET_INVALID, "claret_run_create: no argument may be NULL");
    struct claret_run *made = calloc(1, sizeof(*made));
    if (!made)
        return claret_no_memory();
    if (options->out[0]) {
        struct stat info;
        CLARET_GOTO(failed, check_folder(options, options->out));
        made->folder = claret_strdup(options->out);
        made_folder = stat(options->out, &info) != 0;
        CLARET_GOTO(failed, made->folder ? claret_folder_make(made->folder, 0777) : claret_no_memory());
    } else {
        CLARET_GOTO(failed, make_numbered(claret_network_name(network), &made->folder));
        made_folder = true;
    }
    made->weights = claret_path_join(made->folder, weights_name);
    CLARET_GOTO(failed, made->weights ? CLARET_OK : claret_no_memory());
    made->made = made_folder;
    claret_leftovers_remove(made->folder, names, sizeof names / sizeof *names);
    CLARET_GOTO(failed, open_tables(made, &(struct claret_run_texts){LOG_HEAD, ""}));
    CLARET_GOTO(failed, write_config(options, made));
    made->replacing = made->waiting;
    *run = made;
    return CLARET_OK;
failed:
    drop_files(made);
    if (made_folder && made->folder)
        rmdir(made->folder); /* it is empty: nothing half made stays */
    claret_run_destroy(made);
    return status;
}

/* Whether it is of a training that came to nothing: no folder of it stays that would count as a run. */
static bool is_empty(const struct claret_run *run)
{
    return run->logging && run->fresh && run->checkpoint_count == 0 && run->validation.rows.size == 0 &&
           run->log.written == 0;
}

static void drop_folder(const struct claret_run *run)
{
    remove_in(run->folder, config_name);
    if (run->made)
        rmdir(run->folder); /* where nothing else is in it */
}

void claret_run_destroy(struct claret_run *run)
{
    if (!run)
        return;
    const bool empty = is_empty(run);
    if (run->logging && run->log.written)
        claret_table_write(&run->log); /* it ends by an error: what led to it may be seen there */
    drop_files(run);
    if (empty)
        drop_folder(run);
    free(run->folder);
    free(run->weights);
    free(run->checkpoints);
    claret_table_drop(&run->log);
    claret_table_drop(&run->validation);
    free(run);
}

const char *claret_run_folder(const struct claret_run *run)
{
    return run->folder;
}

const char *claret_run_weights(const struct claret_run *run)
{
    return run->weights;
}

enum claret_status claret_run_log(struct claret_run *run, int epoch, size_t step, size_t images, double loss,
                                  double lr, double seconds)
{
    if (!run->logging)
        return claret_fail(CLARET_INTERNAL, "claret_run_log: the log of %s is closed", run->folder);
    claret_text_add(&run->log.rows, "%d,%zu,%zu,%.9g,%.9g,%.3f\n", epoch, step, images, loss, lr, seconds);
    return run->log.rows.failed ? claret_no_memory() : CLARET_OK;
}

/* What a write of the log came to. On a full disk the weights may find their place without it. */
static enum claret_status log_written(struct claret_run *run, enum claret_status status)
{
    if (status == CLARET_OK)
        return status;
    if (run->log.written)
        unlink(run->log.path);
    drop_files(run);
    return status;
}

enum claret_status claret_run_end_epoch(struct claret_run *run)
{
    return run->replacing ? CLARET_OK : log_written(run, claret_table_renew(&run->log));
}

const char *claret_run_rows(const struct claret_run *run)
{
    return claret_table_text(&run->log);
}

/* ---- checkpoints ---- */

static bool is_kept(const struct claret_run *run, size_t number)
{
    for (size_t i = 0; i < run->checkpoint_count; i++)
        if (run->checkpoints[i] == number)
            return true;
    return false;
}

/* What an earlier training kept on its way, or is newer than the checkpoint that this one went on from. */
static void remove_others(const struct claret_run *run)
{
    size_t *numbers, count;
    if (claret_checkpoint_list(run->folder, SIZE_MAX, &numbers, &count) != CLARET_OK)
        claret_error_clear(); /* too many stay */
    for (size_t i = 0; i < count; i++) {
        char *path = is_kept(run, numbers[i]) ? NULL : claret_checkpoint_path(run->folder, numbers[i]);
        if (path)
            unlink(path);
        free(path);
    }
    free(numbers);
    if (run->validation.rows.size > 0)
        return;
    remove_in(run->folder, validation_name);
    remove_in(run->folder, best_name);
}

void claret_run_keep(struct claret_run *run, size_t steps, size_t count)
{
    size_t *larger = realloc(run->checkpoints, (run->checkpoint_count + 1) * sizeof *larger);
    if (!larger)
        return; /* one too many stays */
    run->checkpoints = larger;
    if (!is_kept(run, steps))
        larger[run->checkpoint_count++] = steps;
    while (run->checkpoint_count > count)
        memmove(larger, larger + 1, --run->checkpoint_count * sizeof *larger);
    remove_others(run);
}

enum claret_status claret_run_log_test(struct claret_run *run, int epoch, size_t steps, double loss,
                                       double accuracy)
{
    struct claret_text *rows = &run->validation.rows;
    if (!rows->size)
        claret_text_add(rows, "epoch,steps,loss,accuracy\n");
    claret_text_add(rows, "%d,%zu,%.9g,%.9g\n", epoch, steps, loss, accuracy);
    return claret_table_write(&run->validation);
}

const char *claret_run_tests(const struct claret_run *run)
{
    return claret_table_text(&run->validation);
}

char *claret_run_best(const struct claret_run *run)
{
    return claret_path_join(run->folder, best_name);
}

enum claret_status claret_run_resume(const struct claret_options *options,
                                     const struct claret_checkpoint *checkpoint, struct claret_run **run)
{
    const char *folder = claret_checkpoint_folder(checkpoint);
    enum claret_status status;
    claret_error_clear();
    if (!options || !checkpoint || !run)
        return claret_fail(CLARET_INVALID, "claret_run_resume: no argument may be NULL");
    CLARET_TRY(check_writable(folder));
    struct claret_run *made = calloc(1, sizeof *made);
    if (!made)
        return claret_no_memory();
    made->folder = claret_strdup(folder);
    made->weights = claret_path_join(folder, weights_name);
    CLARET_GOTO(failed, made->folder && made->weights ? CLARET_OK : claret_no_memory());
    claret_leftovers_remove(folder, names, sizeof names / sizeof *names);
    CLARET_GOTO(failed, claret_checkpoint_list(folder, claret_checkpoint_steps(checkpoint),
                                               &made->checkpoints, &made->checkpoint_count));
    const struct claret_run_texts texts = claret_checkpoint_texts(checkpoint);
    CLARET_GOTO(failed, open_tables(made, &texts));
    CLARET_GOTO(failed, claret_table_write(&made->log));
    CLARET_GOTO(failed, claret_table_write(&made->validation));
    CLARET_GOTO(failed, write_config(options, made));
    *run = made;
    return CLARET_OK;
failed:
    claret_run_destroy(made);
    return status;
}

enum claret_status claret_run_finish(struct claret_run *run)
{
    if (!run->logging)
        return CLARET_OK;
    remove_others(run);
    enum claret_status status = log_written(run, claret_table_write(&run->log));
    run->logging = false;
    CLARET_TRY(status);
    if (!run->waiting)
        return CLARET_OK;
    run->waiting = false;
    return claret_file_commit(&run->config);
}
