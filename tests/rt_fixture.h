/* What the tests of rt on a device share: a scratch folder with kernels in it, the messages that were sent,
 * skipping where there is no device. Every group ends with no OpenCL object alive. */
#ifndef CLARET_TESTS_RT_FIXTURE_H
#define CLARET_TESTS_RT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/rt.h"

extern char fixture_device[256];     /* what claret_rt_describe() says */
extern char fixture_folder[64];      /* scratch, removed at the end */
extern char fixture_kernels[96];     /* kernel folder in it: common.clh and what tests write */
extern char fixture_messages[16384]; /* since fixture_forget(), one a line, "w ", "i " or "d " in front */
void fixture_forget(void);
int fixture_count(const char *part); /* of messages that hold it */

/* 77 to be returned by main where no device can be had, else 0. */
int fixture_begin(void);
void fixture_end(void);
int fixture_no_objects(void **state); /* teardown */

/* Writes a file of the kernel folder; NULL removes it. */
void fixture_kernel(const char *name, const char *text);
/* Both options NULL: no cache, the embedded kernels. */
struct claret_rt *fixture_open(const char *cache_dir, const char *kernel_dir);
void fixture_remove(const char *path); /* with all that is in it */

/* Fails with the library's error text where `expression` is not CLARET_OK. */
#define WORKS(expression)                                                                                    \
    do {                                                                                                     \
        if ((expression) != CLARET_OK)                                                                       \
            fail_msg("%s: %s", #expression, claret_error());                                                 \
    } while (0)

#endif
