#include "ref/ref.h"

/* What an augmented image has to be, data/augment.c has: tests/test_batch.c compares with it. */
const struct claret_ref claret_ref_augment[] = {{.op = NULL}};
