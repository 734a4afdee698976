/* What the options say of the loss, and the same loss of evaluated images. */
#ifndef CLARET_TRAIN_LOSS_H
#define CLARET_TRAIN_LOSS_H

#include "data/data.h"
#include "graph/network.h"
#include "op/loss.h"
#include "train/options.h"

struct claret_criterion {
    struct claret_loss loss;
    float *weights; /* (classes), malloc'ed; NULL: none */
    int classes;
};

/* CLARET_INVALID: of one of the options, or of some together. */
enum claret_status claret_loss_init(const struct claret_options *options, struct claret_loss *loss);
/* With the classes' weights; where the options say balanced, of the labels of `dataset`: CLARET_INVALID where
 * that is not what is trained on. */
enum claret_status claret_criterion_init(const struct claret_options *options,
                                         const struct claret_dataset *dataset, bool training,
                                         struct claret_criterion *criterion);
/* Warns where the network's last layer does what the loss does itself: it would be done twice. */
void claret_loss_look_at(const struct claret_loss *loss, const struct claret_network *network);
void claret_criterion_finish(struct claret_criterion *criterion);

/* One image's part of the loss over many images: the sum of the parts by the sum of `weight`. */
double claret_criterion_part(const struct claret_criterion *criterion, const float *logits /* (classes) */,
                             int32_t label, double *weight);
/* The sum of the weights of images with these labels: what the mean over them divides by. */
double claret_criterion_weight(const struct claret_criterion *criterion, const int32_t *labels, int count);

#endif
