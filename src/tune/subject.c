#include "tune/subject.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "op/batch.h"

#define MOST_RUNS 500
/* Outputs may differ by this part of the largest one: sums in another order, over as many terms as there are.
 */
#define TOLERANCE 2e-4
/* Of positions that won a window so many may differ: two values that are all but equal. */
#define TIES 1e-3

/* ---- making ---- */

static struct claret_plan part_of(const struct claret_plan *plan, int first, int end)
{
    struct claret_plan part = *plan;
    part.launches = plan->launches + first;
    part.launch_count = end - first;
    return part;
}

enum claret_status claret_subject_create(struct claret_rt *rt, const struct claret_graph *graph,
                                         const struct claret_plan_options *options, int node,
                                         struct claret_subject *subject)
{
    enum claret_status status;
    *subject = (struct claret_subject){.rt = rt, .graph = graph, .node = node};
    CLARET_GOTO(fail, claret_plan_create(graph, options, &subject->plan));
    const struct claret_plan *plan = subject->plan;
    int first = 0, end = plan->launch_count;
    if (node != CLARET_WHOLE_STEP) {
        while (first < plan->launch_count && plan->launches[first].node < node)
            first++;
        for (end = first; end < plan->launch_count && plan->launches[end].node == node;)
            end++;
    }
    subject->before_part = part_of(plan, 0, first);
    subject->own_part = part_of(plan, first, end);
    CLARET_GOTO(fail, claret_pool_create(rt, plan->buffer_bytes, plan->buffer_count, &subject->pool));
    CLARET_GOTO(fail, claret_exec_create(subject->pool, &subject->before_part, &subject->before));
    CLARET_GOTO(fail, claret_exec_create(subject->pool, &subject->own_part, &subject->own));
    return CLARET_OK;
fail:
    claret_subject_destroy(subject);
    return status;
}

void claret_subject_destroy(struct claret_subject *subject)
{
    claret_exec_destroy(subject->before);
    claret_exec_destroy(subject->own);
    claret_pool_destroy(subject->pool);
    claret_plan_destroy(subject->plan);
    *subject = (struct claret_subject){.rt = NULL};
}

/* ---- the state that it runs from ---- */

static enum claret_status write_place(struct claret_subject *subject, int tensor, const void *data)
{
    const struct claret_place *place = tensor >= 0 ? &subject->plan->places[tensor] : NULL;
    if (!place || place->buffer < 0)
        return CLARET_OK;
    return claret_pool_write(subject->pool, place->buffer, place->offset, place->bytes, data);
}

/* The larger `bound`, the larger the numbers: uniform in [-bound, bound). */
static enum claret_status write_random(struct claret_subject *subject, int tensor, float bound,
                                       uint32_t stream)
{
    const struct claret_place *place = tensor >= 0 ? &subject->plan->places[tensor] : NULL;
    if (!place || place->buffer < 0)
        return CLARET_OK;
    float *values = malloc(place->bytes + sizeof *values);
    struct claret_rng rng;
    if (!values)
        return claret_no_memory();
    claret_rng_init(&rng, 3, CLARET_STREAM_SHAPES, stream);
    for (size_t i = 0; i < place->bytes / sizeof *values; i++)
        values[i] = (2 * claret_rng_float(&rng) - 1) * bound;
    enum claret_status status = write_place(subject, tensor, values);
    free(values);
    return status;
}

static enum claret_status write_stage(struct claret_subject *subject)
{
    const struct claret_graph *graph = subject->graph;
    const struct claret_place *place = &subject->plan->places[graph->stage];
    const struct claret_stage_header header = {.count = (uint32_t)graph->batch, .lr = 1e-3f, .first = 1};
    if (graph->stage < 0 || place->buffer < 0)
        return CLARET_OK;
    const int64_t *in = graph->spec->input;
    struct claret_stage_layout layout;
    struct claret_rng rng;
    unsigned char *data = calloc(1, place->bytes + 1);
    if (!data)
        return claret_no_memory();
    claret_stage_layout(graph->batch, in[0] * in[1] * in[2], 1, &layout);
    claret_rng_init(&rng, 4, CLARET_STREAM_SHAPES, 0);
    for (size_t at = 0; at + layout.slot <= place->bytes; at += layout.slot) {
        memcpy(data + at, &header, sizeof header);
        for (int64_t i = 0; i < graph->batch; i++) {
            int32_t label = (int32_t)claret_rng_below(&rng, (uint32_t)graph->classes);
            memcpy(data + at + layout.labels + (size_t)i * sizeof label, &label, sizeof label);
        }
        for (size_t i = 0; i < layout.image * (size_t)graph->batch; i++)
            data[at + layout.images + i] = (unsigned char)claret_rng_below(&rng, 256);
    }
    enum claret_status status = write_place(subject, graph->stage, data);
    free(data);
    return status;
}

/* The normalisation by mean and std of 0.5. */
static enum claret_status write_table(struct claret_subject *subject)
{
    const struct claret_graph *graph = subject->graph;
    const int channels = (int)graph->spec->input[0];
    float *values = malloc((size_t)channels * 256 * sizeof *values); /* (channels, 256) */
    float *table = malloc((size_t)channels * CLARET_TABLE_ROW * sizeof *table);
    float *half = malloc((size_t)channels * sizeof *half);
    enum claret_status status = values && table && half ? CLARET_OK : claret_no_memory();
    for (int i = 0; status == CLARET_OK && i < channels * 256; i++) {
        half[i / 256] = 0.5f;
        values[i] = claret_normalise(i % 256, 0.5f, 0.5f, 2.0f);
    }
    if (status == CLARET_OK && graph->table >= 0) {
        claret_stage_table(values, half, half, channels, table);
        status = write_place(subject, graph->table, table);
    }
    free(values);
    free(table);
    free(half);
    return status;
}

static enum claret_status write_state(struct claret_subject *subject)
{
    const struct claret_graph *graph = subject->graph;
    const int whole[] = {graph->all_grads, graph->all_state};
    uint32_t words[CLARET_STEP_WORDS] = {0};
    CLARET_TRY(write_place(subject, graph->step, words));
    CLARET_TRY(write_stage(subject));
    CLARET_TRY(write_table(subject));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        CLARET_TRY(write_random(subject, whole[i], 0, 0));
    for (int i = 0; i < graph->param_count; i++)
        CLARET_TRY(write_random(subject, graph->params[i], graph->tensors[graph->params[i]].init_bound,
                                2 + (uint32_t)i));
    return CLARET_OK;
}

/* ---- running ---- */

static enum claret_status run_times(struct claret_exec *exec, int times)
{
    struct claret_ticket *done = NULL;
    for (int i = 0; i < times; i++)
        CLARET_TRY(claret_exec_run(exec, NULL, i == times - 1 ? &done : NULL));
    return claret_ticket_wait(done);
}

enum claret_status claret_subject_run(struct claret_subject *subject)
{
    CLARET_TRY(write_state(subject));
    if (subject->before_part.launch_count)
        CLARET_TRY(run_times(subject->before, 1));
    CLARET_TRY(run_times(subject->own, 1));
    return claret_rt_finish(subject->rt);
}

enum claret_status claret_subject_time(struct claret_subject *subject, double least, double *seconds)
{
    double start = claret_clock(), first;
    CLARET_TRY(run_times(subject->own, 1)); /* warms up, and tells how many there should be */
    first = claret_clock() - start;
    double times = first > 0 ? least / first : MOST_RUNS;
    int count = times < 1 ? 1 : times > MOST_RUNS ? MOST_RUNS : (int)times;
    start = claret_clock();
    CLARET_TRY(run_times(subject->own, count));
    *seconds = (claret_clock() - start) / count;
    return CLARET_OK;
}

/* ---- comparing ---- */

enum claret_status claret_subject_outputs(struct claret_subject *subject, struct claret_outputs *outputs)
{
    const struct claret_node *node = &subject->graph->nodes[subject->node];
    *outputs = (struct claret_outputs){.count = node->out_count};
    for (int i = 0; i < node->out_count; i++) {
        const struct claret_place *place = &subject->plan->places[node->out[i]];
        if (place->buffer < 0)
            continue;
        outputs->bytes[i] = (size_t)place->bytes;
        outputs->data[i] = malloc(place->bytes + 1);
        enum claret_status status = outputs->data[i]
                                        ? claret_pool_read(subject->pool, place->buffer, place->offset,
                                                           place->bytes, outputs->data[i])
                                        : claret_no_memory();
        if (status != CLARET_OK) {
            claret_outputs_free(outputs);
            return status;
        }
    }
    return CLARET_OK;
}

void claret_outputs_free(struct claret_outputs *outputs)
{
    for (int i = 0; i < outputs->count; i++)
        free(outputs->data[i]);
    *outputs = (struct claret_outputs){.count = 0};
}

void claret_outputs_spoil(struct claret_outputs *outputs)
{
    if (outputs->count && outputs->data[0])
        memset((char *)outputs->data[0] + outputs->bytes[0] / 2, 0x7e, outputs->bytes[0] / 2);
}

static void compare_floats(const float *got, const float *want, size_t count, const char *name,
                           char where[200])
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)want[i]));
    double limit = TOLERANCE * largest + (double)FLT_MIN;
    for (size_t i = 0; i < count && !where[0]; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= limit))
            snprintf(where, 200, "%s[%zu] is %.6g, should be %.6g", name, i, (double)got[i], (double)want[i]);
}

static void compare_bytes(const unsigned char *got, const unsigned char *want, size_t count, const char *name,
                          char where[200])
{
    size_t other = 0;
    for (size_t i = 0; i < count; i++)
        other += got[i] != want[i];
    if ((double)other > TIES * (double)count + 2)
        snprintf(where, 200, "%zu of the %zu bytes of %s differ", other, count, name);
}

void claret_outputs_compare(const struct claret_subject *subject, const struct claret_outputs *got,
                            const struct claret_outputs *want, char where[200])
{
    const struct claret_node *node = &subject->graph->nodes[subject->node];
    where[0] = '\0';
    for (int i = 0; i < got->count && !where[0]; i++) {
        const struct claret_tensor *tensor = &subject->graph->tensors[node->out[i]];
        if (!got->data[i] || !want->data[i] || got->bytes[i] != want->bytes[i])
            snprintf(where, 200, "%s is missing", tensor->name);
        else if (tensor->dtype == CLARET_DTYPE_F32)
            compare_floats(got->data[i], want->data[i], got->bytes[i] / sizeof(float), tensor->name, where);
        else
            compare_bytes(got->data[i], want->data[i], got->bytes[i], tensor->name, where);
    }
}
