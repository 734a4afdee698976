#include "rt/trust.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

#define TRUST_FORMAT "claret devices 1"
#define FILE_LIMIT ((size_t)1 << 16)
#define KEYS_MAX 64

extern char **environ;

/* The variables that loaders and drivers read begin so. */
static const char *const prefixes[] = {
    "OCL_", "OPENCL_", "CL_",  "POCL_", "RUSTICL_", "MESA_", "LIBGL_",  "CUDA_", "NVIDIA_", "GPU_",
    "AMD_", "ROCR_",   "HSA_", "ROCM_", "HIP_",     "NEO",   "INTEL_",  "IGC_",  "ONEAPI_", "SYCL_",
    "ZE_",  "ZES_",    "TBB_", "KMP_",  "OMP_",     "LD_",   "GALLIUM", "LP_",   "CLVK_",   "HOME=",
};

static bool driver_reads(const char *variable)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(variable, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum claret_status add_environment(struct claret_text *text)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    const char **list = calloc(count + 1, sizeof *list);
    if (!list)
        return claret_no_memory();
    for (size_t i = 0; i < count; i++)
        if (driver_reads(environ[i]))
            list[kept++] = environ[i];
    qsort(list, kept, sizeof *list, by_text);
    for (size_t i = 0; i < kept; i++)
        claret_text_add(text, "%s\n", list[i]);
    free(list);
    return CLARET_OK;
}

static void add_file(struct claret_text *text, const char *path)
{
    struct stat info;
    claret_text_add(text, "%s", path);
    if (stat(path, &info) == 0)
        claret_text_add(text, " %lld %lld.%09ld", (long long)info.st_size, (long long)info.st_mtim.tv_sec,
                        info.st_mtim.tv_nsec);
    claret_text_add(text, "\n");
}

static enum claret_status make_base(struct claret_trust *trust, const struct claret_drivers *drivers)
{
    struct claret_text text = {0};
    struct utsname system;
    claret_text_add(&text, TRUST_FORMAT "\n");
    if (uname(&system) == 0)
        claret_text_add(&text, "%s %s %s\n", system.release, system.version, system.machine);
    for (const struct claret_embedded *file = claret_kernel_files; file->name; file++)
        if (!strcmp(file->name, "common.clh") || !strcmp(file->name, "probe.cl"))
            claret_text_add(&text, "%s\n", file->text);
    for (size_t i = 0; i < drivers->count; i++) {
        add_file(&text, drivers->list[i].file);
        add_file(&text, drivers->list[i].library);
    }
    add_file(&text, "/etc/ld.so.cache"); /* renewed whenever a package brings a library */
    enum claret_status status = add_environment(&text);
    if (status == CLARET_OK && text.failed)
        status = claret_no_memory();
    if (status == CLARET_OK)
        claret_sha256(text.data, text.size, trust->base);
    claret_text_drop(&text);
    return status;
}

static bool is_key(const char *line, size_t length)
{
    return length == CLARET_TRUST_KEY - 1 && strspn(line, "0123456789abcdef") == length;
}

static enum claret_status append(struct claret_trust *trust, const char *key)
{
    if (trust->count == KEYS_MAX) {
        memmove(trust->keys, trust->keys + 1, (KEYS_MAX - 1) * sizeof *trust->keys);
        trust->count--;
    }
    char(*larger)[CLARET_TRUST_KEY] = realloc(trust->keys, (trust->count + 1) * sizeof *larger);
    if (!larger)
        return claret_no_memory();
    trust->keys = larger;
    memcpy(larger[trust->count], key, CLARET_TRUST_KEY - 1);
    larger[trust->count++][CLARET_TRUST_KEY - 1] = '\0';
    return CLARET_OK;
}

enum claret_status claret_trust_load(const char *folder, const struct claret_drivers *drivers,
                                     struct claret_trust *trust)
{
    char *data = NULL;
    size_t size;
    struct stat info;
    enum claret_status status = CLARET_OK;

    trust->path = claret_path_join(folder, "devices");
    if (!trust->path)
        return claret_no_memory();
    CLARET_TRY(make_base(trust, drivers));
    if (stat(trust->path, &info) != 0)
        return CLARET_OK;
    if (claret_file_read(trust->path, FILE_LIMIT, &data, &size) != CLARET_OK) {
        claret_error_clear();
        return CLARET_OK;
    }
    for (char *line = data, *end; status == CLARET_OK && (end = strchr(line, '\n')); line = end + 1)
        if (is_key(line, (size_t)(end - line)))
            status = append(trust, line);
    free(data);
    return status;
}

void claret_trust_drop(struct claret_trust *trust)
{
    free(trust->path);
    free(trust->keys);
    *trust = (struct claret_trust){0};
}

enum claret_status claret_trust_key(const struct claret_trust *trust, const char *device,
                                    char key[CLARET_TRUST_KEY])
{
    struct claret_text text = {0};
    claret_text_add(&text, "%s\n%s", trust->base, device);
    enum claret_status status = text.failed ? claret_no_memory() : CLARET_OK;
    if (status == CLARET_OK)
        claret_sha256(text.data, text.size, key);
    claret_text_drop(&text);
    return status;
}

bool claret_trust_has(const struct claret_trust *trust, const char *key)
{
    for (size_t i = 0; i < trust->count; i++)
        if (!strcmp(trust->keys[i], key))
            return true;
    return false;
}

enum claret_status claret_trust_add(struct claret_trust *trust, const char *key)
{
    struct claret_text text = {0};
    char *slash, *folder;

    if (claret_trust_has(trust, key) || !is_key(key, strlen(key)))
        return CLARET_OK;
    CLARET_TRY(append(trust, key));
    for (size_t i = 0; i < trust->count; i++)
        claret_text_add(&text, "%s\n", trust->keys[i]);
    folder = claret_strdup(trust->path);
    if (text.failed || !folder) {
        claret_text_drop(&text);
        free(folder);
        return claret_no_memory();
    }
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    if (claret_folder_make(folder, 0700) != CLARET_OK ||
        claret_file_write(trust->path, text.data, text.size) != CLARET_OK) {
        claret_debug("%s cannot be written: devices are tried again at each start", trust->path);
        claret_error_clear();
    }
    claret_text_drop(&text);
    free(folder);
    return CLARET_OK;
}
