/* Options to augmentation. */
#include "data/augment.h"

#include <string.h>

#include "base/text.h"
#include "train/options.h"
#include "train/session.h"

static const char *const jitters[] = {"brightness", "contrast", "saturation", "hue"};

/* "0.4,0.4,0.4,0.1"; those left out are 0. */
static enum claret_status read_jitter(const char *text, double jitter[4])
{
    char number[64];
    int count = 0;

    if (!*text)
        return CLARET_OK;
    for (const char *at = text; at; count++) {
        size_t length = strcspn(at, ",");
        double most = count == 3 ? 0.5 : 1e3;
        claret_print(number, sizeof(number), "%.*s", (int)(length < 63 ? length : 63), at);
        if (count == 4 || length > 63)
            return claret_fail(CLARET_INVALID,
                               "--color-jitter: '%s' has more than brightness, contrast, saturation and hue",
                               text);
        if (!claret_parse_double(number, &jitter[count]) || jitter[count] < 0 || jitter[count] > most)
            return claret_fail(CLARET_INVALID, "--color-jitter: %s '%s' is not a number from 0 to %g",
                               jitters[count], number, most);
        at = at[length] ? at + length + 1 : NULL;
    }
    return CLARET_OK;
}

enum claret_status claret_options_augment(const struct claret_options *options,
                                          struct claret_augment *augment)
{
    *augment = (struct claret_augment){.resized_crop = options->random_resized_crop,
                                       .crop = (int)options->random_crop,
                                       .reflect = strcmp(options->padding_mode, "reflect") == 0,
                                       .flip = options->random_horizontal_flip,
                                       .rotation = options->random_rotation,
                                       .erasing = options->random_erasing};
    if (!augment->reflect && strcmp(options->padding_mode, "constant") != 0)
        return claret_fail(CLARET_INVALID, "--padding-mode: '%s' is neither constant nor reflect",
                           options->padding_mode);
    return read_jitter(options->color_jitter, augment->jitter);
}

enum claret_status claret_dataset_preview(const struct claret_options *options,
                                          const struct claret_dataset *dataset, const char *path)
{
    struct claret_augment augment;

    claret_error_clear();
    if (!options || !dataset || !path || !*path)
        return claret_fail(CLARET_INVALID, "--preview-augment: needs options, a data set and a path");
    CLARET_TRY(claret_options_augment(options, &augment));
    return claret_augment_preview(&augment, dataset, (uint64_t)options->seed, path);
}
