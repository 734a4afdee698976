/* PNG by libpng. */
#include "image.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

#ifdef CLARET_HAVE_PNG
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>

#define MAX_SIDE 1000000

struct reading {
    const char *path;
    const unsigned char *bytes;
    size_t size, at;
    char fault[200];
    png_structp png;
    png_infop info;
    png_bytep *rows;
    struct claret_image *image;
    enum claret_status status;
};

static void on_error(png_structp png, png_const_charp text)
{
    struct reading *reading = png_get_error_ptr(png);

    claret_print(reading->fault, sizeof(reading->fault), "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png, (void)text;
}

static void take(png_structp png, png_bytep to, size_t size)
{
    struct reading *reading = png_get_io_ptr(png);

    if (size > reading->size - reading->at)
        png_error(png, "the file is truncated");
    memcpy(to, reading->bytes + reading->at, size);
    reading->at += size;
}

/* To 8-bit grey or RGB. */
static void set_transforms(struct reading *reading, int *channels)
{
    int type = png_get_color_type(reading->png, reading->info);

    *channels = type & PNG_COLOR_MASK_COLOR ? 3 : 1;
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(reading->png);
    else if (*channels == 1)
        png_set_expand_gray_1_2_4_to_8(reading->png);
    png_set_strip_16(reading->png);
    png_set_strip_alpha(reading->png);
    png_set_interlace_handling(reading->png);
    png_read_update_info(reading->png, reading->info);
}

/* Everything that may jump; what it allocates is in `reading`. */
static void read_png(struct reading *reading)
{
    int channels;

    if (setjmp(png_jmpbuf(reading->png))) {
        reading->status = CLARET_FORMAT;
        return;
    }
    png_set_user_limits(reading->png, MAX_SIDE, MAX_SIDE);
    png_set_read_fn(reading->png, reading, take);
    png_read_info(reading->png, reading->info);
    set_transforms(reading, &channels);
    size_t width = png_get_image_width(reading->png, reading->info);
    size_t height = png_get_image_height(reading->png, reading->info);
    reading->status = claret_image_allocate(reading->path, width, height, channels, reading->image);
    if (reading->status != CLARET_OK)
        return;
    if (png_get_rowbytes(reading->png, reading->info) != width * (size_t)channels)
        png_error(reading->png, "its rows have another size");
    reading->rows = malloc(height * sizeof(*reading->rows));
    if (!reading->rows) {
        reading->status = claret_no_memory();
        return;
    }
    for (size_t y = 0; y < height; y++)
        reading->rows[y] = reading->image->pixels + y * width * (size_t)channels;
    png_read_image(reading->png, reading->rows);
    png_read_end(reading->png, NULL);
}

enum claret_status claret_png_decode(const char *path, const unsigned char *bytes, size_t size,
                                     struct claret_image *image)
{
    struct reading reading = {.path = path, .bytes = bytes, .size = size, .image = image};

    reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, on_error, on_warning);
    reading.info = reading.png ? png_create_info_struct(reading.png) : NULL;
    if (reading.info)
        read_png(&reading);
    else
        reading.status = claret_no_memory();
    png_destroy_read_struct(&reading.png, &reading.info, NULL);
    free(reading.rows);
    if (reading.fault[0])
        return claret_fail(CLARET_FORMAT, "%s: %s", path, reading.fault);
    return reading.status;
}
/* What libpng jumps out of is this alone. */
static bool write_png(png_structp png, png_infop info, FILE *stream, const struct claret_image *image)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_init_io(png, stream);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 image->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int y = 0; y < image->height; y++)
        png_write_row(png, image->pixels + (size_t)y * (size_t)image->width * (size_t)image->channels);
    png_write_end(png, info);
    return true;
}

enum claret_status claret_png_write(const char *path, const struct claret_image *image)
{
    struct reading writing = {.path = path};
    struct claret_file file = {0};
    bool written = false;

    CLARET_TRY(claret_file_create(path, &file));
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writing, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (info)
        written = write_png(png, info, file.stream, image);
    png_destroy_write_struct(&png, &info);
    if (written)
        return claret_file_commit(&file);
    claret_file_abandon(&file);
    return claret_fail(CLARET_IO, "%s: cannot be written: %s", path,
                       writing.fault[0] ? writing.fault : "host memory is used up");
}
#else
enum claret_status claret_png_write(const char *path, const struct claret_image *image)
{
    (void)image;
    return claret_fail(CLARET_IO, "%s: cannot be written: this claret was built without libpng", path);
}

enum claret_status claret_png_decode(const char *path, const unsigned char *bytes, size_t size,
                                     struct claret_image *image)
{
    (void)bytes, (void)size, (void)image;
    return claret_fail(CLARET_FORMAT, "%s: PNG, and this claret was built without libpng", path);
}
#endif
