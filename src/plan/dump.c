/* The frozen plan as text. */
#include <inttypes.h>

#include "plan/emit.h"

static const char *const homes[CLARET_HOME_ARENA + 1] = {
    [CLARET_HOME_PARAMS] = "params", [CLARET_HOME_GRADS] = "grads",     [CLARET_HOME_MEANS] = "means",
    [CLARET_HOME_STATE] = "state",   [CLARET_HOME_STEP] = "step",       [CLARET_HOME_STAGE] = "stage",
    [CLARET_HOME_TABLE] = "table",   [CLARET_HOME_CLASSES] = "classes", [CLARET_HOME_DATA] = "data",
    [CLARET_HOME_IMAGES] = "images", [CLARET_HOME_BUFFERS] = "buffers", [CLARET_HOME_GEMM] = "gemm",
    [CLARET_HOME_ARENA] = "arena"};
static const char *const dtypes[] = {"float32", "int32", "uint8"};

static void dump_matrix(const struct claret_plan *plan, const char *name, const struct claret_matrix *matrix,
                        struct claret_text *text)
{
    claret_text_add(text, " %s=[%s]", name, plan->tensors[matrix->tensor].name);
    if (matrix->offset)
        claret_text_add(text, "+%" PRId64, matrix->offset);
    claret_text_add(text, " ld=%" PRId64 "%s", matrix->ld, matrix->transposed ? " transposed" : "");
}

static void dump_kernel(const struct claret_plan *plan, const struct claret_kernel_call *call,
                        struct claret_text *text)
{
    claret_text_add(text, " %s.cl:%s", call->source, call->entry);
    for (int i = 0; i < call->define_count; i++) {
        const struct claret_define *define = &call->define[i];
        if (define->type == CLARET_DEFINE_INT)
            claret_text_add(text, " -D%s=%" PRId64, define->name, define->i);
        else
            claret_text_add(text, " -D%s=%af", define->name, (double)define->f);
    }
    claret_text_add(text, " items=");
    for (int d = 0; d < call->dims; d++)
        claret_text_add(text, "%s%zu", d ? "x" : "", call->items[d]);
    claret_text_add(text, " local=");
    for (int d = 0; d < call->dims; d++)
        claret_text_add(text, "%s%zu", d ? "x" : "", call->local[d]);
    claret_text_add(text, "%s args=(", call->fixed ? " fixed" : "");
    for (int i = 0; i < call->arg_count; i++) {
        const struct claret_arg *arg = &call->arg[i];
        claret_text_add(text, "%s", i ? ", " : "");
        if (arg->type == CLARET_ARG_TENSOR) {
            claret_text_add(text, "[%s]", plan->tensors[arg->tensor].name);
            if (arg->offset)
                claret_text_add(text, "+%" PRId64, arg->offset);
        } else if (arg->type == CLARET_ARG_INT) {
            claret_text_add(text, "%" PRId32, arg->i);
        } else {
            claret_text_add(text, "%g", (double)arg->f);
        }
    }
    claret_text_add(text, ")");
}

static void dump_gemm(const struct claret_plan *plan, const struct claret_gemm_call *gemm,
                      struct claret_text *text)
{
    claret_text_add(text, " gemm m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " alpha=%g beta=%g", gemm->m,
                    gemm->n, gemm->k, (double)gemm->alpha, (double)gemm->beta);
    dump_matrix(plan, "a", &gemm->a, text);
    dump_matrix(plan, "b", &gemm->b, text);
    dump_matrix(plan, "c", &gemm->c, text);
    if (gemm->workspace >= 0)
        claret_text_add(text, " workspace=[%s]", plan->tensors[gemm->workspace].name);
}

void claret_plan_dump(const struct claret_plan *plan, struct claret_text *text)
{
    claret_text_add(text, "plan: batch %" PRId64 ", %s, %d launches, %d nodes, %" PRIu64 " bytes\n",
                    plan->graph->batch, plan->graph->training ? "training" : "evaluation", plan->launch_count,
                    plan->graph->node_count, claret_plan_bytes(plan));
    for (int i = 0; i < plan->buffer_count; i++)
        if (plan->buffer_bytes[i])
            claret_text_add(text, "buffer %d %s %" PRIu64 " bytes\n", i,
                            homes[i < CLARET_HOME_ARENA ? i : CLARET_HOME_ARENA], plan->buffer_bytes[i]);
    for (int i = 0; i < plan->tensor_count; i++) {
        const struct claret_place *place = &plan->places[i];
        char shape[96];
        if (place->buffer < 0)
            continue;
        claret_text_add(
            text, "tensor %d [%s] %s %s%s buffer=%d offset=%" PRIu64 " bytes=%" PRIu64 " launches=%d..%d", i,
            plan->tensors[i].name, dtypes[plan->tensors[i].dtype],
            claret_shape_format(&plan->tensors[i].shape, 0, shape),
            plan->tensors[i].layout == CLARET_NHWC ? " nhwc" : "", place->buffer, place->offset, place->bytes,
            place->first, place->last);
        if (plan->tensors[i].base >= 0)
            claret_text_add(text, " view=[%s]", plan->tensors[plan->tensors[i].base].name);
        claret_text_add(text, "\n");
    }
    for (int i = 0; i < plan->launch_count; i++) {
        const struct claret_launch *launch = &plan->launches[i];
        claret_text_add(text, "launch %d [%s] solver=%s", i, launch->label, launch->solver);
        if (launch->type == CLARET_LAUNCH_KERNEL)
            dump_kernel(plan, &launch->kernel, text);
        else
            dump_gemm(plan, &launch->gemm, text);
        claret_text_add(text, "\n");
    }
}
