#include "image.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "data/data.h"

#define FILE_LIMIT ((size_t)1 << 30)
#define MAX_PIXELS 178956970 /* where Pillow refuses to go on as well */
#define EDGE 4096            /* bytes at a file's end that are looked at */

static const unsigned char png_magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
static const unsigned char jpeg_magic[3] = {0xff, 0xd8, 0xff};

bool claret_image_name(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    size_t length = strlen(name);

    for (int i = 0; i < 3; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

enum claret_status claret_image_allocate(const char *path, size_t width, size_t height, int channels,
                                         struct claret_image *image)
{
    if (!width || !height || width > MAX_PIXELS || height > MAX_PIXELS / width)
        return claret_fail(CLARET_FORMAT, "%s: an image of %zux%zu pixels, where at most %d are read", path,
                           width, height, MAX_PIXELS);
    *image =
        (struct claret_image){(int)width, (int)height, channels, malloc(width * height * (size_t)channels)};
    return image->pixels ? CLARET_OK : claret_no_memory();
}

static enum claret_status decode(const char *path, const unsigned char *bytes, size_t size,
                                 struct claret_image *image)
{
    if (!size)
        return claret_fail(CLARET_FORMAT, "%s: the file is empty", path);
    if (size >= sizeof(png_magic) && memcmp(bytes, png_magic, sizeof(png_magic)) == 0)
        return claret_png_decode(path, bytes, size, image);
    if (size >= sizeof(jpeg_magic) && memcmp(bytes, jpeg_magic, sizeof(jpeg_magic)) == 0)
        return claret_jpeg_decode(path, bytes, size, image);
    return claret_fail(CLARET_FORMAT, "%s: neither PNG nor JPEG", path);
}

enum claret_status claret_image_open(const char *path, struct claret_image *image)
{
    enum claret_status status;
    char *data;
    size_t size;

    *image = (struct claret_image){0};
    CLARET_TRY(claret_file_read(path, FILE_LIMIT, &data, &size));
    status = decode(path, (const unsigned char *)data, size, image);
    free(data);
    if (status == CLARET_OK)
        return CLARET_OK;
    free(image->pixels);
    image->pixels = NULL;
    return status;
}

static bool holds(const unsigned char *bytes, size_t size, const char *mark, size_t length)
{
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(bytes + i, mark, length) == 0)
            return true;
    return false;
}

/* Both formats end with a mark that does not come by chance before the end: JPEG's escapes 0xff in its data.
 */
static bool whole(const char *path)
{
    unsigned char head[8] = {0}, tail[EDGE];
    struct stat info;
    size_t got = 0;

    /* A pipe would be waited for. */
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    if (!file)
        return false;
    bool read = fread(head, 1, sizeof(head), file) == sizeof(head);
    if (read && fseek(file, -EDGE, SEEK_END) != 0)
        rewind(file); /* a small one */
    if (read)
        got = fread(tail, 1, sizeof(tail), file);
    fclose(file);
    if (memcmp(head, png_magic, sizeof(png_magic)) == 0)
        return holds(tail, got, "IEND", 4);
    return memcmp(head, jpeg_magic, sizeof(jpeg_magic)) == 0 && holds(tail, got, "\xff\xd9", 2);
}

enum claret_status claret_image_check(const char *path)
{
    struct claret_image image;

    if (whole(path))
        return CLARET_OK;
    CLARET_TRY(claret_image_open(path, &image));
    free(image.pixels);
    return CLARET_OK;
}

enum claret_status claret_image_read(const char *path, int channels, int height, int width,
                                     unsigned char *pixels)
{
    struct claret_image image;
    enum claret_status status;

    claret_error_clear();
    if (!path || !pixels || (channels != 1 && channels != 3) || height < 1 || width < 1)
        return claret_fail(
            CLARET_INVALID,
            "claret_image_read: needs a path, 1 or 3 channels, a size, and where to put the image");
    CLARET_TRY(claret_image_open(path, &image));
    status = claret_image_fit(&image, NULL, channels, height, width, pixels);
    free(image.pixels);
    return status;
}
