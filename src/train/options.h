/* A session's options as typed values. The table is X(key, field, type, default, minimum, maximum). */
#ifndef CLARET_TRAIN_OPTIONS_H
#define CLARET_TRAIN_OPTIONS_H

#include <stdbool.h>

#include "base/status.h"

/* Types: INT, REAL, SIZE (bytes with K, M, G), SWITCH, TEXT. Keys with their own negative form (no-shuffle,
 * no-cache) are switches that are false by default. Values of TEXT: "" is not set. CHOICES: "NODE=NAME
 * NODE=NAME", any number of them. */
#define CLARET_OPTION_LIST(X)                                                                                \
    X("model", model, TEXT, "simplecnn", 0, 0)                                                               \
    X("data", data, TEXT, "./data", 0, 0)                                                                    \
    X("val-fraction", val_fraction, REAL, "0", 0, 0.99)                                                      \
    X("skip-unreadable", skip_unreadable, SWITCH, "false", 0, 0)                                             \
    X("random-resized-crop", random_resized_crop, REAL, "0", 0, 1)                                           \
    X("random-crop", random_crop, INT, "0", 0, 4096)                                                         \
    X("padding-mode", padding_mode, TEXT, "constant", 0, 0)                                                  \
    X("random-horizontal-flip", random_horizontal_flip, REAL, "0", 0, 1)                                     \
    X("random-rotation", random_rotation, REAL, "0", 0, 180)                                                 \
    X("color-jitter", color_jitter, TEXT, "", 0, 0)                                                          \
    X("random-erasing", random_erasing, REAL, "0", 0, 1)                                                     \
    X("mean", mean, TEXT, "0.5", 0, 0)                                                                       \
    X("std", std, TEXT, "0.5", 0, 0)                                                                         \
    X("coarse-labels", coarse_labels, SWITCH, "false", 0, 0)                                                 \
    X("class-names", class_names, TEXT, "", 0, 0)                                                            \
    X("batch-size", batch_size, INT, "4", 1, 1 << 20)                                                        \
    X("epochs", epochs, INT, "10", 1, 1 << 30)                                                               \
    X("lr", lr, REAL, "0.001", 0, 1e9)                                                                       \
    X("lr-schedule", lr_schedule, TEXT, "constant", 0, 0)                                                    \
    X("lr-by", lr_by, TEXT, "epoch", 0, 0)                                                                   \
    X("lr-step", lr_step, INT, "0", 0, 1 << 30)                                                              \
    X("lr-milestones", lr_milestones, TEXT, "", 0, 0)                                                        \
    X("lr-gamma", lr_gamma, REAL, "0.1", 0, 1e9)                                                             \
    X("lr-min", lr_min, REAL, "0", 0, 1e9)                                                                   \
    X("lr-end-factor", lr_end_factor, REAL, "0", 0, 1)                                                       \
    X("lr-warmup", lr_warmup, INT, "0", 0, 1 << 30)                                                          \
    X("lr-warmup-factor", lr_warmup_factor, REAL, "0.01", 0, 1)                                              \
    X("no-cycle-momentum", no_cycle_momentum, SWITCH, "false", 0, 0)                                         \
    X("lr-patience", lr_patience, INT, "10", 0, 1 << 30)                                                     \
    X("val-every", val_every, INT, "0", 0, 1 << 30)                                                          \
    X("best-by", best_by, TEXT, "accuracy", 0, 0)                                                            \
    X("early-stopping", early_stopping, INT, "0", 0, 1 << 30)                                                \
    X("loss", loss, TEXT, "cross_entropy", 0, 0)                                                             \
    X("label-smoothing", label_smoothing, REAL, "0", 0, 1)                                                   \
    X("class-weights", class_weights, TEXT, "", 0, 0)                                                        \
    X("optimizer", optimizer, TEXT, "sgd", 0, 0)                                                             \
    X("momentum", momentum, REAL, "0.9", 0, 1e9)                                                             \
    X("weight-decay", weight_decay, REAL, "0", 0, 1e9)                                                       \
    X("lr-for", lr_for, TEXT, "", 0, 0)                                                                      \
    X("no-decay-norm-bias", no_decay_norm_bias, SWITCH, "false", 0, 0)                                       \
    X("dampening", dampening, REAL, "0", -1e9, 1e9)                                                          \
    X("nesterov", nesterov, SWITCH, "false", 0, 0)                                                           \
    X("beta1", beta1, REAL, "0.9", 0, 0.999999999)                                                           \
    X("beta2", beta2, REAL, "0.999", 0, 0.999999999)                                                         \
    X("eps", eps, REAL, "1e-8", 0, 1000000000.0)                                                             \
    X("alpha", alpha, REAL, "0.99", 0, 1)                                                                    \
    X("centered", centered, SWITCH, "false", 0, 0)                                                           \
    X("accumulate", accumulate, INT, "1", 1, 1 << 20)                                                        \
    X("clip-norm", clip_norm, REAL, "0", 0, 1e30)                                                            \
    X("clip-value", clip_value, REAL, "0", 0, 1e30)                                                          \
    X("ema", ema, REAL, "0", 0, 0.999999999)                                                                 \
    X("log-every", log_every, INT, "2000", 1, 1 << 30)                                                       \
    X("workers", workers, INT, "2", 0, 256)                                                                  \
    X("seed", seed, INT, "0", 0, 9.007199254740992e15)                                                       \
    X("no-shuffle", no_shuffle, SWITCH, "false", 0, 0)                                                       \
    X("max-steps", max_steps, INT, "0", 0, 9.007199254740992e15)                                             \
    X("limit-train", limit_train, INT, "0", 0, 1 << 30)                                                      \
    X("limit-test", limit_test, INT, "0", 0, 1 << 30)                                                        \
    X("checkpoint-every", checkpoint_every, TEXT, "", 0, 0)                                                  \
    X("checkpoint-keep", checkpoint_keep, INT, "2", 1, 1000)                                                 \
    X("init", init, TEXT, "", 0, 0)                                                                          \
    X("reset", reset, TEXT, "", 0, 0)                                                                        \
    X("freeze", freeze, TEXT, "", 0, 0)                                                                      \
    X("out", out, TEXT, "", 0, 0)                                                                            \
    X("overwrite", overwrite, SWITCH, "false", 0, 0)                                                         \
    X("device", device, TEXT, "", 0, 0)                                                                      \
    X("platform", platform, TEXT, "", 0, 0)                                                                  \
    X("cache-dir", cache_dir, TEXT, "", 0, 0)                                                                \
    X("no-cache", no_cache, SWITCH, "false", 0, 0)                                                           \
    X("kernel-dir", kernel_dir, TEXT, "", 0, 0)                                                              \
    X("no-fuse", no_fuse, SWITCH, "false", 0, 0)                                                             \
    X("solver", solver, CHOICES, "", 0, 0)                                                                   \
    X("tuning", tuning, TEXT, "", 0, 0)                                                                      \
    X("no-tuning", no_tuning, SWITCH, "false", 0, 0)                                                         \
    X("max-memory", max_memory, SIZE, "0", 0, 0)

#define CLARET_FIELD_INT int64_t
#define CLARET_FIELD_REAL double
#define CLARET_FIELD_SIZE uint64_t
#define CLARET_FIELD_SWITCH bool
#define CLARET_FIELD_TEXT const char *
#define CLARET_FIELD_CHOICES const char *

struct claret_options {
#define X(key, field, type, value, minimum, maximum) CLARET_FIELD_##type field;
    CLARET_OPTION_LIST(X)
#undef X
    char **texts; /* each option's value as text, in the table's order; TEXT fields point here */
    bool *given;  /* which of them were set */
};

bool claret_options_given(const struct claret_options *options, const char *key);
/* Sets what counts as not given. */
enum claret_status claret_options_default(struct claret_options *options, const char *key, const char *value);

/* What the options say of augmentation. CLARET_INVALID. */
struct claret_augment;
enum claret_status claret_options_augment(const struct claret_options *options,
                                          struct claret_augment *augment);

enum claret_status claret_options_copy(const struct claret_options *options, struct claret_options **copy);

#endif
