/* The only file that knows CLBlast. Its state is the process's: every call into it is made under one lock. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <clblast_c.h>

#include "base/clock.h"
#include "base/log.h"
#include "rt/internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int open_count; /* rts on OpenCL */
static bool cached;    /* CLBlast holds programs, and by them contexts */

void claret_gemm_attach(void)
{
    pthread_mutex_lock(&lock);
    open_count++;
    pthread_mutex_unlock(&lock);
}

void claret_gemm_detach(void)
{
    pthread_mutex_lock(&lock);
    if (--open_count == 0 && cached) {
        CLBlastClearCache();
        cached = false;
    }
    pthread_mutex_unlock(&lock);
}

static CLBlastTranspose transpose(const struct claret_matrix *matrix)
{
    return matrix->transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

unsigned claret_gemm_kind(const struct claret_gemm_call *call, bool temporary)
{
    return (call->a.transposed ? 1u : 0u) + (call->b.transposed ? 2u : 0u) + (temporary ? 4u : 0u);
}

/* CLBlast wants less where a matrix starts its buffer, so it is asked for ones that do not: the plan has not
 * placed them yet. */
size_t claret_gemm_workspace(struct claret_rt *rt, const struct claret_gemm_call *call)
{
    size_t bytes = 0;
    CLBlastStatusCode code;
    pthread_mutex_lock(&lock);
    code =
        CLBlastSGemmTempBufferSize(CLBlastLayoutRowMajor, transpose(&call->a), transpose(&call->b),
                                   (size_t)call->m, (size_t)call->n, (size_t)call->k, 1, (size_t)call->a.ld,
                                   1, (size_t)call->b.ld, 1, (size_t)call->c.ld, &rt->compute, &bytes);
    pthread_mutex_unlock(&lock);
    return code == CLBlastSuccess ? bytes : 0;
}

static CLBlastStatusCode call_clblast(struct claret_rt *rt, const struct claret_gemm *gemm)
{
    const struct claret_gemm_call *call = gemm->call;
    cached = true;
    return CLBlastSgemmWithTempBuffer(CLBlastLayoutRowMajor, transpose(&call->a), transpose(&call->b),
                                      (size_t)call->m, (size_t)call->n, (size_t)call->k, call->alpha, gemm->a,
                                      gemm->a_offset, (size_t)call->a.ld, gemm->b, gemm->b_offset,
                                      (size_t)call->b.ld, call->beta, gemm->c, gemm->c_offset,
                                      (size_t)call->c.ld, &rt->compute, NULL, gemm->temporary);
}

/* The first GEMM of a kind is waited for, so that what it cost to compile can be told: with many drivers that
 * happens when a kernel is first run. */
static CLBlastStatusCode call_timed(struct claret_rt *rt, const struct claret_gemm *gemm)
{
    CLBlastStatusCode code;
    double start;
    code = (CLBlastStatusCode)clFinish(rt->compute); /* of what was there before */
    if (code != CLBlastSuccess)
        return code;
    start = claret_clock();
    code = call_clblast(rt, gemm);
    if (code == CLBlastSuccess)
        code = (CLBlastStatusCode)clFinish(rt->compute);
    rt->gemm.seconds += claret_clock() - start;
    rt->gemm.kinds |= 1u << gemm->kind;
    return code;
}

enum claret_status claret_gemm_enqueue(struct claret_rt *rt, const struct claret_gemm *gemm,
                                       const char *label)
{
    bool first = !(rt->gemm.kinds & 1u << gemm->kind);
    CLBlastStatusCode code;
    pthread_mutex_lock(&lock);
    code = first ? call_timed(rt, gemm) : call_clblast(rt, gemm);
    pthread_mutex_unlock(&lock);
    if (code == CLBlastSuccess)
        return CLARET_OK;
    if (code > -1000) /* OpenCL's own */
        return claret_cl_fail(CLARET_OPENCL, (cl_int)code, "CLBlastSgemm", "running %s", label);
    return claret_fail(CLARET_OPENCL,
                       "running %s: CLBlastSgemm returned %d (see CLBlastStatusCode in clblast_c.h)", label,
                       (int)code);
}

enum claret_status claret_rt_gemm_override(struct claret_rt *rt, const char *kernel, const char *const *names,
                                           const size_t *values, int count)
{
    if (!rt->device)
        return CLARET_OK; /* the null run time */
    const char *texts[32];
    for (int i = 0; i < count && i < 32; i++)
        texts[i] = names[i];
    pthread_mutex_lock(&lock);
    CLBlastStatusCode code = CLBlastOverrideParameters(rt->device, kernel, CLBlastPrecisionSingle,
                                                       (size_t)(count < 32 ? count : 32), texts, values);
    rt->gemm.kinds = 0; /* their next runs compile again */
    pthread_mutex_unlock(&lock);
    if (code == CLBlastSuccess)
        return CLARET_OK;
    return claret_fail(CLARET_INVALID, "CLBlast does not take these parameters of %s (code %d)", kernel,
                       (int)code);
}

/* ---- the probe ----------------------------------------------------------------------------------------- */

/* Off every tile size, each transpose, with and without what was in C. */
static const struct probe {
    int m, n, k;
    bool ta, tb;
    float alpha, beta;
} probes[] = {
    {1, 1, 1, false, false, 1.0f, 0.0f},   {7, 33, 5, false, false, 1.0f, 0.0f},
    {33, 7, 65, false, true, 1.0f, 1.0f},  {65, 10, 17, true, false, 0.5f, 0.0f},
    {16, 63, 27, true, true, 1.0f, -0.5f},
};
#define PROBE_MAX_ELEMENTS 4096 /* of one matrix with its margins */
#define PROBE_PAD 3             /* columns beyond a matrix's own */
#define PROBE_START 5           /* elements before it */
#define CLBLAST_GROUP 64        /* work-items of its default kernels' groups */

struct probe_matrix {
    int rows, columns, ld;
    float values[PROBE_MAX_ELEMENTS];
};

static void probe_fill(struct probe_matrix *matrix, int rows, int columns, unsigned seed)
{
    matrix->rows = rows;
    matrix->columns = columns;
    matrix->ld = columns + PROBE_PAD;
    for (unsigned i = 0; i < PROBE_MAX_ELEMENTS; i++)
        matrix->values[i] = (float)((i * 2654435761u + seed * 40503u) >> 16 & 255) / 128.0f - 1.0f;
}

static float probe_at(const struct probe_matrix *matrix, int row, int column)
{
    return matrix->values[PROBE_START + row * matrix->ld + column];
}

/* Elements of C within tolerance of the sum in double, those around it untouched. NaN is never within. */
static bool probe_right(const struct probe *p, const struct probe_matrix *a, const struct probe_matrix *b,
                        const struct probe_matrix *before, const struct probe_matrix *c)
{
    for (int i = 0; i < PROBE_MAX_ELEMENTS; i++) {
        int place = i - PROBE_START, row = place >= 0 ? place / c->ld : -1, column = place % c->ld;
        double sum = 0, size = 0, wanted, old;
        if (place < 0 || row >= p->m || column >= p->n) {
            if (c->values[i] != before->values[i])
                return false;
            continue;
        }
        for (int l = 0; l < p->k; l++) {
            double product = (double)(p->ta ? probe_at(a, l, row) : probe_at(a, row, l)) *
                             (double)(p->tb ? probe_at(b, column, l) : probe_at(b, l, column));
            sum += product;
            size += fabs(product);
        }
        old = p->beta != 0.0f ? (double)p->beta * (double)before->values[i] : 0;
        wanted = (double)p->alpha * sum + old;
        if (!(fabs((double)c->values[i] - wanted) <= 1e-6 * (size + fabs(old) + 1)))
            return false;
    }
    return true;
}

static cl_int probe_transfer(struct claret_rt *rt, cl_mem *buffers, struct probe_matrix *const *matrices,
                             int count)
{
    cl_int code = CL_SUCCESS;
    for (int i = 0; i < count && code == CL_SUCCESS; i++)
        code = clEnqueueWriteBuffer(rt->compute, buffers[i], CL_TRUE, 0, sizeof matrices[i]->values,
                                    matrices[i]->values, 0, NULL, NULL);
    return code;
}

static void probe_one(struct claret_rt *rt, const struct probe *p, cl_mem *buffers, struct probe_matrix *m)
{
    struct probe_matrix *a = &m[0], *b = &m[1], *before = &m[2], *c = &m[3];
    struct claret_gemm_call call = {.m = p->m, .n = p->n, .k = p->k, .alpha = p->alpha, .beta = p->beta};
    struct claret_gemm gemm = {.call = &call,
                               .a = buffers[0],
                               .b = buffers[1],
                               .c = buffers[2],
                               .a_offset = PROBE_START,
                               .b_offset = PROBE_START,
                               .c_offset = PROBE_START};
    cl_int code;
    probe_fill(a, p->ta ? p->k : p->m, p->ta ? p->m : p->k, 1);
    probe_fill(b, p->tb ? p->n : p->k, p->tb ? p->k : p->n, 2);
    probe_fill(before, p->m, p->n, 3);
    for (int row = 0; p->beta == 0.0f && row < p->m; row++) /* then C must not be read */
        for (int column = 0; column < p->n; column++)
            before->values[PROBE_START + row * before->ld + column] = NAN;
    call.a = (struct claret_matrix){.ld = a->ld, .transposed = p->ta};
    call.b = (struct claret_matrix){.ld = b->ld, .transposed = p->tb};
    call.c = (struct claret_matrix){.ld = before->ld};
    gemm.kind = claret_gemm_kind(&call, claret_gemm_workspace(rt, &call) > 0);
    code = probe_transfer(rt, buffers, (struct probe_matrix *[]){a, b, before}, 3);
    if (code == CL_SUCCESS) {
        pthread_mutex_lock(&lock);
        code = (cl_int)call_timed(rt, &gemm);
        pthread_mutex_unlock(&lock);
    }
    *c = *before;
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(rt->compute, buffers[2], CL_TRUE, 0, sizeof c->values, c->values, 0, NULL,
                                   NULL);
    if (code != CL_SUCCESS)
        snprintf(rt->gemm.reason, sizeof rt->gemm.reason, "a probe GEMM of CLBlast failed (%s, %d)",
                 code > -1000 ? claret_cl_name(code) : "its own code", (int)code);
    else if (!probe_right(p, a, b, before, c))
        snprintf(rt->gemm.reason, sizeof rt->gemm.reason,
                 "a probe GEMM of CLBlast (%dx%dx%d%s%s) came out wrong", p->m, p->n, p->k,
                 p->ta ? ", A transposed" : "", p->tb ? ", B transposed" : "");
}

void claret_gemm_probe(struct claret_rt *rt)
{
    cl_mem buffers[3] = {NULL, NULL, NULL};
    struct probe_matrix *matrices = NULL;
    cl_int code = CL_SUCCESS;
    rt->gemm.reason[0] = '\0';
    if (rt->gemm.off) {
        snprintf(rt->gemm.reason, sizeof rt->gemm.reason, "switched off");
        goto cleanup;
    }
    /* Known without the half minute that trying takes: its kernels for a device it does not know have such
     * groups. */
    if (rt->desc.max_work_group < CLBLAST_GROUP) {
        snprintf(rt->gemm.reason, sizeof rt->gemm.reason,
                 "CLBlast's kernels need work-groups of %d, the device allows %zu", CLBLAST_GROUP,
                 rt->desc.max_work_group);
        goto cleanup;
    }
    claret_info(
        "compiling CLBlast's kernels for this device (once per driver cache; this can take 20 s or more)");
    matrices = calloc(4, sizeof *matrices);
    for (int i = 0; i < 3 && matrices && code == CL_SUCCESS; i++) {
        buffers[i] = clCreateBuffer(rt->context, CL_MEM_READ_WRITE, sizeof matrices->values, NULL, &code);
        if (code == CL_SUCCESS)
            claret_cl_created(CLARET_CL_BUFFER);
        else
            buffers[i] = NULL;
    }
    if (!matrices || code != CL_SUCCESS) {
        snprintf(rt->gemm.reason, sizeof rt->gemm.reason, "no memory to try CLBlast with");
        goto cleanup;
    }
    for (size_t i = 0; i < sizeof probes / sizeof *probes && !rt->gemm.reason[0]; i++)
        probe_one(rt, &probes[i], buffers, matrices);
cleanup:
    for (int i = 0; i < 3; i++)
        claret_cl_release_buffer(&buffers[i]);
    free(matrices);
    rt->desc.clblast = !rt->gemm.reason[0];
    rt->desc.clblast_reason = rt->gemm.reason;
}
