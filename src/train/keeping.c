#include "train/keeping.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "train/checkpoint.h"
#include "train/run.h"

#define MOST 1000000000

static enum claret_status parse(const char *text, struct claret_keeping *keeping)
{
    char digits[16] = "";
    size_t length = strlen(text);
    bool by_time = length > 0 && text[length - 1] == 's';
    int64_t number = 0;
    if (length == 0)
        return CLARET_OK;
    if (length < sizeof digits)
        memcpy(digits, text, length - by_time);
    if (!claret_parse_int(digits, 1, MOST, &number))
        return claret_fail(CLARET_INVALID,
                           "--checkpoint-every: '%s' is neither a number of steps, such as 2000, nor of "
                           "seconds, such as 60s",
                           text);
    keeping->every = by_time ? 0 : (size_t)number;
    keeping->seconds = by_time ? (double)number : 0;
    return CLARET_OK;
}

enum claret_status claret_keeping_init(const struct claret_options *options, struct claret_run *run,
                                       struct claret_keeping *keeping)
{
    *keeping =
        (struct claret_keeping){.run = run, .keep = (size_t)options->checkpoint_keep, .last = claret_clock()};
    return parse(options->checkpoint_every, keeping);
}

bool claret_keeping_due(const struct claret_keeping *keeping, size_t steps, size_t total)
{
    bool asked = keeping->every || keeping->seconds > 0;
    if (!keeping->run || !asked)
        return false;
    return steps == total || (keeping->every && steps % keeping->every == 0) ||
           (keeping->seconds > 0 && claret_clock() - keeping->last >= keeping->seconds);
}

bool claret_keeping_wanted(const struct claret_keeping *keeping, size_t steps)
{
    return keeping->run && steps != keeping->saved;
}

/* A checkpoint under that name; `path` is freed. */
static enum claret_status save(struct claret_keeping *keeping, struct claret_session *session,
                               const struct claret_progress *progress, char *path)
{
    const struct claret_run_texts texts = {claret_run_rows(keeping->run), claret_run_tests(keeping->run)};
    enum claret_status status =
        path ? claret_checkpoint_save(session, progress, &texts, path) : claret_no_memory();
    free(path);
    return status;
}

void claret_keeping_save(struct claret_keeping *keeping, struct claret_session *session,
                         const struct claret_progress *progress)
{
    char *path = claret_checkpoint_path(claret_run_folder(keeping->run), progress->steps);
    if (save(keeping, session, progress, path) == CLARET_OK) {
        claret_run_keep(keeping->run, progress->steps, keeping->keep);
        keeping->saved = progress->steps;
    } else {
        claret_warn("after step %zu there is no checkpoint: %s", progress->steps, claret_error());
        claret_error_clear();
    }
    keeping->last = claret_clock();
}

void claret_keeping_best(struct claret_keeping *keeping, struct claret_session *session,
                         const struct claret_progress *progress)
{
    if (!keeping->run || save(keeping, session, progress, claret_run_best(keeping->run)) == CLARET_OK)
        return;
    claret_warn("the best so far, after step %zu, is not kept: %s", progress->steps, claret_error());
    claret_error_clear();
}
