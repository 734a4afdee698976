#include "hand_plan.h"

#include <string.h>

#include "plan/emit.h"

void hand_init(struct hand_plan *hand)
{
    memset(hand, 0, sizeof *hand);
    hand->plan.tensors = hand->tensors;
    hand->plan.places = hand->places;
    hand->plan.launches = hand->launches;
}

int hand_tensor(struct hand_plan *hand, enum claret_dtype dtype, int64_t count, int buffer, uint64_t offset)
{
    int id = hand->plan.tensor_count++;
    hand->tensors[id] = (struct claret_tensor){.name = "by hand",
                                               .home = CLARET_HOME_ARENA,
                                               .dtype = dtype,
                                               .shape = claret_shape1(count),
                                               .base = -1};
    hand->places[id] = (struct claret_place){
        .buffer = buffer, .offset = offset, .bytes = (uint64_t)count * (dtype == CLARET_DTYPE_U8 ? 1 : 4)};
    return id;
}

int hand_view(struct hand_plan *hand, int base, int64_t offset, int64_t count)
{
    int id = hand->plan.tensor_count++;
    hand->tensors[id] = hand->tensors[base];
    hand->tensors[id].shape = claret_shape1(count);
    hand->tensors[id].base = base;
    hand->tensors[id].base_offset = offset;
    hand->places[id] = (struct claret_place){.buffer = -1};
    return id;
}

static struct claret_launch *add_launch(struct hand_plan *hand, enum claret_launch_type type,
                                        const char *label)
{
    struct claret_launch *launch = &hand->launches[hand->plan.launch_count++];
    launch->type = type;
    launch->label = label;
    launch->solver = "by hand";
    return launch;
}

struct claret_kernel_call *hand_kernel(struct hand_plan *hand, const char *label, const char *source,
                                       const char *entry)
{
    struct claret_kernel_call *call = &add_launch(hand, CLARET_LAUNCH_KERNEL, label)->kernel;
    call->source = source;
    call->entry = entry;
    call->dims = 1;
    call->items[0] = call->local[0] = 1;
    return call;
}

void hand_define(struct claret_kernel_call *call, const char *name, int64_t value)
{
    call->define[call->define_count++] =
        (struct claret_define){.name = name, .type = CLARET_DEFINE_INT, .i = value};
}

void hand_define_float(struct claret_kernel_call *call, const char *name, float value)
{
    call->define[call->define_count++] =
        (struct claret_define){.name = name, .type = CLARET_DEFINE_FLOAT, .f = value};
}

void hand_arg_tensor(struct claret_kernel_call *call, int tensor, int64_t offset)
{
    call->arg[call->arg_count++] =
        (struct claret_arg){.type = CLARET_ARG_TENSOR, .tensor = tensor, .offset = offset};
}

void hand_arg_int(struct claret_kernel_call *call, int32_t value)
{
    call->arg[call->arg_count++] = (struct claret_arg){.type = CLARET_ARG_INT, .i = value};
}

void hand_arg_float(struct claret_kernel_call *call, float value)
{
    call->arg[call->arg_count++] = (struct claret_arg){.type = CLARET_ARG_FLOAT, .f = value};
}

void hand_gemm(struct hand_plan *hand, const struct claret_gemm_call *gemm)
{
    add_launch(hand, CLARET_LAUNCH_GEMM, "clblast gemm")->gemm = *gemm;
}

enum claret_status hand_gemm_by(struct hand_plan *hand, const struct claret_gemm_call *gemm,
                                const struct claret_gemm_solver *solver,
                                const struct claret_device_desc *device, int buffer, uint64_t *bytes)
{
    struct claret_node node = {.name = "by hand"};
    struct claret_graph graph = {.nodes = &node, .node_count = 1};
    struct claret_plan_options options = {.device = device};
    struct claret_emit emit = {.plan = &hand->plan,
                               .options = &options,
                               .tensors = hand->tensors,
                               .tensor_capacity = HAND_MAX,
                               .launch_capacity = HAND_MAX,
                               .solver = solver->name};
    int first = hand->plan.tensor_count;
    hand->plan.graph = &graph;
    solver->emit(&emit, "gemm", gemm);
    hand->plan.graph = NULL;
    for (int i = first; i < hand->plan.tensor_count; i++) {
        uint64_t size = (uint64_t)hand->tensors[i].shape.dim[0] * sizeof(float);
        hand->places[i] = (struct claret_place){.buffer = buffer, .offset = *bytes, .bytes = size};
        *bytes += (size + 127) / 128 * 128;
    }
    return emit.status;
}

void hand_finish(struct hand_plan *hand)
{
    claret_arena_free(&hand->plan.arena);
}
