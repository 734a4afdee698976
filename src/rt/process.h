/* The parent's side of one child that lists and tries devices: start it, listen to it, see how it ended. */
#ifndef CLARET_RT_PROCESS_H
#define CLARET_RT_PROCESS_H

#include "rt/devices.h"
#include "rt/drivers.h"
#include "rt/trust.h"

struct claret_outcome {
    bool stopped; /* by a signal meant for the whole program */
    bool timed_out;
    char how[96];    /* "aborted (SIGABRT)" */
    char noise[400]; /* ": " and the last lines that drivers wrote to stderr, or "" */
};

/* Runs a child that sees the kept ones of `drivers` (all, where their folder is not made yet) and tries the
 * devices not yet `tried` in `known` (NULL: all) and not known by `trust` (NULL: none is), none with
 * `list_only`. *devices gets what it told before it ended, whatever its end. */
enum claret_status claret_process_run(const struct claret_enumerate_options *options,
                                      const struct claret_drivers *drivers,
                                      const struct claret_devices *known, const struct claret_trust *trust,
                                      bool list_only, struct claret_devices **devices,
                                      struct claret_outcome *outcome);

#endif
