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

#endif
