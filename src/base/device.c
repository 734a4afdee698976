#include "device.h"

void claret_device_desc_default(struct claret_device_desc *desc)
{
    /* Memory is ample so that plans can be made, and their bytes told, for any batch size. */
    *desc = (struct claret_device_desc){
        .name = "plain device",
        .vendor = "",
        .driver = "",
        .platform = "",
        .platform_version = "OpenCL 1.2",
        .opencl_c = "1.2",
        .kind = CLARET_CLASS_OTHER,
        .compute_units = 1,
        .global_mem = UINT64_C(1) << 42,
        .local_mem = 32768,
        .max_alloc = UINT64_C(1) << 40,
        .mem_align = 128,
        .max_work_group = 256,
        .max_item = {256, 256, 256},
        .float_width = 1,
        .clblast = true,
        .clblast_reason = "",
    };
}
