#include "rt_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/file.h"

char fixture_device[256], fixture_folder[64], fixture_kernels[96], fixture_messages[16384];

static void keep(void *user, enum claret_log_level level, const char *message)
{
    size_t used = strlen(fixture_messages);
    (void)user;
    snprintf(fixture_messages + used, sizeof fixture_messages - used, "%c %s\n", "wid"[level], message);
}

void fixture_forget(void)
{
    fixture_messages[0] = '\0';
}

int fixture_count(const char *part)
{
    int count = 0;
    for (const char *at = fixture_messages; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

void fixture_kernel(const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", fixture_kernels, name);
    claret_error_clear();
    if (!text)
        unlink(path);
    else if (claret_file_write(path, text, strlen(text)) != CLARET_OK)
        fprintf(stderr, "%s\n", claret_error());
}

int fixture_begin(void)
{
    struct claret_rt_options options = {0};
    struct claret_rt *rt;
    claret_set_log(keep, NULL);
    if (claret_rt_open(&options, &rt) != CLARET_OK) {
        fprintf(stderr, "skipped: %s\n", claret_error());
        return 77;
    }
    snprintf(fixture_device, sizeof fixture_device, "%s", claret_rt_describe(rt));
    fprintf(stderr, "%s\n", fixture_device);
    claret_rt_close(rt);
    snprintf(fixture_folder, sizeof fixture_folder, "/tmp/claret-test-XXXXXX");
    if (!mkdtemp(fixture_folder)) {
        perror(fixture_folder);
        return 1;
    }
    snprintf(fixture_kernels, sizeof fixture_kernels, "%s/kernels", fixture_folder);
    if (mkdir(fixture_kernels, 0755))
        return 1;
    for (const struct claret_embedded *file = claret_kernel_files; file->name; file++)
        if (!strcmp(file->name, "common.clh"))
            fixture_kernel(file->name, file->text);
    return 0;
}

void fixture_remove(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char inner[512];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        fixture_remove(inner);
    }
    if (folder)
        closedir(folder);
    remove(path);
}

void fixture_end(void)
{
    fixture_remove(fixture_folder);
}

int fixture_no_objects(void **state)
{
    (void)state;
    return claret_live_objects() != 0;
}

struct claret_rt *fixture_open(const char *cache_dir, const char *kernel_dir)
{
    struct claret_rt_options options = {.cache_dir = cache_dir, .kernel_dir = kernel_dir};
    struct claret_rt *rt = NULL;
    claret_error_clear();
    if (claret_rt_open(&options, &rt) != CLARET_OK)
        fail_msg("%s", claret_error());
    return rt;
}
