/* Made-up lists of devices, told as a child process would. */
#ifndef TESTS_DEVICE_LIST_H
#define TESTS_DEVICE_LIST_H

#include "rt/devices.h"

/* A failure of these fails the test. */
struct claret_devices *list_start(void);
enum claret_status list_tell(struct claret_devices *devices, const char *line);
void list_platform(struct claret_devices *devices, const char *name);
void list_device(struct claret_devices *devices, const char *type, const char *name, int unified,
                 const char *pci, unsigned vendor);
/* Ends the listing; reasons[i] NULL: device i is usable. */
void list_results(struct claret_devices *devices, const char *const *reasons);

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
struct claret_devices *list_example(void);

#endif
