/* Folders of class folders, as torchvision's ImageFolder takes them: DIR/CLASS/…, or DIR/train/CLASS/… with
 * DIR/test/CLASS/… or DIR/val/CLASS/… beside it. Classes are the folders in the order of their names. Images
 * are not kept: whoever needs one reads its file. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "image.h"
#include "image_check.h"
#include "source.h"

#define MAX_DEPTH 16
#define MAX_CLASSES (1 << 20)
#define MAX_ENDINGS 16

/* ---- listing ------------------------------------------------------------------------------------------- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The entries of a folder in order. CLARET_IO: it cannot be read. */
static enum claret_status list(const char *folder, struct dirent ***entries, int *count)
{
    *count = scandir(folder, entries, visible, by_name);
    if (*count >= 0)
        return CLARET_OK;
    *count = 0;
    return claret_fail(CLARET_IO, "%s: cannot be listed: %s", folder, strerror(errno));
}

static void drop(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Whether a folder has an image file right in it. */
static bool holds_images(const char *folder)
{
    struct dirent *entry;
    bool found = false;
    DIR *listing = opendir(folder);

    while (listing && !found && (entry = readdir(listing)))
        found = entry->d_name[0] != '.' && claret_image_name(entry->d_name);
    if (listing)
        closedir(listing);
    return found;
}

/* Whether a folder has a folder with images. */
static bool holds_classes(const char *folder)
{
    struct dirent *entry;
    bool found = false;
    DIR *listing = opendir(folder);

    while (listing && !found && (entry = readdir(listing))) {
        char *inner = entry->d_name[0] == '.' ? NULL : claret_path_join(folder, entry->d_name);
        found = inner && holds_images(inner);
        free(inner);
    }
    if (listing)
        closedir(listing);
    return found;
}

/* DIR/NAME where that is a folder with classes; NULL where not. */
static char *split_folder(const char *folder, const char *name)
{
    char *path = claret_path_join(folder, name);

    if (path && holds_classes(path))
        return path;
    free(path);
    return NULL;
}

static enum claret_status find(const char *path, char **place)
{
    char *train = split_folder(path, "train");

    *place = NULL;
    if (train || holds_classes(path)) {
        *place = claret_strdup(path);
        free(train);
        return *place ? CLARET_OK : claret_no_memory();
    }
    return CLARET_OK;
}

/* ---- gathering ----------------------------------------------------------------------------------------- */

/* The files found so far. */
struct gathering {
    struct claret_arena memory;
    const char **paths;
    int32_t *labels;
    size_t count, capacity;
    size_t others; /* files that are no images that we read, by their names, and one of them */
    char other[256];
    struct ending {
        char text[12]; /* in small letters */
        size_t count;
    } endings[MAX_ENDINGS]; /* theirs, as they came; not those that are long or find no room */
    int ending_count;
};

static enum claret_status add(struct gathering *gathering, const char *path, int32_t label)
{
    if (gathering->count == gathering->capacity) {
        size_t capacity = gathering->capacity ? 2 * gathering->capacity : 1024;
        const char **paths = realloc(gathering->paths, capacity * sizeof(*paths));
        gathering->paths = paths ? paths : gathering->paths;
        int32_t *labels = realloc(gathering->labels, capacity * sizeof(*labels));
        gathering->labels = labels ? labels : gathering->labels;
        if (!paths || !labels)
            return claret_no_memory();
        gathering->capacity = capacity;
    }
    gathering->paths[gathering->count] = claret_arena_strdup(&gathering->memory, path);
    if (!gathering->paths[gathering->count])
        return claret_no_memory();
    gathering->labels[gathering->count++] = label;
    return CLARET_OK;
}

/* A file that is none of ours. */
static void leave_out(struct gathering *gathering, const char *path, const char *name)
{
    const char *dot = strrchr(name, '.');
    char text[sizeof gathering->endings->text] = "";
    int at = 0;

    if (!gathering->others++)
        claret_print(gathering->other, sizeof(gathering->other), "%s", path);
    if (dot && claret_data_good_name(dot) && strlen(dot) < sizeof text)
        for (size_t i = 0; dot[i]; i++)
            text[i] = dot[i] >= 'A' && dot[i] <= 'Z' ? (char)(dot[i] - 'A' + 'a') : dot[i];
    while (at < gathering->ending_count && strcmp(gathering->endings[at].text, text) != 0)
        at++;
    if (!text[0] || at == MAX_ENDINGS)
        return;
    if (at == gathering->ending_count)
        memcpy(gathering->endings[gathering->ending_count++].text, text, sizeof text);
    gathering->endings[at].count++;
}

/* Endings of images that torchvision's ImageFolder takes, or whoever made the folder took for images. */
static bool is_image_of_others(const char *ending)
{
    static const char *const endings[] = {".bmp",  ".gif",  ".pgm",  ".ppm",  ".tif", ".tiff",
                                          ".webp", ".avif", ".heic", ".jfif", NULL};

    for (int i = 0; endings[i]; i++)
        if (strcmp(endings[i], ending) == 0)
            return true;
    return false;
}

/* Images that are lost to the training are a warning, other files are worth a word. */
static void say_left_out(const struct gathering *gathering, const char *folder)
{
    struct claret_text list = {0};
    size_t rest = gathering->others;
    bool images = false;

    for (int i = 0; i < gathering->ending_count; i++) {
        const struct ending *ending = &gathering->endings[i];
        images |= is_image_of_others(ending->text);
        rest -= ending->count;
        claret_text_add(&list, "%s%zu %s", i ? ", " : "", ending->count, ending->text);
    }
    if (rest)
        claret_text_add(&list, "%s%zu with others or none", rest < gathering->others ? ", " : "", rest);
    if (gathering->others)
        (images ? claret_warn : claret_info)(
            "%s: %zu file%s %s left out, as only .png, .jpg and .jpeg are read: %s (such as %s)", folder,
            gathering->others, gathering->others == 1 ? "" : "s", gathering->others == 1 ? "is" : "are",
            list.failed ? "" : list.data, gathering->other);
    claret_text_drop(&list);
}

/* A class's files, those of folders in it after its own. */
static enum claret_status gather(struct gathering *gathering, const char *folder, int32_t label, int depth)
{
    struct dirent **entries;
    enum claret_status status;
    int count;

    if (depth > MAX_DEPTH)
        return claret_fail(CLARET_FORMAT, "%s: folders in folders, more than %d deep", folder, MAX_DEPTH);
    CLARET_TRY(list(folder, &entries, &count));
    status = CLARET_OK;
    for (int folders = 0; folders < 2; folders++)
        for (int i = 0; i < count && status == CLARET_OK; i++) {
            char *path = claret_path_join(folder, entries[i]->d_name);
            if (!path)
                status = claret_no_memory();
            else if (is_folder(path) != (folders == 1))
                ; /* in the other round */
            else if (folders)
                status = gather(gathering, path, label, depth + 1);
            else if (claret_image_name(entries[i]->d_name))
                status = add(gathering, path, label);
            else
                leave_out(gathering, path, entries[i]->d_name);
            free(path);
        }
    drop(entries, count);
    return status;
}

/* ---- classes ------------------------------------------------------------------------------------------- */

struct classes {
    char **names;
    int count;
};

static void classes_finish(struct classes *classes)
{
    for (int i = 0; i < classes->count; i++)
        free(classes->names[i]);
    free(classes->names);
}

/* The folders in `folder`. */
static enum claret_status list_classes(const char *folder, struct classes *classes)
{
    struct dirent **entries;
    enum claret_status status;
    int count;

    CLARET_TRY(list(folder, &entries, &count));
    classes->names = calloc((size_t)count + 1, sizeof(*classes->names));
    status = classes->names ? CLARET_OK : claret_no_memory();
    for (int i = 0; i < count && status == CLARET_OK; i++) {
        const char *name = entries[i]->d_name;
        char *path = claret_path_join(folder, name);
        if (path && !is_folder(path)) {
            free(path);
            continue;
        }
        if (path && !claret_data_good_name(name))
            status = claret_fail(CLARET_FORMAT,
                                 "%s: a class folder whose name cannot be shown, or is too long", folder);
        else if (path && classes->count == MAX_CLASSES)
            status = claret_fail(CLARET_FORMAT, "%s: more than %d class folders", folder, MAX_CLASSES);
        else if (path && (classes->names[classes->count] = claret_strdup(name)))
            classes->count++;
        else
            status = claret_no_memory();
        free(path);
    }
    drop(entries, count);
    return status;
}

/* A test set may lack some classes, but it cannot have others. */
static enum claret_status check_classes(const char *train, const char *test, const struct classes *classes)
{
    struct classes theirs = {0};
    enum claret_status status = list_classes(test, &theirs);

    for (int i = 0, at = 0; i < theirs.count && status == CLARET_OK; i++) {
        while (at < classes->count && strcmp(classes->names[at], theirs.names[i]) < 0)
            at++;
        if (at == classes->count || strcmp(classes->names[at], theirs.names[i]) != 0)
            status = claret_fail(CLARET_FORMAT, "%s has a class folder %s, which %s does not have", test,
                                 theirs.names[i], train);
    }
    classes_finish(&theirs);
    return status;
}

/* Every class of a training set has images. */
static enum claret_status check_filled(const char *folder, const struct classes *classes,
                                       const struct gathering *gathering, bool training)
{
    for (int32_t c = 0; c < classes->count && training; c++) {
        bool found = false;
        for (size_t i = 0; i < gathering->count && !found; i++)
            found = gathering->labels[i] == c;
        if (!found)
            return claret_fail(CLARET_FORMAT, "%s/%s: a class folder without images (.png, .jpg, .jpeg)",
                               folder, classes->names[c]);
    }
    if (!gathering->count)
        return claret_fail(CLARET_FORMAT, "%s: no images", folder);
    return CLARET_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static enum claret_status gather_classes(const char *folder, const struct classes *classes, bool training,
                                         struct gathering *gathering)
{
    for (int c = 0; c < classes->count; c++) {
        char *path = claret_path_join(folder, classes->names[c]);
        enum claret_status status = path ? CLARET_OK : claret_no_memory();
        if (path && (training || is_folder(path)))
            status = gather(gathering, path, c, 0);
        free(path);
        CLARET_TRY(status);
    }
    say_left_out(gathering, folder);
    return CLARET_OK;
}

static enum claret_status make(struct gathering *gathering, const struct classes *classes,
                               const struct claret_data_request *request, struct claret_dataset **dataset)
{
    struct claret_dataset *made;

    CLARET_TRY(claret_dataset_allocate_files(request->input[0], request->input[1], request->input[2],
                                             classes->count, gathering->count, &made));
    memcpy(made->labels, gathering->labels, gathering->count * sizeof(*made->labels));
    memcpy(made->paths, gathering->paths, gathering->count * sizeof(*made->paths));
    made->path_memory = gathering->memory;
    gathering->memory = (struct claret_arena){0};
    enum claret_status status = claret_dataset_name_classes(made, (const char *const *)classes->names);
    if (status == CLARET_OK)
        *dataset = made;
    else
        claret_dataset_destroy(made);
    return status;
}

/* The folders of training and test: *test NULL where there is none. */
static enum claret_status find_splits(const char *place, char **train, char **test)
{
    *test = NULL;
    *train = split_folder(place, "train");
    if (!*train)
        *train = claret_strdup(place);
    else if (!(*test = split_folder(place, "test")))
        *test = split_folder(place, "val");
    return *train ? CLARET_OK : claret_no_memory();
}

static enum claret_status open_split(const char *train, const char *test,
                                     const struct claret_data_request *request,
                                     struct claret_dataset **dataset)
{
    bool training = request->split == CLARET_TRAIN;
    const char *folder = training ? train : test;
    struct gathering gathering = {0};
    struct classes classes = {0};
    enum claret_status status;

    CLARET_GOTO(done, list_classes(train, &classes));
    if (!training)
        CLARET_GOTO(done, check_classes(train, test, &classes));
    CLARET_GOTO(done, gather_classes(folder, &classes, training, &gathering));
    CLARET_GOTO(done, claret_image_check_files(folder, gathering.paths, gathering.labels, &gathering.count,
                                               request->skip_unreadable, request->workers));
    CLARET_GOTO(done, check_filled(folder, &classes, &gathering, training));
    status = make(&gathering, &classes, request, dataset);
done:
    claret_arena_free(&gathering.memory);
    free(gathering.paths);
    free(gathering.labels);
    classes_finish(&classes);
    return status;
}

static enum claret_status open(const char *place, const struct claret_data_request *request,
                               struct claret_dataset **dataset)
{
    char *train = NULL, *test = NULL;
    enum claret_status status;

    if (!request->input[0])
        return claret_fail(CLARET_INVALID,
                           "%s: a folder of images is opened for a network, whose input says their size: "
                           "claret_dataset_load()",
                           place);
    if (request->input[0] != 1 && request->input[0] != 3)
        return claret_fail(
            CLARET_SHAPE,
            "%s: images have 1 channel (grey) or 3 (RGB), but the network takes %d: change its "
            "line 'input'",
            place, request->input[0]);
    status = find_splits(place, &train, &test);
    if (status == CLARET_OK && request->split == CLARET_TEST && !test)
        status = claret_fail(CLARET_NOT_FOUND,
                             "%s has no test images: put them into test/ beside train/, or test on a part of "
                             "the training images: --val-fraction 0.1",
                             place);
    else if (status == CLARET_OK)
        status = open_split(train, test, request, dataset);
    free(train);
    free(test);
    return status;
}

const struct claret_source claret_source_folder = {
    "image folders", "a folder for each class with .png, .jpg, .jpeg, there or in train, and in test or val",
    find, open};
