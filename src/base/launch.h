/* Launch records: what ops make, the plan freezes and rt executes. Plain data.
 *
 * A kernel's parameters are, in the order of `args`: for a tensor two, `__global T *base, ulong offset` (in
 * elements; cl/common.clh has the macros), for a number one. `items` is the work there is: rt rounds it up to
 * whole work-groups, so every kernel checks its global ids against the sizes it is given.
 * `local` is a wish: where it is not `fixed`, rt halves it until device and kernel allow it. */
#ifndef CLARET_BASE_LAUNCH_H
#define CLARET_BASE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLARET_MAX_ARGS 24
#define CLARET_MAX_DEFINES 32

enum claret_define_type { CLARET_DEFINE_INT, CLARET_DEFINE_FLOAT };
struct claret_define {
    const char *name;
    enum claret_define_type type;
    int64_t i;
    float f; /* printed as a hex float */
};

enum claret_arg_type { CLARET_ARG_TENSOR, CLARET_ARG_INT, CLARET_ARG_FLOAT };
struct claret_arg {
    enum claret_arg_type type;
    int tensor;     /* tensor id */
    int64_t offset; /* TENSOR: elements from the tensor's start */
    int32_t i;
    float f;
};

struct claret_kernel_call {
    const char *source; /* "im2col": cl/im2col.cl */
    const char *entry;  /* kernel function */
    const char *build;  /* further build options of this kernel's program, or NULL */
    int define_count, arg_count, dims;
    struct claret_define define[CLARET_MAX_DEFINES];
    struct claret_arg arg[CLARET_MAX_ARGS];
    size_t items[3], local[3];
    bool fixed;  /* local must be exactly as given */
    bool broken; /* a limit of this struct or a number's range was exceeded while it was filled */
};

/* Row-major C (m, n) = alpha * op(A) (m, k) * op(B) (k, n) + beta * C; float32. */
struct claret_matrix {
    int tensor;
    int64_t offset, ld; /* elements */
    bool transposed;    /* stored as its transpose */
};
struct claret_gemm_call {
    int64_t m, n, k;
    float alpha, beta;
    struct claret_matrix a, b, c;
    int workspace; /* tensor id of CLBlast's temporary buffer, -1: none */
};

enum claret_launch_type { CLARET_LAUNCH_KERNEL, CLARET_LAUNCH_GEMM };
struct claret_launch {
    enum claret_launch_type type;
    int node;          /* graph node it belongs to */
    const char *label; /* "conv1.forward im2col": for people */
    const char *solver;
    double flops, bytes; /* of arithmetic; moved at least */
    struct claret_kernel_call kernel;
    struct claret_gemm_call gemm;
};

#endif
