/* The list of devices: how it is made from what a child process tells, what is odd about it, choosing from
 * it. Shows nothing of OpenCL; src/rt/resolve.h has what does. */
#ifndef CLARET_RT_DEVICES_H
#define CLARET_RT_DEVICES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#define CLARET_PLATFORM_TEXTS (CLARET_PLATFORM_VERSION + 1)
#define CLARET_DEVICE_TEXTS (CLARET_DEVICE_REASON + 1)
#define CLARET_DEVICE_NUMBERS (CLARET_DEVICE_USABLE + 1)

struct claret_platform {
    const char *text[CLARET_PLATFORM_TEXTS];
    size_t devices; /* it has; numbered one after the other in the flat list */
    bool failed;    /* no platform at all: stands for a driver that died while it was listing devices */
};

struct claret_device {
    const char *text[CLARET_DEVICE_TEXTS];
    uint64_t number[CLARET_DEVICE_NUMBERS];
    size_t within;      /* its place in its platform */
    uint32_t vendor_id; /* of PCI with most drivers */
    bool tried;         /* REASON and USABLE are known */
    const char *key;    /* by which it will be known as usable (trust.h); NULL: not known */
    const char *note;   /* another platform offers it too; "" otherwise */
    bool short_loops;   /* its driver ends long loops too early */
};

struct claret_devices {
    struct claret_arena arena; /* all texts */
    struct claret_platform *platforms;
    struct claret_device *devices;
    const char **advice; /* paragraphs */
    size_t platform_count, device_count, advice_count;
    bool shared; /* belongs to the process, claret_devices_destroy() leaves it alone */
    /* While a child is telling: */
    bool listed;      /* all platforms and devices are told, what follows is about trying them */
    long under_way;   /* device whose step is under way, -1: none */
    const char *step; /* "building the probe kernel" */
};

/* ---- making a list (devices.c) ------------------------------------------------------------------ */

/* A child's stream is one JSON object a line, in this order:
 *     {"platform": {"name": …, "vendor": …, "version": …}}
 *     {"device": {"platform": P, "vendor_id": …, and the keys below}}   right after its platform or its
 * sibling
 *     {"listed": true}
 *     {"step": "building the probe kernel", "device": I}               I: flat index
 *     {"result": "", "device": I, "short_loops": …, "key": …}          "", or the reason why it cannot be
 * used; key: of a usable one, where such are kept in mind
 *     {"advice": "a paragraph"}
 */
extern const char *const claret_platform_keys[CLARET_PLATFORM_TEXTS];
extern const char *const claret_device_text_keys[CLARET_DEVICE_TEXTS];     /* NULL: not in the stream */
extern const char *const claret_device_number_keys[CLARET_DEVICE_NUMBERS]; /* likewise */

/* What a driver says as one line of valid UTF-8 without spaces around, malloc'ed; NULL: out of memory. */
char *claret_devices_clean(const char *text);

enum claret_status claret_devices_create(struct claret_devices **devices);
/* One line of the stream. CLARET_FORMAT: it is not one. */
enum claret_status claret_devices_record(struct claret_devices *devices, const char *line, size_t length);
/* Device `device` was tried; `reason` "": it can be used. */
enum claret_status claret_devices_result(struct claret_devices *devices, size_t device, const char *reason);
/* A driver that gave no platforms because it died; makes a platform and a device of its name. */
enum claret_status claret_devices_add_failed(struct claret_devices *devices, const char *driver,
                                             const char *reason);
enum claret_status claret_devices_add_advice(struct claret_devices *devices, const char *format, ...)
    CLARET_PRINTF(2, 3);
/* Once all is told: says which devices are one and the same. */
enum claret_status claret_devices_finish(struct claret_devices *devices);

/* "NUMBER (0:0): NAME, PLATFORM" and, where it cannot be used, why. */
void claret_devices_describe(const struct claret_devices *devices, size_t device, size_t number,
                             struct claret_text *text);

/* ---- listing (enumerate.c) ---------------------------------------------------------------------- */

struct claret_enumerate_options {
    const char *root;      /* "" or the folder that stands for / where /sys and /dev are looked at */
    unsigned list_seconds; /* a child that says nothing for so long hangs: while listing devices, */
    unsigned step_seconds; /* while trying one */
    const char
        *cache_dir; /* where devices that were usable are kept in mind (trust.h); NULL: all are tried */
};
extern const struct claret_enumerate_options claret_enumerate_defaults;
/* Lists and tries all devices in children of this process. Sets OCL_ICD_VENDORS (and OCL_ICD_FILENAMES) where
 * a driver died, so that this process does not load it. CLARET_STOPPED: a signal meant for the program ended
 * the child. */
enum claret_status claret_enumerate(const struct claret_enumerate_options *options,
                                    struct claret_devices **devices);
/* As claret_devices_list(), but devices that were usable before need not be tried again: what is known of
 * them is kept in `cache_dir` (NULL: nothing is). */
enum claret_status claret_devices_find(const char *cache_dir, struct claret_devices **devices);

/* ---- advice (advice.c) -------------------------------------------------------------------------- */

/* What the advice depends on besides the list; tests give their own. */
struct claret_system {
    const char *root;                  /* before "/sys" and "/dev" */
    bool (*allowed)(const char *path); /* to read and write it */
    const char *rusticl;               /* RUSTICL_ENABLE, NULL: not set; the next two likewise */
    const char *vendors;               /* OCL_ICD_VENDORS as the user set it */
    const char *pocl;                  /* POCL_DEVICES */
    const char *drivers;               /* names of the installed .icd files, a space after each */
    const char *noise;                 /* ": " and what drivers wrote while they listed devices, or "" */
};
/* Adds a paragraph for each GPU of the system that no platform offers, and what to install when no device is
 * usable. */
enum claret_status claret_advise(struct claret_devices *devices, const struct claret_system *system);

#endif
