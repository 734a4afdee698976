/* CLBlast's own parameters. They hold for a device and a process, not for one GEMM, and another set compiles
 * anew; so one set is looked for that serves all GEMMs of a network when they go through CLBlast. */
#ifndef CLARET_TUNE_GEMMS_H
#define CLARET_TUNE_GEMMS_H

#include <jansson.h>

#include "graph/network.h"
#include "rt/rt.h"

struct claret_gemms; /* in the worker: the network's step with all GEMMs on CLBlast */
/* `graph`: layers apart. CLARET_NOT_FOUND: there is no GEMM in it. */
enum claret_status claret_gemms_create(struct claret_rt *rt, const struct claret_graph *graph,
                                       struct claret_gemms **gemms);
void claret_gemms_destroy(struct claret_gemms *gemms);
/* Seconds of all GEMMs of a step by the parameters in force. CLARET_INTERNAL: results are wrong. */
enum claret_status claret_gemms_time(struct claret_gemms *gemms, double *seconds);

/* {"Xgemm": {"MWG": 64, …}, …} in force from now on. */
enum claret_status claret_gemms_override(struct claret_rt *rt, const json_t *parameters);
/* The index-th set worth trying for a kernel; *kernel gets its name. NULL: no more. */
json_t *claret_gemms_set(int index, const char **kernel);

#endif
