/* Tuning records of one device: for each problem (claret_problem_key(), claret_gemm_key()) the solver that
 * was fastest, how it was found, and what else was tried. One JSON file for each device, to be read and
 * shared. */
#ifndef CLARET_TUNE_RECORDS_H
#define CLARET_TUNE_RECORDS_H

#include <jansson.h>

#include "base/device.h"
#include "base/text.h"
#include "rt/rt.h"

/* {"format": 1, "device": {"name", "vendor", "platform"}, "records": [record, …]}
 * A record: {"problem", "solver", "parameters": {"KT": 4}, "seconds": {"median", "min", "max"}, "runs",
 * "default_seconds", "verified": ["…"], "driver", "sources": ["im2col"], "kernel_hash", "date", "complete",
 * "trials": [trial, …]}; a trial: {"choice": "rows:KT=4", "ratio", "seconds", "runs"} (ratio: of the
 * default's seconds in the same race) or {"choice", "fault"}. */
struct claret_records {
    json_t *root;
    char *path;
    bool refused; /* a file is there that is none of this device's: nothing of it is used */
};

/* "FOLDER/tuning/NAME-HASH.json", malloc'ed; NULL: out of memory. */
char *claret_records_path(const char *cache_folder, const struct claret_device_desc *device);
/* A file that is not there is an empty one. One that is broken, of another format or another device is warned
 * of and counts as empty. CLARET_NO_MEMORY; CLARET_IO where it cannot be read. */
enum claret_status claret_records_open(const char *path, const struct claret_device_desc *device,
                                       struct claret_records *records);
void claret_records_close(struct claret_records *records);
/* Makes the folder where it is missing; whole or not at all. */
enum claret_status claret_records_save(const struct claret_records *records);

/* The problem's record; NULL: there is none. */
json_t *claret_records_find(const struct claret_records *records, const char *problem);
/* Takes the place of an older one for the same problem. Takes `record`. */
enum claret_status claret_records_put(struct claret_records *records, json_t *record);
/* "rows:KT=4" of the record's solver and parameters. */
void claret_record_choice(const json_t *record, struct claret_text *text);
const char *claret_record_text(const json_t *record, const char *key);
double claret_record_number(const json_t *record, const char *key);
/* Whether the kernels are still those that it was measured with. */
bool claret_record_fresh(const json_t *record, struct claret_rt *rt);
/* Sets "solver" and "parameters". */
void claret_record_set_choice(json_t *record, const char *choice);

#endif
