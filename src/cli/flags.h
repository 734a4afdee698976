/* The command's flags and commands: one table that parsing, --help, the manual pages and bash's completion
 * come from. Defaults are the library's (claret_options_get) and stand nowhere else. */
#ifndef CLARET_CLI_FLAGS_H
#define CLARET_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include <claret/claret.h>

enum cli_command_id { CLI_DEVICES, CLI_TRAIN, CLI_EVAL, CLI_SHOW, CLI_FETCH, CLI_PREDICT, CLI_COMMAND_COUNT };

/* Which commands a flag belongs to. NONE: `claret` without a command. */
enum cli_mask {
    CLI_IN_D = 1 << CLI_DEVICES,
    CLI_IN_T = 1 << CLI_TRAIN,
    CLI_IN_E = 1 << CLI_EVAL,
    CLI_IN_S = 1 << CLI_SHOW,
    CLI_IN_F = 1 << CLI_FETCH,
    CLI_IN_P = 1 << CLI_PREDICT,
    CLI_IN_NONE = 1 << CLI_COMMAND_COUNT,
    CLI_IN_TE = CLI_IN_T | CLI_IN_E,
    CLI_IN_TS = CLI_IN_T | CLI_IN_S,
    CLI_IN_EP = CLI_IN_E | CLI_IN_P,
    CLI_IN_TSP = CLI_IN_TS | CLI_IN_P,
    CLI_IN_TEF = CLI_IN_TE | CLI_IN_F,
    CLI_IN_TEP = CLI_IN_TE | CLI_IN_P,
    CLI_IN_TESP = CLI_IN_TEP | CLI_IN_S,
    CLI_IN_DTESFP = CLI_IN_TESP | CLI_IN_D | CLI_IN_F,
    CLI_IN_ALL = CLI_IN_DTESFP | CLI_IN_NONE
};

/* Headings of --help. */
#define CLI_GROUP_LIST(X)                                                                                    \
    X(DATA, "Network and data")                                                                              \
    X(TRAINING, "Training")                                                                                  \
    X(AUGMENT, "Augmentation of the training images, in this order")                                         \
    X(RUN, "The run's folder")                                                                               \
    X(DEVICE, "Device")                                                                                      \
    X(OUTPUT, "Output")

enum cli_group {
#define X(id, title) CLI_GROUP_##id,
    CLI_GROUP_LIST(X)
#undef X
        CLI_GROUP_COUNT
};

/* X(id, name, letter or 0, argument or NULL, the option's key in the library or NULL, commands, group, what
 * it has no effect without or NULL, help). That (usage.c) is other options that have to be set, all those
 * with a space between, one of those with '|' between: "out", "!resume" (not set), "lr-schedule=step,plateau"
 * (has one of these values), "!data=shapes" (has none of these). */
#define CLI_FLAG_LIST(X)                                                                                     \
    X(MODEL, "model", 0, "NAME|FILE", "model", TEP, DATA, NULL,                                              \
      "the network: a name of the zoo, or the path of a network text (it has a '/' or ends in .net)")        \
    X(WEIGHTS, "weights", 0, "FILE", NULL, EP, DATA, NULL,                                                   \
      "the safetensors file with the weights; has to be given. Where it is a checkpoint, or a config.ini "   \
      "lies beside it, network, data, mean, std and loss are those of the training, unless flags say them")  \
    X(DATA, "data", 0, "DIR|shapes", "data", TE, DATA, NULL,                                                 \
      "a folder that is or holds CIFAR-10, CIFAR-100, MNIST or Fashion-MNIST, as published, or numpy's "     \
      "x_train, "                                                                                            \
      "y_train, x_test, y_test (.npy, or a .npz), or a folder of images for each class, in train/ and "      \
      "test/ "                                                                                               \
      "where there are both; or shapes, the "                                                                \
      "built-in set of drawn shapes (./shapes is a folder of that name)")                                    \
    X(VAL_FRACTION, "val-fraction", 0, "X", "val-fraction", TE, DATA, NULL,                                  \
      "test on this share of each class's training images, held out of training, instead of on the test "    \
      "images; the same ones with every seed; 0: none")                                                      \
    X(SKIP_UNREADABLE, "skip-unreadable", 0, NULL, "skip-unreadable", TE, DATA, "!data=shapes",              \
      "folders of images: read every file before the start and leave out those that cannot be read, with a " \
      "list of them, instead of refusing them")                                                              \
    X(COARSE_LABELS, "coarse-labels", 0, NULL, "coarse-labels", TE, DATA, NULL,                              \
      "CIFAR-100: its 20 superclasses as classes instead of the 100")                                        \
    X(DATA_PATH, "data-path", 0, "DIR|shapes", "data", TE, DATA, NULL, "the same as --data")                 \
    X(FETCH_OUT, "out", 'o', "DIR", NULL, F, DATA, NULL, "the folder that gets it; not given: ./data")       \
    X(URL, "url", 0, "URL", NULL, F, DATA, NULL,                                                             \
      "fetch from there: the archive, or ending in '/' the folder with it (for MNIST's four files always)")  \
    X(MD5, "md5", 0, "HEX", NULL, F, DATA, NULL,                                                             \
      "what is expected there, where it is not what was published; for four files four, with commas")        \
    X(TIMEOUT, "timeout", 0, "SECONDS", NULL, F, DATA, NULL,                                                 \
      "give a server up that sends nothing for so long; not given: 60")                                      \
    X(CLASSES, "classes", 0, "FILE|DIR", NULL, P, DATA, NULL,                                                \
      "the classes' names: a file with one a line, or the data set that was trained on; not given: as the "  \
      "training called them (its config.ini or checkpoint), else numbers")                                   \
    X(MEAN, "mean", 0, "X|X,X,X", "mean", TEP, DATA, NULL,                                                   \
      "subtracted from the pixels, which are 0 to 1: one number, or one for each channel")                   \
    X(STD, "std", 0, "X|X,X,X", "std", TEP, DATA, NULL, "and what they are divided by then")                 \
    X(NORMALIZE, "normalize", 0, "auto", NULL, T, DATA, NULL,                                                \
      "take mean and standard deviation of the training images instead; they are shown, and stand in "       \
      "config.ini")                                                                                          \
    X(TOP, "top", 0, "N", NULL, P, OUTPUT, NULL, "show the N likeliest classes; not given: 5")               \
    X(CSV, "csv", 0, NULL, NULL, P, OUTPUT, NULL,                                                            \
      "a row for each image and class instead of a line for each image")                                     \
    X(CONFIG, "config", 0, "FILE", NULL, T, RUN, NULL,                                                       \
      "take options from this file, such as the config.ini of a run; flags win")                             \
    X(RESUME, "resume", 0, "DIR|FILE", NULL, T, RUN, NULL,                                                   \
      "go on where a run's newest checkpoint was, or this one; its options hold, flags win where a "         \
      "training "                                                                                            \
      "can change them")                                                                                     \
    X(CHECKPOINT_EVERY, "checkpoint-every", 0, "N|Ts", "checkpoint-every", T, RUN, NULL,                     \
      "write a checkpoint into the run's folder every N steps or T seconds, and at the end; one is written " \
      "in any case where training is interrupted")                                                           \
    X(CHECKPOINT_KEEP, "checkpoint-keep", 0, "K", "checkpoint-keep", T, RUN, "checkpoint-every",             \
      "checkpoints that stay")                                                                               \
    X(INIT, "init", 0, "FILE", "init", T, DATA, "!resume",                                                   \
      "start from these weights (safetensors) instead of random ones")                                       \
    X(RESET, "reset", 0, "NAME,...", "reset", T, DATA, NULL,                                                 \
      "begin these layers or tensors anew, whatever the --init file has of them (patterns as in a shell)")   \
    X(FREEZE, "freeze", 0, "NAME,...", "freeze", TS, TRAINING, "!text",                                      \
      "leave these layers or tensors as they are (patterns as in a shell): no gradient is computed below "   \
      "what is left to train. Running statistics go on, as in PyTorch")                                      \
    X(LIMIT_TRAIN, "limit-train", 0, "N", "limit-train", T, DATA, NULL,                                      \
      "use the first N training images; 0: all")                                                             \
    X(LIMIT_TEST, "limit-test", 0, "N", "limit-test", TE, DATA, NULL, "use the first N test images; 0: all") \
    X(BATCH_SIZE, "batch-size", 'b', "N", "batch-size", TSP, TRAINING, "!text", "images in a step")          \
    X(EVAL_BATCH, "batch-size", 'b', "N", "batch-size", E, DEVICE, NULL,                                     \
      "images at a time, or as many of them as fit; not given: 128")                                         \
    X(EPOCHS, "epochs", 0, "N", "epochs", T, TRAINING, NULL, "times to go through the training images")      \
    X(MAX_STEPS, "max-steps", 0, "N", "max-steps", T, TRAINING, NULL,                                        \
      "end as if finished after N steps over all epochs; 0: no limit")                                       \
    X(LR, "lr", 0, "RATE", "lr", T, TRAINING, NULL, "learning rate; rmsprop's own is 0.01")                  \
    X(LR_SCHEDULE, "lr-schedule", 0, "NAME", "lr-schedule", T, TRAINING, NULL,                               \
      "how the rate goes on, as PyTorch's schedulers: constant, step (StepLR), multistep, cosine, linear, "  \
      "one-cycle, plateau (ReduceLROnPlateau)")                                                              \
    X(LR_BY, "lr-by", 0, "epoch|step", "lr-by", T, TRAINING,                                                 \
      "lr-warmup|lr-schedule=step,multistep,cosine,linear,one-cycle",                                        \
      "what the schedule's time counts; one-cycle goes by step")                                             \
    X(LR_STEP, "lr-step", 0, "N", "lr-step", T, TRAINING, "lr-schedule=step",                                \
      "step: multiply by --lr-gamma every N of them")                                                        \
    X(LR_MILESTONES, "lr-milestones", 0, "N,N,...", "lr-milestones", T, TRAINING, "lr-schedule=multistep",   \
      "multistep: multiply by --lr-gamma at these")                                                          \
    X(LR_GAMMA, "lr-gamma", 0, "X", "lr-gamma", T, TRAINING, "lr-schedule=step,multistep,plateau",           \
      "step, multistep, plateau: the factor")                                                                \
    X(LR_MIN, "lr-min", 0, "RATE", "lr-min", T, TRAINING, "lr-schedule=cosine,plateau",                      \
      "cosine, plateau: the rate that it goes to")                                                           \
    X(LR_END_FACTOR, "lr-end-factor", 0, "X", "lr-end-factor", T, TRAINING, "lr-schedule=linear",            \
      "linear: the factor that it goes to")                                                                  \
    X(LR_WARMUP, "lr-warmup", 0, "N", "lr-warmup", T, TRAINING, NULL,                                        \
      "rise to --lr for so long first; the schedule's own time begins then; 0: no warm-up")                  \
    X(LR_WARMUP_FACTOR, "lr-warmup-factor", 0, "X", "lr-warmup-factor", T, TRAINING, "lr-warmup",            \
      "of the rate that the warm-up begins with")                                                            \
    X(NO_CYCLE_MOMENTUM, "no-cycle-momentum", 0, NULL, "no-cycle-momentum", T, TRAINING,                     \
      "lr-schedule=one-cycle",                                                                               \
      "one-cycle: leave the momentum (adam's beta1) as it is, which else goes from 0.95 to 0.85 and back, "  \
      "as "                                                                                                  \
      "PyTorch's does")                                                                                      \
    X(LR_PATIENCE, "lr-patience", 0, "N", "lr-patience", T, TRAINING, "lr-schedule=plateau",                 \
      "plateau: multiply by --lr-gamma after more than N tests without a lower loss (see --val-every)")      \
    X(VAL_EVERY, "val-every", 0, "EPOCHS", "val-every", T, TRAINING, NULL,                                   \
      "test every so many epochs, on the test images or those of --val-fraction; 0: at the end alone. "      \
      "validation.csv has the results, best.safetensors is a checkpoint of the best")                        \
    X(BEST_BY, "best-by", 0, "accuracy|loss", "best-by", T, TRAINING, "val-every",                           \
      "which of these tests is best")                                                                        \
    X(EARLY_STOPPING, "early-stopping", 0, "N", "early-stopping", T, TRAINING, NULL,                         \
      "end when N tests in a row were not better than the best; 0: never")                                   \
    X(LOSS, "loss", 0, "NAME", "loss", TEP, TRAINING, NULL,                                                  \
      "cross_entropy (CrossEntropyLoss), mse (MSELoss), or bce (BCEWithLogitsLoss) with 1 for the class "    \
      "and "                                                                                                 \
      "0 for the others as targets; tests tell it too, and predictions are by it")                           \
    X(LABEL_SMOOTHING, "label-smoothing", 0, "X", "label-smoothing", TE, TRAINING, NULL,                     \
      "cross_entropy: this share of each image's target goes to all classes alike")                          \
    X(CLASS_WEIGHTS, "class-weights", 0, "X,X,...|balanced", "class-weights", TE, TRAINING, NULL,            \
      "cross_entropy: a weight for each class; balanced: images / (classes * the class's images) of those "  \
      "trained on")                                                                                          \
    X(OPTIMIZER, "optimizer", 0, "NAME", "optimizer", T, TRAINING, NULL,                                     \
      "sgd, adam, adamw or rmsprop, by PyTorch's formulas and with its defaults (sgd: --momentum 0.9)")      \
    X(MOMENTUM, "momentum", 0, "X", "momentum", T, TRAINING, NULL,                                           \
      "sgd, rmsprop (whose own is 0): momentum")                                                             \
    X(WEIGHT_DECAY, "weight-decay", 0, "X", "weight-decay", T, TRAINING, NULL,                               \
      "L2 decay, added to the gradient; adamw's, 0.01 by itself, is taken off the weights")                  \
    X(LR_FOR, "lr-for", 0, "NAME=RATE,...", "lr-for", T, TRAINING, NULL,                                     \
      "the rates of these layers or tensors (patterns as in a shell; the last that fits counts), as those "  \
      "of parameter groups; schedules scale them as they do --lr")                                           \
    X(NO_DECAY, "no-decay-norm-bias", 0, NULL, "no-decay-norm-bias", T, TRAINING,                            \
      "weight-decay|optimizer=adamw", "no weight decay on the parameters of norms and on biases")            \
    X(DAMPENING, "dampening", 0, "X", "dampening", T, TRAINING, "momentum",                                  \
      "sgd: dampening of the momentum")                                                                      \
    X(NESTEROV, "nesterov", 0, NULL, "nesterov", T, TRAINING, NULL, "sgd: Nesterov's momentum")              \
    X(BETA1, "beta1", 0, "X", "beta1", T, TRAINING, NULL, "adam, adamw: decay of the gradient's average")    \
    X(BETA2, "beta2", 0, "X", "beta2", T, TRAINING, NULL,                                                    \
      "adam, adamw: decay of the squared gradient's average")                                                \
    X(EPS, "eps", 0, "X", "eps", T, TRAINING, NULL, "adam, adamw, rmsprop: added to the denominator")        \
    X(ALPHA, "alpha", 0, "X", "alpha", T, TRAINING, NULL,                                                    \
      "rmsprop: decay of the squared gradient's average")                                                    \
    X(CENTERED, "centered", 0, NULL, "centered", T, TRAINING, NULL,                                          \
      "rmsprop: divide by the gradient's deviation instead of its size")                                     \
    X(ACCUMULATE, "accumulate", 0, "N", "accumulate", T, TRAINING, NULL,                                     \
      "update by the mean gradients of N batches, as one of N times --batch-size would: an epoch's last "    \
      "update takes those that are left. Schedules count updates, all else batches")                         \
    X(CLIP_NORM, "clip-norm", 0, "X", "clip-norm", T, TRAINING, NULL,                                        \
      "bring the norm of all gradients together down to X where it is more (clip_grad_norm_); 0: any")       \
    X(CLIP_VALUE, "clip-value", 0, "X", "clip-value", T, TRAINING, NULL,                                     \
      "cut every gradient to from -X to X (clip_grad_value_); 0: any")                                       \
    X(EMA, "ema", 0, "DECAY", "ema", T, TRAINING, NULL,                                                      \
      "test and save an average of the weights, which moves by 1 - DECAY of the way to them at each update " \
      "(torch.optim.swa_utils, use_buffers=False); 0: the weights themselves")                               \
    X(SEED, "seed", 0, "N", "seed", T, TRAINING, NULL, "of the initial weights and the shuffling")           \
    X(NO_SHUFFLE, "no-shuffle", 0, NULL, "no-shuffle", T, TRAINING, NULL, "take the images in their order")  \
    X(WORKERS, "workers", 'j', "N", "workers", TE, TRAINING, NULL, "threads that make batches; 0: none")     \
    X(LOG_EVERY, "log-every", 0, "N", "log-every", T, TRAINING, NULL,                                        \
      "steps from one loss line to the next")                                                                \
    X(RESIZED_CROP, "random-resized-crop", 0, "SHARE", "random-resized-crop", T, AUGMENT, NULL,              \
      "cut a box of at least that share of the area, of a ratio from 3/4 to 4/3, and resize it "             \
      "(torchvision "                                                                                        \
      "has 0.08); 0: not done, as of all these")                                                             \
    X(RANDOM_CROP, "random-crop", 0, "PIXELS", "random-crop", T, AUGMENT, NULL,                              \
      "pad so many pixels on each side and cut the image's own size anywhere")                               \
    X(PADDING_MODE, "padding-mode", 0, "constant|reflect", "padding-mode", T, AUGMENT, "random-crop",        \
      "what the padding of --random-crop is: zeros or the image, mirrored")                                  \
    X(FLIP, "random-horizontal-flip", 0, "P", "random-horizontal-flip", T, AUGMENT, NULL,                    \
      "mirror left and right with that probability")                                                         \
    X(ROTATION, "random-rotation", 0, "DEGREES", "random-rotation", T, AUGMENT, NULL,                        \
      "turn by at most that, either way")                                                                    \
    X(JITTER, "color-jitter", 0, "B,C,S,H", "color-jitter", T, AUGMENT, NULL,                                \
      "change brightness, contrast and saturation by factors from 1-X to 1+X and turn the hue by at most H " \
      "(to 0.5), in any order; those left out at the end stay")                                              \
    X(ERASING, "random-erasing", 0, "P", "random-erasing", T, AUGMENT, NULL,                                 \
      "fill a box of 2 to 33% of the area with the mean, with that probability")                             \
    X(PREVIEW, "preview-augment", 0, "FILE", NULL, T, AUGMENT, NULL,                                         \
      "write a PNG of some images and what the first epochs make of them, and end")                          \
    X(OUT, "out", 'o', "DIR", "out", T, RUN, NULL,                                                           \
      "the folder; not given: runs/MODEL-NNN, the next free number")                                         \
    X(OVERWRITE, "overwrite", 0, NULL, "overwrite", T, RUN, "out !resume",                                   \
      "replace the files of a run that is there")                                                            \
    X(DEVICE, "device", 0, "SEL", "device", TESP, DEVICE, NULL,                                              \
      "its number in `claret devices`, P:D, part of its name, or gpu, cpu, accelerator; not given: "         \
      "CLARET_DEVICE of the environment, else the first usable GPU, else accelerator, else CPU")             \
    X(LIST_DEVICE, "device", 0, "SEL", NULL, D, DEVICE, NULL,                                                \
      "only the one that --device SEL takes elsewhere")                                                      \
    X(LIST_PLATFORM, "platform", 0, "SEL", NULL, D, DEVICE, NULL,                                            \
      "only the one that is taken of that platform")                                                         \
    X(PLATFORM, "platform", 0, "SEL", "platform", TESP, DEVICE, NULL,                                        \
      "a platform's number or part of its name: only its devices count, a number in --device too")           \
    X(MAX_MEMORY, "max-memory", 0, "SIZE", "max-memory", TESP, DEVICE, NULL,                                 \
      "use at most so many bytes of the device's memory; K, M and G are binary; 0: what there is")           \
    X(NO_FUSE, "no-fuse", 0, NULL, "no-fuse", TESP, DEVICE, NULL,                                            \
      "keep every layer apart instead of running several as one")                                            \
    X(SOLVER, "solver", 0, "NODE=NAME...", "solver", TESP, DEVICE, NULL,                                     \
      "run that node or layer by that solver, and with parameters: conv1=rows:KT=4, fc=gemm:packed for the " \
      "GEMMs inside; may be given several times; --explain shows what there is")                             \
    X(TUNING, "tuning", 0, "FILE", "tuning", TESP, DEVICE, "!no-tuning",                                     \
      "use these tuning records (claret-tune) instead of those in the cache folder")                         \
    X(NO_TUNING, "no-tuning", 0, NULL, "no-tuning", TESP, DEVICE, NULL, "use no tuning records")             \
    X(CACHE_DIR, "cache-dir", 0, "DIR", "cache-dir", TESP, DEVICE, NULL,                                     \
      "keep compiled programs there; not given: $XDG_CACHE_HOME/claret, else ~/.cache/claret")               \
    X(NO_CACHE, "no-cache", 0, NULL, "no-cache", TESP, DEVICE, NULL,                                         \
      "neither read nor write compiled programs")                                                            \
    X(KERNEL_DIR, "kernel-dir", 0, "DIR", "kernel-dir", TESP, DEVICE, NULL,                                  \
      "take the .cl sources from there instead of the embedded ones")                                        \
    X(TEXT, "text", 0, NULL, NULL, S, OUTPUT, "!json !dump-plan !explain",                                   \
      "print the network text itself: a copy of a built-in network, to be changed")                          \
    X(DUMP_PLAN, "dump-plan", 0, NULL, NULL, TS, OUTPUT, NULL,                                               \
      "print the launches of a training step and their memory, and end")                                     \
    X(EXPLAIN, "explain", 0, NULL, NULL, TS, OUTPUT, NULL,                                                   \
      "print which solver runs each node of a training step, with which parameters, from where (forced, "    \
      "record, default), and why no other does, and end")                                                    \
    X(JSON, "json", 0, NULL, NULL, DTESFP, OUTPUT, "!preview-augment",                                       \
      "one JSON object on standard output at the end; what would be there goes to standard error, with "     \
      "--quiet nowhere")                                                                                     \
    X(NO_PROGRESS, "no-progress", 0, NULL, NULL, TEF, OUTPUT, NULL,                                          \
      "no progress line (there is none without a terminal)")                                                 \
    X(QUIET, "quiet", 'q', NULL, NULL, DTESFP, OUTPUT, NULL, "only warnings and errors on standard error")   \
    X(VERBOSE, "verbose", 'v', NULL, NULL, DTESFP, OUTPUT, NULL, "more on standard error")                   \
    X(HELP, "help", 'h', NULL, NULL, ALL, OUTPUT, NULL, "print this help and end")                           \
    X(VERSION, "version", 0, NULL, NULL, ALL, OUTPUT, NULL, "print the version and end")

enum cli_flag_id {
#define X(id, name, letter, argument, key, commands, group, needs, help) CLI_##id,
    CLI_FLAG_LIST(X)
#undef X
        CLI_FLAG_COUNT
};

struct cli_flag {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: a switch */
    const char *key;      /* NULL: not an option of the library */
    unsigned commands;    /* enum cli_mask */
    enum cli_group group;
    const char *needs; /* NULL: nothing */
    const char *help;
};
extern const struct cli_flag cli_flags[CLI_FLAG_COUNT];
extern const char *const cli_groups[CLI_GROUP_COUNT];

struct cli_example {
    const char *line, *text;
};
struct cli_command {
    const char *name, *summary;
    const char *operand;                /* what may stand besides options, NULL: nothing; "X..." is several */
    const struct cli_example *examples; /* line NULL ends them */
    const char *const *paragraphs;      /* of the manual page; NULL ends them */
};
extern const struct cli_command cli_commands[CLI_COMMAND_COUNT];

/* A command line, read. Texts point into argv. */
struct cli_args {
    struct claret_options *options;
    const char *value[CLI_FLAG_COUNT]; /* "" for a switch; NULL: not given */
    const char *operand;               /* the first; NULL: not given */
    const char **operands;             /* all of them, malloc'ed */
    int operand_count;
    bool unread;                          /* a file of options could not be read: no mistake of usage */
    struct claret_checkpoint *checkpoint; /* of --resume, NULL: there is none; to be destroyed */
};

/* The index in argv of the first word that is neither an option nor an option's value; argc: none. */
int cli_find_word(int argc, char **argv, int from);
/* The command of that name, CLI_COMMAND_COUNT: none. */
enum cli_command_id cli_command_find(const char *name);
/* Says that there is no such command, with the nearest one. */
void cli_command_unknown(const char *name);
/* Reads the words of argv but `skip` (the command's own; 0: none) as `command`'s, CLI_COMMAND_COUNT: as
 * claret's own. false: said what is wrong. Stops at --help or --version. Where it was opened, args->options
 * is to be destroyed. */
bool cli_parse(enum cli_command_id command, int argc, char **argv, int skip, struct cli_args *args);
/* "w.safetensors" in ".safetensors". */
bool cli_ends_in(const char *word, const char *ending);
/* Whether options fit each other, and each flag that was given has an effect. False: it said what is wrong.
 */
bool cli_check_usage(enum cli_command_id command, const struct cli_args *args);
/* Options of the file's section [train]. False: it said what is wrong, and where; *unread: with the file, not
 * with what it says. */
bool cli_read_config(const char *path, struct claret_options *options, bool *unread);
/* The same of what there is of it and is right, without a word of the rest: a file that lies there by itself.
 */
void cli_take_config(const char *path, struct claret_options *options);
/* The value of a key in the file's section [train], malloc'ed; NULL: the file says nothing of it. */
char *cli_config_value(const char *path, const char *key);
/* Sets an option of the library from a flag's value; a switch (argument NULL) to true. One that may be given
 * several times ("NODE=NAME...") keeps all its values, a space between them. */
enum claret_status cli_set_option(struct claret_options *options, const char *key, const char *argument,
                                  const char *value);
/* "--batch-size", or what else of the list is like `name`; -1: nothing. next(i) returns NULL past the end. */
int cli_nearest(const char *name, const char *(*next)(int index, unsigned commands), unsigned commands);

#endif
