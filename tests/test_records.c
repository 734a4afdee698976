/* Tuning records: written, read again, judged stale; files that are broken or another device's. Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "scratch.h"
#include "tune/records.h"

static int warnings;
static char warning[1000];

static void keep(void *user, enum claret_log_level level, const char *message)
{
    (void)user;
    if (level == CLARET_LOG_WARNING) {
        warnings++;
        snprintf(warning, sizeof warning, "%s", message);
    }
}

static struct claret_device_desc device_called(const char *name)
{
    struct claret_device_desc device;
    claret_device_desc_default(&device);
    device.name = name;
    device.vendor_id = 0x10de;
    return device;
}

static json_t *record_for(const char *problem, const char *choice)
{
    json_t *record =
        json_pack("{s:s,s:{s:f,s:f,s:f},s:i,s:f,s:[s],s:s,s:[s],s:s,s:s,s:b,s:[{s:s,s:f,s:f,s:i},{s:s,s:s}]}",
                  "problem", problem, "seconds", "median", 2e-6, "min", 1e-6, "max", 3e-6, "runs", 9,
                  "default_seconds", 4e-6, "verified", "batch 5", "driver", "1.0", "sources", "activation",
                  "kernel_hash", "0", "date", "2026-01-01T00:00:00Z", "complete", 1, "trials", "choice",
                  "rows:KT=2", "ratio", 0.5, "seconds", 2e-6, "runs", 3, "choice", "direct", "fault", "hung");
    claret_record_set_choice(record, choice);
    return record;
}

static char *choice_of(const json_t *record)
{
    struct claret_text text = {0};
    char *choice = NULL;
    claret_record_choice(record, &text);
    assert_int_equal(claret_text_take(&text, &choice), CLARET_OK);
    return choice;
}

static void round_trip(void **state)
{
    (void)state;
    static const char *const choices[] = {"rows", "rows:KT=4", "im2col+gemm:MR=12,NV=1,CHUNK=4096"};
    const char *path = scratch("a/b/records.json");
    struct claret_device_desc device = device_called("Device (R) one");
    struct claret_records records;
    warnings = 0;
    assert_int_equal(claret_records_open(path, &device, &records), CLARET_OK);
    assert_null(claret_records_find(&records, "p0"));
    for (int i = 0; i < 3; i++) {
        char problem[8];
        snprintf(problem, sizeof problem, "p%d", i);
        assert_int_equal(claret_records_put(&records, record_for(problem, "other:X=1")), CLARET_OK);
        assert_int_equal(claret_records_put(&records, record_for(problem, choices[i])), CLARET_OK);
    }
    assert_int_equal(claret_records_save(&records), CLARET_OK);
    claret_records_close(&records);
    assert_int_equal(claret_records_open(path, &device, &records), CLARET_OK);
    assert_false(records.refused);
    assert_int_equal(json_array_size(json_object_get(records.root, "records")), 3);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(records.root, "device"), "vendor_id")), 0x10de);
    for (int i = 0; i < 3; i++) {
        char problem[8];
        snprintf(problem, sizeof problem, "p%d", i);
        char *choice = choice_of(claret_records_find(&records, problem));
        assert_string_equal(choice, choices[i]);
        free(choice);
    }
    const json_t *record = claret_records_find(&records, "p1");
    assert_true(claret_record_number(record, "default_seconds") == 4e-6);
    assert_string_equal(claret_record_text(record, "driver"), "1.0");
    assert_string_equal(claret_record_text(record, "no such key"), "");
    assert_null(claret_records_find(&records, "p"));
    claret_records_close(&records);
    assert_int_equal(warnings, 0);
}

/* One file for each device, whatever its name is made of. */
static void paths(void **state)
{
    struct claret_device_desc one = device_called("A/B \"C\" ../x"), other = one, third = one;
    (void)state;
    other.platform = "another";
    third.name = "A/B \"C\" ../y";
    char *a = claret_records_path("/cache", &one), *b = claret_records_path("/cache", &other);
    char *c = claret_records_path("/cache", &third);
    assert_int_equal(strncmp(a, "/cache/tuning/A-B--C-", 21), 0);
    assert_null(strchr(a + 14, '/'));
    assert_string_not_equal(a, b);
    assert_string_not_equal(a, c);
    assert_string_equal(a + strlen(a) - 5, ".json");
    free(a);
    free(b);
    free(c);
}

static void refuse(const char *text, const char *says)
{
    const char *path = scratch("bad.json");
    struct claret_device_desc device = device_called("one");
    struct claret_records records;
    warnings = 0;
    assert_int_equal(claret_file_write(path, text, strlen(text)), CLARET_OK);
    assert_int_equal(claret_records_open(path, &device, &records), CLARET_OK);
    if (!records.refused || warnings != 1 || !strstr(warning, says) || !strstr(warning, path))
        fail_msg("'%.200s': refused %d, %d warnings, %s", text, records.refused, warnings, warning);
    assert_int_equal(json_array_size(json_object_get(records.root, "records")), 0);
    claret_records_close(&records);
}

static void refuse_json(json_t *root, const char *says)
{
    char *text = json_dumps(root, JSON_INDENT(1));
    refuse(text, says);
    free(text);
    json_decref(root);
}

static json_t *file_with(const char *device, json_t *record)
{
    struct claret_device_desc desc = device_called(device);
    return json_pack("{s:i,s:{s:s,s:s,s:s},s:[o]}", "format", 1, "device", "name", device, "vendor",
                     desc.vendor, "platform", desc.platform, "records", record);
}

static void broken(void **state)
{
    (void)state;
    static const char *const keys[] = {"problem",         "solver",   "parameters",  "seconds", "runs",
                                       "default_seconds", "driver",   "kernel_hash", "date",    "verified",
                                       "sources",         "complete", "trials"};
    refuse("", "line 1");
    refuse("{\"format\": 1,", "line 1");
    refuse("[]", "no tuning records");
    refuse("{}", "no tuning records");
    refuse("{\"format\": 1, \"format\": 1}", "line 1");
    refuse("{\"format\": 2, \"device\": {}, \"records\": []}", "no tuning records of this version");
    refuse("{\"format\": 1, \"device\": 3, \"records\": []}", "another device");
    refuse_json(file_with("two", record_for("p", "rows")), "another device than one");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *record = record_for("p", "rows:KT=2"), *wrong = record_for("p", "rows:KT=2");
        json_object_del(record, keys[i]);
        refuse_json(file_with("one", record), keys[i]);
        json_object_set_new(wrong, keys[i], json_null());
        refuse_json(file_with("one", wrong), keys[i]);
    }
    json_t *record = record_for("p", "rows");
    json_object_set_new(json_object_get(record, "parameters"), "KT", json_string("2"));
    refuse_json(file_with("one", record), "parameters");
    record = record_for("p", "rows");
    json_array_append_new(json_object_get(record, "trials"), json_pack("{s:s}", "choice", "rows"));
    refuse_json(file_with("one", record), "trials");
    record = record_for("p", "rows");
    json_array_append_new(json_object_get(record, "sources"), json_integer(1));
    refuse_json(file_with("one", record), "sources");
    refuse_json(file_with("one", json_string("record")), "problem");
}

static void unreadable(void **state)
{
    (void)state;
    const char *path = scratch("%s", "");
    struct claret_device_desc device = device_called("one");
    struct claret_records records;
    claret_error_clear();
    assert_int_equal(claret_records_open(path, &device, &records), CLARET_IO); /* a folder */
}

/* Stale: the hash is another, or a source is gone. */
static void fresh(void **state)
{
    struct claret_device_desc device = device_called("one");
    const char *const sources[] = {"activation", "im2col"};
    struct claret_rt *rt = NULL;
    char hex[65], other[65];
    (void)state;
    assert_int_equal(claret_rt_open_null(&device, &rt), CLARET_OK);
    assert_int_equal(claret_rt_kernel_hash(rt, sources, 2, hex), CLARET_OK);
    assert_int_equal(claret_rt_kernel_hash(rt, sources, 1, other), CLARET_OK);
    assert_string_not_equal(hex, other);
    json_t *record = record_for("p", "rows");
    json_object_set_new(record, "sources", json_pack("[s,s]", sources[0], sources[1]));
    assert_false(claret_record_fresh(record, rt));
    json_object_set_new(record, "kernel_hash", json_string(hex));
    assert_true(claret_record_fresh(record, rt));
    json_array_append_new(json_object_get(record, "sources"), json_string("no_such_kernel"));
    assert_false(claret_record_fresh(record, rt));
    json_decref(record);
    claret_rt_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(paths), cmocka_unit_test(broken),
        cmocka_unit_test(unreadable), cmocka_unit_test(fresh),
    };
    claret_set_log(keep, NULL);
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
