/* The OpenCL drivers that the loader would load, and hiding some of them from it. */
#include "rt/drivers.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define DEFAULT_FOLDER "/etc/OpenCL/vendors"
#define FILE_LIMIT 4096 /* bytes of an .icd file */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* `library` NULL: the file's first line names it; a file that cannot be read is passed over, as loaders do.
 */
static enum claret_status add(struct claret_drivers *drivers, const char *file, const char *library,
                              bool from_list)
{
    char *content = NULL;
    if (library == NULL) {
        size_t size;
        if (claret_file_read(file, FILE_LIMIT, &content, &size) != CLARET_OK) {
            claret_error_clear();
            return CLARET_OK;
        }
        content[strcspn(content, "\r\n")] = '\0';
        library = content;
    }
    struct claret_driver *larger = realloc(drivers->list, (drivers->count + 1) * sizeof *larger);
    if (larger == NULL) {
        free(content);
        return claret_no_memory();
    }
    drivers->list = larger;
    const char *slash = strrchr(file, '/');
    larger[drivers->count++] = (struct claret_driver){
        .file = claret_strdup(file),
        .name = claret_strdup(slash == NULL ? file : slash + 1),
        .library = claret_strdup(library),
        .from_list = from_list,
    };
    free(content);
    const struct claret_driver *made = &larger[drivers->count - 1];
    return made->file == NULL || made->name == NULL || made->library == NULL ? claret_no_memory() : CLARET_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct claret_driver *)a)->name, ((const struct claret_driver *)b)->name);
}

static enum claret_status add_folder(struct claret_drivers *drivers, const char *folder)
{
    size_t first = drivers->count;
    enum claret_status status = CLARET_OK;
    DIR *stream = opendir(folder);
    const struct dirent *entry;

    while (stream != NULL && status == CLARET_OK && (entry = readdir(stream)) != NULL) {
        if (!ends_with(entry->d_name, ".icd"))
            continue;
        char *path = claret_path_join(folder, entry->d_name);
        status = path == NULL ? claret_no_memory() : add(drivers, path, NULL, false);
        free(path);
    }
    if (stream != NULL)
        closedir(stream);
    if (drivers->count > first)
        qsort(drivers->list + first, drivers->count - first, sizeof *drivers->list, by_name);
    return status;
}

/* OCL_ICD_VENDORS names an .icd file: in the folder where it has none of its own, if there is such a file. */
static enum claret_status add_file(struct claret_drivers *drivers, const char *file, const char *folder)
{
    char *path = strchr(file, '/') == NULL ? claret_path_join(folder, file) : NULL;
    bool inside = path != NULL && access(path, R_OK) == 0;
    enum claret_status status = add(drivers, inside ? path : file, NULL, false);
    free(path);
    return status;
}

/* Libraries with a colon between them. */
static enum claret_status add_list(struct claret_drivers *drivers, const char *names)
{
    char *copy = claret_strdup(names), *rest = copy, *name;
    enum claret_status status = copy == NULL ? claret_no_memory() : CLARET_OK;
    while (status == CLARET_OK && (name = strtok_r(rest, ":", &rest)) != NULL)
        status = add(drivers, name, name, true);
    free(copy);
    return status;
}

enum claret_status claret_drivers_find(struct claret_drivers *drivers)
{
    const char *names = getenv("OCL_ICD_FILENAMES"), *vendors = getenv("OCL_ICD_VENDORS");
    const char *folder = getenv("OPENCL_VENDOR_PATH");

    if (names != NULL)
        CLARET_TRY(add_list(drivers, names));
    if (folder == NULL || *folder == '\0')
        folder = DEFAULT_FOLDER;
    if (vendors == NULL || *vendors == '\0')
        return add_folder(drivers, folder);
    if (is_folder(vendors))
        return add_folder(drivers, vendors);
    if (ends_with(vendors, ".icd"))
        return add_file(drivers, vendors, folder);
    return add(drivers, vendors, vendors, false);
}

/* ---- the private folder ------------------------------------------------------------------------------- */

enum claret_status claret_drivers_begin(struct claret_drivers *drivers)
{
    static const char *const templates[] = {"/tmp/claret-icd-XXXXXX", "/var/tmp/claret-icd-XXXXXX",
                                            "/dev/shm/claret-icd-XXXXXX"};
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        drivers->folder = claret_strdup(templates[i]);
        if (drivers->folder == NULL)
            return claret_no_memory();
        if (mkdtemp(drivers->folder) != NULL)
            return CLARET_OK;
        free(drivers->folder);
        drivers->folder = NULL;
    }
    return claret_fail(
        CLARET_IO,
        "an OpenCL driver died and is to be hidden, for which a temporary folder is needed, and /tmp, "
        "/var/tmp and /dev/shm are not writable: %s",
        strerror(errno));
}

/* "FOLDER/003-pocl.icd": keeps the order where a loader sorts. */
static char *private_file(const struct claret_drivers *drivers, size_t index)
{
    struct claret_text text = {0};
    char *path = NULL;
    const char *name = drivers->list[index].name;
    claret_text_add(&text, "%s/%03zu-%s%s", drivers->folder, index, name,
                    ends_with(name, ".icd") ? "" : ".icd");
    if (claret_text_take(&text, &path) != CLARET_OK)
        return NULL;
    return path;
}

enum claret_status claret_drivers_keep(struct claret_drivers *drivers, size_t index, bool keep)
{
    struct claret_driver *driver = &drivers->list[index];
    enum claret_status status = CLARET_OK;
    driver->kept = keep;
    if (driver->from_list)
        return CLARET_OK;

    char *path = private_file(drivers, index);
    if (path == NULL)
        return claret_no_memory();
    if (keep) {
        FILE *file = fopen(path, "w");
        if (file == NULL || fprintf(file, "%s\n", driver->library) < 0)
            status = claret_fail(CLARET_IO, "writing %s: %s", path, strerror(errno));
        if (file != NULL && fclose(file) != 0 && status == CLARET_OK)
            status = claret_fail(CLARET_IO, "writing %s: %s", path, strerror(errno));
    } else {
        unlink(path);
    }
    free(path);
    return status;
}

enum claret_status claret_drivers_apply(const struct claret_drivers *drivers)
{
    struct claret_text names = {0};
    for (size_t i = 0; i < drivers->count; i++)
        if (drivers->list[i].from_list && drivers->list[i].kept)
            claret_text_add(&names, "%s%s", names.size == 0 ? "" : ":", drivers->list[i].library);
    bool done =
        !names.failed && setenv("OCL_ICD_VENDORS", drivers->folder, 1) == 0 &&
        (names.size == 0 ? unsetenv("OCL_ICD_FILENAMES") : setenv("OCL_ICD_FILENAMES", names.data, 1)) == 0;
    claret_text_drop(&names);
    return done ? CLARET_OK : claret_no_memory();
}

static void remove_folder(const char *folder)
{
    DIR *stream = opendir(folder);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL)
        if (ends_with(entry->d_name, ".icd"))
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream != NULL)
        closedir(stream);
    rmdir(folder);
}

/* The folder that stays, and the process that removes it: children forked later run the same exit handlers.
 */
static pthread_mutex_t staying_lock = PTHREAD_MUTEX_INITIALIZER;
static char *staying;
static pid_t staying_owner;

static void remove_staying(void)
{
    if (staying == NULL || getpid() != staying_owner)
        return;
    remove_folder(staying);
    free(staying);
    staying = NULL;
}

enum claret_status claret_drivers_stay(struct claret_drivers *drivers)
{
    static bool registered;
    enum claret_status status = CLARET_OK;

    pthread_mutex_lock(&staying_lock);
    if (!registered && atexit(remove_staying) != 0)
        status = claret_no_memory();
    if (status == CLARET_OK) {
        registered = true;
        remove_staying(); /* one of an earlier listing: nothing points there any more */
        staying = drivers->folder;
        staying_owner = getpid();
        drivers->folder = NULL;
    }
    pthread_mutex_unlock(&staying_lock);
    return status;
}

void claret_drivers_drop(struct claret_drivers *drivers)
{
    for (size_t i = 0; i < drivers->count; i++) {
        free(drivers->list[i].file);
        free(drivers->list[i].name);
        free(drivers->list[i].library);
    }
    free(drivers->list);
    if (drivers->folder != NULL) {
        remove_folder(drivers->folder);
        free(drivers->folder);
    }
    *drivers = (struct claret_drivers){0};
}
