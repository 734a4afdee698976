/* Options to data sets. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/augment.h"
#include "data/data.h"
#include "graph/network.h"
#include "spec/spec.h"
#include "train/options.h"

#define MOST_CHANNELS 4 /* of bytes */

/* "0.5" for all channels, or "0.49,0.48,0.45". */
static enum claret_status read_list(const char *key, const char *text, int channels, float *values)
{
    char number[64];
    int count = 0;

    for (const char *at = text; at; count++) {
        size_t length = strcspn(at, ",");
        double value;
        claret_print(number, sizeof(number), "%.*s", (int)(length < 63 ? length : 63), at);
        if (count == MOST_CHANNELS || length > 63 || !claret_parse_double(number, &value))
            return claret_fail(
                CLARET_INVALID,
                "--%s: '%s' is not a number, nor numbers with commas between them, one for each channel", key,
                text);
        values[count] = (float)value;
        at = at[length] ? at + length + 1 : NULL;
    }
    if (count != 1 && count != channels)
        return claret_fail(CLARET_INVALID, "--%s: '%s' has %d numbers, the data have %d channel%s", key, text,
                           count, channels, channels == 1 ? "" : "s");
    for (int c = count; c < channels && count == 1; c++)
        values[c] = values[0];
    return CLARET_OK;
}

enum claret_status claret_dataset_normalise(const struct claret_options *options,
                                            struct claret_dataset *dataset)
{
    float mean[MOST_CHANNELS], std[MOST_CHANNELS];

    if (dataset->element != CLARET_U8) {
        if (strcmp(options->mean, "0.5") == 0 && strcmp(options->std, "0.5") == 0)
            return CLARET_OK;
        return claret_fail(CLARET_INVALID, "--mean and --std: float32 images are taken as they are");
    }
    CLARET_TRY(read_list("mean", options->mean, dataset->channels, mean));
    CLARET_TRY(read_list("std", options->std, dataset->channels, std));
    return claret_dataset_set_normalisation(dataset, mean, std);
}

/* What the options say of a set once it is there. */
static enum claret_status adjust(const struct claret_options *options, enum claret_split split,
                                 struct claret_dataset *dataset)
{
    int64_t limit = split == CLARET_TRAIN ? options->limit_train : options->limit_test;

    CLARET_TRY(claret_dataset_normalise(options, dataset));
    return claret_dataset_limit(dataset, (size_t)limit);
}

enum claret_status claret_dataset_load(const struct claret_options *options,
                                       const struct claret_network *network, enum claret_split split,
                                       struct claret_dataset **dataset)
{
    claret_error_clear();
    if (!options || !network || !dataset || (split != CLARET_TRAIN && split != CLARET_TEST))
        return claret_fail(CLARET_INVALID,
                           "claret_dataset_load: needs options, a network, a split and where to "
                           "put the data set");
    struct claret_augment
        augment; /* seen before a device is looked for, as whatever is wrong with the data */
    CLARET_TRY(claret_options_augment(options, &augment));
    struct claret_data_request request = {
        .path = options->data,
        .split = split,
        .coarse = options->coarse_labels,
        .val_fraction = options->val_fraction,
        .skip_unreadable = options->skip_unreadable,
        .workers = (int)options->workers,
        .input = {(int)network->spec->input[0], (int)network->spec->input[1], (int)network->spec->input[2]}};
    struct claret_dataset *made;
    CLARET_TRY(claret_data_open(&request, &made));
    enum claret_status status = adjust(options, split, made);
    if (status == CLARET_OK && split == CLARET_TRAIN)
        status = claret_augment_check(&augment, made);
    if (status == CLARET_OK)
        *dataset = made;
    else
        claret_dataset_destroy(made);
    return status;
}

enum claret_status claret_dataset_stand_in(const struct claret_options *options,
                                           const struct claret_network *network,
                                           struct claret_dataset **dataset)
{
    claret_error_clear();
    if (!options || !network || !dataset)
        return claret_fail(CLARET_INVALID, "claret_dataset_stand_in: an argument is NULL");
    const int64_t *in = network->spec->input;
    const int32_t label = 0;
    struct claret_dataset *made;
    void *image = calloc((size_t)(in[0] * in[1]), (size_t)in[2]);
    if (!image)
        return claret_no_memory();
    enum claret_status status = claret_dataset_from_arrays(CLARET_U8, image, &label, 1, (int)in[0],
                                                           (int)in[1], (int)in[2], network->classes, &made);
    free(image);
    CLARET_TRY(status);
    status = claret_dataset_normalise(options, made);
    if (status == CLARET_OK)
        *dataset = made;
    else
        claret_dataset_destroy(made);
    return status;
}
