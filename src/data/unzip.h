/* Members of zip files, by libarchive. */
#ifndef CLARET_DATA_UNZIP_H
#define CLARET_DATA_UNZIP_H

#include <stddef.h>

#include "base/status.h"

struct claret_zip_member {
    const char *name;
    unsigned char *data; /* malloc'ed; NULL: there is no such member */
    size_t size;
};

/* Reads the wanted members, each of at most `limit` bytes. `names` (may be NULL) gets the names of all,
 * malloc'ed. What was read is the caller's to free, also on an error. CLARET_FORMAT: not a zip file, damaged,
 * or this claret was built without libarchive. */
enum claret_status claret_unzip(const char *path, size_t limit, struct claret_zip_member *members, int count,
                                char **names);

#endif
