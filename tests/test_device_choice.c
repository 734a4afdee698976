/* Choosing a device from the list by --device and --platform. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "device_list.h"

struct choose_row {
    const char *device, *platform;
    enum claret_status status;
    size_t index;
    const char *says; /* in the error, or in the note */
};

static const struct choose_row choose_rows[] = {
    /* None given: a GPU with memory of its own, though one without comes first. */
    {"", "", CLARET_OK, 3, ""},
    {NULL, NULL, CLARET_OK, 3, ""},
    {"gpu", NULL, CLARET_OK, 3, ""},
    {"GPU", "", CLARET_OK, 3, ""},
    {"cpu", "", CLARET_OK, 0, ""},
    {"accelerator", "", CLARET_NO_DEVICE, 0, "1 (0:1): Old Thing, Alpha OpenCL; not usable: no compiler"},
    /* The flat index. */
    {"0", "", CLARET_OK, 0, ""},
    {"4", "", CLARET_OK, 4, ""},
    {"04", "", CLARET_OK, 4, ""},
    {"5", "", CLARET_NO_DEVICE, 0, "not usable: dead"},
    {"9", "", CLARET_NO_DEVICE, 0, "driver bad.icd aborted"},
    {"10", "", CLARET_NOT_FOUND, 0, "0 (0:0): Big CPU"},
    {"6800", "", CLARET_NOT_FOUND, 0, "there is no device \"6800\""},
    {"99999999999999999999", "", CLARET_NOT_FOUND, 0, "there is no device"},
    {"-1", "", CLARET_NOT_FOUND, 0, "there is no device"},
    /* Platform and device within it. */
    {"2:1", "", CLARET_OK, 3, ""},
    {"3:0", "", CLARET_OK, 6, ""},
    {"1:0", "", CLARET_NOT_FOUND, 0, "there are:"},
    {"2:4", "", CLARET_NOT_FOUND, 0, "there are:"},
    {"0:1", "", CLARET_NO_DEVICE, 0, "no compiler"},
    {"2:", "", CLARET_NOT_FOUND, 0, "there is no device \"2:\""},
    {":1", "", CLARET_NOT_FOUND, 0, "there is no device"},
    {"2:1", "rusticl", CLARET_NOT_FOUND, 0, "in platform \"rusticl\""},
    {"2:1", "2", CLARET_OK, 3, ""},
    /* Part of a name. */
    {"big", "", CLARET_OK, 0, ""},
    {"680m", "", CLARET_OK, 2, ""},
    {"6800 XT", "", CLARET_OK, 4, ""},
    {"radeonSI", "", CLARET_OK, 6, ""},
    {"radeon", "", CLARET_AMBIGUOUS, 0, "6 (3:0): AMD Radeon RX 6800 (radeonsi), rusticl"},
    {"nvidia", "", CLARET_NOT_FOUND, 0, "there is no device \"nvidia\"; there are:"},
    {"dead", "", CLARET_NO_DEVICE, 0, "not usable: dead"},
    /* A whole name goes before a part of others', a usable device before those that are not. */
    {"radeon rx 6800", "", CLARET_OK, 3, ""},
    {"twin", "", CLARET_OK, 8, ""},
    /* --platform narrows. */
    {"", "0", CLARET_OK, 0, ""},
    {"", "rusti", CLARET_OK, 6, ""},
    {"", "RUSTICL", CLARET_OK, 6, ""},
    {"", "alpha opencl", CLARET_OK, 0, ""},
    {"", "graphics", CLARET_OK, 3, ""},
    {"", "alpha", CLARET_AMBIGUOUS, 0, "2: Alpha OpenCL Graphics"},
    {"", "gamma", CLARET_NOT_FOUND, 0, "1: Beta (no devices)"},
    {"", "5", CLARET_NOT_FOUND, 0, "there is no platform \"5\""},
    {"", "beta", CLARET_NO_DEVICE, 0, "in platform \"beta\""},
    {"gpu", "0", CLARET_NO_DEVICE, 0, "no usable GPU in platform \"0\""},
    {"radeon", "rusticl", CLARET_OK, 6, ""},
    {"big", "rusticl", CLARET_NOT_FOUND, 0, "in platform \"rusticl\""},
    /* A number counts within the platform then. */
    {"1", "2", CLARET_OK, 3, ""},
    {"0", "graphics", CLARET_OK, 2, ""},
    {"4", "2", CLARET_NOT_FOUND, 0, "there is no device \"4\" in platform \"2\""},
    {"1", "0", CLARET_NO_DEVICE, 0, "no compiler"},
};

static void check_choice(const struct claret_devices *devices, const struct choose_row *row)
{
    size_t index = 77;
    const char *note = NULL;
    enum claret_status status = claret_devices_choose(devices, row->device, row->platform, &index, &note);
    if (status != row->status)
        fail_msg("--device '%s' --platform '%s': %s, %s", row->device, row->platform,
                 claret_status_name(status), claret_error());
    if (status == CLARET_OK) {
        assert_int_equal(index, row->index);
        assert_string_equal(note, row->says);
    } else {
        assert_int_equal(index, 77);
        if (strstr(claret_error(), row->says) == NULL)
            fail_msg("'%s' is not in: %s", row->says, claret_error());
    }
}

static void test_choose(void **state)
{
    (void)state;
    struct claret_devices *devices = list_example();
    for (size_t i = 0; i < sizeof choose_rows / sizeof *choose_rows; i++)
        check_choice(devices, &choose_rows[i]);
    size_t index = 77;
    assert_int_equal(claret_devices_choose(devices, "680M", NULL, &index, NULL), CLARET_OK);
    assert_int_equal(index, 2);
    claret_devices_destroy(devices);
}

/* An ambiguous name lists the matches and nothing else. */
static void test_choose_lists_matches(void **state)
{
    (void)state;
    struct claret_devices *devices = list_example();
    size_t index;
    assert_int_equal(claret_devices_choose(devices, "rx 68", NULL, &index, NULL), CLARET_AMBIGUOUS);
    assert_string_equal(claret_error(), "several devices match \"rx 68\":\n"
                                        "  3 (2:1): Radeon RX 6800, Alpha OpenCL Graphics\n"
                                        "  4 (2:2): Radeon RX 6800 XT, Alpha OpenCL Graphics\n"
                                        "  6 (3:0): AMD Radeon RX 6800 (radeonsi), rusticl");
    claret_devices_destroy(devices);
}

/* Beside --platform the list is of its devices, by the numbers that --device then takes. */
static void test_choose_lists_the_platform(void **state)
{
    (void)state;
    struct claret_devices *devices = list_example();
    size_t index;
    assert_int_equal(claret_devices_choose(devices, "nvidia", "alpha opencl", &index, NULL),
                     CLARET_NOT_FOUND);
    assert_string_equal(claret_error(),
                        "there is no device \"nvidia\" in platform \"alpha opencl\"; there are:\n"
                        "  0 (0:0): Big CPU, Alpha OpenCL\n"
                        "  1 (0:1): Old Thing, Alpha OpenCL; not usable: no compiler");
    assert_int_equal(claret_devices_choose(devices, "rx 68", "2", &index, NULL), CLARET_AMBIGUOUS);
    assert_string_equal(claret_error(), "several devices match \"rx 68\":\n"
                                        "  1 (2:1): Radeon RX 6800, Alpha OpenCL Graphics\n"
                                        "  2 (2:2): Radeon RX 6800 XT, Alpha OpenCL Graphics");
    assert_int_equal(claret_devices_choose(devices, "0", "beta", &index, NULL), CLARET_NOT_FOUND);
    assert_string_equal(claret_error(), "there is no device \"0\" in platform \"beta\"; it has none");
    claret_devices_destroy(devices);
}

/* One card through two platforms is not several, and the first is taken; two cards are, and so are two
 * devices of one platform in one place. */
static void test_choose_same_card(void **state)
{
    (void)state;
    static const char *const reasons[8] = {NULL};
    static const char *const first_broken[8] = {"broken"};
    static const struct choose_row same = {
        "card", "", CLARET_OK, 0,
        "devices 0 (0:0) and 1 (1:0) are one, seen through P and Q; 0 (0:0) is taken"};
    static const struct choose_row second = {"card", "", CLARET_OK, 1, ""};
    static const struct choose_row several = {"card", "", CLARET_AMBIGUOUS, 0, "2 (2:0)"};
    static const struct choose_row by_index = {"1", "", CLARET_OK, 1, ""};

    for (int with_other = 0; with_other < 3; with_other++) {
        struct claret_devices *devices = list_start();
        list_platform(devices, "P");
        list_device(devices, "gpu", "Card one", 0, "0000:03:00.0", 0);
        list_platform(devices, "Q");
        list_device(devices, "gpu", "Card 1", 0, "0000:03:00.0", 0);
        if (with_other == 1) {
            list_platform(devices, "R");
            list_device(devices, "gpu", "Card two", 0, "0000:04:00.0", 0);
        }
        list_results(devices, with_other == 2 ? first_broken : reasons);
        check_choice(devices, with_other == 0 ? &same : with_other == 1 ? &several : &second);
        check_choice(devices, &by_index);
        claret_devices_destroy(devices);
    }

    /* Nothing tells that these are one. */
    struct claret_devices *devices = list_start();
    list_platform(devices, "P");
    list_device(devices, "gpu", "Card", 0, "", 0x1002);
    list_platform(devices, "Q");
    list_device(devices, "gpu", "Card", 0, "", 0x1002);
    list_results(devices, reasons);
    const struct choose_row unknown = {"card", "", CLARET_AMBIGUOUS, 0, "1 (1:0)"};
    check_choice(devices, &unknown);
    claret_devices_destroy(devices);

    devices = list_start();
    list_platform(devices, "P");
    list_device(devices, "gpu", "Card half", 0, "0000:03:00.0", 0);
    list_device(devices, "gpu", "Card half", 0, "0000:03:00.0", 0);
    list_results(devices, reasons);
    const struct choose_row halves = {"card", "", CLARET_AMBIGUOUS, 0, "1 (0:1)"};
    check_choice(devices, &halves);
    claret_devices_destroy(devices);
}

static void test_choose_default(void **state)
{
    (void)state;
    static const char *const none[4] = {"a", "b", "c", "d"};
    static const struct {
        const char *reasons[4]; /* of a CPU, an accelerator, a GPU without and one with memory of its own */
        size_t index;
    } rows[] = {{{NULL, NULL, NULL, NULL}, 3},
                {{NULL, NULL, NULL, "x"}, 2},
                {{NULL, NULL, "x", "x"}, 1},
                {{NULL, "x", "x", "x"}, 0}};
    for (size_t i = 0; i <= sizeof rows / sizeof *rows; i++) {
        bool last = i == sizeof rows / sizeof *rows;
        struct claret_devices *devices = list_start();
        list_platform(devices, "P");
        list_device(devices, "cpu", "C", 1, "", 0);
        list_device(devices, "accelerator", "A", 0, "", 0);
        list_device(devices, "gpu", "U", 1, "", 0);
        list_device(devices, "gpu", "G", 0, "", 0);
        list_results(devices, last ? none : rows[i].reasons);
        struct choose_row row = {"", "", last ? CLARET_NO_DEVICE : CLARET_OK, last ? 0 : rows[i].index,
                                 last ? "3 (0:3): G, P; not usable: d" : ""};
        check_choice(devices, &row);
        claret_devices_destroy(devices);
    }
}

static void test_choose_from_nothing(void **state)
{
    (void)state;
    static const char *const selectors[] = {"", "0", "0:0", "gpu", "radeon"};
    struct claret_devices *devices = list_start();
    list_platform(devices, "Empty");
    list_results(devices, NULL);
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++) {
        struct choose_row row = {selectors[i], "", CLARET_NO_DEVICE, 0, "no usable OpenCL device"};
        check_choice(devices, &row);
    }
    claret_devices_destroy(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_choose_lists_matches),
        cmocka_unit_test(test_choose_lists_the_platform),
        cmocka_unit_test(test_choose_same_card),
        cmocka_unit_test(test_choose_default),
        cmocka_unit_test(test_choose_from_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
