/* Fetching published data sets. */
#ifndef CLARET_DATA_FETCH_H
#define CLARET_DATA_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define CLARET_FETCH_FILES 4
#define CLARET_FETCH_MIRRORS 2

/* A file as it is published. */
struct claret_fetch_file {
    const char *name;
    uint64_t size; /* bytes; 0: not known */
    const char *md5;
};

struct claret_fetch_set {
    const char *name;  /* "cifar10" */
    const char *title; /* "CIFAR-10" */
    const char
        *mirrors[CLARET_FETCH_MIRRORS]; /* addresses of folders, with a '/' at the end; NULL: no more */
    const char *folder;                 /* what is made in the user's folder */
    bool archive;                       /* the only file is a .tar.gz with that folder */
    struct claret_fetch_file files[CLARET_FETCH_FILES];
    struct claret_fetch_file unpacked[6 + 1]; /* archive: what tells that it is there and whole, by sizes */
};

/* What claret_fetch() is told. */
struct claret_fetch_request {
    const char *set, *folder;
    const char *url, *md5; /* NULL: as published */
    int timeout;           /* seconds */
    claret_on_fetch progress;
    void *user;
};

/* One file into `path`, by way of `path`.part, which a later call goes on with. `urls` (NULL ends them) are
 * tried in turn. It is in its place only when size and digest are right. `timeout`: seconds without a byte
 * until a server is given up. */
struct claret_download {
    const char *path;
    const struct claret_fetch_file *file;
    const char *const *urls;
    int timeout;
    claret_on_fetch progress; /* may be NULL */
    void *user;
};
enum claret_status claret_download(const struct claret_download *download);
/* CLARET_FORMAT: the file at `path` has another size or digest. */
enum claret_status claret_download_check(const char *path, const struct claret_fetch_file *file);

/* Unpacks a .tar.gz with files FOLDER/NAME, and nothing else, as INTO/FOLDER/NAME: all or none of them. */
enum claret_status claret_unpack(const char *path, const char *into, const char *folder);

#endif
