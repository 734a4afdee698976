/* Which published sets there are, and what is done to have one. */
#include "fetch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "data.h"

static const struct claret_fetch_set sets[] = {
    {"cifar10",
     "CIFAR-10",
     {"https://www.cs.toronto.edu/~kriz/"},
     "cifar-10-batches-bin",
     true,
     {{"cifar-10-binary.tar.gz", 170052171, CLARET_CIFAR10_MD5}},
     {{"data_batch_1.bin", 30730000, NULL},
      {"data_batch_2.bin", 30730000, NULL},
      {"data_batch_3.bin", 30730000, NULL},
      {"data_batch_4.bin", 30730000, NULL},
      {"data_batch_5.bin", 30730000, NULL},
      {"test_batch.bin", 30730000, NULL}}},
    {"cifar100",
     "CIFAR-100",
     {"https://www.cs.toronto.edu/~kriz/"},
     "cifar-100-binary",
     true,
     {{"cifar-100-binary.tar.gz", 168513733, "03b5dce01913d631647c71ecec9e9cb8"}},
     {{"train.bin", 153700000, NULL}, {"test.bin", 30740000, NULL}}},
    {"mnist",
     "MNIST",
     {"https://ossci-datasets.s3.amazonaws.com/mnist/",
      "https://storage.googleapis.com/cvdf-datasets/mnist/"},
     "mnist",
     false,
     {{"train-images-idx3-ubyte.gz", 9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
      {"train-labels-idx1-ubyte.gz", 28881, "d53e105ee54ea40749a09fcbcd1e9432"},
      {"t10k-images-idx3-ubyte.gz", 1648877, "9fb629c4189551a2d022fa330f9573f3"},
      {"t10k-labels-idx1-ubyte.gz", 4542, "ec29112dd5afa0611ce80d1b7f02629c"}},
     {{0}}},
    {"fashion-mnist",
     "Fashion-MNIST",
     {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"},
     "fashion-mnist",
     false,
     {{"train-images-idx3-ubyte.gz", 26421880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
      {"train-labels-idx1-ubyte.gz", 29515, "25c81989df183df01b3e8a0aad5dffbe"},
      {"t10k-images-idx3-ubyte.gz", 4422102, "bef4ecab320f06d8554ea6380940ec79"},
      {"t10k-labels-idx1-ubyte.gz", 5148, "bb300cfdad3c16e7a12a480ee83cd310"}},
     {{0}}},
};
#define SETS (sizeof(sets) / sizeof(sets[0]))

const char *claret_fetch_set_name(size_t index)
{
    return index < SETS ? sets[index].name : NULL;
}

static const char *next_name(int index, const void *user)
{
    (void)user;
    return claret_fetch_set_name((size_t)index);
}

static enum claret_status find_set(const char *name, const struct claret_fetch_set **set)
{
    for (size_t i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, name) == 0) {
            *set = &sets[i];
            return CLARET_OK;
        }
    int near = claret_nearest(name, next_name, NULL);
    if (near >= 0)
        return claret_fail(CLARET_INVALID, "there is no data set '%s'; did you mean '%s'?", name,
                           sets[near].name);
    return claret_fail(CLARET_INVALID,
                       "there is no data set '%s'; there are cifar10, cifar100, mnist and "
                       "fashion-mnist",
                       name);
}

/* ---- one call ------------------------------------------------------------------------------------------ */

struct fetching {
    const struct claret_fetch_set *set;
    const struct claret_fetch_request *request;
    char md5[CLARET_FETCH_FILES][33]; /* the caller's; "" where there are none */
    char *place;                      /* request->folder/set->folder */
};

static int file_count(const struct claret_fetch_set *set)
{
    int count = 0;

    while (count < CLARET_FETCH_FILES && set->files[count].name)
        count++;
    return count;
}

/* "digest,digest": as many as there are files. */
static enum claret_status read_digests(struct fetching *fetching)
{
    const char *at = fetching->request->md5;
    int count = file_count(fetching->set), i = 0;

    for (; at && i < count; i++, at += *at == ',') {
        size_t length = strspn(at, "0123456789abcdefABCDEF");
        if (length != 32 || (at[32] != ',' && at[32] != '\0') || (at[32] == ',') != (i + 1 < count))
            break;
        for (int k = 0; k < 32; k++)
            fetching->md5[i][k] = (char)(at[k] >= 'A' && at[k] <= 'F' ? at[k] + 'a' - 'A' : at[k]);
        at += 32;
    }
    if (at && i < count)
        return claret_fail(CLARET_INVALID, "--md5: '%s' is not %s of 32 hexadecimal digits",
                           fetching->request->md5,
                           count == 1 ? "a digest" : "four digests, with commas between them,");
    return CLARET_OK;
}

/* BASE/NAME, or where one file is all there is, BASE itself unless it ends in '/'. */
static char *address(const char *base, const char *name, bool only)
{
    size_t length = strlen(base);

    return only && length && base[length - 1] != '/' ? claret_strdup(base) : claret_path_join(base, name);
}

static enum claret_status fetch_file(struct fetching *fetching, int index, const char *path)
{
    const struct claret_fetch_request *request = fetching->request;
    struct claret_fetch_file file = fetching->set->files[index];
    char *urls[CLARET_FETCH_MIRRORS + 1] = {NULL};
    enum claret_status status = CLARET_OK;
    struct stat info;

    if (fetching->md5[index][0]) {
        file.md5 = fetching->md5[index];
        file.size = 0;
    }
    if (stat(path, &info) == 0) {
        status = claret_download_check(path, &file);
        if (status == CLARET_OK)
            claret_info("%s is there already, and right", path);
        else if (status == CLARET_FORMAT)
            claret_error_context("It was there before; remove it to have it fetched.");
        return status;
    }
    for (int i = 0; i < CLARET_FETCH_MIRRORS && status == CLARET_OK; i++) {
        const char *base = request->url ? (i ? NULL : request->url) : fetching->set->mirrors[i];
        urls[i] = base ? address(base, file.name, request->url && fetching->set->archive) : NULL;
        status = base && !urls[i] ? claret_no_memory() : CLARET_OK;
    }
    struct claret_download download = {.path = path,
                                       .file = &file,
                                       .urls = (const char *const *)urls,
                                       .timeout = request->timeout,
                                       .progress = request->progress,
                                       .user = request->user};
    if (status == CLARET_OK)
        status = claret_download(&download);
    for (int i = 0; i < CLARET_FETCH_MIRRORS; i++)
        free(urls[i]);
    return status;
}

/* Whether an archive's files are all in their place, by their sizes. */
static bool unpacked_already(const struct fetching *fetching)
{
    for (const struct claret_fetch_file *file = fetching->set->unpacked; file->name; file++) {
        struct stat info;
        char *path = claret_path_join(fetching->place, file->name);
        bool there =
            path && stat(path, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size == file->size;
        free(path);
        if (!there)
            return false;
    }
    return true;
}

static enum claret_status fetch_archive(struct fetching *fetching)
{
    const char *folder = fetching->request->folder;
    char *path;

    if (unpacked_already(fetching)) {
        claret_info("%s is there already", fetching->place);
        return CLARET_OK;
    }
    path = claret_path_join(folder, fetching->set->files[0].name);
    if (!path)
        return claret_no_memory();
    enum claret_status status = claret_folder_make(folder, 0777);
    if (status == CLARET_OK)
        status = fetch_file(fetching, 0, path);
    if (status == CLARET_OK)
        status = claret_unpack(path, folder, fetching->set->folder);
    free(path);
    return status;
}

static enum claret_status fetch_files(struct fetching *fetching)
{
    enum claret_status status = claret_folder_make(fetching->place, 0777);

    for (int i = 0; i < file_count(fetching->set) && status == CLARET_OK; i++) {
        char *path = claret_path_join(fetching->place, fetching->set->files[i].name);
        status = path ? fetch_file(fetching, i, path) : claret_no_memory();
        free(path);
    }
    return status;
}

enum claret_status claret_fetch(const char *set, const char *folder, const char *url, const char *md5,
                                int timeout, claret_on_fetch progress, void *user, char **place)
{
    struct claret_fetch_request request = {set, folder, url, md5, timeout, progress, user};
    struct fetching fetching = {.request = &request};
    enum claret_status status;

    claret_error_clear();
    if (!set || !folder || !*folder || !place || timeout < 1)
        return claret_fail(CLARET_INVALID,
                           "claret_fetch: needs a set, a folder, seconds and where to put its name");
    if (url && !*url)
        return claret_fail(CLARET_INVALID, "the address (--url) is empty");
    CLARET_TRY(find_set(set, &fetching.set));
    CLARET_TRY(read_digests(&fetching));
    fetching.place = claret_path_join(folder, fetching.set->folder);
    if (!fetching.place)
        return claret_no_memory();
    status = fetching.set->archive ? fetch_archive(&fetching) : fetch_files(&fetching);
    if (status == CLARET_OK)
        *place = fetching.place;
    else
        free(fetching.place);
    return status;
}
