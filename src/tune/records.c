#include "tune/records.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#define FORMAT 1
#define MAX_SOURCES 64
#define LIMIT ((size_t)64 << 20) /* bytes of a file */

char *claret_records_path(const char *cache_folder, const struct claret_device_desc *device)
{
    struct claret_text name = {0}, all = {0};
    char hex[65], *path;
    claret_text_add(&all, "%s\n%s\n%s", device->name, device->vendor, device->platform);
    if (all.failed)
        return NULL;
    claret_sha256(all.data, all.size, hex);
    claret_text_drop(&all);
    claret_text_add(&name, "tuning/");
    for (const char *at = device->name; *at && name.size < 60; at++)
        claret_text_add(&name, "%c", isalnum((unsigned char)*at) && *at > 0 ? *at : '-');
    claret_text_add(&name, "-%.8s.json", hex);
    path = name.failed ? NULL : claret_path_join(cache_folder, name.data);
    claret_text_drop(&name);
    return path;
}

/* ---- what a file has to look like ---- */

static bool all_texts(const json_t *array)
{
    size_t i;
    json_t *value;
    json_array_foreach(array, i, value) if (!json_is_string(value)) return false;
    return json_is_array(array);
}

static const char *check_trial(const json_t *trial)
{
    bool timed = json_is_number(json_object_get(trial, "ratio")) &&
                 json_is_number(json_object_get(trial, "seconds")) &&
                 json_is_integer(json_object_get(trial, "runs"));
    bool faulty = json_is_string(json_object_get(trial, "fault"));
    return json_is_string(json_object_get(trial, "choice")) && (timed || faulty) ? NULL : "trials";
}

/* The key that is missing or wrong; NULL: none. */
static const char *check_record(json_t *record)
{
    static const char *const texts[] = {"problem", "solver", "driver", "kernel_hash", "date"};
    static const char *const spread[] = {"median", "min", "max"};
    const json_t *seconds = json_object_get(record, "seconds");
    const json_t *trials = json_object_get(record, "trials");
    json_t *value;
    const char *key;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!json_is_string(json_object_get(record, texts[i])))
            return texts[i];
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++)
        if (!json_is_number(json_object_get(seconds, spread[i])))
            return "seconds";
    if (!json_is_integer(json_object_get(record, "runs")))
        return "runs";
    if (!json_is_number(json_object_get(record, "default_seconds")))
        return "default_seconds";
    if (!json_is_boolean(json_object_get(record, "complete")))
        return "complete";
    if (!all_texts(json_object_get(record, "verified")))
        return "verified";
    if (!all_texts(json_object_get(record, "sources")))
        return "sources";
    if (!json_is_object(json_object_get(record, "parameters")))
        return "parameters";
    json_object_foreach(json_object_get(record, "parameters"), key,
                        value) if (!json_is_integer(value)) return "parameters";
    for (size_t i = 0; i < json_array_size(trials); i++)
        if (check_trial(json_array_get(trials, i)))
            return "trials";
    return json_is_array(trials) ? NULL : "trials";
}

static bool same_device(const json_t *root, const struct claret_device_desc *device)
{
    const json_t *of = json_object_get(root, "device");
    const char *name = json_string_value(json_object_get(of, "name"));
    const char *vendor = json_string_value(json_object_get(of, "vendor"));
    const char *platform = json_string_value(json_object_get(of, "platform"));
    return name && vendor && platform && strcmp(name, device->name) == 0 &&
           strcmp(vendor, device->vendor) == 0 && strcmp(platform, device->platform) == 0;
}

/* Warns and returns false where the file is not to be used. */
static bool check_file(const char *path, json_t *root, const struct claret_device_desc *device)
{
    const json_t *records = json_object_get(root, "records");
    const char *wrong = NULL;
    if (!json_is_object(root) || !json_is_array(records) ||
        json_integer_value(json_object_get(root, "format")) != FORMAT) {
        claret_warn("%s holds no tuning records of this version: it is not used", path);
        return false;
    }
    if (!same_device(root, device)) {
        claret_warn("%s holds the tuning records of another device than %s: it is not used", path,
                    device->name);
        return false;
    }
    for (size_t i = 0; !wrong && i < json_array_size(records); i++) {
        wrong = check_record(json_array_get(records, i));
        if (wrong)
            claret_warn("%s: record %zu has no right \"%s\": the file is not used", path, i + 1, wrong);
    }
    return !wrong;
}

/* ---- reading and writing ---- */

static json_t *empty(const struct claret_device_desc *device)
{
    return json_pack("{s:i,s:{s:s%,s:s%,s:I,s:s%},s:[]}", "format", FORMAT, "device", "name", device->name,
                     strlen(device->name), "vendor", device->vendor, strlen(device->vendor), "vendor_id",
                     (json_int_t)device->vendor_id, "platform", device->platform, strlen(device->platform),
                     "records");
}

static enum claret_status read_file(struct claret_records *records, const struct claret_device_desc *device)
{
    char *data = NULL;
    size_t size = 0;
    json_error_t error;
    if (access(records->path, F_OK) != 0 && errno == ENOENT)
        return CLARET_OK;
    CLARET_TRY(claret_file_read(records->path, LIMIT, &data, &size));
    records->root = json_loadb(data, size, JSON_REJECT_DUPLICATES, &error);
    free(data);
    if (!records->root)
        claret_warn("%s, line %d: %s: these tuning records are not used", records->path, error.line,
                    error.text);
    records->refused = !records->root || !check_file(records->path, records->root, device);
    if (records->refused) {
        json_decref(records->root);
        records->root = NULL;
    }
    return CLARET_OK;
}

enum claret_status claret_records_open(const char *path, const struct claret_device_desc *device,
                                       struct claret_records *records)
{
    *records = (struct claret_records){.path = claret_strdup(path)};
    if (!records->path)
        return claret_no_memory();
    enum claret_status status = read_file(records, device);
    if (status == CLARET_OK && !records->root && !(records->root = empty(device)))
        status = claret_no_memory();
    if (status != CLARET_OK)
        claret_records_close(records);
    return status;
}

void claret_records_close(struct claret_records *records)
{
    json_decref(records->root);
    free(records->path);
    *records = (struct claret_records){.root = NULL};
}

enum claret_status claret_records_save(const struct claret_records *records)
{
    char *text = json_dumps(records->root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    char *folder = claret_strdup(records->path), *slash = folder ? strrchr(folder, '/') : NULL;
    enum claret_status status = text && folder ? CLARET_OK : claret_no_memory();
    if (status == CLARET_OK && slash && slash != folder) {
        *slash = '\0';
        status = claret_folder_make(folder, 0700);
    }
    if (status == CLARET_OK)
        status = claret_file_write(records->path, text, strlen(text));
    free(text);
    free(folder);
    return status;
}

/* ---- one record ---- */

static size_t index_of(const struct claret_records *records, const char *problem)
{
    const json_t *list = json_object_get(records->root, "records");
    size_t i = 0;
    while (i < json_array_size(list) &&
           strcmp(claret_record_text(json_array_get(list, i), "problem"), problem) != 0)
        i++;
    return i;
}

json_t *claret_records_find(const struct claret_records *records, const char *problem)
{
    return json_array_get(json_object_get(records->root, "records"), index_of(records, problem));
}

enum claret_status claret_records_put(struct claret_records *records, json_t *record)
{
    json_t *list = json_object_get(records->root, "records");
    size_t at = record ? index_of(records, claret_record_text(record, "problem")) : 0;
    int failed = !record                      ? -1
                 : at < json_array_size(list) ? json_array_set_new(list, at, record)
                                              : json_array_append_new(list, record);
    return failed ? claret_no_memory() : CLARET_OK;
}

const char *claret_record_text(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text ? text : "";
}

double claret_record_number(const json_t *record, const char *key)
{
    return json_number_value(json_object_get(record, key));
}

void claret_record_choice(const json_t *record, struct claret_text *text)
{
    json_t *value;
    const char *key, *before = ":";
    claret_text_add(text, "%s", claret_record_text(record, "solver"));
    json_object_foreach(json_object_get(record, "parameters"), key, value)
    {
        claret_text_add(text, "%s%s=%lld", before, key, (long long)json_integer_value(value));
        before = ",";
    }
}

bool claret_record_fresh(const json_t *record, struct claret_rt *rt)
{
    const json_t *list = json_object_get(record, "sources");
    const char *sources[MAX_SOURCES];
    char hex[65];
    int count = (int)json_array_size(list);
    if (count > MAX_SOURCES)
        return false;
    for (int i = 0; i < count; i++)
        sources[i] = json_string_value(json_array_get(list, (size_t)i));
    bool fresh = claret_rt_kernel_hash(rt, sources, count, hex) == CLARET_OK &&
                 strcmp(hex, claret_record_text(record, "kernel_hash")) == 0;
    claret_error_clear();
    return fresh;
}

void claret_record_set_choice(json_t *record, const char *choice)
{
    const char *at = strchr(choice, ':');
    json_t *parameters = json_object();
    json_object_set_new(record, "solver", json_stringn(choice, at ? (size_t)(at - choice) : strlen(choice)));
    while (at) {
        const char *start = at + 1, *equals = strchr(start, '=');
        char name[40];
        if (!equals)
            break;
        snprintf(name, sizeof name, "%.*s", (int)(equals - start), start);
        json_object_set_new(parameters, name, json_integer(strtoll(equals + 1, NULL, 10)));
        at = strchr(start, ',');
    }
    json_object_set_new(record, "parameters", parameters);
}
