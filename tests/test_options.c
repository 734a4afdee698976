/* Options by key and text; a run's folder, its files and its refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "scratch.h"
#include "train/optimizer.h"
#include "train/options.h"
#include "train/run.h"

static struct claret_options *make_options(void)
{
    struct claret_options *options = NULL;
    assert_int_equal(claret_options_create(&options), CLARET_OK);
    return options;
}

static void set(struct claret_options *options, const char *key, const char *value)
{
    assert_int_equal(claret_options_set(options, key, value), CLARET_OK);
    assert_string_equal(claret_options_get(options, key), value);
}

static void refuse(struct claret_options *options, const char *key, const char *value)
{
    char before[64];
    snprintf(before, sizeof(before), "%s", claret_options_get(options, key));
    assert_int_equal(claret_options_set(options, key, value), CLARET_INVALID);
    assert_ptr_equal(strstr(claret_error(), key), claret_error());
    assert_string_equal(claret_options_get(options, key), before);
}

static void keys_and_defaults(void **state)
{
    struct claret_options *options = make_options();
    size_t count = 0;
    (void)state;
    for (; claret_options_key(count); count++)
        assert_non_null(claret_options_get(options, claret_options_key(count)));
    assert_in_range(count, 29, 200);
    assert_null(claret_options_key(SIZE_MAX));
    assert_null(claret_options_get(options, "epoch"));
    assert_null(claret_options_get(NULL, "epochs"));
    assert_int_equal(options->batch_size, 4);
    assert_true(options->lr == 0.001 && options->momentum == 0.9);
    assert_string_equal(options->model, "simplecnn");
    assert_false(options->nesterov);
    claret_options_destroy(options);
    claret_options_destroy(NULL);
}

static void values(void **state)
{
    struct claret_options *options = make_options(), *copy = NULL;
    (void)state;
    set(options, "batch-size", "1048576");
    set(options, "lr", "1e-2");
    set(options, "seed", "9007199254740992");
    set(options, "nesterov", "true");
    set(options, "max-memory", "2G");
    set(options, "out", "a; b # c = d");
    refuse(options, "batch-size", "0");
    refuse(options, "batch-size", "1048577");
    refuse(options, "batch-size", "4 ");
    refuse(options, "seed", "9007199254740993");
    refuse(options, "lr", "-1e-9");
    refuse(options, "lr", "nan");
    refuse(options, "lr", "0,1");
    refuse(options, "nesterov", "yes");
    refuse(options, "max-memory", "2T");
    refuse(options, "out", "two\nlines");
    assert_int_equal(claret_options_copy(options, &copy), CLARET_OK);
    claret_options_destroy(options);
    assert_int_equal(copy->batch_size, 1048576);
    assert_true(copy->lr == 0.01 && copy->nesterov);
    assert_true(copy->max_memory == UINT64_C(2) << 30);
    assert_string_equal(copy->out, "a; b # c = d");
    claret_options_destroy(copy);
}

static void unknown(void **state)
{
    struct claret_options *options = make_options();
    (void)state;
    assert_int_equal(claret_options_set(options, "bach-size", "4"), CLARET_NOT_FOUND);
    assert_non_null(strstr(claret_error(), "'batch-size'"));
    assert_int_equal(claret_options_set(options, "nothing-like-it", "4"), CLARET_NOT_FOUND);
    assert_null(strstr(claret_error(), "did you mean"));
    assert_int_equal(claret_options_set(options, NULL, "4"), CLARET_INVALID);
    assert_int_equal(claret_options_set(options, "lr", NULL), CLARET_INVALID);
    assert_int_equal(claret_options_set(NULL, "lr", "4"), CLARET_INVALID);
    assert_int_equal(claret_options_create(NULL), CLARET_INVALID);
    claret_options_destroy(options);
}

static void together(void **state)
{
    struct claret_options *options = make_options();
    (void)state;
    assert_int_equal(claret_options_check(options), CLARET_OK);
    set(options, "nesterov", "true");
    assert_int_equal(claret_options_check(options), CLARET_OK);
    set(options, "momentum", "0");
    assert_int_equal(claret_options_check(options), CLARET_INVALID);
    set(options, "momentum", "0.5");
    set(options, "dampening", "0.1");
    claret_error_clear();
    assert_int_equal(claret_options_check(options), CLARET_INVALID);
    claret_options_destroy(options);
}

/* Each optimizer has defaults of its own, and refuses what is another's. */
static void optimizers(void **state)
{
    (void)state;
    static const struct {
        const char *name, *lr, *momentum, *weight_decay, *eps;
        const char *other, *value;
    } want[] = {{"sgd", "0.001", "0.9", "0", "0", "beta1", "0.9"},
                {"adam", "0.001", "0", "0", "1e-8", "momentum", "0.9"},
                {"adamw", "0.001", "0", "0.01", "1e-8", "alpha", "0.99"},
                {"rmsprop", "0.01", "0", "0", "1e-8", "nesterov", "true"}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct claret_options *options = make_options();
        set(options, "optimizer", want[i].name);
        assert_int_equal(claret_optimizer_resolve(options), CLARET_OK);
        struct claret_optimizer of = claret_optimizer_of(options);
        assert_true(of.kind == (enum claret_optimizer_kind)i);
        assert_true(options->lr == atof(want[i].lr) && of.momentum == atof(want[i].momentum));
        assert_true(of.weight_decay == atof(want[i].weight_decay) && of.eps == atof(want[i].eps));
        set(options, want[i].other, want[i].value);
        claret_error_clear();
        assert_int_equal(claret_optimizer_resolve(options), CLARET_INVALID);
        assert_non_null(strstr(claret_error(), want[i].other));
        assert_non_null(strstr(claret_error(), want[i].name));
        claret_options_destroy(options);
    }
    struct claret_options *options = make_options();
    set(options, "optimizer", "adan");
    claret_error_clear();
    assert_int_equal(claret_optimizer_resolve(options), CLARET_INVALID);
    assert_non_null(strstr(claret_error(), "did you mean 'adam'?"));
    set(options, "optimizer", "rmsprop");
    set(options, "lr", "0.5");
    set(options, "momentum", "0.25");
    assert_int_equal(claret_optimizer_resolve(options), CLARET_OK);
    assert_true(options->lr == 0.5 && claret_optimizer_of(options).momentum == 0.25);
    claret_options_destroy(options);
}

/* ---- a run's folder ---- */

static struct claret_network *network;

static int enter(void **state)
{
    return scratch_setup(state) != 0 || chdir(scratch("%s", "")) != 0 ||
           claret_network_load("simplecnn", &network) != CLARET_OK;
}

static int leave(void **state)
{
    claret_network_destroy(network);
    network = NULL;
    return chdir("/") != 0 || scratch_teardown(state) != 0;
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static void expect_file(const char *path, const char *text)
{
    char *data = NULL;
    size_t size;
    assert_int_equal(claret_file_read(path, 1 << 20, &data, &size), CLARET_OK);
    assert_non_null(strstr(data, text));
    free(data);
}

static struct claret_run *make_run(const struct claret_options *options)
{
    struct claret_run *run = NULL;
    assert_int_equal(claret_run_check(options, network), CLARET_OK);
    assert_int_equal(claret_run_create(options, network, &run), CLARET_OK);
    return run;
}

static void numbers(void **state)
{
    struct claret_options *options = make_options();
    struct claret_run *run;
    (void)state;
    assert_int_equal(claret_run_check(options, network), CLARET_OK);
    assert_false(is_there("runs")); /* a check makes nothing */
    run = make_run(options);
    assert_string_equal(claret_run_folder(run), "runs/simplecnn-001");
    assert_string_equal(claret_run_weights(run), "runs/simplecnn-001/weights.safetensors");
    claret_run_destroy(run);
    assert_int_equal(mkdir("runs/simplecnn-0999", 0777), 0);
    assert_int_equal(mkdir("runs/simplecnn-5000x", 0777), 0);
    assert_int_equal(mkdir("runs/other-7000", 0777), 0);
    run = make_run(options);
    assert_string_equal(claret_run_folder(run), "runs/simplecnn-1000");
    claret_run_destroy(run);
    claret_options_destroy(options);
}

static void log_and_config(void **state)
{
    struct claret_options *options = make_options();
    struct claret_run *run;
    (void)state;
    set(options, "out", "deep/er");
    set(options, "lr", "1e-2");
    run = make_run(options);
    expect_file("deep/er/config.ini", "\n[train]\n");
    expect_file("deep/er/config.ini", "\nlr = 1e-2\n");
    expect_file("deep/er/config.ini", "\ninit =\n");
    assert_int_equal(claret_run_log(run, 1, 20, 80, 2.5, 0.01, 1.25), CLARET_OK);
    assert_false(is_there("deep/er/log.csv"));
    assert_int_equal(claret_run_end_epoch(run), CLARET_OK);
    expect_file("deep/er/log.csv", "epoch,step,images,loss,lr,seconds\n1,20,80,2.5,0.01,1.250\n");
    assert_non_null(strstr(claret_run_rows(run), "\n1,20,80,"));
    assert_string_equal(claret_run_tests(run), "");
    assert_int_equal(claret_run_finish(run), CLARET_OK);
    assert_int_equal(claret_run_finish(run), CLARET_OK);
    expect_file("deep/er/log.csv", "epoch,step,images,loss,lr,seconds\n1,20,80,2.5,0.01,1.250\n");
    assert_int_equal(claret_run_log(run, 1, 21, 84, 2.5, 0.01, 1.25), CLARET_INTERNAL);
    claret_run_destroy(run);
    claret_options_destroy(options);
}

/* What an epoch's end has written stays where training then fails, and what came after it is added. */
static void log_of_a_failure(void **state)
{
    struct claret_options *options = make_options();
    struct claret_run *run;
    (void)state;
    set(options, "out", "failed");
    run = make_run(options);
    assert_int_equal(claret_run_log(run, 1, 20, 80, 2.5, 0.01, 1.25), CLARET_OK);
    claret_run_destroy(run); /* in its first epoch: nothing */
    assert_false(is_there("failed"));
    run = make_run(options);
    assert_int_equal(claret_run_log(run, 1, 20, 80, 2.5, 0.01, 1.25), CLARET_OK);
    assert_int_equal(claret_run_end_epoch(run), CLARET_OK);
    assert_int_equal(claret_run_log(run, 2, 20, 160, 1e9, 0.01, 2.5), CLARET_OK);
    claret_run_destroy(run);
    expect_file("failed/log.csv", "seconds\n1,20,80,2.5,0.01,1.250\n2,20,160,1e+09,0.01,2.500\n");
    expect_file("failed/config.ini", "[train]");
    claret_options_destroy(options);
}

static void refusals(void **state)
{
    struct claret_options *options = make_options();
    struct claret_run *run = NULL;
    (void)state;
    set(options, "out", "used");
    run = make_run(options);
    claret_run_destroy(run); /* without finish: nothing stays */
    assert_false(is_there("used"));
    run = make_run(options);
    assert_int_equal(claret_run_finish(run), CLARET_OK);
    claret_run_destroy(run);
    assert_int_equal(claret_run_check(options, network), CLARET_INVALID);
    assert_int_equal(claret_run_create(options, network, &run), CLARET_INVALID);
    assert_non_null(strstr(claret_error(), "log.csv"));
    set(options, "overwrite", "true");
    assert_int_equal(claret_file_write("used/log.csv", "old", 3), CLARET_OK);
    run = make_run(options);
    assert_int_equal(claret_run_end_epoch(run), CLARET_OK);
    expect_file("used/log.csv", "old"); /* until the new one is whole */
    assert_int_equal(claret_run_finish(run), CLARET_OK);
    expect_file("used/log.csv", "epoch,");
    claret_run_destroy(run);
    assert_int_equal(claret_file_write("file", "x", 1), CLARET_OK);
    for (int i = 0; i < 2; i++) {
        set(options, "out", i ? "file/below/it" : "file");
        assert_int_equal(claret_run_check(options, network), CLARET_IO);
        assert_int_equal(claret_run_create(options, network, &run), CLARET_IO);
    }
    claret_options_destroy(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_defaults),
        cmocka_unit_test(values),
        cmocka_unit_test(unknown),
        cmocka_unit_test(together),
        cmocka_unit_test(optimizers),
        cmocka_unit_test_setup_teardown(numbers, enter, leave),
        cmocka_unit_test_setup_teardown(log_and_config, enter, leave),
        cmocka_unit_test_setup_teardown(log_of_a_failure, enter, leave),
        cmocka_unit_test_setup_teardown(refusals, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
