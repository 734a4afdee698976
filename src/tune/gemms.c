#include "tune/gemms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/subject.h"

#define PROFILES 5
#define MAX_PARAMETERS 20
#define TOLERANCE 2e-4 /* of the largest gradient */

/* ---- sets of parameters ---- */

/* As CLBlast's kernels want them: MWG a multiple of MDIMC * VWM and of MDIMA * VWM, NWG likewise, KWG of
 * MDIMC * NDIMC / MDIMA and / NDIMB; WGD of the direct kernel likewise. Small and large groups, narrow and
 * wide vectors, with local memory (SA, SB) and without. */
#define INDIRECT                                                                                             \
    "GEMMK", "KREG", "KWG", "KWI", "MDIMA", "MDIMC", "MWG", "NDIMB", "NDIMC", "NWG", "SA", "SB", "STRM",     \
        "STRN", "VWM", "VWN"
#define DIRECT "KWID", "MDIMAD", "MDIMCD", "NDIMBD", "NDIMCD", "PADA", "PADB", "VWMD", "VWND", "WGD"
static const char *const indirect[] = {INDIRECT, NULL};
static const char *const direct[] = {DIRECT, NULL};

static const struct set {
    const char *kernel;
    const char *const *names;
    int values[MAX_PARAMETERS];
} sets[] = {
    {"Xgemm", indirect, {0, 1, 32, 2, 8, 8, 64, 8, 8, 64, 0, 0, 0, 0, 8, 8}},
    {"Xgemm", indirect, {0, 1, 32, 2, 8, 8, 32, 8, 8, 32, 0, 0, 0, 0, 4, 4}},
    {"Xgemm", indirect, {0, 1, 32, 2, 4, 4, 64, 4, 4, 64, 0, 0, 0, 0, 8, 4}},
    {"Xgemm", indirect, {0, 1, 16, 2, 8, 8, 128, 8, 8, 64, 0, 0, 0, 0, 8, 4}},
    {"Xgemm", indirect, {0, 1, 32, 2, 16, 16, 64, 16, 16, 64, 1, 1, 0, 0, 4, 4}},
    {"XgemmDirect", direct, {2, 8, 8, 8, 8, 1, 1, 4, 4, 32}},
    {"XgemmDirect", direct, {2, 8, 8, 8, 8, 1, 1, 2, 2, 16}},
    {"XgemmDirect", direct, {2, 4, 4, 4, 4, 1, 1, 8, 8, 32}},
    {"XgemmDirect", direct, {8, 8, 8, 8, 8, 0, 0, 8, 8, 64}},
};

json_t *claret_gemms_set(int index, const char **kernel)
{
    if (index >= (int)(sizeof sets / sizeof *sets))
        return NULL;
    json_t *values = json_object();
    for (int i = 0; sets[index].names[i]; i++)
        json_object_set_new(values, sets[index].names[i], json_integer(sets[index].values[i]));
    *kernel = sets[index].kernel;
    return values;
}

enum claret_status claret_gemms_override(struct claret_rt *rt, const json_t *parameters)
{
    for (void *at = json_object_iter((json_t *)parameters); at;
         at = json_object_iter_next((json_t *)parameters, at)) {
        json_t *values = json_object_iter_value(at), *value;
        const char *names[MAX_PARAMETERS], *name;
        size_t numbers[MAX_PARAMETERS];
        int count = 0;
        json_object_foreach(values, name, value)
        {
            if (count == MAX_PARAMETERS || !json_is_integer(value) || json_integer_value(value) < 0)
                return claret_fail(CLARET_FORMAT, "CLBlast's parameters of %s are wrong",
                                   json_object_iter_key(at));
            names[count] = name;
            numbers[count++] = (size_t)json_integer_value(value);
        }
        CLARET_TRY(claret_rt_gemm_override(rt, json_object_iter_key(at), names, numbers, count));
    }
    return CLARET_OK;
}

/* ---- measuring ---- */

struct claret_gemms {
    struct claret_subject subject;
    float *want; /* the step's gradients by the plain kernels, count of them */
    size_t count;
    double *seconds;
    bool *wall;
};

/* All nodes by their plainest solver, which for convolutions and linear layers is a GEMM, and that by `gemm`.
 */
static enum claret_status make_subject(struct claret_rt *rt, const struct claret_graph *graph,
                                       const char *gemm, struct claret_subject *subject)
{
    struct claret_plan_force *force = calloc((size_t)graph->node_count + 1, sizeof *force);
    struct claret_plan_options options = {.device = claret_rt_device(rt),
                                          .force = force,
                                          .gemm_workspace = claret_rt_gemm_workspace,
                                          .user = rt};
    if (!force)
        return claret_no_memory();
    for (int i = 0; i < graph->node_count; i++) {
        const struct claret_solver *const *solvers = graph->nodes[i].op->solvers;
        int last = 0;
        while (solvers && solvers[last + 1])
            last++;
        if (solvers && strstr(solvers[last]->name, "gemm"))
            force[options.force_count++] =
                (struct claret_plan_force){graph->nodes[i].name, solvers[last]->name};
    }
    force[options.force_count++] = (struct claret_plan_force){NULL, gemm};
    enum claret_status status = claret_subject_create(rt, graph, &options, CLARET_WHOLE_STEP, subject);
    free(force);
    return status;
}

static enum claret_status read_gradients(struct claret_subject *subject, float **values, size_t *count)
{
    const struct claret_place *place = &subject->plan->places[subject->graph->all_grads];
    *count = (size_t)place->bytes / sizeof(float);
    *values = malloc(place->bytes + 1);
    if (!*values)
        return claret_no_memory();
    return claret_pool_read(subject->pool, place->buffer, place->offset, place->bytes, *values);
}

enum claret_status claret_gemms_create(struct claret_rt *rt, const struct claret_graph *graph,
                                       struct claret_gemms **result)
{
    struct claret_gemms *gemms = calloc(1, sizeof *gemms);
    struct claret_subject plain = {.rt = NULL};
    enum claret_status status = gemms ? CLARET_OK : claret_no_memory();
    if (status == CLARET_OK)
        status = make_subject(rt, graph, "gemm:plain", &plain);
    if (status == CLARET_OK)
        status = claret_subject_run(&plain);
    if (status == CLARET_OK)
        status = read_gradients(&plain, &gemms->want, &gemms->count);
    claret_subject_destroy(&plain);
    if (status == CLARET_OK)
        status = make_subject(rt, graph, "gemm:clblast", &gemms->subject);
    if (status == CLARET_OK && !claret_plan_uses_gemm(gemms->subject.plan))
        status = claret_fail(CLARET_NOT_FOUND, "no layer of the network is a GEMM");
    if (status == CLARET_OK) {
        gemms->seconds = calloc((size_t)gemms->subject.plan->launch_count + 1, sizeof *gemms->seconds);
        gemms->wall = calloc((size_t)gemms->subject.plan->launch_count + 1, sizeof *gemms->wall);
        status = gemms->seconds && gemms->wall ? CLARET_OK : claret_no_memory();
    }
    if (status != CLARET_OK) {
        claret_gemms_destroy(gemms);
        return status;
    }
    *result = gemms;
    return CLARET_OK;
}

void claret_gemms_destroy(struct claret_gemms *gemms)
{
    if (!gemms)
        return;
    claret_subject_destroy(&gemms->subject);
    free(gemms->want);
    free(gemms->seconds);
    free(gemms->wall);
    free(gemms);
}

static enum claret_status check(struct claret_gemms *gemms)
{
    float *got = NULL;
    size_t count, wrong = 0;
    double largest = 0;
    CLARET_TRY(claret_subject_run(&gemms->subject));
    enum claret_status status = read_gradients(&gemms->subject, &got, &count);
    for (size_t i = 0; i < gemms->count; i++)
        largest = fmax(largest, fabs((double)gemms->want[i]));
    for (size_t i = 0; status == CLARET_OK && i < gemms->count; i++)
        wrong += !(fabs((double)got[i] - (double)gemms->want[i]) <= TOLERANCE * largest);
    free(got);
    if (status == CLARET_OK && wrong)
        return claret_fail(CLARET_INTERNAL, "wrong results: %zu of %zu gradients", wrong, gemms->count);
    return status;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

enum claret_status claret_gemms_time(struct claret_gemms *gemms, double *seconds)
{
    double sums[PROFILES];
    CLARET_TRY(check(gemms));
    for (int p = -1; p < PROFILES; p++) { /* the first one warms up */
        CLARET_TRY(claret_exec_run_profiled(gemms->subject.own, gemms->seconds, gemms->wall));
        double sum = 0;
        for (int i = 0; i < gemms->subject.plan->launch_count; i++)
            if (gemms->subject.plan->launches[i].type == CLARET_LAUNCH_GEMM)
                sum += gemms->seconds[i];
        sums[p < 0 ? 0 : p] = sum;
    }
    qsort(sums, PROFILES, sizeof *sums, by_size);
    *seconds = sums[PROFILES / 2];
    return CLARET_OK;
}
