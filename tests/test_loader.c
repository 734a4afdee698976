/* The loader: the same batches in the same order whoever makes them, each image once an epoch, no slot used
 * twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "data/data.h"
#include "scratch.h"

#define IMAGES 103
#define PIXELS 12 /* (3, 2, 2) */

/* Image i is filled with i + 1, its label is i; F32 images hold the same numbers. */
static struct claret_dataset *make_dataset(enum claret_element element)
{
    unsigned char bytes[IMAGES * PIXELS];
    float floats[IMAGES * PIXELS];
    int32_t labels[IMAGES];
    struct claret_dataset *dataset = NULL;

    for (int i = 0; i < IMAGES * PIXELS; i++) {
        bytes[i] = (unsigned char)(i / PIXELS + 1);
        floats[i] = (float)(i / PIXELS + 1);
    }
    for (int i = 0; i < IMAGES; i++)
        labels[i] = i;
    assert_int_equal(
        claret_dataset_from_arrays(element, element == CLARET_U8 ? (const void *)bytes : (const void *)floats,
                                   labels, IMAGES, 3, 2, 2, IMAGES, &dataset),
        CLARET_OK);
    return dataset;
}

static struct claret_loader *make_loader(const struct claret_dataset *dataset,
                                         const struct claret_loader_options *options)
{
    struct claret_loader *loader = NULL;

    claret_error_clear();
    if (claret_loader_create(dataset, options, &loader) != CLARET_OK)
        fail_msg("%s", claret_error());
    return loader;
}

static struct claret_batch next(struct claret_loader *loader)
{
    struct claret_batch batch;

    assert_int_equal(claret_loader_next(loader, &batch), CLARET_OK);
    return batch;
}

/* Everything that comes, whole slots, as one digest; checks counts and places by the way. */
static void digest(const struct claret_dataset *dataset, const struct claret_loader_options *options,
                   char hex[65])
{
    struct claret_loader *loader = make_loader(dataset, options);
    struct claret_stage_layout layout;
    size_t steps = claret_loader_steps(loader), per_epoch = claret_loader_steps_per_epoch(loader);
    size_t element = dataset->element == CLARET_U8 ? 1 : 4;
    unsigned char *all;
    struct claret_batch batch;

    claret_stage_layout(options->batch, PIXELS, element, &layout);
    all = malloc(steps * layout.slot);
    for (size_t i = 0; i < steps; i++) {
        batch = next(loader);
        assert_non_null(batch.slot);
        assert_int_equal(batch.epoch, i / per_epoch);
        assert_int_equal(batch.step, i % per_epoch);
        assert_int_equal(batch.last, i % per_epoch == per_epoch - 1);
        assert_int_equal(batch.count, batch.last
                                          ? (int)(dataset->count - (per_epoch - 1) * (size_t)options->batch)
                                          : (int)options->batch);
        memcpy(all + i * layout.slot, batch.slot, layout.slot);
        claret_loader_release(loader, &batch);
        assert_null(batch.slot);
        claret_loader_release(loader, &batch);
    }
    for (int i = 0; i < 2; i++) {
        batch = next(loader);
        assert_null(batch.slot);
        claret_loader_release(loader, &batch);
    }
    claret_sha256(all, steps * layout.slot, hex);
    free(all);
    claret_loader_destroy(loader);
}

static void test_same_for_all_workers(void **state)
{
    static const enum claret_element elements[] = {CLARET_U8, CLARET_F32};
    static const int64_t batches[] = {1, 4, 10, IMAGES};
    static const int workers[] = {0, 1, 2, 7};
    static const int aheads[] = {2, 3, 8};
    char first[65], other[65];

    (void)state;
    for (int e = 0; e < 2; e++) {
        struct claret_dataset *dataset = make_dataset(elements[e]);
        for (int b = 0; b < 4; b++) {
            struct claret_loader_options options = {
                .batch = batches[b], .shuffle = true, .seed = 3, .epochs = 3, .ahead = 2};
            digest(dataset, &options, first);
            for (int run = 0; run < 12; run++) {
                options.workers = workers[run % 4];
                options.ahead = aheads[run / 4];
                digest(dataset, &options, other);
                assert_string_equal(first, other);
            }
            options.seed = 4;
            digest(dataset, &options, other);
            assert_string_not_equal(first, other);
        }
        claret_dataset_destroy(dataset);
    }
}

/* Of a set on the device: the images' numbers in place of the images, in the same order, with the same
 * labels. */
static void test_resident(void **state)
{
    struct claret_loader_options options = {
        .batch = 10, .workers = 2, .shuffle = true, .seed = 3, .epochs = 2, .ahead = 3};
    struct claret_dataset *dataset = make_dataset(CLARET_U8);
    struct claret_loader *images = make_loader(dataset, &options), *numbers;
    struct claret_stage_layout layout;

    (void)state;
    options.resident = true;
    numbers = make_loader(dataset, &options);
    claret_stage_layout(options.batch, PIXELS, 1, &layout);
    for (;;) {
        struct claret_batch a = next(images), b = next(numbers);
        assert_int_equal(a.slot == NULL, b.slot == NULL);
        if (!a.slot)
            break;
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.slot + layout.labels, b.slot + layout.labels, (size_t)options.batch * 4);
        for (int i = 0; i < a.count; i++) {
            uint32_t number;
            memcpy(&number, b.slot + layout.images + (size_t)i * 4, 4);
            assert_int_equal(a.slot[layout.images + (size_t)i * PIXELS], number + 1);
        }
        claret_loader_release(images, &a);
        claret_loader_release(numbers, &b);
    }
    claret_loader_destroy(images);
    claret_loader_destroy(numbers);
    claret_dataset_destroy(dataset);
}

/* The order itself is pinned: by the permutation of (seed, epoch). */
static void test_order(void **state)
{
    struct claret_dataset *dataset = make_dataset(CLARET_U8);
    struct claret_loader_options options = {
        .batch = 10, .workers = 2, .shuffle = true, .seed = 9, .epochs = 4, .ahead = 3};
    struct claret_loader *loader = make_loader(dataset, &options);
    struct claret_stage_layout layout;
    uint32_t order[IMAGES], previous[IMAGES] = {0};

    (void)state;
    claret_stage_layout(10, PIXELS, 1, &layout);
    assert_int_equal(claret_loader_steps_per_epoch(loader), 11);
    assert_int_equal(claret_loader_steps(loader), 44);
    for (uint32_t epoch = 0; epoch < 4; epoch++) {
        unsigned char seen[IMAGES] = {0};
        struct claret_rng rng;
        claret_rng_init(&rng, 9, CLARET_STREAM_SHUFFLE, epoch);
        claret_rng_permutation(&rng, order, IMAGES);
        assert_memory_not_equal(order, previous, sizeof(order));
        memcpy(previous, order, sizeof(order));
        for (size_t step = 0; step < 11; step++) {
            struct claret_batch batch = next(loader);
            const int32_t *labels = (const int32_t *)(batch.slot + layout.labels);
            const unsigned char *images = batch.slot + layout.images;
            assert_int_equal(batch.count, step == 10 ? 3 : 10);
            for (int i = 0; i < batch.count; i++) {
                assert_int_equal(labels[i], order[step * 10 + (size_t)i]);
                for (int j = 0; j < PIXELS; j++)
                    assert_int_equal(images[i * PIXELS + j], labels[i] + 1);
                assert_int_equal(seen[labels[i]]++, 0);
            }
            /* What the short batch leaves unused is zero, not the slot's last use. */
            for (int i = batch.count; i < 10; i++) {
                assert_int_equal(labels[i], 0);
                for (int j = 0; j < PIXELS; j++)
                    assert_int_equal(images[i * PIXELS + j], 0);
            }
            claret_loader_release(loader, &batch);
        }
        for (int i = 0; i < IMAGES; i++)
            assert_int_equal(seen[i], 1);
    }
    claret_loader_destroy(loader);
    claret_dataset_destroy(dataset);
}

/* From any batch on, the batches are those that come there without it. */
static void test_from_the_middle(void **state)
{
    struct claret_dataset *dataset = make_dataset(CLARET_U8);
    struct claret_stage_layout layout;

    (void)state;
    claret_stage_layout(10, PIXELS, 1, &layout);
    for (size_t first = 0; first <= 33; first++) {
        struct claret_loader_options options = {
            .batch = 10, .workers = (int)(first % 3), .shuffle = true, .seed = 3, .epochs = 3, .ahead = 3};
        struct claret_loader *whole = make_loader(dataset, &options);
        options.first = first;
        struct claret_loader *late = make_loader(dataset, &options);
        assert_int_equal(claret_loader_steps(late), 33);
        for (size_t i = 0; i <= 33; i++) {
            struct claret_batch a = next(whole), b = {0};
            if (i >= first) {
                b = next(late);
                assert_int_equal(b.epoch, a.epoch);
                assert_int_equal(b.step, a.step);
                assert_int_equal(!b.slot, !a.slot);
                if (a.slot)
                    assert_memory_equal(b.slot, a.slot, layout.slot);
            }
            claret_loader_release(whole, &a);
            claret_loader_release(late, &b);
        }
        claret_loader_destroy(whole);
        claret_loader_destroy(late);
    }
    claret_dataset_destroy(dataset);
}

static void test_no_shuffle_and_limits(void **state)
{
    struct claret_dataset *dataset = make_dataset(CLARET_U8);
    struct claret_loader_options options = {
        .batch = 7, .workers = 1, .epochs = 2, .ahead = 2, .max_steps = 9};
    struct claret_loader *loader;
    struct claret_stage_layout layout;

    (void)state;
    claret_dataset_limit(dataset, 30);
    claret_stage_layout(7, PIXELS, 1, &layout);
    loader = make_loader(dataset, &options);
    assert_int_equal(claret_loader_steps_per_epoch(loader), 5);
    assert_int_equal(claret_loader_steps(loader), 9);
    for (size_t step = 0; step < 9; step++) {
        struct claret_batch batch = next(loader);
        const int32_t *labels = (const int32_t *)(batch.slot + layout.labels);
        assert_int_equal(batch.last, step == 4);
        for (int i = 0; i < batch.count; i++)
            assert_int_equal(labels[i], step % 5 * 7 + (size_t)i);
        claret_loader_release(loader, &batch);
    }
    assert_null(next(loader).slot);
    claret_loader_destroy(loader);
    claret_dataset_destroy(dataset);
}

/* Several slots are held at once and given back in another order; none is handed out twice at a time. */
static void test_held_slots(void **state)
{
    struct claret_dataset *dataset = make_dataset(CLARET_U8);
    struct claret_stage_layout layout;

    (void)state;
    claret_stage_layout(4, PIXELS, 1, &layout);
    for (int workers = 0; workers < 3; workers++) {
        struct claret_loader_options options = {.batch = 4, .workers = workers, .epochs = 20, .ahead = 4};
        struct claret_loader *loader = make_loader(dataset, &options);
        struct claret_batch held[4], more;
        int32_t expected = 0;
        for (int round = 0; round < 40; round++) {
            for (int i = 0; i < 4; i++) {
                held[i] = next(loader);
                assert_int_equal((uintptr_t)held[i].slot % 128, 0);
                for (int j = 0; j < i; j++)
                    assert_ptr_not_equal(held[i].slot, held[j].slot);
            }
            claret_error_clear();
            assert_int_equal(claret_loader_next(loader, &more), CLARET_INTERNAL);
            assert_true(scratch_says(claret_error(), "all of its 4 slots"));
            for (int i = 0; i < 4; i++) {
                const int32_t *labels = (const int32_t *)(held[i].slot + layout.labels);
                for (int j = 0; j < held[i].count; j++) {
                    assert_int_equal(labels[j], expected);
                    expected = (expected + 1) % IMAGES;
                }
            }
            for (int i = 0; i < 4; i++)
                claret_loader_release(loader, &held[(i * 3 + round) % 4]);
        }
        claret_loader_destroy(loader);
    }
    claret_error_clear();
    claret_dataset_destroy(dataset);
}

/* Ended at any point, with batches ready, under way and held: destroying joins the workers. */
static void test_destroyed_in_the_middle(void **state)
{
    struct claret_dataset *dataset = make_dataset(CLARET_U8);

    (void)state;
    for (int taken = 0; taken < 40; taken++) {
        struct claret_loader_options options = {
            .batch = 5, .workers = taken % 5, .shuffle = true, .epochs = 2, .ahead = 2 + taken % 3};
        struct claret_loader *loader = make_loader(dataset, &options);
        for (int i = 0; i < taken; i++) {
            struct claret_batch batch = next(loader);
            if (i + 1 < taken)
                claret_loader_release(loader, &batch);
        }
        claret_loader_destroy(loader);
    }
    claret_loader_destroy(NULL);
    claret_dataset_destroy(dataset);
}

static void test_refusals(void **state)
{
    struct claret_dataset *dataset = make_dataset(CLARET_U8);
    static const struct {
        struct claret_loader_options options;
        const char *part;
    } bad[] = {
        {{.batch = IMAGES + 1, .epochs = 1, .ahead = 2},
         "batch size is 104, but the data set has only 103 images"},
        {{.batch = 0, .epochs = 1, .ahead = 2}, "batch 0"},
        {{.batch = -1, .epochs = 1, .ahead = 2}, "batch -1"},
        {{.batch = 1, .epochs = 0, .ahead = 2}, "0 epochs"},
        {{.batch = 1, .epochs = 1, .ahead = 1}, "1 slots"},
        {{.batch = 1, .epochs = 1, .ahead = 2, .workers = -1}, "-1 workers"},
        {{.batch = 1, .epochs = (size_t)UINT32_MAX + 1, .ahead = 2}, "too many"},
    };
    struct claret_loader *loader = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        claret_error_clear();
        assert_int_equal(claret_loader_create(dataset, &bad[i].options, &loader), CLARET_INVALID);
        assert_true(scratch_says(claret_error(), bad[i].part));
    }
    assert_null(loader);
    claret_error_clear();
    claret_dataset_destroy(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_for_all_workers),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_resident),
        cmocka_unit_test(test_from_the_middle),
        cmocka_unit_test(test_no_shuffle_and_limits),
        cmocka_unit_test(test_held_slots),
        cmocka_unit_test(test_destroyed_in_the_middle),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
