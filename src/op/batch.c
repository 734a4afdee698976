/* The two ends of a step: a batch comes in from the stage buffer, the step's loss and counters are kept. */
#include "op/batch.h"

#include "op/op.h"

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
}

/* in: stage (uint8, all slots), step, table (channels, 256), -1: images are float32
 * out: x (N, C, H, W), labels (N), step (its words COUNT, LR, FIRST, LOSS_*) */
static void load_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_tensor *x = claret_emit_tensor(emit, node->out[0]);
    int64_t batch = x->shape.dim[0];
    int64_t plane = x->shape.dim[2] * x->shape.dim[3], image = x->shape.dim[1] * plane;
    bool bytes = node->in[2] >= 0;
    struct claret_stage_layout layout;
    claret_stage_layout(batch, image, bytes ? 1 : sizeof(float), &layout);
    struct claret_kernel_call *call = claret_emit_kernel(emit, "load", "batch", "batch_load");
    claret_kernel_define(call, "IMAGES_F32", !bytes);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, bytes ? node->in[2] : node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_tensor(call, node->out[1], 0);
    claret_kernel_int(call, (int64_t)layout.slot);
    claret_kernel_int(call, (int64_t)layout.labels);
    claret_kernel_int(call, (int64_t)layout.images);
    claret_kernel_int(call, x->shape.dim[1]);
    claret_kernel_int(call, plane);
    claret_kernel_range3(call, plane, x->shape.dim[1], batch, 64);
    claret_emit_cost(emit, 0, (double)(batch * image) * (bytes ? 5 : 8));
}

/* in: step, losses (N) or -1 where there is no training; out: step (its words) */
static void end_emit(struct claret_emit *emit, const struct claret_node *node)
{
    bool training = node->in[1] >= 0;
    struct claret_kernel_call *call = claret_emit_kernel(emit, "end", "batch", "step_end");
    claret_kernel_define(call, "TRAINING", training);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, training ? node->in[1] : node->in[0], 0);
    claret_kernel_int(call, CLARET_STAGE_SLOTS);
    claret_kernel_range(call, 1, 1);
}

static const struct claret_solver load_solver = {"plain", NULL, load_emit};
static const struct claret_solver end_solver = {"plain", NULL, end_emit};
static const struct claret_solver *const load_solvers[] = {&load_solver, NULL};
static const struct claret_solver *const end_solvers[] = {&end_solver, NULL};

static const struct claret_op batch_load = {.name = "batch_load", .solvers = load_solvers};
static const struct claret_op step_end = {.name = "step_end", .solvers = end_solvers};

extern const struct claret_op *const claret_ops_batch[];
const struct claret_op *const claret_ops_batch[] = {&batch_load, &step_end, NULL};
