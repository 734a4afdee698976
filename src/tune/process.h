/* The parent's side of the worker (worker.h): starts it, asks, ends it where it takes too long. */
#ifndef CLARET_TUNE_PROCESS_H
#define CLARET_TUNE_PROCESS_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

struct claret_worker {
    char *const *command; /* what is exec'd, ends with NULL; it calls claret_worker_run(0, 3, …) */
    pid_t pid;            /* 0: not running */
    int to, from;
    char *buffer;
    size_t used, capacity;
    const volatile sig_atomic_t *stop; /* set: asking ends at once */
};

/* Limits in seconds, from one line of the answer to the next: of compiling, which a request begins with, and
 * of running, as its {"phase"} tells. */
struct claret_worker_limits {
    double compile, run;
};

enum claret_status claret_worker_start(struct claret_worker *worker);
/* Ends it, whatever it does. */
void claret_worker_end(struct claret_worker *worker);
/* Asks; takes `request`. *answer is the caller's. CLARET_OK also where the answer is an {"error"} or, the
 * worker having been ended or having died, a {"fault"} made here: it has to be started again then (pid is 0).
 * CLARET_STOPPED: `stop` was set. */
enum claret_status claret_worker_ask(struct claret_worker *worker, json_t *request,
                                     const struct claret_worker_limits *limits, json_t **answer);

#endif
