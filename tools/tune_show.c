/* claret-tune list, show, export, clear: the records that are there. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "train/engine.h"
#include "tune/records.h"
#include "tune_flags.h"

#define MAX_FILES 256

struct saved {
    const struct tool_args *args;
    char *paths[MAX_FILES];
    int count;
    struct claret_records records; /* the file that is being looked at */
    json_t *root;                  /* the same, for the device's texts */
    struct claret_device_desc device;
    struct claret_rt *rt; /* knows the kernels, has no device */
};

static int failed(void)
{
    cli_error("%s", claret_error());
    return CLI_FAILED;
}

/* ---- files ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum claret_status find_files(struct saved *saved)
{
    const struct claret_options *options = saved->args->options;
    char *folder = NULL, *tuning = NULL;
    enum claret_status status = CLARET_OK;
    if (options->tuning[0]) {
        saved->paths[saved->count++] = claret_strdup(options->tuning);
        return saved->paths[0] ? CLARET_OK : claret_no_memory();
    }
    CLARET_TRY(claret_engine_cache_folder(options, &folder));
    tuning = folder ? claret_path_join(folder, "tuning") : NULL;
    DIR *open = tuning ? opendir(tuning) : NULL;
    for (struct dirent *entry; open && saved->count < MAX_FILES && (entry = readdir(open));) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".json") != 0)
            continue;
        if (!(saved->paths[saved->count] = claret_path_join(tuning, entry->d_name)))
            status = claret_no_memory();
        else
            saved->count++;
    }
    if (open)
        closedir(open);
    free(tuning);
    free(folder);
    qsort(saved->paths, (size_t)saved->count, sizeof *saved->paths, by_name);
    return status;
}

static bool has_part(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return length == 0;
}

/* The file's own device is the one it is checked against. false: it is another's than --device says, or
 * broken, which is said. */
static bool open_file(struct saved *saved, int index)
{
    json_decref(saved->root);
    saved->root = json_load_file(saved->paths[index], JSON_REJECT_DUPLICATES, NULL);
    const json_t *device = json_object_get(saved->root, "device");
    const char *wanted = saved->args->value[TUNE_FLAG_DEVICE] ? saved->args->value[TUNE_FLAG_DEVICE] : "";
    claret_device_desc_default(&saved->device);
    saved->device.name = claret_record_text(device, "name");
    saved->device.vendor = claret_record_text(device, "vendor");
    saved->device.platform = claret_record_text(device, "platform");
    bool fine = !device || has_part(saved->device.name, wanted);
    if (fine && claret_records_open(saved->paths[index], &saved->device, &saved->records) != CLARET_OK) {
        cli_error("%s", claret_error());
        claret_error_clear();
        fine = false;
    } else if (fine && saved->records.refused) {
        claret_records_close(&saved->records);
        fine = false;
    }
    return fine;
}

/* ---- what is in one ---- */

static const json_t *records_of(const struct saved *saved)
{
    return json_object_get(saved->records.root, "records");
}

static void print_record(const struct saved *saved, const json_t *record)
{
    struct claret_text choice = {0};
    double seconds = claret_record_number(json_object_get(record, "seconds"), "median");
    double normal = claret_record_number(record, "default_seconds");
    claret_record_choice(record, &choice);
    cli_out("  %s\n    %s", claret_record_text(record, "problem"), choice.failed ? "" : choice.data);
    /* Where the default itself won, the two are one time. */
    if (seconds > 0 && seconds < normal)
        cli_out(": %.1f us, %.2f times as fast as the default beside it", 1e6 * seconds, normal / seconds);
    else if (seconds > 0)
        cli_out(": %.1f us, the default: nothing was faster", 1e6 * seconds);
    cli_out("%s%s, %s, driver %s\n",
            json_is_true(json_object_get(record, "complete")) ? "" : ", search not ended",
            claret_record_fresh(record, saved->rt) ? "" : ", not used: the kernels have changed since",
            claret_record_text(record, "date"), claret_record_text(record, "driver"));
    claret_text_drop(&choice);
}

static int by_ratio(const void *a, const void *b)
{
    const json_t *left = *(const json_t *const *)a, *right = *(const json_t *const *)b;
    double l = json_object_get(left, "fault") ? 1e9 : claret_record_number(left, "ratio");
    double r = json_object_get(right, "fault") ? 1e9 : claret_record_number(right, "ratio");
    return l < r ? -1 : l > r;
}

static void print_trials(const json_t *record)
{
    const json_t *list = json_object_get(record, "trials");
    size_t count = json_array_size(list);
    const json_t **sorted = calloc(count + 1, sizeof *sorted);
    struct claret_text choice = {0};
    claret_record_choice(record, &choice);
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = json_array_get(list, i);
    if (sorted && count)
        qsort(sorted, count, sizeof *sorted, by_ratio);
    /* Their seconds are of moments that have nothing to do with each other; the ratios can be compared. */
    if (count)
        cli_out(
            "      each in turn with the default, at its own time; the best again in the finals above:\n");
    for (size_t i = 0; sorted && i < count; i++) {
        const char *name = claret_record_text(sorted[i], "choice");
        double ratio = claret_record_number(sorted[i], "ratio");
        bool won = !choice.failed && strcmp(name, choice.data) == 0;
        if (json_object_get(sorted[i], "fault"))
            cli_out("      out   %s: %s\n", name, claret_record_text(sorted[i], "fault"));
        else
            cli_out("      %s  %s: %.2f of the default's time%s\n", won ? "won " : "lost", name, ratio,
                    won            ? ""
                    : ratio < 0.98 ? ", in the finals no longer ahead"
                                   : ", not faster");
    }
    free(sorted);
    claret_text_drop(&choice);
}

static void print_file(const struct saved *saved, const char *path)
{
    const char *part = saved->args->operands ? saved->args->operand[0] : "";
    cli_out("%s (%s)\n  %s\n", saved->device.name, saved->device.platform, path);
    for (size_t i = 0; i < json_array_size(records_of(saved)); i++) {
        const json_t *record = json_array_get(records_of(saved), i);
        if (!has_part(claret_record_text(record, "problem"), part))
            continue;
        print_record(saved, record);
        if (saved->args->command == TUNE_SHOW) {
            const json_t *verified = json_object_get(record, "verified");
            for (size_t v = 0; v < json_array_size(verified); v++)
                cli_out("      right at %s\n", json_string_value(json_array_get(verified, v)));
            print_trials(record);
        }
    }
}

/* ---- commands ---- */

static int export_file(const struct saved *saved)
{
    const char *path = saved->args->operands ? saved->args->operand[0] : NULL;
    char *text = json_dumps(saved->records.root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    int code = text ? CLI_DONE : CLI_FAILED;
    if (text && !path)
        cli_out("%s\n", text);
    else if (text && claret_file_write(path, text, strlen(text)) != CLARET_OK)
        code = failed();
    free(text);
    return code;
}

static int clear_file(const struct saved *saved, const char *path)
{
    if (unlink(path) != 0) {
        cli_error("%s cannot be removed", path);
        return CLI_FAILED;
    }
    cli_out("removed the records of %s\n", saved->device.name);
    return CLI_DONE;
}

static int count_files(struct saved *saved)
{
    int count = 0;
    for (int i = 0; i < saved->count; i++)
        if (open_file(saved, i)) {
            claret_records_close(&saved->records);
            count++;
        }
    return count;
}

static int look_at_all(struct saved *saved)
{
    int code = CLI_DONE, found = 0;
    if (saved->args->command == TUNE_EXPORT && count_files(saved) > 1) {
        cli_error("there are records of several devices: --device says of which (claret-tune list)");
        return CLI_USAGE;
    }
    for (int i = 0; i < saved->count; i++) {
        if (!open_file(saved, i))
            continue;
        found++;
        if (saved->args->command == TUNE_EXPORT) {
            code = export_file(saved);
        } else if (saved->args->command == TUNE_CLEAR) {
            code = clear_file(saved, saved->paths[i]);
        } else {
            print_file(saved, saved->paths[i]);
        }
        claret_records_close(&saved->records);
    }
    if (!found && (saved->args->command == TUNE_EXPORT || saved->args->value[TUNE_FLAG_DEVICE])) {
        cli_error("there are no such tuning records");
        return CLI_FAILED;
    }
    if (!found)
        cli_note("there are no tuning records; claret-tune run makes them");
    return code;
}

int tune_saved(const struct tool_args *args)
{
    struct saved saved = {.args = args};
    claret_device_desc_default(&saved.device);
    int code = CLI_DONE;
    if (find_files(&saved) != CLARET_OK || claret_rt_open_null(&saved.device, &saved.rt) != CLARET_OK)
        code = failed();
    else
        code = look_at_all(&saved);
    for (int i = 0; i < saved.count; i++)
        free(saved.paths[i]);
    claret_rt_close(saved.rt);
    json_decref(saved.root);
    return code;
}
