#include "op/op.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#define MAX_OPS 128

static const struct claret_schema *schemas[MAX_OPS + 1];
static pthread_once_t schemas_once = PTHREAD_ONCE_INIT;

const struct claret_op *claret_op_find(const char *name)
{
    for (int list = 0; claret_op_lists[list]; list++)
        for (int i = 0; claret_op_lists[list][i]; i++)
            if (strcmp(claret_op_lists[list][i]->name, name) == 0)
                return claret_op_lists[list][i];
    return NULL;
}

static void collect_schemas(void)
{
    int count = 0;
    for (int list = 0; claret_op_lists[list]; list++)
        for (int i = 0; claret_op_lists[list][i]; i++)
            if (claret_op_lists[list][i]->schema && count < MAX_OPS)
                schemas[count++] = claret_op_lists[list][i]->schema;
}

const struct claret_schema *const *claret_op_schemas(void)
{
    pthread_once(&schemas_once, collect_schemas);
    return schemas;
}

/* ---- filling kernel records ---- */

void claret_kernel_define(struct claret_kernel_call *call, const char *name, int64_t value)
{
    if (call->define_count == CLARET_MAX_DEFINES) {
        call->broken = true;
        return;
    }
    call->define[call->define_count++] =
        (struct claret_define){.name = name, .type = CLARET_DEFINE_INT, .i = value};
}

void claret_kernel_define_float(struct claret_kernel_call *call, const char *name, float value)
{
    if (call->define_count == CLARET_MAX_DEFINES) {
        call->broken = true;
        return;
    }
    call->define[call->define_count++] =
        (struct claret_define){.name = name, .type = CLARET_DEFINE_FLOAT, .f = value};
}

static void add_arg(struct claret_kernel_call *call, struct claret_arg arg)
{
    if (call->arg_count == CLARET_MAX_ARGS)
        call->broken = true;
    else
        call->arg[call->arg_count++] = arg;
}

void claret_kernel_tensor(struct claret_kernel_call *call, int tensor, int64_t offset)
{
    add_arg(call, (struct claret_arg){.type = CLARET_ARG_TENSOR, .tensor = tensor, .offset = offset});
}

void claret_kernel_int(struct claret_kernel_call *call, int64_t value)
{
    if (value < INT32_MIN || value > INT32_MAX)
        call->broken = true;
    add_arg(call, (struct claret_arg){.type = CLARET_ARG_INT, .i = (int32_t)value});
}

void claret_kernel_float(struct claret_kernel_call *call, float value)
{
    add_arg(call, (struct claret_arg){.type = CLARET_ARG_FLOAT, .f = value});
}

void claret_kernel_range(struct claret_kernel_call *call, int64_t items, size_t local)
{
    while (local > 1 && local / 2 >= (size_t)items)
        local /= 2; /* no group is more than half idle */
    call->dims = 1;
    call->items[0] = (size_t)items;
    call->local[0] = local;
    call->items[1] = call->items[2] = call->local[1] = call->local[2] = 1;
}

void claret_kernel_range3(struct claret_kernel_call *call, int64_t x, int64_t y, int64_t z, size_t local)
{
    if (x > INT32_MAX || y > INT32_MAX || z > INT32_MAX)
        call->broken = true;
    claret_kernel_range(call, x, local);
    call->dims = 3;
    call->items[1] = (size_t)y;
    call->items[2] = (size_t)z;
}
