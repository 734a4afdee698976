/* Files of a run's folder that a process which was killed left half-written. */
#ifndef CLARET_TRAIN_LEFTOVERS_H
#define CLARET_TRAIN_LEFTOVERS_H

#include <stddef.h>

/* Removes "NAME.PID-N.tmp" of the `count` names and of checkpoints, but for those of processes that live. */
void claret_leftovers_remove(const char *folder, const char *const *names, size_t count);

#endif
