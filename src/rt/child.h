/* The child process that lists and tries devices: what runs in it. */
#ifndef CLARET_RT_CHILD_H
#define CLARET_RT_CHILD_H

#include <CL/cl.h>
#include <jansson.h>

#include "rt/devices.h"
#include "rt/drivers.h"
#include "rt/trust.h"

struct claret_child {
    int out; /* where the stream goes (see devices.h) */
    const struct claret_devices
        *known; /* devices that need not be tried again are `tried` there; NULL: none */
    const struct claret_drivers *drivers;
    const struct claret_trust *trust; /* usable ones that need not be tried; NULL: all are */
    unsigned list_seconds, step_seconds;
    bool list_only;
};

/* All of it; ends the process. */
_Noreturn void claret_child_run(const struct claret_child *child);
/* Writes one line of the stream; ends the process when nobody listens any more. Takes `record`. */
void claret_child_tell(const struct claret_child *child, json_t *record);
/* What is done next with that device; also allows it step_seconds from now. */
void claret_child_step(const struct claret_child *child, size_t device, const char *step);

/* {"device": …} of a device (describe.c); NULL: out of memory. */
json_t *claret_child_describe(cl_device_id device);
/* Tries a device (probe.c); the reason why it cannot be used, nothing where it can. *short_loops: its driver
 * ends long loops too early. */
void claret_child_probe(const struct claret_child *child, size_t index, cl_device_id device,
                        struct claret_text *reason, bool *short_loops);

#endif
