/* The loop over epochs and batches. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "data/augment.h"
#include "train/engine.h"
#include "train/keeping.h"
#include "train/optimizer.h"
#include "train/run.h"
#include "train/schedule.h"
#include "train/session.h"
#include "train/validation.h"

/* Between two calls of the progress callback, in seconds. */
#define PROGRESS_INTERVAL 0.2

struct claret_train_callbacks {
    void *user;
    claret_on_loss loss;
    claret_on_epoch epoch;
    claret_on_progress progress;
    claret_on_test test;
};

enum claret_status claret_train_callbacks_create(struct claret_train_callbacks **callbacks)
{
    claret_error_clear();
    *callbacks = calloc(1, sizeof **callbacks);
    return *callbacks ? CLARET_OK : claret_no_memory();
}

void claret_train_callbacks_destroy(struct claret_train_callbacks *callbacks)
{
    free(callbacks);
}

void claret_train_callbacks_set(struct claret_train_callbacks *callbacks, void *user, claret_on_loss loss,
                                claret_on_epoch epoch, claret_on_progress progress)
{
    *callbacks = (struct claret_train_callbacks){user, loss, epoch, progress, callbacks->test};
}

void claret_train_callbacks_set_test(struct claret_train_callbacks *callbacks, claret_on_test test)
{
    callbacks->test = test;
}

/* One call of claret_session_train. */
struct training {
    struct claret_session *session;
    struct claret_run *run;
    struct claret_engine *engine;
    struct claret_loader *loader;
    struct claret_schedule schedule;
    struct claret_train_callbacks callbacks; /* all NULL where there are none */
    struct claret_progress at;
    struct claret_keeping keeping; /* checkpoints */
    struct claret_validation validation;
    size_t total, updates; /* steps and updates to do in all */
    size_t lasting;        /* steps to a checkpoint at the end: from there a training can be longer */
    size_t begun;          /* images that were done before this call */
    double start, epoch_start, progress_at;
    bool saved;       /* the programs are in the cache */
    bool keeping_due; /* a checkpoint, at the next update */
};

/* Of this training, also before it was resumed. */
static double seconds_of(const struct training *training)
{
    return training->at.seconds + claret_clock() - training->start;
}

/* What makes a next start fast is no part of this training's time. */
static void save_programs(struct training *training)
{
    double start = claret_clock();
    if (!training->saved)
        claret_rt_save_programs(training->session->rt);
    training->saved = true;
    training->start += claret_clock() - start;
}

/* Reads the window that ends here; the next step begins another. */
static enum claret_status read_window(struct training *training, struct claret_window *window)
{
    CLARET_TRY(claret_session_window(training->session, window));
    save_programs(training); /* nothing is under way */
    training->session->reset_loss = true;
    training->at.epoch_loss += window->sum;
    return CLARET_OK;
}

/* A row of the window that ends here, and where it is whole, no epoch's remainder, a loss line. */
static enum claret_status log_loss(struct training *training, const struct claret_batch *batch, bool whole)
{
    struct claret_session *session = training->session;
    struct claret_window window;
    CLARET_TRY(read_window(training, &window));
    double loss = window.sum / (double)window.count;
    if (whole && training->callbacks.loss)
        training->callbacks.loss(training->callbacks.user, (int)batch->epoch + 1, batch->step + 1, loss);
    if (training->run)
        CLARET_TRY(claret_run_log(training->run, batch->epoch + 1, batch->step + 1, training->at.images, loss,
                                  session->lr, seconds_of(training)));
    return CLARET_OK;
}

static enum claret_status end_epoch(struct training *training, const struct claret_batch *batch)
{
    struct claret_session *session = training->session;
    session->loss = training->at.epoch_loss / (double)training->at.epoch_steps;
    double time = claret_clock();
    if (batch->last) {
        session->epochs++;
        if (training->callbacks.epoch)
            training->callbacks.epoch(training->callbacks.user, (int)batch->epoch + 1, session->loss,
                                      time - training->epoch_start, training->at.epoch_images);
    }
    training->at.epoch_loss = 0;
    training->at.epoch_steps = training->at.epoch_images = 0;
    if (training->run)
        CLARET_TRY(claret_run_end_epoch(training->run));
    training->epoch_start = claret_clock();
    return CLARET_OK;
}

static void show_progress(struct training *training, const struct claret_batch *batch)
{
    double time = claret_clock();
    if (!training->callbacks.progress || time < training->progress_at)
        return;
    training->progress_at = time + PROGRESS_INTERVAL;
    training->callbacks.progress(training->callbacks.user, training->at.steps, training->total,
                                 (int)batch->epoch + 1,
                                 (double)(training->at.images - training->begun) / (time - training->start));
}

/* The rate of a batch's step. */
static double rate_of(const struct training *training, const struct claret_batch *batch)
{
    const struct claret_schedule *schedule = &training->schedule;
    double lr = schedule->by_step
                    ? claret_schedule_lr(schedule, (int64_t)training->at.updates, (int64_t)training->updates)
                    : claret_schedule_lr(schedule, (int64_t)batch->epoch, training->session->options->epochs);
    return training->validation.plateau && training->at.validated.any ? lr * training->at.validated.scale
                                                                      : lr;
}

/* And its momentum. */
static double momentum_of(const struct training *training)
{
    double own = claret_optimizer_cycled(&training->session->optimizer);
    return claret_schedule_momentum(&training->schedule, own, (int64_t)training->at.updates,
                                    (int64_t)training->updates);
}

/* A checkpoint of now, of the best or by the number of steps. One that cannot be written costs no training.
 */
static void keep(struct training *training, bool best)
{
    struct claret_progress at = training->at;
    at.seconds = seconds_of(training);
    at.epoch_seconds = claret_clock() - training->epoch_start;
    at.reset_loss = training->session->reset_loss;
    at.lr = training->session->lr;
    if (best)
        claret_keeping_best(&training->keeping, training->session, &at);
    else
        claret_keeping_save(&training->keeping, training->session, &at);
}

/* A test between two steps; the next step finds the device as the last one left it. */
static enum claret_status validate(struct training *training)
{
    struct claret_session *session = training->session;
    struct claret_result *result = NULL;
    uint32_t words[CLARET_STEP_WORDS];
    CLARET_TRY(claret_session_drain(session));
    CLARET_TRY(claret_session_words(session, words));
    enum claret_status status = claret_session_evaluate(session, training->validation.dataset, &result);
    if (status == CLARET_STOPPED)
        CLARET_TRY(claret_session_set_words(session, words));
    CLARET_TRY(status);
    double loss = claret_result_loss(result);
    double accuracy = 100.0 * (double)claret_result_correct(result) / (double)claret_result_count(result);
    claret_result_destroy(result);
    CLARET_TRY(claret_session_set_words(session, words));
    training->at.validated.due = false;
    bool best = claret_validation_take(&training->validation, loss, accuracy, &training->at.validated);
    int epoch = (int)claret_schedule_epoch(session->options, training->at.steps, training->at.train_images);
    if (training->run)
        CLARET_TRY(claret_run_log_test(training->run, epoch, training->at.steps, loss, accuracy));
    if (training->callbacks.test)
        training->callbacks.test(training->callbacks.user, epoch, loss, accuracy, best);
    training->epoch_start = claret_clock();
    if (best)
        keep(training, true);
    return CLARET_OK;
}

static enum claret_status run_step(struct training *training, struct claret_batch *batch)
{
    struct claret_session *session = training->session;
    session->lr = rate_of(training, batch);
    session->momentum = momentum_of(training);
    session->update = batch->last || training->at.steps + 1 == training->total;
    enum claret_status status = claret_session_reuse(session, training->engine);
    if (status != CLARET_OK) {
        claret_loader_release(training->loader, batch);
        return status;
    }
    CLARET_TRY(
        claret_session_queue(session, training->engine, batch->slot, batch->count, training->loader, batch));
    session->reset_loss = false;
    session->steps++;
    session->images += (size_t)batch->count;
    training->at.steps++;
    training->at.updates += session->gathered.steps == 0;
    training->at.images += (size_t)batch->count;
    training->at.epoch_steps++;
    training->at.epoch_images += (size_t)batch->count;

    bool whole = (batch->step + 1) % (size_t)session->options->log_every == 0;
    if (whole || batch->last)
        CLARET_TRY(log_loss(training, batch, whole));
    if (batch->last)
        CLARET_TRY(end_epoch(training, batch));
    show_progress(training, batch);
    training->at.validated.due =
        batch->last && claret_validation_due(&training->validation, batch->epoch + 1);
    if (training->at.validated.due && !session->stop)
        CLARET_TRY(validate(training));
    training->keeping_due |= claret_keeping_due(&training->keeping, training->at.steps, training->lasting);
    if (training->keeping_due && !session->gathered.steps && training->at.steps <= training->lasting) {
        struct claret_window window;
        CLARET_TRY(
            claret_session_window(session, &window)); /* nothing of a loss that is not finite is kept */
        keep(training, false);
        training->keeping_due = false;
    }
    return CLARET_OK;
}

/* Where --max-steps ends an epoch before its time. No checkpoint knows of it: one that goes on from the last,
 * with more steps, has not ended here; one with no more comes here again. */
static enum claret_status cut_epoch(struct training *training)
{
    size_t steps = claret_loader_steps_per_epoch(training->loader), last = training->at.steps - 1;
    struct claret_batch batch = {.epoch = last / steps, .step = last % steps};
    if (claret_validation_due(&training->validation, batch.epoch + 1) && !training->session->stop)
        CLARET_TRY(validate(training));
    if (!training->session->reset_loss)
        CLARET_TRY(log_loss(training, &batch, false));
    return end_epoch(training, &batch);
}

/* The loss tells of a step's beginning: what the last update made of the weights, no step has seen. */
static enum claret_status check_weights(struct claret_session *session)
{
    for (size_t i = 0; i < claret_session_parameters(session); i++) {
        const char *name = claret_session_parameter_name(session, i);
        size_t shape[4], bad = 0;
        int rank;
        size_t count = claret_session_parameter_shape(session, i, shape, &rank);
        float *values = malloc(count * sizeof *values);
        if (!values)
            return claret_no_memory();
        enum claret_status status = claret_session_read(session, name, values, count);
        while (status == CLARET_OK && bad < count && isfinite(values[bad]))
            bad++;
        free(values);
        CLARET_TRY(status);
        if (bad < count)
            return claret_fail(CLARET_NOT_FINITE,
                               "%s is not finite after step %zu, the last: try a smaller --lr than %g", name,
                               session->steps, session->options->lr);
    }
    return CLARET_OK;
}

/* After a stop: what there is of this epoch's loss. */
static enum claret_status stop(struct training *training)
{
    struct claret_window window;
    CLARET_TRY(claret_session_drain(training->session));
    if (claret_keeping_wanted(&training->keeping, training->at.steps) &&
        (training->at.steps <= training->lasting || !training->keeping.saved))
        keep(training, false);
    if (training->at.epoch_steps) {
        CLARET_TRY(read_window(training, &window));
        training->session->loss = training->at.epoch_loss / (double)training->at.epoch_steps;
    }
    CLARET_TRY(check_weights(training->session));
    return claret_fail(CLARET_STOPPED, "training was stopped after %zu steps", training->session->steps);
}

static enum claret_status run_steps(struct training *training)
{
    struct claret_session *session = training->session;
    training->start = claret_clock();
    training->epoch_start = training->start - training->at.epoch_seconds;
    if (training->at.validated.due && training->validation.dataset)
        CLARET_TRY(validate(training));
    for (;;) {
        struct claret_batch batch = {0};
        bool over = claret_validation_over(&training->validation, &training->at.validated);
        if (!over)
            CLARET_TRY(claret_loader_next(training->loader, &batch));
        if (!batch.slot) {
            CLARET_TRY(claret_session_drain(session));
            enum claret_status cut = training->at.epoch_steps ? cut_epoch(training) : CLARET_OK;
            if (cut != CLARET_OK)
                return cut == CLARET_STOPPED ? stop(training) : cut;
            if (over && claret_keeping_due(&training->keeping, training->total, training->total) &&
                claret_keeping_wanted(&training->keeping, training->at.steps))
                keep(training, false);
            return check_weights(session);
        }
        enum claret_status status = run_step(training, &batch);
        if (status == CLARET_STOPPED || /* in a test */
            (status == CLARET_OK && session->stop && !session->gathered.steps &&
             training->at.steps < training->total))
            return stop(training);
        CLARET_TRY(status);
    }
}

enum claret_status claret_session_validate(struct claret_session *session,
                                           const struct claret_dataset *dataset)
{
    claret_error_clear();
    if (!session)
        return claret_fail(CLARET_INVALID, "claret_session_validate: session is NULL");
    if (dataset)
        CLARET_TRY(claret_session_accepts(session, dataset));
    session->validation = dataset;
    return CLARET_OK;
}

/* Where a checkpoint was: with the same images. */
static enum claret_status begin(struct training *training, const struct claret_dataset *dataset)
{
    struct claret_session *session = training->session;
    session->gathered.steps = 0;
    session->gathered.weight = 0;
    size_t before = training->at.train_images;
    if (training->at.steps && before != dataset->count)
        return claret_fail(CLARET_SHAPE,
                           "the training goes on with %zu images, and was begun with %zu: another data set",
                           dataset->count, before);
    training->at.train_images = dataset->count;
    session->lr = training->at.lr;
    session->progress = (struct claret_progress){0}; /* a second training begins anew */
    CLARET_TRY(claret_validation_init(session->options, session->validation, &training->validation));
    return claret_keeping_init(session->options, training->run, &training->keeping);
}

enum claret_status claret_session_train(struct claret_session *session, const struct claret_dataset *dataset,
                                        struct claret_run *run,
                                        const struct claret_train_callbacks *callbacks)
{
    claret_error_clear();
    if (!session || !dataset)
        return claret_fail(CLARET_INVALID, "claret_session_train: an argument is NULL");
    if (!session->train.exec)
        return claret_fail(CLARET_INVALID, "this session was made for evaluation, it cannot train");
    CLARET_TRY(claret_session_accepts(session, dataset));
    const struct claret_options *options = session->options;
    struct claret_loader_options loader_options = {.batch = options->batch_size,
                                                   .workers = (int)options->workers,
                                                   .shuffle = !options->no_shuffle,
                                                   .seed = (uint64_t)options->seed,
                                                   .epochs = (size_t)options->epochs,
                                                   .max_steps = (size_t)options->max_steps,
                                                   .first = session->progress.steps,
                                                   .ahead = session->train.layout.slots + 2 +
                                                            (int)options->workers};
    struct claret_augment augment;
    CLARET_TRY(claret_options_augment(options, &augment));
    loader_options.augment = &augment;
    struct training training = {.session = session,
                                .run = run,
                                .engine = &session->train,
                                .at = session->progress,
                                .begun = session->progress.images};
    CLARET_TRY(begin(&training, dataset));
    struct claret_engine resident = {0};
    CLARET_TRY(claret_schedule_init(options, &training.schedule));
    CLARET_TRY(claret_engine_reside(session, dataset, claret_augment_kinds(&augment), &resident));
    loader_options.resident = resident.exec != NULL;
    if (resident.exec)
        training.engine = &resident;
    if (callbacks)
        training.callbacks = *callbacks;
    enum claret_status status = claret_loader_create(dataset, &loader_options, &training.loader);
    if (status != CLARET_OK) {
        claret_engine_release(session, &resident);
        return status;
    }
    training.total = claret_loader_steps(training.loader);
    training.updates = claret_schedule_updates(options, training.total, dataset->count);
    training.lasting = claret_schedule_lasting(options, training.total, dataset->count);
    if (!training.lasting) /* it is too short for one */
        training.lasting = training.total;
    session->reset_loss = !training.at.steps || training.at.reset_loss;
    status = run_steps(&training);
    if (status != CLARET_OK)
        claret_session_abandon(session); /* before the loader goes: uploads may still read its memory */
    session->seconds += claret_clock() - training.start;
    claret_engine_release(session, &resident);
    claret_loader_destroy(training.loader);
    if (run && (status == CLARET_OK || status == CLARET_STOPPED)) {
        enum claret_status finished = claret_run_finish(run);
        status = status == CLARET_OK ? finished : status;
    }
    return status;
}
