/* The null run time: buffers are host memory, a run is counted and changes nothing. Plans, sessions and their
 * tests work on it with no device. */
#include <stdlib.h>
#include <string.h>

#include "rt/internal.h"

enum claret_status claret_rt_open_null(const struct claret_device_desc *desc, struct claret_rt **rt)
{
    struct claret_rt *made = calloc(1, sizeof *made);
    if (!made)
        return claret_no_memory();
    made->driver = &claret_rt_null;
    if (desc)
        made->desc = *desc;
    else
        claret_device_desc_default(&made->desc);
    made->description = "no device: nothing is computed";
    *rt = made;
    return CLARET_OK;
}

static void null_close(struct claret_rt *rt)
{
    claret_programs_finish(rt); /* the sources that were read to be hashed */
}

static enum claret_status null_pool_create(struct claret_pool *pool)
{
    for (int i = 0; i < pool->count; i++) {
        if (!pool->bytes[i])
            continue;
        pool->memory[i] = pool->bytes[i] <= SIZE_MAX ? calloc(1, (size_t)pool->bytes[i]) : NULL;
        if (!pool->memory[i])
            return claret_no_memory();
    }
    return CLARET_OK;
}

static void null_pool_destroy(struct claret_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        free(pool->memory[i]);
}

static enum claret_status null_attach(struct claret_pool *pool, int buffer, const void *memory,
                                      uint64_t bytes)
{
    pool->memory[buffer] = malloc((size_t)pool->bytes[buffer]);
    if (!pool->memory[buffer])
        return claret_no_memory();
    if (memory)
        memcpy(pool->memory[buffer], memory, (size_t)bytes);
    return CLARET_OK;
}

static void null_detach(struct claret_pool *pool, int buffer)
{
    free(pool->memory[buffer]);
    pool->memory[buffer] = NULL;
}

static enum claret_status null_clear(struct claret_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        if (pool->memory[i])
            memset(pool->memory[i], 0, (size_t)pool->bytes[i]);
    return CLARET_OK;
}

static enum claret_status null_read(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                    void *data)
{
    memcpy(data, (char *)pool->memory[buffer] + offset, (size_t)bytes);
    return CLARET_OK;
}

static enum claret_status null_write(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                     const void *data)
{
    memcpy((char *)pool->memory[buffer] + offset, data, (size_t)bytes);
    return CLARET_OK;
}

static enum claret_status null_upload(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                      const void *data, const struct claret_ticket *after,
                                      struct claret_ticket *ticket)
{
    (void)after;
    (void)ticket;
    return null_write(pool, buffer, offset, bytes, data);
}

/* The checks of places that OpenCL's side makes too, so that a bad plan is found with no device. */
static enum claret_status null_exec_create(struct claret_exec *exec)
{
    for (int i = 0; i < exec->plan->launch_count; i++) {
        const struct claret_launch *launch = &exec->plan->launches[i];
        struct claret_gemm_where gemm;
        struct claret_where where;
        if (launch->type == CLARET_LAUNCH_GEMM)
            CLARET_TRY(claret_exec_gemm_where(exec, launch, &gemm));
        for (int a = 0; launch->type == CLARET_LAUNCH_KERNEL && a < launch->kernel.arg_count; a++)
            if (launch->kernel.arg[a].type == CLARET_ARG_TENSOR)
                CLARET_TRY(claret_exec_where(exec, launch, launch->kernel.arg[a].tensor,
                                             launch->kernel.arg[a].offset, &where));
    }
    return CLARET_OK;
}

static void null_exec_destroy(struct claret_exec *exec)
{
    (void)exec;
}

static enum claret_status null_exec_warm_up(struct claret_exec *exec, bool *ran)
{
    (void)exec;
    *ran = false;
    return CLARET_OK;
}

static enum claret_status null_exec_run(struct claret_exec *exec, const struct claret_ticket *after,
                                        struct claret_ticket *done)
{
    (void)after;
    (void)done;
    exec->runs++;
    return CLARET_OK;
}

static enum claret_status null_exec_profile(struct claret_exec *exec, double *seconds, bool *wall)
{
    for (int i = 0; i < exec->plan->launch_count; i++) {
        seconds[i] = 0;
        wall[i] = true;
    }
    exec->runs++;
    return CLARET_OK;
}

static enum claret_status null_wait(struct claret_ticket *ticket)
{
    (void)ticket;
    return CLARET_OK;
}

static enum claret_status null_finish(struct claret_rt *rt)
{
    (void)rt;
    return CLARET_OK;
}

const struct claret_rt_driver claret_rt_null = {
    .close = null_close,
    .pool_create = null_pool_create,
    .pool_destroy = null_pool_destroy,
    .attach = null_attach,
    .detach = null_detach,
    .clear = null_clear,
    .read = null_read,
    .write = null_write,
    .upload = null_upload,
    .exec_create = null_exec_create,
    .exec_destroy = null_exec_destroy,
    .exec_warm_up = null_exec_warm_up,
    .exec_run = null_exec_run,
    .exec_profile = null_exec_profile,
    .wait = null_wait,
    .finish = null_finish,
};
