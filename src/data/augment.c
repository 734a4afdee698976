#include "augment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "image.h"
#include "jitter.h"

#define ATTEMPTS 10 /* at a box that fits, as torchvision has it */
#define PI 3.14159265358979323846

bool claret_augment_any(const struct claret_augment *augment)
{
    const double *jitter = augment->jitter;

    return augment->resized_crop > 0 || augment->crop > 0 || augment->flip > 0 || augment->rotation > 0 ||
           jitter[0] > 0 || jitter[1] > 0 || jitter[2] > 0 || jitter[3] > 0 || augment->erasing > 0;
}

enum claret_status claret_augment_check(const struct claret_augment *augment,
                                        const struct claret_dataset *dataset)
{
    const double *jitter = augment->jitter;
    bool colours = jitter[0] > 0 || jitter[1] > 0 || jitter[2] > 0 || jitter[3] > 0;
    int smaller = dataset->height < dataset->width ? dataset->height : dataset->width;

    if (claret_augment_any(augment) && dataset->element != CLARET_U8)
        return claret_fail(CLARET_INVALID, "augmentation is for images of bytes, these are float32");
    if (augment->crop > 0 && augment->reflect && augment->crop >= smaller)
        return claret_fail(CLARET_INVALID,
                           "random-crop: a padding of %d pixels cannot be reflected in images of %dx%d",
                           augment->crop, dataset->height, dataset->width);
    if (colours && dataset->channels != 1 && dataset->channels != 3)
        return claret_fail(CLARET_INVALID, "color-jitter: images have 1 or 3 channels, not %d",
                           dataset->channels);
    return CLARET_OK;
}

static double uniform(struct claret_rng *rng, double low, double high)
{
    return low + (high - low) * (double)claret_rng_float(rng);
}

static int below(struct claret_rng *rng, int bound)
{
    return (int)claret_rng_below(rng, (uint32_t)bound);
}

/* ---- where pixels come from ---------------------------------------------------------------------------- */

/* A box of a random share of the area and a random ratio; after ten that do not fit, the largest in the
 * middle with a ratio that may be. */
static struct claret_box draw_box(struct claret_rng *rng, int height, int width, double least)
{
    double area = (double)height * width, ratio = (double)width / height;
    struct claret_box box;

    for (int i = 0; i < ATTEMPTS; i++) {
        double target = area * uniform(rng, least, 1.0);
        double aspect = exp(uniform(rng, log(3.0 / 4.0), log(4.0 / 3.0)));
        box.width = (int)lrint(sqrt(target * aspect));
        box.height = (int)lrint(sqrt(target / aspect));
        if (box.width < 1 || box.width > width || box.height < 1 || box.height > height)
            continue;
        box.y = below(rng, height - box.height + 1);
        box.x = below(rng, width - box.width + 1);
        return box;
    }
    box.width = width;
    box.height = height;
    if (ratio < 3.0 / 4.0)
        box.height = (int)lrint(width / (3.0 / 4.0));
    else if (ratio > 4.0 / 3.0)
        box.width = (int)lrint(height * (4.0 / 3.0));
    box.height = box.height < height ? box.height : height;
    box.y = (height - box.height) / 2;
    box.x = (width - box.width) / 2;
    return box;
}

/* From the file's own pixels, or from those in memory. */
static enum claret_status resized_crop(const struct claret_augment *augment,
                                       const struct claret_dataset *dataset, struct claret_rng *rng,
                                       size_t index, unsigned char *image)
{
    const size_t plane = (size_t)dataset->height * (size_t)dataset->width;
    enum claret_status status = CLARET_OK;
    struct claret_image file;
    struct claret_box box;

    if (dataset->paths) {
        CLARET_TRY(claret_dataset_open_file(dataset, index, &file));
        box = draw_box(rng, file.height, file.width, augment->resized_crop);
        status = claret_image_fit(&file, &box, dataset->channels, dataset->height, dataset->width, image);
        free(file.pixels);
        return status;
    }
    box = draw_box(rng, dataset->height, dataset->width, augment->resized_crop);
    for (int c = 0; c < dataset->channels && status == CLARET_OK; c++) {
        struct claret_image one = {dataset->width, dataset->height, 1,
                                   dataset->images + index * dataset->image_bytes + (size_t)c * plane};
        status = claret_image_fit(&one, &box, 1, dataset->height, dataset->width, image + (size_t)c * plane);
    }
    return status;
}

/* Where position `at` of a line of `size` lies that is continued on both sides; -1: outside, zero. */
static int source(int at, int size, bool reflect)
{
    if (at >= 0 && at < size)
        return at;
    if (!reflect)
        return -1;
    return at < 0 ? -at : 2 * (size - 1) - at;
}

/* A row moved by dx, zeros where it ends, then mirrored: whole stretches, for this is what most trainings do.
 */
static void move_row(const unsigned char *from, int width, int dx, bool mirror, unsigned char *to)
{
    int first = dx < 0 ? -dx : 0, end = dx > 0 ? width - dx : width; /* of the row before it is mirrored */

    if (first >= end) {
        memset(to, 0, (size_t)width);
    } else if (!mirror) {
        memset(to, 0, (size_t)first);
        memcpy(to + first, from + first + dx, (size_t)(end - first));
        memset(to + end, 0, (size_t)(width - end));
    } else {
        memset(to, 0, (size_t)(width - end));
        for (int x = first; x < end; x++)
            to[width - 1 - x] = from[x + dx];
        memset(to + width - first, 0, (size_t)first);
    }
}

/* to (C, H, W): from, moved by (dy, dx) and mirrored. */
static void move(const struct claret_dataset *dataset, const unsigned char *from, int dy, int dx,
                 bool reflect, bool mirror, unsigned char *to)
{
    const int height = dataset->height, width = dataset->width;

    for (int c = 0; c < dataset->channels; c++, from += (size_t)height * (size_t)width)
        for (int y = 0; y < height; y++, to += width) {
            int row = source(y + dy, height, reflect);
            if (row < 0) {
                memset(to, 0, (size_t)width);
                continue;
            }
            const unsigned char *line = from + (size_t)row * (size_t)width;
            if (!reflect)
                move_row(line, width, dx, mirror, to);
            for (int x = 0; x < width && reflect; x++)
                to[x] = line[source((mirror ? width - 1 - x : x) + dx, width, true)];
        }
}

/* to (C, H, W): from, turned about its middle by the nearest pixel. */
static void rotate(const struct claret_dataset *dataset, const unsigned char *from, double degrees,
                   unsigned char *to)
{
    const int height = dataset->height, width = dataset->width;
    const double angle = degrees * PI / 180, cosine = cos(angle), sine = sin(angle);
    const size_t plane = (size_t)height * (size_t)width;

    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double u = x - (width - 1) / 2.0, v = y - (height - 1) / 2.0;
            int column = (int)floor(cosine * u - sine * v + (width - 1) / 2.0 + 0.5);
            int row = (int)floor(sine * u + cosine * v + (height - 1) / 2.0 + 0.5);
            bool inside = column >= 0 && column < width && row >= 0 && row < height;
            for (int c = 0; c < dataset->channels; c++)
                to[(size_t)c * plane + (size_t)(y * width + x)] =
                    inside ? from[(size_t)c * plane + (size_t)row * (size_t)width + (size_t)column] : 0;
        }
}

/* The mean's nearest byte: what is nearest to zero once it is normalised. */
static void erase(const struct claret_dataset *dataset, struct claret_rng *rng, unsigned char *image)
{
    const int height = dataset->height, width = dataset->width;

    for (int i = 0; i < ATTEMPTS; i++) {
        double area = (double)height * width * uniform(rng, 0.02, 0.33);
        double aspect = exp(uniform(rng, log(0.3), log(3.3)));
        int h = (int)lrint(sqrt(area * aspect)), w = (int)lrint(sqrt(area / aspect));
        if (h >= height || w >= width || h < 1 || w < 1)
            continue;
        int y0 = below(rng, height - h + 1), x0 = below(rng, width - w + 1);
        for (int c = 0; c < dataset->channels; c++) {
            double mean = (double)dataset->mean[c] * 255 + 0.5;
            int value = mean < 0 ? 0 : mean > 255 ? 255 : (int)mean;
            for (int y = y0; y < y0 + h; y++)
                memset(image + ((size_t)c * (size_t)height + (size_t)y) * (size_t)width + (size_t)x0, value,
                       (size_t)w);
        }
        return;
    }
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* After the first: `image` in place, `scratch` of the same size. */
static void change(const struct claret_augment *augment, const struct claret_dataset *dataset,
                   struct claret_rng *rng, unsigned char *image, unsigned char *scratch)
{
    int dy = 0, dx = 0;
    bool mirror = false;

    if (augment->crop > 0) {
        dy = below(rng, 2 * augment->crop + 1) - augment->crop;
        dx = below(rng, 2 * augment->crop + 1) - augment->crop;
    }
    if (augment->flip > 0)
        mirror = (double)claret_rng_float(rng) < augment->flip;
    if (dy || dx || mirror) {
        memcpy(scratch, image, dataset->image_bytes);
        move(dataset, scratch, dy, dx, augment->reflect, mirror, image);
    }
    if (augment->rotation > 0) {
        memcpy(scratch, image, dataset->image_bytes);
        rotate(dataset, scratch, uniform(rng, -augment->rotation, augment->rotation), image);
    }
    claret_jitter(augment->jitter, rng, dataset->channels, (size_t)dataset->height * (size_t)dataset->width,
                  image);
    if (augment->erasing > 0 && (double)claret_rng_float(rng) < augment->erasing)
        erase(dataset, rng, image);
}

enum claret_status claret_augment_fetch(const struct claret_augment *augment,
                                        const struct claret_dataset *dataset, uint64_t seed, uint32_t epoch,
                                        size_t index, unsigned char *image)
{
    struct claret_rng rng;
    unsigned char *scratch;

    claret_rng_init_part(&rng, seed, CLARET_STREAM_AUGMENT, (uint32_t)index, epoch);
    if (augment->resized_crop > 0)
        CLARET_TRY(resized_crop(augment, dataset, &rng, index, image));
    else
        CLARET_TRY(claret_dataset_fetch(dataset, index, image));
    scratch = malloc(dataset->image_bytes);
    if (!scratch)
        return claret_no_memory();
    change(augment, dataset, &rng, image, scratch);
    free(scratch);
    return CLARET_OK;
}

/* ---- to look at ---------------------------------------------------------------------------------------- */

#define COLUMNS 9 /* the image itself, then epochs */
#define ROWS 8
#define GAP 2
#define CELL 64 /* small images are shown larger */

/* One image, each pixel `scale` times, into the sheet at (y0, x0). */
static void show(const struct claret_dataset *dataset, const unsigned char *image, int scale, int y0, int x0,
                 struct claret_image *sheet)
{
    const size_t plane = (size_t)dataset->height * (size_t)dataset->width;

    for (int y = 0; y < dataset->height * scale; y++)
        for (int x = 0; x < dataset->width * scale; x++)
            for (int c = 0; c < dataset->channels; c++)
                sheet->pixels[((size_t)(y0 + y) * (size_t)sheet->width + (size_t)(x0 + x)) *
                                  (size_t)sheet->channels +
                              (size_t)c] =
                    image[(size_t)c * plane + (size_t)(y / scale) * (size_t)dataset->width +
                          (size_t)(x / scale)];
}

enum claret_status claret_augment_preview(const struct claret_augment *augment,
                                          const struct claret_dataset *dataset, uint64_t seed,
                                          const char *path)
{
    int larger = dataset->height > dataset->width ? dataset->height : dataset->width;
    int scale = larger < CELL ? CELL / larger : 1, rows = dataset->count < ROWS ? (int)dataset->count : ROWS;
    int cell_height = dataset->height * scale + GAP, cell_width = dataset->width * scale + GAP;
    struct claret_image sheet = {0};
    enum claret_status status = CLARET_OK;

    if (dataset->element != CLARET_U8 || (dataset->channels != 1 && dataset->channels != 3))
        return claret_fail(CLARET_INVALID, "preview-augment: only bytes in 1 or 3 channels can be shown");
    CLARET_TRY(claret_augment_check(augment, dataset));
    unsigned char *image = malloc(dataset->image_bytes);
    if (!image)
        return claret_no_memory();
    CLARET_GOTO(done, claret_image_allocate(path, (size_t)(COLUMNS * cell_width + GAP),
                                            (size_t)(rows * cell_height + GAP), dataset->channels, &sheet));
    memset(sheet.pixels, 255, (size_t)sheet.width * (size_t)sheet.height * (size_t)sheet.channels);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < COLUMNS; column++) {
            size_t index =
                (size_t)row * dataset->count / (size_t)rows; /* sets in the order of classes, too */
            if (column)
                status = claret_augment_fetch(augment, dataset, seed, (uint32_t)column - 1, index, image);
            else
                status = claret_dataset_fetch(dataset, index, image);
            if (status != CLARET_OK)
                goto done;
            show(dataset, image, scale, GAP + row * cell_height, GAP + column * cell_width, &sheet);
        }
    status = claret_png_write(path, &sheet);
done:
    free(sheet.pixels);
    free(image);
    return status;
}
