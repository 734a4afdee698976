/* The loop over epochs and batches. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "data/augment.h"
#include "train/engine.h"
#include "train/run.h"
#include "train/schedule.h"
#include "train/session.h"

/* Between two calls of the progress callback, in seconds. */
#define PROGRESS_INTERVAL 0.2

struct claret_train_callbacks {
    void *user;
    claret_on_loss loss;
    claret_on_epoch epoch;
    claret_on_progress progress;
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
    *callbacks = (struct claret_train_callbacks){user, loss, epoch, progress};
}

/* One call of claret_session_train. */
struct training {
    struct claret_session *session;
    struct claret_run *run;
    struct claret_engine *engine;
    struct claret_loader *loader;
    struct claret_schedule schedule;
    struct claret_train_callbacks callbacks; /* all NULL where there are none */
    size_t steps, total;                     /* done and to do in this call */
    size_t images;
    double start, epoch_start, progress_at;
    bool saved;        /* the programs are in the cache */
    double epoch_loss; /* sum of the windows read in this epoch */
    size_t epoch_steps, epoch_images;
};

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
    training->epoch_loss += window->sum;
    return CLARET_OK;
}

static enum claret_status log_loss(struct training *training, const struct claret_batch *batch)
{
    struct claret_session *session = training->session;
    struct claret_window window;
    CLARET_TRY(read_window(training, &window));
    double loss = window.sum / (double)window.count;
    if (training->callbacks.loss)
        training->callbacks.loss(training->callbacks.user, (int)batch->epoch + 1, batch->step + 1, loss);
    if (training->run)
        CLARET_TRY(claret_run_log(training->run, batch->epoch + 1, batch->step + 1, training->images, loss,
                                  session->lr, claret_clock() - training->start));
    return CLARET_OK;
}

static enum claret_status end_epoch(struct training *training, const struct claret_batch *batch, bool logged)
{
    struct claret_session *session = training->session;
    struct claret_window window;
    if (!logged)
        CLARET_TRY(read_window(training, &window));
    session->loss = training->epoch_loss / (double)training->epoch_steps;
    double time = claret_clock();
    if (batch->last) {
        session->epochs++;
        if (training->callbacks.epoch)
            training->callbacks.epoch(training->callbacks.user, (int)batch->epoch + 1, session->loss,
                                      time - training->epoch_start, training->epoch_images);
    }
    training->epoch_start = time;
    training->epoch_loss = 0;
    training->epoch_steps = training->epoch_images = 0;
    return CLARET_OK;
}

static void show_progress(struct training *training, const struct claret_batch *batch)
{
    double time = claret_clock();
    if (!training->callbacks.progress || time < training->progress_at)
        return;
    training->progress_at = time + PROGRESS_INTERVAL;
    training->callbacks.progress(training->callbacks.user, training->steps, training->total,
                                 (int)batch->epoch + 1, (double)training->images / (time - training->start));
}

/* The rate of a batch's step. */
static double rate_of(const struct training *training, const struct claret_batch *batch)
{
    const struct claret_schedule *schedule = &training->schedule;
    return schedule->by_step
               ? claret_schedule_lr(schedule, (int64_t)training->steps, (int64_t)training->total)
               : claret_schedule_lr(schedule, (int64_t)batch->epoch, training->session->options->epochs);
}

static enum claret_status run_step(struct training *training, struct claret_batch *batch)
{
    struct claret_session *session = training->session;
    session->lr = rate_of(training, batch);
    enum claret_status status = claret_session_reuse(session, training->engine);
    if (status != CLARET_OK) {
        claret_loader_release(training->loader, batch);
        return status;
    }
    CLARET_TRY(
        claret_session_queue(session, training->engine, batch->slot, batch->count, training->loader, batch));
    session->stepped = true;
    session->reset_loss = false;
    session->steps++;
    session->images += (size_t)batch->count;
    training->steps++;
    training->images += (size_t)batch->count;
    training->epoch_steps++;
    training->epoch_images += (size_t)batch->count;

    bool log = (batch->step + 1) % (size_t)session->options->log_every == 0;
    if (log)
        CLARET_TRY(log_loss(training, batch));
    if (batch->last || training->steps == training->total)
        CLARET_TRY(end_epoch(training, batch, log));
    show_progress(training, batch);
    return CLARET_OK;
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
    if (training->epoch_steps) {
        CLARET_TRY(read_window(training, &window));
        training->session->loss = training->epoch_loss / (double)training->epoch_steps;
    }
    CLARET_TRY(check_weights(training->session));
    return claret_fail(CLARET_STOPPED, "training was stopped after %zu steps", training->session->steps);
}

static enum claret_status run_steps(struct training *training)
{
    struct claret_session *session = training->session;
    training->start = training->epoch_start = claret_clock();
    for (;;) {
        struct claret_batch batch;
        CLARET_TRY(claret_loader_next(training->loader, &batch));
        if (!batch.slot) {
            CLARET_TRY(claret_session_drain(session));
            return check_weights(session);
        }
        CLARET_TRY(run_step(training, &batch));
        if (session->stop && training->steps < training->total)
            return stop(training);
    }
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
                                                   .ahead = session->train.layout.slots + 2 +
                                                            (int)options->workers};
    struct claret_augment augment;
    CLARET_TRY(claret_options_augment(options, &augment));
    loader_options.augment = &augment;
    struct training training = {.session = session, .run = run, .engine = &session->train};
    struct claret_engine resident = {0};
    CLARET_TRY(claret_schedule_init(options, &training.schedule));
    if (!claret_augment_any(&augment))
        CLARET_TRY(claret_engine_reside(session, dataset, &resident));
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
    session->reset_loss = true;
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
