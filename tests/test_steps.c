/* Two whole training steps of every case on a device against the reference: what single nodes cannot show,
 * such as memory that two tensors share too early, or a word of the step's that the next step misses. */
#include "rt_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/batch.h"
#include "op_cases.h"
#include "values.h"

/* Of a tensor's norm. Single values may differ more: where two are nearly equal in a pool, double and float
 * may choose another. */
#define TOLERANCE 2e-3
#define CANCELLED 4e-7 /* what rounding leaves of terms that should add up to 0 */
#define STEPS CLARET_STAGE_SLOTS_MIN

/* of what is drawn on the device */
#define SEED_LOW 0xfedcba98u
#define SEED_HIGH 5

struct whole {
    const struct claret_op_case *row;
    struct claret_rt *rt;
    struct claret_device_desc device;
    struct claret_spec *spec;
    struct claret_graph *graph;
    struct claret_values *values; /* of the reference */
    struct claret_plan *plan;
    struct claret_pool *pool;
    double *images;  /* (STEPS, N, C, H, W) as the network sees them */
    double *labels;  /* (STEPS, N) */
    bool accumulate; /* one update, by both steps */
};

static struct claret_rt *device_rt;
static bool small_only;

static void check(const struct whole *whole, enum claret_status status)
{
    if (status != CLARET_OK)
        fail_msg("%s: %s", whole->row->name, claret_error());
}

/* A tensor's bytes, from the host to the device or back. */
static void move(struct whole *whole, int tensor, void *memory, bool write)
{
    const struct claret_place *place = &whole->plan->places[tensor];
    check(whole, write ? claret_pool_write(whole->pool, place->buffer, place->offset, place->bytes, memory)
                       : claret_pool_read(whole->pool, place->buffer, place->offset, place->bytes, memory));
}

static void *bytes_of(const struct whole *whole, int tensor)
{
    void *memory = calloc(1, (size_t)whole->plan->places[tensor].bytes + 1);
    assert_non_null(memory);
    return memory;
}

static void write_values(struct whole *whole, int tensor)
{
    void *memory = bytes_of(whole, tensor);
    claret_values_pack(whole->values, tensor, memory);
    move(whole, tensor, memory, true);
    free(memory);
}

/* ---- the batches ---- */

static int count_of(const struct whole *whole, int step)
{
    return step + 1 < STEPS ? whole->row->batch : whole->row->batch - whole->row->batch / 3;
}

/* Of the step's images among those since the last update. */
static float weight_of(const struct whole *whole, int step)
{
    int images = 0;
    for (int i = whole->accumulate ? 0 : step; i <= step; i++)
        images += count_of(whole, i);
    return (float)count_of(whole, step) / (float)images;
}

/* Fills one slot with float32 images, and keeps what the network will see of it. */
static void fill_slot(struct whole *whole, int step, unsigned char *stage, struct claret_rng *rng)
{
    const struct claret_tensor *input = &whole->graph->tensors[whole->graph->input];
    int64_t batch = input->shape.dim[0], image = claret_shape_count(&input->shape) / batch;
    const struct claret_stage_header header = {.count = (uint32_t)count_of(whole, step),
                                               .lr = 0.05f,
                                               .first = step == 0 || whole->accumulate,
                                               .more = whole->accumulate && step + 1 < STEPS,
                                               .weight = weight_of(whole, step),
                                               .momentum = 0.9f,
                                               .reset_loss = step == 0,
                                               .seed = {SEED_LOW, SEED_HIGH}};
    struct claret_stage_layout layout;
    claret_stage_layout(batch, image, sizeof(float), &layout);
    stage += (size_t)step * layout.slot;
    memcpy(stage, &header, sizeof header);
    claret_values_random(whole->values, whole->graph->input, rng, 0);
    claret_values_labels(whole->values, rng);
    for (int64_t n = 0; n < batch; n++) {
        double *seen = whole->images + ((int64_t)step * batch + n) * image;
        bool there = n < header.count;
        int32_t label = there ? (int32_t)whole->values->at[whole->graph->labels][n] : 0;
        whole->labels[(int64_t)step * batch + n] = label;
        memcpy(stage + layout.labels + (size_t)n * 4, &label, 4);
        for (int64_t i = 0; i < image; i++) {
            float value = there ? (float)whole->values->at[whole->graph->input][n * image + i] : 0;
            memcpy(stage + layout.images + (size_t)n * layout.image + (size_t)i * 4, &value, 4);
            seen[i] = (double)value;
        }
    }
}

static void fill(struct whole *whole, uint32_t index)
{
    const struct claret_graph *graph = whole->graph;
    struct claret_rng rng;
    size_t batch = (size_t)whole->values->count[graph->labels];
    unsigned char *stage = bytes_of(whole, graph->stage);
    claret_rng_init(&rng, 5, CLARET_STREAM_SHAPES, index);
    whole->images = calloc(STEPS * (size_t)whole->values->count[graph->input], sizeof(double));
    whole->labels = calloc(STEPS * batch, sizeof(double));
    assert_true(whole->images && whole->labels);
    for (int step = 0; step < STEPS; step++)
        fill_slot(whole, step, stage, &rng);
    move(whole, graph->stage, stage, true);
    free(stage);
    for (int i = 0; i < graph->param_count; i++) {
        double *param = whole->values->at[graph->params[i]];
        claret_values_random(whole->values, graph->params[i], &rng, 0);
        /* as they begin in training, so that logits stay small; what begins as one value, about it */
        const struct claret_tensor *of = &graph->tensors[graph->params[i]];
        float spread = of->init_bound > 0 ? of->init_bound : 0.25f;
        for (int64_t j = 0; j < whole->values->count[graph->params[i]]; j++)
            param[j] = (double)((float)param[j] * spread + of->init_value);
    }
    write_values(whole, graph->all_params);
    claret_values_class_weights(whole->values, &rng);
    if (graph->class_weights >= 0)
        write_values(whole, graph->class_weights);
}

/* ---- both sides ---- */

static void run_device(struct whole *whole)
{
    struct claret_exec *exec = NULL;
    struct claret_ticket *done = NULL;
    check(whole, claret_exec_create(whole->pool, whole->plan, &exec));
    for (int step = 0; step < STEPS; step++) {
        struct claret_ticket *next = NULL;
        check(whole, claret_exec_run(exec, done, &next));
        claret_ticket_drop(done);
        done = next;
    }
    check(whole, claret_ticket_wait(done));
    claret_exec_destroy(exec);
}

/* Returns the sum of the steps' mean losses. */
static double run_reference(struct whole *whole)
{
    const struct claret_graph *graph = whole->graph;
    double *step_words = whole->values->at[graph->step], sum = 0;
    step_words[CLARET_STEP_LR] = (double)0.05f;
    for (int step = 0; step < STEPS; step++) {
        int64_t pixels = whole->values->count[graph->input], batch = whole->values->count[graph->labels];
        double mean = 0;
        memcpy(whole->values->at[graph->input], whole->images + step * pixels,
               (size_t)pixels * sizeof(double));
        memcpy(whole->values->at[graph->labels], whole->labels + step * batch,
               (size_t)batch * sizeof(double));
        step_words[CLARET_STEP_COUNT] = count_of(whole, step);
        step_words[CLARET_STEP_FIRST] = step == 0 || whole->accumulate;
        step_words[CLARET_STEP_MOMENTUM] = (double)0.9f;
        step_words[CLARET_STEP_MORE] = whole->accumulate && step + 1 < STEPS;
        step_words[CLARET_STEP_WEIGHT] = (double)weight_of(whole, step);
        step_words[CLARET_STEP_NUMBER] = step;
        step_words[CLARET_STEP_SEED] = SEED_LOW;
        step_words[CLARET_STEP_SEED + 1] = SEED_HIGH;
        for (int i = 1; i + 1 < graph->node_count; i++) /* between batch_load and step_end */
            assert_true(claret_values_run(whole->values, &graph->nodes[i]));
        for (int64_t i = 0; i < batch; i++)
            mean += whole->values->at[graph->losses][i];
        sum += mean / count_of(whole, step);
    }
    return sum;
}

static void compare(struct whole *whole, int tensor)
{
    void *memory = bytes_of(whole, tensor);
    int64_t count = whole->values->count[tensor];
    double *got = malloc(((size_t)count + 1) * sizeof *got), error = 0, norm = 0;
    assert_non_null(got);
    move(whole, tensor, memory, false);
    claret_values_unpack(whole->values, tensor, memory, got);
    for (int64_t i = 0; i < count; i++) {
        double want = whole->values->at[tensor][i];
        error += (got[i] - want) * (got[i] - want);
        norm += want * want;
    }
    if (!(sqrt(error) <= TOLERANCE * sqrt(norm) + CANCELLED))
        fail_msg("%s: %s is off by %.3g of a norm of %.3g", whole->row->name,
                 whole->graph->tensors[tensor].name, sqrt(error), sqrt(norm));
    free(got);
    free(memory);
}

static void compare_step(struct whole *whole, double loss_sum)
{
    uint32_t words[CLARET_STEP_WORDS];
    float sum;
    move(whole, whole->graph->step, words, false);
    memcpy(&sum, &words[CLARET_STEP_LOSS_SUM], sizeof sum);
    if (!(fabs((double)sum - loss_sum) <= 1e-4 * loss_sum + 1e-6))
        fail_msg("%s: the sum of losses is %g, not %g", whole->row->name, (double)sum, loss_sum);
    assert_int_equal(words[CLARET_STEP_NUMBER], STEPS);
    assert_int_equal(words[CLARET_STEP_LOSS_COUNT], STEPS);
    assert_int_equal(words[CLARET_STEP_BAD], 0);
    const struct claret_shape *input = &whole->graph->tensors[whole->graph->input].shape;
    struct claret_stage_layout layout;
    claret_stage_layout(input->dim[0], claret_shape_count(input) / input->dim[0], sizeof(float), &layout);
    assert_int_equal(words[CLARET_STEP_SLOT], STEPS % layout.slots);
}

/* ---- cases ---- */

static void begin(struct whole *whole, const struct claret_op_case *row, uint32_t index, uint64_t max_alloc,
                  bool as_trained)
{
    const struct claret_graph_options options = {.training = true,
                                                 .input_grad = true,
                                                 .fuse = as_trained,
                                                 .channels_last = as_trained,
                                                 .f32_images = true,
                                                 .clip_norm = index % 8 == 1 ? 0.1 : 0,
                                                 .clip_value = index % 8 == 3 ? 0.01 : 0,
                                                 .accumulate = index % 8 == 5,
                                                 .ema = index % 8 == 5 ? 0.75 : 0,
                                                 .optimizer.momentum = 0.9,
                                                 .optimizer.dampening = index % 2 ? 0.25 : 0,
                                                 .optimizer.nesterov = index % 4 == 2,
                                                 .optimizer.weight_decay = index % 3 ? 0 : 0.01};
    struct claret_plan_options plan_options = {.gemm_workspace = claret_rt_gemm_workspace, .user = device_rt};
    *whole = (struct whole){.row = row,
                            .rt = device_rt,
                            .device = *claret_rt_device(device_rt),
                            .accumulate = options.accumulate};
    claret_error_clear();
    plan_options.device = &whole->device;
    check(whole, claret_op_case_graph(row, &options, &whole->spec, &whole->graph));
    if (max_alloc) { /* the stage's slots stay together */
        uint64_t stage = (uint64_t)claret_shape_count(&whole->graph->tensors[whole->graph->stage].shape);
        whole->device.max_alloc = max_alloc > stage ? max_alloc : stage + CLARET_PLAN_SLACK;
    }
    check(whole, claret_plan_create(whole->graph, &plan_options, &whole->plan));
    whole->values = claret_values_create(whole->graph);
    assert_non_null(whole->values);
    check(whole,
          claret_pool_create(device_rt, whole->plan->buffer_bytes, whole->plan->buffer_count, &whole->pool));
}

static void end(struct whole *whole)
{
    claret_pool_destroy(whole->pool);
    claret_plan_destroy(whole->plan);
    claret_values_destroy(whole->values);
    claret_graph_destroy(whole->graph);
    claret_spec_destroy(whole->spec);
    free(whole->images);
    free(whole->labels);
}

static void run_case(const struct claret_op_case *row, uint32_t index, uint64_t max_alloc, bool as_trained)
{
    struct whole whole;
    begin(&whole, row, index, max_alloc, as_trained);
    fill(&whole, index);
    run_device(&whole);
    double loss_sum = run_reference(&whole);
    compare_step(&whole, loss_sum);
    compare(&whole, whole.graph->losses);
    if (whole.graph->logits >= 0)
        compare(&whole, whole.graph->logits);
    compare(&whole, whole.graph->all_params);
    compare(&whole, whole.graph->all_state);
    compare(&whole, whole.graph->input_grad);
    for (int i = 0; i < whole.graph->param_count; i++)
        compare(&whole, whole.graph->grads[i]);
    end(&whole);
}

/* Cases of one layer differ in what test_ops looks at: some of them are enough here, for every program takes
 * its time to build. */
static bool worth_it(uint32_t index)
{
    static const char *const layers[] = {"conv-", "relu-", "pool-", "linear-", "norm-", "avg-"};
    const char *name = claret_op_cases[index].name;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (strncmp(name, layers[i], strlen(layers[i])) == 0)
            return index % 4 == 0;
    return true;
}

static void test_cases(void **state)
{
    (void)state;
    for (uint32_t i = 0; claret_op_cases[i].name; i++)
        if (claret_op_cases[i].small && worth_it(i))
            run_case(&claret_op_cases[i], i, 0, false);
}

/* Layers fused and images in NHWC, as on a CPU device. */
static void test_as_trained(void **state)
{
    (void)state;
    for (uint32_t i = 0; claret_op_cases[i].name; i++)
        if ((claret_op_cases[i].small || !small_only) && worth_it(i))
            run_case(&claret_op_cases[i], i, 0, true);
}

/* Layers apart with memory in many small buffers. */
static void test_small_buffers(void **state)
{
    (void)state;
    for (uint32_t i = 0; claret_op_cases[i].name; i++)
        if (claret_op_cases[i].small && i % 2)
            run_case(&claret_op_cases[i], i, 20000, false);
}

static int open_rt(void **state)
{
    (void)state;
    device_rt = fixture_open(NULL, NULL);
    return claret_rt_probe_gemm(device_rt) != CLARET_OK;
}

static int close_rt(void **state)
{
    claret_rt_close(device_rt);
    return fixture_no_objects(state);
}

/* --small: only the cases for emulators and sanitizers. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_as_trained),
                                       cmocka_unit_test(test_small_buffers)};
    small_only = argc > 1 && strcmp(argv[1], "--small") == 0;
    int status = fixture_begin();
    if (status)
        return status;
    status = cmocka_run_group_tests(tests, open_rt, close_rt);
    fixture_end();
    return status;
}
