#include "scratch.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[256];

int scratch_setup(void **state)
{
    const char *parent = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/claret-test-XXXXXX", parent && *parent ? parent : "/tmp");
    if (mkdtemp(folder))
        return 0;
    perror(folder);
    return -1;
}

int scratch_teardown(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

const char *scratch(const char *format, ...)
{
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    int length = snprintf(path, sizeof(paths[0]), "%s/", folder);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(path + length, sizeof(paths[0]) - (size_t)length, format, arguments);
    va_end(arguments);
    return path;
}

const char *scratch_write(const char *name, const void *data, size_t size)
{
    const char *path = scratch("%s", name);
    FILE *stream = fopen(path, "wb");

    if (!stream || fwrite(data, 1, size, stream) != size || fclose(stream) != 0) {
        perror(path);
        exit(1);
    }
    return path;
}

void scratch_remove(const char *path)
{
    struct stat info;
    struct dirent *entry;
    DIR *listing;

    /* Links are removed, not followed. */
    listing = lstat(path, &info) == 0 && S_ISDIR(info.st_mode) ? opendir(path) : NULL;
    while (listing && (entry = readdir(listing))) {
        char inner[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        scratch_remove(inner);
    }
    if (listing)
        closedir(listing);
    remove(path);
}

int scratch_entries(const char *path)
{
    DIR *listing = opendir(path);
    int count = 0;

    if (!listing)
        return -1;
    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2; /* "." and ".." */
}

int scratch_says(const char *text, const char *part)
{
    if (strstr(text, part))
        return 1;
    fprintf(stderr, "\"%s\" is not in:\n%s\n", part, text);
    return 0;
}
