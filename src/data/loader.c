/* Batches made ahead of their use.
 *
 * A fixed pool of slots goes round: free, claimed by a worker for the next batch of the order, ready, in the
 * caller's hands, free again. Which slot a batch gets and who fills it depends on timing; what is in it does
 * not: a batch's images are fixed by its number when it is claimed. Nothing is allocated after creation. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "augment.h"
#include "data.h"

#define SLOT_ALIGNMENT 4096 /* a page: what drivers like for memory that they copy from */

struct claret_loader {
    const struct claret_dataset *dataset;
    struct claret_loader_options options;
    struct claret_augment augment; /* what options.augment points to, if anything */
    struct claret_stage_layout layout;
    size_t images; /* of an epoch */
    size_t steps_per_epoch, steps;

    unsigned char *slots; /* (ahead, layout.slot) */
    uint32_t *indices;    /* (ahead, batch): images of the batch that a slot is claimed for */
    int *free_slots;      /* stack */
    int free_count;
    int *slot_of; /* by batch number modulo ahead: the batches that are claimed and not yet handed out … */
    bool *ready_of; /* … and whether their slot is filled */
    bool *held;     /* by slot: in the caller's hands */
    int held_count;
    size_t claimed, handed; /* batches */
    uint32_t *order;        /* (images): of the epoch that is being claimed */

    pthread_t *threads;
    int thread_count;
    pthread_mutex_t lock; /* over everything from free_slots to order, and stopping */
    pthread_cond_t work, ready;
    bool stopping;
    enum claret_status failed; /* the first error of a worker, and what it said */
    char *error;
};

/* ---- making a batch ------------------------------------------------------------------------------------ */

static int true_count(const struct claret_loader *loader, size_t batch)
{
    size_t first = batch % loader->steps_per_epoch * (size_t)loader->options.batch;
    size_t left = loader->images - first;

    return left < (size_t)loader->options.batch ? (int)left : (int)loader->options.batch;
}

/* With the lock held and a slot free: takes the next batch of the order and notes its images. */
static size_t claim(struct claret_loader *loader)
{
    size_t batch = loader->claimed++;
    size_t epoch = batch / loader->steps_per_epoch, step = batch % loader->steps_per_epoch;
    size_t place = batch % (size_t)loader->options.ahead;
    int slot = loader->free_slots[--loader->free_count];
    struct claret_rng rng;

    if ((step == 0 || batch == loader->options.first) && loader->options.shuffle) {
        claret_rng_init(&rng, loader->options.seed, CLARET_STREAM_SHUFFLE, (uint32_t)epoch);
        claret_rng_permutation(&rng, loader->order, loader->images);
    }
    memcpy(loader->indices + (size_t)slot * (size_t)loader->options.batch,
           loader->order + step * (size_t)loader->options.batch,
           (size_t)true_count(loader, batch) * sizeof(*loader->order));
    loader->slot_of[place] = slot;
    loader->ready_of[place] = false;
    return batch;
}

static enum claret_status fetch(const struct claret_loader *loader, size_t epoch, uint32_t index,
                                unsigned char *image)
{
    if (!loader->options.augment)
        return claret_dataset_fetch(loader->dataset, index, image);
    return claret_augment_fetch(&loader->augment, loader->dataset, loader->options.seed, (uint32_t)epoch,
                                index, image);
}

/* For the device, which has the images: their numbers, or what is to be done to them. */
static void name_images(const struct claret_loader *loader, size_t epoch, const uint32_t *indices,
                        size_t count, void *to)
{
    const struct claret_dataset *dataset = loader->dataset;
    struct claret_recipe *recipes = to;

    if (!loader->options.augment)
        memcpy(to, indices, count * sizeof(*indices));
    for (size_t i = 0; loader->options.augment && i < count; i++)
        claret_augment_draw(&loader->augment, dataset, loader->options.seed, (uint32_t)epoch, indices[i],
                            dataset->height, dataset->width, &recipes[i]);
}

/* Without the lock: the slot is this thread's until it is ready. */
static enum claret_status fill(struct claret_loader *loader, size_t batch, int slot)
{
    const struct claret_dataset *dataset = loader->dataset;
    const uint32_t *indices = loader->indices + (size_t)slot * (size_t)loader->options.batch;
    unsigned char *memory = loader->slots + (size_t)slot * loader->layout.slot;
    unsigned char *images = memory + loader->layout.images;        /* (batch, C, H, W) */
    int32_t *labels = (int32_t *)(memory + loader->layout.labels); /* (batch) */
    size_t count = (size_t)true_count(loader, batch), unused = (size_t)loader->options.batch - count;

    for (size_t i = 0; i < count; i++)
        labels[i] = dataset->labels[indices[i]];
    memset(labels + count, 0, unused * sizeof(*labels));
    if (loader->options.resident) {
        name_images(loader, batch / loader->steps_per_epoch, indices, count, images);
        return CLARET_OK;
    }
    for (size_t i = 0; i < count; i++)
        CLARET_TRY(
            fetch(loader, batch / loader->steps_per_epoch, indices[i], images + i * dataset->image_bytes));
    memset(images + count * dataset->image_bytes, 0, unused * dataset->image_bytes);
    return CLARET_OK;
}

/* With the lock held, in the thread that failed. */
static void keep_error(struct claret_loader *loader, enum claret_status status)
{
    char *error = claret_error_take();

    if (loader->failed == CLARET_OK) {
        loader->failed = status;
        loader->error = error;
    } else {
        free(error);
    }
}

static void *work(void *user)
{
    struct claret_loader *loader = user;
    size_t batch, place;
    int slot;

    pthread_mutex_lock(&loader->lock);
    while (!loader->stopping && loader->claimed < loader->steps) {
        if (!loader->free_count) {
            pthread_cond_wait(&loader->work, &loader->lock);
            continue;
        }
        batch = claim(loader);
        place = batch % (size_t)loader->options.ahead;
        slot = loader->slot_of[place];
        pthread_mutex_unlock(&loader->lock);
        enum claret_status status = fill(loader, batch, slot);
        pthread_mutex_lock(&loader->lock);
        if (status != CLARET_OK)
            keep_error(loader, status);
        loader->ready_of[place] = true;
        pthread_cond_signal(&loader->ready);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* ---- creation ------------------------------------------------------------------------------------------ */

static enum claret_status check(const struct claret_dataset *dataset,
                                const struct claret_loader_options *options)
{
    if (options->batch < 1 || options->batch > INT32_MAX || options->workers < 0 || options->ahead < 2 ||
        options->epochs < 1)
        return claret_fail(CLARET_INVALID,
                           "loader: batch %lld, %d workers, %d slots, %zu epochs: at least 1, 0, 2 and 1",
                           (long long)options->batch, options->workers, options->ahead, options->epochs);
    if ((uint64_t)options->batch > dataset->count && !options->any_size)
        return claret_fail(CLARET_INVALID, "the batch size is %lld, but the data set has only %zu images",
                           (long long)options->batch, dataset->count);
    if (dataset->count > UINT32_MAX || options->epochs > UINT32_MAX)
        return claret_fail(CLARET_INVALID, "loader: %zu images in %zu epochs are too many", dataset->count,
                           options->epochs);
    return CLARET_OK;
}

static enum claret_status allocate(struct claret_loader *loader)
{
    size_t ahead = (size_t)loader->options.ahead, batch = (size_t)loader->options.batch;
    void *slots;

    if (loader->layout.slot > PTRDIFF_MAX / ahead ||
        posix_memalign(&slots, SLOT_ALIGNMENT, ahead * loader->layout.slot) != 0)
        return claret_no_memory();
    /* Also what no batch ever fills: the same bytes travel in every run. */
    memset(slots, 0, ahead * loader->layout.slot);
    loader->slots = slots;
    loader->indices = calloc(ahead * batch, sizeof(*loader->indices));
    loader->free_slots = calloc(ahead, sizeof(*loader->free_slots));
    loader->slot_of = calloc(ahead, sizeof(*loader->slot_of));
    loader->ready_of = calloc(ahead, sizeof(*loader->ready_of));
    loader->held = calloc(ahead, sizeof(*loader->held));
    loader->order = calloc(loader->images, sizeof(*loader->order));
    loader->threads = calloc((size_t)loader->options.workers + 1, sizeof(*loader->threads));
    if (!loader->indices || !loader->free_slots || !loader->slot_of || !loader->ready_of || !loader->held ||
        !loader->order || !loader->threads)
        return claret_no_memory();
    for (int i = 0; i < loader->options.ahead; i++)
        loader->free_slots[loader->free_count++] = loader->options.ahead - 1 - i;
    for (size_t i = 0; i < loader->images; i++)
        loader->order[i] = (uint32_t)i;
    return CLARET_OK;
}

/* Workers take no signals: those are the program's. */
static enum claret_status start_threads(struct claret_loader *loader)
{
    sigset_t all, before;
    int failed = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!failed && loader->thread_count < loader->options.workers) {
        failed = pthread_create(&loader->threads[loader->thread_count], NULL, work, loader);
        loader->thread_count += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return claret_fail(CLARET_NO_MEMORY,
                           "loader: worker %d of %d cannot be started: %s; use fewer workers",
                           loader->thread_count + 1, loader->options.workers, strerror(failed));
    return CLARET_OK;
}

enum claret_status claret_loader_create(const struct claret_dataset *dataset,
                                        const struct claret_loader_options *options,
                                        struct claret_loader **loader)
{
    struct claret_loader *made;
    enum claret_status status;
    size_t element = dataset->element == CLARET_U8 ? 1 : sizeof(float);

    CLARET_TRY(check(dataset, options));
    made = calloc(1, sizeof(*made));
    if (!made)
        return claret_no_memory();
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->ready, NULL);
    made->dataset = dataset;
    made->options = *options;
    if (options->augment)
        made->augment = *options->augment;
    if (!claret_augment_any(&made->augment))
        made->options.augment = NULL;
    made->images = dataset->count;
    claret_stage_layout(options->batch, (int64_t)(dataset->image_bytes / element), element, &made->layout);
    made->steps_per_epoch = (made->images - 1) / (size_t)options->batch + 1;
    made->claimed = made->handed = options->first;
    made->steps = SIZE_MAX;
    if (options->epochs <= SIZE_MAX / made->steps_per_epoch)
        made->steps = options->epochs * made->steps_per_epoch;
    if (options->max_steps && options->max_steps < made->steps)
        made->steps = options->max_steps;
    if (made->steps < options->first)
        made->steps = options->first;
    CLARET_GOTO(failed, allocate(made));
    CLARET_GOTO(failed, start_threads(made));
    *loader = made;
    return CLARET_OK;
failed:
    claret_loader_destroy(made);
    return status;
}

void claret_loader_destroy(struct claret_loader *loader)
{
    if (!loader)
        return;
    pthread_mutex_lock(&loader->lock);
    loader->stopping = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->thread_count; i++)
        pthread_join(loader->threads[i], NULL);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->lock);
    free(loader->error);
    free(loader->threads);
    free(loader->order);
    free(loader->held);
    free(loader->ready_of);
    free(loader->slot_of);
    free(loader->free_slots);
    free(loader->indices);
    free(loader->slots);
    free(loader);
}

/* ---- use ----------------------------------------------------------------------------------------------- */

size_t claret_loader_steps(const struct claret_loader *loader)
{
    return loader->steps;
}

size_t claret_loader_steps_per_epoch(const struct claret_loader *loader)
{
    return loader->steps_per_epoch;
}

/* With the lock held: waits for the next batch, or makes it where there are no workers. */
static void await_next(struct claret_loader *loader)
{
    size_t place = loader->handed % (size_t)loader->options.ahead;

    if (!loader->thread_count) {
        size_t batch = claim(loader);
        loader->failed = fill(loader, batch, loader->slot_of[place]);
        loader->ready_of[place] = true;
        return;
    }
    while (loader->claimed == loader->handed || !loader->ready_of[place])
        pthread_cond_wait(&loader->ready, &loader->lock);
}

enum claret_status claret_loader_next(struct claret_loader *loader, struct claret_batch *batch)
{
    size_t number, place;
    int slot;

    *batch = (struct claret_batch){0};
    if (loader->handed == loader->steps)
        return CLARET_OK;
    pthread_mutex_lock(&loader->lock);
    if (loader->held_count == loader->options.ahead) {
        pthread_mutex_unlock(&loader->lock);
        return claret_fail(CLARET_INTERNAL, "loader: all of its %d slots are held", loader->options.ahead);
    }
    await_next(loader);
    if (loader->failed != CLARET_OK) {
        enum claret_status failed = loader->failed;
        claret_error_give(loader->error);
        loader->error = NULL;
        pthread_mutex_unlock(&loader->lock);
        return failed;
    }
    number = loader->handed++;
    place = number % (size_t)loader->options.ahead;
    slot = loader->slot_of[place];
    loader->held[slot] = true;
    loader->held_count++;
    pthread_mutex_unlock(&loader->lock);
    batch->slot = loader->slots + (size_t)slot * loader->layout.slot;
    batch->count = true_count(loader, number);
    batch->epoch = number / loader->steps_per_epoch;
    batch->step = number % loader->steps_per_epoch;
    batch->last = batch->step + 1 == loader->steps_per_epoch;
    return CLARET_OK;
}

void claret_loader_release(struct claret_loader *loader, struct claret_batch *batch)
{
    size_t slot;

    if (!batch->slot)
        return;
    slot = (size_t)(batch->slot - loader->slots) / loader->layout.slot;
    pthread_mutex_lock(&loader->lock);
    if (loader->held[slot]) {
        loader->held[slot] = false;
        loader->held_count--;
        loader->free_slots[loader->free_count++] = (int)slot;
        pthread_cond_signal(&loader->work);
    }
    pthread_mutex_unlock(&loader->lock);
    batch->slot = NULL;
}
