/* src/base: errors, text and numbers, arenas, random numbers, shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define R123_USE_PHILOX_64BIT 0
#include <Random123/philox.h>

#include "base/arena.h"
#include "base/device.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/shape.h"
#include "base/status.h"
#include "base/text.h"
#include "scratch.h"

/* ---- errors and messages ------------------------------------------------------------------------------- */

static void test_first_error(void **state)
{
    (void)state;
    claret_error_clear();
    assert_string_equal(claret_error(), "");
    claret_error_context("nothing is recorded yet");
    assert_string_equal(claret_error(), "");
    assert_int_equal(claret_fail(CLARET_SHAPE, "first %d\n", 1), CLARET_SHAPE);
    assert_int_equal(claret_fail(CLARET_IO, "second"), CLARET_IO);
    claret_error_context("while doing %s", "this");
    assert_string_equal(claret_error(), "first 1\nwhile doing this");
    claret_error_clear();
    assert_string_equal(claret_error(), "");
}

static void test_long_error(void **state)
{
    char *text = malloc(100001);

    (void)state;
    memset(text, 'x', 100000);
    text[100000] = '\0';
    claret_error_clear();
    claret_fail(CLARET_BUILD, "%s", text);
    assert_true(scratch_says(claret_error(), "[cut]"));
    claret_error_context("building gemm.cl");
    assert_true(scratch_says(claret_error(), "\nbuilding gemm.cl"));
    for (int i = 0; i < 100; i++)
        claret_error_context("%s", text);
    assert_true(strlen(claret_error()) < 20000);
    free(text);
    claret_error_clear();
}

static void test_error_shows_no_controls(void **state)
{
    (void)state;
    claret_error_clear();
    claret_fail(CLARET_FORMAT, "a\x1b[31mb\tc\nd\x7f\xc3\xa9");
    assert_string_equal(claret_error(), "a?[31mb\tc\nd?\xc3\xa9");
    claret_error_clear();
}

static void *fail_elsewhere(void *user)
{
    (void)user;
    assert_string_equal(claret_error(), "");
    claret_fail(CLARET_IO, "in the thread");
    return claret_error_take();
}

static void test_error_threads(void **state)
{
    pthread_t thread;
    void *text;

    (void)state;
    claret_error_clear();
    claret_fail(CLARET_IO, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, &text), 0);
    assert_string_equal(claret_error(), "here");
    assert_string_equal(text, "in the thread");
    claret_error_clear();
    claret_error_give(text);
    assert_string_equal(claret_error(), "in the thread");
    text = claret_error_take();
    assert_string_equal(claret_error(), "");
    assert_null(claret_error_take());
    claret_error_give(NULL);
    assert_string_equal(claret_error(), "");
    free(text);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(claret_status_name(CLARET_OK), "CLARET_OK");
    assert_string_equal(claret_status_name(CLARET_NOT_FOUND), "CLARET_NOT_FOUND");
    assert_string_equal(claret_status_name(CLARET_INTERNAL), "CLARET_INTERNAL");
    assert_non_null(claret_status_name(CLARET_STATUS_COUNT));
    assert_non_null(claret_status_name((enum claret_status) - 1));
    assert_true(claret_version()[0] >= '0' && claret_version()[0] <= '9');
}

static char logged[64];
static enum claret_log_level logged_level;

static void keep_log(void *user, enum claret_log_level level, const char *message)
{
    assert_ptr_equal(user, logged);
    logged_level = level;
    claret_print(logged, sizeof(logged), "%s", message);
}

static void test_log(void **state)
{
    (void)state;
    claret_warn("nobody listens");
    claret_set_log(keep_log, logged);
    claret_warn("%d of %s", 3, "four");
    assert_string_equal(logged, "3 of four");
    assert_int_equal(logged_level, CLARET_LOG_WARNING);
    claret_info("i");
    assert_int_equal(logged_level, CLARET_LOG_INFO);
    claret_debug("d");
    assert_int_equal(logged_level, CLARET_LOG_DEBUG);
    claret_set_log(NULL, NULL);
    claret_warn("again nobody");
    assert_string_equal(logged, "d");
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void test_text(void **state)
{
    struct claret_text text = {0};
    char *taken = NULL;

    (void)state;
    for (int i = 0; i < 1000; i++)
        claret_text_add(&text, "%d,", i);
    assert_int_equal(text.size, strlen(text.data));
    assert_int_equal(text.size, 10 * 2 + 90 * 3 + 900 * 4);
    assert_true(scratch_says(text.data, ",998,999,"));
    assert_int_equal(claret_text_take(&text, &taken), CLARET_OK);
    assert_null(text.data);
    claret_text_free(taken);
    assert_int_equal(claret_text_take(&text, &taken), CLARET_OK);
    assert_string_equal(taken, "");
    claret_text_free(taken);
    claret_text_free(NULL);
    text.failed = true;
    claret_text_add(&text, "dropped");
    claret_error_clear();
    assert_int_equal(claret_text_take(&text, &taken), CLARET_NO_MEMORY);
}

static void test_parse_int(void **state)
{
    static const char *const bad[] = {
        "", "-", " 1", "1 ", "+1", "1x", "0x1", "1.0", "1e3", "--1", "11", "-11", "99999999999999999999"};
    int64_t value = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(claret_parse_int(bad[i], -10, 10, &value));
    assert_int_equal(value, 77);
    assert_true(claret_parse_int("-10", -10, 10, &value) && value == -10);
    assert_true(claret_parse_int("007", -10, 10, &value) && value == 7);
    assert_true(claret_parse_int("-0", -10, 10, &value) && value == 0);
    assert_true(claret_parse_int("9223372036854775807", INT64_MIN, INT64_MAX, &value) && value == INT64_MAX);
    assert_true(claret_parse_int("-9223372036854775808", INT64_MIN, INT64_MAX, &value) && value == INT64_MIN);
    assert_false(claret_parse_int("9223372036854775808", INT64_MIN, INT64_MAX, &value));
    assert_false(claret_parse_int("-9223372036854775809", INT64_MIN, INT64_MAX, &value));
}

static void test_parse_double(void **state)
{
    static const char *const bad[] = {"",     " 1", "1 ",    "nan", "inf",   "0x1p3", "1,5",
                                      "1.5x", "1e", "1e999", "-",   "1.2.3", "."};
    double value = 77;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (claret_parse_double(bad[i], &value))
            fail_msg("accepted: %s", bad[i]);
    }
    assert_true(value == 77);
    assert_true(claret_parse_double("0.001", &value) && value == 0.001);
    assert_true(claret_parse_double("-1.5e-3", &value) && value == -1.5e-3);
    assert_true(claret_parse_double("+2", &value) && value == 2);
}

static void test_sizes(void **state)
{
    uint64_t bytes = 77;
    char buffer[32];

    (void)state;
    assert_false(claret_parse_size("", &bytes) || claret_parse_size("M", &bytes) ||
                 claret_parse_size("-1", &bytes) || claret_parse_size("1T", &bytes) ||
                 claret_parse_size("1MB", &bytes) || claret_parse_size("1.5G", &bytes) ||
                 claret_parse_size("17179869184G", &bytes));
    assert_true(bytes == 77);
    assert_true(claret_parse_size("0", &bytes) && bytes == 0);
    assert_true(claret_parse_size("512M", &bytes) && bytes == UINT64_C(512) << 20);
    assert_true(claret_parse_size("3k", &bytes) && bytes == 3072);
    assert_true(claret_parse_size("17179869183G", &bytes) && bytes == UINT64_C(17179869183) << 30);
    assert_string_equal(claret_format_bytes(0, buffer), "0 bytes");
    assert_string_equal(claret_format_bytes(1023, buffer), "1023 bytes");
    assert_string_equal(claret_format_bytes(1536, buffer), "1.5 KiB");
    assert_string_equal(claret_format_bytes((1 << 20) - 1, buffer), "1.0 MiB");
    assert_string_equal(claret_format_bytes(UINT64_C(3) << 29, buffer), "1.5 GiB");
    assert_string_equal(claret_format_bytes(UINT64_MAX, buffer), "16.0 EiB");
}

static const char *word(int index, const void *user)
{
    return ((const char *const *)user)[index];
}

static void test_nearest(void **state)
{
    static const char *const words[] = {"batch-size", "lr", "momentum", "max-memory", "max-steps", NULL};

    (void)state;
    assert_int_equal(claret_nearest("batchsize", word, words), 0);
    assert_int_equal(claret_nearest("bacth-size", word, words), 0);
    assert_int_equal(claret_nearest("momentun", word, words), 2);
    assert_int_equal(claret_nearest("max-step", word, words), 4);
    assert_int_equal(claret_nearest("lr", word, words), 1);
    assert_int_equal(claret_nearest("x", word, words), -1);
    assert_int_equal(claret_nearest("", word, words), -1);
    assert_int_equal(claret_nearest("something-else", word, words), -1);
    assert_int_equal(claret_nearest("a-name-that-is-longer-than-anything-that-was-ever-called-an-option-here",
                                    word, words),
                     -1);
}

/* Numbers are the C locale's under a locale with decimal commas, which the test makes where the system has
 * none. */
static void test_comma_locale(void **state)
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", NULL};
    struct claret_text text = {0};
    char command[1024], plain[16], buffer[32];
    double value;
    int found = -1;

    (void)state;
    for (int i = 0; locales[i] && found < 0; i++)
        found = setlocale(LC_ALL, locales[i]) ? i : -1;
    if (found < 0) {
        snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s >%s 2>&1", scratch("de_DE.UTF-8"),
                 scratch("localedef.log"));
        setenv("LOCPATH", scratch("."), 1);
        if (system(command) != 0 || !setlocale(LC_ALL, "de_DE.UTF-8"))
            skip();
    }
    snprintf(plain, sizeof(plain), "%.1f", 1.5);
    assert_string_equal(plain, "1,5"); /* else the test would show nothing */
    claret_text_add(&text, "%.3f %a", 1.5, 1.5);
    assert_string_equal(text.data, "1.500 0x1.8p+0");
    claret_text_drop(&text);
    assert_string_equal(claret_format_bytes(1536, buffer), "1.5 KiB");
    assert_true(claret_parse_double("1.5", &value) && value == 1.5);
    assert_false(claret_parse_double("1,5", &value));
    claret_error_clear();
    claret_fail(CLARET_INVALID, "%g", 0.25);
    assert_string_equal(claret_error(), "0.25");
    claret_error_clear();
    snprintf(plain, sizeof(plain), "%.1f", 1.5);
    assert_string_equal(plain, "1,5"); /* the program's locale is as it was */
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

/* ---- arenas -------------------------------------------------------------------------------------------- */

static void test_arena(void **state)
{
    struct claret_arena arena = {0};
    unsigned char *previous = NULL;

    (void)state;
    for (size_t size = 0; size < 40000; size = size * 3 / 2 + 1) {
        unsigned char *memory = claret_arena_alloc(&arena, size);
        assert_non_null(memory);
        assert_ptr_not_equal(memory, previous);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xAA, size);
        previous = memory;
    }
    assert_string_equal(claret_arena_strdup(&arena, "text"), "text");
    assert_string_equal(claret_arena_printf(&arena, "%s.%d", "a", 1), "a.1");
    assert_null(claret_arena_alloc(&arena, SIZE_MAX));
    claret_arena_free(&arena);
    assert_null(arena.blocks);
    claret_arena_free(&arena);
}

/* ---- random numbers ------------------------------------------------------------------------------------ */

/* The vectors of Random123's kat_vectors for philox4x32-10. */
static void test_philox(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    struct claret_rng rng;

    (void)state;
    for (int i = 0; i < 3; i++) {
        philox4x32_ctr_t counter;
        philox4x32_key_t key;
        memcpy(counter.v, known[i].counter, sizeof(counter.v));
        memcpy(key.v, known[i].key, sizeof(key.v));
        counter = philox4x32(counter, key);
        assert_memory_equal(counter.v, known[i].words, sizeof(counter.v));
    }
    claret_rng_init(&rng, 0, (enum claret_stream)0, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(claret_rng_u32(&rng), known[0].words[i]);
}

/* Key: the seed's halves. Counter: block, 0, index, stream. */
static void test_rng_counter(void **state)
{
    philox4x32_key_t key = {{0x89abcdef, 0x01234567}};
    struct claret_rng rng;

    (void)state;
    claret_rng_init(&rng, UINT64_C(0x0123456789abcdef), CLARET_STREAM_SHUFFLE, 41);
    for (uint32_t block = 0; block < 3; block++) {
        philox4x32_ctr_t counter = {{block, 0, 41, CLARET_STREAM_SHUFFLE}};
        philox4x32_ctr_t words = philox4x32(counter, key);
        for (int i = 0; i < 4; i++)
            assert_int_equal(claret_rng_u32(&rng), words.v[i]);
    }
}

static void test_rng_ranges(void **state)
{
    struct claret_rng rng;
    int counts[6] = {0}, high = 0;
    float sum = 0;

    (void)state;
    claret_rng_init(&rng, 1, CLARET_STREAM_INIT, 0);
    for (int i = 0; i < 60000; i++)
        counts[claret_rng_below(&rng, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_in_range(counts[i], 9600, 10400);
    assert_int_equal(claret_rng_below(&rng, 1), 0);
    /* A bound that takes no rejection would favour some numbers twofold. */
    for (int i = 0; i < 10000; i++) {
        uint32_t number = claret_rng_below(&rng, 0xC0000000);
        assert_true(number < 0xC0000000);
        high += number >= 0x60000000;
    }
    assert_in_range(high, 4800, 5200);
    for (int i = 0; i < 10000; i++) {
        float number = claret_rng_float(&rng);
        assert_true(number >= 0 && number < 1);
        assert_true(number * 16777216 == floorf(number * 16777216));
        sum += number;
    }
    assert_true(sum > 4800 && sum < 5200);
}

static void test_permutation(void **state)
{
    uint32_t order[1000], other[1000];
    unsigned char seen[1000] = {0};
    struct claret_rng rng;
    int same = 0;

    (void)state;
    claret_rng_init(&rng, 5, CLARET_STREAM_SHUFFLE, 0);
    claret_rng_permutation(&rng, order, 1000);
    for (int i = 0; i < 1000; i++) {
        assert_true(order[i] < 1000 && !seen[order[i]]);
        seen[order[i]] = 1;
    }
    claret_rng_init(&rng, 5, CLARET_STREAM_SHUFFLE, 1);
    claret_rng_permutation(&rng, other, 1000);
    for (int i = 0; i < 1000; i++)
        same += order[i] == other[i];
    assert_true(same < 20);
    claret_rng_init(&rng, 5, CLARET_STREAM_SHUFFLE, 0);
    claret_rng_permutation(&rng, other, 1000);
    assert_memory_equal(order, other, sizeof(order));
    claret_rng_permutation(&rng, order, 0);
    claret_rng_permutation(&rng, order, 1);
    assert_int_equal(order[0], 0);
}

/* ---- shapes and the plain device ----------------------------------------------------------------------- */

static void test_shapes(void **state)
{
    struct claret_shape shape = claret_shape4(16, 3, 5, 7), other = shape, none = {0};
    char buffer[96];

    (void)state;
    assert_int_equal(claret_shape_count(&shape), 1680);
    assert_int_equal(claret_shape_count(&none), 1);
    assert_string_equal(claret_shape_format(&shape, 0, buffer), "16x3x5x7");
    assert_string_equal(claret_shape_format(&shape, 1, buffer), "3x5x7");
    assert_string_equal(claret_shape_format(&none, 0, buffer), "");
    assert_true(claret_shape_equal(&shape, &other));
    other.dim[3] = 8;
    assert_false(claret_shape_equal(&shape, &other));
    other = claret_shape2(16, 3);
    assert_false(claret_shape_equal(&shape, &other));
    shape = claret_shape4(INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX);
    assert_int_equal(strlen(claret_shape_format(&shape, 0, buffer)), 4 * 19 + 3);
}

static void test_plain_device(void **state)
{
    struct claret_device_desc desc;

    (void)state;
    claret_device_desc_default(&desc);
    assert_non_null(desc.name);
    assert_true(desc.max_work_group >= 1 && desc.local_mem >= 16384 && desc.max_alloc >= 1 << 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error),
        cmocka_unit_test(test_long_error),
        cmocka_unit_test(test_error_shows_no_controls),
        cmocka_unit_test(test_error_threads),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_parse_int),
        cmocka_unit_test(test_parse_double),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_comma_locale),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_rng_counter),
        cmocka_unit_test(test_rng_ranges),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_plain_device),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
