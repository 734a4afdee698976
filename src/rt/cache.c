/* Program binaries on disk. FOLDER/programs/KEY.bin is a header and the binary; whoever reads one checks its
 * length and digest, whoever writes one renames it into place, so processes need no lock. A fault costs time,
 * never a run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "rt/internal.h"

#define CACHE_MAGIC "CLARETPB"
#define CACHE_VERSION 2
#define CACHE_ENTRY_LIMIT ((size_t)256 << 20) /* bytes */
#define CACHE_BYTES ((uint64_t)256 << 20)
#define CACHE_SECONDS ((time_t)90 * 24 * 3600)
#define LEFTOVER_SECONDS ((time_t)24 * 3600) /* a temporary file of a writer that died */

/* magic (8 bytes), version, 0 (uint32 each), payload bytes (uint64), the payload's SHA-256 and the program's
 * key in hexadecimal (64 each); numbers little-endian. */
#define HEADER_BYTES 152

static void put(unsigned char *bytes, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
}

static void make_header(unsigned char header[HEADER_BYTES], const char *key, const unsigned char *payload,
                        size_t size)
{
    char digest[65];
    claret_sha256(payload, size, digest);
    memcpy(header, CACHE_MAGIC, 8);
    put(header + 8, CACHE_VERSION, 4);
    put(header + 12, 0, 4);
    put(header + 16, size, 8);
    memcpy(header + 24, digest, 64);
    memset(header + 88, 0, 64);
    memcpy(header + 88, key, strnlen(key, 64));
}

/* Failures here are not the caller's: their texts are taken out of the error record. */
static char *taken_error(void)
{
    char *text = claret_error_take();
    claret_error_clear();
    return text;
}

static void give_up(struct claret_cache *cache)
{
    char *reason = taken_error();
    claret_warn("the program cache %s cannot be used, going on without it: %s", cache->folder,
                reason ? reason : "unknown reason");
    free(reason);
    claret_cache_close(cache);
}

enum claret_status claret_cache_open(struct claret_cache *cache, const char *cache_dir)
{
    cache->folder = claret_path_join(cache_dir, "programs");
    if (!cache->folder)
        return claret_no_memory();
    if (claret_folder_make(cache_dir, 0700) != CLARET_OK ||
        claret_folder_make(cache->folder, 0700) != CLARET_OK) {
        give_up(cache);
    } else if (access(cache->folder, R_OK | W_OK | X_OK)) {
        claret_fail(CLARET_IO, "%s", strerror(errno));
        give_up(cache);
    }
    return CLARET_OK;
}

void claret_cache_close(struct claret_cache *cache)
{
    free(cache->folder);
    cache->folder = NULL;
}

/* "FOLDER/KEY.bin"; NULL: no cache or no memory, which is the same to callers. */
static char *entry_path(const struct claret_cache *cache, const char *key)
{
    char name[80];
    snprintf(name, sizeof name, "%s.bin", key);
    return cache->folder ? claret_path_join(cache->folder, name) : NULL;
}

void claret_cache_drop(struct claret_cache *cache, const char *key, const char *why)
{
    char *path = entry_path(cache, key);
    if (!path)
        return;
    claret_debug("program cache: %s: %s; building it again", path, why);
    unlink(path);
    free(path);
}

bool claret_cache_load(struct claret_cache *cache, const char *key, unsigned char **binary, size_t *size)
{
    char *path = entry_path(cache, key), *data = NULL;
    unsigned char expected[HEADER_BYTES];
    size_t bytes;
    bool whole;
    if (!path || access(path, F_OK)) {
        free(path);
        return false;
    }
    if (claret_file_read(path, CACHE_ENTRY_LIMIT, &data, &bytes) != CLARET_OK) {
        char *reason = taken_error();
        claret_cache_drop(cache, key, reason ? reason : "it cannot be read");
        free(reason);
        free(path);
        return false;
    }
    whole = bytes > HEADER_BYTES;
    if (whole) {
        make_header(expected, key, (unsigned char *)data + HEADER_BYTES, bytes - HEADER_BYTES);
        whole = !memcmp(data, expected, HEADER_BYTES);
    }
    if (whole) {
        utimensat(AT_FDCWD, path, NULL, 0); /* pruning goes by the last use */
        *size = bytes - HEADER_BYTES;
        memmove(data, data + HEADER_BYTES, *size);
        *binary = (unsigned char *)data;
    } else {
        claret_cache_drop(cache, key, "it is damaged");
        free(data);
    }
    free(path);
    return whole;
}

void claret_cache_store(struct claret_cache *cache, const char *key, const unsigned char *binary, size_t size)
{
    char *path = entry_path(cache, key);
    unsigned char *data =
        path && size <= CACHE_ENTRY_LIMIT - HEADER_BYTES ? malloc(size + HEADER_BYTES) : NULL;
    if (data) {
        make_header(data, key, binary, size);
        memcpy(data + HEADER_BYTES, binary, size);
        if (claret_file_write(path, data, size + HEADER_BYTES) == CLARET_OK)
            cache->stored = true;
        else
            give_up(cache);
    }
    free(data);
    free(path);
}

/* ---- pruning ------------------------------------------------------------------------------------------- */

struct entry {
    char *path;
    time_t used;
    uint64_t bytes;
};
struct listing {
    struct entry *entries;
    size_t count, capacity;
};

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->used < y->used ? 1 : x->used > y->used ? -1 : strcmp(x->path, y->path);
}

static void add_entry(struct listing *listing, const struct claret_cache *cache, const char *name)
{
    struct entry entry = {.path = claret_path_join(cache->folder, name)};
    struct stat info;
    if (!entry.path || lstat(entry.path, &info) || !S_ISREG(info.st_mode)) {
        free(entry.path);
        return;
    }
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
        struct entry *grown = realloc(listing->entries, capacity * sizeof *grown);
        if (!grown) {
            free(entry.path);
            return;
        }
        listing->entries = grown;
        listing->capacity = capacity;
    }
    entry.used = info.st_mtime;
    entry.bytes = (uint64_t)info.st_size;
    listing->entries[listing->count++] = entry;
}

/* Newest first: what is too old goes, and what comes after the folder's share is used up. */
static void prune_listing(struct listing *listing, time_t now)
{
    uint64_t total = 0;
    int removed = 0;
    if (listing->count)
        qsort(listing->entries, listing->count, sizeof *listing->entries, by_age);
    for (size_t i = 0; i < listing->count; i++) {
        const struct entry *entry = &listing->entries[i];
        const char *dot = strrchr(entry->path, '.');
        time_t limit = dot && !strcmp(dot, ".bin") ? CACHE_SECONDS : LEFTOVER_SECONDS;
        total += entry->bytes;
        if (now - entry->used > limit || (limit == CACHE_SECONDS && total > CACHE_BYTES))
            removed += !unlink(entry->path);
    }
    if (removed)
        claret_debug("program cache: %d old files removed", removed);
}

void claret_cache_prune(struct claret_cache *cache)
{
    struct listing listing = {0};
    struct dirent *file;
    DIR *folder;
    if (!cache->folder || !cache->stored)
        return;
    cache->stored = false;
    folder = opendir(cache->folder);
    if (!folder)
        return;
    while ((file = readdir(folder)))
        add_entry(&listing, cache, file->d_name);
    closedir(folder);
    prune_listing(&listing, time(NULL));
    for (size_t i = 0; i < listing.count; i++)
        free(listing.entries[i].path);
    free(listing.entries);
}
