/* Options that may be given several times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flags.h"

enum claret_status cli_set_option(struct claret_options *options, const char *key, const char *argument,
                                  const char *value)
{
    const char *before = claret_options_get(options, key);

    if (!argument)
        return claret_options_set(options, key, "true");
    if (!strstr(argument, "...") || !before || !before[0])
        return claret_options_set(options, key, value);
    size_t size = strlen(before) + strlen(value) + 2;
    char *all = malloc(size);
    if (!all)
        return CLARET_NO_MEMORY;
    snprintf(all, size, "%s %s", before, value);
    enum claret_status status = claret_options_set(options, key, all);
    free(all);
    return status;
}
