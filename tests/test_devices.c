/* The list of devices without any: the child's stream, which drivers there are, OpenCL's codes.
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

static void test_stream(void **state)
{
    (void)state;
    struct claret_devices *devices = list_example();
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
        cmocka_unit_test(test_stream),          cmocka_unit_test(test_stream_steps),
        cmocka_unit_test(test_stream_nonsense), cmocka_unit_test(test_clean),
        IN_FOLDER(test_drivers_of_list),        IN_FOLDER(test_drivers_of_variable),
        cmocka_unit_test(test_codes),           cmocka_unit_test(test_live_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
