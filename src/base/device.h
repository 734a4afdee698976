/* What stages before rt may know of a device. Filled by rt, or by tests and `show` without one. */
#ifndef CLARET_BASE_DEVICE_H
#define CLARET_BASE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum claret_device_class { CLARET_CLASS_CPU, CLARET_CLASS_GPU, CLARET_CLASS_OTHER };

struct claret_device_desc {
    const char *name, *vendor, *driver, *platform, *platform_version, *opencl_c;
    enum claret_device_class kind;
    uint32_t vendor_id; /* the PCI vendor's, where it is a device of PCI */
    uint32_t compute_units;
    uint64_t global_mem, local_mem, max_alloc; /* bytes */
    uint64_t mem_align;                        /* bytes between the starts of two tensors */
    size_t max_work_group, max_item[3];        /* work-items */
    uint32_t float_width;                      /* native vector width, floats */
    bool fp16, fp64, subgroups, unified;
    bool short_loops;           /* the driver ends a work-item's loops too early (src/rt/probe.c) */
    bool clblast;               /* a probe GEMM came out right */
    const char *clblast_reason; /* else why not */
};

/* A plain device of OpenCL's lower limits in which everything works: what plans are made for without one. */
void claret_device_desc_default(struct claret_device_desc *desc);

#endif
