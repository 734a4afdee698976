/* Which kind of data set a folder holds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "source.h"

static const struct claret_source *const sources[] = {
    &claret_source_cifar10,       &claret_source_cifar100, &claret_source_mnist,
    &claret_source_fashion_mnist, &claret_source_arrays,   &claret_source_folder,
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

/* ---- looking ------------------------------------------------------------------------------------------- */

enum claret_status claret_data_there(const char *folder, const char *name, bool *there)
{
    char *path = claret_path_join(folder, name);
    enum claret_status status = path ? CLARET_OK : claret_no_memory();
    struct stat info;

    *there = path && stat(path, &info) == 0;
    if (path && !*there && errno == EACCES)
        status = claret_fail(CLARET_IO, "%s: cannot be looked for: %s", path, strerror(EACCES));
    free(path);
    return status;
}

enum claret_status claret_data_find(const char *path, const char *const *folders, const char *const *names,
                                    char **place)
{
    enum claret_status status = CLARET_OK;
    bool there = false;

    *place = NULL;
    for (; *folders && status == CLARET_OK; folders++) {
        char *folder = **folders ? claret_path_join(path, *folders) : claret_strdup(path);
        if (!folder)
            return claret_no_memory();
        for (int i = 0; names[i] && status == CLARET_OK && !there; i++)
            status = claret_data_there(folder, names[i], &there);
        if (there) {
            *place = folder;
            return CLARET_OK;
        }
        free(folder);
    }
    return status;
}

bool claret_data_good_name(const char *name)
{
    size_t size = strlen(name);

    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 127)
            return false;
    }
    return size > 0 && size < 64;
}

/* ---- what is said where it does not work out ----------------------------------------------------------- */

/* How to unpack an archive, and where to. */
static void say_unpack(const char *archive, const char *folder)
{
    char *from = claret_shell_word(archive), *to = claret_shell_word(folder);

    if (from && to)
        claret_error_context("The archive is there, but not unpacked: tar -xzf %s -C %s", from, to);
    free(from);
    free(to);
}

/* Archives that lie there as they were fetched. */
static bool packed_archive(const char *folder)
{
    static const char *const archives[] = {"cifar-10-binary.tar.gz", "cifar-10-python.tar.gz",
                                           "cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"};

    for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++) {
        struct stat info;
        char *path = claret_path_join(folder, archives[i]);
        bool packed = path && stat(path, &info) == 0;
        if (packed)
            say_unpack(path, folder);
        free(path);
        if (packed)
            return true;
    }
    return false;
}

/* In `folder`, which is none yet. */
static void say_how_to_get(const char *folder)
{
    char *word = claret_shell_word(folder);

    if (word)
        claret_error_context("To get CIFAR-10 (170 MB): claret fetch cifar10 --out %s\n"
                             "or by hand: fetch " CLARET_CIFAR10_ADDRESS "\n(MD5 " CLARET_CIFAR10_MD5
                             ") and unpack it: mkdir -p %s && tar -xzf cifar-10-binary.tar.gz -C %s",
                             word, word, word);
    free(word);
}

/* Of a file: the data set that its folder holds; NULL: none. Folders of images lie beside anything. */
static const struct claret_source *source_around(const char *folder)
{
    for (size_t i = 0; i < SOURCES; i++) {
        char *place = NULL;
        bool found =
            sources[i] != &claret_source_folder && sources[i]->find(folder, &place) == CLARET_OK && place;
        claret_error_clear();
        free(place);
        if (found)
            return sources[i];
    }
    return NULL;
}

/* "." of "file", "/" of "/file"; malloc'ed. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = claret_strdup(slash ? path : ".");

    if (folder && slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

/* What it is for instead, and what to give. */
static enum claret_status refuse_file(const char *path, const char *looked)
{
    static const char *const packed[] = {".tar.gz", ".tgz", ".tar", ".zip"};
    char *folder = folder_of(path), *word = folder ? claret_shell_word(folder) : NULL;
    const struct claret_source *source = folder ? source_around(folder) : NULL;
    bool archive = false;

    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        archive |= claret_ends_in(path, packed[i]);
    if (source && word) {
        claret_fail(CLARET_NOT_FOUND,
                    "no data set in %s: it is a file; the folder that it lies in holds %s: --data %s", path,
                    source->name, word);
    } else {
        claret_fail(CLARET_NOT_FOUND,
                    "no data set in %s: it is a file, where a folder with a data set is wanted (or an .npz "
                    "file)%s\nLooked for%s",
                    path, archive ? "; unpack it, and give the folder that comes of it" : "", looked);
        claret_error_context("To train without data, on the built-in set: --data shapes");
    }
    free(folder);
    free(word);
    return CLARET_NOT_FOUND;
}

static enum claret_status not_found(const char *path)
{
    struct claret_text text = {0};
    struct stat info;

    for (size_t i = 0; i < SOURCES; i++)
        claret_text_add(&text, "\n  %s: %s", sources[i]->name, sources[i]->looked_for);
    const char *looked = text.failed ? "" : text.data;
    bool there = stat(path, &info) == 0;
    const char *why = there             ? ""
                      : errno == ENOENT ? ": there is no such folder"
                                        : ": it cannot be looked into";
    if (there && !S_ISDIR(info.st_mode)) {
        refuse_file(path, looked);
    } else {
        claret_fail(CLARET_NOT_FOUND, "no data set in %s%s\nLooked for%s", path, why, looked);
        if (!packed_archive(path)) {
            say_how_to_get(path);
            claret_error_context("To train without it, on the built-in set: --data shapes");
        }
    }
    claret_text_drop(&text);
    return CLARET_NOT_FOUND;
}

static enum claret_status several(const char *path, char *const places[SOURCES])
{
    struct claret_text list = {0};

    for (size_t i = 0; i < SOURCES; i++) {
        char *word = places[i] ? claret_shell_word(places[i]) : NULL;
        if (word)
            claret_text_add(&list, "\n  %s: --data %s", sources[i]->name, word);
        free(word);
    }
    claret_fail(CLARET_FORMAT, "%s holds several data sets; name the one that is meant:%s", path,
                list.failed ? "" : list.data);
    claret_text_drop(&list);
    return CLARET_FORMAT;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* *place, malloc'ed, is where it is. */
static enum claret_status recognise(const char *path, const struct claret_source **source, char **place)
{
    char *places[SOURCES] = {NULL};
    enum claret_status status = CLARET_OK;
    size_t found = 0, which = 0;

    for (size_t i = 0; i < SOURCES && status == CLARET_OK; i++) {
        status = sources[i]->find(path, &places[i]);
        if (places[i]) {
            found++;
            which = i;
        }
    }
    if (status == CLARET_OK && found == 1) {
        *source = sources[which];
        *place = places[which];
        places[which] = NULL;
    } else if (status == CLARET_OK) {
        status = found ? several(path, places) : not_found(path);
    }
    for (size_t i = 0; i < SOURCES; i++)
        free(places[i]);
    return status;
}

static enum claret_status open_folder(const struct claret_data_request *request,
                                      struct claret_dataset **dataset)
{
    const struct claret_source *source;
    enum claret_status status;
    char *place;

    CLARET_TRY(recognise(request->path, &source, &place));
    if (request->coarse && source != &claret_source_cifar100)
        status = claret_fail(CLARET_INVALID, "--coarse-labels are CIFAR-100's; in %s is %s", request->path,
                             source->name);
    else
        status = source->open(place, request, dataset);
    free(place);
    return status;
}

enum claret_status claret_dataset_recognise(const char *path, const char **kind, int *in_files)
{
    const struct claret_source *source;
    char *place;

    claret_error_clear();
    if (!path || !kind || !in_files)
        return claret_fail(CLARET_INVALID, "claret_dataset_recognise: an argument is NULL");
    *kind = "the built-in set";
    *in_files = 0;
    if (strcmp(path, "shapes") == 0)
        return CLARET_OK;
    CLARET_TRY(recognise(path, &source, &place));
    free(place);
    *kind = source->name;
    *in_files = source == &claret_source_folder;
    return CLARET_OK;
}

static enum claret_status open_any(const struct claret_data_request *request, struct claret_dataset **dataset)
{
    if (strcmp(request->path, "shapes") != 0)
        return open_folder(request, dataset);
    if (request->coarse)
        return claret_fail(CLARET_INVALID, "--coarse-labels are CIFAR-100's");
    return claret_shapes_create(request->split, dataset);
}

enum claret_status claret_data_open(const struct claret_data_request *request,
                                    struct claret_dataset **dataset)
{
    struct claret_data_request whole = *request;
    struct claret_dataset *made;

    if (!*request->path)
        return claret_fail(CLARET_INVALID, "--data needs a path: of a folder with a data set, or shapes");
    if (!(request->val_fraction > 0))
        return open_any(request, dataset);
    whole.split = CLARET_TRAIN;
    CLARET_TRY(open_any(&whole, &made));
    enum claret_status status = claret_dataset_hold_out(made, request->val_fraction, request->split);
    if (status == CLARET_OK)
        *dataset = made;
    else
        claret_dataset_destroy(made);
    return status;
}

enum claret_status claret_dataset_open(const char *path, enum claret_split split,
                                       struct claret_dataset **dataset)
{
    struct claret_data_request request = {.path = path, .split = split};

    claret_error_clear();
    if (!path || !dataset || (split != CLARET_TRAIN && split != CLARET_TEST))
        return claret_fail(CLARET_INVALID, "claret_dataset_open: needs a path, a split and where to put it");
    return claret_data_open(&request, dataset);
}
