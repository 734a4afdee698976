/* A session's making and its steps. */
#include "train/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/augment.h"
#include "base/text.h"
#include "train/engine.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/weights.h"

/* ---- making ---- */

/* Of an error that says what to change in its text. */
static enum claret_status say_where(const struct claret_network *network, enum claret_status status)
{
    if (network->built_in)
        claret_error_context("It is built in. For a copy to change: claret show %s --text > my.net; then "
                             "train with --model ./my.net",
                             network->name);
    return status;
}

/* Another network can be trained; what was trained needs the data that it was trained on. */
static enum claret_status check_dataset(const struct claret_network *network,
                                        const struct claret_dataset *dataset, bool training)
{
    const int64_t *in = network->spec->input;
    bool shape = dataset->channels == in[0] && dataset->height == in[1] && dataset->width == in[2];
    if (!training && !shape)
        return claret_fail(CLARET_SHAPE,
                           "the data's images are %dx%dx%d, the network %s and its weights take %" PRId64
                           "x%" PRId64 "x%" PRId64 ": take data of the kind that it was trained on (--data)",
                           dataset->channels, dataset->height, dataset->width, network->name, in[0], in[1],
                           in[2]);
    if (!training && dataset->classes != network->classes)
        return claret_fail(
            CLARET_SHAPE,
            "the data have %d classes, the network %s and its weights %d: take the data that it "
            "was trained on (--data)",
            dataset->classes, network->name, network->classes);
    if (!shape)
        return say_where(network,
                         claret_fail(CLARET_SHAPE,
                                     "the data's images are %dx%dx%d, the network %s takes %" PRId64
                                     "x%" PRId64 "x%" PRId64 ": change its line 'input' to: input %d %d %d",
                                     dataset->channels, dataset->height, dataset->width, network->name, in[0],
                                     in[1], in[2], dataset->channels, dataset->height, dataset->width));
    if (dataset->classes != network->classes)
        return say_where(
            network, claret_fail(CLARET_SHAPE,
                                 "the data has %d classes, the network %s gives %d: change its last layer's "
                                 "out_features to %d",
                                 dataset->classes, network->name, network->classes, dataset->classes));
    return CLARET_OK;
}

static enum claret_status open_runtime(struct claret_session *session)
{
    const struct claret_options *options = session->options;
    char *folder = NULL;
    enum claret_status status = CLARET_OK;
    if (!options->no_cache)
        CLARET_GOTO(end, claret_engine_cache_folder(options, &folder));
    struct claret_rt_options rt = {.device = options->device[0] ? options->device : NULL,
                                   .platform = options->platform[0] ? options->platform : NULL,
                                   .cache_dir = folder,
                                   .kernel_dir = options->kernel_dir[0] ? options->kernel_dir : NULL};
    CLARET_GOTO(end, claret_rt_open(&rt, &session->rt));
end:
    free(folder);
    return status;
}

static enum claret_status make_pool(struct claret_session *session)
{
    uint64_t bytes[CLARET_PLAN_MAX_BUFFERS] = {0};
    int count = claret_engine_buffers(session->train.plan, session->eval.plan, bytes);
    return claret_pool_create(session->rt, bytes, count, &session->pool);
}

static enum claret_status write_table(struct claret_session *session, const struct claret_dataset *dataset)
{
    const struct claret_graph *graph = session->eval.graph;
    if (graph->table < 0)
        return CLARET_OK;
    const struct claret_place *place = &session->eval.plan->places[graph->table];
    float *table = malloc(place->bytes), *values = malloc(place->bytes);
    enum claret_status status = table && values ? CLARET_OK : claret_no_memory();
    if (status == CLARET_OK) {
        claret_dataset_table(dataset, values);
        claret_stage_table(values, dataset->mean, dataset->std, dataset->channels, table);
        status = claret_pool_write(session->pool, place->buffer, place->offset, place->bytes, table);
    }
    free(table);
    free(values);
    return status;
}

static enum claret_status write_class_weights(struct claret_session *session)
{
    const struct claret_engine *train = &session->train;
    if (!train->graph || train->graph->class_weights < 0)
        return CLARET_OK;
    const struct claret_place *place = &train->plan->places[train->graph->class_weights];
    return claret_pool_write(session->pool, place->buffer, place->offset, place->bytes,
                             session->criterion.weights);
}

/* Ready to run without anything left to compile; with nothing in the pool yet. */
static enum claret_status make_ready(struct claret_session *session, struct claret_engine *engine)
{
    bool ran = false;
    CLARET_TRY(claret_exec_create(session->pool, engine->plan, &engine->exec));
    CLARET_TRY(claret_exec_warm_up(engine->exec, &ran));
    return ran ? claret_pool_clear(session->pool) : CLARET_OK;
}

static enum claret_status fill(struct claret_session *session, const struct claret_dataset *dataset,
                               bool training)
{
    struct claret_augment augment;
    CLARET_TRY(claret_options_fit(session->options, session->network));
    CLARET_TRY(check_dataset(session->network, dataset, training));
    CLARET_TRY(claret_options_augment(session->options, &augment));
    CLARET_TRY(claret_criterion_init(session->options, dataset, training, &session->criterion));
    if (training) {
        claret_loss_look_at(&session->criterion.loss, session->network);
        CLARET_TRY(claret_augment_check(&augment, dataset));
        CLARET_TRY(claret_schedule_fits(session->options, dataset->count));
    }
    session->element = dataset->element;
    CLARET_TRY(open_runtime(session));
    CLARET_TRY(claret_choices_init(session->options, session->rt, &session->choices));
    CLARET_TRY(claret_engine_plan(session, training));
    CLARET_TRY(make_pool(session));
    CLARET_TRY(make_ready(session, training ? &session->train : &session->eval));
    CLARET_TRY(write_table(session, dataset));
    CLARET_TRY(write_class_weights(session));
    CLARET_TRY(claret_session_list_weights(session));
    session->reset_loss = true;
    return claret_session_first_weights(session);
}

enum claret_status claret_session_create(const struct claret_network *network,
                                         const struct claret_options *options,
                                         const struct claret_dataset *dataset, int training,
                                         struct claret_session **result)
{
    claret_error_clear();
    if (!network || !options || !dataset || !result)
        return claret_fail(CLARET_INVALID, "claret_session_create: an argument is NULL");
    struct claret_session *session = calloc(1, sizeof *session);
    if (!session)
        return claret_no_memory();
    enum claret_status status;
    CLARET_GOTO(fail, claret_options_copy(options, &session->options));
    CLARET_GOTO(fail, claret_optimizer_resolve(session->options));
    CLARET_GOTO(fail, claret_options_check(session->options));
    session->optimizer = claret_optimizer_of(session->options);
    CLARET_GOTO(fail, claret_network_parse(network->text, network->spec->file, &session->network));
    session->network->built_in = network->built_in;
    CLARET_GOTO(fail, fill(session, dataset, training));
    *result = session;
    return CLARET_OK;
fail:
    claret_session_destroy(session);
    return status;
}

void claret_session_destroy(struct claret_session *session)
{
    if (!session)
        return;
    if (session->rt)
        claret_session_abandon(session);
    claret_engine_finish(&session->train);
    claret_engine_finish(&session->eval);
    claret_pool_destroy(session->pool);
    claret_rt_close(session->rt);
    for (int i = 0; i < CLARET_STAGE_SLOTS_MAX; i++)
        free(session->flight[i].memory);
    claret_network_destroy(session->network);
    claret_choices_finish(&session->choices);
    claret_criterion_finish(&session->criterion);
    claret_options_destroy(session->options);
    free(session->weights);
    free(session);
}

/* ---- steps ---- */

enum claret_status claret_session_accepts(const struct claret_session *session,
                                          const struct claret_dataset *dataset)
{
    const int64_t *in = session->network->spec->input;
    if (dataset->element != session->element || dataset->channels != in[0] || dataset->height != in[1] ||
        dataset->width != in[2] || dataset->classes != session->network->classes)
        return claret_fail(CLARET_SHAPE, "the data set is not of the kind that the session was made for");
    return CLARET_OK;
}

enum claret_status claret_session_window(struct claret_session *session, struct claret_window *window)
{
    uint32_t words[CLARET_STEP_WORDS];
    float sum, low;
    CLARET_TRY(claret_session_words(session, words));
    memcpy(&sum, &words[CLARET_STEP_LOSS_SUM], sizeof sum);
    memcpy(&low, &words[CLARET_STEP_LOSS_LOW], sizeof low);
    memcpy(&window->last, &words[CLARET_STEP_LOSS], sizeof window->last);
    window->sum = (double)sum - (double)low;
    window->count = words[CLARET_STEP_LOSS_COUNT];
    window->bad = words[CLARET_STEP_BAD];
    if (window->bad)
        return claret_fail(
            CLARET_NOT_FINITE,
            "the loss is not finite at step %zu: try a smaller --lr than %g, and look at the data",
            window->bad, session->options->lr);
    return CLARET_OK;
}

static enum claret_status check_batch(const struct claret_session *session, const int32_t *labels, int count)
{
    if (count < 1 || count > session->train.batch)
        return claret_fail(CLARET_INVALID, "a batch of %d images: from 1 to %" PRId64 " is wanted", count,
                           session->train.batch);
    for (int i = 0; i < count; i++)
        if (labels[i] < 0 || labels[i] >= session->network->classes)
            return claret_fail(CLARET_INVALID, "label %d of image %d: from 0 to %d is wanted", (int)labels[i],
                               i, session->network->classes - 1);
    return CLARET_OK;
}

static enum claret_status step(struct claret_session *session, const void *images, const int32_t *labels,
                               int count, float *loss)
{
    CLARET_TRY(check_batch(session, labels, count));
    CLARET_TRY(claret_session_reuse(session, &session->train));
    session->lr = session->options->lr;
    session->momentum = claret_optimizer_cycled(&session->optimizer);
    const struct claret_stage_layout *layout = &session->train.layout;
    unsigned char *memory = claret_session_slot_memory(session);
    if (!memory)
        return claret_no_memory();
    memcpy(memory + layout->labels, labels, (size_t)count * sizeof *labels);
    memcpy(memory + layout->images, images, (size_t)count * layout->image);
    CLARET_TRY(claret_session_queue(session, &session->train, memory, count, NULL, NULL));
    session->reset_loss = false;
    session->steps++;
    session->images += (size_t)count;
    if (loss) {
        struct claret_window window;
        CLARET_TRY(claret_session_window(session, &window));
        *loss = window.last;
    }
    return CLARET_OK;
}

enum claret_status claret_session_step(struct claret_session *session, const void *images,
                                       const int32_t *labels, int count, float *loss)
{
    claret_error_clear();
    if (!session || !images || !labels)
        return claret_fail(CLARET_INVALID, "claret_session_step: an argument is NULL");
    if (!session->train.exec)
        return claret_fail(CLARET_INVALID, "this session was made for evaluation, it cannot train");
    enum claret_status status = step(session, images, labels, count, loss);
    if (status != CLARET_OK)
        claret_session_abandon(session);
    return status;
}

void claret_session_stop(struct claret_session *session)
{
    session->stop = 1;
}

/* ---- reports ---- */

enum claret_status claret_session_report(struct claret_session *session, enum claret_report what, char **text)
{
    struct claret_text out = {0};
    claret_error_clear();
    switch (what) {
    case CLARET_REPORT_PLAN:
        claret_plan_dump(session->train.plan ? session->train.plan : session->eval.plan, &out);
        break;
    case CLARET_REPORT_EXPLAIN:
        claret_engine_explain(session, &out);
        break;
    case CLARET_REPORT_DEVICE:
        claret_text_add(&out, "%s", claret_rt_describe(session->rt));
        break;
    case CLARET_REPORT_PROGRAMS:
        claret_rt_report(session->rt, &out);
        break;
    }
    return claret_text_take(&out, text);
}

size_t claret_session_steps(const struct claret_session *session)
{
    return session->steps;
}

size_t claret_session_epochs(const struct claret_session *session)
{
    return session->epochs;
}

size_t claret_session_images(const struct claret_session *session)
{
    return session->images;
}

double claret_session_seconds(const struct claret_session *session)
{
    return session->seconds;
}

double claret_session_loss(const struct claret_session *session)
{
    return session->loss;
}
