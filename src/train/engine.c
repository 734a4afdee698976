#include "train/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "op/augment.h"
#include "op/tiles.h"
#include "op/vectors.h"
#include "rt/devices.h"
#include "train/optimizer.h"

/* Images evaluated at once, where memory allows: enough to fill a device, few enough to cost little memory.
 */
#define EVAL_BATCH 128

void claret_engine_finish(struct claret_engine *engine)
{
    claret_exec_destroy(engine->exec);
    claret_plan_destroy(engine->plan);
    claret_graph_destroy(engine->graph);
    memset(engine, 0, sizeof *engine);
}

int claret_engine_class = -1;

static struct claret_device_desc device_of(const struct claret_session *session)
{
    struct claret_device_desc device = *claret_rt_device(session->rt);
    if (claret_engine_class >= 0)
        device.kind = (enum claret_device_class)claret_engine_class;
    return device;
}

struct claret_graph_options claret_engine_graph_options(const struct claret_options *options,
                                                        const struct claret_device_desc *device,
                                                        bool f32_images, bool training, int64_t batch)
{
    /* Kernels for images in NHWC are written for wide vectors, and some of the fused ops'; others for tiles.
     */
    char reason[128];
    bool vectors = claret_vector_device(device, reason), tiles = claret_tile_unasked(device);
    bool fuse = !options->no_fuse && (vectors || tiles);
    struct claret_loss loss = {.kind = CLARET_LOSS_CROSS_ENTROPY};
    (void)claret_loss_init(options, &loss); /* claret_options_check() has seen to it */
    return (struct claret_graph_options){.batch = batch,
                                         .training = training,
                                         .f32_images = f32_images,
                                         .fuse = fuse,
                                         .tiles = tiles,
                                         .fuse_update = fuse,
                                         .channels_last = vectors,
                                         .optimizer = claret_optimizer_of(options),
                                         .loss = loss,
                                         .clip_norm = options->clip_norm,
                                         .clip_value = options->clip_value,
                                         .accumulate = options->accumulate > 1,
                                         .ema = options->ema,
                                         .lr_for = options->lr_for,
                                         .lr = options->lr,
                                         .no_decay_norm_bias = options->no_decay_norm_bias,
                                         .freeze = options->freeze};
}

static struct claret_graph_options graph_options(const struct claret_session *session,
                                                 const struct claret_device_desc *device, bool training,
                                                 int64_t batch)
{
    return claret_engine_graph_options(session->options, device, session->element == CLARET_F32, training,
                                       batch);
}

static struct claret_plan_options plan_options(struct claret_session *session,
                                               const struct claret_device_desc *device)
{
    struct claret_plan_options options = {
        .device = device, .gemm_workspace = claret_rt_gemm_workspace, .user = session->rt};
    claret_choices_apply(&session->choices, &options);
    return options;
}

static enum claret_status plan_for(struct claret_session *session, const struct claret_device_desc *device,
                                   const struct claret_graph_options *graph, struct claret_engine *engine)
{
    struct claret_plan_options options = plan_options(session, device);
    const int64_t *in = session->network->spec->input;
    engine->batch = graph->batch;
    claret_stage_layout(graph->batch, in[0] * in[1] * in[2], graph->f32_images ? sizeof(float) : 1,
                        &engine->layout);
    enum claret_status status = claret_graph_create(session->network->spec, graph, &engine->graph);
    if (status == CLARET_OK)
        status = claret_plan_create(engine->graph, &options, &engine->plan);
    if (status != CLARET_OK)
        claret_engine_finish(engine);
    return status;
}

/* A node that only the training has may be named, and its solvers, though the evaluation has none such. */
static enum claret_status check_choices(struct claret_session *session, bool training)
{
    struct claret_device_desc device = device_of(session);
    struct claret_graph *graphs[2] = {NULL, NULL};
    enum claret_status status = CLARET_OK;
    int count = 0;
    if (session->choices.force_count == 0)
        return CLARET_OK;
    for (int kind = 0; status == CLARET_OK && kind < (training ? 2 : 1); kind++) {
        struct claret_graph_options options = graph_options(session, &device, kind == 1, 1);
        status = claret_graph_create(session->network->spec, &options, &graphs[count]);
        count += status == CLARET_OK;
    }
    if (status == CLARET_OK)
        status = claret_plan_check_force((const struct claret_graph *const *)graphs, count,
                                         session->choices.force, session->choices.force_count);
    claret_graph_destroy(graphs[0]);
    claret_graph_destroy(graphs[1]);
    return status;
}

void claret_engine_explain(struct claret_session *session, struct claret_text *text)
{
    struct claret_device_desc device = device_of(session);
    struct claret_plan_options options = plan_options(session, &device);
    claret_plan_explain(session->train.plan ? session->train.plan : session->eval.plan, &options, text);
}

static enum claret_status plan(struct claret_session *session, bool training, int64_t batch,
                               struct claret_engine *engine)
{
    struct claret_device_desc device = device_of(session);
    struct claret_graph_options graph = graph_options(session, &device, training, batch);
    return plan_for(session, &device, &graph, engine);
}

/* CLBlast takes long to compile on some devices: it is tried only where a plan would use it. */
static enum claret_status probe_gemm(struct claret_session *session, bool training)
{
    struct claret_device_desc device = device_of(session);
    device.clblast = true;
    bool needed = false;
    for (int kind = 0; kind < (training ? 2 : 1); kind++) {
        struct claret_engine trial = {0};
        struct claret_graph_options graph = graph_options(session, &device, kind == 1, 1);
        enum claret_status status = plan_for(session, &device, &graph, &trial);
        needed |= status == CLARET_OK && claret_plan_uses_gemm(trial.plan);
        claret_engine_finish(&trial);
    }
    claret_error_clear();
    return needed ? claret_rt_probe_gemm(session->rt) : CLARET_OK;
}

int claret_engine_buffers(const struct claret_plan *train, const struct claret_plan *eval,
                          uint64_t bytes[CLARET_PLAN_MAX_BUFFERS])
{
    int count = 0;
    const struct claret_plan *const plans[2] = {train, eval};
    for (int i = 0; i < 2; i++)
        for (int b = 0; plans[i] && b < plans[i]->buffer_count; b++) {
            if (plans[i]->buffer_bytes[b] > bytes[b])
                bytes[b] = plans[i]->buffer_bytes[b];
            count = b + 1 > count ? b + 1 : count;
        }
    return count;
}

static uint64_t pool_bytes(const struct claret_plan *train, const struct claret_plan *eval)
{
    uint64_t bytes[CLARET_PLAN_MAX_BUFFERS] = {0}, sum = 0;
    int count = claret_engine_buffers(train, eval, bytes);
    for (int i = 0; i < count; i++)
        sum += bytes[i];
    return sum;
}

static uint64_t memory_limit(const struct claret_session *session)
{
    uint64_t device = claret_rt_device(session->rt)->global_mem, option = session->options->max_memory;
    return option && option < device ? option : device;
}

/* Plans for evaluation at the largest batch with which everything fits, down to one image; beside no training
 * the batch size that was asked for is the first tried. *bytes: of both plans. */
static enum claret_status plan_eval(struct claret_session *session, const struct claret_plan *train,
                                    struct claret_engine *eval, uint64_t *bytes)
{
    bool asked = !train && claret_options_given(session->options, "batch-size");
    for (int64_t batch = asked ? session->options->batch_size : EVAL_BATCH;; batch /= 2) {
        enum claret_status status = plan(session, false, batch, eval);
        if (status == CLARET_OK) {
            *bytes = pool_bytes(train, eval->plan);
            if (*bytes <= memory_limit(session) || batch == 1)
                return CLARET_OK;
        } else if (status != CLARET_DEVICE_MEMORY || batch == 1) {
            return status;
        }
        claret_error_clear();
        claret_engine_finish(eval);
    }
}

/* Whether training at `batch` fits; what it needs, where it could be planned at all. */
static bool fits(struct claret_session *session, int64_t batch, uint64_t *bytes)
{
    struct claret_engine train = {0}, eval = {0};
    bool fine = plan(session, true, batch, &train) == CLARET_OK &&
                plan_eval(session, train.plan, &eval, bytes) == CLARET_OK && *bytes <= memory_limit(session);
    claret_engine_finish(&train);
    claret_engine_finish(&eval);
    claret_error_clear();
    return fine;
}

static enum claret_status refuse(struct claret_session *session, bool training, uint64_t bytes)
{
    char need[32], limit[32], most[96];
    uint64_t unused;
    const char *of =
        session->options->max_memory == memory_limit(session) ? "--max-memory allows" : "the device has";
    claret_format_bytes(memory_limit(session), limit);
    claret_format_bytes(bytes, need);
    if (!training)
        return claret_fail(CLARET_DEVICE_MEMORY, "evaluating one image at a time needs %s, %s %s", need, of,
                           limit);
    int64_t low = 0, high = session->options->batch_size;
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        if (fits(session, middle, &unused))
            low = middle;
        else
            high = middle;
    }
    if (low == 0)
        snprintf(most, sizeof most, "not even one image at a time fits");
    else
        snprintf(most, sizeof most, "the largest batch that fits is --batch-size %" PRId64, low);
    if (bytes == 0) /* a single tensor was too large: the plan's own words say it all */
        return claret_fail(CLARET_DEVICE_MEMORY, "training at batch size %" PRId64 " does not fit: %s",
                           session->options->batch_size, most);
    return claret_fail(CLARET_DEVICE_MEMORY, "training at batch size %" PRId64 " needs %s, %s %s: %s",
                       session->options->batch_size, need, of, limit, most);
}

enum claret_status claret_engine_plan(struct claret_session *session, bool training)
{
    uint64_t bytes = 0;
    enum claret_status status = CLARET_OK;
    CLARET_TRY(check_choices(session, training));
    CLARET_TRY(probe_gemm(session, training));
    if (training)
        status = plan(session, true, session->options->batch_size, &session->train);
    if (status == CLARET_OK)
        status = plan_eval(session, session->train.plan, &session->eval, &bytes);
    claret_choices_say(&session->choices);
    if (status == CLARET_DEVICE_MEMORY) {
        char *cause = claret_error_take();
        status = refuse(session, training, 0);
        if (cause)
            claret_error_context("%s", cause);
        free(cause);
        return status;
    }
    if (status == CLARET_OK && bytes > memory_limit(session))
        return refuse(session, training, bytes);
    const struct claret_plan *plans[2] = {session->train.plan, session->eval.plan};
    if (status == CLARET_OK)
        status = claret_plan_check_gemms(plans, 2, session->choices.force, session->choices.force_count);
    return status;
}

/* ---- the data set on the device ---- */

bool claret_engine_reside_anywhere;

/* Where device and host share their memory nothing would be gained: measured on PoCL, it is 0 to 3% slower.
 * What names an image has to fit in the image's place.
 */
static bool resides(struct claret_session *session, const struct claret_dataset *dataset, bool augmented)
{
    const struct claret_device_desc *device = claret_rt_device(session->rt);
    uint64_t bytes = (uint64_t)dataset->count * dataset->image_bytes;
    uint64_t batch = augmented ? (uint64_t)session->train.batch * dataset->image_bytes : 0;
    return (!device->unified || claret_engine_reside_anywhere) && dataset->element == CLARET_U8 &&
           dataset->images && dataset->image_bytes >= claret_engine_name_bytes(augmented) &&
           bytes + CLARET_PLAN_SLACK <= device->max_alloc &&
           pool_bytes(session->train.plan, session->eval.plan) + bytes + batch <= memory_limit(session);
}

size_t claret_engine_name_bytes(bool augmented)
{
    return augmented ? sizeof(struct claret_recipe) : sizeof(uint32_t);
}

enum claret_status claret_engine_reside(struct claret_session *session, const struct claret_dataset *dataset,
                                        int augment, struct claret_engine *engine)
{
    struct claret_device_desc device = device_of(session);
    size_t bytes = dataset->count * dataset->image_bytes;
    if (!resides(session, dataset, augment != 0))
        return CLARET_OK;
    struct claret_graph_options graph = graph_options(session, &device, true, session->train.batch);
    graph.resident = (int64_t)bytes;
    graph.augment = augment;
    CLARET_TRY(plan_for(session, &device, &graph, engine));
    enum claret_status status = claret_pool_attach(session->pool, CLARET_HOME_DATA, dataset->images, bytes);
    if (status == CLARET_OK && augment)
        status = claret_pool_attach(session->pool, CLARET_HOME_IMAGES, NULL,
                                    engine->plan->buffer_bytes[CLARET_HOME_IMAGES]);
    /* A device without room for it all the same has the batches sent. */
    if (status != CLARET_OK) {
        claret_error_clear();
        claret_engine_release(session, engine);
        return CLARET_OK;
    }
    status = claret_exec_create(session->pool, engine->plan, &engine->exec);
    if (status != CLARET_OK)
        claret_engine_release(session, engine);
    return status;
}

void claret_engine_release(struct claret_session *session, struct claret_engine *engine)
{
    if (!engine->plan)
        return;
    if (session->running == engine)
        session->running = NULL;
    claret_engine_finish(engine);
    claret_pool_detach(session->pool, CLARET_HOME_IMAGES);
    claret_pool_detach(session->pool, CLARET_HOME_DATA);
}

enum claret_status claret_options_devices(const struct claret_options *options,
                                          struct claret_devices **devices)
{
    char *folder = NULL;
    claret_error_clear();
    if (!options || !devices)
        return claret_fail(CLARET_INVALID, "claret_options_devices: an argument is NULL");
    if (!options->no_cache)
        CLARET_TRY(claret_engine_cache_folder(options, &folder));
    enum claret_status status = claret_devices_find(folder, devices);
    free(folder);
    return status;
}

/* Whether programs can be kept in `parent`: asked only where there is another place. */
static bool can_be_used(const char *parent)
{
    char *folder = claret_path_join(parent, "claret");
    bool usable =
        folder && claret_folder_make(folder, 0700) == CLARET_OK && !access(folder, R_OK | W_OK | X_OK);
    claret_error_clear();
    free(folder);
    return usable;
}

enum claret_status claret_engine_cache_folder(const struct claret_options *options, char **folder)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_home = home && home[0] == '/';
    *folder = NULL;
    if (options->cache_dir[0]) {
        *folder = claret_strdup(options->cache_dir);
    } else if (xdg && xdg[0] == '/' && (!has_home || options->no_cache || can_be_used(xdg))) {
        *folder = claret_path_join(xdg, "claret");
    } else if (has_home) {
        *folder = claret_path_join(home, ".cache/claret");
    } else {
        static bool said;
        if (!said)
            claret_warn("neither XDG_CACHE_HOME nor HOME is set: compiled programs are not kept (--cache-dir "
                        "says where)");
        said = true;
        return CLARET_OK;
    }
    return *folder ? CLARET_OK : claret_no_memory();
}
