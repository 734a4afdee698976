/* Advice about GPUs that no platform offers, over made-up systems. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "device_list.h"

static char root[64];
static const char *forbidden; /* end of the one path that may not be used */

static bool allowed(const char *path)
{
    size_t length = strlen(path), tail = forbidden == NULL ? 0 : strlen(forbidden);
    return forbidden == NULL || length < tail || strcmp(path + length - tail, forbidden) != 0;
}

static void put(const char *path, const char *text)
{
    char whole[512], *slash;
    snprintf(whole, sizeof whole, "%s%s", root, path);
    slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(claret_folder_make(whole, 0755), CLARET_OK);
    *slash = '/';
    assert_int_equal(claret_file_write(whole, text, strlen(text)), CLARET_OK);
}

static void put_link(const char *path, const char *target)
{
    char whole[512], *slash;
    snprintf(whole, sizeof whole, "%s%s", root, path);
    slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(claret_folder_make(whole, 0755), CLARET_OK);
    *slash = '/';
    assert_int_equal(symlink(target, whole), 0);
}

static void put_text(const char *text, const char *format, const char *part)
{
    char path[256];
    snprintf(path, sizeof path, format, part);
    put(path, text);
}

/* A GPU on PCI as /sys shows it, with the nodes card0 and renderD128 where `number` is not NULL. */
static void put_gpu(const char *place, const char *vendor, const char *class, const char *driver,
                    const char *number)
{
    char path[256], target[256];
    put_text(vendor, "/sys/bus/pci/devices/%s/vendor", place);
    put_text("0x73bf\n", "/sys/bus/pci/devices/%s/device", place);
    put_text(class, "/sys/bus/pci/devices/%s/class", place);
    if (driver != NULL) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", place);
        snprintf(target, sizeof target, "../../../../bus/pci/drivers/%s", driver);
        put_link(path, target);
    }
    if (number == NULL)
        return;
    snprintf(target, sizeof target, "../../../bus/pci/devices/%s", place);
    snprintf(path, sizeof path, "/sys/class/drm/renderD%s/device", number);
    put_link(path, target);
    snprintf(path, sizeof path, "/sys/class/drm/card%s/device", number);
    put_link(path, target);
    put_text("", "/dev/dri/renderD%s", number);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/claret-test-XXXXXX");
    forbidden = NULL;
    return mkdtemp(root) == NULL;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

/* A list with a usable CPU, and a platform without devices of that name. */
static struct claret_devices *cpu_and(const char *platform)
{
    static const char *const reasons[] = {NULL};
    struct claret_devices *devices = list_start();
    list_platform(devices, "P");
    list_device(devices, "cpu", "C", 1, "", 0);
    if (platform != NULL)
        list_platform(devices, platform);
    list_results(devices, reasons);
    return devices;
}

/* The only paragraph of advice has `parts` (ends with NULL) in it; none: there is no advice. */
static void check_advice(struct claret_devices *devices, const char *rusticl, const char *drivers,
                         const char *const *parts)
{
    struct claret_system system = {
        .root = root, .allowed = allowed, .rusticl = rusticl, .drivers = drivers, .noise = ""};
    assert_int_equal(claret_advise(devices, &system), CLARET_OK);
    const char *advice = claret_devices_advice(devices, 0);
    if (parts[0] == NULL) {
        if (advice != NULL)
            fail_msg("unexpected: %s", advice);
    } else {
        assert_non_null(advice);
        assert_null(claret_devices_advice(devices, 1));
    }
    for (; *parts != NULL; parts++)
        if ((*parts)[0] == '!' ? strstr(advice, *parts + 1) != NULL : strstr(advice, *parts) == NULL)
            fail_msg("'%s' in: %s", *parts, advice);
    claret_devices_destroy(devices);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOTHING ((const char *const[]){NULL})

static void test_advice_no_system(void **state)
{
    (void)state;
    check_advice(cpu_and(NULL), NULL, " ", NOTHING);
}

static void test_advice_packages(void **state)
{
    (void)state;
    static const struct {
        const char *vendor, *driver, *name, *command;
    } rows[] = {{"0x1002\n", "amdgpu", "AMD (1002:73bf, PCI 0000:03:00.0, kernel driver amdgpu)",
                 "sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=radeonsi"},
                {"0x1002\n", "amdgpu", "AMD", "sudo apt install rocm-opencl-icd"},
                {"0x8086\n", "i915", "Intel (8086:73bf", "sudo apt install intel-opencl-icd"},
                {"0x10de\n", "nvidia", "NVIDIA (10de:73bf", "nvidia-opencl-icd"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(tear_down(NULL), 0);
        assert_int_equal(set_up(NULL), 0);
        put_gpu("0000:03:00.0", rows[i].vendor, "0x030000\n", rows[i].driver, "128");
        check_advice(
            cpu_and(NULL), NULL, " pocl.icd ",
            PARTS(rows[i].name, rows[i].command, "No OpenCL driver for it is installed", "!permission"));
    }
}

static void test_advice_offered(void **state)
{
    (void)state;
    static const char *const reasons[] = {"broken"};
    static const struct {
        const char *pci;
        unsigned vendor;
        bool offered;
    } rows[] = {
        {"0000:03:00.0", 0, true}, {"", 0x1002, true}, {"0000:04:00.0", 0x1002, false}, {"", 0x8086, false}};
    put_gpu("0000:03:00.0", "0x1002\n", "0x038000\n", "amdgpu", "128");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct claret_devices *devices = list_start();
        list_platform(devices, "P");
        list_device(devices, "gpu", "G", 0, rows[i].pci, rows[i].vendor);
        list_results(devices, reasons);
        devices->devices[0].number[CLARET_DEVICE_USABLE] = 1; /* else all there is to install is listed too */
        check_advice(devices, NULL, " ", rows[i].offered ? NOTHING : PARTS("AMD"));
    }
}

/* What only shows pictures, and what is no display at all. */
static void test_advice_other_devices(void **state)
{
    (void)state;
    put_gpu("0000:00:02.0", "0x1af4\n", "0x030000\n", "virtio-pci", "128");
    put_gpu("0000:00:03.0", "0x8086\n", "0x020000\n", "e1000", NULL);
    put_gpu("0000:00:04.0", "0x10de\n", "0x040300\n", "snd_hda_intel", NULL);
    check_advice(cpu_and(NULL), NULL, " ", NOTHING);
}

static void test_advice_permission(void **state)
{
    (void)state;
    char path[512], command[128];
    struct stat about;
    put_gpu("0000:03:00.0", "0x8086\n", "0x030000\n", "i915", "129");
    forbidden = "/dev/dri/renderD129";
    snprintf(path, sizeof path, "%s%s", root, forbidden);
    assert_int_equal(chmod(path, 0660), 0);
    if (geteuid() == 0) /* the group root would not be one to join */
        assert_int_equal(chown(path, 0, 1), 0);
    assert_int_equal(stat(path, &about), 0);
    const struct group *group = getgrgid(about.st_gid);
    if (group == NULL)
        skip();
    snprintf(command, sizeof command, "sudo usermod -aG %s $USER", group->gr_name);
    check_advice(
        cpu_and(NULL), NULL, " intel.icd ",
        PARTS("You have no permission on /dev/dri/renderD129", command, "log in again", "!installed"));
    /* A mode that gives the group too little. */
    assert_int_equal(chmod(path, 0640), 0);
    check_advice(cpu_and(NULL), NULL, " intel.icd ",
                 PARTS("no group of users has", "sudo chmod g+rw", "!-aG daemon"));
    /* No driver either: both are said. */
    check_advice(cpu_and(NULL), NULL, " ", PARTS("no permission", "sudo apt install intel-opencl-icd"));
}

static void test_advice_kfd(void **state)
{
    (void)state;
    put_gpu("0000:03:00.0", "0x1002\n", "0x030000\n", "amdgpu", "128");
    put("/dev/kfd", "");
    forbidden = "/dev/kfd";
    check_advice(cpu_and(NULL), NULL, " amdocl64.icd ", PARTS("no permission on /dev/kfd", "!too old"));
    forbidden = NULL;
    check_advice(cpu_and(NULL), NULL, " amdocl64.icd ",
                 PARTS("AMD's OpenCL driver is installed and does not offer it", "RUSTICL_ENABLE=radeonsi"));
}

static void test_advice_rusticl(void **state)
{
    (void)state;
    static const char *const asleep[] = {
        NULL, "", "iris", "llvmpipe,xradeonsi", "radeonsix", "iris,swradeonsi:1"};
    static const char *const awake[] = {"radeonsi", "iris,radeonsi", "radeonsi:0,iris"};
    put_gpu("0000:03:00.0", "0x1002\n", "0x030000\n", "amdgpu", "128");
    for (size_t i = 0; i < sizeof asleep / sizeof *asleep; i++)
        check_advice(cpu_and("rusticl"), asleep[i], " rusticl.icd amdocl64.icd ",
                     PARTS("Mesa's rusticl is installed, but RUSTICL_ENABLE is",
                           ": export RUSTICL_ENABLE=radeonsi", asleep[i] == NULL ? "is not set" : "is only",
                           "!apt install"));
    for (size_t i = 0; i < sizeof awake / sizeof *awake; i++)
        check_advice(cpu_and("rusticl"), awake[i], " rusticl.icd ",
                     PARTS("!but RUSTICL_ENABLE", "rocm-opencl-icd"));
    check_advice(cpu_and("Clover"), NULL, " mesa.icd ", PARTS("!but RUSTICL_ENABLE"));
}

static void test_advice_nvidia(void **state)
{
    (void)state;
    put_gpu("0000:01:00.0", "0x10de\n", "0x030200\n", "nvidia", "128");
    forbidden = "/dev/dri/renderD128"; /* not the node that this driver uses */
    check_advice(cpu_and("rusticl"), NULL, " rusticl.icd ",
                 PARTS("nvidia-opencl-icd", "!permission", "!RUSTICL_ENABLE"));
    check_advice(cpu_and(NULL), NULL, " nvidia.icd ", PARTS("NVIDIA's OpenCL driver is installed", "!Mesa"));
}

static void test_advice_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *vendor, *driver, *says;
    } rows[] = {{"0x1002\n", NULL, "sudo modprobe amdgpu"},
                {"0x10de\n", NULL, "Its kernel driver is not loaded"},
                {"0x10de\n", "vfio-pci", "set aside for a virtual machine"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(tear_down(NULL), 0);
        assert_int_equal(set_up(NULL), 0);
        put_gpu("0000:01:00.0", rows[i].vendor, "0x030000\n", rows[i].driver, NULL);
        check_advice(cpu_and(NULL), NULL, " ", PARTS(rows[i].says));
    }
}

/* A GPU that is not on PCI, and a connector beside it. */
static void test_advice_board(void **state)
{
    (void)state;
    put_link("/sys/devices/platform/3d000000.gpu/driver", "../../../bus/platform/drivers/msm");
    put_link("/sys/class/drm/card0/device", "../../../devices/platform/3d000000.gpu");
    put_link("/sys/class/drm/renderD128/device", "../../../devices/platform/3d000000.gpu");
    put_link("/sys/class/drm/card0-HDMI-A-1/device", "../card0");
    check_advice(cpu_and(NULL), NULL, " ",
                 PARTS("Qualcomm Adreno (3d000000.gpu, kernel driver msm)", "RUSTICL_ENABLE=freedreno"));
}

static void test_advice_nothing(void **state)
{
    (void)state;
    struct claret_devices *devices = list_start();
    list_results(devices, NULL);
    check_advice(devices, NULL, " ",
                 PARTS("No device can be used", "AMD:", "RUSTICL_ENABLE=radeonsi", "Intel:",
                       "intel-opencl-icd", "NVIDIA:", "nvidia-opencl-icd", "CPU:", "pocl-opencl-icd"));
}

/* Why PoCL alone gives nothing, and what drivers wrote. */
static void test_advice_pocl(void **state)
{
    (void)state;
    struct claret_system system = {
        .root = root, .allowed = allowed, .rusticl = NULL, .drivers = " ", .noise = ": no such thing"};
    struct claret_devices *devices = list_start();
    list_platform(devices, "Portable Computing Language");
    list_results(devices, NULL);
    assert_int_equal(claret_advise(devices, &system), CLARET_OK);
    assert_non_null(strstr(claret_devices_advice(devices, 0), "POCL_CACHE_DIR"));
    assert_string_equal(claret_devices_advice(devices, 1),
                        "While devices were listed, drivers wrote: no such thing");
    assert_non_null(strstr(claret_devices_advice(devices, 2), "No device can be used"));
    assert_null(claret_devices_advice(devices, 3));
    claret_devices_destroy(devices);
}

/* What the user's own variables hide. */
static void test_advice_variables(void **state)
{
    (void)state;
    struct claret_system system = {.root = root,
                                   .allowed = allowed,
                                   .vendors = "/no/where",
                                   .pocl = "cuda",
                                   .drivers = " ",
                                   .noise = ""};
    struct claret_devices *devices = list_start();
    list_platform(devices, "Portable Computing Language");
    list_results(devices, NULL);
    assert_int_equal(claret_advise(devices, &system), CLARET_OK);
    assert_non_null(strstr(claret_devices_advice(devices, 0), "OCL_ICD_VENDORS is set to \"/no/where\""));
    assert_non_null(strstr(claret_devices_advice(devices, 1), "POCL_DEVICES asks for, \"cuda\""));
    assert_non_null(strstr(claret_devices_advice(devices, 2), "No device can be used"));
    claret_devices_destroy(devices);
}

/* Two GPUs, one of them offered: a paragraph for the other alone. */
static void test_advice_two(void **state)
{
    (void)state;
    static const char *const reasons[] = {NULL};
    put_gpu("0000:00:02.0", "0x8086\n", "0x030000\n", "i915", "128");
    put_gpu("0000:01:00.0", "0x10de\n", "0x030000\n", "nvidia", "129");
    struct claret_devices *devices = list_start();
    list_platform(devices, "P");
    list_device(devices, "gpu", "G", 0, "0000:01:00.0", 0x10de);
    list_results(devices, reasons);
    check_advice(devices, NULL, " nvidia.icd ", PARTS("Intel", "0000:00:02.0", "!NVIDIA"));
}

int main(void)
{
#define ON_SYSTEM(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_SYSTEM(test_advice_no_system),  ON_SYSTEM(test_advice_packages),
        ON_SYSTEM(test_advice_offered),    ON_SYSTEM(test_advice_other_devices),
        ON_SYSTEM(test_advice_permission), ON_SYSTEM(test_advice_kfd),
        ON_SYSTEM(test_advice_rusticl),    ON_SYSTEM(test_advice_nvidia),
        ON_SYSTEM(test_advice_kernel),     ON_SYSTEM(test_advice_board),
        ON_SYSTEM(test_advice_nothing),    ON_SYSTEM(test_advice_pocl),
        ON_SYSTEM(test_advice_variables),  ON_SYSTEM(test_advice_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
