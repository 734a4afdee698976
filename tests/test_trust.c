/* Which devices need not be tried again: what their keys depend on, and the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "rt/trust.h"
#include "scratch.h"

#define DEVICE "{\"name\":\"a device\"}"

static char file[256], library[256];

/* The key of `device` where the driver's library is as it is now. */
static void key_of(const char *device, char key[CLARET_TRUST_KEY])
{
    struct claret_driver driver = {.file = file, .library = library};
    struct claret_drivers drivers = {.list = &driver, .count = 1};
    struct claret_trust trust = {0};
    assert_int_equal(claret_trust_load(scratch("cache"), &drivers, &trust), CLARET_OK);
    assert_int_equal(claret_trust_key(&trust, device, key), CLARET_OK);
    claret_trust_drop(&trust);
}

static void load(struct claret_trust *trust)
{
    struct claret_drivers none = {0};
    *trust = (struct claret_trust){0};
    assert_int_equal(claret_trust_load(scratch("cache"), &none, trust), CLARET_OK);
}

static int setup(void **state)
{
    if (scratch_setup(state))
        return -1;
    snprintf(file, sizeof file, "%s", scratch_write("some.icd", "x", 1));
    snprintf(library, sizeof library, "%s", scratch_write("libsome.so", "driver", 6));
    return 0;
}

static void differs(const char key[CLARET_TRUST_KEY])
{
    char now[CLARET_TRUST_KEY];
    key_of(DEVICE, now);
    assert_string_not_equal(now, key);
}

static void same(const char key[CLARET_TRUST_KEY])
{
    char now[CLARET_TRUST_KEY];
    key_of(DEVICE, now);
    assert_string_equal(now, key);
}

static void test_key(void **state)
{
    char key[CLARET_TRUST_KEY], other[CLARET_TRUST_KEY];
    (void)state;
    key_of(DEVICE, key);
    same(key);
    key_of("{\"name\":\"another\"}", other);
    assert_string_not_equal(other, key);

    setenv("POCL_SOMETHING", "1", 1); /* drivers read such */
    differs(key);
    unsetenv("POCL_SOMETHING");
    setenv("CLARET_TEST_SOMETHING", "1", 1);
    same(key);
    unsetenv("CLARET_TEST_SOMETHING");

    struct stat before;
    assert_int_equal(stat(library, &before), 0);
    scratch_write("libsome.so", "driver 2", 8);
    differs(key);
    scratch_write("libsome.so", "driver", 6);
    const struct timespec later[2] = {before.st_mtim, {before.st_mtim.tv_sec + 1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, library, later, 0), 0);
    differs(key);
    const struct timespec again[2] = {before.st_mtim, before.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, library, again, 0), 0);
    same(key);
    unlink(file);
    differs(key);
}

static void test_file(void **state)
{
    struct claret_trust trust;
    char keys[70][CLARET_TRUST_KEY], name[32];
    (void)state;
    load(&trust);
    assert_int_equal(trust.count, 0);
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "device %d", i);
        assert_int_equal(claret_trust_key(&trust, name, keys[i]), CLARET_OK);
        assert_false(claret_trust_has(&trust, keys[i]));
        assert_int_equal(claret_trust_add(&trust, keys[i]), CLARET_OK);
        assert_int_equal(claret_trust_add(&trust, keys[i]), CLARET_OK); /* is there already */
    }
    claret_trust_drop(&trust);
    load(&trust);
    assert_int_equal(trust.count, 64); /* the last ones */
    for (int i = 0; i < 70; i++)
        assert_int_equal(claret_trust_has(&trust, keys[i]), i >= 6);
    assert_int_equal(claret_trust_add(&trust, "no key"), CLARET_OK);
    assert_int_equal(trust.count, 64);
    claret_trust_drop(&trust);
}

static void test_damaged(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "0123\n",
                                        "no newline",
                                        "\001\002\n\n\n",
                                        "zz23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"};
    struct claret_trust trust;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scratch_write("cache/devices", texts[i], strlen(texts[i]));
        load(&trust);
        assert_int_equal(trust.count, 0);
        claret_trust_drop(&trust);
    }
    scratch_remove(scratch("cache/devices"));
    assert_int_equal(mkdir(scratch("cache/devices"), 0700),
                     0); /* in the way: nothing is kept, and that is all */
    load(&trust);
    assert_int_equal(trust.count, 0);
    char key[CLARET_TRUST_KEY];
    assert_int_equal(claret_trust_key(&trust, DEVICE, key), CLARET_OK);
    assert_int_equal(claret_trust_add(&trust, key), CLARET_OK);
    claret_trust_drop(&trust);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_key), cmocka_unit_test(test_file),
                                       cmocka_unit_test(test_damaged)};
    return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
