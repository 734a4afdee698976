/* Checkpoints: all that a training needs to go on as if it had never stopped, in one safetensors file.
 *
 * Tensors: the network's as in a weights file, the optimizer's state as "optimizer.NAME" (flat, all
 * parameters). Metadata: JSON with the format's number, the options, the network's text, the place in the
 * training, the device's step words (so that a loss window goes on), the log so far; and a digest over that
 * and the tensors. Random numbers need none: they come from seed, epoch and place alone. */
#ifndef CLARET_TRAIN_CHECKPOINT_H
#define CLARET_TRAIN_CHECKPOINT_H

#include "train/session.h"

/* What a run's folder has of the training so far: log.csv, validation.csv ("": there is none). */
struct claret_run_texts {
    const char *log, *validation;
};
/* Writes one, atomically; nothing may be in flight that it should not have. */
enum claret_status claret_checkpoint_save(struct claret_session *session,
                                          const struct claret_progress *progress,
                                          const struct claret_run_texts *texts, const char *path);
struct claret_run_texts claret_checkpoint_texts(const struct claret_checkpoint *checkpoint);
/* The folder that it lies in. */
const char *claret_checkpoint_folder(const struct claret_checkpoint *checkpoint);
/* Steps done; 0: `name` is no checkpoint's file name. "checkpoint-00001250.safetensors" */
size_t claret_checkpoint_number(const char *name);
/* Steps of the checkpoints in a folder, up to `most`, in order; *numbers is malloc'ed. */
enum claret_status claret_checkpoint_list(const char *folder, size_t most, size_t **numbers, size_t *count);
/* CLARET_NOT_FOUND: there are none in the run's folder; the message has what else there is to go on from. */
enum claret_status claret_checkpoint_none(const char *folder);
/* Its name in `folder`, malloc'ed; NULL: out of memory. */
char *claret_checkpoint_path(const char *folder, size_t steps);

#endif
