#include "train/loss.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

#define BALANCED "balanced"

static const char *const kinds[] = {"cross_entropy", "mse", "bce", NULL};

static const char *kind_name(int index, const void *user)
{
    (void)user;
    return kinds[index];
}

/* The number at `text`, up to a comma; *next: behind that, NULL: none is there. */
static bool read_weight(const char *text, double *weight, const char **next)
{
    size_t length = strcspn(text, ",");
    char number[64];
    *next = text[length] ? text + length + 1 : NULL;
    claret_print(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : 0), text);
    return claret_parse_double(number, weight) && *weight >= 0 && *weight <= (double)1e9f;
}

/* weights (count) NULL: the text is checked alone. */
static enum claret_status read_weights(const char *text, float *weights, int count)
{
    const char *next = text;
    int index = 0;
    bool any = false;
    for (double weight; next; index++) {
        const char *at = next;
        if (!read_weight(at, &weight, &next))
            return claret_fail(
                CLARET_INVALID,
                "--class-weights: '%.*s' is not a number from 0 to 1e9: wanted are one for each "
                "class with commas between, or " BALANCED,
                (int)strcspn(at, ","), at);
        any |= weight > 0;
        if (weights && index < count)
            weights[index] = (float)weight;
    }
    if (!any)
        return claret_fail(CLARET_INVALID, "--class-weights: all of them are 0");
    if (weights && index != count)
        return claret_fail(CLARET_INVALID, "--class-weights: there are %d, and %d classes", index, count);
    return CLARET_OK;
}

enum claret_status claret_loss_init(const struct claret_options *options, struct claret_loss *loss)
{
    int kind = 0;
    while (kinds[kind] && strcmp(kinds[kind], options->loss) != 0)
        kind++;
    if (!kinds[kind]) {
        int near = claret_nearest(options->loss, kind_name, NULL);
        return claret_fail(CLARET_INVALID, "--loss: '%s' is none of cross_entropy, mse, bce%s%s%s",
                           options->loss, near >= 0 ? "; did you mean '" : "", near >= 0 ? kinds[near] : "",
                           near >= 0 ? "'?" : "");
    }
    *loss = (struct claret_loss){.kind = (enum claret_loss_kind)kind,
                                 .label_smoothing = options->label_smoothing,
                                 .weighted = options->class_weights[0] != 0};
    if (kind != CLARET_LOSS_CROSS_ENTROPY && (loss->weighted || loss->label_smoothing != 0))
        return claret_fail(CLARET_INVALID, "--%s: the loss %s has none; it is an argument of cross_entropy",
                           loss->weighted ? "class-weights" : "label-smoothing", kinds[kind]);
    if (loss->weighted && strcmp(options->class_weights, BALANCED) != 0)
        return read_weights(options->class_weights, NULL, 0);
    return CLARET_OK;
}

/* images / (classes * the class's images), as scikit-learn's "balanced" */
static enum claret_status balance(const struct claret_dataset *dataset, float *weights)
{
    size_t *counts = calloc((size_t)dataset->classes, sizeof *counts);
    enum claret_status status = counts ? CLARET_OK : claret_no_memory();
    for (size_t i = 0; counts && i < dataset->count; i++)
        counts[dataset->labels[i]]++;
    for (int c = 0; status == CLARET_OK && c < dataset->classes; c++) {
        if (counts[c] == 0)
            status = claret_fail(CLARET_INVALID,
                                 "--class-weights: the class %s has no training image, so " BALANCED
                                 " finds no weight for it: give them as numbers",
                                 dataset->class_names[c]);
        else
            weights[c] = (float)((double)dataset->count / ((double)dataset->classes * (double)counts[c]));
    }
    free(counts);
    return status;
}

enum claret_status claret_criterion_init(const struct claret_options *options,
                                         const struct claret_dataset *dataset, bool training,
                                         struct claret_criterion *criterion)
{
    *criterion = (struct claret_criterion){.classes = dataset->classes};
    CLARET_TRY(claret_loss_init(options, &criterion->loss));
    if (!criterion->loss.weighted)
        return CLARET_OK;
    bool balanced = strcmp(options->class_weights, BALANCED) == 0;
    if (balanced && !training)
        return claret_fail(CLARET_INVALID,
                           "--class-weights: " BALANCED " goes by the training images, which are not there: "
                           "give the weights as numbers");
    criterion->weights = calloc((size_t)dataset->classes, sizeof *criterion->weights);
    if (!criterion->weights)
        return claret_no_memory();
    return balanced ? balance(dataset, criterion->weights)
                    : read_weights(options->class_weights, criterion->weights, dataset->classes);
}

void claret_loss_look_at(const struct claret_loss *loss, const struct claret_network *network)
{
    const char *twice = loss->kind == CLARET_LOSS_CROSS_ENTROPY ? "softmax"
                        : loss->kind == CLARET_LOSS_BCE         ? "sigmoid"
                                                                : "";
    const struct claret_layer *last = &network->spec->layers[network->spec->layer_count - 1];
    while (strcmp(last->schema->name, "flatten") == 0 && last->from[0] >= 0)
        last = &network->spec->layers[last->from[0]];
    if (strcmp(last->schema->name, twice) == 0)
        claret_warn("the network %s ends in %s (%s), which the loss %s applies itself: done twice, it learns "
                    "slowly or not at all; leave that layer out",
                    network->name, twice, last->name, kinds[loss->kind]);
}

void claret_criterion_finish(struct claret_criterion *criterion)
{
    free(criterion->weights);
    criterion->weights = NULL;
}

static double cross_entropy(const struct claret_criterion *criterion, const float *logits, int32_t label)
{
    double largest = logits[0], sum = 0, loss = 0, smoothing = criterion->loss.label_smoothing;
    for (int i = 1; i < criterion->classes; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int i = 0; i < criterion->classes; i++)
        sum += exp(logits[i] - largest);
    double all = log(sum) + largest;
    for (int i = 0; i < criterion->classes; i++) {
        double target = (i == label ? 1 - smoothing : 0) + smoothing / criterion->classes;
        if (target != 0)
            loss += target * (criterion->weights ? criterion->weights[i] : 1) * (all - logits[i]);
    }
    return loss;
}

double claret_criterion_weight(const struct claret_criterion *criterion, const int32_t *labels, int count)
{
    double sum = criterion->weights ? 0 : count;
    for (int i = 0; criterion->weights && i < count; i++)
        sum += criterion->weights[labels[i]];
    return sum;
}

double claret_criterion_part(const struct claret_criterion *criterion, const float *logits, int32_t label,
                             double *weight)
{
    double sum = 0;
    *weight = criterion->weights ? criterion->weights[label] : 1;
    if (criterion->loss.kind == CLARET_LOSS_CROSS_ENTROPY)
        return cross_entropy(criterion, logits, label);
    for (int i = 0; i < criterion->classes; i++) {
        double x = logits[i], target = i == label;
        sum += criterion->loss.kind == CLARET_LOSS_MSE
                   ? (x - target) * (x - target)
                   : (x > 0 ? x : 0) - x * target + log1p(exp(-fabs(x))) + 0 * x;
    }
    return sum / criterion->classes;
}
