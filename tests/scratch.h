/* Temporary folders for tests of files. */
#ifndef CLARET_TESTS_SCRATCH_H
#define CLARET_TESTS_SCRATCH_H

#include <stddef.h>

/* cmocka's group setup and teardown: makes a folder under $TMPDIR or /tmp, removes it with all that is in it.
 */
int scratch_setup(void **state);
int scratch_teardown(void **state);
/* "FOLDER/name" (printf); valid for the next 16 calls. */
const char *scratch(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes a file there whole and returns its path. */
const char *scratch_write(const char *name, const void *data, size_t size);
/* Removes a file or a folder with all that is in it. */
void scratch_remove(const char *path);
/* Entries in a folder. */
int scratch_entries(const char *path);

/* Whether `text` holds `part`; prints `text` where not. */
int scratch_says(const char *text, const char *part);

#endif
