/* The OpenCL drivers that the loader would load, and hiding some of them from it. */
#ifndef CLARET_RT_DRIVERS_H
#define CLARET_RT_DRIVERS_H

#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"

struct claret_driver {
    char *file; /* "/etc/OpenCL/vendors/pocl.icd", or the library where an environment variable names that */
    char *name; /* "pocl.icd": file without its folder */
    char *library;  /* what the file's first line names */
    bool from_list; /* named by OCL_ICD_FILENAMES (Khronos's loader), which is asked besides the folder */
    bool kept;      /* let the loader see it */
};

struct claret_drivers {
    struct claret_driver *list;
    size_t count;
    char *folder; /* private, holds an .icd file for each kept driver; NULL: not made yet */
};

/* By the rules of ocl-icd and Khronos's loader: OCL_ICD_VENDORS (folder, .icd file or library),
 * OPENCL_VENDOR_PATH, /etc/OpenCL/vendors, and OCL_ICD_FILENAMES. In the order of their names;
 * zero-initialise `drivers`. */
enum claret_status claret_drivers_find(struct claret_drivers *drivers);
/* Makes the folder, with no driver kept. */
enum claret_status claret_drivers_begin(struct claret_drivers *drivers);
/* Lets the loader see a driver, or no longer. */
enum claret_status claret_drivers_keep(struct claret_drivers *drivers, size_t index, bool keep);
/* Points this process's environment at the kept ones; the loader reads it at the first OpenCL call. */
enum claret_status claret_drivers_apply(const struct claret_drivers *drivers);
/* Leaves the folder where it is until the process exits. */
enum claret_status claret_drivers_stay(struct claret_drivers *drivers);
/* Frees all; removes the folder unless it stays. */
void claret_drivers_drop(struct claret_drivers *drivers);

#endif
