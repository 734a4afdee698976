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
    return claret_augment_kinds(augment) != 0;
}

static bool colours(const struct claret_augment *augment)
{
    const double *jitter = augment->jitter;

    return jitter[0] > 0 || jitter[1] > 0 || jitter[2] > 0 || jitter[3] > 0;
}

int claret_augment_kinds(const struct claret_augment *augment)
{
    int kinds = 0;

    if (augment->resized_crop > 0)
        kinds |= CLARET_AUGMENT_RESIZE;
    if (augment->crop > 0 && augment->reflect)
        kinds |= CLARET_AUGMENT_REFLECT;
    if (augment->rotation > 0)
        kinds |= CLARET_AUGMENT_TURN;
    if (colours(augment))
        kinds |= CLARET_AUGMENT_COLOUR;
    if (augment->jitter[CLARET_CONTRAST] > 0)
        kinds |= CLARET_AUGMENT_CONTRAST;
    if (kinds || augment->crop > 0 || augment->flip > 0 || augment->erasing > 0)
        kinds |= CLARET_AUGMENT_ANY;
    return kinds;
}

enum claret_status claret_augment_check(const struct claret_augment *augment,
                                        const struct claret_dataset *dataset)
{
    int smaller = dataset->height < dataset->width ? dataset->height : dataset->width;

    if (claret_augment_any(augment) && dataset->element != CLARET_U8)
        return claret_fail(CLARET_INVALID, "augmentation is for images of bytes, these are float32");
    if (augment->crop > 0 && augment->reflect && augment->crop >= smaller)
        return claret_fail(CLARET_INVALID,
                           "--random-crop: a padding of %d pixels cannot be reflected in images of %dx%d",
                           augment->crop, dataset->height, dataset->width);
    if (colours(augment) && dataset->channels != 1 && dataset->channels != 3)
        return claret_fail(CLARET_INVALID, "--color-jitter: images have 1 or 3 channels, not %d",
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

/* ---- drawing ------------------------------------------------------------------------------------------- */

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

static void draw_erasing(struct claret_rng *rng, int height, int width, int32_t erase[4])
{
    for (int i = 0; i < ATTEMPTS; i++) {
        double area = (double)height * width * uniform(rng, 0.02, 0.33);
        double aspect = exp(uniform(rng, log(0.3), log(3.3)));
        int h = (int)lrint(sqrt(area * aspect)), w = (int)lrint(sqrt(area / aspect));
        if (h >= height || w >= width || h < 1 || w < 1)
            continue;
        erase[0] = below(rng, height - h + 1);
        erase[1] = below(rng, width - w + 1);
        erase[2] = h;
        erase[3] = w;
        return;
    }
}

/* The mean's nearest bytes: what is nearest to zero once it is normalised. */
static uint32_t fill_of(const struct claret_dataset *dataset)
{
    uint32_t fill = 0;

    for (int c = 0; c < dataset->channels; c++) {
        double mean = (double)dataset->mean[c] * 255 + 0.5;
        fill |= (uint32_t)(mean < 0 ? 0 : mean > 255 ? 255 : mean) << (8 * c);
    }
    return fill;
}

void claret_augment_draw(const struct claret_augment *augment, const struct claret_dataset *dataset,
                         uint64_t seed, uint32_t epoch, size_t index, int height, int width,
                         struct claret_recipe *recipe)
{
    struct claret_rng rng;
    struct claret_box box = {0, 0, width, height};

    claret_rng_init_part(&rng, seed, CLARET_STREAM_AUGMENT, (uint32_t)index, epoch);
    *recipe = (struct claret_recipe){.image = (uint32_t)index, .turn = {CLARET_TURN_ONE, 0}};
    if (augment->resized_crop > 0)
        box = draw_box(&rng, height, width, augment->resized_crop);
    memcpy(recipe->box, (int32_t[]){box.y, box.x, box.height, box.width}, sizeof recipe->box);
    if (augment->crop > 0) {
        recipe->move[0] = below(&rng, 2 * augment->crop + 1) - augment->crop;
        recipe->move[1] = below(&rng, 2 * augment->crop + 1) - augment->crop;
    }
    if (augment->flip > 0)
        recipe->mirror = (double)claret_rng_float(&rng) < augment->flip;
    if (augment->rotation > 0) {
        double angle = uniform(&rng, -augment->rotation, augment->rotation) * PI / 180;
        recipe->turn[0] = (int32_t)lrint(cos(angle) * CLARET_TURN_ONE);
        recipe->turn[1] = (int32_t)lrint(sin(angle) * CLARET_TURN_ONE);
    }
    claret_jitter_draw(augment->jitter, &rng, dataset->channels, recipe);
    if (augment->erasing > 0 && (double)claret_rng_float(&rng) < augment->erasing) {
        draw_erasing(&rng, dataset->height, dataset->width, recipe->erase);
        recipe->fill = fill_of(dataset);
    }
}

/* ---- where pixels come from ---------------------------------------------------------------------------- */

/* The box, from the file's own pixels or from those in memory. */
static enum claret_status resized_crop(const struct claret_dataset *dataset, size_t index,
                                       const struct claret_image *file, const struct claret_box *box,
                                       unsigned char *image)
{
    const size_t plane = (size_t)dataset->height * (size_t)dataset->width;

    if (file->pixels)
        return claret_image_fit(file, box, dataset->channels, dataset->height, dataset->width, image);
    for (size_t c = 0; c < (size_t)dataset->channels; c++) {
        struct claret_image one = {dataset->width, dataset->height, 1,
                                   dataset->images + index * dataset->image_bytes + c * plane};
        CLARET_TRY(claret_image_fit(&one, box, 1, dataset->height, dataset->width, image + c * plane));
    }
    return CLARET_OK;
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

/* to (C, H, W): from, turned about its middle by the nearest pixel; in whole numbers, halves of pixels from
 * the middle, so that it is the same everywhere. */
static void rotate(const struct claret_dataset *dataset, const unsigned char *from, const int32_t turn[2],
                   unsigned char *to)
{
    const int height = dataset->height, width = dataset->width;
    const size_t plane = (size_t)height * (size_t)width;

    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int64_t u = 2 * x - (width - 1), v = 2 * y - (height - 1);
            int64_t column = (turn[0] * u - turn[1] * v + (int64_t)width * CLARET_TURN_ONE) >> 17;
            int64_t row = (turn[1] * u + turn[0] * v + (int64_t)height * CLARET_TURN_ONE) >> 17;
            bool inside = column >= 0 && column < width && row >= 0 && row < height;
            for (size_t c = 0; c < (size_t)dataset->channels; c++)
                to[c * plane + (size_t)(y * width + x)] =
                    inside ? from[c * plane + (size_t)(row * width + column)] : 0;
        }
}

static void erase(const struct claret_dataset *dataset, const struct claret_recipe *recipe,
                  unsigned char *image)
{
    const int32_t *box = recipe->erase;

    for (int c = 0; c < dataset->channels; c++)
        for (int y = box[0]; y < box[0] + box[2]; y++)
            memset(image + (size_t)((c * dataset->height + y) * dataset->width + box[1]),
                   (int)(recipe->fill >> (8 * c) & 255), (size_t)box[3]);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* After the box: `image` in place, `scratch` of the same size. */
static void change(const struct claret_augment *augment, const struct claret_dataset *dataset,
                   const struct claret_recipe *recipe, unsigned char *image, unsigned char *scratch)
{
    if (recipe->move[0] || recipe->move[1] || recipe->mirror) {
        memcpy(scratch, image, dataset->image_bytes);
        move(dataset, scratch, recipe->move[0], recipe->move[1], augment->reflect, recipe->mirror, image);
    }
    if (augment->rotation > 0) {
        memcpy(scratch, image, dataset->image_bytes);
        rotate(dataset, scratch, recipe->turn, image);
    }
    claret_jitter(recipe, dataset->channels, (size_t)dataset->height * (size_t)dataset->width, image);
    erase(dataset, recipe, image);
}

enum claret_status claret_augment_fetch(const struct claret_augment *augment,
                                        const struct claret_dataset *dataset, uint64_t seed, uint32_t epoch,
                                        size_t index, unsigned char *image)
{
    struct claret_image file = {.width = dataset->width, .height = dataset->height};
    struct claret_recipe recipe;
    enum claret_status status;

    if (augment->resized_crop > 0 && dataset->paths)
        CLARET_TRY(claret_dataset_open_file(dataset, index, &file));
    claret_augment_draw(augment, dataset, seed, epoch, index, file.height, file.width, &recipe);
    const struct claret_box box = {recipe.box[1], recipe.box[0], recipe.box[3], recipe.box[2]};
    if (augment->resized_crop > 0)
        status = resized_crop(dataset, index, &file, &box, image);
    else
        status = claret_dataset_fetch(dataset, index, image);
    free(file.pixels);
    if (status != CLARET_OK)
        return status;
    unsigned char *scratch = malloc(dataset->image_bytes);
    if (!scratch)
        return claret_no_memory();
    change(augment, dataset, &recipe, image, scratch);
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
        return claret_fail(CLARET_INVALID, "--preview-augment: only bytes in 1 or 3 channels can be shown");
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
