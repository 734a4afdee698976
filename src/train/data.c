/* Options to data sets. */
#include "data/data.h"
#include "graph/network.h"
#include "spec/spec.h"
#include "train/options.h"

enum claret_status claret_dataset_load(const struct claret_options *options,
                                       const struct claret_network *network, enum claret_split split,
                                       struct claret_dataset **dataset)
{
    claret_error_clear();
    if (!options || !network || !dataset || (split != CLARET_TRAIN && split != CLARET_TEST))
        return claret_fail(CLARET_INVALID,
                           "claret_dataset_load: needs options, a network, a split and where to "
                           "put the data set");
    struct claret_data_request request = {
        .path = options->data,
        .split = split,
        .coarse = options->coarse_labels,
        .val_fraction = options->val_fraction,
        .skip_unreadable = options->skip_unreadable,
        .workers = (int)options->workers,
        .input = {(int)network->spec->input[0], (int)network->spec->input[1], (int)network->spec->input[2]}};
    CLARET_TRY(claret_data_open(&request, dataset));
    int64_t limit = split == CLARET_TRAIN ? options->limit_train : options->limit_test;
    return claret_dataset_limit(*dataset, (size_t)limit);
}
