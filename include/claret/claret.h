/* SPDX-License-Identifier: MIT
 * claret: train convolutional networks on any OpenCL device.
 *
 * Conventions of this header
 * - Functions return `enum claret_status`; what they make comes last, through an out-parameter that is
 *   written only on success. `*_destroy` accepts NULL.
 * - Handles are opaque. Strings that a function returns belong to the handle it was asked of and live as
 *   long as that handle, unless the function says otherwise.
 * - After a call that did not return CLARET_OK, `claret_error()` tells the calling thread what failed,
 *   where, and what to do.
 * - Threads: different handles may be used from different threads at once; one handle by one thread at a
 *   time. Sessions of one process share CLBlast's process-wide state; claret serialises its own calls into
 *   CLBlast, a program that calls CLBlast itself at the same time must use its own lock around both.
 * - The library never prints, never exits, and reads no environment variable except: XDG_CACHE_HOME and HOME
 *   (where programs and tuning records are kept when the option `cache-dir` is not set) and those that the
 * OpenCL loader and drivers, and in claret_fetch() libcurl, read themselves. When a driver aborts while
 * devices are being listed, that driver is hidden from the rest of the process by setting OCL_ICD_VENDORS
 * (see claret_devices_list).
 * - Numbers in texts are read and written in the C locale whatever the program's locale is.
 */
#ifndef CLARET_CLARET_H
#define CLARET_CLARET_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CLARET_API __attribute__((visibility("default")))
#define CLARET_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CLARET_API
#define CLARET_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and errors ------------------------------------------------------------------------- */

/* X(symbol, what it means) */
#define CLARET_STATUS_LIST(X)                                                                                \
    X(OK, "done")                                                                                            \
    X(INVALID, "an argument or option that cannot be")                                                       \
    X(NO_MEMORY, "host memory is used up")                                                                   \
    X(IO, "a file or folder cannot be read or written")                                                      \
    X(FORMAT, "a file is not what it should be")                                                             \
    X(NETWORK, "a network text is wrong")                                                                    \
    X(SHAPE, "shapes do not fit")                                                                            \
    X(NOT_FOUND, "no such device, file, parameter or option")                                                \
    X(AMBIGUOUS, "several devices match")                                                                    \
    X(NO_DEVICE, "no usable OpenCL device")                                                                  \
    X(OPENCL, "an OpenCL call failed")                                                                       \
    X(BUILD, "a kernel does not compile")                                                                    \
    X(DEVICE_MEMORY, "more device memory needed than there is")                                              \
    X(NOT_FINITE, "the loss is not finite")                                                                  \
    X(STOPPED, "stopped on request")                                                                         \
    X(INTERNAL, "a fault of claret itself")

enum claret_status {
#define X(symbol, text) CLARET_##symbol,
    CLARET_STATUS_LIST(X)
#undef X
        CLARET_STATUS_COUNT
};

/* "CLARET_NOT_FOUND" for CLARET_NOT_FOUND; never NULL. */
CLARET_API const char *claret_status_name(enum claret_status status);

/* The first error of the calling thread's last failed call: one or more lines without a final newline;
 * "" when nothing failed. Valid until the thread's next call into claret. */
CLARET_API const char *claret_error(void);

enum claret_log_level { CLARET_LOG_WARNING, CLARET_LOG_INFO, CLARET_LOG_DEBUG };

/* Where messages go (NULL: nowhere, the default). Process-wide; call it before other threads use claret.
 * `message` has no final newline. May be called from any thread that calls claret. */
typedef void (*claret_log_fn)(void *user, enum claret_log_level level, const char *message);
CLARET_API void claret_set_log(claret_log_fn log, void *user);

/* "0.1.0" */
CLARET_API const char *claret_version(void);

/* ---- options ----------------------------------------------------------------------------------- */

/* What a session can be told, as `key`, `value` texts. The keys are the command's long options without
 * the dashes ("batch-size"), and have its defaults. claret_options_key() lists them.
 * For switches the value is "true" or "false". */
struct claret_options;
CLARET_API enum claret_status claret_options_create(struct claret_options **options);
CLARET_API void claret_options_destroy(struct claret_options *options);
/* CLARET_NOT_FOUND: no such key (the error names the nearest); CLARET_INVALID: not a value of that key. */
CLARET_API enum claret_status claret_options_set(struct claret_options *options, const char *key,
                                                 const char *value);
/* NULL for an unknown key. Valid until the key is set again. */
CLARET_API const char *claret_options_get(const struct claret_options *options, const char *key);
/* The index-th key, NULL past the last one. */
CLARET_API const char *claret_options_key(size_t index);
/* Whether the values fit each other, as far as they alone tell. CLARET_INVALID; the error names options as
 * the command has them, "--lr-step". A session's making asks it too. */
CLARET_API enum claret_status claret_options_check(const struct claret_options *options);

/* ---- devices ----------------------------------------------------------------------------------- */

/* All devices of all platforms, numbered from 0 in one flat list, each tried with a small kernel. */
struct claret_devices;

enum claret_device_text {
    CLARET_DEVICE_ID,   /* "P:D": platform, and device within it */
    CLARET_DEVICE_NAME, /* as the driver says it */
    CLARET_DEVICE_VENDOR,
    CLARET_DEVICE_TYPE,     /* "gpu", "cpu", "accelerator" or "other" */
    CLARET_DEVICE_OPENCL_C, /* "1.2" */
    CLARET_DEVICE_DRIVER,   /* driver version */
    CLARET_DEVICE_PLATFORM_NAME,
    CLARET_DEVICE_PCI,   /* "0000:03:00.0" where the driver tells, else "" */
    CLARET_DEVICE_REASON /* why it is not usable; "" when it is */
};

enum claret_device_number {
    CLARET_DEVICE_PLATFORM, /* index of its platform */
    CLARET_DEVICE_COMPUTE_UNITS,
    CLARET_DEVICE_GLOBAL_MEM, /* bytes */
    CLARET_DEVICE_LOCAL_MEM,  /* bytes */
    CLARET_DEVICE_MAX_ALLOC,  /* bytes */
    CLARET_DEVICE_MAX_WORK_GROUP,
    CLARET_DEVICE_FP16, /* 0 or 1, as the next four */
    CLARET_DEVICE_FP64,
    CLARET_DEVICE_SUBGROUPS,
    CLARET_DEVICE_COMMAND_BUFFER,
    CLARET_DEVICE_UNIFIED, /* shares the host's memory */
    CLARET_DEVICE_USABLE
};

enum claret_platform_text { CLARET_PLATFORM_NAME, CLARET_PLATFORM_VENDOR, CLARET_PLATFORM_VERSION };

/* Lists and tries devices in a child process, so that a driver that aborts there costs its own devices
 * alone; such a driver is then hidden from this process (OCL_ICD_VENDORS is set to a folder without it, and
 * it is taken out of OCL_ICD_FILENAMES where that names it). A driver that says nothing for a minute while it
 * lists devices, or for three in a step of trying one, counts as one that aborted. Call it before the program
 * itself uses OpenCL and while it is single-threaded where that can be had. The work is done once per
 * process; later calls answer from its result. Succeeds with an empty list where there is nothing. */
CLARET_API enum claret_status claret_devices_list(struct claret_devices **devices);
CLARET_API void claret_devices_destroy(struct claret_devices *devices);
CLARET_API size_t claret_devices_count(const struct claret_devices *devices);
CLARET_API const char *claret_devices_text(const struct claret_devices *devices, size_t device,
                                           enum claret_device_text what);
CLARET_API uint64_t claret_devices_number(const struct claret_devices *devices, size_t device,
                                          enum claret_device_number what);
CLARET_API size_t claret_devices_platforms(const struct claret_devices *devices);
CLARET_API const char *claret_devices_platform_text(const struct claret_devices *devices, size_t platform,
                                                    enum claret_platform_text what);
/* What is odd about this system, with the command that mends it: a GPU that no platform offers, a driver
 * that aborted, nothing usable at all. The index-th paragraph, NULL past the last. */
CLARET_API const char *claret_devices_advice(const struct claret_devices *devices, size_t index);
/* Chooses by `device` and `platform`, the values of the options of that name ("" or NULL: not given).
 * CLARET_NOT_FOUND, CLARET_AMBIGUOUS (the error lists the matches), CLARET_INVALID, CLARET_NO_DEVICE.
 * *note (may be NULL) gets a sentence worth showing, or "". */
CLARET_API enum claret_status claret_devices_choose(const struct claret_devices *devices, const char *device,
                                                    const char *platform, size_t *index, const char **note);

/* ---- data -------------------------------------------------------------------------------------- */

enum claret_split { CLARET_TRAIN, CLARET_TEST };
enum claret_element { CLARET_U8, CLARET_F32 };

/* Labelled images, (channels, height, width) each, labels from 0 to classes - 1. */
struct claret_dataset;
struct claret_network; /* below */

/* `path` is "shapes" (built in), or a folder that is or holds CIFAR-10 or CIFAR-100 (binary or Python
 * layout), MNIST or Fashion-MNIST (IDX files, plain or .gz), or numpy's x_train.npy, y_train.npy, x_test.npy
 * and y_test.npy, or is a .npz file of them. A whole split is read and checked. Folders of images need
 * claret_dataset_load(). */
CLARET_API enum claret_status claret_dataset_open(const char *path, enum claret_split split,
                                                  struct claret_dataset **dataset);
/* The split that the options say (`data`, `limit-train` or `limit-test`, `val-fraction`, `coarse-labels`,
 * `mean`, `std`,
 * `skip-unreadable`, `workers`), for `network`. Beside what claret_dataset_open() knows: a folder with a
 * folder of PNG and JPEG files for each class, by itself or in train/ and test/ (or val/). Those images are
 * read from their files each time, and resized to the network's input. */
CLARET_API enum claret_status claret_dataset_load(const struct claret_options *options,
                                                  const struct claret_network *network,
                                                  enum claret_split split, struct claret_dataset **dataset);
/* Of what kind the set is that claret_dataset_load() would find at `path` (the option `data`): "CIFAR-10",
 * "image folders"; *in_files: whether its images are read from files of their own each time. Reads none of
 * it. */
CLARET_API enum claret_status claret_dataset_recognise(const char *path, const char **kind, int *in_files);
/* A set of one black image that fits the network, normalised as the options say: to make a session with for
 * images that come one by one (claret_session_predict()). */
CLARET_API enum claret_status claret_dataset_stand_in(const struct claret_options *options,
                                                      const struct claret_network *network,
                                                      struct claret_dataset **dataset);
/* The caller's arrays: images (count, channels, height, width), labels (count). They are copied.
 * U8 images are scaled to 0..1 and normalised by mean and std (see claret_dataset_set_normalisation),
 * F32 images are taken as they are. */
CLARET_API enum claret_status claret_dataset_from_arrays(enum claret_element element, const void *images,
                                                         const int32_t *labels, size_t count, int channels,
                                                         int height, int width, int classes,
                                                         struct claret_dataset **dataset);
/* A PNG or JPEG file as `channels` (1: grey, 3: RGB) planes of height x width, resized as Pillow's
 * Image.resize((width, height), BILINEAR) does it. pixels (channels, height, width). */
CLARET_API enum claret_status claret_image_read(const char *path, int channels, int height, int width,
                                                unsigned char *pixels);
CLARET_API void claret_dataset_destroy(struct claret_dataset *dataset);
/* mean and std, one value per channel, in units of 0..1; 0.5 each by default. U8 data only. */
CLARET_API enum claret_status claret_dataset_set_normalisation(struct claret_dataset *dataset,
                                                               const float *mean, const float *std);
/* Writes a PNG to look at: some images of the set, and beside each what the options' augmentation makes of it
 * in the first epochs. */
CLARET_API enum claret_status claret_dataset_preview(const struct claret_options *options,
                                                     const struct claret_dataset *dataset, const char *path);
/* Mean and standard deviation of the set's pixels, one of each for each channel, in units of 0..1. U8 data
 * only. Images in files are all read. */
CLARET_API enum claret_status claret_dataset_measure(const struct claret_dataset *dataset, float *mean,
                                                     float *std);
/* The same by the options `mean` and `std`: a number, or one for each channel with commas between. */
CLARET_API enum claret_status claret_dataset_normalise(const struct claret_options *options,
                                                       struct claret_dataset *dataset);
/* Keeps the first `count` images (0: all). */
CLARET_API enum claret_status claret_dataset_limit(struct claret_dataset *dataset, size_t count);
CLARET_API size_t claret_dataset_count(const struct claret_dataset *dataset);
CLARET_API int claret_dataset_classes(const struct claret_dataset *dataset);
/* "airplane", or the number as text where classes have no names. */
CLARET_API const char *claret_dataset_class_name(const struct claret_dataset *dataset, int label);
/* shape[3] gets channels, height, width. */
CLARET_API void claret_dataset_shape(const struct claret_dataset *dataset, int shape[3]);
CLARET_API enum claret_element claret_dataset_element(const struct claret_dataset *dataset);
/* Copies image `index`, (C, H, W) in the dataset's element type, and its label (both may be NULL). */
CLARET_API enum claret_status claret_dataset_read(const struct claret_dataset *dataset, size_t index,
                                                  void *image, int32_t *label);
/* Borrowed: image `index` (NULL where images are in files), (C, H, W), in the dataset's element type; its
 * label. */
CLARET_API const void *claret_dataset_image(const struct claret_dataset *dataset, size_t index,
                                            int32_t *label);

/* A few times a second: bytes of a file that are there, and of the whole (0: not known). */
typedef void (*claret_on_fetch)(void *user, const char *file, uint64_t done, uint64_t total);
/* Fetches a published data set into `folder`: "cifar10", "cifar100", "mnist", "fashion-mnist"
 * (claret_fetch_set_name()). What is there already is used, what broke off is gone on with, size and MD5 are
 * checked before anything is unpacked or gets its name, and nothing is written outside the folder.
 * `url` (NULL: where it is published) is another address: of the archive, or ending in '/' of the folder with
 * it; for MNIST's four files of their folder. `md5` (NULL: as published): what is expected there, in
 * hexadecimal; for four files four, with commas between. `timeout`: seconds without a byte until a server is
 * given up. libcurl reads its own variables of the environment (https_proxy and others). *place gets the
 * folder to train from, to be freed by claret_text_free(). Uses the network only here. */
CLARET_API enum claret_status claret_fetch(const char *set, const char *folder, const char *url,
                                           const char *md5, int timeout, claret_on_fetch progress, void *user,
                                           char **place);
/* The index-th set's name, NULL past the last. */
CLARET_API const char *claret_fetch_set_name(size_t index);

/* ---- networks ---------------------------------------------------------------------------------- */

struct claret_network;

/* A name of the built-in zoo ("simplecnn"), or a file's path (it has a '/' or ends in ".net"). */
CLARET_API enum claret_status claret_network_load(const char *name, struct claret_network **network);
/* `text` is a network text; `name` stands for the file in errors. */
CLARET_API enum claret_status claret_network_parse(const char *text, const char *name,
                                                   struct claret_network **network);
CLARET_API void claret_network_destroy(struct claret_network *network);
/* "simplecnn": the zoo's name, or the file's name without folder and ".net". */
CLARET_API const char *claret_network_name(const struct claret_network *network);
/* The network text that it was made from. */
CLARET_API const char *claret_network_text(const struct claret_network *network);
/* input[3] gets channels, height, width; *classes the number of logits. */
CLARET_API void claret_network_shape(const struct claret_network *network, int input[3], int *classes);
/* The layer table, and about how many bytes of a device training takes at that batch size. freeze: as the
 * option of that name; NULL: nothing is frozen. `*text` is to be freed by claret_text_free(). CLARET_INVALID.
 */
CLARET_API enum claret_status claret_network_describe(const struct claret_network *network, int batch_size,
                                                      const char *freeze, char **text);
/* The same as a JSON object. */
CLARET_API enum claret_status claret_network_describe_json(const struct claret_network *network,
                                                           int batch_size, const char *freeze, char **text);
/* The index-th name of the zoo, NULL past the last. */
CLARET_API const char *claret_network_zoo(size_t index);
/* Whether the options that name layers or tensors (`freeze`, `lr-for`, `reset`) find them in the network.
 * CLARET_INVALID, with the nearest name. A session's making asks it too. */
CLARET_API enum claret_status claret_options_fit(const struct claret_options *options,
                                                 const struct claret_network *network);

CLARET_API void claret_text_free(char *text);

/* ---- sessions ---------------------------------------------------------------------------------- */

/* As claret_devices_list(), but devices that were usable when they were last tried, by the same driver, are
 * taken for usable without another trial: they are kept in mind in the options' cache folder. What a session
 * is made with. */
CLARET_API enum claret_status claret_options_devices(const struct claret_options *options,
                                                     struct claret_devices **devices);

/* A network with its parameters on one device. */
struct claret_session;

/* Chooses the device, compiles, allocates and initialises (from the options `seed`, or `init` where that
 * is set). `dataset` tells the element type, shape, classes and normalisation of what will be fed; it is not
 * kept. `training` 0: a session that can only evaluate (no gradients, no optimizer state). */
CLARET_API enum claret_status claret_session_create(const struct claret_network *network,
                                                    const struct claret_options *options,
                                                    const struct claret_dataset *dataset, int training,
                                                    struct claret_session **session);
CLARET_API void claret_session_destroy(struct claret_session *session);

/* One training step on images (count, C, H, W) in the dataset's element type, labels (count),
 * 1 <= count <= batch size. `loss` (may be NULL) gets the batch's mean loss, which waits for the
 * step; without it the step is only queued. The arrays are copied before the call returns. With the option
 * accumulate every so many-th call makes the update. With the option ema tests, predictions and saved files
 * are of the weights' average; reading and writing parameters is of the weights themselves. */
CLARET_API enum claret_status claret_session_step(struct claret_session *session, const void *images,
                                                  const int32_t *labels, int count, float *loss);

/* The network's outputs for images (count, C, H, W) in the dataset's element type, 1 <= count <= batch size:
 * logits (count, classes). */
CLARET_API enum claret_status claret_session_predict(struct claret_session *session, const void *images,
                                                     int count, float *logits);

struct claret_result; /* of an evaluation */
/* By the loss that the options say, over all images at once. CLARET_NOT_FINITE: the mean loss is not. */
CLARET_API enum claret_status claret_session_evaluate(struct claret_session *session,
                                                      const struct claret_dataset *dataset,
                                                      struct claret_result **result);
CLARET_API void claret_result_destroy(struct claret_result *result);
/* Mean over images; with the option class-weights by their weights. */
CLARET_API double claret_result_loss(const struct claret_result *result);
CLARET_API size_t claret_result_count(const struct claret_result *result);
CLARET_API size_t claret_result_correct(const struct claret_result *result);
CLARET_API double claret_result_seconds(const struct claret_result *result);
/* Images of class `label` that were taken for class `predicted`. */
CLARET_API size_t claret_result_confusion(const struct claret_result *result, int label, int predicted);

/* What claret_session_train tells as it goes. Any may be NULL. */
struct claret_train_callbacks;
CLARET_API enum claret_status claret_train_callbacks_create(struct claret_train_callbacks **callbacks);
CLARET_API void claret_train_callbacks_destroy(struct claret_train_callbacks *callbacks);
/* Every `log-every` steps: epoch and step in it from 1, mean loss over the window. */
typedef void (*claret_on_loss)(void *user, int epoch, size_t step, double loss);
/* At the end of an epoch: mean training loss over it, its seconds, images seen in it. */
typedef void (*claret_on_epoch)(void *user, int epoch, double loss, double seconds, size_t images);
/* A few times a second: steps done and to do, over the whole training, images per second. */
typedef void (*claret_on_progress)(void *user, size_t step, size_t steps, int epoch,
                                   double images_per_second);
CLARET_API void claret_train_callbacks_set(struct claret_train_callbacks *callbacks, void *user,
                                           claret_on_loss loss, claret_on_epoch epoch,
                                           claret_on_progress progress);

/* After each test that claret_session_validate() asked for: mean loss, accuracy in percent, whether it is the
 * best so far. */
typedef void (*claret_on_test)(void *user, int epoch, double loss, double accuracy, int best);
CLARET_API void claret_train_callbacks_set_test(struct claret_train_callbacks *callbacks,
                                                claret_on_test test);
/* Trainings test on this data set after every `val-every` epochs, one that max-steps cuts short too; it must
 * stay until they end. NULL: none. The run's folder gets validation.csv and best.safetensors, a checkpoint,
 * by the option best-by; training ends early by early-stopping. */
CLARET_API enum claret_status claret_session_validate(struct claret_session *session,
                                                      const struct claret_dataset *dataset);

/* The folder of one training run: config.ini, log.csv, weights.safetensors. */
struct claret_run;
/* Makes the folder (option `out`, else runs/NETWORK-NNN with the next free number) and writes config.ini into
 * it; an earlier run's stays until claret_session_train() replaces its log.csv. CLARET_INVALID: it holds a
 * run and the option `overwrite` is not set; CLARET_IO. */
CLARET_API enum claret_status claret_run_create(const struct claret_options *options,
                                                const struct claret_network *network,
                                                struct claret_run **run);
/* Where training came to nothing (no epoch, no checkpoint, no test, not finished or stopped), config.ini goes
 * again, and the folder where it was made for the run. */
CLARET_API void claret_run_destroy(struct claret_run *run);
CLARET_API const char *claret_run_folder(const struct claret_run *run);
/* Whether claret_run_create() could make that folder now, without making anything. */
CLARET_API enum claret_status claret_run_check(const struct claret_options *options,
                                               const struct claret_network *network);

/* A training that stands still in a file: weights, the optimizer's state, options, place in the shuffle, log.
 * claret_session_train writes them into the run's folder as the options checkpoint-every and checkpoint-keep
 * say, and where it is stopped. To go on: open one, claret_checkpoint_options() into new options (more may be
 * set then), claret_checkpoint_network(), a session of both on the same data, claret_session_resume(),
 * claret_run_resume(), claret_session_train(). It ends with the same bits as without the stop, on the same
 * device, driver and plan. */
struct claret_checkpoint;
/* `path`: a file, or a run's folder: the newest whole one in it. CLARET_FORMAT: it is broken or something
 * else; CLARET_NOT_FOUND. */
CLARET_API enum claret_status claret_checkpoint_open(const char *path, struct claret_checkpoint **checkpoint);
CLARET_API void claret_checkpoint_destroy(struct claret_checkpoint *checkpoint);
CLARET_API const char *claret_checkpoint_file(const struct claret_checkpoint *checkpoint); /* its path */
/* Newer ones that are broken, a line each with the reason; NULL: none. */
CLARET_API const char *claret_checkpoint_passed(const struct claret_checkpoint *checkpoint);
CLARET_API size_t claret_checkpoint_steps(const struct claret_checkpoint *checkpoint); /* done */
CLARET_API enum claret_status claret_checkpoint_network(const struct claret_checkpoint *checkpoint,
                                                        struct claret_network **network);
CLARET_API enum claret_status claret_checkpoint_options(const struct claret_checkpoint *checkpoint,
                                                        struct claret_options *options);
/* CLARET_INVALID: the options differ in what a training cannot change on its way (batch-size, seed, …). */
CLARET_API enum claret_status claret_checkpoint_check(const struct claret_checkpoint *checkpoint,
                                                      const struct claret_options *options);
/* The session's next training goes on where the checkpoint was. */
CLARET_API enum claret_status claret_session_resume(struct claret_session *session,
                                                    const struct claret_checkpoint *checkpoint);
/* The checkpoint's folder, whose log goes on where it was. */
CLARET_API enum claret_status claret_run_resume(const struct claret_options *options,
                                                const struct claret_checkpoint *checkpoint,
                                                struct claret_run **run);

/* Trains as the options say: epochs, max-steps, shuffling, workers, log-every. Returns CLARET_STOPPED
 * after claret_session_stop(), at the end of the step that was under way; CLARET_NOT_FINITE with the first
 * bad step, or the weight that the last step left not finite. `run` (may be NULL) gets log.csv, renewed as
 * epochs end. `callbacks` may be NULL. */
CLARET_API enum claret_status claret_session_train(struct claret_session *session,
                                                   const struct claret_dataset *dataset,
                                                   struct claret_run *run,
                                                   const struct claret_train_callbacks *callbacks);
/* Async-signal-safe; may be called from any thread. */
CLARET_API void claret_session_stop(struct claret_session *session);

/* What training did so far. */
CLARET_API size_t claret_session_steps(const struct claret_session *session);
CLARET_API size_t claret_session_epochs(const struct claret_session *session); /* whole ones */
CLARET_API size_t claret_session_images(const struct claret_session *session);
CLARET_API double claret_session_seconds(const struct claret_session *session); /* spent in train */
CLARET_API double claret_session_loss(const struct claret_session *session);    /* mean of the last epoch */

/* Parameters and what else a weights file holds (running statistics), by PyTorch's state-dict names, in
 * PyTorch's layouts. */
CLARET_API size_t claret_session_parameters(const struct claret_session *session);
CLARET_API const char *claret_session_parameter_name(const struct claret_session *session, size_t index);
/* *rank dimensions in shape[4]; returns the number of elements. */
CLARET_API size_t claret_session_parameter_shape(const struct claret_session *session, size_t index,
                                                 size_t shape[4], int *rank);
CLARET_API enum claret_status claret_session_read(struct claret_session *session, const char *name,
                                                  float *values, size_t count);
CLARET_API enum claret_status claret_session_write(struct claret_session *session, const char *name,
                                                   const float *values, size_t count);
/* safetensors. Saving writes a temporary file and renames it; `sha256` (may be NULL) gets the file's digest
 * in hexadecimal. Loading changes nothing unless the whole file fits the network. */
CLARET_API enum claret_status claret_session_save(struct claret_session *session, const char *path,
                                                  char sha256[65]);
CLARET_API enum claret_status claret_session_load(struct claret_session *session, const char *path);

enum claret_report {
    CLARET_REPORT_PLAN,     /* the frozen launches and memory, one a line */
    CLARET_REPORT_DEVICE,   /* "device 1 (0:1): NAME, PLATFORM, driver VERSION" */
    CLARET_REPORT_PROGRAMS, /* "programs: 41 used, 41 from cache, 0 built", and CLBlast's line */
    CLARET_REPORT_EXPLAIN /* node by node, the solver with its parameters and why each other was not taken */
};
CLARET_API enum claret_status claret_session_report(struct claret_session *session, enum claret_report what,
                                                    char **text);

/* OpenCL objects that claret made and has not released, in this process: 0 after the last session. */
CLARET_API size_t claret_live_objects(void);

#ifdef __cplusplus
}
#endif
#endif
