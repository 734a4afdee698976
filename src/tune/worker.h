/* The worker: a process of its own that owns the device, so that a candidate that crashes or hangs costs a
 * process. It is started by exec, reads requests and writes answers, both JSON, one a line:
 *
 *   {"op": "open", "device", "cache_dir", "kernel_dir", "probe": bool}   -> {"device": {...}}
 *   {"op": "graph", "text", "file", "options": {...}}                    -> {}
 *   {"op": "profile"}                                                    -> {"nodes": [seconds, ...]}
 *   {"op": "prepare", "slot", "node", "solver", "gemm", "choices": {key: choice}, "everywhere": bool}
 *        -> some {"phase": "compile"|"run"}, then {"sources": [...], "hash", "verified": [...]}
 *   {"op": "time", "slot", "least"}                                      -> {"seconds"}
 *   {"op": "drop", "slot"}                                               -> {}
 *   {"op": "gemms", "parameters": {kernel: {name: value}}}               -> {"seconds"}
 *   {"op": "hash", "sources": [...]}                                     -> {"hash"}
 * An answer {"error": "..."} ends what was asked. */
#ifndef CLARET_TUNE_WORKER_H
#define CLARET_TUNE_WORKER_H

#include "base/status.h"

/* `fault` (tests; NULL: none): "KIND@PART": a choice whose text holds PART goes wrong: "wrong", "hang",
 * "crash". Returns when there are no more requests. */
enum claret_status claret_worker_run(int in, int out, const char *fault);

#endif
