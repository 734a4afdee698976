/* Runs that time each launch. */
#include <stdlib.h>

#include "base/clock.h"
#include "rt/internal.h"

/* A time may be so much longer than the wall clock's: the two clocks are not one. */
#define CLOCK_FACTOR 1.1
#define CLOCK_SLACK 1e-5 /* seconds */
/* No device starts and ends a launch in less: some drivers stamp both ends when the host has finished. */
#define LEAST 50 /* nanoseconds */

struct claret_profile {
    cl_event *events; /* of the run under way; NULL: none */
    double *seconds;  /* by the last run */
    bool *wall;       /* events say nothing of this launch: it is timed by the wall clock, alone */
    bool known;       /* `wall` has been found out */
};

void claret_cl_profile_destroy(struct claret_exec *exec)
{
    struct claret_profile *profile = exec->profile;
    if (!profile)
        return;
    free(profile->events);
    free(profile->seconds);
    free(profile->wall);
    free(profile);
    exec->profile = NULL;
}

/* Where the device gives no queue with profiling, the events of a plain one say nothing and all is timed by
 * the wall clock. */
static enum claret_status open_queue(struct claret_rt *rt)
{
    static const cl_command_queue_properties wishes[] = {CL_QUEUE_PROFILING_ENABLE, 0};
    cl_int code = CL_SUCCESS;
    for (int i = 0; !rt->profiling && i < 2; i++) {
        rt->profiling = clCreateCommandQueue(rt->context, rt->device, wishes[i], &code);
        if (code == CL_SUCCESS)
            claret_cl_created(CLARET_CL_QUEUE);
        else
            rt->profiling = NULL;
    }
    if (!rt->profiling)
        return claret_cl_fail(CLARET_OPENCL, code, "clCreateCommandQueue", "profiling on %s", rt->desc.name);
    return CLARET_OK;
}

static enum claret_status prepare(struct claret_exec *exec)
{
    size_t slots = (size_t)exec->plan->launch_count + 1;
    struct claret_profile *profile = exec->profile;
    CLARET_TRY(open_queue(exec->rt));
    if (profile)
        return CLARET_OK;
    exec->profile = profile = calloc(1, sizeof *profile);
    if (!profile)
        return claret_no_memory();
    profile->events = calloc(slots, sizeof(cl_event));
    profile->seconds = calloc(slots, sizeof(double));
    profile->wall = calloc(slots, sizeof(bool));
    if (!profile->events || !profile->seconds || !profile->wall) {
        claret_cl_profile_destroy(exec);
        return claret_no_memory();
    }
    for (int i = 0; i < exec->plan->launch_count; i++)
        profile->wall[i] = !exec->ready[i].kernel;
    return CLARET_OK;
}

static enum claret_status launch(struct claret_exec *exec, int index)
{
    struct claret_rt *rt = exec->rt;
    const struct claret_ready *ready = &exec->ready[index];
    const char *label = exec->plan->launches[index].label;
    if (!ready->kernel)
        return claret_gemm_enqueue(rt, &ready->gemm, label);
    CLARET_CL_TRY(clEnqueueNDRangeKernel,
                  (rt->profiling, ready->kernel, ready->dims, NULL, ready->global, ready->local, 0, NULL,
                   &exec->profile->events[index]),
                  "running %s", label);
    claret_cl_created(CLARET_CL_EVENT);
    return CLARET_OK;
}

static enum claret_status finish(const struct claret_exec *exec, int index)
{
    const char *label = exec->plan->launches[index].label;
    CLARET_CL_TRY(clFinish, (exec->rt->profiling), "running %s", label);
    if (!exec->ready[index].kernel)
        CLARET_CL_TRY(clFinish, (exec->rt->compute), "running %s", label);
    return CLARET_OK;
}

/* One after the other without a wait between them, but around those that the wall clock times. */
static enum claret_status run(struct claret_exec *exec, double *elapsed)
{
    struct claret_profile *profile = exec->profile;
    int count = exec->plan->launch_count;
    double begin = claret_clock();
    for (int i = 0; i < count; i++) {
        bool alone = profile->wall[i] || !profile->known;
        if (alone && i > 0)
            CLARET_TRY(finish(exec, i - 1));
        double start = claret_clock();
        CLARET_TRY(launch(exec, i));
        if (!alone)
            continue;
        CLARET_TRY(finish(exec, i));
        profile->seconds[i] = claret_clock() - start;
    }
    if (count > 0)
        CLARET_TRY(finish(exec, count - 1));
    *elapsed = claret_clock() - begin;
    return CLARET_OK;
}

/* The device time of a launch; false: the driver does not tell one that can be. */
static bool device_time(cl_event event, double most, double *seconds)
{
    cl_ulong start = 0, end = 0;
    if (clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) !=
            CL_SUCCESS ||
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) != CL_SUCCESS ||
        end < start || end - start < LEAST)
        return false;
    *seconds = 1e-9 * (double)(end - start);
    return *seconds <= most * CLOCK_FACTOR + CLOCK_SLACK;
}

static enum claret_status read_times(struct claret_exec *exec, double elapsed)
{
    struct claret_profile *profile = exec->profile;
    for (int i = 0; i < exec->plan->launch_count; i++) {
        double seconds;
        if (!profile->events[i])
            continue;
        CLARET_TRY(claret_cl_check_event(profile->events[i], exec->plan->launches[i].label));
        if (profile->wall[i])
            continue;
        /* A launch that could be told before keeps the time it had then, should it fail later on. */
        if (device_time(profile->events[i], elapsed, &seconds))
            profile->seconds[i] = seconds;
        else
            profile->wall[i] = true;
    }
    profile->known = true;
    return CLARET_OK;
}

enum claret_status claret_cl_exec_profile(struct claret_exec *exec, double *seconds, bool *wall)
{
    double elapsed = 0;
    enum claret_status status;
    CLARET_TRY(prepare(exec));
    CLARET_TRY(claret_cl_finish(exec->rt));
    status = run(exec, &elapsed);
    if (status == CLARET_OK)
        status = read_times(exec, elapsed);
    else
        clFinish(exec->rt->profiling);
    for (int i = 0; i < exec->plan->launch_count; i++) {
        claret_cl_release_event(&exec->profile->events[i]);
        seconds[i] = exec->profile->seconds[i];
        wall[i] = exec->profile->wall[i];
    }
    if (status == CLARET_OK)
        claret_cl_exec_ran(exec);
    return status;
}
