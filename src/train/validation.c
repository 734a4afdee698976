#include "train/validation.h"

#include <string.h>

#define THRESHOLD 1e-4    /* ReduceLROnPlateau's, of the best loss */
#define LEAST_CHANGE 1e-8 /* ReduceLROnPlateau's eps: a smaller change of the rate is none */

enum claret_status claret_validation_init(const struct claret_options *options,
                                          const struct claret_dataset *dataset,
                                          struct claret_validation *validation)
{
    bool plateau = strcmp(options->lr_schedule, "plateau") == 0;
    *validation = (struct claret_validation){.dataset = options->val_every ? dataset : NULL,
                                             .every = (size_t)options->val_every,
                                             .patience = (size_t)options->early_stopping,
                                             .by_loss = strcmp(options->best_by, "loss") == 0,
                                             .lr = options->lr,
                                             .factor = options->lr_gamma,
                                             .least = options->lr > 0 ? options->lr_min / options->lr : 0,
                                             .plateau_patience = (size_t)options->lr_patience,
                                             .plateau = plateau};
    if (!validation->by_loss && strcmp(options->best_by, "accuracy") != 0)
        return claret_fail(CLARET_INVALID, "--best-by: '%s' is neither loss nor accuracy", options->best_by);
    if (options->val_every)
        return CLARET_OK;
    if (plateau)
        return claret_fail(CLARET_INVALID,
                           "--lr-schedule plateau lowers the rate by tests: --val-every says how "
                           "many epochs from one to the next");
    if (options->early_stopping)
        return claret_fail(CLARET_INVALID,
                           "--early-stopping counts tests: --val-every says how many epochs from "
                           "one to the next");
    return CLARET_OK;
}

bool claret_validation_due(const struct claret_validation *validation, size_t epoch)
{
    return validation->dataset && epoch % validation->every == 0;
}

/* torch.optim.lr_scheduler.ReduceLROnPlateau, mode min, without a cooldown. */
static void take_plateau(const struct claret_validation *validation, double loss,
                         struct claret_validated *state)
{
    if (!state->any || loss < state->plateau_best * (1 - THRESHOLD)) {
        state->plateau_best = loss;
        state->plateau_bad = 0;
    } else if (++state->plateau_bad > validation->plateau_patience) {
        double scale = state->scale * validation->factor;
        scale = scale > validation->least ? scale : validation->least;
        if ((state->scale - scale) * validation->lr > LEAST_CHANGE)
            state->scale = scale;
        state->plateau_bad = 0;
    }
}

bool claret_validation_take(const struct claret_validation *validation, double loss, double accuracy,
                            struct claret_validated *state)
{
    double value = validation->by_loss ? -loss : accuracy;
    bool better = !state->any || value > state->best;
    if (!state->any)
        state->scale = 1;
    take_plateau(validation, loss, state);
    if (better)
        state->best = value;
    state->since = better ? 0 : state->since + 1;
    state->any = true;
    return better;
}

bool claret_validation_over(const struct claret_validation *validation, const struct claret_validated *state)
{
    return validation->dataset && validation->patience && state->since >= validation->patience;
}
