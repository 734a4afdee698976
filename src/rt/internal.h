/* What the files of rt share: the structs behind rt.h, and the table that tells the OpenCL run time from the
 * null one. OpenCL types stay in src/rt. */
#ifndef CLARET_RT_INTERNAL_H
#define CLARET_RT_INTERNAL_H

#include "base/arena.h"
#include "rt/cl.h"
#include "rt/rt.h"

/* ---- the binary cache on disk (cache.c) ---------------------------------------------------------------- */

struct claret_cache {
    char *folder; /* NULL: no cache */
    bool stored;  /* something new lies there: prune */
};
/* Makes the folder; one that cannot be used is warned of and left out. */
enum claret_status claret_cache_open(struct claret_cache *cache, const char *cache_dir);
void claret_cache_close(struct claret_cache *cache);
/* A whole and undamaged entry, malloc'ed; false: none. A damaged one is removed. */
bool claret_cache_load(struct claret_cache *cache, const char *key, unsigned char **binary, size_t *size);
void claret_cache_store(struct claret_cache *cache, const char *key, const unsigned char *binary,
                        size_t size);
void claret_cache_drop(struct claret_cache *cache, const char *key, const char *why);
/* By age, then by the folder's size. */
void claret_cache_prune(struct claret_cache *cache);

/* ---- programs (program.c, build.c) --------------------------------------------------------------------- */

/* One program for each distinct (source, kernel, defines, further options); lives as long as the rt. */
struct claret_program {
    struct claret_program *next;
    char key[65];      /* SHA-256 of all that it is made from */
    const char *name;  /* "im2col" */
    const char *entry; /* its kernel */
    const char *text;  /* with common.clh in front */
    const char *options;
    cl_program handle; /* NULL: not built yet */
    bool from_cache, launched, saved;
    /* A failed build, until it is reported. */
    cl_int code;
    const char *call;
    char *log;
};

struct claret_source {
    struct claret_source *next;
    const char *name, *entry, *text;
};

struct claret_programs {
    struct claret_arena arena; /* names, texts, the lists' elements */
    const char *kernel_dir;    /* NULL: the embedded sources */
    struct claret_source *sources;
    struct claret_program *first, **end;
    struct claret_cache cache;
    int from_cache, built;
};
enum claret_status claret_programs_init(struct claret_rt *rt, const struct claret_rt_options *options);
void claret_programs_finish(struct claret_rt *rt);
/* The program of that call, built or not. */
enum claret_status claret_programs_find(struct claret_rt *rt, const struct claret_kernel_call *call,
                                        struct claret_program **program);
/* Builds what is not built yet: from the cache, else from source. */
enum claret_status claret_programs_build(struct claret_rt *rt);
/* Saves what has been launched and is not in the cache. To be called when nothing is left running. */
void claret_programs_save(struct claret_rt *rt);
/* Builds `count` programs from source, several at a time; CLARET_BUILD. */
enum claret_status claret_build_sources(struct claret_rt *rt, struct claret_program **programs, int count);
/* The options text: typed defines, then the call's own. */
void claret_program_options(const struct claret_kernel_call *call, struct claret_text *text);

/* ---- CLBlast (gemm.c) ---------------------------------------------------------------------------------- */

struct claret_gemm_state {
    bool off, used;   /* by option; CLBlast holds something of this process */
    unsigned kinds;   /* bit per kind that has run */
    double seconds;   /* that the kinds' first runs took */
    char reason[256]; /* why CLBlast is not applicable */
};
/* A GEMM with its buffers. Offsets in elements; `temporary`: CLBlast's buffer, NULL: it needs none. */
struct claret_gemm {
    const struct claret_gemm_call *call;
    cl_mem a, b, c, temporary;
    size_t a_offset, b_offset, c_offset;
    unsigned kind;
};
void claret_gemm_attach(void); /* one more open rt … */
void claret_gemm_detach(void); /* … one less: after the last CLBlast lets go of all it holds */
/* Bytes of CLBlast's temporary buffer wherever the matrices lie. */
size_t claret_gemm_workspace(struct claret_rt *rt, const struct claret_gemm_call *call);
/* What CLBlast compiles apart: the transposes, and small or large (large ones need a temporary buffer). */
unsigned claret_gemm_kind(const struct claret_gemm_call *call, bool temporary);
enum claret_status claret_gemm_enqueue(struct claret_rt *rt, const struct claret_gemm *gemm,
                                       const char *label);
void claret_gemm_probe(struct claret_rt *rt);

/* ---- the handles ----------------------------------------------------------------------------------------
 */

struct claret_rt_driver {
    void (*close)(struct claret_rt *rt);
    enum claret_status (*pool_create)(struct claret_pool *pool);
    void (*pool_destroy)(struct claret_pool *pool);
    enum claret_status (*attach)(struct claret_pool *pool, int buffer, const void *memory, uint64_t bytes);
    void (*detach)(struct claret_pool *pool, int buffer);
    enum claret_status (*clear)(struct claret_pool *pool);
    enum claret_status (*read)(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                               void *data);
    enum claret_status (*write)(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                const void *data);
    enum claret_status (*upload)(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                 const void *data, const struct claret_ticket *after,
                                 struct claret_ticket *ticket);
    enum claret_status (*exec_create)(struct claret_exec *exec);
    void (*exec_destroy)(struct claret_exec *exec);
    enum claret_status (*exec_warm_up)(struct claret_exec *exec, bool *ran);
    enum claret_status (*exec_run)(struct claret_exec *exec, const struct claret_ticket *after,
                                   struct claret_ticket *done); /* done may be NULL */
    enum claret_status (*exec_profile)(struct claret_exec *exec, double *seconds, bool *wall);
    enum claret_status (*wait)(struct claret_ticket *ticket);
    enum claret_status (*finish)(struct claret_rt *rt);
};
extern const struct claret_rt_driver claret_rt_opencl, claret_rt_null;

struct claret_rt {
    const struct claret_rt_driver *driver;
    struct claret_device_desc desc;
    struct claret_arena arena; /* the description's texts */
    const char *description;
    struct claret_ticket *spare; /* tickets to use again, so that a step allocates nothing */
    /* From here on OpenCL's. */
    cl_device_id device;
    cl_context context;
    cl_command_queue compute, upload; /* in-order both */
    cl_command_queue profiling;       /* likewise; NULL until something is profiled */
    cl_event last;                    /* end of the last run, looked at by finish */
    const char *last_label;
    struct claret_programs programs;
    struct claret_gemm_state gemm;
};

struct claret_ticket {
    struct claret_rt *rt;
    struct claret_ticket *next; /* among the spare ones */
    cl_event event;             /* NULL: done already */
    const char *what;           /* for errors; outlives the ticket */
};
/* From the spare ones where there are. */
enum claret_status claret_ticket_create(struct claret_rt *rt, struct claret_ticket **ticket);

struct claret_pool {
    struct claret_rt *rt;
    int count;
    uint64_t *bytes;
    cl_mem *buffers; /* NULL where bytes is 0, and in the null run time */
    void **memory;   /* the null run time's */
};

/* A launch made ready. */
struct claret_ready {
    cl_kernel kernel; /* NULL: a GEMM */
    cl_uint dims;
    size_t global[3], local[3];
    struct claret_gemm gemm;
};
struct claret_exec {
    struct claret_rt *rt;
    struct claret_pool *pool;
    const struct claret_plan *plan;
    struct claret_ready *ready;       /* plan->launch_count */
    struct claret_program **programs; /* likewise; NULL: a GEMM */
    struct claret_profile *profile;   /* profile.c; NULL until it is profiled */
    bool run_before;
    long runs;
};

/* Where a tensor lies in the pool: views resolved, `offset` and the tensor's start together, in elements. */
struct claret_where {
    int buffer;
    uint64_t offset;
};
enum claret_status claret_exec_where(const struct claret_exec *exec, const struct claret_launch *launch,
                                     int tensor, int64_t offset, struct claret_where *where);
/* The same for a GEMM's a, b, c, and its workspace (buffer -1: none), which must start its buffer, for
 * CLBlast takes no offset there. */
struct claret_gemm_where {
    struct claret_where a, b, c, workspace;
};
enum claret_status claret_exec_gemm_where(const struct claret_exec *exec, const struct claret_launch *launch,
                                          struct claret_gemm_where *where);

/* Of the OpenCL driver's table. */
enum claret_status claret_cl_pool_create(struct claret_pool *pool);
void claret_cl_pool_destroy(struct claret_pool *pool);
enum claret_status claret_cl_attach(struct claret_pool *pool, int buffer, const void *memory, uint64_t bytes);
void claret_cl_detach(struct claret_pool *pool, int buffer);
enum claret_status claret_cl_clear(struct claret_pool *pool);
enum claret_status claret_cl_read(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                  void *data);
enum claret_status claret_cl_write(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                   const void *data);
enum claret_status claret_cl_upload(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                    const void *data, const struct claret_ticket *after,
                                    struct claret_ticket *ticket);
enum claret_status claret_cl_wait(struct claret_ticket *ticket);
enum claret_status claret_cl_exec_create(struct claret_exec *exec);
void claret_cl_exec_destroy(struct claret_exec *exec);
enum claret_status claret_cl_exec_warm_up(struct claret_exec *exec, bool *ran);
enum claret_status claret_cl_exec_run(struct claret_exec *exec, const struct claret_ticket *after,
                                      struct claret_ticket *done);
enum claret_status claret_cl_exec_profile(struct claret_exec *exec, double *seconds, bool *wall);
void claret_cl_profile_destroy(struct claret_exec *exec);
/* What a run means for the cache: its programs have been launched. */
void claret_cl_exec_ran(struct claret_exec *exec);
enum claret_status claret_cl_finish(struct claret_rt *rt);
/* The error of an event that is done, if it has one. */
enum claret_status claret_cl_check_event(cl_event event, const char *what);

#endif
