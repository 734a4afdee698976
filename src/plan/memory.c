/* Where each tensor lies. Tensors whose lifetimes do not meet share memory: the largest first, each at the
 * lowest place that no tensor alive at the same time has (greedy by size: Pisarchyk and Lee, "Efficient
 * memory management for deep neural net inference", 2020). Lifetimes are counted in launches but stretched to
 * whole nodes: a solver may use its inputs until its last launch. */
#include "plan/emit.h"

#include <stdlib.h>

#define ALIGN 128 /* bytes: a cache line, a GPU's transaction, the widest vector */

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

int claret_plan_root(const struct claret_plan *plan, int tensor)
{
    while (plan->tensors[tensor].base >= 0)
        tensor = plan->tensors[tensor].base;
    return tensor;
}

static size_t element_size(enum claret_dtype dtype)
{
    return dtype == CLARET_DTYPE_U8 ? 1 : 4;
}

static void use(struct claret_plan *plan, int tensor, int first, int last)
{
    if (tensor < 0)
        return;
    struct claret_place *place = &plan->places[claret_plan_root(plan, tensor)];
    if (place->first < 0 || first < place->first)
        place->first = first;
    if (last > place->last)
        place->last = last;
}

static void find_lifetimes(struct claret_plan *plan)
{
    const struct claret_graph *graph = plan->graph;
    int launch = 0;
    while (launch < plan->launch_count) {
        int first = launch, last = launch;
        while (last + 1 < plan->launch_count && plan->launches[last + 1].node == plan->launches[first].node)
            last++;
        for (; launch <= last; launch++) {
            const struct claret_launch *at = &plan->launches[launch];
            for (int i = 0; i < at->kernel.arg_count; i++)
                if (at->kernel.arg[i].type == CLARET_ARG_TENSOR)
                    use(plan, at->kernel.arg[i].tensor, first, last);
            if (at->type == CLARET_LAUNCH_GEMM) {
                use(plan, at->gemm.a.tensor, first, last);
                use(plan, at->gemm.b.tensor, first, last);
                use(plan, at->gemm.c.tensor, first, last);
                use(plan, at->gemm.workspace, first, last);
            }
        }
    }
    /* What the host reads after the step. */
    use(plan, graph->logits, plan->launch_count, plan->launch_count);
    use(plan, graph->losses, plan->launch_count, plan->launch_count);
    use(plan, graph->input_grad, plan->launch_count, plan->launch_count);
}

struct order {
    int tensor;
    uint64_t bytes;
};

static int by_size(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* The lowest offset in `buffer` where `bytes` (guards included) meet nothing alive at the same time. `sorted`
 * holds the `count` tensors placed so far. */
static uint64_t lowest(const struct claret_plan *plan, const struct order *sorted, int count, int buffer,
                       const struct claret_place *place, uint64_t bytes, uint64_t guard)
{
    uint64_t offset = 0;
    bool moved = true;
    while (moved) {
        moved = false;
        for (int i = 0; i < count; i++) {
            const struct claret_place *other = &plan->places[sorted[i].tensor];
            if (other->buffer != buffer || other->last < place->first || place->last < other->first)
                continue;
            uint64_t start = other->offset - guard, end = other->offset + other->bytes + guard;
            if (offset < end && start < offset + bytes) {
                offset = round_up(end, ALIGN);
                moved = true;
            }
        }
    }
    return offset;
}

static enum claret_status place_arena(struct claret_plan *plan, const struct claret_plan_options *options,
                                      struct order *sorted, int count)
{
    uint64_t guard = round_up(options->guard, ALIGN), limit = options->device->max_alloc;
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    for (int i = 0; i < count; i++) {
        struct claret_place *place = &plan->places[sorted[i].tensor];
        uint64_t bytes = place->bytes + 2 * guard, offset = 0;
        int buffer = CLARET_HOME_ARENA;
        for (; buffer < CLARET_PLAN_MAX_BUFFERS; buffer++) {
            offset = lowest(plan, sorted, i, buffer, place, bytes, guard);
            if (offset + bytes + CLARET_PLAN_SLACK <= limit)
                break;
        }
        if (buffer == CLARET_PLAN_MAX_BUFFERS)
            return claret_fail(CLARET_DEVICE_MEMORY,
                               "the step's tensors do not fit into %d buffers of the device's largest "
                               "allocation, %llu bytes: use a smaller batch",
                               CLARET_PLAN_MAX_BUFFERS - CLARET_HOME_ARENA, (unsigned long long)limit);
        place->buffer = buffer;
        place->offset = offset + guard;
        if (plan->buffer_bytes[buffer] < offset + bytes)
            plan->buffer_bytes[buffer] = offset + bytes;
        if (plan->buffer_count <= buffer)
            plan->buffer_count = buffer + 1;
    }
    return CLARET_OK;
}

/* A home's tensors each have the buffer for themselves, but for GEMM's workspaces, which take turns in it. */
static void place_home(struct claret_plan *plan, const struct claret_plan_options *options, int tensor)
{
    struct claret_place *place = &plan->places[tensor];
    uint64_t guard = round_up(options->guard, ALIGN);
    place->buffer = (int)plan->tensors[tensor].home;
    place->offset = place->buffer == CLARET_HOME_GEMM ? 0 : guard;
    if (place->buffer != CLARET_HOME_GEMM) {
        place->first = 0;
        place->last = plan->launch_count;
    }
    uint64_t bytes = round_up(place->offset + place->bytes + guard, ALIGN);
    if (plan->buffer_bytes[place->buffer] < bytes)
        plan->buffer_bytes[place->buffer] = bytes;
}

static enum claret_status check_size(const struct claret_plan *plan,
                                     const struct claret_plan_options *options, int tensor)
{
    char need[32], limit[32];
    if (plan->places[tensor].bytes + CLARET_PLAN_SLACK <= options->device->max_alloc)
        return CLARET_OK;
    return claret_fail(CLARET_DEVICE_MEMORY,
                       "%s needs %s at batch size %lld, but the device allocates at most %s at once",
                       plan->tensors[tensor].name, claret_format_bytes(plan->places[tensor].bytes, need),
                       (long long)plan->graph->batch, claret_format_bytes(options->device->max_alloc, limit));
}

enum claret_status claret_plan_place(struct claret_plan *plan, const struct claret_plan_options *options)
{
    plan->places = claret_arena_alloc(&plan->arena, (size_t)plan->tensor_count * sizeof *plan->places);
    struct order *sorted = malloc((size_t)plan->tensor_count * sizeof *sorted);
    if (!plan->places || !sorted) {
        free(sorted);
        return claret_no_memory();
    }
    for (int i = 0; i < plan->tensor_count; i++)
        plan->places[i] = (struct claret_place){.buffer = -1, .first = -1, .last = -1};
    find_lifetimes(plan);
    enum claret_status status = CLARET_OK;
    int count = 0;
    plan->buffer_count = CLARET_HOME_ARENA;
    for (int i = 0; i < plan->tensor_count && status == CLARET_OK; i++) {
        const struct claret_tensor *tensor = &plan->tensors[i];
        struct claret_place *place = &plan->places[i];
        if (tensor->base >= 0 || (tensor->home == CLARET_HOME_ARENA && place->first < 0))
            continue;
        place->bytes =
            round_up((uint64_t)claret_shape_count(&tensor->shape) * element_size(tensor->dtype), 4);
        status = check_size(plan, options, i);
        if (tensor->home == CLARET_HOME_ARENA)
            sorted[count++] = (struct order){i, place->bytes};
        else
            place_home(plan, options, i);
    }
    if (status == CLARET_OK)
        status = place_arena(plan, options, sorted, count);
    /* Views lie where their root lies. */
    for (int i = 0; i < plan->tensor_count; i++)
        if (plan->tensors[i].base >= 0) {
            int64_t offset = 0;
            for (int t = i; plan->tensors[t].base >= 0; t = plan->tensors[t].base)
                offset += plan->tensors[t].base_offset;
            plan->places[i] = plan->places[claret_plan_root(plan, i)];
            plan->places[i].offset += (uint64_t)offset * element_size(plan->tensors[i].dtype);
            plan->places[i].bytes =
                (uint64_t)claret_shape_count(&plan->tensors[i].shape) * element_size(plan->tensors[i].dtype);
        }
    for (int i = 0; i < plan->buffer_count; i++)
        plan->buffer_bytes[i] += plan->buffer_bytes[i] ? CLARET_PLAN_SLACK : 0;
    free(sorted);
    return status;
}
