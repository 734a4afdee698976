#include "unzip.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#ifdef CLARET_HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>

#define CHUNK ((size_t)1 << 20)

static enum claret_status complain(const char *path, struct archive *archive)
{
    const char *text = archive_error_string(archive);

    return claret_fail(CLARET_FORMAT, "%s: %s", path, text ? text : "not a zip file that can be read");
}

/* The size in the header may be absent or wrong: it is only where the buffer starts. */
static enum claret_status read_member(const char *path, struct archive *archive, struct archive_entry *entry,
                                      size_t limit, struct claret_zip_member *member)
{
    int64_t stated = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
    size_t capacity = stated > 0 && (uint64_t)stated < limit ? (size_t)stated + 1 : CHUNK;
    unsigned char *larger;
    char most[32];

    free(member->data);
    member->data = malloc(capacity);
    member->size = 0;
    if (!member->data)
        return claret_no_memory();
    for (;;) {
        la_ssize_t got = archive_read_data(archive, member->data + member->size, capacity - member->size);
        if (got < 0)
            return complain(path, archive);
        if (got == 0)
            return CLARET_OK;
        member->size += (size_t)got;
        if (member->size > limit)
            return claret_fail(CLARET_FORMAT, "%s: %s is larger than %s", path, member->name,
                               claret_format_bytes(limit, most));
        if (member->size < capacity)
            continue;
        larger = realloc(member->data, 2 * capacity);
        if (!larger)
            return claret_no_memory();
        member->data = larger;
        capacity *= 2;
    }
}

static enum claret_status read_all(const char *path, struct archive *archive, size_t limit,
                                   struct claret_zip_member *members, int count, struct claret_text *names)
{
    enum claret_status status = CLARET_OK;
    struct archive_entry *entry;
    int code;

    while (status == CLARET_OK && (code = archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);
        for (int i = 0; name && i < count && status == CLARET_OK; i++)
            if (strcmp(name, members[i].name) == 0)
                status = read_member(path, archive, entry, limit, &members[i]);
        if (name)
            claret_text_add(names, "%s%s", names->size ? ", " : "", name);
    }
    if (status == CLARET_OK && code != ARCHIVE_EOF)
        status = complain(path, archive);
    return status;
}

enum claret_status claret_unzip(const char *path, size_t limit, struct claret_zip_member *members, int count,
                                char **names)
{
    struct archive *archive = archive_read_new();
    enum claret_status status = archive ? CLARET_OK : claret_no_memory();
    struct claret_text list = {0};

    if (status != CLARET_OK)
        return status;
    archive_read_support_format_zip(archive);
    if (archive_read_open_filename(archive, path, CHUNK) != ARCHIVE_OK)
        status = complain(path, archive);
    else
        status = read_all(path, archive, limit, members, count, &list);
    archive_read_free(archive);
    if (status == CLARET_OK && names)
        status = claret_text_take(&list, names);
    claret_text_drop(&list);
    return status;
}
#else
enum claret_status claret_unzip(const char *path, size_t limit, struct claret_zip_member *members, int count,
                                char **names)
{
    (void)limit, (void)members, (void)count, (void)names;
    return claret_fail(CLARET_FORMAT,
                       "%s: this claret was built without libarchive: unpack it (unzip) and name the folder",
                       path);
}
#endif
