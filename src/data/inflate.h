/* Gzip's files, by zlib. */
#ifndef CLARET_DATA_INFLATE_H
#define CLARET_DATA_INFLATE_H

#include "base/status.h"

/* Reads a file of at most `limit` bytes, inflated where it is gzip's (known by its first bytes, whatever its
 * name). *data is malloc'ed. CLARET_FORMAT: truncated, damaged, larger, or this claret was built without
 * zlib.
 */
enum claret_status claret_inflate_file(const char *path, size_t limit, unsigned char **data, size_t *size);

#endif
