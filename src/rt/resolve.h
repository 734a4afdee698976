/* From the list of devices to OpenCL's handles, and queries that both sides of it share. */
#ifndef CLARET_RT_RESOLVE_H
#define CLARET_RT_RESOLVE_H

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "rt/devices.h"

/* The device of the list in this process: platforms are found by name, version and vendor, for the loader may
 * give them in another order than it gave the child. CLARET_NO_DEVICE: it is not there any more. The first
 * OpenCL call of the process, so claret_devices_list() must have come before. */
enum claret_status claret_devices_resolve(const struct claret_devices *devices, size_t index,
                                          cl_platform_id *platform, cl_device_id *device);

/* ---- queries (query.c) --------------------------------------------------------------------------- */

/* What a driver says, as claret_devices_clean() makes it; malloc'ed, "" where the query fails, NULL: out of
 * memory. */
char *claret_query_platform(cl_platform_id platform, cl_platform_info what);
char *claret_query_device(cl_device_id device, cl_device_info what);
/* malloc'ed, NULL where there are none. */
enum claret_status claret_query_platforms(cl_platform_id **platforms, cl_uint *count);
enum claret_status claret_query_devices(cl_platform_id platform, cl_device_id **devices, cl_uint *count);
/* Whether `word` is in a list of words such as CL_DEVICE_EXTENSIONS. */
bool claret_query_has(const char *words, const char *word);

#endif
