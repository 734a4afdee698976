/* Augmentation: what each transformation may do to an image, that it does all of it, and on what it depends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/augment.h"

#define SIDE 12
#define PLANE (SIDE * SIDE)
#define COUNT 40
#define DRAWS 400

/* COUNT images of `channels` channels: every pixel of an image has a colour of its own. */
static struct claret_dataset *make(int channels)
{
    struct claret_dataset *dataset = NULL;
    size_t bytes = (size_t)channels * PLANE;
    unsigned char *images = malloc(COUNT * bytes);
    int32_t labels[COUNT] = {0};

    for (size_t i = 0; i < COUNT * bytes; i++)
        images[i] = (unsigned char)(1 + (i * 89 + i / bytes * 7) % 255);
    if (claret_dataset_from_arrays(CLARET_U8, images, labels, COUNT, channels, SIDE, SIDE, 1, &dataset) !=
        CLARET_OK)
        fail_msg("%s", claret_error());
    free(images);
    return dataset;
}

static void fetch(const struct claret_augment *augment, const struct claret_dataset *dataset, uint64_t seed,
                  uint32_t epoch, size_t index, unsigned char *image)
{
    if (claret_augment_fetch(augment, dataset, seed, epoch, index, image) != CLARET_OK)
        fail_msg("%s", claret_error());
}

/* ---- crop and flip ------------------------------------------------------------------------------------- */

/* What moving by (dy, dx) and mirroring makes of an image, written another way than the library's. */
static void moved(const unsigned char *from, int dy, int dx, bool reflect, bool mirror, unsigned char *to)
{
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                int row = y + dy, column = x + dx, at = mirror ? SIDE - 1 - x : x;
                if (reflect) {
                    row = row < 0 ? -row : row > SIDE - 1 ? 2 * SIDE - 2 - row : row;
                    column = column < 0 ? -column : column > SIDE - 1 ? 2 * SIDE - 2 - column : column;
                }
                bool inside = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
                to[c * PLANE + y * SIDE + at] = inside ? from[c * PLANE + row * SIDE + column] : 0;
            }
}

static void check_crop(bool reflect)
{
    struct claret_augment augment = {.crop = 3, .reflect = reflect, .flip = 0.25};
    struct claret_dataset *dataset = make(3);
    unsigned char image[3 * PLANE], expected[3 * PLANE];
    int seen[7][7] = {{0}}, mirrored = 0;

    for (uint32_t epoch = 0; epoch < DRAWS; epoch++) {
        bool found = false;
        fetch(&augment, dataset, 5, epoch, 7, image);
        for (int dy = -3; dy <= 3 && !found; dy++)
            for (int dx = -3; dx <= 3 && !found; dx++)
                for (int mirror = 0; mirror < 2 && !found; mirror++) {
                    moved(dataset->images + 7 * dataset->image_bytes, dy, dx, reflect, mirror, expected);
                    found = memcmp(image, expected, sizeof(image)) == 0;
                    if (found) {
                        seen[dy + 3][dx + 3]++;
                        mirrored += mirror;
                    }
                }
        assert_true(found);
    }
    for (int i = 0; i < 49; i++)
        assert_in_range(seen[i / 7][i % 7], 1, 25); /* 8.2 on average */
    assert_in_range(mirrored, DRAWS / 4 - 40, DRAWS / 4 + 40);
    claret_dataset_destroy(dataset);
}

static void test_crop_and_flip(void **state)
{
    (void)state;
    check_crop(false);
    check_crop(true);
}

/* ---- boxes --------------------------------------------------------------------------------------------- */

static void test_resized_crop(void **state)
{
    struct claret_augment augment = {.resized_crop = 0.25};
    struct claret_dataset *dataset = make(1);
    unsigned char image[PLANE];
    double shares = 0;

    (void)state;
    /* A slope along rows in the first image, along columns in the second: values tell the box's edges. */
    for (int i = 0; i < PLANE; i++) {
        dataset->images[i] = (unsigned char)(20 * (i % SIDE));
        dataset->images[PLANE + i] = (unsigned char)(20 * (i / SIDE));
    }
    for (uint32_t epoch = 0; epoch < DRAWS; epoch++) {
        fetch(&augment, dataset, 1, epoch, epoch % 2, image);
        int first = image[0], last = image[PLANE - 1], step = epoch % 2 ? SIDE : 1;
        assert_true(first <= last);
        for (int i = 1; i < SIDE; i++)
            assert_true(image[i * step] >= image[(i - 1) * step]);
        for (int i = 1; i < SIDE; i++) /* and constant across */
            assert_int_equal(image[i * (SIDE + 1 - step)], first);
        shares += (last - first) / (20.0 * (SIDE - 1));
    }
    /* Sides are square roots of shares 0.25 to 1 but for the ratio. */
    assert_true(shares / DRAWS > 0.6 && shares / DRAWS < 0.85);
    augment.resized_crop = 1;
    fetch(&augment, dataset, 1, 0, 5, image);
    claret_dataset_destroy(dataset);
}

static void test_erasing(void **state)
{
    const float mean[3] = {0.1f, 0.5f, 0.8f}, std[3] = {1, 1, 1};
    const int fill[3] = {26, 128, 204};
    struct claret_augment augment = {.erasing = 0.5};
    struct claret_dataset *dataset = make(3);
    unsigned char image[3 * PLANE];
    int erased = 0;

    (void)state;
    assert_int_equal(claret_dataset_set_normalisation(dataset, mean, std), CLARET_OK);
    for (uint32_t epoch = 0; epoch < DRAWS; epoch++) {
        const unsigned char *from = dataset->images + 3 * dataset->image_bytes;
        int top = SIDE, left = SIDE, bottom = -1, right = -1;
        fetch(&augment, dataset, 2, epoch, 3, image);
        for (int p = 0; p < PLANE; p++) {
            bool same = true, filled = true;
            for (int c = 0; c < 3; c++) {
                same &= image[c * PLANE + p] == from[c * PLANE + p];
                filled &= image[c * PLANE + p] == fill[c];
            }
            assert_true(same || filled);
            if (same)
                continue;
            top = p / SIDE < top ? p / SIDE : top;
            bottom = p / SIDE > bottom ? p / SIDE : bottom;
            left = p % SIDE < left ? p % SIDE : left;
            right = p % SIDE > right ? p % SIDE : right;
        }
        if (bottom < 0)
            continue;
        erased++;
        for (int y = top; y <= bottom; y++)
            for (int x = left; x <= right; x++)
                for (int c = 0; c < 3; c++)
                    assert_int_equal(image[c * PLANE + y * SIDE + x], fill[c]);
        int area = (bottom - top + 1) * (right - left + 1);
        assert_in_range(area, 1, (int)(0.4 * PLANE));
    }
    assert_in_range(erased, DRAWS / 2 - 50, DRAWS / 2 + 50);
    claret_dataset_destroy(dataset);
}

static void test_rotation(void **state)
{
    struct claret_augment augment = {.rotation = 1e-6};
    struct claret_dataset *dataset = make(3);
    unsigned char image[3 * PLANE];
    int turned = 0;

    (void)state;
    fetch(&augment, dataset, 1, 0, 0, image);
    assert_memory_equal(image, dataset->images, sizeof(image));
    /* Every pixel is one of the image's that is as far from the middle, but for rounding; corners become
     * zero. */
    augment.rotation = 90;
    for (uint32_t epoch = 0; epoch < 50; epoch++) {
        fetch(&augment, dataset, 1, epoch, 0, image);
        turned += memcmp(image, dataset->images, sizeof(image)) != 0;
        for (int p = 0; p < PLANE; p++) {
            double far = hypot(p % SIDE - 5.5, p / SIDE - 5.5);
            bool found = image[p] == 0;
            for (int q = 0; q < PLANE && !found; q++)
                found = dataset->images[q] == image[p] &&
                        fabs(hypot(q % SIDE - 5.5, q / SIDE - 5.5) - far) < 0.75;
            assert_true(found);
            if (far < 5)
                assert_int_not_equal(image[p], 0);
        }
    }
    assert_in_range(turned, 45, 50);
    claret_dataset_destroy(dataset);
}

/* ---- colours ------------------------------------------------------------------------------------------- */

static void test_brightness_and_contrast(void **state)
{
    struct claret_dataset *dataset = make(3);
    unsigned char image[3 * PLANE];
    const unsigned char *from = dataset->images;

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct claret_augment augment = {0};
        double middle = 0, low = 10, high = 0;
        augment.jitter[kind] = 0.4;
        for (int p = 0; p < PLANE; p++)
            middle += floor(
                (from[p] * 19595 + from[PLANE + p] * 38470 + from[2 * PLANE + p] * 7471 + 0x8000) / 65536.0);
        middle = kind ? floor(middle / PLANE + 0.5) : 0;
        for (uint32_t epoch = 0; epoch < DRAWS; epoch++) {
            fetch(&augment, dataset, 4, epoch, 0, image);
            /* One factor fits all values that were not clipped. */
            double least = 0, most = 10;
            for (int i = 0; i < 3 * PLANE; i++) {
                double away = from[i] - middle;
                if (image[i] == 0 || image[i] == 255 || fabs(away) < 20)
                    continue;
                double a = (image[i] - middle) / away, b = (image[i] + 1 - middle) / away;
                least = fmax(least, fmin(a, b));
                most = fmin(most, fmax(a, b));
            }
            assert_true(least <= most + 1e-6);
            low = fmin(low, most);
            high = fmax(high, least);
        }
        assert_true(low > 0.59 && low < 0.65 && high > 1.35 && high < 1.41);
    }
    claret_dataset_destroy(dataset);
}

static void test_saturation_and_hue(void **state)
{
    struct claret_augment saturation = {.jitter = {0, 0, 0.9, 0}}, hue = {.jitter = {0, 0, 0, 0.5}};
    struct claret_dataset *dataset = make(3);
    unsigned char image[3 * PLANE], *from = dataset->images;
    int seen[6] = {0};

    (void)state;
    for (int p = 0; p < PLANE; p++) { /* image 0: greys; image 1: reds */
        from[p] = from[PLANE + p] = from[2 * PLANE + p] = (unsigned char)p;
        from[3 * PLANE + p] = 200;
        from[4 * PLANE + p] = from[5 * PLANE + p] = 50;
    }
    for (uint32_t epoch = 0; epoch < DRAWS; epoch++) {
        fetch(&saturation, dataset, 4, epoch, 0, image);
        assert_memory_equal(image, from, sizeof(image));
        fetch(&hue, dataset, 4, epoch, 0, image);
        assert_memory_equal(image, from, sizeof(image));
        fetch(&hue, dataset, 4, epoch, 1, image);
        int r = image[0], g = image[PLANE], b = image[2 * PLANE];
        int high = r > g ? (r > b ? r : b) : (g > b ? g : b), low = r < g ? (r < b ? r : b) : (g < b ? g : b);
        assert_true(high == 200 && low == 50);
        seen[r == 200 ? (b == 50 ? 0 : 1) : g == 200 ? (r == 50 ? 2 : 3) : (g == 50 ? 4 : 5)]++;
    }
    for (int i = 0; i < 6; i++) /* the whole circle */
        assert_in_range(seen[i], DRAWS / 6 - 40, DRAWS / 6 + 40);
    hue.jitter[3] = 0.01; /* 3.6 degrees: 9 of the 150 */
    fetch(&hue, dataset, 4, 0, 1, image);
    assert_true(image[0] == 200 && image[PLANE] <= 59 && image[2 * PLANE] <= 59);
    claret_dataset_destroy(dataset);
}

/* ---- what it depends on -------------------------------------------------------------------------------- */

static const struct claret_augment all = {.resized_crop = 0.5,
                                          .crop = 2,
                                          .flip = 0.5,
                                          .rotation = 10,
                                          .jitter = {0.2, 0.2, 0.2, 0.1},
                                          .erasing = 0.5};

static void test_draws(void **state)
{
    struct claret_dataset *dataset = make(3);
    unsigned char image[3 * PLANE], other[3 * PLANE];

    (void)state;
    memcpy(dataset->images + dataset->image_bytes, dataset->images,
           dataset->image_bytes); /* image 1 is image 0 */
    fetch(&all, dataset, 1, 0, 0, image);
    fetch(&all, dataset, 1, 0, 0, other);
    assert_memory_equal(image, other, sizeof(image));
    fetch(&all, dataset, 2, 0, 0, other);
    assert_memory_not_equal(image, other, sizeof(image));
    fetch(&all, dataset, 1, 1, 0, other);
    assert_memory_not_equal(image, other, sizeof(image));
    fetch(&all, dataset, 1, 0, 1, other);
    assert_memory_not_equal(image, other, sizeof(image));
    claret_dataset_destroy(dataset);
}

/* The loader gives what claret_augment_fetch() gives, whoever makes the batches. */
static void test_loader(void **state)
{
    struct claret_dataset *dataset = make(3);
    unsigned char image[3 * PLANE];

    (void)state;
    for (int workers = 0; workers < 5; workers += 2) {
        struct claret_loader_options options = {
            .batch = 7, .workers = workers, .seed = 9, .epochs = 3, .ahead = 4, .augment = &all};
        struct claret_loader *loader = NULL;
        struct claret_batch batch;
        size_t batches = 0;
        assert_int_equal(claret_loader_create(dataset, &options, &loader), CLARET_OK);
        while (claret_loader_next(loader, &batch) == CLARET_OK && batch.slot) {
            struct claret_stage_layout layout;
            claret_stage_layout(7, 3 * PLANE, 1, &layout);
            for (int i = 0; i < batch.count; i++) {
                fetch(&all, dataset, 9, (uint32_t)batch.epoch, batch.step * 7 + (size_t)i, image);
                assert_memory_equal(image, batch.slot + layout.images + (size_t)i * layout.image,
                                    sizeof(image));
            }
            batches++;
            claret_loader_release(loader, &batch);
        }
        assert_int_equal(batches, 3 * 6);
        claret_loader_destroy(loader);
    }
    claret_dataset_destroy(dataset);
}

static void test_checks(void **state)
{
    struct claret_augment crop = {.crop = SIDE, .reflect = true}, colours = {.jitter = {0, 0.1, 0, 0}},
                          none = {0};
    struct claret_dataset *bytes = make(2), *floats = NULL;
    float image = 0;
    int32_t label = 0;

    (void)state;
    assert_false(claret_augment_any(&none));
    assert_true(claret_augment_any(&crop) && claret_augment_any(&colours) && claret_augment_any(&all));
    assert_int_equal(claret_augment_check(&crop, bytes), CLARET_INVALID);
    crop.crop--;
    claret_error_clear();
    assert_int_equal(claret_augment_check(&crop, bytes), CLARET_OK);
    assert_int_equal(claret_augment_check(&colours, bytes), CLARET_INVALID);
    assert_int_equal(claret_dataset_from_arrays(CLARET_F32, &image, &label, 1, 1, 1, 1, 1, &floats),
                     CLARET_OK);
    assert_int_equal(claret_augment_check(&crop, floats), CLARET_INVALID);
    claret_error_clear();
    assert_int_equal(claret_augment_check(&none, floats), CLARET_OK);
    claret_dataset_destroy(floats);
    claret_dataset_destroy(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crop_and_flip),
        cmocka_unit_test(test_resized_crop),
        cmocka_unit_test(test_erasing),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_brightness_and_contrast),
        cmocka_unit_test(test_saturation_and_hue),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_loader),
        cmocka_unit_test(test_checks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
