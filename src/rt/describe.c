/* In the child: what a device reports, as a record of the stream. */
#include "rt/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/resolve.h"

/* Queries of extensions, by number: the headers of the build may not have them. */
#define PCI_BUS_INFO_KHR 0x410F
#define PCI_BUS_ID_NV 0x4008
#define PCI_SLOT_ID_NV 0x4009
#define PCI_DOMAIN_ID_NV 0x400A
#define TOPOLOGY_AMD 0x4037
#define TOPOLOGY_TYPE_PCIE_AMD 1

struct pci_khr {
    cl_uint domain, bus, device, function;
};
struct topology_amd {
    cl_uint type;
    cl_uchar unused[17], bus, device, function;
};

static cl_uint ask_uint(cl_device_id device, cl_device_info what)
{
    cl_uint value = 0;
    return clGetDeviceInfo(device, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static cl_ulong ask_ulong(cl_device_id device, cl_device_info what)
{
    cl_ulong value = 0;
    return clGetDeviceInfo(device, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static const char *type_name(cl_device_id device)
{
    cl_ulong type = ask_ulong(device, CL_DEVICE_TYPE);
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_ACCELERATOR)
        return "accelerator";
    return type & CL_DEVICE_TYPE_CPU ? "cpu" : "other";
}

/* "0000:03:00.0" as the system writes it, "" where the driver does not tell. */
static void pci_address(cl_device_id device, const char *extensions, char text[32])
{
    struct pci_khr at = {0};
    struct topology_amd amd;
    bool known = false;

    if (claret_query_has(extensions, "cl_khr_pci_bus_info"))
        known = clGetDeviceInfo(device, PCI_BUS_INFO_KHR, sizeof at, &at, NULL) == CL_SUCCESS;
    if (!known && claret_query_has(extensions, "cl_nv_device_attribute_query")) {
        cl_uint slot = 0; /* device and function in one */
        known = clGetDeviceInfo(device, PCI_BUS_ID_NV, sizeof at.bus, &at.bus, NULL) == CL_SUCCESS &&
                clGetDeviceInfo(device, PCI_SLOT_ID_NV, sizeof slot, &slot, NULL) == CL_SUCCESS;
        at.domain = ask_uint(device, PCI_DOMAIN_ID_NV);
        at.device = slot >> 3;
        at.function = slot & 7;
    }
    if (!known && claret_query_has(extensions, "cl_amd_device_attribute_query")) {
        known = clGetDeviceInfo(device, TOPOLOGY_AMD, sizeof amd, &amd, NULL) == CL_SUCCESS &&
                amd.type == TOPOLOGY_TYPE_PCIE_AMD;
        if (known)
            at = (struct pci_khr){0, amd.bus, amd.device, amd.function};
    }
    *text = '\0';
    if (known)
        snprintf(text, 32, "%04x:%02x:%02x.%x", at.domain, at.bus, at.device, at.function);
}

/* "1.2" of "OpenCL C 1.2 pocl". */
static void language_version(cl_device_id device, char version[16])
{
    char *text = claret_query_device(device, CL_DEVICE_OPENCL_C_VERSION);
    int major, minor;
    *version = '\0';
    if (text != NULL && sscanf(text, "OpenCL C %d.%d", &major, &minor) == 2)
        snprintf(version, 16, "%d.%d", major, minor);
    free(text);
}

static void set_text(json_t *record, enum claret_device_text what, const char *text)
{
    json_object_set_new(record, claret_device_text_keys[what], json_string(text));
}

static void set_driver_text(json_t *record, enum claret_device_text what, cl_device_id device,
                            cl_device_info info)
{
    char *text = claret_query_device(device, info);
    set_text(record, what, text == NULL ? "" : text);
    free(text);
}

static void set_number(json_t *record, enum claret_device_number what, cl_ulong number)
{
    json_object_set_new(record, claret_device_number_keys[what], json_integer((json_int_t)number));
}

json_t *claret_child_describe(cl_device_id device)
{
    char *extensions = claret_query_device(device, CL_DEVICE_EXTENSIONS);
    json_t *record = json_object();
    char pci[32], version[16];
    size_t group = 0;

    if (extensions == NULL || record == NULL)
        goto out;
    pci_address(device, extensions, pci);
    language_version(device, version);
    clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL);

    set_driver_text(record, CLARET_DEVICE_NAME, device, CL_DEVICE_NAME);
    set_driver_text(record, CLARET_DEVICE_VENDOR, device, CL_DEVICE_VENDOR);
    set_driver_text(record, CLARET_DEVICE_DRIVER, device, CL_DRIVER_VERSION);
    set_text(record, CLARET_DEVICE_TYPE, type_name(device));
    set_text(record, CLARET_DEVICE_OPENCL_C, version);
    set_text(record, CLARET_DEVICE_PCI, pci);
    set_number(record, CLARET_DEVICE_COMPUTE_UNITS, ask_uint(device, CL_DEVICE_MAX_COMPUTE_UNITS));
    set_number(record, CLARET_DEVICE_GLOBAL_MEM, ask_ulong(device, CL_DEVICE_GLOBAL_MEM_SIZE));
    set_number(record, CLARET_DEVICE_LOCAL_MEM, ask_ulong(device, CL_DEVICE_LOCAL_MEM_SIZE));
    set_number(record, CLARET_DEVICE_MAX_ALLOC, ask_ulong(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
    set_number(record, CLARET_DEVICE_MAX_WORK_GROUP, group);
    set_number(record, CLARET_DEVICE_FP16, claret_query_has(extensions, "cl_khr_fp16"));
    set_number(record, CLARET_DEVICE_FP64, claret_query_has(extensions, "cl_khr_fp64"));
    set_number(record, CLARET_DEVICE_SUBGROUPS,
               claret_query_has(extensions, "cl_khr_subgroups") ||
                   claret_query_has(extensions, "cl_intel_subgroups"));
    set_number(record, CLARET_DEVICE_COMMAND_BUFFER, claret_query_has(extensions, "cl_khr_command_buffer"));
    set_number(record, CLARET_DEVICE_UNIFIED, ask_uint(device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0);
    json_object_set_new(record, "vendor_id", json_integer(ask_uint(device, CL_DEVICE_VENDOR_ID)));
out:
    free(extensions);
    return record;
}
