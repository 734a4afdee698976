#include "ref/ref.h"

/* in: a, b, which may have one value for each of a's channels; out: a * b */
static void mul(const struct claret_node *node, const struct claret_tensor *tensors, const double *const *in,
                double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->out[0]].shape);
    int64_t each = count / claret_shape_count(&tensors[node->in[1]].shape);
    for (int64_t i = 0; i < count; i++)
        out[0][i] = in[0][i] * in[1][i / each];
}

/* in: dy, a; out: db (N, C, 1, 1) */
static void mul_db(const struct claret_node *node, const struct claret_tensor *tensors,
                   const double *const *in, double *const *out)
{
    int64_t count = claret_shape_count(&tensors[node->in[0]].shape);
    int64_t of = claret_shape_count(&tensors[node->out[0]].shape);
    for (int64_t i = 0; i < of; i++)
        out[0][i] = 0;
    for (int64_t i = 0; i < count; i++)
        out[0][i / (count / of)] += in[0][i] * in[1][i];
}

const struct claret_ref claret_ref_mul[] = {
    {.op = "mul", .run = mul}, {.op = "mul_db", .run = mul_db}, {.op = NULL}};
