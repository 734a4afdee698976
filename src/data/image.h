/* Image files: PNG by libpng, JPEG by libjpeg-turbo, and making them fit a network. */
#ifndef CLARET_DATA_IMAGE_H
#define CLARET_DATA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Decoded: grey (channels 1) or RGB (3). Palettes are looked up, alpha is dropped, 16 bits are cut to the
 * upper 8 and CMYK becomes RGB, all as Pillow's convert('RGB') has it; orientation and colour profiles are
 * not looked at, as there. */
struct claret_image {
    int width, height, channels;
    unsigned char *pixels; /* (height, width, channels), malloc'ed */
};

enum claret_status claret_image_open(const char *path, struct claret_image *image);
/* Whether the file looks like one that claret_image_open() can read, from its beginning and end; where these
 * leave a doubt it is read whole. */
enum claret_status claret_image_check(const char *path);
/* Whether it is worth trying by its name: .png, .jpg, .jpeg in any case. */
bool claret_image_name(const char *name);

/* The decoders: a whole file in memory. `path` is for errors. */
enum claret_status claret_png_decode(const char *path, const unsigned char *bytes, size_t size,
                                     struct claret_image *image);
enum claret_status claret_jpeg_decode(const char *path, const unsigned char *bytes, size_t size,
                                      struct claret_image *image);
/* Writes grey or RGB; the file is whole or not there. */
enum claret_status claret_png_write(const char *path, const struct claret_image *image);
/* Allocates the pixels. CLARET_FORMAT: larger than can be meant. */
enum claret_status claret_image_allocate(const char *path, size_t width, size_t height, int channels,
                                         struct claret_image *image);

/* A part of an image. */
struct claret_box {
    int x, y, width, height; /* inside the image, not empty */
};

/* The part `box` (NULL: all) as `channels` (1 or 3) planes of height x width: converted to grey or RGB, then
 * resized as Pillow's Image.resize(size, BILINEAR) does it, which averages over what it makes smaller. The
 * same bytes on every machine. planes (channels, height, width). */
enum claret_status claret_image_fit(const struct claret_image *image, const struct claret_box *box,
                                    int channels, int height, int width, unsigned char *planes);

#endif
