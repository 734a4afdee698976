/* What solvers call to append launches and workspace. */
#include "plan/emit.h"

#include <string.h>

#include "op/gemm.h"

#define SHORT_ROUNDS                                                                                         \
    32768 /* half of what llvmpipe allows a work-item: not all that a loop does is counted                   \
           */

static void fail(struct claret_emit *emit, enum claret_status status)
{
    if (emit->status == CLARET_OK)
        emit->status = status;
}

const struct claret_tensor *claret_emit_tensor(const struct claret_emit *emit, int tensor)
{
    return &emit->tensors[tensor];
}

const struct claret_device_desc *claret_emit_device(const struct claret_emit *emit)
{
    return emit->options->device;
}

uint64_t claret_emit_workspace_limit(const struct claret_emit *emit)
{
    uint64_t limit = emit->options->workspace_limit ? emit->options->workspace_limit : CLARET_PLAN_WORKSPACE;
    uint64_t device = emit->options->device->max_alloc;
    return limit < device ? limit : device;
}

static int add_tensor(struct claret_emit *emit, const char *what, enum claret_home home,
                      enum claret_dtype dtype, int64_t count)
{
    struct claret_plan *plan = emit->plan;
    if (plan->tensor_count == emit->tensor_capacity) {
        int capacity = 2 * emit->tensor_capacity;
        struct claret_tensor *tensors = claret_arena_alloc(&plan->arena, (size_t)capacity * sizeof *tensors);
        if (!tensors) {
            fail(emit, claret_no_memory());
            return 0;
        }
        memcpy(tensors, emit->tensors, (size_t)plan->tensor_count * sizeof *tensors);
        plan->tensors = emit->tensors = tensors;
        emit->tensor_capacity = capacity;
    }
    const char *name = claret_arena_printf(&plan->arena, "%s %s", plan->graph->nodes[emit->node].name, what);
    if (!name)
        fail(emit, claret_no_memory());
    emit->tensors[plan->tensor_count] = (struct claret_tensor){
        .name = name ? name : "", .home = home, .dtype = dtype, .shape = claret_shape1(count), .base = -1};
    return plan->tensor_count++;
}

int claret_emit_temp(struct claret_emit *emit, enum claret_dtype dtype, int64_t count)
{
    return add_tensor(emit, "workspace", CLARET_HOME_ARENA, dtype, count);
}

int claret_emit_temp_like(struct claret_emit *emit, int tensor, enum claret_layout layout)
{
    struct claret_shape shape = emit->tensors[tensor].shape;
    int temp = add_tensor(emit, "reordered", CLARET_HOME_ARENA, emit->tensors[tensor].dtype, 0);
    emit->tensors[temp].shape = shape;
    emit->tensors[temp].layout = layout;
    return temp;
}

static struct claret_launch *add_launch(struct claret_emit *emit, enum claret_launch_type type,
                                        const char *what)
{
    struct claret_plan *plan = emit->plan;
    memset(&emit->sink, 0, sizeof emit->sink);
    if (plan->launch_count == emit->launch_capacity) {
        int capacity = emit->launch_capacity ? 2 * emit->launch_capacity : 64;
        struct claret_launch *launches =
            claret_arena_alloc(&plan->arena, (size_t)capacity * sizeof *launches);
        if (!launches) {
            fail(emit, claret_no_memory());
            return &emit->sink;
        }
        if (plan->launch_count)
            memcpy(launches, plan->launches, (size_t)plan->launch_count * sizeof *launches);
        plan->launches = launches;
        emit->launch_capacity = capacity;
    }
    struct claret_launch *launch = &plan->launches[plan->launch_count++];
    memset(launch, 0, sizeof *launch);
    launch->type = type;
    launch->node = emit->node;
    launch->solver = emit->solver;
    launch->label = claret_arena_printf(&plan->arena, "%s %s", plan->graph->nodes[emit->node].name, what);
    if (!launch->label) {
        launch->label = "";
        fail(emit, claret_no_memory());
    }
    return launch;
}

struct claret_kernel_call *claret_emit_kernel(struct claret_emit *emit, const char *what, const char *source,
                                              const char *entry)
{
    struct claret_launch *launch = add_launch(emit, CLARET_LAUNCH_KERNEL, what);
    launch->kernel.source = source;
    launch->kernel.entry = entry;
    return &launch->kernel;
}

void claret_emit_cost(struct claret_emit *emit, double flops, double bytes)
{
    if (emit->status != CLARET_OK || emit->plan->launch_count == 0)
        return;
    struct claret_launch *launch = &emit->plan->launches[emit->plan->launch_count - 1];
    launch->flops = flops;
    launch->bytes = bytes;
}

int64_t claret_emit_tunable(struct claret_emit *emit, const char *name, int64_t normal)
{
    return claret_param(emit->params, name, normal);
}

struct claret_params *claret_emit_params(struct claret_emit *emit)
{
    return emit->params;
}

/* The same kind of GEMM gets the same solver all through the node. NULL: failed. */
static struct claret_plan_gemm *gemm_of(struct claret_emit *emit, const struct claret_gemm_call *gemm)
{
    struct claret_plan *plan = emit->plan;
    for (int i = plan->gemm_count - 1; i >= 0 && plan->gemms[i].node == emit->node; i--) {
        const struct claret_gemm_call *other = &plan->gemms[i].call;
        if (other->m == gemm->m && other->n == gemm->n && other->k == gemm->k &&
            other->a.transposed == gemm->a.transposed && other->b.transposed == gemm->b.transposed &&
            (other->beta == 0) == (gemm->beta == 0))
            return &plan->gemms[i];
    }
    if (plan->gemm_count == emit->gemm_capacity) {
        int capacity = emit->gemm_capacity ? 2 * emit->gemm_capacity : 16;
        struct claret_plan_gemm *gemms = claret_arena_alloc(&plan->arena, (size_t)capacity * sizeof *gemms);
        if (!gemms) {
            fail(emit, claret_no_memory());
            return NULL;
        }
        if (plan->gemm_count)
            memcpy(gemms, plan->gemms, (size_t)plan->gemm_count * sizeof *gemms);
        plan->gemms = gemms;
        emit->gemm_capacity = capacity;
    }
    struct claret_plan_gemm *made = &plan->gemms[plan->gemm_count];
    *made = (struct claret_plan_gemm){.node = emit->node, .call = *gemm};
    enum claret_status status = claret_plan_choose_gemm(emit, gemm, &made->choice);
    if (status != CLARET_OK) {
        fail(emit, status);
        return NULL;
    }
    plan->gemm_count++;
    return made;
}

void claret_emit_gemm(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm)
{
    if (!claret_plan_has_gemms(emit->plan, emit->node))
        fail(emit, claret_fail(CLARET_INTERNAL, "%s: solver %s does not say that it has GEMMs",
                               emit->plan->graph->nodes[emit->node].name, emit->solver));
    struct claret_plan_gemm *chosen = gemm_of(emit, gemm);
    struct claret_params *params = emit->params;
    if (!chosen)
        return;
    emit->params = &chosen->choice.params;
    claret_gemm_solvers[chosen->choice.index]->emit(emit, what, gemm);
    emit->params = params;
}

void claret_emit_gemm_record(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm)
{
    int workspace = -1;
    size_t bytes = 0;
    if (emit->options->gemm_workspace)
        bytes = emit->options->gemm_workspace(emit->options->user, gemm);
    if (bytes)
        workspace = add_tensor(emit, "clblast", CLARET_HOME_GEMM, CLARET_DTYPE_U8, (int64_t)bytes);
    struct claret_launch *launch = add_launch(emit, CLARET_LAUNCH_GEMM, what);
    launch->gemm = *gemm;
    launch->gemm.workspace = workspace;
}

/* A work-item's arithmetic, and the elements that it reads and writes, are more than its loops' rounds. */
static enum claret_status check_rounds(const struct claret_launch *launch,
                                       const struct claret_device_desc *device)
{
    double items = 1, rounds = launch->flops / 2;
    for (int d = 0; d < launch->kernel.dims; d++)
        items *= (double)launch->kernel.items[d];
    if (rounds < launch->bytes / 4)
        rounds = launch->bytes / 4;
    if (launch->type != CLARET_LAUNCH_KERNEL || rounds <= SHORT_ROUNDS * items)
        return CLARET_OK;
    return claret_fail(CLARET_OPENCL,
                       "%s: its kernel may need loops of %.0f rounds, and %s ends them too early, so that "
                       "numbers would be wrong: take another device (--device), or a newer driver",
                       launch->label, rounds / items, device->name);
}

enum claret_status claret_emit_check(const struct claret_emit *emit, int first_launch)
{
    const struct claret_plan *plan = emit->plan;
    for (int i = first_launch; i < plan->launch_count; i++) {
        const struct claret_launch *launch = &plan->launches[i];
        if (launch->type == CLARET_LAUNCH_KERNEL && launch->kernel.broken)
            return claret_fail(
                CLARET_SHAPE, "%s: a size or count is beyond 32 bits at batch size %lld: use a smaller batch",
                launch->label, (long long)plan->graph->batch);
        if (emit->options->device->short_loops)
            CLARET_TRY(check_rounds(launch, emit->options->device));
    }
    return CLARET_OK;
}
