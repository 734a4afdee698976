/* Growing text, numbers in the C locale, nearest names. */
#ifndef CLARET_BASE_TEXT_H
#define CLARET_BASE_TEXT_H

#include <stdbool.h>
#include <stdarg.h>

#include "status.h"

/* snprintf and vsnprintf in the C locale whatever the program's locale is. */
int claret_print(char *buffer, size_t size, const char *format, ...) CLARET_PRINTF(3, 4);
int claret_vprint(char *buffer, size_t size, const char *format, va_list arguments);

/* A text that grows. Zero-initialise; `failed` is set once memory runs out, and what follows is dropped. */
struct claret_text {
    char *data; /* NUL-terminated once anything was added */
    size_t size, capacity;
    bool failed;
};
/* printf in the C locale whatever the program's locale is. */
void claret_text_add(struct claret_text *text, const char *format, ...) CLARET_PRINTF(2, 3);
void claret_text_vadd(struct claret_text *text, const char *format, va_list arguments);
void claret_text_drop(struct claret_text *text);
/* Gives the text away (malloc'ed, never NULL on CLARET_OK); `text` is empty afterwards. */
enum claret_status claret_text_take(struct claret_text *text, char **result);

/* Whole text, C locale, no leading space. false: not a number, trailing characters or out of range. */
bool claret_parse_int(const char *text, int64_t minimum, int64_t maximum, int64_t *value);
bool claret_parse_double(const char *text, double *value); /* finite ones only */
bool claret_parse_size(const char *text, uint64_t *bytes); /* "512M": K, M, G are binary */

/* "1.5 GiB" into `buffer`, which is returned. */
const char *claret_format_bytes(uint64_t bytes, char buffer[32]);

/* The index of the candidate with the smallest edit distance to `name`, -1 if none is near (more than a third
 * of its length off, at least 2). next(i, user) returns NULL past the end. */
int claret_nearest(const char *name, const char *(*next)(int index, const void *user), const void *user);

/* ".net" of "mine.net"; nothing ends in all of itself. */
bool claret_ends_in(const char *text, const char *ending);
char *claret_strdup(const char *text); /* NULL: out of memory */

#endif
