/* What all of rt needs around OpenCL calls: names of codes, errors made from them, a count of live objects.
 * With the headers beside it in src/rt the only place that includes the OpenCL header. */
#ifndef CLARET_RT_CL_H
#define CLARET_RT_CL_H

#include <stdbool.h>
#include <CL/cl.h>

#include "base/status.h"

/* "CL_OUT_OF_RESOURCES"; "an unknown code" for one that no version or extension defines. */
const char *claret_cl_name(cl_int code);
/* What the user can do about that code, a sentence; NULL where nothing general can be said. */
const char *claret_cl_hint(cl_int code);

/* Records "WHAT: CALL returned CL_NAME (-5)" and the hint on a line of its own, and returns `status`.
 * `format` says what was being done ("allocating %s"); NULL: nothing more to say. */
enum claret_status claret_cl_fail(enum claret_status status, cl_int code, const char *call,
                                  const char *format, ...) CLARET_PRINTF(4, 5);

/* For functions that return claret_status and need no cleanup:
 *     CLARET_CL_TRY(clSetKernelArg, (kernel, 0, size, value), "setting up %s", label); */
#define CLARET_CL_TRY(function, arguments, ...)                                                              \
    do {                                                                                                     \
        cl_int claret_cl_try_ = function arguments;                                                          \
        if (claret_cl_try_ != CL_SUCCESS)                                                                    \
            return claret_cl_fail(CLARET_OPENCL, claret_cl_try_, #function, __VA_ARGS__);                    \
    } while (0)

/* The same for functions with one cleanup label and a variable `status`. */
#define CLARET_CL_GOTO(label, function, arguments, ...)                                                      \
    do {                                                                                                     \
        cl_int claret_cl_try_ = function arguments;                                                          \
        if (claret_cl_try_ != CL_SUCCESS) {                                                                  \
            status = claret_cl_fail(CLARET_OPENCL, claret_cl_try_, #function, __VA_ARGS__);                  \
            goto label;                                                                                      \
        }                                                                                                    \
    } while (0)

/* Live objects, process-wide and thread-safe: claret_cl_created() right after a clCreate… (or an enqueue that
 * gave an event) succeeded. The release wrappers count, accept NULL and set the handle to NULL. Objects that
 * CLBlast makes are its own and not counted. */
#define CLARET_CL_KINDS(X)                                                                                   \
    X(CONTEXT, context, cl_context, clReleaseContext)                                                        \
    X(QUEUE, queue, cl_command_queue, clReleaseCommandQueue)                                                 \
    X(PROGRAM, program, cl_program, clReleaseProgram)                                                        \
    X(KERNEL, kernel, cl_kernel, clReleaseKernel)                                                            \
    X(BUFFER, buffer, cl_mem, clReleaseMemObject)                                                            \
    X(EVENT, event, cl_event, clReleaseEvent)

enum claret_cl_kind {
#define X(kind, name, type, release) CLARET_CL_##kind,
    CLARET_CL_KINDS(X)
#undef X
        CLARET_CL_KIND_COUNT
};

void claret_cl_created(enum claret_cl_kind kind);
void claret_cl_released(enum claret_cl_kind kind);
size_t claret_cl_live(enum claret_cl_kind kind);

/* claret_cl_release_context(cl_context *), claret_cl_release_queue(…), _program, _kernel, _buffer, _event. */
#define X(kind, name, type, release) void claret_cl_release_##name(type *object);
CLARET_CL_KINDS(X)
#undef X

#endif
