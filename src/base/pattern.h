/* Patterns of tensors' names: "fc,layer4.*", those of fnmatch with commas between. */
#ifndef CLARET_BASE_PATTERN_H
#define CLARET_BASE_PATTERN_H

#include <stdbool.h>

#include "status.h"

/* Whether one of the patterns is that of the tensor or of a part of the network that it is in ("fc" of
 * "fc.weight"). */
bool claret_pattern_match(const char *patterns, const char *name);
/* CLARET_INVALID, with the pattern and the nearest name: one of them matches none of the names next(0, user),
 * next(1, user) … NULL. `option`: whose patterns they are. */
enum claret_status claret_pattern_check(const char *option, const char *patterns,
                                        const char *(*next)(int index, const void *user), const void *user);

/* Patterns with numbers: "fc=0.1,layer4.*=0.01". */
/* CLARET_INVALID: not of that form, or a number below 0. `option`: whose they are. */
enum claret_status claret_pattern_parse_numbers(const char *option, const char *patterns);
/* Of ones that are: the number of the last pattern that is the tensor's; false: none is. */
bool claret_pattern_number(const char *patterns, const char *name, double *number);
/* As claret_pattern_check(). */
enum claret_status claret_pattern_check_numbers(const char *option, const char *patterns,
                                                const char *(*next)(int index, const void *user),
                                                const void *user);

#endif
