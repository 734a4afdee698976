/* A .tar.gz by libarchive: of files in one folder, and nothing else. */
#include "fetch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"

#ifdef CLARET_HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>

#define CHUNK ((size_t)1 << 18)
#define MOST ((uint64_t)4 << 30) /* bytes, of all files */

struct unpacking {
    const char *path, *folder;
    char *scratch; /* where the files are until all of them are there */
    struct archive *archive;
    uint64_t left;
};

static enum claret_status complain(const struct unpacking *unpacking)
{
    const char *text = archive_error_string(unpacking->archive);

    return claret_fail(CLARET_FORMAT, "%s: cannot be unpacked: %s", unpacking->path,
                       text ? text : "unknown fault");
}

/* FOLDER/NAME: *name. Everything else could leave the folder, now or when a later member goes through it. */
static enum claret_status judge(const struct unpacking *unpacking, struct archive_entry *entry,
                                const char **name)
{
    const char *path = archive_entry_pathname(entry);
    size_t length = strlen(unpacking->folder);
    bool inside = path && strncmp(path, unpacking->folder, length) == 0 &&
                  (path[length] == '/' || path[length] == '\0');

    *name = inside && path[length] ? path + length + 1 : "";
    if (inside && archive_entry_filetype(entry) == AE_IFDIR && !**name && !archive_entry_hardlink(entry))
        return CLARET_OK;
    if (inside && archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry) && **name &&
        !strchr(*name, '/') && (*name)[0] != '.')
        return CLARET_OK;
    return claret_fail(
        CLARET_FORMAT,
        "%s: its member '%s' is not a file in %s/: nothing was unpacked, for it might leave the "
        "folder",
        unpacking->path, path ? path : "", unpacking->folder);
}

static enum claret_status write_member(struct unpacking *unpacking, const char *name)
{
    char *path = claret_path_join(unpacking->scratch, name), *buffer = malloc(CHUNK);
    enum claret_status status = path && buffer ? CLARET_OK : claret_no_memory();
    FILE *file = status == CLARET_OK ? fopen(path, "wb") : NULL;
    la_ssize_t got = 0;

    while (file && (got = archive_read_data(unpacking->archive, buffer, CHUNK)) > 0) {
        if ((uint64_t)got > unpacking->left) {
            status = claret_fail(CLARET_FORMAT, "%s: unpacks to more than can be right", unpacking->path);
            break;
        }
        unpacking->left -= (uint64_t)got;
        if (fwrite(buffer, 1, (size_t)got, file) != (size_t)got)
            break;
    }
    bool written = file && !ferror(file);
    if (file && fclose(file) != 0)
        written = false;
    if (status == CLARET_OK && got < 0)
        status = complain(unpacking);
    else if (status == CLARET_OK && !written)
        status = claret_fail(CLARET_IO, "%s: cannot be written: %s", path, strerror(errno));
    free(buffer);
    free(path);
    return status;
}

static enum claret_status read_members(struct unpacking *unpacking)
{
    struct archive_entry *entry;
    const char *name;
    int code, files = 0;

    while ((code = archive_read_next_header(unpacking->archive, &entry)) == ARCHIVE_OK) {
        CLARET_TRY(judge(unpacking, entry, &name));
        if (!*name)
            continue;
        CLARET_TRY(write_member(unpacking, name));
        files++;
    }
    if (code != ARCHIVE_EOF)
        return complain(unpacking);
    if (!files)
        return claret_fail(CLARET_FORMAT, "%s: no files in it", unpacking->path);
    return CLARET_OK;
}

/* Does `move` with each file of `folder`: into `to`, or with NULL removes it. */
static enum claret_status empty_folder(const char *folder, const char *to)
{
    DIR *listing = opendir(folder);
    enum claret_status status = CLARET_OK;
    struct dirent *entry;

    while (listing && (entry = readdir(listing)) && status == CLARET_OK) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *from = claret_path_join(folder, entry->d_name);
        char *target = to ? claret_path_join(to, entry->d_name) : NULL;
        if (!from || (to && !target))
            status = claret_no_memory();
        else if (to && rename(from, target) != 0)
            status = claret_fail(CLARET_IO, "%s: cannot be written: %s", target, strerror(errno));
        else if (!to)
            unlink(from);
        free(from);
        free(target);
    }
    if (listing)
        closedir(listing);
    return status;
}

static enum claret_status unpack(struct unpacking *unpacking, const char *place)
{
    archive_read_support_filter_gzip(unpacking->archive);
    archive_read_support_format_tar(unpacking->archive);
    if (archive_read_open_filename(unpacking->archive, unpacking->path, CHUNK) != ARCHIVE_OK)
        return complain(unpacking);
    empty_folder(unpacking->scratch, NULL); /* left by one that was interrupted */
    CLARET_TRY(claret_folder_make(unpacking->scratch, 0777));
    CLARET_TRY(read_members(unpacking));
    CLARET_TRY(claret_folder_make(place, 0777));
    return empty_folder(unpacking->scratch, place);
}

enum claret_status claret_unpack(const char *path, const char *into, const char *folder)
{
    struct unpacking unpacking = {.path = path, .folder = folder, .left = MOST};
    struct claret_text name = {0};
    char *scratch_name = NULL, *place = claret_path_join(into, folder);
    enum claret_status status;

    claret_text_add(&name, ".%s.unpacking", folder);
    CLARET_GOTO(done, claret_text_take(&name, &scratch_name));
    unpacking.scratch = claret_path_join(into, scratch_name);
    unpacking.archive = archive_read_new();
    status = place && unpacking.scratch && unpacking.archive ? unpack(&unpacking, place) : claret_no_memory();
    if (unpacking.scratch) {
        empty_folder(unpacking.scratch, NULL);
        rmdir(unpacking.scratch);
    }
done:
    archive_read_free(unpacking.archive);
    free(unpacking.scratch);
    free(scratch_name);
    free(place);
    return status;
}
#else
enum claret_status claret_unpack(const char *path, const char *into, const char *folder)
{
    (void)folder;
    char *from = claret_shell_word(path), *to = claret_shell_word(into);
    enum claret_status status =
        from && to
            ? claret_fail(CLARET_IO, "this claret was built without libarchive: tar -xzf %s -C %s", from, to)
            : claret_no_memory();
    free(from);
    free(to);
    return status;
}
#endif
