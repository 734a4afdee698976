/* JPEG by libjpeg-turbo. */
#include "image.h"

#include "base/text.h"

#ifdef CLARET_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

struct reading {
    struct jpeg_error_mgr errors; /* first: libjpeg hands out a pointer to it */
    jmp_buf jump;
    char fault[JMSG_LENGTH_MAX];
    const char *path;
    const unsigned char *bytes;
    size_t size;
    struct jpeg_decompress_struct jpeg;
    struct claret_image *image;
    enum claret_status status;
};

static void on_error(j_common_ptr jpeg)
{
    struct reading *reading = (struct reading *)(void *)jpeg->err;

    jpeg->err->format_message(jpeg, reading->fault);
    longjmp(reading->jump, 1);
}

/* libjpeg goes on after damage and makes pixels up: those warnings are errors here. Odd bytes between markers
 * are common and harmless. */
static void on_message(j_common_ptr jpeg, int level)
{
    if (level >= 0)
        return;
    switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
        on_error(jpeg);
    }
}

/* Everything that may jump. */
static void read_jpeg(struct reading *reading)
{
    struct jpeg_decompress_struct *jpeg = &reading->jpeg;

    if (setjmp(reading->jump)) {
        reading->status = CLARET_FORMAT;
        return;
    }
    jpeg_create_decompress(jpeg);
    jpeg_mem_src(jpeg, reading->bytes, (unsigned long)reading->size);
    jpeg_read_header(jpeg, TRUE);
    int components = 3;
    jpeg->out_color_space = JCS_RGB;
    if (jpeg->jpeg_color_space == JCS_GRAYSCALE) {
        jpeg->out_color_space = JCS_GRAYSCALE;
        components = 1;
    } else if (jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK) {
        jpeg->out_color_space = JCS_CMYK;
        components = 4;
    }
    jpeg_start_decompress(jpeg);
    reading->status = claret_image_allocate(reading->path, jpeg->output_width, jpeg->output_height,
                                            components, reading->image);
    if (reading->status != CLARET_OK)
        return;
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row =
            reading->image->pixels + (size_t)jpeg->output_scanline * jpeg->output_width * (size_t)components;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
}

/* Inverted CMYK, as Adobe's programs write it, to RGB in place: a product of two bytes, divided by 255 and
 * rounded, as Pillow does it. */
static void convert_cmyk(struct claret_image *image)
{
    size_t count = (size_t)image->width * (size_t)image->height;

    for (size_t i = 0; i < count; i++) {
        const unsigned char *from = image->pixels + 4 * i;
        unsigned char *to = image->pixels + 3 * i;
        int black = from[3];
        for (int c = 0; c < 3; c++) {
            int product = (255 - from[c]) * black + 128;
            int value = black - (((product >> 8) + product) >> 8);
            to[c] = (unsigned char)(value < 0 ? 0 : value);
        }
    }
    image->channels = 3;
}

enum claret_status claret_jpeg_decode(const char *path, const unsigned char *bytes, size_t size,
                                      struct claret_image *image)
{
    struct reading reading = {.path = path, .bytes = bytes, .size = size, .image = image};

    reading.jpeg.err = jpeg_std_error(&reading.errors);
    reading.errors.error_exit = on_error;
    reading.errors.emit_message = on_message;
    read_jpeg(&reading);
    jpeg_destroy_decompress(&reading.jpeg);
    if (reading.fault[0])
        return claret_fail(CLARET_FORMAT, "%s: %s", path, reading.fault);
    if (reading.status == CLARET_OK && image->channels == 4)
        convert_cmyk(image);
    return reading.status;
}
#else
enum claret_status claret_jpeg_decode(const char *path, const unsigned char *bytes, size_t size,
                                      struct claret_image *image)
{
    (void)bytes, (void)size, (void)image;
    return claret_fail(CLARET_FORMAT, "%s: JPEG, and this claret was built without libjpeg", path);
}
#endif
