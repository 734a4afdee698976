/* The search for the fastest solvers of a network's problems on one device (claret-tune run). */
#ifndef CLARET_TUNE_SEARCH_H
#define CLARET_TUNE_SEARCH_H

#include "graph/network.h"
#include "tune/process.h"
#include "tune/records.h"
#include "graph/graph.h"

struct claret_tune_options {
    char *const *worker;                                    /* the command of the worker's process */
    const char *device, *platform, *cache_dir, *kernel_dir; /* NULL: not given */
    const struct claret_network *network;
    /* How the session would build its graph on that device. */
    void (*graph_options)(void *user, const struct claret_device_desc *device,
                          struct claret_graph_options *options);
    void *graph_user;
    const char *records; /* path; NULL: in `cache_folder` */
    const char *cache_folder;
    bool probe_clblast;
    double budget;                   /* seconds of search in all */
    double compile_limit, run_limit; /* seconds for one candidate */
    const volatile sig_atomic_t *stop;
    /* A line for people, with no newline; `progress`: one that the next may take the place of. */
    void (*say)(void *user, bool progress, const char *line);
    void *say_user;
};

struct claret_tune_result {
    int problems, tuned,
        changed;            /* in the network; searched to the end; where another than the default won */
    int candidates, faults; /* tried in this run */
    double step_default, step_predicted, step_tuned; /* seconds of the step's launches; 0: not measured */
    bool same;   /* the step is as by the defaults: nothing was faster. All three seconds are one then */
    bool faster; /* the step by what was found, by more than chance */
    char *path;  /* of the records; to be freed */
};

/* CLARET_STOPPED: `stop` was set; what was found so far is recorded. */
enum claret_status claret_tune_run(const struct claret_tune_options *options,
                                   struct claret_tune_result *result);

#endif
