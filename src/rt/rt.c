/* Opening a device and closing it; the public functions that both run times share. */
#include <stdlib.h>
#include <string.h>

#include "rt/devices.h"
#include "rt/internal.h"
#include "rt/resolve.h"

/* CLBlast takes offsets as 32-bit numbers of elements, so no buffer may be larger. */
#define MAX_BUFFER ((uint64_t)8 << 30)

/* ---- the device's description -------------------------------------------------------------------------- */

static enum claret_status get(cl_device_id device, cl_device_info what, void *value, size_t size)
{
    CLARET_CL_TRY(clGetDeviceInfo, (device, what, size, value, NULL), "describing the device (query 0x%x)",
                  (unsigned)what);
    return CLARET_OK;
}

static enum claret_status get_sizes(struct claret_device_desc *desc, cl_device_id device)
{
    cl_uint vendor_id, units, width, align_bits, dimensions;
    cl_ulong global, local, alloc;
    cl_bool unified;
    size_t group, item[8] = {1, 1, 1};
    CLARET_TRY(get(device, CL_DEVICE_VENDOR_ID, &vendor_id, sizeof vendor_id));
    CLARET_TRY(get(device, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units));
    CLARET_TRY(get(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &width, sizeof width));
    CLARET_TRY(get(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &align_bits, sizeof align_bits));
    CLARET_TRY(get(device, CL_DEVICE_GLOBAL_MEM_SIZE, &global, sizeof global));
    CLARET_TRY(get(device, CL_DEVICE_LOCAL_MEM_SIZE, &local, sizeof local));
    CLARET_TRY(get(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &alloc, sizeof alloc));
    CLARET_TRY(get(device, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified));
    CLARET_TRY(get(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group));
    CLARET_TRY(get(device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, &dimensions, sizeof dimensions));
    if (dimensions <= sizeof item / sizeof *item)
        CLARET_TRY(get(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, item, dimensions * sizeof *item));
    desc->vendor_id = vendor_id;
    desc->compute_units = units;
    desc->float_width = width ? width : 1;
    desc->mem_align = align_bits / 8 > 64 ? align_bits / 8 : 64;
    desc->global_mem = global;
    desc->local_mem = local;
    desc->max_alloc = alloc < MAX_BUFFER ? alloc : MAX_BUFFER;
    desc->unified = unified;
    desc->max_work_group = group ? group : 1;
    for (int d = 0; d < 3; d++)
        desc->max_item[d] = item[d] ? item[d] : 1;
    return CLARET_OK;
}

/* A copy in the rt's arena of one of the list's texts. */
static const char *list_text(struct claret_rt *rt, const struct claret_devices *devices, size_t index,
                             enum claret_device_text what)
{
    return claret_arena_strdup(&rt->arena, claret_devices_text(devices, index, what));
}

static enum claret_status describe(struct claret_rt *rt, const struct claret_devices *devices, size_t index,
                                   const char *note)
{
    struct claret_device_desc *desc = &rt->desc;
    size_t platform = (size_t)claret_devices_number(devices, index, CLARET_DEVICE_PLATFORM);
    const char *type = claret_devices_text(devices, index, CLARET_DEVICE_TYPE);
    CLARET_TRY(get_sizes(desc, rt->device));
    desc->name = list_text(rt, devices, index, CLARET_DEVICE_NAME);
    desc->vendor = list_text(rt, devices, index, CLARET_DEVICE_VENDOR);
    desc->driver = list_text(rt, devices, index, CLARET_DEVICE_DRIVER);
    desc->opencl_c = list_text(rt, devices, index, CLARET_DEVICE_OPENCL_C);
    desc->platform = list_text(rt, devices, index, CLARET_DEVICE_PLATFORM_NAME);
    desc->platform_version = claret_arena_strdup(
        &rt->arena, claret_devices_platform_text(devices, platform, CLARET_PLATFORM_VERSION));
    desc->short_loops = devices->devices[index].short_loops;
    /* A driver that ends long loops imitates a GPU: many small work-items come out right there. */
    desc->kind = desc->short_loops      ? CLARET_CLASS_GPU
                 : !strcmp(type, "cpu") ? CLARET_CLASS_CPU
                 : !strcmp(type, "gpu") ? CLARET_CLASS_GPU
                                        : CLARET_CLASS_OTHER;
    desc->fp16 = claret_devices_number(devices, index, CLARET_DEVICE_FP16);
    desc->fp64 = claret_devices_number(devices, index, CLARET_DEVICE_FP64);
    desc->subgroups = claret_devices_number(devices, index, CLARET_DEVICE_SUBGROUPS);
    desc->clblast_reason = "not tried";
    rt->description =
        claret_arena_printf(&rt->arena, "device %zu (%s): %s, %s, driver %s%s%s", index,
                            claret_devices_text(devices, index, CLARET_DEVICE_ID), desc->name, desc->platform,
                            desc->driver, note && *note ? "\n" : "", note ? note : "");
    if (!desc->name || !desc->vendor || !desc->driver || !desc->opencl_c || !desc->platform ||
        !desc->platform_version || !rt->description)
        return claret_no_memory();
    return CLARET_OK;
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

static enum claret_status make_queue(struct claret_rt *rt, cl_command_queue *queue)
{
    cl_int code;
    *queue = clCreateCommandQueue(rt->context, rt->device, 0, &code);
    if (code != CL_SUCCESS) {
        *queue = NULL;
        return claret_cl_fail(CLARET_OPENCL, code, "clCreateCommandQueue", "opening %s", rt->desc.name);
    }
    claret_cl_created(CLARET_CL_QUEUE);
    return CLARET_OK;
}

static enum claret_status open_context(struct claret_rt *rt, cl_platform_id platform)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_int code;
    rt->context = clCreateContext(properties, 1, &rt->device, NULL, NULL, &code);
    if (code != CL_SUCCESS) {
        rt->context = NULL;
        return claret_cl_fail(CLARET_OPENCL, code, "clCreateContext", "opening %s", rt->desc.name);
    }
    claret_cl_created(CLARET_CL_CONTEXT);
    CLARET_TRY(make_queue(rt, &rt->compute));
    return make_queue(rt, &rt->upload);
}

enum claret_status claret_rt_open(const struct claret_rt_options *options, struct claret_rt **rt)
{
    struct claret_devices *devices = NULL;
    struct claret_rt *made;
    cl_platform_id platform;
    const char *note = "";
    size_t index;
    enum claret_status status;
    made = calloc(1, sizeof *made);
    if (!made)
        return claret_no_memory();
    made->driver = &claret_rt_opencl;
    made->gemm.off = options->no_clblast;
    claret_gemm_attach();
    CLARET_GOTO(fail, claret_devices_find(options->cache_dir, &devices));
    CLARET_GOTO(fail, claret_devices_choose(devices, options->device, options->platform, &index, &note));
    CLARET_GOTO(fail, claret_devices_resolve(devices, index, &platform, &made->device));
    CLARET_GOTO(fail, describe(made, devices, index, note));
    CLARET_GOTO(fail, open_context(made, platform));
    CLARET_GOTO(fail, claret_programs_init(made, options));
    claret_devices_destroy(devices);
    *rt = made;
    return CLARET_OK;
fail:
    claret_devices_destroy(devices);
    claret_rt_close(made);
    return status;
}

static void close_opencl(struct claret_rt *rt)
{
    if (rt->compute)
        clFinish(rt->compute);
    if (rt->upload)
        clFinish(rt->upload);
    claret_cl_release_event(&rt->last);
    claret_programs_save(rt);
    claret_programs_finish(rt);
    claret_cl_release_queue(&rt->profiling);
    claret_cl_release_queue(&rt->upload);
    claret_cl_release_queue(&rt->compute);
    claret_cl_release_context(&rt->context);
    claret_gemm_detach();
}

void claret_rt_close(struct claret_rt *rt)
{
    if (!rt)
        return;
    rt->driver->close(rt);
    while (rt->spare) {
        struct claret_ticket *ticket = rt->spare;
        rt->spare = ticket->next;
        free(ticket);
    }
    claret_arena_free(&rt->arena);
    free(rt);
}

const struct claret_device_desc *claret_rt_device(const struct claret_rt *rt)
{
    return &rt->desc;
}

const char *claret_rt_describe(const struct claret_rt *rt)
{
    return rt->description;
}

enum claret_status claret_rt_finish(struct claret_rt *rt)
{
    return rt->driver->finish(rt);
}

void claret_rt_save_programs(struct claret_rt *rt)
{
    claret_programs_save(rt);
}

/* ---- CLBlast and the report ---------------------------------------------------------------------------- */

enum claret_status claret_rt_probe_gemm(struct claret_rt *rt)
{
    if (rt->context)
        claret_gemm_probe(rt);
    return CLARET_OK;
}

size_t claret_rt_gemm_workspace(void *user, const struct claret_gemm_call *gemm)
{
    struct claret_rt *rt = user;
    return rt->context ? claret_gemm_workspace(rt, gemm) : 0;
}

void claret_rt_report(const struct claret_rt *rt, struct claret_text *text)
{
    const struct claret_programs *programs = &rt->programs;
    int kinds = 0;
    claret_text_add(text, "programs: %d used, %d from cache, %d built",
                    programs->from_cache + programs->built, programs->from_cache, programs->built);
    for (unsigned rest = rt->gemm.kinds; rest; rest &= rest - 1)
        kinds++;
    if (kinds && rt->desc.clblast)
        claret_text_add(text, "\nclblast: %d gemm kinds compiled, %.1f s", kinds, rt->gemm.seconds);
}

const struct claret_rt_driver claret_rt_opencl = {
    .close = close_opencl,
    .pool_create = claret_cl_pool_create,
    .pool_destroy = claret_cl_pool_destroy,
    .attach = claret_cl_attach,
    .detach = claret_cl_detach,
    .clear = claret_cl_clear,
    .read = claret_cl_read,
    .write = claret_cl_write,
    .upload = claret_cl_upload,
    .exec_create = claret_cl_exec_create,
    .exec_destroy = claret_cl_exec_destroy,
    .exec_warm_up = claret_cl_exec_warm_up,
    .exec_run = claret_cl_exec_run,
    .exec_profile = claret_cl_exec_profile,
    .wait = claret_cl_wait,
    .finish = claret_cl_finish,
};
