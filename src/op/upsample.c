/* upsample: in x (N, C, H, W); out y (N, C, H * scale, W * scale), each value repeated (PyTorch's mode
 * nearest), or for each what lies between the four around it (bilinear). pad: in x; out y with zeros around
 * it. …_dx: in dy; out dx. */
#include "op/elementwise.h"
#include "op/vectors.h"

#define LARGE (1 << 16)

enum { SCALE, MODE, ALIGN };
static const char *const modes[] = {"nearest", "bilinear", NULL};
static const struct claret_attr_def upsample_attrs[] = {
    [SCALE] = {"scale_factor", CLARET_ATTR_PAIR, true, 0, 1, LARGE, NULL},
    [MODE] = {.key = "mode", .type = CLARET_ATTR_WORD, .words = modes},
    [ALIGN] = {"align_corners", CLARET_ATTR_BOOL, false, 0, 0, 1, NULL},
    {.key = NULL},
};
enum { LEFT, RIGHT, TOP, BOTTOM };
static const struct claret_attr_def pad_attrs[] = {
    [LEFT] = {"left", CLARET_ATTR_INT, false, 0, 0, LARGE, NULL},
    [RIGHT] = {"right", CLARET_ATTR_INT, false, 0, 0, LARGE, NULL},
    [TOP] = {"top", CLARET_ATTR_INT, false, 0, 0, LARGE, NULL},
    [BOTTOM] = {"bottom", CLARET_ATTR_INT, false, 0, 0, LARGE, NULL},
    {.key = NULL},
};
static const struct claret_schema upsample_schema = {"upsample", 1, upsample_attrs, 0};
static const struct claret_schema pad_schema = {"pad", 1, pad_attrs, 0};
static const struct claret_op upsample, upsample_dx, pad, pad_dx;

static enum claret_status shape(struct claret_build *build, struct claret_node *node)
{
    const struct claret_shape in = claret_build_tensor(build, node->in[0])->shape;
    const struct claret_attr *attr = node->attr;
    if (in.rank != 4)
        return claret_build_error(build, node, NULL,
                                  "%s wants images (channels, height, width), its input is flat",
                                  node->op->name);
    bool padded = node->op == &pad;
    if (!padded && attr[ALIGN].given && attr[MODE].i[0] == 0)
        return claret_build_error(build, node, &attr[ALIGN], "align_corners goes with mode=bilinear alone");
    int64_t h = padded ? in.dim[2] + attr[TOP].i[0] + attr[BOTTOM].i[0] : in.dim[2] * attr[SCALE].i[0];
    int64_t w = padded ? in.dim[3] + attr[LEFT].i[0] + attr[RIGHT].i[0] : in.dim[3] * attr[SCALE].i[1];
    claret_build_output(build, node, CLARET_DTYPE_F32, claret_shape4(in.dim[0], in.dim[1], h, w));
    return CLARET_OK;
}

static enum claret_status backward(struct claret_build *build, const struct claret_node *node)
{
    if (claret_build_wants(build, node->in[0])) {
        int dy = claret_build_grad(build, node->out[0]), dx = claret_build_grad(build, node->in[0]);
        claret_build_node(build, node->op == &pad ? &pad_dx : &upsample_dx, node, "dx", &dy, 1, &dx, 1);
    }
    return CLARET_OK;
}

/* Sizes of x, whose images are small, and of y, whose are `large` and say how both lie; two numbers more. */
static struct claret_kernel_call *emit_images(struct claret_emit *emit, const struct claret_node *node,
                                              const char *entry, int small, int large, int64_t first,
                                              int64_t second, bool last)
{
    const struct claret_tensor *y = claret_emit_tensor(emit, large);
    const int64_t *of_x = claret_emit_tensor(emit, small)->shape.dim, *of_y = y->shape.dim;
    const int64_t *out = claret_emit_tensor(emit, node->out[0])->shape.dim;
    int64_t inner = last || y->layout == CLARET_NHWC ? of_y[1] : 1;
    const int64_t numbers[] = {of_x[2], of_x[3], of_y[2], of_y[3], inner, first, second};
    struct claret_kernel_call *call = claret_emit_kernel(emit, node->op->name, "upsample", entry);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_tensor(call, node->out[0], 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        claret_kernel_int(call, numbers[i]);
    claret_kernel_range3(call, out[3] * inner, out[2], of_y[0] * of_y[1] / inner, 64);
    claret_emit_cost(emit, 0,
                     4.0 * (double)(of_y[0] * of_y[1]) * (double)(of_x[2] * of_x[3] + of_y[2] * of_y[3]));
    return call;
}

static void upsample_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_attr *attr = node->attr;
    struct claret_kernel_call *call =
        emit_images(emit, node, attr[MODE].i[0] ? "upsample_bilinear" : "upsample_nearest", node->in[0],
                    node->out[0], attr[SCALE].i[0], attr[SCALE].i[1], false);
    claret_kernel_define(call, "ALIGN", attr[ALIGN].i[0]);
}

static void upsample_dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_attr *attr = node->attr;
    struct claret_kernel_call *call =
        emit_images(emit, node, attr[MODE].i[0] ? "upsample_bilinear_dx" : "upsample_nearest_dx",
                    node->out[0], node->in[0], attr[SCALE].i[0], attr[SCALE].i[1], false);
    claret_kernel_define(call, "ALIGN", attr[ALIGN].i[0]);
}

/* Rows of images in NHWC, of either mode. */
static void emit_channels(struct claret_emit *emit, const struct claret_node *node, const char *entry,
                          int small, int large)
{
    const struct claret_attr *attr = node->attr;
    const int64_t *out = claret_emit_tensor(emit, node->out[0])->shape.dim;
    struct claret_kernel_call *call =
        emit_images(emit, node, entry, small, large, attr[SCALE].i[0], attr[SCALE].i[1], true);
    claret_kernel_define(call, "ALIGN", attr[ALIGN].i[0]);
    claret_kernel_define(call, "BILINEAR", attr[MODE].i[0]);
    claret_kernel_define(call, "LANES", claret_vector_lanes(claret_emit_device(emit), out[1]));
    claret_kernel_range3(call, out[2], out[0], 1, 1);
}

static void upsample_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_channels(emit, node, "upsample_channels", node->in[0], node->out[0]);
}

static void upsample_dx_channels_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_channels(emit, node, "upsample_channels_dx", node->out[0], node->in[0]);
}

static void pad_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_images(emit, node, "shift", node->in[0], node->out[0], node->attr[TOP].i[0], node->attr[LEFT].i[0],
                false);
}

static void pad_dx_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_images(emit, node, "shift_back", node->out[0], node->in[0], node->attr[TOP].i[0],
                node->attr[LEFT].i[0], false);
}

/* Out is in with its rows and columns moved by so many. */
static void emit_rows(struct claret_emit *emit, const struct claret_node *node, int64_t top, int64_t left)
{
    const struct claret_tensor *y = claret_emit_tensor(emit, node->out[0]);
    int64_t inner = y->layout == CLARET_NHWC ? y->shape.dim[1] : 1, row = y->shape.dim[3] * inner;
    int64_t count = claret_shape_count(&y->shape) / row,
            rows = CLARET_ELEMENTS > row ? CLARET_ELEMENTS / row : 1;
    struct claret_kernel_call *call =
        emit_images(emit, node, "shift_rows", node->in[0], node->out[0], top, left, false);
    claret_kernel_int(call, count);
    claret_kernel_int(call, rows);
    claret_kernel_range(call, (count + rows - 1) / rows, 1);
}

static void pad_rows_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_rows(emit, node, node->attr[TOP].i[0], node->attr[LEFT].i[0]);
}

static void pad_dx_rows_emit(struct claret_emit *emit, const struct claret_node *node)
{
    emit_rows(emit, node, -node->attr[TOP].i[0], -node->attr[LEFT].i[0]);
}

#define SOLVERS(name_, vectors, layout_)                                                                     \
    static const struct claret_solver name_##_plain = {                                                      \
        .name = "plain", .layout = CLARET_LAYOUT_SAME, .emit = name_##_emit};                                \
    static const struct claret_solver name_##_##vectors = {.name = #vectors,                                 \
                                                           .layout = layout_,                                \
                                                           .applicable = claret_elementwise_vectors,         \
                                                           .emit = name_##_##vectors##_emit};                \
    static const struct claret_solver *const name_##_solvers[] = {&name_##_##vectors, &name_##_plain, NULL}
SOLVERS(upsample, channels, CLARET_LAYOUT_NHWC);
SOLVERS(upsample_dx, channels, CLARET_LAYOUT_NHWC);
SOLVERS(pad, rows, CLARET_LAYOUT_SAME);
SOLVERS(pad_dx, rows, CLARET_LAYOUT_SAME);

static const struct claret_op upsample = {.name = "upsample",
                                          .schema = &upsample_schema,
                                          .layout = CLARET_LAYOUT_SAME,
                                          .shape = shape,
                                          .backward = backward,
                                          .solvers = upsample_solvers};
static const struct claret_op pad = {.name = "pad",
                                     .schema = &pad_schema,
                                     .layout = CLARET_LAYOUT_SAME,
                                     .shape = shape,
                                     .backward = backward,
                                     .solvers = pad_solvers};
static const struct claret_op upsample_dx = {.name = "upsample_dx", .solvers = upsample_dx_solvers};
static const struct claret_op pad_dx = {.name = "pad_dx", .solvers = pad_dx_solvers};

extern const struct claret_op *const claret_ops_upsample[];
const struct claret_op *const claret_ops_upsample[] = {&upsample, &pad, &upsample_dx, &pad_dx, NULL};
