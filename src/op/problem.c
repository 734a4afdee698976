/* The texts that tuning records are found by. */
#include <inttypes.h>
#include <string.h>

#include "op/gemm.h"
#include "op/update.h"

static const char *const dtypes[] = {"f32", "i32", "u8"};

static void write_tensors(const struct claret_problem *problem, const char *what, const int *ids, int count,
                          struct claret_text *text)
{
    for (int i = 0; i < count; i++) {
        const struct claret_tensor *tensor = ids[i] >= 0 ? &problem->tensors[ids[i]] : NULL;
        claret_text_add(text, "%s%s", i ? "," : what, tensor ? dtypes[tensor->dtype] : "-");
        for (int d = 0; tensor && d < tensor->shape.rank; d++)
            claret_text_add(text, "%c%" PRId64, d ? 'x' : ':', tensor->shape.dim[d]);
        if (tensor && tensor->layout == CLARET_NHWC && !claret_layout_trivial(&tensor->shape))
            claret_text_add(text, ":nhwc");
    }
}

static bool is(const struct claret_attr *attr, const char *key)
{
    return strcmp(attr->def->key, key) == 0;
}

/* A pair that is not given and has no default is the window's, as PyTorch's strides of pooling. */
static const int64_t *pair_of(const struct claret_attr *attrs, const struct claret_attr *attr)
{
    if (!attr->given && attr->def->value < attr->def->minimum)
        for (int i = 0; attrs[i].def && attrs[i].def->key; i++)
            if (is(&attrs[i], "kernel_size"))
                return attrs[i].i;
    return attr->i;
}

/* What the tensors' shapes tell already (numbers of channels, groups and features, a bias) is left out. */
static void write_attributes(const struct claret_attr *attrs, struct claret_text *text)
{
    for (int i = 0; attrs && attrs[i].def && attrs[i].def->key; i++) {
        const struct claret_attr_def *def = attrs[i].def;
        bool inferred = !def->required && def->value < def->minimum;
        if (def->type == CLARET_ATTR_PAIR) {
            const int64_t *pair = pair_of(attrs, &attrs[i]);
            claret_text_add(text, " %s=%" PRId64 "x%" PRId64, def->key, pair[0], pair[1]);
        } else if (def->type == CLARET_ATTR_FLOAT) {
            claret_text_add(text, " %s=%g", def->key, attrs[i].f);
        } else if (!inferred && !is(&attrs[i], "bias") && !is(&attrs[i], "out_channels") &&
                   !is(&attrs[i], "out_features") && !is(&attrs[i], "groups")) {
            claret_text_add(text, " %s=%" PRId64, def->key, attrs[i].i[0]);
        }
    }
}

void claret_problem_key(const struct claret_problem *problem, struct claret_text *text)
{
    const struct claret_node *node = problem->node;
    claret_text_add(text, "%s", node->op->name);
    write_tensors(problem, " in=", node->in, node->in_count, text);
    write_tensors(problem, " out=", node->out, node->out_count, text);
    write_attributes(node->attr, text);
    for (int i = 0; i < CLARET_MAX_CHAIN - 1; i++)
        write_attributes(node->chain[i], text);
    if (!node->update)
        return;
    static const char *const kinds[] = {"sgd", "adam", "adamw", "rmsprop"};
    const struct claret_optimizer *optimizer = &node->update->optimizer;
    claret_text_add(text, " update=%s%s%s%s", kinds[optimizer->kind], optimizer->centered ? "+centered" : "",
                    optimizer->momentum != 0 ? "+momentum" : "", optimizer->nesterov ? "+nesterov" : "");
}

void claret_gemm_key(const struct claret_gemm_call *gemm, struct claret_text *text)
{
    claret_text_add(text, "gemm m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " a=%s b=%s%s", gemm->m, gemm->n,
                    gemm->k, gemm->a.transposed ? "transposed" : "plain",
                    gemm->b.transposed ? "transposed" : "plain", gemm->beta == 0 ? "" : " add");
}
