/* Devices found usable before, by the same drivers under the same conditions: they are not tried again at
 * each start. What could not be used is tried again each time. */
#ifndef CLARET_RT_TRUST_H
#define CLARET_RT_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "rt/drivers.h"

#define CLARET_TRUST_KEY 65 /* hexadecimal SHA-256 and NUL */

struct claret_trust {
    char *path;                     /* the file; NULL: nothing is kept */
    char base[CLARET_TRUST_KEY];    /* of what all devices depend on */
    char (*keys)[CLARET_TRUST_KEY]; /* count */
    size_t count;
};

/* Reads FOLDER/devices; one that is not there or damaged holds nothing. What the keys depend on besides the
 * device: the drivers' files and libraries (size, time), the loader's cache of libraries, the kernel, the
 * probe, and the environment variables that OpenCL's loader and drivers read. Zero-initialise `trust`. */
enum claret_status claret_trust_load(const char *folder, const struct claret_drivers *drivers,
                                     struct claret_trust *trust);
void claret_trust_drop(struct claret_trust *trust);
/* `device`: all that is told of it, as text. */
enum claret_status claret_trust_key(const struct claret_trust *trust, const char *device,
                                    char key[CLARET_TRUST_KEY]);
bool claret_trust_has(const struct claret_trust *trust, const char *key);
/* Adds a key, and writes the file; failing to write is no error. */
enum claret_status claret_trust_add(struct claret_trust *trust, const char *key);

#endif
