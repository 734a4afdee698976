/* src/base: files that are whole or not there, folders, digests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "scratch.h"

static void expect_read(const char *path, size_t limit, enum claret_status status, const char *part)
{
    char *data = NULL;
    size_t size;

    claret_error_clear();
    assert_int_equal(claret_file_read(path, limit, &data, &size), status);
    assert_null(data);
    assert_true(scratch_says(claret_error(), path));
    assert_true(scratch_says(claret_error(), part));
}

static void test_file_read(void **state)
{
    const char *path = scratch_write("five", "12345", 5);
    char *data;
    size_t size;

    (void)state;
    assert_int_equal(claret_file_read(path, 5, &data, &size), CLARET_OK);
    assert_int_equal(size, 5);
    assert_string_equal(data, "12345");
    free(data);
    path = scratch_write("empty", "", 0);
    assert_int_equal(claret_file_read(path, 0, &data, &size), CLARET_OK);
    assert_int_equal(size, 0);
    assert_string_equal(data, "");
    free(data);
    /* Its size is not known before it is read. */
    assert_int_equal(claret_file_read("/proc/self/maps", 1 << 24, &data, &size), CLARET_OK);
    assert_true(size > 100 && strlen(data) == size);
    free(data);
    expect_read(scratch("five"), 4, CLARET_FORMAT, "5 bytes, where at most 4 bytes");
    expect_read("/proc/self/maps", 10, CLARET_FORMAT, "larger than 10 bytes");
    expect_read(scratch("none"), 9, CLARET_NOT_FOUND, "No such file");
    expect_read(scratch("five/inside"), 9, CLARET_IO, "Not a directory");
    expect_read(scratch("."), 9, CLARET_IO, "a folder, not a file");
    assert_int_equal(mkfifo(scratch("fifo"), 0600), 0);
    expect_read(scratch("fifo"), 9, CLARET_IO, "not a file");
    claret_error_clear();
}

static void expect_content(const char *path, const char *content)
{
    char *data;
    size_t size;

    assert_int_equal(claret_file_read(path, 1000, &data, &size), CLARET_OK);
    assert_string_equal(data, content);
    free(data);
}

static void test_file_write(void **state)
{
    const char *folder = scratch("write"), *path = scratch("write/file");
    struct claret_file file = {0};
    struct stat info;

    (void)state;
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(claret_file_write(path, "old", 3), CLARET_OK);
    expect_content(path, "old");
    umask(027);
    assert_int_equal(claret_file_create(path, &file), CLARET_OK);
    umask(022);
    fputs("new", file.stream);
    fflush(file.stream);
    expect_content(path, "old");
    assert_int_equal(scratch_entries(folder), 2);
    assert_int_equal(claret_file_commit(&file), CLARET_OK);
    claret_file_abandon(&file);
    expect_content(path, "new");
    assert_int_equal(scratch_entries(folder), 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(claret_file_create(path, &file), CLARET_OK);
    fputs("never", file.stream);
    claret_file_abandon(&file);
    claret_file_abandon(&file);
    expect_content(path, "new");
    assert_int_equal(scratch_entries(folder), 1);
}

static void expect_unwritable(const char *path, const char *part)
{
    static const char large[100000];

    claret_error_clear();
    assert_int_equal(claret_file_write(path, "text", 4), CLARET_IO);
    assert_true(scratch_says(claret_error(), path));
    assert_true(scratch_says(claret_error(), part));
    claret_error_clear();
    assert_int_equal(claret_file_write(path, large, sizeof(large)), CLARET_IO);
    assert_true(scratch_says(claret_error(), part));
    claret_error_clear();
}

static void test_file_unwritable(void **state)
{
    char name[300];
    struct stat info;

    (void)state;
    expect_unwritable("/dev/full", "No space left");
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* nothing was renamed over it */
    assert_int_equal(claret_file_write("/dev/null", "text", 4), CLARET_OK);
    expect_unwritable(scratch("nowhere/file"), "No such file");
    scratch_write("plain", "x", 1);
    expect_unwritable(scratch("plain/file"), "Not a directory");
    expect_unwritable(scratch("."), "a folder of that name");
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    expect_unwritable(scratch("%s", name), "name too long");
}

/* The target turns into a folder between creation and commit: the temporary file must not stay. */
static void test_file_rename_fails(void **state)
{
    const char *folder = scratch("rename"), *path = scratch("rename/file");
    struct claret_file file = {0};

    (void)state;
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(claret_file_create(path, &file), CLARET_OK);
    fputs("text", file.stream);
    assert_int_equal(mkdir(path, 0700), 0);
    claret_error_clear();
    assert_int_equal(claret_file_commit(&file), CLARET_IO);
    assert_true(scratch_says(claret_error(), "irectory"));
    assert_int_equal(scratch_entries(folder), 1);
    claret_error_clear();
}

static void test_folders(void **state)
{
    struct stat info;
    char *path;

    (void)state;
    assert_int_equal(claret_folder_make(scratch("a/b//c/"), 0700), CLARET_OK);
    assert_int_equal(claret_folder_make(scratch("a/b//c/"), 0700), CLARET_OK);
    assert_int_equal(stat(scratch("a/b/c"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(claret_folder_make("/", 0700), CLARET_OK);
    assert_int_equal(claret_folder_make("/proc", 0700), CLARET_OK);
    scratch_write("a/file", "", 0);
    claret_error_clear();
    assert_int_equal(claret_folder_make(scratch("a/file/c"), 0700), CLARET_IO);
    assert_true(scratch_says(claret_error(), "Not a directory"));
    claret_error_clear();
    assert_int_equal(claret_folder_make("/proc/claret/x", 0700), CLARET_IO);
    assert_true(scratch_says(claret_error(), "/proc/claret"));
    claret_error_clear();
    path = claret_path_join("a/", "b");
    assert_string_equal(path, "a/b");
    free(path);
    path = claret_path_join("a", "b");
    assert_string_equal(path, "a/b");
    free(path);
    path = claret_path_join("", "b");
    assert_string_equal(path, "b");
    free(path);
}

static void test_sha256(void **state)
{
    char hex[65], again[65];
    char *large = calloc(1, 100000);

    (void)state;
    claret_sha256("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    claret_sha256("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    claret_sha256(large, 100000, hex);
    assert_int_equal(claret_sha256_file(scratch_write("zeros", large, 100000), again), CLARET_OK);
    assert_string_equal(hex, again);
    claret_error_clear();
    assert_int_equal(claret_sha256_file(scratch("none"), hex), CLARET_NOT_FOUND);
    claret_error_clear();
    assert_int_equal(claret_sha256_file(scratch("."), hex), CLARET_IO);
    claret_error_clear();
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_read),       cmocka_unit_test(test_file_write),
        cmocka_unit_test(test_file_unwritable), cmocka_unit_test(test_file_rename_fails),
        cmocka_unit_test(test_folders),         cmocka_unit_test(test_sha256),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
