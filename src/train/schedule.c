#include "train/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* OneCycleLR's defaults. */
#define PART_UP 0.3        /* of the steps the rate rises, … */
#define FIRST_DIVISOR 25.0 /* … from the highest by this, */
#define LAST_DIVISOR 1e4   /* and it ends at the first rate by this */
#define MOMENTUM_LEAST 0.85
#define MOMENTUM_MOST 0.95
#define PI 3.14159265358979323846

static const char *const kinds[] = {"constant", "step",      "multistep", "cosine",
                                    "linear",   "one-cycle", "plateau"};

static const char *kind_name(int index, const void *user)
{
    (void)user;
    return index < (int)(sizeof kinds / sizeof *kinds) ? kinds[index] : NULL;
}

static enum claret_status parse_kind(const char *text, enum claret_schedule_kind *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(text, kinds[i]) == 0) {
            *kind = (enum claret_schedule_kind)i;
            return CLARET_OK;
        }
    int near = claret_nearest(text, kind_name, NULL);
    return claret_fail(
        CLARET_INVALID,
        "--lr-schedule: '%s' is none of constant, step, multistep, cosine, linear, one-cycle, plateau%s%s%s",
        text, near >= 0 ? "; did you mean '" : "", near >= 0 ? kinds[near] : "", near >= 0 ? "'?" : "");
}

/* "30,60,80": rising whole numbers from 1. */
static enum claret_status parse_milestones(const char *text, struct claret_schedule *schedule)
{
    int64_t before = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        char number[24];
        int64_t *at = &schedule->milestones[schedule->milestone_count];
        if (schedule->milestone_count == CLARET_MILESTONES)
            return claret_fail(CLARET_INVALID, "--lr-milestones: more than %d", CLARET_MILESTONES);
        snprintf(number, sizeof number, "%.*s", length < sizeof number ? (int)length : 0, text);
        if (!claret_parse_int(number, before + 1, (int64_t)1 << 53, at))
            return claret_fail(CLARET_INVALID,
                               "--lr-milestones: '%.*s' is not a whole number above %" PRId64
                               ": they rise, such as 30,60,80",
                               (int)length, text, before);
        before = *at;
        schedule->milestone_count++;
        text += length + (text[length] == ',');
    }
    return CLARET_OK;
}

static enum claret_status check(const struct claret_schedule *schedule)
{
    if (schedule->kind == CLARET_SCHEDULE_STEP && schedule->every == 0)
        return claret_fail(
            CLARET_INVALID,
            "--lr-schedule step lowers the rate every so many epochs: --lr-step says how many");
    if (schedule->kind == CLARET_SCHEDULE_MULTISTEP && schedule->milestone_count == 0)
        return claret_fail(CLARET_INVALID,
                           "--lr-schedule multistep lowers the rate at --lr-milestones, such as 30,60,80");
    if (schedule->kind == CLARET_SCHEDULE_ONE_CYCLE && schedule->warmup > 0)
        return claret_fail(CLARET_INVALID,
                           "--lr-schedule one-cycle warms up by itself: leave out --lr-warmup");
    if (schedule->kind == CLARET_SCHEDULE_ONE_CYCLE && !schedule->by_step)
        return claret_fail(CLARET_INVALID, "--lr-schedule one-cycle goes by steps: give --lr-by step");
    return CLARET_OK;
}

enum claret_status claret_schedule_init(const struct claret_options *options,
                                        struct claret_schedule *schedule)
{
    *schedule = (struct claret_schedule){.lr = options->lr,
                                         .gamma = options->lr_gamma,
                                         .least = options->lr_min,
                                         .end_factor = options->lr_end_factor,
                                         .warmup_factor = options->lr_warmup_factor,
                                         .every = options->lr_step,
                                         .warmup = options->lr_warmup,
                                         .cycle = !options->no_cycle_momentum};
    CLARET_TRY(parse_kind(options->lr_schedule, &schedule->kind));
    schedule->by_step = strcmp(options->lr_by, "step") == 0;
    if (!schedule->by_step && strcmp(options->lr_by, "epoch") != 0)
        return claret_fail(CLARET_INVALID, "--lr-by: '%s' is neither step nor epoch", options->lr_by);
    CLARET_TRY(parse_milestones(options->lr_milestones, schedule));
    return check(schedule);
}

/* Steps of an epoch on so many images. */
static size_t epoch_steps(const struct claret_options *options, size_t images)
{
    size_t batch = (size_t)options->batch_size;
    return (images + batch - 1) / batch;
}

size_t claret_schedule_updates(const struct claret_options *options, size_t steps, size_t images)
{
    size_t together = (size_t)options->accumulate, epoch = epoch_steps(options, images);
    if (!epoch)
        return 0;
    return steps / epoch * ((epoch + together - 1) / together) + (steps % epoch + together - 1) / together;
}

size_t claret_schedule_steps(const struct claret_options *options, size_t images)
{
    size_t steps = epoch_steps(options, images) * (size_t)options->epochs;
    return options->max_steps && (size_t)options->max_steps < steps ? (size_t)options->max_steps : steps;
}

size_t claret_schedule_lasting(const struct claret_options *options, size_t steps, size_t images)
{
    size_t epoch = epoch_steps(options, images);
    return epoch ? steps - steps % epoch % (size_t)options->accumulate : steps;
}

size_t claret_schedule_epoch(const struct claret_options *options, size_t steps, size_t images)
{
    size_t epoch = epoch_steps(options, images);
    return epoch ? (steps + epoch - 1) / epoch : 0;
}

enum claret_status claret_schedule_fits(const struct claret_options *options, size_t images)
{
    struct claret_schedule schedule;
    CLARET_TRY(claret_schedule_init(options, &schedule));
    size_t steps = claret_schedule_steps(options, images);
    int64_t updates = (int64_t)claret_schedule_updates(options, steps, images);
    int64_t total = schedule.by_step ? updates : options->epochs;
    if (schedule.warmup > 0 && schedule.warmup >= total)
        return claret_fail(CLARET_INVALID,
                           "--lr-warmup: a warm-up of %" PRId64
                           " %s leaves nothing of a training of %" PRId64,
                           schedule.warmup, schedule.by_step ? "steps" : "epochs", total);
    return CLARET_OK;
}

static double by_cosine(double from, double to, double part)
{
    return to + (from - to) / 2 * (1 + cos(PI * part));
}

/* What goes from `first` to `turn`, and on to `last`. */
static double one_cycle(double first, double turn, double last, int64_t at, int64_t total)
{
    double top = PART_UP * (double)total - 1, end = (double)total - 1;
    if ((double)at <= top && top > 0)
        return by_cosine(first, turn, (double)at / top);
    return end > top ? by_cosine(turn, last, fmin(((double)at - top) / (end - top), 1)) : last;
}

double claret_schedule_lr(const struct claret_schedule *schedule, int64_t at, int64_t total)
{
    const double lr = schedule->lr, factor = schedule->warmup_factor;
    int passed = 0;
    if (at < schedule->warmup)
        return lr * (factor + (1 - factor) * (double)at / (double)schedule->warmup);
    at -= schedule->warmup;
    total -= schedule->warmup;
    double part = total > 0 && at < total ? (double)at / (double)total : 1;
    switch (schedule->kind) {
    case CLARET_SCHEDULE_CONSTANT:
    case CLARET_SCHEDULE_PLATEAU: /* a factor comes from the tests (validation.h) */
        break;
    case CLARET_SCHEDULE_STEP:
        return lr * pow(schedule->gamma, (double)(at / schedule->every));
    case CLARET_SCHEDULE_MULTISTEP:
        while (passed < schedule->milestone_count && schedule->milestones[passed] <= at)
            passed++;
        return lr * pow(schedule->gamma, passed);
    case CLARET_SCHEDULE_COSINE:
        return by_cosine(lr, schedule->least, part);
    case CLARET_SCHEDULE_LINEAR:
        return lr * (1 + (schedule->end_factor - 1) * part);
    case CLARET_SCHEDULE_ONE_CYCLE:
        return one_cycle(lr / FIRST_DIVISOR, lr, lr / FIRST_DIVISOR / LAST_DIVISOR, at, total);
    }
    return lr;
}

double claret_schedule_momentum(const struct claret_schedule *schedule, double own, int64_t at, int64_t total)
{
    if (schedule->kind != CLARET_SCHEDULE_ONE_CYCLE || !schedule->cycle || own == 0)
        return own;
    return one_cycle(MOMENTUM_MOST, MOMENTUM_LEAST, MOMENTUM_MOST, at, total);
}
