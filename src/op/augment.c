/* augment: the images of a batch out of the data set on the device, changed as their recipes say.
 *
 * in: stage (uint8, all slots; recipes in place of images), step, data (uint8, all images of the set)
 *
 * out: images (uint8, N * C * H * W) */
#include "op/augment.h"

#include "op/batch.h"
#include "op/op.h"

struct sizes {
    int64_t channels, height, width, plane, batch;
};

static struct sizes sizes_of(struct claret_emit *emit, const struct claret_node *node)
{
    const struct claret_attr *attr = node->attr;
    struct sizes sizes = {.channels = attr[CLARET_AUGMENT_CHANNELS].i[0],
                          .height = attr[CLARET_AUGMENT_SIZE].i[0],
                          .width = attr[CLARET_AUGMENT_SIZE].i[1]};
    sizes.plane = sizes.height * sizes.width;
    sizes.batch =
        claret_shape_count(&claret_emit_tensor(emit, node->out[0])->shape) / (sizes.channels * sizes.plane);
    return sizes;
}

/* A kernel that reads images and recipes: its arguments as far as the data set. */
static struct claret_kernel_call *reader(struct claret_emit *emit, const struct claret_node *node,
                                         const char *what, const char *entry)
{
    struct sizes sizes = sizes_of(emit, node);
    int64_t kinds = node->attr[CLARET_AUGMENT_KINDS].i[0];
    struct claret_stage_layout layout;
    claret_stage_layout(sizes.batch, sizes.channels * sizes.plane, 1, &layout);
    struct claret_kernel_call *call = claret_emit_kernel(emit, what, "augment", entry);
    claret_kernel_define(call, "C", sizes.channels);
    claret_kernel_define(call, "H", sizes.height);
    claret_kernel_define(call, "W", sizes.width);
    claret_kernel_define(call, "RESIZE", (kinds & CLARET_AUGMENT_RESIZE) != 0);
    claret_kernel_define(call, "REFLECT", (kinds & CLARET_AUGMENT_REFLECT) != 0);
    claret_kernel_define(call, "TURN", (kinds & CLARET_AUGMENT_TURN) != 0);
    claret_kernel_define(call, "COLOUR", (kinds & CLARET_AUGMENT_COLOUR) != 0);
    claret_kernel_tensor(call, node->in[0], 0);
    claret_kernel_int(call, (int64_t)layout.slot);
    claret_kernel_int(call, (int64_t)layout.images);
    claret_kernel_tensor(call, node->in[1], 0);
    claret_kernel_tensor(call, node->in[2], 0);
    return call;
}

/* The mean greys that contrast is about, in two sums: a row's, then an image's. Integers, so in any order the
 * same. */
static int emit_means(struct claret_emit *emit, const struct claret_node *node)
{
    struct sizes sizes = sizes_of(emit, node);
    int rows = claret_emit_temp(emit, CLARET_DTYPE_I32, sizes.batch * sizes.height);
    int means = claret_emit_temp(emit, CLARET_DTYPE_I32, sizes.batch);
    struct claret_kernel_call *call = reader(emit, node, "rows", "augment_rows");
    claret_kernel_tensor(call, rows, 0);
    claret_kernel_range3(call, sizes.height, 1, sizes.batch, 64);
    claret_emit_cost(emit, 0, (double)(sizes.batch * sizes.channels * sizes.plane));
    call = claret_emit_kernel(emit, "means", "augment", "augment_means");
    claret_kernel_tensor(call, rows, 0);
    claret_kernel_tensor(call, means, 0);
    claret_kernel_int(call, sizes.batch);
    claret_kernel_int(call, sizes.height);
    claret_kernel_int(call, sizes.plane);
    claret_kernel_range(call, sizes.batch, 64);
    return means;
}

static void emit_augment(struct claret_emit *emit, const struct claret_node *node)
{
    struct sizes sizes = sizes_of(emit, node);
    bool contrast = node->attr[CLARET_AUGMENT_KINDS].i[0] & CLARET_AUGMENT_CONTRAST;
    int means = contrast ? emit_means(emit, node) : node->in[1]; /* not read */
    struct claret_kernel_call *call = reader(emit, node, "augment", "augment");
    claret_kernel_tensor(call, means, 0);
    claret_kernel_tensor(call, node->out[0], 0);
    claret_kernel_range3(call, sizes.plane, 1, sizes.batch, 64);
    claret_emit_cost(emit, 0, 2.0 * (double)(sizes.batch * sizes.channels * sizes.plane));
}

static const struct claret_solver plain = {.name = "plain", .emit = emit_augment};
static const struct claret_solver *const solvers[] = {&plain, NULL};
static const struct claret_op augment = {.name = "augment", .solvers = solvers};

extern const struct claret_op *const claret_ops_augment[];
const struct claret_op *const claret_ops_augment[] = {&augment, NULL};
