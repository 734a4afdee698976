#include "device_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

struct claret_devices *list_start(void)
{
    struct claret_devices *devices = NULL;
    claret_error_clear();
    assert_int_equal(claret_devices_create(&devices), CLARET_OK);
    return devices;
}

enum claret_status list_tell(struct claret_devices *devices, const char *line)
{
    claret_error_clear();
    return claret_devices_record(devices, line, strlen(line));
}

void list_platform(struct claret_devices *devices, const char *name)
{
    char line[256];
    snprintf(line, sizeof line,
             "{\"platform\":{\"name\":\"%s\",\"vendor\":\"V\",\"version\":\"OpenCL 3.0\"}}", name);
    assert_int_equal(list_tell(devices, line), CLARET_OK);
}

void list_device(struct claret_devices *devices, const char *type, const char *name, int unified,
                 const char *pci, unsigned vendor)
{
    char line[512];
    snprintf(line, sizeof line,
             "{\"device\":{\"name\":\"%s\",\"type\":\"%s\",\"unified\":%d,\"pci\":\"%s\",\"vendor_id\":%u,"
             "\"opencl_c\":\"1.2\",\"driver\":\"7\",\"vendor\":\"W\",\"local_mem\":16384,\"global_mem\":"
             "5368709120}}",
             name, type, unified, pci, vendor);
    assert_int_equal(list_tell(devices, line), CLARET_OK);
}

void list_results(struct claret_devices *devices, const char *const *reasons)
{
    assert_int_equal(list_tell(devices, "{\"listed\":true}"), CLARET_OK);
    for (size_t i = 0; i < devices->device_count; i++) {
        char line[256];
        snprintf(line, sizeof line, "{\"result\":\"%s\",\"device\":%zu}",
                 reasons[i] == NULL ? "" : reasons[i], i);
        assert_int_equal(list_tell(devices, line), CLARET_OK);
    }
    assert_int_equal(claret_devices_finish(devices), CLARET_OK);
}

struct claret_devices *list_example(void)
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
