/* In the child: tries a device with small kernels whose answers are known. */
#include "rt/child.h"

#include <math.h>
#include <string.h>

#include "base/embedded.h"
#include "rt/cl.h"
#include "rt/resolve.h"

#define GROUP 64 /* largest work-group tried; cl/probe.cl has room for it */
#define GROUPS 3
#define ITEMS_MAX (GROUP * GROUPS)
#define SHIFT 3 /* elements before a tensor's start, to try offsets */
/* Of a loop: llvmpipe ends an item's loops after 65535 rounds, whatever they say. */
#define ROUNDS (1 << 17)
#define LOG_LINES 4
#define LOG_BYTES 400

enum { X, K, SUM, POWER, MIXED, TENSORS };

struct trial {
    const struct claret_child *child;
    size_t index;
    cl_device_id device;
    struct claret_text *reason;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel, loop;
    cl_mem buffers[TENSORS];    /* SHIFT + items elements of 4 bytes */
    size_t group;               /* work-items in a group */
    cl_int items;               /* the last work-item of the last group has nothing to do */
    float x[SHIFT + ITEMS_MAX]; /* what the buffers hold: SHIFT elements nobody reads, then items */
    cl_uint k[SHIFT + ITEMS_MAX];
};

/* false, with the reason, when `code` is an error. */
static bool check(struct trial *trial, cl_int code, const char *call)
{
    if (code != CL_SUCCESS)
        claret_text_add(trial->reason, "%s returned %s (%d)", call, claret_cl_name(code), (int)code);
    return code == CL_SUCCESS;
}

static void step(struct trial *trial, const char *what)
{
    claret_child_step(trial->child, trial->index, what);
}

/* What the device says of itself is enough to refuse it. */
static bool suitable(struct trial *trial)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little = CL_FALSE;
    char *language = claret_query_device(trial->device, CL_DEVICE_OPENCL_C_VERSION);
    int major = 0, minor = 0;

    clGetDeviceInfo(trial->device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    clGetDeviceInfo(trial->device, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    clGetDeviceInfo(trial->device, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL);
    if (language != NULL)
        sscanf(language, "OpenCL C %d.%d", &major, &minor);
    if (!available)
        claret_text_add(trial->reason, "the device is not available (CL_DEVICE_AVAILABLE is false)");
    else if (!compiler)
        claret_text_add(trial->reason, "its driver has no compiler (CL_DEVICE_COMPILER_AVAILABLE is false)");
    else if (!little)
        claret_text_add(trial->reason, "the device is big-endian");
    else if (major < 1 || (major == 1 && minor < 2))
        claret_text_add(trial->reason, "it compiles \"%s\", and OpenCL C 1.2 is needed",
                        language == NULL ? "" : language);
    free(language);
    return trial->reason->size == 0;
}

static const char *embedded(const char *name)
{
    const struct claret_embedded *file = claret_kernel_files;
    while (file->name != NULL && strcmp(file->name, name) != 0)
        file++;
    return file->text;
}

/* Adds the first lines of the build log. */
static void add_log(struct trial *trial)
{
    size_t size = 0;
    clGetProgramBuildInfo(trial->program, trial->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(size + 1, 1);
    if (log == NULL)
        return;
    clGetProgramBuildInfo(trial->program, trial->device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    if (strlen(log) > LOG_BYTES)
        log[LOG_BYTES] = '\0';
    char *rest = log, *line;
    for (int lines = 0; lines < LOG_LINES && (line = strtok_r(rest, "\n", &rest)) != NULL; lines++) {
        char *clean = claret_devices_clean(line);
        claret_text_add(trial->reason, "%s%s", lines == 0 ? ": " : " | ", clean == NULL ? "" : clean);
        free(clean);
    }
    free(log);
}

static bool build(struct trial *trial)
{
    const char *sources[] = {embedded("common.clh"), embedded("probe.cl")};
    cl_int code;

    step(trial, "opening it");
    trial->context = clCreateContext(NULL, 1, &trial->device, NULL, NULL, &code);
    if (!check(trial, code, "clCreateContext"))
        return false;
    trial->queue = clCreateCommandQueue(trial->context, trial->device, 0, &code);
    if (!check(trial, code, "clCreateCommandQueue"))
        return false;

    step(trial, "building the probe kernel");
    trial->program = clCreateProgramWithSource(trial->context, 2, sources, NULL, &code);
    if (!check(trial, code, "clCreateProgramWithSource"))
        return false;
    code = clBuildProgram(trial->program, 1, &trial->device, "-cl-std=CL1.2", NULL, NULL);
    if (code != CL_SUCCESS) {
        claret_text_add(trial->reason, "the probe kernel failed to build (%s)", claret_cl_name(code));
        add_log(trial);
        return false;
    }
    trial->kernel = clCreateKernel(trial->program, "claret_probe", &code);
    return check(trial, code, "clCreateKernel");
}

/* The largest power of two that device and kernel allow, GROUP at most. */
static bool choose_group(struct trial *trial)
{
    size_t of_device = 0, of_kernel = 0, of_items[16] = {0};

    if (!check(
            trial,
            clGetDeviceInfo(trial->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof of_device, &of_device, NULL),
            "clGetDeviceInfo") ||
        !check(trial,
               clGetDeviceInfo(trial->device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof of_items, of_items, NULL),
               "clGetDeviceInfo") ||
        !check(trial,
               clGetKernelWorkGroupInfo(trial->kernel, trial->device, CL_KERNEL_WORK_GROUP_SIZE,
                                        sizeof of_kernel, &of_kernel, NULL),
               "clGetKernelWorkGroupInfo"))
        return false;
    trial->group = GROUP;
    while (trial->group > 1 &&
           (trial->group > of_device || trial->group > of_kernel || trial->group > of_items[0]))
        trial->group /= 2;
    trial->items = (cl_int)(trial->group * GROUPS) - 1;
    return true;
}

static bool set_arguments(struct trial *trial)
{
    const cl_ulong offset = SHIFT;
    cl_int code = CL_SUCCESS;
    cl_uint argument = 0;

    for (int i = 0; i < TENSORS && code == CL_SUCCESS; i++) {
        code = clSetKernelArg(trial->kernel, argument++, sizeof trial->buffers[i], &trial->buffers[i]);
        if (code == CL_SUCCESS)
            code = clSetKernelArg(trial->kernel, argument++, sizeof offset, &offset);
    }
    if (code == CL_SUCCESS)
        code = clSetKernelArg(trial->kernel, argument, sizeof trial->items, &trial->items);
    return check(trial, code, "clSetKernelArg");
}

/* From the buffer's start: Oclgrind takes what a write at an offset brings for uninitialised. */
static bool write_whole(struct trial *trial, int tensor, const void *data)
{
    return check(trial,
                 clEnqueueWriteBuffer(trial->queue, trial->buffers[tensor], CL_TRUE, 0,
                                      ((size_t)trial->items + SHIFT) * 4, data, 0, NULL, NULL),
                 "clEnqueueWriteBuffer");
}

static bool run(struct trial *trial)
{
    size_t size = ((size_t)trial->items + SHIFT) * 4, global = trial->group * GROUPS;
    cl_int code;

    step(trial, "running the probe kernel");
    for (cl_int i = 0; i < trial->items; i++) {
        trial->x[SHIFT + i] = (float)(i * 7 % 16);
        trial->k[SHIFT + i] = (cl_uint)i * 40503u + 12345u;
    }
    for (int i = 0; i < TENSORS; i++) {
        trial->buffers[i] = clCreateBuffer(trial->context, CL_MEM_READ_WRITE, size, NULL, &code);
        if (!check(trial, code, "clCreateBuffer"))
            return false;
    }
    return write_whole(trial, X, trial->x) && write_whole(trial, K, trial->k) && set_arguments(trial) &&
           check(trial,
                 clEnqueueNDRangeKernel(trial->queue, trial->kernel, 1, NULL, &global, &trial->group, 0, NULL,
                                        NULL),
                 "clEnqueueNDRangeKernel") &&
           check(trial, clFinish(trial->queue), "clFinish");
}

static bool read_back(struct trial *trial, int tensor, void *data)
{
    return check(trial,
                 clEnqueueReadBuffer(trial->queue, trial->buffers[tensor], CL_TRUE, SHIFT * 4,
                                     (size_t)trial->items * 4, data, 0, NULL, NULL),
                 "clEnqueueReadBuffer");
}

static bool wrong(struct trial *trial, const char *what, cl_int item, double got, double right)
{
    claret_text_add(trial->reason,
                    "the probe kernel gave a wrong answer (%s of item %d is %.9g, %.9g is right)", what,
                    (int)item, got, right);
    return false;
}

static bool compare(struct trial *trial)
{
    float sum[ITEMS_MAX], power[ITEMS_MAX]; /* items */
    cl_uint mixed[ITEMS_MAX];               /* items */
    const float *x = trial->x + SHIFT;      /* items */
    const cl_uint *k = trial->k + SHIFT;    /* items */
    cl_int group = (cl_int)trial->group;

    if (!read_back(trial, SUM, sum) || !read_back(trial, POWER, power) || !read_back(trial, MIXED, mixed))
        return false;
    for (cl_int i = 0; i < trial->items; i++) {
        cl_int first = i / group * group, next = first + (i - first + 1) % group, last = trial->items - 1;
        float total = 0.0f;
        for (cl_int j = 0; j < group; j++)
            total += x[first + j <= last ? first + j : last] * (float)(j + 1);
        double right = exp(-0.125 * x[i]);
        cl_uint other = k[next <= last ? next : last];
        cl_uint word = other * 2654435761u ^ (cl_uint)((k[i] * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
        if (sum[i] != total)
            return wrong(trial, "the sum", i, sum[i], total);
        if (!(fabs(power[i] - right) <= 1e-5)) /* this way round NaN is wrong */
            return wrong(trial, "the exponential", i, power[i], right);
        if (mixed[i] != word)
            return wrong(trial, "the integer", i, mixed[i], word);
    }
    return true;
}

/* Whether a long loop runs to its end; the answer goes to MIXED. */
static bool run_loop(struct trial *trial, bool *short_loops)
{
    const cl_ulong offset = SHIFT;
    const cl_int rounds = ROUNDS;
    const size_t one = 1;
    cl_uint counts[ITEMS_MAX]; /* items */
    cl_int code;

    step(trial, "running a long loop");
    trial->loop = clCreateKernel(trial->program, "claret_probe_loop", &code);
    if (!check(trial, code, "clCreateKernel") ||
        !check(trial, clSetKernelArg(trial->loop, 0, sizeof *trial->buffers, &trial->buffers[MIXED]),
               "clSetKernelArg") ||
        !check(trial, clSetKernelArg(trial->loop, 1, sizeof offset, &offset), "clSetKernelArg") ||
        !check(trial, clSetKernelArg(trial->loop, 2, sizeof rounds, &rounds), "clSetKernelArg") ||
        !check(trial, clEnqueueNDRangeKernel(trial->queue, trial->loop, 1, NULL, &one, &one, 0, NULL, NULL),
               "clEnqueueNDRangeKernel") ||
        !read_back(trial, MIXED, counts))
        return false;
    *short_loops = counts[0] < (cl_uint)rounds;
    return counts[0] <= (cl_uint)rounds || wrong(trial, "a count", 0, counts[0], rounds);
}

void claret_child_probe(const struct claret_child *child, size_t index, cl_device_id device,
                        struct claret_text *reason, bool *short_loops)
{
    struct trial trial = {.child = child, .index = index, .device = device, .reason = reason};

    step(&trial, "answering questions about it");
    *short_loops = false;
    if (suitable(&trial) && build(&trial) && choose_group(&trial) && run(&trial) && compare(&trial))
        run_loop(&trial, short_loops);
    step(&trial, "closing it");
    for (int i = 0; i < TENSORS; i++)
        if (trial.buffers[i] != NULL)
            clReleaseMemObject(trial.buffers[i]);
    if (trial.kernel != NULL)
        clReleaseKernel(trial.kernel);
    if (trial.loop != NULL)
        clReleaseKernel(trial.loop);
    if (trial.program != NULL)
        clReleaseProgram(trial.program);
    if (trial.queue != NULL)
        clReleaseCommandQueue(trial.queue);
    if (trial.context != NULL)
        clReleaseContext(trial.context);
}
