#include "ref/ref.h"

/* batch_load and step_end move and count bytes: there is no arithmetic to compare with. */
const struct claret_ref claret_ref_batch[] = {{.op = NULL}};
