/* Names of OpenCL's codes, errors made from them, the count of live objects. */
#include "rt/cl.h"

#include <stdarg.h>
#include <stdatomic.h>

#include "base/text.h"

/* Every code of OpenCL 1.0 to 3.0 and of its extensions, by number: the headers of the build may be older
 * than the driver. Where two extensions share a number, Khronos's name stands. */
#define CODES(X)                                                                                             \
    X(SUCCESS, 0)                                                                                            \
    X(DEVICE_NOT_FOUND, -1)                                                                                  \
    X(DEVICE_NOT_AVAILABLE, -2)                                                                              \
    X(COMPILER_NOT_AVAILABLE, -3)                                                                            \
    X(MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                                     \
    X(OUT_OF_RESOURCES, -5)                                                                                  \
    X(OUT_OF_HOST_MEMORY, -6)                                                                                \
    X(PROFILING_INFO_NOT_AVAILABLE, -7)                                                                      \
    X(MEM_COPY_OVERLAP, -8)                                                                                  \
    X(IMAGE_FORMAT_MISMATCH, -9)                                                                             \
    X(IMAGE_FORMAT_NOT_SUPPORTED, -10)                                                                       \
    X(BUILD_PROGRAM_FAILURE, -11)                                                                            \
    X(MAP_FAILURE, -12)                                                                                      \
    X(MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                                     \
    X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                                        \
    X(COMPILE_PROGRAM_FAILURE, -15)                                                                          \
    X(LINKER_NOT_AVAILABLE, -16)                                                                             \
    X(LINK_PROGRAM_FAILURE, -17)                                                                             \
    X(DEVICE_PARTITION_FAILED, -18)                                                                          \
    X(KERNEL_ARG_INFO_NOT_AVAILABLE, -19)                                                                    \
    X(INVALID_VALUE, -30)                                                                                    \
    X(INVALID_DEVICE_TYPE, -31)                                                                              \
    X(INVALID_PLATFORM, -32)                                                                                 \
    X(INVALID_DEVICE, -33)                                                                                   \
    X(INVALID_CONTEXT, -34)                                                                                  \
    X(INVALID_QUEUE_PROPERTIES, -35)                                                                         \
    X(INVALID_COMMAND_QUEUE, -36)                                                                            \
    X(INVALID_HOST_PTR, -37)                                                                                 \
    X(INVALID_MEM_OBJECT, -38)                                                                               \
    X(INVALID_IMAGE_FORMAT_DESCRIPTOR, -39)                                                                  \
    X(INVALID_IMAGE_SIZE, -40)                                                                               \
    X(INVALID_SAMPLER, -41)                                                                                  \
    X(INVALID_BINARY, -42)                                                                                   \
    X(INVALID_BUILD_OPTIONS, -43)                                                                            \
    X(INVALID_PROGRAM, -44)                                                                                  \
    X(INVALID_PROGRAM_EXECUTABLE, -45)                                                                       \
    X(INVALID_KERNEL_NAME, -46)                                                                              \
    X(INVALID_KERNEL_DEFINITION, -47)                                                                        \
    X(INVALID_KERNEL, -48)                                                                                   \
    X(INVALID_ARG_INDEX, -49)                                                                                \
    X(INVALID_ARG_VALUE, -50)                                                                                \
    X(INVALID_ARG_SIZE, -51)                                                                                 \
    X(INVALID_KERNEL_ARGS, -52)                                                                              \
    X(INVALID_WORK_DIMENSION, -53)                                                                           \
    X(INVALID_WORK_GROUP_SIZE, -54)                                                                          \
    X(INVALID_WORK_ITEM_SIZE, -55)                                                                           \
    X(INVALID_GLOBAL_OFFSET, -56)                                                                            \
    X(INVALID_EVENT_WAIT_LIST, -57)                                                                          \
    X(INVALID_EVENT, -58)                                                                                    \
    X(INVALID_OPERATION, -59)                                                                                \
    X(INVALID_GL_OBJECT, -60)                                                                                \
    X(INVALID_BUFFER_SIZE, -61)                                                                              \
    X(INVALID_MIP_LEVEL, -62)                                                                                \
    X(INVALID_GLOBAL_WORK_SIZE, -63)                                                                         \
    X(INVALID_PROPERTY, -64)                                                                                 \
    X(INVALID_IMAGE_DESCRIPTOR, -65)                                                                         \
    X(INVALID_COMPILER_OPTIONS, -66)                                                                         \
    X(INVALID_LINKER_OPTIONS, -67)                                                                           \
    X(INVALID_DEVICE_PARTITION_COUNT, -68)                                                                   \
    X(INVALID_PIPE_SIZE, -69)                                                                                \
    X(INVALID_DEVICE_QUEUE, -70)                                                                             \
    X(INVALID_SPEC_ID, -71)                                                                                  \
    X(MAX_SIZE_RESTRICTION_EXCEEDED, -72)                                                                    \
    X(INVALID_GL_SHAREGROUP_REFERENCE_KHR, -1000)                                                            \
    X(PLATFORM_NOT_FOUND_KHR, -1001)                                                                         \
    X(INVALID_D3D10_DEVICE_KHR, -1002)                                                                       \
    X(INVALID_D3D10_RESOURCE_KHR, -1003)                                                                     \
    X(D3D10_RESOURCE_ALREADY_ACQUIRED_KHR, -1004)                                                            \
    X(D3D10_RESOURCE_NOT_ACQUIRED_KHR, -1005)                                                                \
    X(INVALID_D3D11_DEVICE_KHR, -1006)                                                                       \
    X(INVALID_D3D11_RESOURCE_KHR, -1007)                                                                     \
    X(D3D11_RESOURCE_ALREADY_ACQUIRED_KHR, -1008)                                                            \
    X(D3D11_RESOURCE_NOT_ACQUIRED_KHR, -1009)                                                                \
    X(INVALID_DX9_MEDIA_ADAPTER_KHR, -1010)                                                                  \
    X(INVALID_DX9_MEDIA_SURFACE_KHR, -1011)                                                                  \
    X(DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR, -1012)                                                         \
    X(DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR, -1013)                                                             \
    X(DEVICE_PARTITION_FAILED_EXT, -1057)                                                                    \
    X(INVALID_PARTITION_COUNT_EXT, -1058)                                                                    \
    X(INVALID_PARTITION_NAME_EXT, -1059)                                                                     \
    X(EGL_RESOURCE_NOT_ACQUIRED_KHR, -1092)                                                                  \
    X(INVALID_EGL_OBJECT_KHR, -1093)                                                                         \
    X(INVALID_ACCELERATOR_INTEL, -1094)                                                                      \
    X(INVALID_ACCELERATOR_TYPE_INTEL, -1095)                                                                 \
    X(INVALID_ACCELERATOR_DESCRIPTOR_INTEL, -1096)                                                           \
    X(ACCELERATOR_TYPE_NOT_SUPPORTED_INTEL, -1097)                                                           \
    X(INVALID_VA_API_MEDIA_ADAPTER_INTEL, -1098)                                                             \
    X(INVALID_VA_API_MEDIA_SURFACE_INTEL, -1099)                                                             \
    X(VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL, -1100)                                                    \
    X(VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL, -1101)                                                        \
    X(COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM, -1108)                                                     \
    X(CONTEXT_TERMINATED_KHR, -1121)                                                                         \
    X(INVALID_COMMAND_BUFFER_KHR, -1138)                                                                     \
    X(INVALID_SYNC_POINT_WAIT_LIST_KHR, -1139)                                                               \
    X(INCOMPATIBLE_COMMAND_QUEUE_KHR, -1140)                                                                 \
    X(INVALID_MUTABLE_COMMAND_KHR, -1141)                                                                    \
    X(INVALID_SEMAPHORE_KHR, -1142)

const char *claret_cl_name(cl_int code)
{
    switch (code) {
#define X(name, number)                                                                                      \
    case number:                                                                                             \
        return "CL_" #name;
        CODES(X)
#undef X
    default:
        return "an unknown code";
    }
}

const char *claret_cl_hint(cl_int code)
{
    switch (code) {
    case -1: /* DEVICE_NOT_FOUND */
        return "no driver offers such a device any more; see: claret devices";
    case -2: /* DEVICE_NOT_AVAILABLE */
        return "the device is busy or was taken away; see whether another program uses it alone";
    case -3: /* COMPILER_NOT_AVAILABLE */
        return "this driver cannot compile kernels; install the vendor's full OpenCL package";
    case -4:  /* MEM_OBJECT_ALLOCATION_FAILURE */
    case -61: /* INVALID_BUFFER_SIZE */
        return "the device has not that much memory free; use a smaller batch, or end other programs that "
               "use it";
    case -5: /* OUT_OF_RESOURCES */
        return "the device ran out of memory, registers or time, or a kernel read or wrote outside its "
               "buffers; a "
               "smaller batch may help, the system's log (dmesg) may say more";
    case -6: /* OUT_OF_HOST_MEMORY */
        return "the host's memory is used up; use a smaller batch, or end other programs";
    case -14: /* EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST */
        return "a command enqueued earlier failed on the device; the system's log (dmesg) may say more";
    case -36: /* INVALID_COMMAND_QUEUE: what NVIDIA's driver says after a fault */
        return "the device stopped working on this queue, often after an earlier fault or a watchdog's "
               "reset; the "
               "system's log (dmesg) may say more";
    case -54: /* INVALID_WORK_GROUP_SIZE */
    case -55: /* INVALID_WORK_ITEM_SIZE */
        return "the kernel asks for more work-items in a group than this device runs";
    case -1001: /* PLATFORM_NOT_FOUND_KHR */
        return "no OpenCL driver is installed; see: claret devices";
    case -1121: /* CONTEXT_TERMINATED_KHR */
        return "the driver ended the context; the system's log (dmesg) may say why";
    case -9999:
        return "a kernel read or wrote outside its buffers (a code of NVIDIA's driver)";
    default:
        return NULL;
    }
}

enum claret_status claret_cl_fail(enum claret_status status, cl_int code, const char *call,
                                  const char *format, ...)
{
    struct claret_text text = {0};
    const char *hint = claret_cl_hint(code);

    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        claret_text_vadd(&text, format, arguments);
        va_end(arguments);
        claret_text_add(&text, ": ");
    }
    claret_text_add(&text, "%s returned %s (%d)", call, claret_cl_name(code), (int)code);
    if (hint != NULL)
        claret_text_add(&text, "\n%s", hint);
    status = claret_fail(status, "%s", text.failed || text.data == NULL ? call : text.data);
    claret_text_drop(&text);
    return status;
}

static atomic_size_t live[CLARET_CL_KIND_COUNT];

void claret_cl_created(enum claret_cl_kind kind)
{
    atomic_fetch_add(&live[kind], 1);
}

void claret_cl_released(enum claret_cl_kind kind)
{
    atomic_fetch_sub(&live[kind], 1);
}

size_t claret_cl_live(enum claret_cl_kind kind)
{
    return atomic_load(&live[kind]);
}

size_t claret_live_objects(void)
{
    size_t count = 0;
    for (int i = 0; i < CLARET_CL_KIND_COUNT; i++)
        count += atomic_load(&live[i]);
    return count;
}

#define X(kind, name, type, release)                                                                         \
    void claret_cl_release_##name(type *object)                                                              \
    {                                                                                                        \
        if (*object == NULL)                                                                                 \
            return;                                                                                          \
        release(*object);                                                                                    \
        *object = NULL;                                                                                      \
        claret_cl_released(CLARET_CL_##kind);                                                                \
    }
CLARET_CL_KINDS(X)
#undef X
