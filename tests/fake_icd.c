/* An OpenCL driver that misbehaves as FAKE_ICD tells: words with spaces between. Loaded by the ICD loader.
 *
 * One word for all of it: abort-list, exit-list, hang-list. Otherwise each word is a device:
 *     offline, no-compiler, big-endian, old-language   say so of themselves
 *     no-context, no-build                             fail at that
 *     wrong                                            gives zeros for an answer
 *     abort-context, abort-build, hang-build           die or hang there
 *     gpu-khr, gpu-nv, gpu-amd                         GPUs that tell their PCI address in three ways, and
 * fail as wrong
 */
#define _GNU_SOURCE
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEVICES 16
#define EXPORT __attribute__((visibility("default")))

/* Platform, device, context and all that belongs to it look the same: the loader reads the dispatch table
 * alone. */
struct object {
    cl_icd_dispatch *dispatch;
    const char *word;
};

static cl_icd_dispatch dispatch;
static struct object platform = {&dispatch, ""}, devices[MAX_DEVICES];
static cl_uint device_count;

static int is(const void *object, const char *word)
{
    return strcmp(((const struct object *)object)->word, word) == 0;
}

static void die(const char *text)
{
    fputs(text, stderr);
    fflush(stderr);
    abort();
}

static void hang(void)
{
    for (;;)
        pause();
}

static void begin(void)
{
    static char words[512];
    const char *setting = getenv("FAKE_ICD");
    snprintf(words, sizeof words, "%s", setting == NULL ? "" : setting);
    if (strcmp(words, "abort-list") == 0)
        die("fake driver: out of patience\n");
    if (strcmp(words, "exit-list") == 0)
        exit(3);
    if (strcmp(words, "hang-list") == 0)
        hang();
    device_count = 0;
    for (char *word = strtok(words, " "); word != NULL && device_count < MAX_DEVICES;
         word = strtok(NULL, " "))
        devices[device_count++] = (struct object){&dispatch, word};
}

static cl_int give(const void *from, size_t size, size_t room, void *value, size_t *needed)
{
    if (needed != NULL)
        *needed = size;
    if (value != NULL && room < size)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, from, size);
    return CL_SUCCESS;
}

#define GIVE_TEXT(text) give(text, strlen(text) + 1, room, value, needed)
#define GIVE(type, ...) give(&(type){__VA_ARGS__}, sizeof(type), room, value, needed)

static cl_int platform_info(cl_platform_id id, cl_platform_info what, size_t room, void *value,
                            size_t *needed)
{
    (void)id;
    switch (what) {
    case CL_PLATFORM_PROFILE:
        return GIVE_TEXT("FULL_PROFILE");
    case CL_PLATFORM_VERSION:
        return GIVE_TEXT("OpenCL 3.0 fake");
    case CL_PLATFORM_NAME:
        return GIVE_TEXT(" Fake\tplatform \n");
    case CL_PLATFORM_VENDOR:
        return GIVE_TEXT("Nobody \xff"); /* not UTF-8 */
    case CL_PLATFORM_EXTENSIONS:
        return GIVE_TEXT("cl_khr_icd");
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return GIVE_TEXT("FAKE");
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int platform_ids(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
    printf("fake driver: at your service\n");
    fflush(stdout);
    begin();
    if (count != NULL)
        *count = 1;
    if (ids != NULL && room > 0)
        ids[0] = (cl_platform_id)&platform;
    return CL_SUCCESS;
}

static cl_int device_ids(cl_platform_id id, cl_device_type type, cl_uint room, cl_device_id *ids,
                         cl_uint *count)
{
    (void)id;
    cl_uint fitting = 0;
    for (cl_uint i = 0; i < device_count; i++) {
        cl_device_type own =
            strncmp(devices[i].word, "gpu", 3) == 0 ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU;
        if (!(type & own))
            continue;
        if (ids != NULL && fitting < room)
            ids[fitting] = (cl_device_id)&devices[i];
        fitting++;
    }
    if (count != NULL)
        *count = fitting;
    return fitting == 0 ? CL_DEVICE_NOT_FOUND : CL_SUCCESS;
}

/* The place 0001:02:03.4, by number where headers may lack the name; AMD tells no domain, its bus is 0xc2. */
static cl_int pci_info(cl_device_id id, cl_device_info what, size_t room, void *value, size_t *needed)
{
    if (is(id, "gpu-khr") && what == 0x410F)
        return GIVE(cl_device_pci_bus_info_khr, .pci_domain = 1, .pci_bus = 2, .pci_device = 3,
                    .pci_function = 4);
    if (is(id, "gpu-nv") && what == 0x4008)
        return GIVE(cl_uint, 2);
    if (is(id, "gpu-nv") && what == 0x4009)
        return GIVE(cl_uint, 3 << 3 | 4);
    if (is(id, "gpu-nv") && what == 0x400A)
        return GIVE(cl_uint, 1);
    if (is(id, "gpu-amd") && what == CL_DEVICE_TOPOLOGY_AMD)
        return GIVE(cl_device_topology_amd,
                    .pcie = {.type = 1, .bus = (cl_char)0xc2, .device = 3, .function = 4});
    return CL_INVALID_VALUE;
}

static const char *extensions_of(cl_device_id id)
{
    if (is(id, "gpu-khr"))
        return "cl_khr_pci_bus_info cl_khr_fp16";
    if (is(id, "gpu-nv"))
        return "cl_khr_fp64 cl_nv_device_attribute_query";
    return is(id, "gpu-amd") ? "cl_amd_device_attribute_query cl_khr_fp16_not_really" : "";
}

static cl_int device_info(cl_device_id id, cl_device_info what, size_t room, void *value, size_t *needed)
{
    char name[64];
    snprintf(name, sizeof name, "Fake %s", ((struct object *)id)->word);
    switch (what) {
    case CL_DEVICE_TYPE:
        return GIVE(cl_device_type,
                    strncmp(name, "Fake gpu", 8) == 0 ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU);
    case CL_DEVICE_NAME:
        return GIVE_TEXT(name);
    case CL_DEVICE_VENDOR:
        return GIVE_TEXT("Nobody");
    case CL_DRIVER_VERSION:
        return GIVE_TEXT("0.1");
    case CL_DEVICE_VERSION:
        return GIVE_TEXT("OpenCL 3.0 fake");
    case CL_DEVICE_OPENCL_C_VERSION:
        return is(id, "old-language") ? GIVE_TEXT("OpenCL C 1.1 fake") : GIVE_TEXT("OpenCL C 1.2 fake");
    case CL_DEVICE_EXTENSIONS:
        return GIVE_TEXT(extensions_of(id));
    case CL_DEVICE_AVAILABLE:
        return GIVE(cl_bool, !is(id, "offline"));
    case CL_DEVICE_COMPILER_AVAILABLE:
        return GIVE(cl_bool, !is(id, "no-compiler"));
    case CL_DEVICE_ENDIAN_LITTLE:
        return GIVE(cl_bool, !is(id, "big-endian"));
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        return GIVE(cl_bool, CL_TRUE);
    case CL_DEVICE_PLATFORM:
        return GIVE(cl_platform_id, (cl_platform_id)&platform);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return GIVE(cl_uint, 7);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return GIVE(cl_ulong, UINT64_C(5) << 30);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return GIVE(cl_ulong, UINT64_C(1) << 30);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return GIVE(cl_ulong, 16384);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return GIVE(size_t, 48);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
        static const size_t sizes[3] = {48, 1, 1};
        return give(sizes, sizeof sizes, room, value, needed);
    }
    case CL_DEVICE_VENDOR_ID:
        return GIVE(cl_uint, 0x1234);
    default:
        return pci_info(id, what, room, value, needed);
    }
}

static cl_context create_context(const cl_context_properties *properties, cl_uint count,
                                 const cl_device_id *ids,
                                 void (*notify)(const char *, const void *, size_t, void *), void *user,
                                 cl_int *code)
{
    (void)properties, (void)count, (void)notify, (void)user;
    if (is(ids[0], "abort-context"))
        die("fake driver: \033[31mno context\033[0m for you\nfake driver: giving up\n");
    *code = is(ids[0], "no-context") ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
    return (cl_context)ids[0];
}

static cl_command_queue create_queue(cl_context context, cl_device_id id,
                                     cl_command_queue_properties properties, cl_int *code)
{
    (void)id, (void)properties;
    *code = CL_SUCCESS;
    return (cl_command_queue)context;
}

static cl_program create_program(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                                 cl_int *code)
{
    (void)count, (void)texts, (void)lengths;
    *code = CL_SUCCESS;
    return (cl_program)context;
}

static cl_int build_program(cl_program program, cl_uint count, const cl_device_id *ids, const char *options,
                            void (*notify)(cl_program, void *), void *user)
{
    (void)count, (void)ids, (void)options, (void)notify, (void)user;
    if (is(program, "abort-build"))
        die("fake driver: assertion failed\n");
    if (is(program, "hang-build"))
        hang();
    return is(program, "no-build") ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}

static cl_int build_info(cl_program program, cl_device_id id, cl_program_build_info what, size_t room,
                         void *value, size_t *needed)
{
    (void)program, (void)id, (void)what;
    return GIVE_TEXT("probe.cl:1: one\n\n  probe.cl:2: two\n3\n4\n5\n");
}

static cl_kernel create_kernel(cl_program program, const char *name, cl_int *code)
{
    (void)name;
    *code = CL_SUCCESS;
    return (cl_kernel)program;
}

static cl_int group_info(cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info what, size_t room,
                         void *value, size_t *needed)
{
    (void)kernel, (void)id, (void)what;
    return GIVE(size_t, 24);
}

static cl_int set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    (void)kernel, (void)index, (void)size, (void)value;
    return CL_SUCCESS;
}

static cl_mem create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    (void)flags, (void)size, (void)host;
    *code = CL_SUCCESS;
    return (cl_mem)context;
}

static cl_int write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, const void *data, cl_uint count, const cl_event *events,
                           cl_event *event)
{
    (void)queue, (void)buffer, (void)blocking, (void)offset, (void)size, (void)data, (void)count,
        (void)events;
    (void)event;
    return CL_SUCCESS;
}

static cl_int read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                          void *data, cl_uint count, const cl_event *events, cl_event *event)
{
    (void)queue, (void)buffer, (void)blocking, (void)offset, (void)count, (void)events, (void)event;
    memset(data, 0, size);
    return CL_SUCCESS;
}

/* The group must be one that device (48) and kernel (24) allow. */
static cl_int enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                             const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                             const cl_event *events, cl_event *event)
{
    (void)queue, (void)kernel, (void)offset, (void)count, (void)events, (void)event;
    return dimensions == 1 && local[0] <= 24 && global[0] % local[0] == 0 ? CL_SUCCESS
                                                                          : CL_INVALID_WORK_GROUP_SIZE;
}

#define RELEASE(name, type)                                                                                  \
    static cl_int name(type object)                                                                          \
    {                                                                                                        \
        (void)object;                                                                                        \
        return CL_SUCCESS;                                                                                   \
    }
RELEASE(release_context, cl_context)
RELEASE(release_queue, cl_command_queue)
RELEASE(release_program, cl_program)
RELEASE(release_kernel, cl_kernel)
RELEASE(release_buffer, cl_mem)
RELEASE(finish, cl_command_queue)

static cl_icd_dispatch dispatch = {
    .clGetPlatformInfo = platform_info,
    .clGetDeviceIDs = device_ids,
    .clGetDeviceInfo = device_info,
    .clCreateContext = create_context,
    .clReleaseContext = release_context,
    .clCreateCommandQueue = create_queue,
    .clReleaseCommandQueue = release_queue,
    .clCreateProgramWithSource = create_program,
    .clBuildProgram = build_program,
    .clGetProgramBuildInfo = build_info,
    .clReleaseProgram = release_program,
    .clCreateKernel = create_kernel,
    .clReleaseKernel = release_kernel,
    .clGetKernelWorkGroupInfo = group_info,
    .clSetKernelArg = set_argument,
    .clCreateBuffer = create_buffer,
    .clReleaseMemObject = release_buffer,
    .clEnqueueWriteBuffer = write_buffer,
    .clEnqueueReadBuffer = read_buffer,
    .clEnqueueNDRangeKernel = enqueue_kernel,
    .clFinish = finish,
};

EXPORT void *clGetExtensionFunctionAddress(const char *name)
{
    union {
        cl_int (*ids)(cl_uint, cl_platform_id *, cl_uint *);
        cl_int (*info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
        void *address;
    } function = {.address = NULL};
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        function.ids = platform_ids;
    else if (strcmp(name, "clGetPlatformInfo") == 0)
        function.info = platform_info;
    return function.address;
}

EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
    return platform_ids(room, ids, count);
}

EXPORT cl_int clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t room, void *value,
                                size_t *needed)
{
    return platform_info(id, what, room, value, needed);
}
