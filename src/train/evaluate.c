/* Loss, accuracy and confusion matrix over a data set. The logits are read back and judged here, in double.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "train/session.h"

struct claret_result {
    int classes;
    size_t count, correct;
    double loss, weight, seconds; /* the loss is a mean by such weights */
    size_t *confusion;            /* (classes, classes): label, predicted */
};

/* One image. A NaN among the logits makes the loss NaN. */
static void judge(const struct claret_criterion *criterion, struct claret_result *result,
                  const float *logits /* (classes) */, int32_t label)
{
    int best = 0;
    double weight;
    for (int i = 1; i < result->classes; i++)
        if (logits[i] > logits[best])
            best = i;
    result->loss += claret_criterion_part(criterion, logits, label, &weight);
    result->weight += weight;
    result->confusion[(size_t)label * (size_t)result->classes + (size_t)best]++;
    result->correct += best == label;
}

/* From files: by a loader, whose threads read ahead. */
static enum claret_status queue_loaded(struct claret_session *session, struct claret_loader *loader)
{
    struct claret_batch batch;
    CLARET_TRY(claret_loader_next(loader, &batch));
    enum claret_status status = claret_session_reuse(session, &session->eval);
    if (status != CLARET_OK) {
        claret_loader_release(loader, &batch);
        return status;
    }
    return claret_session_queue(session, &session->eval, batch.slot, batch.count, loader, &batch);
}

static enum claret_status open_loader(const struct claret_session *session,
                                      const struct claret_dataset *dataset, struct claret_loader **loader)
{
    int workers = (int)session->options->workers;
    struct claret_loader_options options = {.batch = session->eval.batch,
                                            .workers = workers,
                                            .epochs = 1,
                                            .ahead = session->eval.layout.slots + 2 + workers,
                                            .any_size = true};
    return claret_loader_create(dataset, &options, loader);
}

static enum claret_status queue_batch(struct claret_session *session, const struct claret_dataset *dataset,
                                      size_t first, size_t count)
{
    const struct claret_stage_layout *layout = &session->eval.layout;
    CLARET_TRY(claret_session_reuse(session, &session->eval));
    unsigned char *memory = claret_session_slot_memory(session);
    if (!memory)
        return claret_no_memory();
    memcpy(memory + layout->labels, dataset->labels + first, count * sizeof *dataset->labels);
    memcpy(memory + layout->images, dataset->images + first * layout->image, count * layout->image);
    return claret_session_queue(session, &session->eval, memory, (int)count, NULL, NULL);
}

/* Of a session for training, evaluation's programs are built when they are needed. */
static enum claret_status prepare(struct claret_session *session)
{
    struct claret_engine *eval = &session->eval;
    return eval->exec ? CLARET_OK : claret_exec_create(session->pool, eval->plan, &eval->exec);
}

/* loader NULL: the images are in memory. */
static enum claret_status run_batches(struct claret_session *session, const struct claret_dataset *dataset,
                                      struct claret_loader *loader, struct claret_result *result,
                                      float *logits)
{
    struct claret_engine *eval = &session->eval;
    const struct claret_place *place = &eval->plan->places[eval->graph->logits];
    CLARET_TRY(prepare(session));
    for (size_t first = 0; first < dataset->count; first += (size_t)eval->batch) {
        size_t count = dataset->count - first;
        count = count < (size_t)eval->batch ? count : (size_t)eval->batch;
        CLARET_TRY(loader ? queue_loaded(session, loader) : queue_batch(session, dataset, first, count));
        CLARET_TRY(claret_pool_read(session->pool, place->buffer, place->offset,
                                    count * (size_t)result->classes * sizeof *logits, logits));
        for (size_t i = 0; i < count; i++)
            judge(&session->criterion, result, logits + i * (size_t)result->classes,
                  dataset->labels[first + i]);
        if (session->stop)
            return claret_fail(CLARET_STOPPED, "evaluation was stopped after %zu images", first + count);
    }
    return claret_session_drain(session);
}

static enum claret_status run(struct claret_session *session, const struct claret_dataset *dataset,
                              struct claret_result *result, float *logits)
{
    struct claret_loader *loader = NULL;
    if (!dataset->images)
        CLARET_TRY(open_loader(session, dataset, &loader));
    enum claret_status status = claret_session_swap_ema(session), back = status;
    if (status == CLARET_OK) {
        status = run_batches(session, dataset, loader, result, logits);
        if (status != CLARET_OK)
            claret_session_abandon(session); /* before the loader goes: uploads may still read its memory */
        back = claret_session_swap_ema(session);
    }
    claret_loader_destroy(loader);
    return status == CLARET_OK ? back : status;
}

enum claret_status claret_session_evaluate(struct claret_session *session,
                                           const struct claret_dataset *dataset, struct claret_result **out)
{
    claret_error_clear();
    if (!session || !dataset || !out)
        return claret_fail(CLARET_INVALID, "claret_session_evaluate: an argument is NULL");
    CLARET_TRY(claret_session_accepts(session, dataset));
    size_t classes = (size_t)dataset->classes;
    struct claret_result *result = calloc(1, sizeof *result);
    float *logits = malloc((size_t)session->eval.batch * classes * sizeof *logits);
    if (result)
        result->confusion = calloc(classes * classes, sizeof *result->confusion);
    enum claret_status status;
    if (!result || !logits || !result->confusion) {
        status = claret_no_memory();
        goto fail;
    }
    result->classes = dataset->classes;
    result->count = dataset->count;
    double start = claret_clock();
    CLARET_GOTO(fail, run(session, dataset, result, logits));
    result->seconds = claret_clock() - start;
    if (result->weight != 0) /* weights of 0 alone give 0, as in training */
        result->loss /= result->weight;
    if (!isfinite(result->loss)) {
        status = claret_fail(CLARET_NOT_FINITE,
                             "the loss over the test is not finite: look at the weights and at the data");
        goto fail;
    }
    free(logits);
    *out = result;
    return CLARET_OK;
fail:
    claret_session_abandon(session);
    free(logits);
    claret_result_destroy(result);
    return status;
}

static enum claret_status predict(struct claret_session *session, const void *images, int count,
                                  float *logits)
{
    const struct claret_engine *eval = &session->eval;
    const struct claret_place *place = &eval->plan->places[eval->graph->logits];
    CLARET_TRY(prepare(session));
    CLARET_TRY(claret_session_reuse(session, &session->eval));
    unsigned char *memory = claret_session_slot_memory(session);
    if (!memory)
        return claret_no_memory();
    memset(memory + eval->layout.labels, 0, (size_t)count * sizeof(int32_t));
    memcpy(memory + eval->layout.images, images, (size_t)count * eval->layout.image);
    enum claret_status status = claret_session_queue(session, &session->eval, memory, count, NULL, NULL);
    if (status == CLARET_OK)
        status = claret_pool_read(session->pool, place->buffer, place->offset,
                                  (size_t)count * (size_t)session->network->classes * sizeof *logits, logits);
    if (status == CLARET_OK)
        status = claret_session_drain(session);
    if (status != CLARET_OK)
        claret_session_abandon(session);
    return status;
}

enum claret_status claret_session_predict(struct claret_session *session, const void *images, int count,
                                          float *logits)
{
    claret_error_clear();
    int64_t most = session ? session->eval.batch : 0;
    if (session && session->options->batch_size > most) /* memory has kept the plan's batch smaller */
        most = session->options->batch_size;
    if (!session || !images || !logits || count < 1 || count > most)
        return claret_fail(CLARET_INVALID,
                           "claret_session_predict: needs a session, 1 to %lld images and logits",
                           (long long)most);
    CLARET_TRY(claret_session_swap_ema(session));
    enum claret_status status = CLARET_OK;
    for (int first = 0, part; status == CLARET_OK && first < count; first += part) {
        part = count - first < session->eval.batch ? count - first : (int)session->eval.batch;
        status = predict(session, (const char *)images + (size_t)first * session->eval.layout.image, part,
                         logits + (size_t)first * (size_t)session->network->classes);
    }
    enum claret_status back = claret_session_swap_ema(session);
    return status == CLARET_OK ? back : status;
}

void claret_result_destroy(struct claret_result *result)
{
    if (!result)
        return;
    free(result->confusion);
    free(result);
}

double claret_result_loss(const struct claret_result *result)
{
    return result->loss;
}

size_t claret_result_count(const struct claret_result *result)
{
    return result->count;
}

size_t claret_result_correct(const struct claret_result *result)
{
    return result->correct;
}

double claret_result_seconds(const struct claret_result *result)
{
    return result->seconds;
}

size_t claret_result_confusion(const struct claret_result *result, int label, int predicted)
{
    if (label < 0 || predicted < 0 || label >= result->classes || predicted >= result->classes)
        return 0;
    return result->confusion[label * result->classes + predicted];
}
