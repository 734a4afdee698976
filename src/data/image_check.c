#include "image_check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"
#include "image.h"

#define SHOWN 20
#define MAX_WORKERS 64

struct checking {
    const char **paths;
    char **faults; /* (count), what is wrong with each; NULL: nothing */
    size_t count;
    bool whole; /* decode all */
    atomic_size_t next;
    atomic_int failed; /* out of memory: enum claret_status */
};

static enum claret_status check(const char *path, bool whole)
{
    struct claret_image image;

    if (!whole)
        return claret_image_check(path);
    CLARET_TRY(claret_image_open(path, &image));
    free(image.pixels);
    return CLARET_OK;
}

static void *work(void *user)
{
    struct checking *checking = user;
    size_t i;

    while ((i = atomic_fetch_add(&checking->next, 1)) < checking->count) {
        enum claret_status status = check(checking->paths[i], checking->whole);
        if (status == CLARET_NO_MEMORY)
            atomic_store(&checking->failed, (int)status);
        if (status != CLARET_OK)
            checking->faults[i] = claret_error_take();
    }
    return NULL;
}

/* The calling thread takes part, and suffices where no other can be had. */
static void run(struct checking *checking, int workers)
{
    pthread_t threads[MAX_WORKERS];
    sigset_t all, before;
    int started = 0;

    workers = workers < MAX_WORKERS ? workers : MAX_WORKERS;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (checking->whole && started < workers &&
           pthread_create(&threads[started], NULL, work, checking) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(checking);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* "3 of 40 image files … cannot be read:" and their names. */
static void list_faults(const struct checking *checking, const char *place, size_t bad,
                        struct claret_text *text)
{
    size_t shown = 0;

    claret_text_add(text, "%zu of %zu image files in %s cannot be read:", bad, checking->count, place);
    for (size_t i = 0; i < checking->count && shown < SHOWN; i++) {
        if (!checking->faults[i])
            continue;
        claret_text_add(text, "\n  %s", checking->faults[i]);
        shown++;
    }
    if (bad > shown)
        claret_text_add(text, "\n  and %zu more", bad - shown);
}

static enum claret_status judge(const struct checking *checking, const char *place, bool skip,
                                int32_t *labels, size_t *count)
{
    struct claret_text text = {0};
    size_t kept = 0;

    for (size_t i = 0; i < checking->count; i++) {
        if (checking->faults[i])
            continue;
        checking->paths[kept] = checking->paths[i];
        labels[kept++] = labels[i];
    }
    if (kept == checking->count)
        return CLARET_OK;
    list_faults(checking, place, checking->count - kept, &text);
    *count = kept;
    if (skip)
        claret_warn("%s\nThey were left out.", text.failed ? place : text.data);
    else
        claret_fail(CLARET_FORMAT, "%s\nMend or remove them, or leave them out: --skip-unreadable",
                    text.failed ? place : text.data);
    claret_text_drop(&text);
    return skip ? CLARET_OK : claret_status_pass(CLARET_FORMAT);
}

enum claret_status claret_image_check_files(const char *place, const char **paths, int32_t *labels,
                                            size_t *count, bool skip, int workers)
{
    struct checking checking = {.paths = paths, .count = *count, .whole = skip};
    enum claret_status status;

    checking.faults = calloc(*count + 1, sizeof(*checking.faults));
    if (!checking.faults)
        return claret_no_memory();
    run(&checking, workers);
    status = (enum claret_status)atomic_load(&checking.failed);
    if (status != CLARET_OK)
        status = claret_no_memory();
    else
        status = judge(&checking, place, skip, labels, count);
    for (size_t i = 0; i < checking.count; i++)
        free(checking.faults[i]);
    free(checking.faults);
    return status;
}
