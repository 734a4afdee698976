/* Programs: the binary cache on disk, build failures, the kernel folder. */
#include "rt_fixture.h"

#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/file.h"
#include "base/hash.h"
#include "hand_plan.h"

extern char **environ;

enum { N = 64, PROGRAMS = 3 };

static const char source[] = "__kernel void wave(TENSOR(float, x), int n)\n"
                             "{\n"
                             "    USE(float, x);\n"
                             "    const int i = get_global_id(0);\n"
                             "    if (i < n)\n"
                             "        x[i] = sin(x[i] + (float)i) * FACTOR + COUNT;\n"
                             "}\n";

struct outcome {
    float x[N];
    char report[256];
};

static void plan_waves(struct hand_plan *hand)
{
    hand_init(hand);
    hand_tensor(hand, CLARET_DTYPE_F32, N, 0, 0);
    for (int i = 0; i < PROGRAMS; i++) {
        struct claret_kernel_call *call = hand_kernel(hand, "test wave", "wave", "wave");
        hand_define(call, "COUNT", -i);
        hand_define_float(call, "FACTOR", 1.0f / 3.0f);
        hand_arg_tensor(call, 0, 0);
        hand_arg_int(call, N);
        call->items[0] = N;
        call->local[0] = 16;
    }
}

/* Runs PROGRAMS programs on a device opened for it; the error is left in claret_error(). */
static enum claret_status run(const char *cache_dir, const char *kernel_dir, struct outcome *outcome)
{
    const uint64_t bytes[] = {N * sizeof(float)};
    struct claret_rt *rt = fixture_open(cache_dir, kernel_dir);
    struct claret_pool *pool = NULL;
    struct claret_exec *exec = NULL;
    struct claret_text report = {0};
    struct hand_plan hand;
    enum claret_status status;
    plan_waves(&hand);
    CLARET_GOTO(cleanup, claret_pool_create(rt, bytes, 1, &pool));
    CLARET_GOTO(cleanup, claret_exec_create(pool, &hand.plan, &exec));
    CLARET_GOTO(cleanup, claret_exec_run(exec, NULL, NULL));
    CLARET_GOTO(cleanup, claret_pool_read(pool, 0, 0, sizeof outcome->x, outcome->x));
    claret_rt_report(rt, &report);
    snprintf(outcome->report, sizeof outcome->report, "%s", report.data);
cleanup:
    claret_text_drop(&report);
    claret_exec_destroy(exec);
    claret_pool_destroy(pool);
    claret_rt_close(rt);
    return status;
}

static char cache_dir[96], programs_dir[128];

static int new_cache(void **state)
{
    (void)state;
    snprintf(cache_dir, sizeof cache_dir, "%s/new/cache", fixture_folder);
    snprintf(programs_dir, sizeof programs_dir, "%s/programs", cache_dir);
    fixture_remove(cache_dir);
    fixture_kernel("wave.cl", source);
    fixture_forget();
    return 0;
}

static void ran(const char *cache, struct outcome *outcome, int from_cache)
{
    char wanted[96];
    WORKS(run(cache, fixture_kernels, outcome));
    snprintf(wanted, sizeof wanted, "programs: %d used, %d from cache, %d built", PROGRAMS, from_cache,
             PROGRAMS - from_cache);
    assert_string_equal(outcome->report, wanted);
}

/* Calls `change` with each entry's path; returns how many files the folder has. */
static int each_entry(void (*change)(const char *path))
{
    DIR *folder = opendir(programs_dir);
    struct dirent *entry;
    int count = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        char path[512];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", programs_dir, entry->d_name);
        assert_non_null(strstr(path, ".bin"));
        count++;
        if (change)
            change(path);
    }
    closedir(folder);
    return count;
}

static void cold_warm_none(void **state)
{
    struct outcome cold, warm, none;
    struct stat info;
    char text[64];
    (void)state;
    ran(cache_dir, &cold, 0);
    for (int i = 1; i <= PROGRAMS; i++) {
        snprintf(text, sizeof text, "i compiling program %d of %d (wave)", i, PROGRAMS);
        assert_int_equal(fixture_count(text), 1);
    }
    assert_int_equal(each_entry(NULL), PROGRAMS);
    assert_int_equal(stat(cache_dir, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    fixture_forget();
    ran(cache_dir, &warm, PROGRAMS);
    assert_int_equal(fixture_count("compiling"), 0);
    ran(NULL, &none, 0);
    assert_memory_equal(cold.x, warm.x, sizeof cold.x);
    assert_memory_equal(cold.x, none.x, sizeof cold.x);
    assert_int_equal(each_entry(NULL), PROGRAMS);
}

/* Another text under the same name, as when a kernel is being worked on, is another program. */
static void keyed_by_content(void **state)
{
    char changed[sizeof source + 32];
    struct outcome first, second;
    (void)state;
    ran(cache_dir, &first, 0);
    snprintf(changed, sizeof changed, "%s/* changed */\n", source);
    fixture_kernel("wave.cl", changed);
    ran(cache_dir, &second, 0);
    assert_int_equal(each_entry(NULL), 2 * PROGRAMS);
    assert_memory_equal(first.x, second.x, sizeof first.x);
}

#define HEADER_BYTES 152

static void read_entry(const char *path, char **data, size_t *size)
{
    WORKS(claret_file_read(path, 1 << 24, data, size));
    assert_true(*size > HEADER_BYTES);
}

static void flip_byte(const char *path)
{
    char *data;
    size_t size;
    read_entry(path, &data, &size);
    data[size / 2] ^= 1;
    WORKS(claret_file_write(path, data, size));
    free(data);
}

static void cut_in_half(const char *path)
{
    char *data;
    size_t size;
    read_entry(path, &data, &size);
    assert_int_equal(truncate(path, (off_t)(size / 2)), 0);
    free(data);
}

static void cut_in_header(const char *path)
{
    assert_int_equal(truncate(path, 20), 0);
}

static void make_empty(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void other_version(const char *path)
{
    char *data;
    size_t size;
    read_entry(path, &data, &size);
    data[8]++;
    WORKS(claret_file_write(path, data, size));
    free(data);
}

/* What no driver takes, with a right header. */
static void foreign_binary(const char *path)
{
    char *data, digest[65];
    size_t size;
    read_entry(path, &data, &size);
    memset(data + HEADER_BYTES, 'x', size - HEADER_BYTES);
    claret_sha256(data + HEADER_BYTES, size - HEADER_BYTES, digest);
    memcpy(data + 24, digest, 64);
    WORKS(claret_file_write(path, data, size));
    free(data);
}

static char *held;
static size_t held_size;

/* Each gets what the one before had: whole, and another program's. */
static void pass_on(const char *path)
{
    char *data;
    size_t size;
    read_entry(path, &data, &size);
    if (held)
        WORKS(claret_file_write(path, held, held_size));
    free(held);
    held = data;
    held_size = size;
}

static void mixed_up(void **state)
{
    struct outcome right, again;
    (void)state;
    ran(cache_dir, &right, 0);
    assert_int_equal(each_entry(pass_on), PROGRAMS);
    free(held);
    held = NULL;
    fixture_forget();
    ran(cache_dir, &again, 1);
    assert_int_equal(fixture_count("building it again"), PROGRAMS - 1);
    assert_memory_equal(right.x, again.x, sizeof right.x);
}

static void damaged(void **state)
{
    static void (*const faults[])(const char *) = {flip_byte,  cut_in_half,   cut_in_header,
                                                   make_empty, other_version, foreign_binary};
    struct outcome right, again;
    (void)state;
    ran(cache_dir, &right, 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (faults[i] == foreign_binary && strstr(fixture_device, "rusticl"))
            continue; /* that driver aborts the process */
        assert_int_equal(each_entry(faults[i]), PROGRAMS);
        fixture_forget();
        ran(cache_dir, &again, 0);
        assert_int_equal(fixture_count("building it again"), PROGRAMS);
        assert_int_equal(fixture_count("\nw "), 0);
        assert_memory_equal(right.x, again.x, sizeof right.x);
        fixture_forget();
        ran(cache_dir, &again, PROGRAMS);
        assert_int_equal(fixture_count("building it again"), 0);
    }
}

static void unusable(void **state)
{
    struct outcome outcome;
    char file[128];
    (void)state;
    snprintf(file, sizeof file, "%s/in-the-way", fixture_folder);
    WORKS(claret_file_write(file, "x", 1));
    ran(file, &outcome, 0);
    assert_int_equal(fixture_count("going on without it"), 1);
    assert_int_equal(fixture_messages[0], 'w');
}

static void age(const char *path)
{
    const struct timespec old[2] = {{time(NULL) - 91 * 24 * 3600, 0}, {time(NULL) - 91 * 24 * 3600, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

static void pruned(void **state)
{
    struct outcome outcome;
    char path[256], changed[sizeof source + 32];
    int file;
    (void)state;
    ran(cache_dir, &outcome, 0);
    assert_int_equal(each_entry(age), PROGRAMS);
    /* Used again, so not old. */
    ran(cache_dir, &outcome, PROGRAMS);
    snprintf(changed, sizeof changed, "%s/* changed */\n", source);
    fixture_kernel("wave.cl", changed);
    ran(cache_dir, &outcome, 0);
    assert_int_equal(each_entry(NULL), 2 * PROGRAMS);
    assert_int_equal(each_entry(age), 2 * PROGRAMS);
    /* A large one that is newer than those. */
    snprintf(path, sizeof path, "%s/large.bin", programs_dir);
    file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 300 << 20), 0);
    close(file);
    fixture_forget();
    snprintf(changed, sizeof changed, "%s/* changed again */\n", source);
    fixture_kernel("wave.cl", changed);
    ran(cache_dir, &outcome, 0);
    assert_int_equal(each_entry(NULL), PROGRAMS);
    snprintf(path, sizeof path, "%d old files removed", 2 * PROGRAMS + 1);
    assert_int_equal(fixture_count(path), 1);
}

static void syntax_error(void **state)
{
    struct outcome outcome;
    (void)state;
    fixture_kernel("wave.cl", "__kernel void wave(TENSOR(float, x), int n)\n"
                              "{\n"
                              "    this is not OpenCL;\n"
                              "}\n");
    assert_int_equal(run(cache_dir, fixture_kernels, &outcome), CLARET_BUILD);
    /* Either the compiler names file and line, or the message says where the file begins. */
    assert_true(strstr(claret_error(), "wave.cl:3") || strstr(claret_error(), "is line 1 of wave.cl)"));
    assert_non_null(strstr(claret_error(), "-DCOUNT=0 -DFACTOR=0x1.555556p-2f"));
    fixture_forget();
    fixture_kernel("wave.cl", NULL);
    assert_int_equal(run(cache_dir, fixture_kernels, &outcome), CLARET_NOT_FOUND);
    assert_non_null(strstr(claret_error(), "wave.cl"));
    assert_int_equal(fixture_count("compiling"), 0);
}

static char *program_path;

/* Two processes with one cold cache: both are right, and what they leave is whole. */
static void two_processes(void **state)
{
    char *arguments[] = {program_path, "--run", cache_dir, fixture_kernels, NULL};
    struct outcome outcome;
    pid_t children[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(posix_spawn(&children[i], program_path, NULL, NULL, arguments, environ), 0);
    for (int i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    ran(cache_dir, &outcome, PROGRAMS);
    assert_int_equal(fixture_count("building it again"), 0);
}

/* A program holds the kernel that it is for: another of its file may be wrong. */
static void own_kernel(void **state)
{
    struct outcome alone, beside;
    char both[2 * sizeof source];
    (void)state;
    ran(NULL, &alone, 0);
    snprintf(both, sizeof both, "\n__kernel void waves(TENSOR(float, x))\n{\n    wrong;\n}\n%s%s", source,
             "\n__kernel void other(int n)\n{\n#if 1\n    wrong;\n#endif\n}\n");
    fixture_kernel("wave.cl", both);
    ran(NULL, &beside, 0);
    assert_memory_equal(alone.x, beside.x, sizeof alone.x);
}

/* What was built from source is run once beforehand, and once only; what comes from the cache is not. */
static void warm_up(void **state)
{
    const uint64_t bytes[] = {N * sizeof(float)};
    struct hand_plan hand;
    (void)state;
    plan_waves(&hand);
    for (int cached = 0; cached < 2; cached++) {
        struct claret_rt *rt = fixture_open(cache_dir, fixture_kernels);
        struct claret_pool *pool;
        struct claret_exec *exec;
        float x[N];
        bool first = false, again = false, any = false;
        WORKS(claret_pool_create(rt, bytes, 1, &pool));
        WORKS(claret_exec_create(pool, &hand.plan, &exec));
        WORKS(claret_exec_warm_up(exec, &first));
        assert_int_equal(first, !cached);
        WORKS(claret_pool_read(pool, 0, 0, sizeof x, x));
        for (int i = 0; i < N; i++)
            any |= x[i] != 0;
        assert_int_equal(any, !cached);
        WORKS(claret_pool_clear(pool));
        WORKS(claret_pool_read(pool, 0, 0, sizeof x, x));
        for (int i = 0; i < N; i++)
            assert_true(x[i] == 0);
        WORKS(claret_exec_run(exec, NULL, NULL));
        WORKS(claret_rt_finish(rt));
        WORKS(claret_exec_warm_up(exec, &again));
        assert_false(again);
        claret_exec_destroy(exec);
        claret_pool_destroy(pool);
        claret_rt_close(rt); /* saves them */
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cold_warm_none, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(keyed_by_content, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(damaged, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(mixed_up, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(unusable, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(pruned, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(syntax_error, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(own_kernel, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(warm_up, new_cache, fixture_no_objects),
        cmocka_unit_test_setup_teardown(two_processes, new_cache, fixture_no_objects),
    };
    int failed;
    struct outcome outcome;
    program_path = arguments[0];
    if (count == 4 && !strcmp(arguments[1], "--run"))
        return run(arguments[2], arguments[3], &outcome) != CLARET_OK;
    failed = fixture_begin();
    if (failed)
        return failed;
    failed = cmocka_run_group_tests_name("programs", tests, NULL, NULL);
    fixture_end();
    return failed;
}
