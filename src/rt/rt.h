/* The run time: a device, buffers on it, plans made ready, their execution. The only stage that calls OpenCL;
 * this header shows none of it. `claret_rt_open_null` gives one that records instead of running, with no
 * device. One thread uses an rt at a time. */
#ifndef CLARET_RT_RT_H
#define CLARET_RT_RT_H

#include "plan/plan.h"

struct claret_rt;
struct claret_pool;   /* buffers */
struct claret_exec;   /* a plan made ready on a pool */
struct claret_ticket; /* something enqueued that can be waited for */

struct claret_rt_options {
    const char *device, *platform; /* selectors, NULL: none */
    const char *cache_dir;         /* programs' folder; NULL: no cache on disk */
    const char *kernel_dir;        /* .cl sources from there, NULL: the embedded ones */
    bool no_clblast;               /* for tests: always the plain kernel */
};
enum claret_status claret_rt_open(const struct claret_rt_options *options, struct claret_rt **rt);
enum claret_status claret_rt_open_null(const struct claret_device_desc *desc, struct claret_rt **rt);
/* After all that was made of it is destroyed and every ticket waited for or dropped. */
void claret_rt_close(struct claret_rt *rt);
const struct claret_device_desc *claret_rt_device(const struct claret_rt *rt);
/* "device 1 (0:1): NAME, PLATFORM, driver VERSION", and a note worth showing or "". */
const char *claret_rt_describe(const struct claret_rt *rt);
/* Tries a GEMM on CLBlast and sets the description's `clblast`; compiles CLBlast's kernels (said by
 * claret_info). */
enum claret_status claret_rt_probe_gemm(struct claret_rt *rt);
/* Has CLBlast use these parameters of its kernel ("Xgemm", "XgemmDirect") on this device from now on, in the
 * whole process; what it has compiled of it is forgotten. CLARET_INVALID: it does not take them. */
enum claret_status claret_rt_gemm_override(struct claret_rt *rt, const char *kernel, const char *const *names,
                                           const size_t *values, int count);
/* For claret_plan_options. `rt` as user. */
size_t claret_rt_gemm_workspace(void *rt, const struct claret_gemm_call *gemm);
/* What the kernels of cl/`sources`[i].cl are made from, as a hash: as long as it is the same, what was
 * measured of them holds. "clblast" stands for CLBlast's. CLARET_IO, CLARET_INTERNAL: there is no such
 * source. */
enum claret_status claret_rt_kernel_hash(struct claret_rt *rt, const char *const *sources, int count,
                                         char hex[65]);
/* "programs: …" and, where CLBlast is used, a line "clblast: …"; no newline at the end. */
void claret_rt_report(const struct claret_rt *rt, struct claret_text *text);

/* A pool: `count` buffers of `bytes` each (0: none), zero-filled. CLARET_DEVICE_MEMORY. */
enum claret_status claret_pool_create(struct claret_rt *rt, const uint64_t *bytes, int count,
                                      struct claret_pool **pool);
void claret_pool_destroy(struct claret_pool *pool);
/* Gives `buffer`, one of 0 bytes so far, memory with a copy of `memory` (NULL: with anything), until
 * _detach(), which waits for what is under way. Plans that use it are made ready in between.
 * CLARET_DEVICE_MEMORY. */
enum claret_status claret_pool_attach(struct claret_pool *pool, int buffer, const void *memory,
                                      uint64_t bytes);
void claret_pool_detach(struct claret_pool *pool, int buffer);
/* Fills it with zeros again. */
enum claret_status claret_pool_clear(struct claret_pool *pool);
/* Blocking, on the compute queue: after all that was enqueued before. */
enum claret_status claret_pool_read(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                    void *data);
enum claret_status claret_pool_write(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                     const void *data);
/* On the upload queue, once `after` (NULL: nothing) is done; `data` must stay until *ticket is done. */
enum claret_status claret_pool_upload(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                      const void *data, const struct claret_ticket *after,
                                      struct claret_ticket **ticket);
/* The null runtime's memory of a buffer (tests); NULL on a real one. */
void *claret_pool_memory(struct claret_pool *pool, int buffer);

/* Builds the programs (several a moment where the driver allows), makes a kernel per launch and sets its
 * arguments. `plan` and `pool` must outlive the exec. CLARET_BUILD with the build log; CLARET_OPENCL where a
 * fixed work-group or local memory is beyond the device or the kernel; CLARET_INTERNAL for a plan that is
 * wrong. */
enum claret_status claret_exec_create(struct claret_pool *pool, const struct claret_plan *plan,
                                      struct claret_exec **exec);
void claret_exec_destroy(struct claret_exec *exec);
/* Some drivers compile a kernel when it is first run: runs each that was built from source, and each kind of
 * a library's GEMM, once and waits, saying which by claret_info. *ran: there was one; what the pool holds is
 * undefined then. To be called while the pool is all zeros. */
enum claret_status claret_exec_warm_up(struct claret_exec *exec, bool *ran);
/* Enqueues every launch once, after `after` (NULL: nothing). *done (may be NULL) gets a ticket for the end.
 * Does not wait, but for the first GEMM of a kind, whose compilation is timed. */
enum claret_status claret_exec_run(struct claret_exec *exec, const struct claret_ticket *after,
                                   struct claret_ticket **done);
/* Runs every launch once, as claret_exec_run() does, and waits. seconds[i]: the time that launch i took on
 * the device, by profiling events; where the driver cannot tell (an end before its start, next to no time at
 * all, longer than the clock on the wall) and for GEMMs of a library, which are several kernels, it is the
 * wall clock around that launch alone and wall[i] is set. The first run of an exec waits after each launch to
 * find out which are which. It runs on a queue of its own, so that what is not profiled pays nothing. Null
 * runtime: no time passes. */
enum claret_status claret_exec_run_profiled(struct claret_exec *exec, double *seconds, bool *wall);
/* Null runtime: how many times the launches were run; -1 on a real one. */
long claret_exec_runs(const struct claret_exec *exec);

/* Waits; an error of what was enqueued comes out here. Frees the ticket (NULL: nothing to do). */
enum claret_status claret_ticket_wait(struct claret_ticket *ticket);
void claret_ticket_drop(struct claret_ticket *ticket); /* frees without waiting */
/* Waits for all that was enqueued. */
enum claret_status claret_rt_finish(struct claret_rt *rt);
/* Puts the programs that have run into the cache; where nothing is enqueued. Some drivers compile more for
 * it. claret_rt_close() does so too. */
void claret_rt_save_programs(struct claret_rt *rt);

#endif
