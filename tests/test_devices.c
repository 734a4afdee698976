/* The list of devices without any: the child's stream, choosing, which drivers there are, OpenCL's codes.
 * Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "device_list.h"
#include "rt/cl.h"
#include "rt/drivers.h"

/* 0 0:0  Big CPU                      platform 0 Alpha OpenCL
 * 1 0:1  Old Thing, accelerator       not usable
 *                                     platform 1 Beta, empty
 * 2 2:0  Radeon 680M, unified         platform 2 Alpha OpenCL Graphics
 * 3 2:1  Radeon RX 6800               same place as 6
 * 4 2:2  Radeon RX 6800 XT
 * 5 2:3  Dead Card                    not usable
 * 6 3:0  AMD Radeon RX 6800 (radeonsi)  platform 3 rusticl
 * 7 3:1  Twin                         not usable
 * 8 3:2  Twin
 * 9 4:0  bad.icd                      platform 4 of a driver that died */
static struct claret_devices *example(void)
{
    static const char *const reasons[] = {NULL, "no compiler", NULL, NULL, NULL, "dead", NULL, "sick", NULL};
    struct claret_devices *devices = list_start();
    list_platform(devices, "Alpha OpenCL");
    list_device(devices, "cpu", "Big CPU", 1, "", 0);
    list_device(devices, "accelerator", "Old Thing", 0, "", 0);
    list_platform(devices, "Beta");
    list_platform(devices, "Alpha OpenCL Graphics");
    list_device(devices, "gpu", "Radeon 680M", 1, "0000:05:00.0", 0x1002);
    list_device(devices, "gpu", "Radeon RX 6800", 0, "0000:03:00.0", 0x1002);
    list_device(devices, "gpu", "Radeon RX 6800 XT", 0, "0000:04:00.0", 0x1002);
    list_device(devices, "gpu", "Dead Card", 0, "0000:06:00.0", 0x1002);
    list_platform(devices, "rusticl");
    list_device(devices, "gpu", "AMD Radeon RX 6800 (radeonsi)", 0, "0000:03:00.0", 0x1002);
    list_device(devices, "gpu", "Twin", 0, "", 0x1002);
    list_device(devices, "gpu", "Twin", 0, "", 0x1002);
    list_results(devices, reasons);
    assert_int_equal(claret_devices_add_failed(devices, "bad.icd", "driver bad.icd aborted"), CLARET_OK);
    return devices;
}

static void test_stream(void **state)
{
    (void)state;
    struct claret_devices *devices = example();
    assert_int_equal(claret_devices_platforms(devices), 5);
    assert_int_equal(claret_devices_count(devices), 10);
    assert_string_equal(claret_devices_platform_text(devices, 2, CLARET_PLATFORM_NAME),
                        "Alpha OpenCL Graphics");
    assert_string_equal(claret_devices_platform_text(devices, 2, CLARET_PLATFORM_VERSION), "OpenCL 3.0");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_ID), "2:2");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_NAME), "Radeon RX 6800 XT");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_VENDOR), "W");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_TYPE), "gpu");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_OPENCL_C), "1.2");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_DRIVER), "7");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_PLATFORM_NAME),
                        "Alpha OpenCL Graphics");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_PCI), "0000:04:00.0");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_REASON), "");
    assert_int_equal(claret_devices_number(devices, 4, CLARET_DEVICE_PLATFORM), 2);
    assert_int_equal(claret_devices_number(devices, 4, CLARET_DEVICE_GLOBAL_MEM), UINT64_C(5368709120));
    assert_int_equal(claret_devices_number(devices, 4, CLARET_DEVICE_LOCAL_MEM), 16384);
    assert_int_equal(claret_devices_number(devices, 4, CLARET_DEVICE_USABLE), 1);
    assert_int_equal(claret_devices_number(devices, 2, CLARET_DEVICE_UNIFIED), 1);
    assert_int_equal(claret_devices_number(devices, 5, CLARET_DEVICE_USABLE), 0);
    assert_string_equal(claret_devices_text(devices, 5, CLARET_DEVICE_REASON), "dead");
    assert_string_equal(claret_devices_text(devices, 9, CLARET_DEVICE_ID), "4:0");
    assert_string_equal(claret_devices_text(devices, 9, CLARET_DEVICE_NAME), "bad.icd");
    assert_string_equal(claret_devices_text(devices, 9, CLARET_DEVICE_TYPE), "other");
    assert_string_equal(claret_devices_text(devices, 9, CLARET_DEVICE_REASON), "driver bad.icd aborted");
    assert_string_equal(claret_devices_text(devices, 10, CLARET_DEVICE_NAME), "");
    assert_null(claret_devices_advice(devices, 0));
    claret_devices_destroy(devices);
    claret_devices_destroy(NULL);
}

static void test_stream_steps(void **state)
{
    (void)state;
    struct claret_devices *devices = list_start();
    list_platform(devices, "P");
    list_device(devices, "cpu", "A", 1, "", 0);
    list_device(devices, "cpu", "B", 1, "", 0);
    assert_false(devices->listed);
    assert_int_equal(list_tell(devices, "{\"listed\":true}"), CLARET_OK);
    assert_true(devices->listed);
    assert_int_equal(list_tell(devices, "{\"step\":\"building\",\"device\":1}"), CLARET_OK);
    assert_int_equal(devices->under_way, 1);
    assert_string_equal(devices->step, "building");
    assert_int_equal(list_tell(devices, "{\"result\":\"broken\",\"device\":1}"), CLARET_OK);
    assert_int_equal(devices->under_way, -1);
    assert_true(devices->devices[1].tried);
    assert_false(devices->devices[0].tried);
    assert_int_equal(list_tell(devices, "{\"advice\":\"buy\\nmore\"}"), CLARET_OK);
    assert_string_equal(claret_devices_advice(devices, 0), "buy\nmore");
    assert_null(claret_devices_advice(devices, 1));
    assert_false(devices->devices[0].short_loops);
    assert_int_equal(list_tell(devices, "{\"result\":\"\",\"device\":0,\"short_loops\":true}"), CLARET_OK);
    assert_true(devices->devices[0].short_loops);
    claret_devices_destroy(devices);
}

static void test_stream_nonsense(void **state)
{
    (void)state;
    static const char *const early[] = {"",
                                        "hello",
                                        "{",
                                        "[1]",
                                        "{}",
                                        "{\"device\":{\"name\":\"of no platform\"}}",
                                        "{\"step\":\"before the list\",\"device\":0}",
                                        "{\"result\":\"\",\"device\":0}",
                                        "{\"listed\":false}",
                                        "{\"platform\":1}"};
    static const char *const late[] = {
        "{\"platform\":{\"name\":\"late\"}}", "{\"device\":{\"name\":\"late\"}}", "{\"listed\":true}",
        "{\"result\":\"\",\"device\":1}",     "{\"result\":\"\",\"device\":-1}",  "{\"result\":\"\"}",
        "{\"result\":1,\"device\":0}",        "{\"step\":null,\"device\":0}"};
    struct claret_devices *devices = list_start();
    for (size_t i = 0; i < sizeof early / sizeof *early; i++)
        assert_int_equal(list_tell(devices, early[i]), CLARET_FORMAT);
    list_platform(devices, "P");
    list_device(devices, "cpu", "A", 1, "", 0);
    assert_int_equal(list_tell(devices, "{\"listed\":true}"), CLARET_OK);
    for (size_t i = 0; i < sizeof late / sizeof *late; i++)
        assert_int_equal(list_tell(devices, late[i]), CLARET_FORMAT);
    assert_int_equal(claret_devices_count(devices), 1);
    assert_false(devices->devices[0].tried);
    claret_devices_destroy(devices);
}

static void test_clean(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"plain", "plain"},
                                          {" \t padded\n", "padded"},
                                          {"two\tparts", "two parts"},
                                          {"", ""},
                                          {"  ", ""},
                                          {"\xff\xfe", "??"},
                                          {"Gr\xc3\xbc\xc3\x9f", "Gr\xc3\xbc\xc3\x9f"},
                                          {"\x1b[1;31mred\x1b[0m!", "red!"},
                                          {"cut\x1b[31", "cut"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *clean = claret_devices_clean(rows[i][0]);
        assert_string_equal(clean, rows[i][1]);
        free(clean);
    }
}

/* ---- choosing ------------------------------------------------------------------------------------------ */

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
    struct claret_devices *devices = example();
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
    struct claret_devices *devices = example();
    size_t index;
    assert_int_equal(claret_devices_choose(devices, "rx 68", NULL, &index, NULL), CLARET_AMBIGUOUS);
    assert_string_equal(claret_error(), "several devices match \"rx 68\":\n"
                                        "  3 (2:1): Radeon RX 6800, Alpha OpenCL Graphics\n"
                                        "  4 (2:2): Radeon RX 6800 XT, Alpha OpenCL Graphics\n"
                                        "  6 (3:0): AMD Radeon RX 6800 (radeonsi), rusticl");
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

/* ---- drivers ------------------------------------------------------------------------------------------ */

static char folder[64]; /* with one.icd in it, which names libdriver.so.1 */

static int make_folder(void **state)
{
    char path[128];
    (void)state;
    strcpy(folder, "/tmp/claret-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/one.icd", folder);
    return claret_file_write(path, "libdriver.so.1\r\nmore\n", 21) != CLARET_OK;
}

static int remove_folder(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/one.icd", folder);
    return unlink(path) != 0 || rmdir(folder) != 0;
}

/* OCL_ICD_FILENAMES is a list of libraries besides the folder (Khronos's loader). */
static void test_drivers_of_list(void **state)
{
    (void)state;
    struct claret_drivers drivers = {0};
    setenv("OCL_ICD_VENDORS", folder, 1);
    setenv("OCL_ICD_FILENAMES", "libone.so:/a/libtwo.so", 1);
    assert_int_equal(claret_drivers_find(&drivers), CLARET_OK);
    assert_int_equal(drivers.count, 3);
    assert_string_equal(drivers.list[0].library, "libone.so");
    assert_string_equal(drivers.list[1].name, "libtwo.so");
    assert_string_equal(drivers.list[2].name, "one.icd");
    assert_int_equal(claret_drivers_begin(&drivers), CLARET_OK);
    assert_int_equal(claret_drivers_keep(&drivers, 1, true), CLARET_OK);
    assert_int_equal(claret_drivers_keep(&drivers, 2, true), CLARET_OK);
    assert_int_equal(claret_drivers_apply(&drivers), CLARET_OK);
    assert_string_equal(getenv("OCL_ICD_FILENAMES"), "/a/libtwo.so");
    assert_string_equal(getenv("OCL_ICD_VENDORS"), drivers.folder);
    assert_int_equal(claret_drivers_keep(&drivers, 1, false), CLARET_OK);
    assert_int_equal(claret_drivers_apply(&drivers), CLARET_OK);
    assert_null(getenv("OCL_ICD_FILENAMES"));
    claret_drivers_drop(&drivers);
    assert_int_equal(access(getenv("OCL_ICD_VENDORS"), F_OK), -1);
}

/* OCL_ICD_VENDORS may name a folder, an .icd file, an .icd file in the folder of such, or a library. */
static void test_drivers_of_variable(void **state)
{
    (void)state;
    char path[128];
    const char *const values[] = {folder, path, "one.icd", "libdriver.so.1"};
    unsetenv("OCL_ICD_FILENAMES");
    snprintf(path, sizeof path, "%s/one.icd", folder);
    setenv("OPENCL_VENDOR_PATH", folder, 1);
    for (size_t i = 0; i < 4; i++) {
        struct claret_drivers drivers = {0};
        setenv("OCL_ICD_VENDORS", values[i], 1);
        assert_int_equal(claret_drivers_find(&drivers), CLARET_OK);
        assert_int_equal(drivers.count, 1);
        assert_string_equal(drivers.list[0].library, "libdriver.so.1");
        claret_drivers_drop(&drivers);
    }
    unsetenv("OPENCL_VENDOR_PATH");
}

/* ---- OpenCL's codes and live objects
 * -------------------------------------------------------------------------- */

static void test_codes(void **state)
{
    (void)state;
    assert_string_equal(claret_cl_name(CL_SUCCESS), "CL_SUCCESS");
    assert_string_equal(claret_cl_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
    assert_string_equal(claret_cl_name(CL_KERNEL_ARG_INFO_NOT_AVAILABLE), "CL_KERNEL_ARG_INFO_NOT_AVAILABLE");
    assert_string_equal(claret_cl_name(CL_INVALID_VALUE), "CL_INVALID_VALUE");
    assert_string_equal(claret_cl_name(CL_INVALID_DEVICE_PARTITION_COUNT),
                        "CL_INVALID_DEVICE_PARTITION_COUNT");
    assert_string_equal(claret_cl_name(-72), "CL_MAX_SIZE_RESTRICTION_EXCEEDED");
    assert_string_equal(claret_cl_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_string_equal(claret_cl_name(-20), "an unknown code");
    assert_string_equal(claret_cl_name(1), "an unknown code");
    claret_error_clear();
    assert_int_equal(claret_cl_fail(CLARET_BUILD, -11, "clBuildProgram", "building %s", "im2col"),
                     CLARET_BUILD);
    assert_string_equal(claret_error(),
                        "building im2col: clBuildProgram returned CL_BUILD_PROGRAM_FAILURE (-11)");
    claret_error_clear();
    assert_int_equal(claret_cl_fail(CLARET_OPENCL, -5, "clFinish", NULL), CLARET_OPENCL);
    assert_memory_equal(claret_error(), "clFinish returned CL_OUT_OF_RESOURCES (-5)\n", 43);
    assert_non_null(strstr(claret_error(), claret_cl_hint(-5)));
    assert_null(claret_cl_hint(CL_INVALID_KERNEL));
}

static void test_live_objects(void **state)
{
    (void)state;
    cl_kernel nothing = NULL;
    assert_int_equal(claret_live_objects(), 0);
    claret_cl_created(CLARET_CL_KERNEL);
    claret_cl_created(CLARET_CL_EVENT);
    assert_int_equal(claret_live_objects(), 2);
    claret_cl_release_kernel(&nothing);
    assert_int_equal(claret_cl_live(CLARET_CL_KERNEL), 1);
    claret_cl_released(CLARET_CL_KERNEL);
    claret_cl_released(CLARET_CL_EVENT);
    assert_int_equal(claret_live_objects(), 0);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stream_steps),
        cmocka_unit_test(test_stream_nonsense),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_choose_lists_matches),
        cmocka_unit_test(test_choose_same_card),
        cmocka_unit_test(test_choose_default),
        cmocka_unit_test(test_choose_from_nothing),
        IN_FOLDER(test_drivers_of_list),
        IN_FOLDER(test_drivers_of_variable),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_live_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
