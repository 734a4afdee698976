/* The launches of cl/conv2d_grouped.cl. */
#include <stdio.h>

#include "op/conv2d.h"
#include "op/conv2d_direct.h"
#include "op/update.h"

#define MAX_PARTS 64
#define ITEMS (1 << 14) /* as many as a large device wants at least */

static bool applicable(const struct claret_problem *problem, char reason[128])
{
    if (problem->node->attr[CLARET_CONV_GROUPS].i[0] == 1)
        snprintf(reason, 128, "there are no groups");
    return problem->node->attr[CLARET_CONV_GROUPS].i[0] > 1;
}

static struct claret_kernel_call *emit_kernel(struct claret_emit *emit, const char *what, const char *entry,
                                              const struct claret_conv *conv)
{
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "conv2d_grouped", entry);
    claret_conv_window_defines(call, conv);
    return call;
}

static void sizes(struct claret_kernel_call *call, const struct claret_conv *conv)
{
    claret_kernel_int(call, conv->c);
    claret_kernel_int(call, conv->k);
    claret_kernel_int(call, conv->c / conv->groups);
    claret_kernel_int(call, conv->k / conv->groups);
    claret_kernel_int(call, conv->h);
    claret_kernel_int(call, conv->w);
    claret_kernel_int(call, conv->oh);
    claret_kernel_int(call, conv->ow);
}

static void cost(struct claret_emit *emit, const struct claret_conv *conv)
{
    claret_emit_cost(emit, claret_conv_flops(conv),
                     4.0 * (double)(conv->n * (conv->c * conv->h * conv->w + conv->k * conv->oh * conv->ow)));
}

static void forward_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->out[0]));
    bool bias = node->in_count > 2;
    struct claret_kernel_call *call = emit_kernel(emit, "convolution", "conv2d_grouped", &conv);
    claret_kernel_define(call, "HAS_BIAS", bias);
    claret_kernel_define(call, "RELU", claret_conv_has_relu(node));
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->in[bias ? 2 : 1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    sizes(call, &conv);
    claret_kernel_range3(call, conv.oh * conv.ow, conv.k, conv.n, 64);
    cost(emit, &conv);
}

static void dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->out[0]),
                                                  claret_emit_tensor(emit, node->in[0]));
    int mask = claret_conv_mask(node);
    struct claret_kernel_call *call = emit_kernel(emit, "images", "conv2d_grouped_dx", &conv);
    claret_kernel_define(call, "MASK", mask >= 0);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    sizes(call, &conv);
    claret_kernel_range3(call, conv.h * conv.w, conv.c, conv.n, 64);
    cost(emit, &conv);
}

static void dw_emit(struct claret_emit *emit, const struct claret_node *node)
{
    struct claret_conv conv = claret_conv_problem(node->attr, claret_emit_tensor(emit, node->in[0]),
                                                  claret_emit_tensor(emit, node->in[1]));
    int mask = claret_conv_mask(node);
    int64_t weights = conv.k * conv.c / conv.groups * conv.r * conv.s;
    int64_t biases = node->out_count > 1 ? conv.k : 0;
    int64_t wanted = (ITEMS + weights - 1) / weights, chunks = wanted < MAX_PARTS ? wanted : MAX_PARTS;
    int64_t chunk = (conv.n + chunks - 1) / chunks;
    chunks = (conv.n + chunk - 1) / chunk;
    bool direct = chunks == 1;
    int to = direct ? node->out[0] : claret_emit_temp(emit, CLARET_DTYPE_F32, chunks * (weights + biases));
    struct claret_kernel_call *call = emit_kernel(emit, "weights", "conv2d_grouped_dw", &conv);
    claret_kernel_define(call, "HAS_BIAS", biases > 0);
    claret_kernel_define(call, "MASK", mask >= 0);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, mask >= 0 ? mask : node->in[1], 0);
    claret_kernel_tensor(call, to, 0);
    claret_kernel_tensor(call, direct && biases ? node->out[1] : to, direct || !biases ? 0 : weights);
    sizes(call, &conv);
    claret_kernel_int(call, conv.n);
    claret_kernel_int(call, chunk);
    claret_kernel_int(call, weights + biases);
    claret_kernel_range3(call, weights + biases, chunks, 1, 64);
    cost(emit, &conv);
    if (!direct)
        claret_update_emit_sum(emit, node, 0, 0, to, weights, biases, chunks);
}

const struct claret_solver claret_conv_grouped = {
    .name = "grouped", .applicable = applicable, .emit = forward_emit};
const struct claret_solver claret_conv_grouped_dx = {
    .name = "grouped", .applicable = applicable, .emit = dx_emit};
const struct claret_solver claret_conv_grouped_dw = {
    .name = "grouped", .applicable = applicable, .emit = dw_emit};
