/* Planning a session's two graphs within the device's memory. */
#ifndef CLARET_TRAIN_ENGINE_H
#define CLARET_TRAIN_ENGINE_H

#include "train/session.h"

/* Plans session->eval and, where `training`, session->train. CLARET_DEVICE_MEMORY with the need, the limit
 * and the largest batch that fits. */
enum claret_status claret_engine_plan(struct claret_session *session, bool training);
/* For tests: plans are made as for a device of this class; -1: of its own. */
extern int claret_engine_class;
/* The bytes of each buffer of a pool that serves both plans (NULL: none), which never run at the same time.
 * Returns how many. */
int claret_engine_buffers(const struct claret_plan *train, const struct claret_plan *eval,
                          uint64_t bytes[CLARET_PLAN_MAX_BUFFERS]);
/* Node by node which solver was taken, of the training plan where there is one. */
void claret_engine_explain(struct claret_session *session, struct claret_text *text);
/* How a session with these options builds its graph for that device. */
struct claret_graph_options claret_engine_graph_options(const struct claret_options *options,
                                                        const struct claret_device_desc *device,
                                                        bool f32_images, bool training, int64_t batch);
/* Puts the data set on the device, where that has memory of its own, the set is of bytes and there is room
 * for it beside everything else, and makes a training engine that gathers its batches there, augmented where
 * `augment` (bits of claret_augment_kinds) is not 0; else engine->exec stays NULL. */
enum claret_status claret_engine_reside(struct claret_session *session, const struct claret_dataset *dataset,
                                        int augment, struct claret_engine *engine);
/* Of what names an image that is there: its number or its recipe. */
size_t claret_engine_name_bytes(bool augmented);
/* For tests: also where the memory is shared. */
extern bool claret_engine_reside_anywhere;
void claret_engine_release(struct claret_session *session, struct claret_engine *engine);
void claret_engine_finish(struct claret_engine *engine);

/* Where programs and tuning records are kept: the option cache-dir where it is set, else
 * $XDG_CACHE_HOME/claret where that can be written (with no-cache nobody writes, and it is not tried), else
 * ~/.cache/claret; NULL, said once, where there is neither. *folder is malloc'ed. */
enum claret_status claret_engine_cache_folder(const struct claret_options *options, char **folder);

#endif
