/* Which of many image files cannot be read. */
#ifndef CLARET_DATA_IMAGE_CHECK_H
#define CLARET_DATA_IMAGE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Looks at each of paths (*count); `place` is what they are of, for messages. Those that cannot be read are
 * listed by name: an error, CLARET_FORMAT, or where `skip` says so a warning, and they are taken out of paths
 * and labels, *count smaller. With `skip` every file is read whole, on `workers` threads besides this one. */
enum claret_status claret_image_check_files(const char *place, const char **paths, int32_t *labels,
                                            size_t *count, bool skip, int workers);

#endif
