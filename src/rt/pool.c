/* Pools of buffers, transfers, tickets. The public functions check their arguments and go through the
 * driver's table; what follows them is OpenCL's side. */
#include <stdlib.h>

#include "rt/internal.h"

enum claret_status claret_pool_create(struct claret_rt *rt, const uint64_t *bytes, int count,
                                      struct claret_pool **pool)
{
    struct claret_pool *made = calloc(1, sizeof *made);
    size_t slots = count > 0 ? (size_t)count : 1;
    enum claret_status status;
    if (!made)
        return claret_no_memory();
    made->rt = rt;
    made->bytes = calloc(slots, sizeof *made->bytes);
    made->buffers = calloc(slots, sizeof *made->buffers);
    made->memory = calloc(slots, sizeof *made->memory);
    if (!made->bytes || !made->buffers || !made->memory) {
        status = claret_no_memory();
    } else {
        made->count = count;
        for (int i = 0; i < count; i++)
            made->bytes[i] = bytes[i];
        status = rt->driver->pool_create(made);
    }
    if (status != CLARET_OK) {
        claret_pool_destroy(made);
        return status;
    }
    *pool = made;
    return CLARET_OK;
}

void claret_pool_destroy(struct claret_pool *pool)
{
    if (!pool)
        return;
    pool->rt->driver->pool_destroy(pool);
    free(pool->bytes);
    free(pool->buffers);
    free(pool->memory);
    free(pool);
}

enum claret_status claret_pool_attach(struct claret_pool *pool, int buffer, const void *memory,
                                      uint64_t bytes)
{
    if (buffer < 0 || buffer >= pool->count || pool->bytes[buffer])
        return claret_fail(CLARET_INTERNAL, "buffer %d of %d has its memory already", buffer, pool->count);
    pool->bytes[buffer] = (bytes + 3) / 4 * 4; /* as plans count; what is past the end is never read */
    enum claret_status status = pool->rt->driver->attach(pool, buffer, memory, bytes);
    if (status != CLARET_OK)
        pool->bytes[buffer] = 0;
    return status;
}

void claret_pool_detach(struct claret_pool *pool, int buffer)
{
    pool->rt->driver->detach(pool, buffer);
    pool->bytes[buffer] = 0;
}

enum claret_status claret_pool_clear(struct claret_pool *pool)
{
    return pool->rt->driver->clear(pool);
}

static enum claret_status check_range(const struct claret_pool *pool, int buffer, uint64_t offset,
                                      uint64_t bytes)
{
    if (buffer < 0 || buffer >= pool->count)
        return claret_fail(CLARET_INTERNAL, "buffer %d of a pool that has %d", buffer, pool->count);
    if (offset > pool->bytes[buffer] || bytes > pool->bytes[buffer] - offset)
        return claret_fail(CLARET_INTERNAL, "%llu bytes at %llu of buffer %d, which has %llu bytes",
                           (unsigned long long)bytes, (unsigned long long)offset, buffer,
                           (unsigned long long)pool->bytes[buffer]);
    return CLARET_OK;
}

enum claret_status claret_pool_read(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                    void *data)
{
    CLARET_TRY(check_range(pool, buffer, offset, bytes));
    return bytes ? pool->rt->driver->read(pool, buffer, offset, bytes, data) : CLARET_OK;
}

enum claret_status claret_pool_write(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                     const void *data)
{
    CLARET_TRY(check_range(pool, buffer, offset, bytes));
    return bytes ? pool->rt->driver->write(pool, buffer, offset, bytes, data) : CLARET_OK;
}

enum claret_status claret_pool_upload(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                      const void *data, const struct claret_ticket *after,
                                      struct claret_ticket **ticket)
{
    struct claret_ticket *made = NULL;
    enum claret_status status;
    CLARET_TRY(check_range(pool, buffer, offset, bytes));
    if (!bytes)
        return claret_fail(CLARET_INTERNAL, "an upload of nothing to buffer %d", buffer);
    CLARET_TRY(claret_ticket_create(pool->rt, &made));
    status = pool->rt->driver->upload(pool, buffer, offset, bytes, data, after, made);
    if (status != CLARET_OK) {
        claret_ticket_drop(made);
        return status;
    }
    *ticket = made;
    return CLARET_OK;
}

void *claret_pool_memory(struct claret_pool *pool, int buffer)
{
    return buffer >= 0 && buffer < pool->count ? pool->memory[buffer] : NULL;
}

enum claret_status claret_ticket_create(struct claret_rt *rt, struct claret_ticket **ticket)
{
    struct claret_ticket *made = rt->spare;
    if (made) {
        rt->spare = made->next;
    } else {
        made = malloc(sizeof *made);
        if (!made)
            return claret_no_memory();
    }
    *made = (struct claret_ticket){.rt = rt, .what = ""};
    *ticket = made;
    return CLARET_OK;
}

void claret_ticket_drop(struct claret_ticket *ticket)
{
    if (!ticket)
        return;
    claret_cl_release_event(&ticket->event);
    ticket->next = ticket->rt->spare;
    ticket->rt->spare = ticket;
}

enum claret_status claret_ticket_wait(struct claret_ticket *ticket)
{
    enum claret_status status;
    if (!ticket)
        return CLARET_OK;
    status = ticket->rt->driver->wait(ticket);
    claret_ticket_drop(ticket);
    return status;
}

/* ---- OpenCL -------------------------------------------------------------------------------------------- */

static uint64_t total_bytes(const struct claret_pool *pool)
{
    uint64_t total = 0;
    for (int i = 0; i < pool->count; i++)
        total += pool->bytes[i];
    return total;
}

static enum claret_status out_of_memory(const struct claret_pool *pool, int buffer, cl_int code,
                                        const char *call)
{
    char bytes[32], total[32], limit[32];
    return claret_cl_fail(
        CLARET_DEVICE_MEMORY, code, call,
        "allocating buffer %d of %d on the device: %s (%llu bytes) of %s together; the device "
        "says it has %s. A smaller batch needs less",
        buffer + 1, pool->count, claret_format_bytes(pool->bytes[buffer], bytes),
        (unsigned long long)pool->bytes[buffer], claret_format_bytes(total_bytes(pool), total),
        claret_format_bytes(pool->rt->desc.global_mem, limit));
}

static enum claret_status clear_buffer(struct claret_pool *pool, int buffer)
{
    struct claret_rt *rt = pool->rt;
    const cl_uint zero = 0;
    uint64_t bytes = pool->bytes[buffer];
    cl_int code = clEnqueueFillBuffer(rt->compute, pool->buffers[buffer], &zero,
                                      bytes % sizeof zero ? 1 : sizeof zero, 0, (size_t)bytes, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        return out_of_memory(pool, buffer, code, "clEnqueueFillBuffer");
    code = clFinish(rt->compute);
    return code == CL_SUCCESS ? CLARET_OK : out_of_memory(pool, buffer, code, "clFinish");
}

/* Filled with zeros, which also makes drivers that allocate at the first use do it here, where it can be
 * told.
 */
static enum claret_status make_buffer(struct claret_pool *pool, int buffer)
{
    struct claret_rt *rt = pool->rt;
    uint64_t bytes = pool->bytes[buffer];
    cl_int code;
    if (bytes > SIZE_MAX)
        return out_of_memory(pool, buffer, CL_INVALID_BUFFER_SIZE, "clCreateBuffer");
    pool->buffers[buffer] = clCreateBuffer(rt->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
    if (code != CL_SUCCESS) {
        pool->buffers[buffer] = NULL;
        return out_of_memory(pool, buffer, code, "clCreateBuffer");
    }
    claret_cl_created(CLARET_CL_BUFFER);
    return clear_buffer(pool, buffer);
}

enum claret_status claret_cl_attach(struct claret_pool *pool, int buffer, const void *memory, uint64_t bytes)
{
    cl_int code;
    pool->buffers[buffer] = clCreateBuffer(pool->rt->context, memory ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE,
                                           (size_t)bytes, NULL, &code);
    if (code != CL_SUCCESS) {
        pool->buffers[buffer] = NULL;
        return out_of_memory(pool, buffer, code, "clCreateBuffer");
    }
    claret_cl_created(CLARET_CL_BUFFER);
    enum claret_status status = memory ? claret_cl_write(pool, buffer, 0, bytes, memory) : CLARET_OK;
    if (status != CLARET_OK)
        claret_cl_release_buffer(&pool->buffers[buffer]);
    return status;
}

void claret_cl_detach(struct claret_pool *pool, int buffer)
{
    clFinish(pool->rt->compute);
    claret_cl_release_buffer(&pool->buffers[buffer]);
}

enum claret_status claret_cl_clear(struct claret_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        if (pool->bytes[i])
            CLARET_TRY(clear_buffer(pool, i));
    return CLARET_OK;
}

enum claret_status claret_cl_pool_create(struct claret_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        if (pool->bytes[i])
            CLARET_TRY(make_buffer(pool, i));
    return CLARET_OK;
}

void claret_cl_pool_destroy(struct claret_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        claret_cl_release_buffer(&pool->buffers[i]);
}

enum claret_status claret_cl_read(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                  void *data)
{
    struct claret_rt *rt = pool->rt;
    CLARET_CL_TRY(
        clEnqueueReadBuffer,
        (rt->compute, pool->buffers[buffer], CL_TRUE, (size_t)offset, (size_t)bytes, data, 0, NULL, NULL),
        "reading %llu bytes back from buffer %d", (unsigned long long)bytes, buffer);
    if (rt->last)
        CLARET_TRY(claret_cl_check_event(rt->last, rt->last_label));
    return CLARET_OK;
}

enum claret_status claret_cl_write(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                   const void *data)
{
    CLARET_CL_TRY(clEnqueueWriteBuffer,
                  (pool->rt->compute, pool->buffers[buffer], CL_TRUE, (size_t)offset, (size_t)bytes, data, 0,
                   NULL, NULL),
                  "writing %llu bytes to buffer %d", (unsigned long long)bytes, buffer);
    return CLARET_OK;
}

enum claret_status claret_cl_upload(struct claret_pool *pool, int buffer, uint64_t offset, uint64_t bytes,
                                    const void *data, const struct claret_ticket *after,
                                    struct claret_ticket *ticket)
{
    struct claret_rt *rt = pool->rt;
    bool wait = after && after->event;
    CLARET_CL_TRY(clEnqueueWriteBuffer,
                  (rt->upload, pool->buffers[buffer], CL_FALSE, (size_t)offset, (size_t)bytes, data, wait,
                   wait ? &after->event : NULL, &ticket->event),
                  "uploading %llu bytes to buffer %d", (unsigned long long)bytes, buffer);
    claret_cl_created(CLARET_CL_EVENT);
    ticket->what = "an upload";
    /* What waits for it is on another queue: without a flush it could wait for ever. */
    CLARET_CL_TRY(clFlush, (rt->upload), "uploading to buffer %d", buffer);
    return CLARET_OK;
}

enum claret_status claret_cl_check_event(cl_event event, const char *what)
{
    cl_int state = CL_COMPLETE;
    CLARET_CL_TRY(clGetEventInfo, (event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
                  "asking how %s ended", what);
    if (state < 0)
        return claret_cl_fail(CLARET_OPENCL, state, "the device", "running %s", what);
    return CLARET_OK;
}

enum claret_status claret_cl_wait(struct claret_ticket *ticket)
{
    cl_int code;
    if (!ticket->event)
        return CLARET_OK;
    code = clWaitForEvents(1, &ticket->event);
    if (code == CL_SUCCESS || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        CLARET_TRY(claret_cl_check_event(ticket->event, ticket->what));
    if (code != CL_SUCCESS)
        return claret_cl_fail(CLARET_OPENCL, code, "clWaitForEvents", "waiting for %s", ticket->what);
    return CLARET_OK;
}
