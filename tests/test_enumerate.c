/* Listing and trying real devices and a driver that misbehaves (fake_icd.c, whose path is in
 * CLARET_TEST_FAKE_ICD), each under a private OCL_ICD_VENDORS. What needs PoCL is skipped without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "rt/drivers.h"
#include "rt/resolve.h"

static char folder[64], pocl[256], fake[512];

/* PoCL's library as the environment or the system names it. */
static void find_pocl(void)
{
    struct claret_drivers drivers = {0};
    if (claret_drivers_find(&drivers) == CLARET_OK)
        for (size_t i = 0; i < drivers.count && pocl[0] == '\0'; i++)
            if (strstr(drivers.list[i].library, "pocl") != NULL)
                snprintf(pocl, sizeof pocl, "%s", drivers.list[i].library);
    claret_drivers_drop(&drivers);
}

/* A folder of .icd files, empty at first, and FAKE_ICD as `fake_does` (NULL: no such file). */
static void vendors(bool with_pocl, const char *fake_does)
{
    char path[256], line[600];
    for (int i = 0; i < 2; i++) {
        const char *library = i == 0 ? pocl : fake;
        snprintf(path, sizeof path, "%s/%s.icd", folder, i == 0 ? "pocl" : "fake");
        unlink(path);
        if (!(i == 0 ? with_pocl : fake_does != NULL))
            continue;
        snprintf(line, sizeof line, "%s\n", library);
        assert_int_equal(claret_file_write(path, line, strlen(line)), CLARET_OK);
    }
    setenv("OCL_ICD_VENDORS", folder, 1);
    unsetenv("OCL_ICD_FILENAMES");
    setenv("FAKE_ICD", fake_does == NULL ? "" : fake_does, 1);
    if (with_pocl && pocl[0] == '\0')
        skip();
}

static struct claret_devices *enumerate(void)
{
    static const struct claret_enumerate_options options = {
        .root = "/nonexistent", .list_seconds = 120, .step_seconds = 300};
    struct claret_devices *devices = NULL;
    claret_error_clear();
    if (claret_enumerate(&options, &devices) != CLARET_OK)
        fail_msg("%s", claret_error());
    return devices;
}

static long find(const struct claret_devices *devices, const char *name)
{
    for (size_t i = 0; i < claret_devices_count(devices); i++)
        if (strstr(claret_devices_text(devices, i, CLARET_DEVICE_NAME), name) != NULL)
            return (long)i;
    fail_msg("no device %s", name);
    return -1;
}

static bool usable(const struct claret_devices *devices, long device)
{
    return claret_devices_number(devices, (size_t)device, CLARET_DEVICE_USABLE) == 1;
}

static void check_reason(const struct claret_devices *devices, const char *device, const char *part)
{
    long index = find(devices, device);
    const char *reason = claret_devices_text(devices, (size_t)index, CLARET_DEVICE_REASON);
    assert_false(usable(devices, index));
    if (strstr(reason, part) == NULL)
        fail_msg("%s: '%s' is not in: %s", device, part, reason);
}

static const char *advice_with(const struct claret_devices *devices, const char *part)
{
    const char *advice;
    for (size_t i = 0; (advice = claret_devices_advice(devices, i)) != NULL; i++)
        if (strstr(advice, part) != NULL)
            return advice;
    return NULL;
}

/* PoCL's device, the first of its platform, is there, tried and usable. */
static void check_pocl(const struct claret_devices *devices)
{
    for (size_t i = 0; i < claret_devices_count(devices); i++) {
        const char *platform = claret_devices_text(devices, i, CLARET_DEVICE_PLATFORM_NAME);
        if (strcmp(platform, "Portable Computing Language") != 0)
            continue;
        assert_string_equal(claret_devices_text(devices, i, CLARET_DEVICE_REASON), "");
        assert_true(usable(devices, (long)i));
        assert_string_equal(claret_devices_text(devices, i, CLARET_DEVICE_TYPE), "cpu");
        assert_true(claret_devices_number(devices, i, CLARET_DEVICE_COMPUTE_UNITS) > 0);
        assert_true(claret_devices_number(devices, i, CLARET_DEVICE_GLOBAL_MEM) >=
                    claret_devices_number(devices, i, CLARET_DEVICE_MAX_ALLOC));
        assert_true(claret_devices_number(devices, i, CLARET_DEVICE_LOCAL_MEM) >= 16384);
        assert_memory_not_equal(claret_devices_text(devices, i, CLARET_DEVICE_OPENCL_C), "", 1);
        assert_memory_not_equal(claret_devices_text(devices, i, CLARET_DEVICE_DRIVER), "", 1);
        return;
    }
    fail_msg("PoCL is not listed");
}

/* ---- drivers that behave ------------------------------------------------------------------------------- */

static void test_pocl(void **state)
{
    (void)state;
    vendors(true, NULL);
    struct claret_devices *devices = enumerate();
    assert_int_equal(claret_devices_platforms(devices), 1);
    assert_string_equal(claret_devices_text(devices, 0, CLARET_DEVICE_ID), "0:0");
    check_pocl(devices);
    assert_null(claret_devices_advice(devices, 0));
    assert_string_equal(getenv("OCL_ICD_VENDORS"), folder);
    claret_devices_destroy(devices);
}

/* The probe kernel runs where a group has one work-item. */
static void test_pocl_group_of_one(void **state)
{
    (void)state;
    vendors(true, NULL);
    setenv("POCL_MAX_WORK_GROUP_SIZE", "1", 1);
    struct claret_devices *devices = enumerate();
    unsetenv("POCL_MAX_WORK_GROUP_SIZE");
    assert_int_equal(claret_devices_number(devices, 0, CLARET_DEVICE_MAX_WORK_GROUP), 1);
    check_pocl(devices);
    claret_devices_destroy(devices);
}

/* What was usable is not tried again, unless something that drivers read has changed; the list is the same.
 */
static void test_known(void **state)
{
    char cache[128];
    (void)state;
    vendors(true, NULL);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    const struct claret_enumerate_options options = {
        .root = "/nonexistent", .list_seconds = 120, .step_seconds = 300, .cache_dir = cache};
    for (int i = 0; i < 4; i++) {
        struct claret_devices *devices = NULL;
        if (i == 3)
            setenv("POCL_CLARET_TEST", "1", 1);
        assert_int_equal(claret_enumerate(&options, &devices), CLARET_OK);
        check_pocl(devices);
        assert_int_equal(devices->step != NULL, i == 0 || i == 3); /* steps are told while it is tried */
        claret_devices_destroy(devices);
    }
    unsetenv("POCL_CLARET_TEST");
}

static void test_no_drivers(void **state)
{
    (void)state;
    vendors(false, NULL);
    struct claret_devices *devices = enumerate();
    assert_int_equal(claret_devices_platforms(devices), 0);
    assert_int_equal(claret_devices_count(devices), 0);
    assert_non_null(advice_with(devices, "pocl-opencl-icd"));
    claret_devices_destroy(devices);
}

static void test_missing_library(void **state)
{
    (void)state;
    char saved[sizeof fake];
    memcpy(saved, fake, sizeof fake);
    strcpy(fake, "libclaret-no-such-driver.so.1");
    vendors(true, "");
    memcpy(fake, saved, sizeof fake);
    struct claret_devices *devices = enumerate();
    assert_int_equal(claret_devices_platforms(devices), 1);
    check_pocl(devices);
    const char *advice = advice_with(devices, "libclaret-no-such-driver.so.1");
    assert_non_null(advice);
    assert_non_null(strstr(advice, "/fake.icd cannot be loaded"));
    claret_devices_destroy(devices);
}

/* Nothing that drivers write reaches the program's own output. */
static void test_silent(void **state)
{
    (void)state;
    char path[128], *said;
    size_t size;
    vendors(false, "abort-context wrong");
    snprintf(path, sizeof path, "%s/output", folder);
    fflush(stdout);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), out = dup(1), error = dup(2);
    assert_true(file >= 0 && out >= 0 && error >= 0);
    printf("once"); /* stays in the buffer over the fork */
    dup2(file, 1);
    dup2(file, 2);
    struct claret_devices *devices = enumerate();
    fflush(stdout);
    dup2(out, 1);
    dup2(error, 2);
    close(file);
    close(out);
    close(error);
    assert_int_equal(claret_file_read(path, 4096, &said, &size), CLARET_OK);
    assert_string_equal(said, "once");
    free(said);
    check_reason(devices, "Fake abort-context", "fake driver: no context for you | fake driver: giving up");
    claret_devices_destroy(devices);
}

/* ---- one that does not ----------------------------------------------------------------------------------
 */

static void test_reported(void **state)
{
    (void)state;
    vendors(false, "offline gpu-khr gpu-nv gpu-amd old-language");
    struct claret_devices *devices = enumerate();
    assert_string_equal(claret_devices_platform_text(devices, 0, CLARET_PLATFORM_NAME), "Fake platform");
    assert_string_equal(claret_devices_platform_text(devices, 0, CLARET_PLATFORM_VENDOR), "Nobody ?");
    assert_string_equal(claret_devices_text(devices, 1, CLARET_DEVICE_PCI), "0001:02:03.4");
    assert_string_equal(claret_devices_text(devices, 2, CLARET_DEVICE_PCI), "0001:02:03.4");
    assert_string_equal(claret_devices_text(devices, 3, CLARET_DEVICE_PCI), "0000:c2:03.4");
    assert_string_equal(claret_devices_text(devices, 0, CLARET_DEVICE_PCI), "");
    assert_string_equal(claret_devices_text(devices, 1, CLARET_DEVICE_TYPE), "gpu");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_TYPE), "cpu");
    assert_string_equal(claret_devices_text(devices, 4, CLARET_DEVICE_OPENCL_C),
                        "1.1"); /* of the device's 3.0 */
    assert_int_equal(claret_devices_number(devices, 1, CLARET_DEVICE_FP16), 1);
    assert_int_equal(claret_devices_number(devices, 1, CLARET_DEVICE_FP64), 0);
    assert_int_equal(claret_devices_number(devices, 2, CLARET_DEVICE_FP64), 1);
    assert_int_equal(claret_devices_number(devices, 3, CLARET_DEVICE_FP16), 0); /* part of another word */
    assert_int_equal(claret_devices_number(devices, 3, CLARET_DEVICE_COMPUTE_UNITS), 7);
    assert_int_equal(claret_devices_number(devices, 3, CLARET_DEVICE_GLOBAL_MEM), UINT64_C(5) << 30);
    assert_int_equal(claret_devices_number(devices, 3, CLARET_DEVICE_MAX_WORK_GROUP), 48);
    claret_devices_destroy(devices);
}

static void test_reasons(void **state)
{
    (void)state;
    vendors(false, "offline no-compiler big-endian old-language no-context no-build wrong");
    struct claret_devices *devices = enumerate();
    check_reason(devices, "Fake offline", "not available");
    check_reason(devices, "Fake no-compiler", "no compiler");
    check_reason(devices, "Fake big-endian", "big-endian");
    check_reason(devices, "Fake old-language", "OpenCL C 1.1 fake");
    check_reason(devices, "Fake no-context", "clCreateContext returned CL_OUT_OF_RESOURCES (-5)");
    check_reason(devices, "Fake no-build",
                 "failed to build (CL_BUILD_PROGRAM_FAILURE): probe.cl:1: one | probe.cl:2: two");
    check_reason(devices, "Fake wrong", "wrong answer");
    assert_non_null(advice_with(devices, "No device can be used"));
    claret_devices_destroy(devices);
}

/* A driver that aborts while it tries one device costs that device alone, and stays in sight. */
static void test_abort_in_probe(void **state)
{
    (void)state;
    vendors(true, "wrong abort-context abort-build offline");
    struct claret_devices *devices = enumerate();
    assert_int_equal(claret_devices_platforms(devices), 2);
    check_pocl(devices);
    check_reason(devices, "Fake wrong", "wrong answer");
    check_reason(devices, "Fake abort-context", "the driver aborted (SIGABRT) while opening it: fake driver");
    check_reason(
        devices, "Fake abort-build",
        "the driver aborted (SIGABRT) while building the probe kernel: fake driver: assertion failed");
    check_reason(devices, "Fake offline", "not available");
    assert_string_equal(getenv("OCL_ICD_VENDORS"), folder);
    claret_devices_destroy(devices);
}

/* One that dies while it lists devices is listed by the name of its file, and hidden. */
static void check_hidden(const char *fake_does, const char *reason)
{
    vendors(true, fake_does);
    struct claret_devices *devices = enumerate();
    assert_int_equal(claret_devices_platforms(devices), 2);
    check_pocl(devices);
    assert_string_equal(claret_devices_platform_text(devices, 1, CLARET_PLATFORM_NAME), "fake.icd");
    check_reason(devices, "fake.icd", reason);
    assert_non_null(advice_with(devices, "driver fake.icd"));

    struct claret_drivers drivers = {0};
    assert_string_not_equal(getenv("OCL_ICD_VENDORS"), folder);
    assert_int_equal(claret_drivers_find(&drivers), CLARET_OK);
    assert_int_equal(drivers.count, 1);
    assert_string_equal(drivers.list[0].library, pocl);
    claret_drivers_drop(&drivers);
    claret_devices_destroy(devices);
}

static void test_abort_in_list(void **state)
{
    (void)state;
    check_hidden(
        "abort-list",
        "driver fake.icd aborted (SIGABRT) while it was listing devices: fake driver: out of patience");
}

static void test_exit_in_list(void **state)
{
    (void)state;
    check_hidden("exit-list", "driver fake.icd ended the process (exit code 3) while it was listing devices");
}

/* Short times, for hanging for ever is what is tested; PoCL might need longer, so it is not here. */
static void test_hang(void **state)
{
    (void)state;
    static const struct claret_enumerate_options hasty = {
        .root = "/nonexistent", .list_seconds = 1, .step_seconds = 600};
    static const struct claret_enumerate_options patient = {
        .root = "/nonexistent", .list_seconds = 600, .step_seconds = 1};
    struct claret_devices *devices = NULL;
    vendors(false, "hang-list");
    assert_int_equal(claret_enumerate(&hasty, &devices), CLARET_OK);
    check_reason(devices, "fake.icd",
                 "driver fake.icd did not answer for 1 seconds while it was listing devices");
    claret_devices_destroy(devices);
    vendors(false, "hang-build");
    assert_int_equal(claret_enumerate(&patient, &devices), CLARET_OK);
    check_reason(devices, "Fake hang-build", "did not answer for 1 seconds while building the probe kernel");
    claret_devices_destroy(devices);
}

/* ---- the process around it --------------------------------------------------------------------------------
 */

/* In a process of its own: OpenCL is in use afterwards. The folder that hides a driver is gone with the
 * process. */
static void in_process_of_its_own(void)
{
    struct claret_devices *devices, *again;
    cl_platform_id platform;
    cl_device_id device;
    char name[256] = "";

    if (claret_devices_list(&devices) != CLARET_OK || claret_devices_list(&again) != CLARET_OK ||
        again != devices)
        exit(10);
    claret_devices_destroy(again); /* what is left of it is the process's */
    size_t index = 0;              /* find() would go on with the other tests here if it failed */
    while (index < claret_devices_count(devices) &&
           strcmp(claret_devices_text(devices, index, CLARET_DEVICE_NAME), "Fake wrong") != 0)
        index++;
    if (index == claret_devices_count(devices))
        exit(15);
    if (claret_devices_resolve(devices, index, &platform, &device) != CLARET_OK)
        exit(11);
    if (clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        strcmp(name, "Fake wrong") != 0)
        exit(12);
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        strstr(name, "Fake") == NULL)
        exit(13);
    for (size_t i = 0; i < claret_devices_count(devices); i++)
        if (claret_devices_resolve(devices, i, &platform, &device) != CLARET_OK)
            exit(14);
    exit(0);
}

static void run_in_process(void (*body)(void))
{
    int ended;
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body();
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_true(WIFEXITED(ended));
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static void test_resolve(void **state)
{
    (void)state;
    vendors(true, "offline wrong");
    run_in_process(in_process_of_its_own);
}

/* A device that is gone by the time it is wanted. */
static void with_a_device_gone(void)
{
    struct claret_devices *devices;
    cl_platform_id platform;
    cl_device_id device;
    if (claret_devices_list(&devices) != CLARET_OK || claret_devices_count(devices) != 2)
        exit(10);
    setenv("FAKE_ICD", "offline", 1);
    if (claret_devices_resolve(devices, 1, &platform, &device) != CLARET_NO_DEVICE)
        exit(11);
    exit(claret_devices_resolve(devices, 0, &platform, &device) == CLARET_OK ? 0 : 12);
}

static void test_resolve_gone(void **state)
{
    (void)state;
    vendors(false, "offline wrong");
    run_in_process(with_a_device_gone);
}

static void remember_folder(void)
{
    char path[128];
    struct claret_devices *devices;
    snprintf(path, sizeof path, "%s/private", folder);
    if (claret_devices_list(&devices) != CLARET_OK)
        exit(10);
    const char *private = getenv("OCL_ICD_VENDORS");
    struct stat about;
    if (stat(private, &about) != 0 || (about.st_mode & 0777) != 0700)
        exit(11);
    if (claret_file_write(path, private, strlen(private)) != CLARET_OK)
        exit(12);
    pid_t pid = fork(); /* a child of the program that exits must leave the folder there */
    if (pid == 0)
        exit(0);
    if (waitpid(pid, NULL, 0) != pid || access(private, F_OK) != 0)
        exit(13);
    exit(0);
}

static void test_folder_is_removed(void **state)
{
    (void)state;
    char path[128], *private;
    size_t size;
    vendors(false, "abort-list");
    run_in_process(remember_folder);
    snprintf(path, sizeof path, "%s/private", folder);
    assert_int_equal(claret_file_read(path, 4096, &private, &size), CLARET_OK);
    assert_string_not_equal(private, folder);
    assert_int_equal(access(private, F_OK), -1);
    free(private);
}

static void on_abort(int number)
{
    (void)number;
    _exit(42);
}

/* With the program's own streams closed, its signals blocked, and a handler that is not for a driver's end.
 */
static void with_everything_closed(void)
{
    sigset_t all;
    struct claret_devices *devices;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGABRT, on_abort);
    for (int i = 0; i < 3; i++)
        close(i);
    if (claret_devices_list(&devices) != CLARET_OK || claret_devices_count(devices) != 2)
        exit(10);
    if (strstr(claret_devices_text(devices, 0, CLARET_DEVICE_REASON), "(SIGABRT)") == NULL)
        exit(11);
    exit(strstr(claret_devices_text(devices, 1, CLARET_DEVICE_REASON), "wrong answer") == NULL ? 12 : 0);
}

static void test_closed_streams(void **state)
{
    (void)state;
    vendors(false, "abort-build wrong");
    run_in_process(with_everything_closed);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/claret-test-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const char *library = getenv("CLARET_TEST_FAKE_ICD");
    if (library == NULL) {
        fprintf(stderr, "skipped: CLARET_TEST_FAKE_ICD does not name the driver built from fake_icd.c\n");
        return 77;
    }
    snprintf(fake, sizeof fake, "%s", library);
    find_pocl();
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_pocl),           IN_FOLDER(test_pocl_group_of_one),
        IN_FOLDER(test_no_drivers),     IN_FOLDER(test_missing_library),
        IN_FOLDER(test_silent),         IN_FOLDER(test_reported),
        IN_FOLDER(test_reasons),        IN_FOLDER(test_abort_in_probe),
        IN_FOLDER(test_abort_in_list),  IN_FOLDER(test_exit_in_list),

        IN_FOLDER(test_hang),           IN_FOLDER(test_resolve),
        IN_FOLDER(test_resolve_gone),   IN_FOLDER(test_folder_is_removed),
        IN_FOLDER(test_closed_streams), IN_FOLDER(test_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
