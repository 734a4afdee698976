/* Listing and trying devices in children, so that a driver that dies costs its own devices alone.
 *
 * One child does it all where drivers behave. One that dies while it tries a device is followed by another
 * that goes on after that device. One that dies while it lists devices is followed by a child for each
 * driver, which loads that driver besides those found good before it; then a child lists and tries what is
 * left, and the bad drivers are hidden from this process. OpenCL is never used here before (PoCL hangs in a
 * child whose parent has used it). */
#include "rt/devices.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "rt/drivers.h"
#include "rt/process.h"

const struct claret_enumerate_options claret_enumerate_defaults = {
    .root = "", .list_seconds = 60, .step_seconds = 180};

static bool same_device(const struct claret_device *a, const struct claret_device *b)
{
    return strcmp(a->text[CLARET_DEVICE_ID], b->text[CLARET_DEVICE_ID]) == 0 &&
           strcmp(a->text[CLARET_DEVICE_NAME], b->text[CLARET_DEVICE_NAME]) == 0;
}

/* Results of an earlier child for devices that a later one did not try again. */
static enum claret_status carry_over(const struct claret_devices *from, struct claret_devices *to)
{
    for (size_t i = 0; from != NULL && i < from->device_count && i < to->device_count; i++)
        if (from->devices[i].tried && !to->devices[i].tried &&
            same_device(&from->devices[i], &to->devices[i])) {
            to->devices[i].short_loops = from->devices[i].short_loops;
            CLARET_TRY(claret_devices_result(to, i, from->devices[i].text[CLARET_DEVICE_REASON]));
        }
    return CLARET_OK;
}

static size_t first_untried(const struct claret_devices *devices)
{
    size_t i = 0;
    while (i < devices->device_count && devices->devices[i].tried)
        i++;
    return i;
}

static enum claret_status blame(struct claret_devices *devices, long under_way,
                                const struct claret_outcome *outcome)
{
    size_t index = under_way >= 0 ? (size_t)under_way : first_untried(devices);
    struct claret_text reason = {0};
    claret_text_add(&reason, "the driver %s while %s%s", outcome->how,
                    under_way >= 0 ? devices->step : "it was this device's turn", outcome->noise);
    enum claret_status status =
        reason.failed ? claret_no_memory() : claret_devices_result(devices, index, reason.data);
    claret_text_drop(&reason);
    return status;
}

/* Lists, and tries every device. *devices is NULL, and *outcome says why, where not even listing succeeded.
 */
static enum claret_status try_devices(const struct claret_enumerate_options *options,
                                      const struct claret_drivers *drivers, const struct claret_trust *trust,
                                      struct claret_devices **devices, struct claret_outcome *outcome)
{
    struct claret_devices *before = NULL, *now = NULL;
    enum claret_status status;

    *devices = NULL;
    for (;;) {
        CLARET_GOTO(out, claret_process_run(options, drivers, before, trust, false, &now, outcome));
        if (!now->listed)
            goto out;
        long under_way = now->under_way;
        CLARET_GOTO(out, carry_over(before, now));
        if (first_untried(now) == now->device_count)
            break;
        CLARET_GOTO(out, blame(now, under_way, outcome));
        claret_devices_destroy(before);
        before = now;
        now = NULL;
    }
    *devices = now;
    now = NULL;
out:
    claret_devices_destroy(before);
    claret_devices_destroy(now);
    return status;
}

/* ---- drivers that die while they list devices ------------------------------------------------------------
 */

/* Keeps the drivers that list their devices. */
static enum claret_status separate(const struct claret_enumerate_options *options,
                                   struct claret_drivers *drivers,
                                   struct claret_outcome *ends /* drivers->count */)
{
    for (size_t i = 0; i < drivers->count; i++) {
        struct claret_devices *told;
        CLARET_TRY(claret_drivers_keep(drivers, i, true));
        CLARET_TRY(claret_process_run(options, drivers, NULL, NULL, true, &told, &ends[i]));
        bool good = told->listed;
        claret_devices_destroy(told);
        if (!good)
            CLARET_TRY(claret_drivers_keep(drivers, i, false));
    }
    return CLARET_OK;
}

static enum claret_status add_failed(struct claret_devices *devices, const char *name, const char *file,
                                     const struct claret_outcome *outcome)
{
    struct claret_text reason = {0};
    char *clean = claret_devices_clean(name);
    enum claret_status status = CLARET_OK;

    claret_text_add(&reason, "driver %s %s while it was listing devices%s", clean == NULL ? "" : clean,
                    outcome->how, outcome->noise);
    if (clean == NULL || reason.failed)
        status = claret_no_memory();
    if (status == CLARET_OK)
        status = claret_devices_add_failed(devices, clean, reason.data);
    if (status == CLARET_OK)
        status = claret_devices_add_advice(
            devices,
            "The OpenCL driver %s %s while it was listing devices, so it is left out. Update or remove the "
            "package it "
            "belongs to (on Debian: dpkg -S %s).%s",
            clean, outcome->how, file,
            outcome->timed_out ? " A program has to list devices before it uses OpenCL itself." : "");
    claret_text_drop(&reason);
    free(clean);
    return status;
}

/* The list without the drivers that die, which are hidden from this process and named at the list's end.
 * `first` tells how the child of all drivers ended. */
static enum claret_status without_bad(const struct claret_enumerate_options *options,
                                      struct claret_drivers *drivers, const struct claret_outcome *first,
                                      struct claret_devices **devices)
{
    struct claret_outcome *ends = calloc(drivers->count + 1, sizeof *ends), last;
    struct claret_devices *list = NULL;
    enum claret_status status;

    if (ends == NULL)
        return claret_no_memory();
    CLARET_GOTO(out, claret_drivers_begin(drivers));
    CLARET_GOTO(out, separate(options, drivers, ends));
    CLARET_GOTO(out, try_devices(options, drivers, NULL, &list, &last));
    if (list == NULL) { /* they die now and then: leave all of them out */
        CLARET_GOTO(out, claret_devices_create(&list));
        for (size_t i = 0; i < drivers->count; i++) {
            if (drivers->list[i].kept)
                ends[i] = last;
            CLARET_GOTO(out, claret_drivers_keep(drivers, i, false));
        }
    }
    for (size_t i = 0; i < drivers->count; i++)
        if (!drivers->list[i].kept)
            CLARET_GOTO(out, add_failed(list, drivers->list[i].name, drivers->list[i].file, &ends[i]));
    if (drivers->count == 0) /* the loader knows a place that this library does not */
        CLARET_GOTO(out, add_failed(list, "of this system", "/etc/OpenCL/vendors/*.icd", first));
    CLARET_GOTO(out, claret_drivers_apply(drivers));
    CLARET_GOTO(out, claret_drivers_stay(drivers));
    *devices = list;
    list = NULL;
out:
    claret_devices_destroy(list);
    free(ends);
    return status;
}

/* ---- all of it
 * ---------------------------------------------------------------------------------------------- */

static bool allowed(const char *path)
{
    return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
}

static enum claret_status advise(const struct claret_enumerate_options *options,
                                 const struct claret_drivers *drivers, const char *noise,
                                 struct claret_devices *devices)
{
    struct claret_text names = {0};
    enum claret_status status = CLARET_OK;

    claret_text_add(&names, " ");
    for (size_t i = 0; i < drivers->count; i++)
        claret_text_add(&names, "%s ", drivers->list[i].name);
    if (names.failed)
        status = claret_no_memory();
    if (status == CLARET_OK) {
        struct claret_system system = {.root = options->root,
                                       .allowed = allowed,
                                       .rusticl = getenv("RUSTICL_ENABLE"),
                                       /* with a folder of drivers' own it is set to that */
                                       .vendors = drivers->folder ? NULL : getenv("OCL_ICD_VENDORS"),
                                       .pocl = getenv("POCL_DEVICES"),
                                       .drivers = names.data,
                                       .noise = noise};
        status = claret_advise(devices, &system);
    }
    claret_text_drop(&names);
    return status;
}

static enum claret_status keep_in_mind(struct claret_trust *trust, const struct claret_devices *devices)
{
    for (size_t i = 0; trust->path && i < devices->device_count; i++)
        if (devices->devices[i].key && devices->devices[i].number[CLARET_DEVICE_USABLE])
            CLARET_TRY(claret_trust_add(trust, devices->devices[i].key));
    return CLARET_OK;
}

enum claret_status claret_enumerate(const struct claret_enumerate_options *options,
                                    struct claret_devices **devices)
{
    struct claret_drivers drivers = {0};
    struct claret_trust trust = {0};
    struct claret_devices *list = NULL;
    struct claret_outcome outcome;
    enum claret_status status;

    CLARET_GOTO(out, claret_drivers_find(&drivers));
    if (options->cache_dir != NULL)
        CLARET_GOTO(out, claret_trust_load(options->cache_dir, &drivers, &trust));
    CLARET_GOTO(out, try_devices(options, &drivers, trust.path ? &trust : NULL, &list, &outcome));
    if (list == NULL) {
        claret_debug("an OpenCL driver %s while devices were listed%s", outcome.how, outcome.noise);
        CLARET_GOTO(out, without_bad(options, &drivers, &outcome, &list));
    }
    CLARET_GOTO(out, claret_devices_finish(list));
    CLARET_GOTO(out, advise(options, &drivers, outcome.noise, list));
    CLARET_GOTO(out, keep_in_mind(&trust, list));
    *devices = list;
    list = NULL;
out:
    claret_devices_destroy(list);
    claret_drivers_drop(&drivers);
    claret_trust_drop(&trust);
    return status;
}
