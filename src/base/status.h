/* The first error of a call, kept per thread with its context (DESIGN: errors tell what, where, what to do).
 */
#ifndef CLARET_BASE_STATUS_H
#define CLARET_BASE_STATUS_H

#include <claret/claret.h>

/* Records the error and returns `status`. Only the first since claret_error_clear() is kept, so it can be
 * called again on the way up without hiding the cause. */
enum claret_status claret_fail(enum claret_status status, const char *format, ...) CLARET_PRINTF(2, 3);

/* The same, with the status in the compiler's sight: it then knows which paths return CLARET_OK, and does not
 * warn that an out-parameter may be unset there. */
static inline enum claret_status claret_status_pass(enum claret_status status)
{
    return status;
}
#define claret_fail(status, ...) (claret_fail(status, __VA_ARGS__), claret_status_pass(status))

/* Adds a line to the recorded error: what was being done. Does nothing when none is recorded. */
void claret_error_context(const char *format, ...) CLARET_PRINTF(1, 2);

/* Every public function that can fail begins with this. */
void claret_error_clear(void);

/* Carries an error from one thread to another: take it (malloc'ed, NULL if none), set it in the other. */
char *claret_error_take(void);
void claret_error_give(char *text); /* frees `text` */

static inline enum claret_status claret_no_memory(void)
{
    return claret_fail(CLARET_NO_MEMORY, "host memory is used up");
}

#define CLARET_TRY(expression)                                                                               \
    do {                                                                                                     \
        enum claret_status claret_try_ = (expression);                                                       \
        if (claret_try_ != CLARET_OK)                                                                        \
            return claret_try_;                                                                              \
    } while (0)

/* The same for functions with one cleanup label and a variable `status`. */
#define CLARET_GOTO(label, expression)                                                                       \
    do {                                                                                                     \
        status = (expression);                                                                               \
        if (status != CLARET_OK)                                                                             \
            goto label;                                                                                      \
    } while (0)

#endif
