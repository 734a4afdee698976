#include "train/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

/* Whether the process in "NAME.PID-N.tmp" lives. */
static bool is_written(const char *name)
{
    char digits[16] = "";
    const char *dash = strrchr(name, '-'), *dot = dash;
    int64_t process = 0;
    while (dot && dot > name && *dot != '.')
        dot--;
    if (!dot || dash - dot < 2 || (size_t)(dash - dot) > sizeof digits)
        return false;
    memcpy(digits, dot + 1, (size_t)(dash - dot - 1));
    return claret_parse_int(digits, 1, INT32_MAX, &process) && process != getpid() &&
           (kill((pid_t)process, 0) == 0 || errno == EPERM);
}

static bool is_ours(const char *name, const char *const *names, size_t count)
{
    bool ours = strncmp(name, "checkpoint-", 11) == 0;
    for (size_t i = 0; i < count; i++)
        ours |= strncmp(name, names[i], strlen(names[i])) == 0;
    size_t length = strlen(name);
    return ours && length > 4 && strcmp(name + length - 4, ".tmp") == 0;
}

void claret_leftovers_remove(const char *folder, const char *const *names, size_t count)
{
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char *path = NULL;
        if (is_ours(entry->d_name, names, count) && !is_written(entry->d_name))
            path = claret_path_join(folder, entry->d_name);
        if (path)
            unlink(path);
        free(path);
    }
    if (open)
        closedir(open);
}
