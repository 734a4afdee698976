/* The two ends of a step: a batch comes in from the stage buffer, the step's loss and counters are kept. */
#include "op/batch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/op.h"
#include "op/vectors.h"

#define ALIGN 128

static size_t round_up(size_t value)
{
    return (value + ALIGN - 1) / ALIGN * ALIGN;
}

void claret_stage_layout(int64_t batch, int64_t elements_per_image, size_t element_size,
                         struct claret_stage_layout *layout)
{
    layout->labels = round_up(CLARET_STAGE_HEADER);
    layout->images = round_up(layout->labels + (size_t)batch * sizeof(int32_t));
    layout->image = (size_t)elements_per_image * element_size;
    layout->slot = round_up(layout->images + (size_t)batch * layout->image);
    size_t fit = CLARET_STAGE_BYTES / layout->slot;
    layout->slots = fit < CLARET_STAGE_SLOTS_MIN   ? CLARET_STAGE_SLOTS_MIN
                    : fit > CLARET_STAGE_SLOTS_MAX ? CLARET_STAGE_SLOTS_MAX
                                                   : (int)fit;
}

/* q = v * r is v / d but for rounding; one step of Newton's method with exact remainders rounds it correctly
 * (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990). */
static float divide(float v, float d, float reciprocal)
{
    float q = v * reciprocal;
    return fmaf(fmaf(-d, q, v), reciprocal, q);
}

float claret_normalise(int v, float mean, float std, float reciprocal)
{
    return divide(divide((float)v, 255.0f, 1.0f / 255.0f) - mean, std, reciprocal);
}

void claret_stage_table(const float *values, const float *mean, const float *std, int channels, float *table)
{
    for (int c = 0; c < channels; c++, values += 256, table += CLARET_TABLE_ROW) {
        float reciprocal = 1.0f / std[c];
        memcpy(table, values, 256 * sizeof *values);
        memcpy(table + 256, (float[]){mean[c], std[c], reciprocal, 1}, 4 * sizeof *table);
        for (int v = 0; v < 256; v++)
            if (claret_normalise(v, mean[c], std[c], reciprocal) != values[v])
                table[259] = 0;
    }
}

/* in: stage (uint8, all slots), step, table (channels, CLARET_TABLE_ROW; -1: images are float32), data
 * (uint8, all images of the set, or the batch's alone; -1: they come in the stage)
 *
 * out: x (N, C, H, W), labels (N), step (its words COUNT, LR, FIRST, LOSS_*) */
static void load_arguments(struct claret_kernel_call *call, const struct claret_node *node, int64_t batch,
                           int64_t image)
{
    bool bytes = node->in[2] >= 0;
    struct claret_stage_layout layout;
    claret_stage_layout(batch, image, bytes ? 1 : sizeof(float), &layout);
    claret_kernel_define(call, "IMAGES_F32", !bytes);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, bytes ? node->in[2] : node->in[1], 0);
    claret_kernel_tensor(call, node->in[3] >= 0 ? node->in[3] : node->in[0], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_int(call, (int64_t)layout.slot);
    claret_kernel_int(call, (int64_t)layout.labels);
    claret_kernel_int(call, (int64_t)layout.images);
}

static bool plain_applicable(const struct claret_problem *problem, char reason[128])
{
    if (problem->node->attr)
        snprintf(reason, 128, "the images come split by columns");
    return !problem->node->attr;
}

static void load_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape x = claret_emit_tensor(emit, node->out[0])->shape;
    int64_t plane = x.dim[2] * x.dim[3];
    struct claret_kernel_call *call = claret_emit_kernel(emit, "load", "batch", "batch_load");
    load_arguments(call, node, x.dim[0], x.dim[1] * plane);
    claret_kernel_int(call, x.dim[1]);
    claret_kernel_int(call, plane);
    claret_kernel_range3(call, plane, x.dim[1], x.dim[0], 64);
    claret_emit_cost(emit, 0, (double)claret_shape_count(&x) * (node->in[2] >= 0 ? 5 : 8));
}

/* One item a plane, and the split by columns where the node asks for it. */
static void load_rows_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_shape xs = claret_emit_tensor(emit, node->out[0])->shape;
    const struct claret_attr *attr = node->attr;
    int64_t q = attr ? attr[CLARET_LOAD_Q].i[0] : 1, h = xs.dim[2], w = xs.dim[3];
    const int64_t none[2] = {0, 0}, *padding = attr ? attr[CLARET_LOAD_PADDING].i : none;
    if (attr) {
        h = attr[CLARET_LOAD_SIZE].i[0];
        w = attr[CLARET_LOAD_SIZE].i[1];
    }
    struct claret_kernel_call *call = claret_emit_kernel(emit, "load", "batch", "batch_load_rows");
    claret_kernel_define(call, "C", xs.dim[1]);
    claret_kernel_define(call, "H", h);
    claret_kernel_define(call, "W", w);
    claret_kernel_define(call, "HP", xs.dim[2]);
    claret_kernel_define(call, "WQ", xs.dim[3] / q);
    claret_kernel_define(call, "Q", q);
    claret_kernel_define(call, "PH", padding[0]);
    claret_kernel_define(call, "PW", padding[1]);
    load_arguments(call, node, xs.dim[0], xs.dim[1] * h * w);
    claret_kernel_range(call, xs.dim[0] * xs.dim[1], 1);
    claret_emit_cost(emit, 0, (double)claret_shape_count(&xs) * (node->in[2] >= 0 ? 5 : 8));
}

static bool rows_applicable(const struct claret_problem *problem, char reason[128])
{
    return problem->node->attr || claret_vector_device(problem->device, reason);
}

/* in: step, losses (N) or -1 where there is no training; out: step (its words) */
static void end_emit(struct claret_emit *emit, const struct claret_node *node)
{
    bool training = node->in[1] >= 0;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "end", "batch", "step_end");
    claret_kernel_define(call, "TRAINING", training);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, training ? node->in[1] : node->in[0], 0);
    claret_kernel_int(call, node->attr[CLARET_END_SLOTS].i[0]);
    claret_kernel_range(call, 1, 1);
}

static const struct claret_solver load_rows = {
    .name = "rows", .applicable = rows_applicable, .emit = load_rows_emit};
static const struct claret_solver load_plain = {
    .name = "plain", .applicable = plain_applicable, .emit = load_emit};
static const struct claret_solver end_solver = {.name = "plain", .emit = end_emit};
static const struct claret_solver *const load_solvers[] = {&load_rows, &load_plain, NULL};
static const struct claret_solver *const end_solvers[] = {&end_solver, NULL};

static const struct claret_op batch_load = {.name = "batch_load", .solvers = load_solvers};
static const struct claret_op step_end = {.name = "step_end", .solvers = end_solvers};

extern const struct claret_op *const claret_ops_batch[];
const struct claret_op *const claret_ops_batch[] = {&batch_load, &step_end, NULL};
