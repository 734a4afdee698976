#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

static enum claret_status cannot(const char *path, const char *what, int number)
{
    return claret_fail(number == ENOENT ? CLARET_NOT_FOUND : CLARET_IO, "%s: cannot %s: %s", path, what,
                       number ? strerror(number) : "unknown fault");
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Reads to the end of the file, whose size is `expected` unless it changes meanwhile (or is unknown: /proc).
 */
static enum claret_status read_all(int fd, const char *path, size_t expected, size_t limit, char **data,
                                   size_t *size)
{
    size_t capacity = expected + 2, used = 0;
    char *buffer = malloc(capacity), *larger, size_text[32];

    if (!buffer)
        return claret_no_memory();
    for (;;) {
        ssize_t got = read(fd, buffer + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            cannot(path, "be read", errno);
            free(buffer);
            return CLARET_IO;
        }
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit) {
            free(buffer);
            return claret_fail(CLARET_FORMAT, "%s: larger than %s", path,
                               claret_format_bytes(limit, size_text));
        }
        if (used < capacity - 1)
            continue;
        capacity *= 2;
        larger = realloc(buffer, capacity);
        if (!larger) {
            free(buffer);
            return claret_no_memory();
        }
        buffer = larger;
    }
    buffer[used] = '\0';
    *data = buffer;
    *size = used;
    return CLARET_OK;
}

enum claret_status claret_file_read(const char *path, size_t limit, char **data, size_t *size)
{
    struct stat info;
    char is[32], most[32];
    enum claret_status status;
    /* O_NONBLOCK: a FIFO with no writer must not hang the program, it is refused below. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return cannot(path, "be opened", errno);
    if (fstat(fd, &info) != 0)
        status = cannot(path, "be examined", errno);
    else if (!S_ISREG(info.st_mode))
        status = claret_fail(CLARET_IO, "%s: %s, not a file", path,
                             S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
    else if ((uint64_t)info.st_size > limit)
        status =
            claret_fail(CLARET_FORMAT, "%s: %s, where at most %s can be right", path,
                        claret_format_bytes((uint64_t)info.st_size, is), claret_format_bytes(limit, most));
    else
        status = read_all(fd, path, (size_t)info.st_size, limit, data, size);
    close(fd);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void forget(struct claret_file *file)
{
    free(file->path);
    free(file->temporary);
    *file = (struct claret_file){0};
}

/* The temporary name must be new, and the file must get the mode that the umask gives: not mkstemp's 0600. */
static int open_temporary(const char *path, char **temporary)
{
    static atomic_uint number;
    size_t size = strlen(path) + 48;
    char *name = malloc(size);
    int fd;

    if (!name) {
        errno = ENOMEM;
        return -1;
    }
    do {
        claret_print(name, size, "%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&number, 1));
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0) {
        int failed = errno;
        free(name);
        errno = failed;
        return -1;
    }
    *temporary = name;
    return fd;
}

enum claret_status claret_file_create(const char *path, struct claret_file *file)
{
    struct claret_file made = {0};
    struct stat info;
    bool there = stat(path, &info) == 0;
    int fd, failed;

    if (there && S_ISDIR(info.st_mode))
        return claret_fail(CLARET_IO, "%s: cannot be written: a folder of that name is there", path);
    made.path = claret_strdup(path);
    if (!made.path)
        return claret_no_memory();
    /* A device or pipe (/dev/stdout) is written to; renaming a file over it would destroy it. */
    if (there && !S_ISREG(info.st_mode))
        fd = open(path, O_WRONLY | O_CLOEXEC);
    else
        fd = open_temporary(path, &made.temporary);
    if (fd >= 0) {
        made.stream = fdopen(fd, "wb");
        if (made.stream) {
            *file = made;
            return CLARET_OK;
        }
    }
    failed = errno;
    if (fd >= 0)
        close(fd);
    if (made.temporary)
        unlink(made.temporary);
    forget(&made);
    claret_fail(CLARET_IO, "%s: cannot be written: %s", path, strerror(failed));
    return CLARET_IO;
}

/* The rename is on the disk only once the folder is; some file systems cannot sync folders, which is no
 * error. */
static void sync_folder(const char *path)
{
    char *folder = claret_strdup(path), *slash;
    int fd;

    if (!folder)
        return;
    slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

enum claret_status claret_file_commit(struct claret_file *file)
{
    int failed = 0;
    bool wrong = ferror(file->stream) != 0;

    if (fflush(file->stream) != 0)
        failed = errno;
    else if (!wrong && file->temporary && fsync(fileno(file->stream)) != 0)
        failed = errno;
    if (fclose(file->stream) != 0 && !failed)
        failed = errno;
    if (!failed && wrong)
        failed = EIO;
    if (!failed && file->temporary && rename(file->temporary, file->path) != 0)
        failed = errno;
    if (failed) {
        if (file->temporary)
            unlink(file->temporary);
        claret_fail(CLARET_IO, "%s: cannot be written: %s", file->path, strerror(failed));
        forget(file);
        return CLARET_IO;
    }
    if (file->temporary)
        sync_folder(file->path);
    forget(file);
    return CLARET_OK;
}

void claret_file_abandon(struct claret_file *file)
{
    if (!file->stream)
        return;
    fclose(file->stream);
    if (file->temporary)
        unlink(file->temporary);
    forget(file);
}

enum claret_status claret_file_write(const char *path, const void *data, size_t size)
{
    struct claret_file file = {0};

    CLARET_TRY(claret_file_create(path, &file));
    if (size && fwrite(data, 1, size, file.stream) != size) {
        claret_fail(CLARET_IO, "%s: cannot be written: %s", path, strerror(errno));
        claret_file_abandon(&file);
        return CLARET_IO;
    }
    return claret_file_commit(&file);
}

/* ---- folders and paths --------------------------------------------------------------------------------- */

static enum claret_status make_one(const char *path, unsigned mode)
{
    struct stat info;
    int failed;

    if (mkdir(path, (mode_t)mode) == 0)
        return CLARET_OK;
    failed = errno;
    /* Whatever mkdir says of it (EEXIST, or EROFS on a read-only disk): a folder that is there is fine. */
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return CLARET_OK;
        failed = ENOTDIR;
    }
    claret_fail(CLARET_IO, "%s: the folder cannot be made: %s", path, strerror(failed));
    return CLARET_IO;
}

enum claret_status claret_folder_make(const char *path, unsigned mode)
{
    enum claret_status status = CLARET_OK;
    char *copy = claret_strdup(path);

    if (!copy)
        return claret_no_memory();
    for (char *p = copy + (*copy == '/'); *p && status == CLARET_OK; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        status = make_one(copy, mode);
        *p = '/';
    }
    free(copy);
    return status == CLARET_OK ? make_one(path, mode) : status;
}

char *claret_path_join(const char *folder, const char *name)
{
    size_t length = strlen(folder), size = length + strlen(name) + 2;
    char *path = malloc(size);

    if (path)
        claret_print(path, size, "%s%s%s", folder, length && folder[length - 1] != '/' ? "/" : "", name);
    return path;
}
