/* Learning rates against PyTorch's (golden/schedules.json), and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <claret/claret.h>

#include "train/schedule.h"

static struct claret_options *options_of(const char *const pairs[][2])
{
    struct claret_options *options = NULL;
    assert_int_equal(claret_options_create(&options), CLARET_OK);
    for (int i = 0; pairs && pairs[i][0]; i++)
        assert_int_equal(claret_options_set(options, pairs[i][0], pairs[i][1]), CLARET_OK);
    return options;
}

/* Each time's; a golden without them has none that change. */
static void check_momenta(const json_t *row, const struct claret_schedule *schedule, double own,
                          int64_t total)
{
    const json_t *momenta = json_object_get(row, "momenta");
    for (int64_t at = 0; at < total; at++) {
        double want = momenta ? json_real_value(json_array_get(momenta, (size_t)at)) : own;
        double got = claret_schedule_momentum(schedule, own, at, total);
        if (!(fabs(got - want) <= 1e-9))
            fail_msg("time %lld of %lld: momentum %.12g, PyTorch has %.12g", (long long)at, (long long)total,
                     got, want);
        assert_true(claret_schedule_momentum(schedule, 0, at, total) == 0);
    }
}

static void check_row(json_t *row, double lr, double momentum)
{
    struct claret_options *options = options_of(NULL);
    struct claret_schedule schedule;
    char text[32];
    const char *key;
    json_t *value, *rates = json_object_get(row, "rates");
    int64_t total = json_integer_value(json_object_get(row, "total"));
    snprintf(text, sizeof text, "%.17g", lr);
    assert_int_equal(claret_options_set(options, "lr", text), CLARET_OK);
    json_object_foreach(json_object_get(row, "options"), key, value)
        assert_int_equal(claret_options_set(options, key, json_string_value(value)), CLARET_OK);
    assert_int_equal(claret_options_check(options), CLARET_OK);
    assert_int_equal(claret_schedule_init(options, &schedule), CLARET_OK);
    assert_int_equal(json_array_size(rates), total);
    for (int64_t at = 0; at < total; at++) {
        double want = json_real_value(json_array_get(rates, (size_t)at));
        double got = claret_schedule_lr(&schedule, at, total);
        if (!(fabs(got - want) <= 1e-12 + 1e-9 * want))
            fail_msg("%s, time %lld of %lld: %.12g, PyTorch has %.12g", options->lr_schedule, (long long)at,
                     (long long)total, got, want);
    }
    check_momenta(row, &schedule, momentum, total);
    claret_options_destroy(options);
}

static void test_as_pytorch(void **state)
{
    (void)state;
    json_error_t error;
    json_t *golden = json_load_file(CLARET_GOLDEN_DIR "/schedules.json", 0, &error), *row;
    size_t index;
    assert_non_null(golden);
    assert_true(json_array_size(json_object_get(golden, "rows")) > 5);
    json_array_foreach(json_object_get(golden, "rows"), index, row)
        check_row(row, json_real_value(json_object_get(golden, "lr")),
                  json_real_value(json_object_get(golden, "momentum")));
    json_decref(golden);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][3][2] = {
        {{"lr-schedule", "cosin"}},
        {{"lr-schedule", ""}},
        {{"lr-schedule", "step"}},
        {{"lr-schedule", "multistep"}},
        {{"lr-schedule", "multistep"}, {"lr-milestones", "5,3"}},
        {{"lr-schedule", "multistep"}, {"lr-milestones", "0"}},
        {{"lr-schedule", "multistep"}, {"lr-milestones", "3,,5"}},
        {{"lr-schedule", "multistep"}, {"lr-milestones", "3,x"}},
        {{"lr-schedule", "multistep"}, {"lr-milestones", "99999999999999999999999999"}},
        {{"lr-by", "batch"}},
        {{"lr-schedule", "one-cycle"}},
        {{"lr-schedule", "one-cycle"}, {"lr-by", "step"}, {"lr-warmup", "5"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *pairs[4][2] = {{NULL}};
        for (int j = 0; j < 3; j++)
            memcpy(pairs[j], cases[i][j], sizeof pairs[j]);
        struct claret_options *options = options_of((const char *const(*)[2])pairs);
        claret_error_clear();
        if (claret_options_check(options) != CLARET_INVALID || !strstr(claret_error(), "lr-"))
            fail_msg("case %zu: %s", i, claret_error());
        claret_options_destroy(options);
    }
}

/* A warm-up has to end before the training does: by epochs, by steps of the last short batch too, by
 * --max-steps. */
static void test_warmup_fits(void **state)
{
    (void)state;
    static const struct {
        const char *by, *epochs, *max_steps, *warmup;
        bool fine;
    } cases[] = {{"epoch", "7", "0", "6", true}, {"epoch", "7", "0", "7", false},
                 {"step", "2", "0", "5", true},  {"step", "2", "0", "6", false},
                 {"step", "2", "4", "3", true},  {"step", "2", "4", "4", false},
                 {"epoch", "1", "0", "0", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const pairs[][2] = {
            {"lr-by", cases[i].by},         {"epochs", cases[i].epochs}, {"max-steps", cases[i].max_steps},
            {"lr-warmup", cases[i].warmup}, {"batch-size", "4"},         {NULL, NULL}};
        struct claret_options *options = options_of(pairs);
        enum claret_status want = cases[i].fine ? CLARET_OK : CLARET_INVALID;
        if (claret_schedule_fits(options, 9) != want)
            fail_msg("case %zu", i);
        claret_options_destroy(options);
    }
}

/* Whatever the length, nothing but rates from 0 to lr comes out. */
static void test_bounds(void **state)
{
    (void)state;
    for (int kind = CLARET_SCHEDULE_CONSTANT; kind <= CLARET_SCHEDULE_ONE_CYCLE; kind++)
        for (int64_t total = 1; total < 40; total++)
            for (int64_t at = 0; at < total + 3; at++) {
                const struct claret_schedule schedule = {.kind = (enum claret_schedule_kind)kind,
                                                         .lr = 0.5,
                                                         .gamma = 0.1,
                                                         .every = 3,
                                                         .milestones = {2, 9},
                                                         .milestone_count = 2,
                                                         .warmup = total > 4 ? 2 : 0,
                                                         .warmup_factor = 0.1};
                double rate = claret_schedule_lr(&schedule, at, total);
                if (!(rate >= -1e-15 && rate <= 0.5 + 1e-12))
                    fail_msg("kind %d, time %d of %d: %g", kind, (int)at, (int)total, rate);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_pytorch), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_warmup_fits), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
