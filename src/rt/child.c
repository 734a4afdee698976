/* The child process: lists platforms and devices, tries each device, and tells as it goes. */
#include "rt/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/resolve.h"

/* The parent ends a child that hangs; where the parent is gone, the child's own alarm does, a little later.
 */
#define ALARM_MARGIN 10

void claret_child_tell(const struct claret_child *child, json_t *record)
{
    char *line = json_dumps(record, JSON_COMPACT);
    if (line == NULL)
        _exit(1);
    size_t size = strlen(line), done = 0;
    line[size++] = '\n'; /* in the place of the NUL: the parent reads lines */
    while (done < size) {
        ssize_t n = write(child->out, line + done, size - done);
        if (n < 0 && errno != EINTR)
            _exit(1);
        if (n > 0)
            done += (size_t)n;
    }
    free(line);
    json_decref(record);
}

void claret_child_step(const struct claret_child *child, size_t device, const char *step)
{
    claret_child_tell(child, json_pack("{s:s,s:I}", "step", step, "device", (json_int_t)device));
    alarm(child->step_seconds + ALARM_MARGIN);
}

static void tell_platform(const struct claret_child *child, cl_platform_id platform)
{
    static const cl_platform_info what[CLARET_PLATFORM_TEXTS] = {
        [CLARET_PLATFORM_NAME] = CL_PLATFORM_NAME,
        [CLARET_PLATFORM_VENDOR] = CL_PLATFORM_VENDOR,
        [CLARET_PLATFORM_VERSION] = CL_PLATFORM_VERSION,
    };
    json_t *record = json_object();
    for (int i = 0; i < CLARET_PLATFORM_TEXTS; i++) {
        char *text = claret_query_platform(platform, what[i]);
        json_object_set_new(record, claret_platform_keys[i], json_string(text == NULL ? "" : text));
        free(text);
    }
    claret_child_tell(child, json_pack("{s:o}", "platform", record));
}

/* Tells all platforms and devices; the devices' ids in the order of the flat list, *count of them. */
static cl_device_id *list(const struct claret_child *child, size_t *count)
{
    cl_platform_id *platforms;
    cl_uint platform_count;
    cl_device_id *all = NULL;

    *count = 0;
    if (claret_query_platforms(&platforms, &platform_count) != CLARET_OK)
        _exit(1);
    for (cl_uint p = 0; p < platform_count; p++) {
        cl_device_id *devices;
        cl_uint device_count;
        tell_platform(child, platforms[p]);
        if (claret_query_devices(platforms[p], &devices, &device_count) != CLARET_OK)
            continue; /* listed as empty */
        cl_device_id *larger = realloc(all, (*count + device_count + 1) * sizeof *all);
        if (larger == NULL)
            _exit(1);
        all = larger;
        for (cl_uint d = 0; d < device_count; d++) {
            claret_child_tell(child, json_pack("{s:o}", "device", claret_child_describe(devices[d])));
            all[(*count)++] = devices[d];
        }
        free(devices);
    }
    free(platforms);
    claret_child_tell(child, json_pack("{s:b}", "listed", 1));
    return all;
}

static bool known(const struct claret_child *child, size_t device)
{
    return child->known != NULL && device < child->known->device_count && child->known->devices[device].tried;
}

/* By which devices are kept in mind: of one that runs long loops, and of one that ends them too early. */
struct keys {
    char whole[CLARET_TRUST_KEY], short_loops[CLARET_TRUST_KEY]; /* "": nothing is kept */
};

static struct keys make_keys(const struct claret_child *child, cl_device_id device)
{
    struct keys keys = {"", ""};
    struct claret_text text = {0};
    json_t *record = child->trust == NULL ? NULL : claret_child_describe(device);
    char *told = record == NULL ? NULL : json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS);
    if (told != NULL) {
        claret_text_add(&text, "%s\nshort loops", told);
        if (text.failed || claret_trust_key(child->trust, told, keys.whole) != CLARET_OK ||
            claret_trust_key(child->trust, text.data, keys.short_loops) != CLARET_OK)
            keys = (struct keys){"", ""};
    }
    claret_text_drop(&text);
    free(told);
    json_decref(record);
    return keys;
}

/* Tries a device, unless it was usable before. */
static void try_device(const struct claret_child *child, size_t index, cl_device_id device)
{
    struct keys keys = make_keys(child, device);
    struct claret_text reason = {0};
    bool short_loops = keys.short_loops[0] && claret_trust_has(child->trust, keys.short_loops);
    if (!short_loops && !(keys.whole[0] && claret_trust_has(child->trust, keys.whole)))
        claret_child_probe(child, index, device, &reason, &short_loops);
    json_t *result = json_pack("{s:s,s:I,s:b}", "result", reason.size == 0 ? "" : reason.data, "device",
                               (json_int_t)index, "short_loops", short_loops);
    if (reason.size == 0 && keys.whole[0])
        json_object_set_new(result, "key", json_string(short_loops ? keys.short_loops : keys.whole));
    claret_child_tell(child, result);
    claret_text_drop(&reason);
}

/* The loader passes over a library that cannot be loaded without a word. */
static void tell_missing_libraries(const struct claret_child *child)
{
    for (size_t i = 0; i < child->drivers->count; i++) {
        const struct claret_driver *driver = &child->drivers->list[i];
        bool seen = child->drivers->folder == NULL || driver->kept;
        if (!seen || dlopen(driver->library, RTLD_LAZY | RTLD_LOCAL) != NULL)
            continue;
        const char *cause = dlerror();
        char *clean = claret_devices_clean(cause == NULL ? "unknown cause" : cause);
        bool from_variable = strcmp(driver->file, driver->library) == 0;
        json_t *advice = json_sprintf(
            "The OpenCL driver %s cannot be loaded: %s. %s%s%s", driver->file, clean == NULL ? "" : clean,
            from_variable ? "OCL_ICD_VENDORS or OCL_ICD_FILENAMES names it; set it right."
                          : "Reinstall the package it belongs to (on Debian: dpkg -S ",
            from_variable ? "" : driver->file, from_variable ? "" : "), or remove the file.");
        if (advice != NULL)
            claret_child_tell(child, json_pack("{s:o}", "advice", advice));
        free(clean);
    }
}

void claret_child_run(const struct claret_child *child)
{
    size_t count;

    alarm(child->list_seconds + ALARM_MARGIN);
    cl_device_id *devices = list(child, &count);
    for (size_t i = 0; i < count && !child->list_only; i++)
        if (!known(child, i))
            try_device(child, i, devices[i]);
    if (!child->list_only)
        tell_missing_libraries(child);
    /* Not exit(): what the program has buffered for its own files is not this process's to write. */
    _exit(0);
}
