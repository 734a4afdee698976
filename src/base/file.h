/* Files that are either whole or not there. */
#ifndef CLARET_BASE_FILE_H
#define CLARET_BASE_FILE_H

#include <stdio.h>

#include "status.h"

/* Reads a whole regular file of at most `limit` bytes; *data is malloc'ed, NUL-terminated past *size. */
enum claret_status claret_file_read(const char *path, size_t limit, char **data, size_t *size);

/* A file written under a temporary name beside `path`; claret_file_commit() flushes, fsyncs and renames it.
 * Until then nothing at `path` changes. */
struct claret_file {
    FILE *stream;
    char *path, *temporary;
};
enum claret_status claret_file_create(const char *path, struct claret_file *file);
enum claret_status claret_file_commit(struct claret_file *file); /* closes it, also when it fails */
void claret_file_abandon(struct claret_file *file);              /* after commit: does nothing */
enum claret_status claret_file_write(const char *path, const void *data, size_t size); /* all three */

/* Makes `path` and its parents with mode `mode`; one that is there is fine. */
enum claret_status claret_folder_make(const char *path, unsigned mode);

/* "folder/name", malloc'ed; NULL: out of memory. */
char *claret_path_join(const char *folder, const char *name);

#endif
