/* Plans made ready and run: where tensors lie, arguments and work-groups set once, one walk over the launches
 * a step. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "rt/internal.h"

enum claret_status claret_exec_create(struct claret_pool *pool, const struct claret_plan *plan,
                                      struct claret_exec **exec)
{
    struct claret_exec *made = calloc(1, sizeof *made);
    size_t slots = plan->launch_count > 0 ? (size_t)plan->launch_count : 1;
    enum claret_status status;
    if (!made)
        return claret_no_memory();
    made->rt = pool->rt;
    made->pool = pool;
    made->plan = plan;
    made->ready = calloc(slots, sizeof *made->ready);
    made->programs = calloc(slots, sizeof *made->programs);
    status = made->ready && made->programs ? pool->rt->driver->exec_create(made) : claret_no_memory();
    if (status != CLARET_OK) {
        claret_exec_destroy(made);
        return status;
    }
    *exec = made;
    return CLARET_OK;
}

void claret_exec_destroy(struct claret_exec *exec)
{
    if (!exec)
        return;
    if (exec->ready)
        exec->rt->driver->exec_destroy(exec);
    free(exec->ready);
    free(exec->programs);
    free(exec);
}

enum claret_status claret_exec_warm_up(struct claret_exec *exec, bool *ran)
{
    return exec->rt->driver->exec_warm_up(exec, ran);
}

enum claret_status claret_exec_run(struct claret_exec *exec, const struct claret_ticket *after,
                                   struct claret_ticket **done)
{
    struct claret_ticket *ticket = NULL;
    enum claret_status status;
    if (done)
        CLARET_TRY(claret_ticket_create(exec->rt, &ticket));
    status = exec->rt->driver->exec_run(exec, after, ticket);
    if (status != CLARET_OK) {
        claret_ticket_drop(ticket);
        return status;
    }
    if (done)
        *done = ticket;
    return CLARET_OK;
}

enum claret_status claret_exec_run_profiled(struct claret_exec *exec, double *seconds, bool *wall)
{
    return exec->rt->driver->exec_profile(exec, seconds, wall);
}

long claret_exec_runs(const struct claret_exec *exec)
{
    return exec->rt->driver == &claret_rt_null ? exec->runs : -1;
}

enum claret_status claret_exec_where(const struct claret_exec *exec, const struct claret_launch *launch,
                                     int tensor, int64_t offset, struct claret_where *where)
{
    const struct claret_plan *plan = exec->plan;
    const struct claret_place *place;
    uint64_t size;
    int64_t elements = offset;
    int id = tensor;
    if (id < 0 || id >= plan->tensor_count)
        return claret_fail(CLARET_INTERNAL, "%s: tensor %d of %d", launch->label, id, plan->tensor_count);
    size = plan->tensors[id].dtype == CLARET_DTYPE_U8 ? 1 : 4;
    for (; plan->tensors[id].base >= 0; id = plan->tensors[id].base)
        elements += plan->tensors[id].base_offset;
    place = &plan->places[id];
    if (place->buffer < 0 || place->buffer >= exec->pool->count ||
        place->offset > exec->pool->bytes[place->buffer] ||
        place->bytes > exec->pool->bytes[place->buffer] - place->offset || place->offset % size ||
        elements < 0 || (uint64_t)elements * size > place->bytes)
        return claret_fail(CLARET_INTERNAL, "%s: tensor %d (%s), element %lld, lies outside its buffer",
                           launch->label, tensor, plan->tensors[id].name, (long long)elements);
    where->buffer = place->buffer;
    where->offset = place->offset / size + (uint64_t)elements;
    return CLARET_OK;
}

enum claret_status claret_exec_gemm_where(const struct claret_exec *exec, const struct claret_launch *launch,
                                          struct claret_gemm_where *where)
{
    const struct claret_gemm_call *call = &launch->gemm;
    CLARET_TRY(claret_exec_where(exec, launch, call->a.tensor, call->a.offset, &where->a));
    CLARET_TRY(claret_exec_where(exec, launch, call->b.tensor, call->b.offset, &where->b));
    CLARET_TRY(claret_exec_where(exec, launch, call->c.tensor, call->c.offset, &where->c));
    where->workspace.buffer = -1;
    if (call->workspace < 0)
        return CLARET_OK;
    CLARET_TRY(claret_exec_where(exec, launch, call->workspace, 0, &where->workspace));
    if (where->workspace.offset)
        return claret_fail(CLARET_INTERNAL, "%s: the GEMM's workspace does not start its buffer",
                           launch->label);
    return CLARET_OK;
}

/* ---- OpenCL -------------------------------------------------------------------------------------------- */

static enum claret_status set_arguments(const struct claret_exec *exec, const struct claret_launch *launch,
                                        cl_kernel kernel)
{
    const struct claret_kernel_call *call = &launch->kernel;
    cl_uint index = 0;
    for (int i = 0; i < call->arg_count; i++) {
        const struct claret_arg *arg = &call->arg[i];
        if (arg->type == CLARET_ARG_TENSOR) {
            struct claret_where where;
            cl_ulong offset;
            CLARET_TRY(claret_exec_where(exec, launch, arg->tensor, arg->offset, &where));
            offset = where.offset;
            CLARET_CL_TRY(clSetKernelArg, (kernel, index, sizeof(cl_mem), &exec->pool->buffers[where.buffer]),
                          "%s: argument %d of kernel %s", launch->label, i, call->entry);
            index++;
            CLARET_CL_TRY(clSetKernelArg, (kernel, index, sizeof offset, &offset),
                          "%s: argument %d of kernel %s", launch->label, i, call->entry);
        } else if (arg->type == CLARET_ARG_INT) {
            cl_int value = arg->i;
            CLARET_CL_TRY(clSetKernelArg, (kernel, index, sizeof value, &value),
                          "%s: argument %d of kernel %s", launch->label, i, call->entry);
        } else {
            cl_float value = arg->f;
            CLARET_CL_TRY(clSetKernelArg, (kernel, index, sizeof value, &value),
                          "%s: argument %d of kernel %s", launch->label, i, call->entry);
        }
        index++;
    }
    return CLARET_OK;
}

/* Halves the wish, largest dimension first, until device and kernel allow it; `fixed` ones must be allowed as
 * they are. */
static enum claret_status fit_groups(const struct claret_rt *rt, const struct claret_launch *launch,
                                     struct claret_ready *ready)
{
    const struct claret_kernel_call *call = &launch->kernel;
    const struct claret_device_desc *desc = &rt->desc;
    size_t limit = 1, *local = ready->local;
    cl_ulong memory = 0;
    bool changed = false;
    CLARET_CL_TRY(clGetKernelWorkGroupInfo,
                  (ready->kernel, rt->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit, NULL),
                  "%s: asking for kernel %s's limit", launch->label, call->entry);
    CLARET_CL_TRY(clGetKernelWorkGroupInfo,
                  (ready->kernel, rt->device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof memory, &memory, NULL),
                  "%s: asking for kernel %s's local memory", launch->label, call->entry);
    if (memory > desc->local_mem)
        return claret_fail(CLARET_OPENCL, "%s: kernel %s needs %llu bytes of local memory, %s has %llu",
                           launch->label, call->entry, (unsigned long long)memory, desc->name,
                           (unsigned long long)desc->local_mem);
    if (call->fixed) {
        /* Compiled for just this size it runs in it, whatever the driver says of other sizes (rusticl: less).
         */
        size_t compiled[3] = {0};
        CLARET_CL_TRY(
            clGetKernelWorkGroupInfo,
            (ready->kernel, rt->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof compiled, compiled, NULL),
            "%s: asking for the group that kernel %s was compiled for", launch->label, call->entry);
        if (compiled[0] == call->local[0] && compiled[1] * compiled[2] == 1)
            limit = compiled[0];
    }
    if (limit > desc->max_work_group)
        limit = desc->max_work_group;
    if (!limit)
        limit = 1;
    for (int d = 0; d < 3; d++) {
        local[d] = d < call->dims && call->local[d] ? call->local[d] : 1;
        for (; local[d] > desc->max_item[d] && local[d] > 1; local[d] /= 2)
            changed = true;
    }
    for (; local[0] * local[1] * local[2] > limit; changed = true) {
        int largest = local[1] > local[0] ? 1 : 0;
        if (local[2] > local[largest])
            largest = 2;
        local[largest] /= 2;
    }
    if (call->fixed && changed)
        return claret_fail(
            CLARET_OPENCL,
            "%s: kernel %s needs work-groups of %zux%zux%zu work-items; on %s it allows %zu in a "
            "group (the device at most %zu, by dimension %zux%zux%zu)",
            launch->label, call->entry, call->local[0], call->dims > 1 ? call->local[1] : 1,
            call->dims > 2 ? call->local[2] : 1, desc->name, limit, desc->max_work_group, desc->max_item[0],
            desc->max_item[1], desc->max_item[2]);
    for (int d = 0; d < 3; d++) {
        size_t items = d < call->dims ? call->items[d] : 1;
        if (!items)
            return claret_fail(CLARET_INTERNAL, "%s: no work-items in dimension %d", launch->label, d);
        ready->global[d] = (items + local[d] - 1) / local[d] * local[d];
    }
    ready->dims = (cl_uint)call->dims;
    return CLARET_OK;
}

static enum claret_status make_kernel(struct claret_exec *exec, int index)
{
    const struct claret_launch *launch = &exec->plan->launches[index];
    const struct claret_kernel_call *call = &launch->kernel;
    struct claret_ready *ready = &exec->ready[index];
    cl_int code;
    if (call->dims < 1 || call->dims > 3)
        return claret_fail(CLARET_INTERNAL, "%s: %d dimensions", launch->label, call->dims);
    ready->kernel = clCreateKernel(exec->programs[index]->handle, call->entry, &code);
    if (code != CL_SUCCESS) {
        ready->kernel = NULL;
        return claret_cl_fail(CLARET_BUILD, code, "clCreateKernel", "%s: kernel %s of %s.cl", launch->label,
                              call->entry, call->source);
    }
    claret_cl_created(CLARET_CL_KERNEL);
    CLARET_TRY(set_arguments(exec, launch, ready->kernel));
    return fit_groups(exec->rt, launch, ready);
}

static enum claret_status make_gemm(struct claret_exec *exec, int index)
{
    const struct claret_launch *launch = &exec->plan->launches[index];
    struct claret_gemm *gemm = &exec->ready[index].gemm;
    struct claret_gemm_where where;
    size_t need;
    if (!exec->rt->desc.clblast)
        return claret_fail(CLARET_INTERNAL, "%s: planned for CLBlast, which is not applicable: %s",
                           launch->label, exec->rt->desc.clblast_reason);
    CLARET_TRY(claret_exec_gemm_where(exec, launch, &where));
    need = claret_gemm_workspace(exec->rt, &launch->gemm);
    *gemm = (struct claret_gemm){.call = &launch->gemm,
                                 .a = exec->pool->buffers[where.a.buffer],
                                 .b = exec->pool->buffers[where.b.buffer],
                                 .c = exec->pool->buffers[where.c.buffer],
                                 .a_offset = (size_t)where.a.offset,
                                 .b_offset = (size_t)where.b.offset,
                                 .c_offset = (size_t)where.c.offset,
                                 .kind = claret_gemm_kind(&launch->gemm, need > 0)};
    if (need && where.workspace.buffer < 0)
        return claret_fail(CLARET_INTERNAL, "%s: planned without the %zu bytes of workspace it needs",
                           launch->label, need);
    if (need && exec->pool->bytes[where.workspace.buffer] < need)
        return claret_fail(CLARET_INTERNAL, "%s: needs %zu bytes of workspace, planned with %llu",
                           launch->label, need,
                           (unsigned long long)exec->pool->bytes[where.workspace.buffer]);
    if (need)
        gemm->temporary = exec->pool->buffers[where.workspace.buffer];
    return CLARET_OK;
}

enum claret_status claret_cl_exec_create(struct claret_exec *exec)
{
    const struct claret_plan *plan = exec->plan;
    for (int i = 0; i < plan->launch_count; i++)
        if (plan->launches[i].type == CLARET_LAUNCH_KERNEL)
            CLARET_TRY(claret_programs_find(exec->rt, &plan->launches[i].kernel, &exec->programs[i]));
    CLARET_TRY(claret_programs_build(exec->rt));
    for (int i = 0; i < plan->launch_count; i++)
        CLARET_TRY(exec->programs[i] ? make_kernel(exec, i) : make_gemm(exec, i));
    return CLARET_OK;
}

void claret_cl_exec_destroy(struct claret_exec *exec)
{
    for (int i = 0; i < exec->plan->launch_count; i++)
        claret_cl_release_kernel(&exec->ready[i].kernel);
    claret_cl_profile_destroy(exec);
    exec->rt->last_label = "a plan's last launch"; /* the labels go with their plan */
}

static enum claret_status enqueue(struct claret_exec *exec, cl_uint waits, const cl_event *after,
                                  cl_event *end)
{
    struct claret_rt *rt = exec->rt;
    const struct claret_launch *launches = exec->plan->launches;
    int count = exec->plan->launch_count;
    bool open = true; /* `after` has still to be waited for */
    for (int i = 0; i < count; i++) {
        const struct claret_ready *ready = &exec->ready[i];
        cl_event *event = i == count - 1 ? end : NULL;
        bool wait = open && waits;
        if (ready->kernel) {
            CLARET_CL_TRY(clEnqueueNDRangeKernel,
                          (rt->compute, ready->kernel, ready->dims, NULL, ready->global, ready->local,
                           wait ? waits : 0, wait ? after : NULL, event),
                          "running %s", launches[i].label);
        } else { /* CLBlast takes no events to wait for */
            if (wait)
                CLARET_CL_TRY(clEnqueueBarrierWithWaitList, (rt->compute, waits, after, NULL), "running %s",
                              launches[i].label);
            CLARET_TRY(claret_gemm_enqueue(rt, &ready->gemm, launches[i].label));
        }
        open = false;
    }
    if (!count || !exec->ready[count - 1].kernel)
        CLARET_CL_TRY(clEnqueueMarkerWithWaitList,
                      (rt->compute, open ? waits : 0, open && waits ? after : NULL, end), "ending a step");
    claret_cl_created(CLARET_CL_EVENT);
    return CLARET_OK;
}

/* Whether launch `index` is the first of its program and work-group size that may still be compiled. */
static bool cold(const struct claret_exec *exec, int index)
{
    const struct claret_program *program = exec->programs[index];
    const struct claret_ready *ready = &exec->ready[index];
    if (!program)
        return !(exec->rt->gemm.kinds >> ready->gemm.kind & 1);
    if (program->from_cache || program->launched)
        return false;
    for (int i = 0; i < index; i++)
        if (exec->programs[i] == program && !memcmp(exec->ready[i].local, ready->local, sizeof ready->local))
            return false;
    return true;
}

enum claret_status claret_cl_exec_warm_up(struct claret_exec *exec, bool *ran)
{
    struct claret_rt *rt = exec->rt;
    const struct claret_launch *launches = exec->plan->launches;
    int count = 0, number = 0;
    for (int i = 0; i < exec->plan->launch_count; i++)
        count += exec->programs[i] && cold(exec, i);
    for (int i = 0; i < exec->plan->launch_count; i++) {
        const struct claret_ready *ready = &exec->ready[i];
        if (!cold(exec, i))
            continue;
        if (ready->kernel) {
            claret_info("finishing program %d of %d (%s)", ++number, count, exec->programs[i]->name);
            CLARET_CL_TRY(
                clEnqueueNDRangeKernel,
                (rt->compute, ready->kernel, ready->dims, NULL, ready->global, ready->local, 0, NULL, NULL),
                "running %s", launches[i].label);
        } else {
            CLARET_TRY(claret_gemm_enqueue(rt, &ready->gemm, launches[i].label));
        }
        CLARET_CL_TRY(clFinish, (rt->compute), "running %s for the first time", launches[i].label);
        *ran = true;
    }
    return CLARET_OK;
}

void claret_cl_exec_ran(struct claret_exec *exec)
{
    for (int i = 0; !exec->run_before && i < exec->plan->launch_count; i++)
        if (exec->programs[i])
            exec->programs[i]->launched = true;
    exec->run_before = true;
}

enum claret_status claret_cl_exec_run(struct claret_exec *exec, const struct claret_ticket *after,
                                      struct claret_ticket *done)
{
    struct claret_rt *rt = exec->rt;
    int count = exec->plan->launch_count;
    cl_event end = NULL;
    bool wait = after && after->event;
    CLARET_TRY(enqueue(exec, wait, wait ? &after->event : NULL, &end));
    claret_cl_release_event(&rt->last);
    rt->last = end;
    rt->last_label = count ? exec->plan->launches[count - 1].label : "nothing";
    /* Other queues wait for this one: without a flush they could wait for ever. */
    CLARET_CL_TRY(clFlush, (rt->compute), "running %d launches", count);
    claret_cl_exec_ran(exec);
    if (done) {
        CLARET_CL_TRY(clRetainEvent, (end), "running %d launches", count);
        claret_cl_created(CLARET_CL_EVENT);
        done->event = end;
        done->what = "a step's launches";
    }
    return CLARET_OK;
}

enum claret_status claret_cl_finish(struct claret_rt *rt)
{
    CLARET_CL_TRY(clFinish, (rt->compute), "waiting for what was enqueued");
    CLARET_CL_TRY(clFinish, (rt->upload), "waiting for uploads");
    if (rt->last)
        CLARET_TRY(claret_cl_check_event(rt->last, rt->last_label));
    return CLARET_OK;
}
