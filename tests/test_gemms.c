/* CLBlast's parameters: the sets worth trying are such that its kernels can have, wrong ones are refused.
 * Host only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tune/gemms.h"

static int of(const json_t *set, const char *name)
{
    const json_t *value = json_object_get(set, name);
    if (!json_is_integer(value))
        fail_msg("no %s in the set", name);
    return (int)json_integer_value(value);
}

static void divides(const json_t *set, const char *name, int by)
{
    if (by < 1 || of(set, name) % by != 0)
        fail_msg("%s is %d, no multiple of %d", name, of(set, name), by);
}

/* The conditions of CLBlast's tuners (xgemm.hpp, xgemm_direct.hpp). */
static void sets(void **state)
{
    const char *kernel;
    json_t *set;
    int count[2] = {0, 0};
    (void)state;
    for (int i = 0; (set = claret_gemms_set(i, &kernel)); i++) {
        if (strcmp(kernel, "Xgemm") == 0) {
            int group = of(set, "MDIMC") * of(set, "NDIMC");
            count[0]++;
            assert_int_equal(json_object_size(set), 16);
            divides(set, "KWG", of(set, "KWI"));
            divides(set, "MWG", of(set, "MDIMC") * of(set, "VWM"));
            divides(set, "NWG", of(set, "NDIMC") * of(set, "VWN"));
            divides(set, "MWG", of(set, "MDIMA") * of(set, "VWM"));
            divides(set, "NWG", of(set, "NDIMB") * of(set, "VWN"));
            divides(set, "KWG", group / of(set, "MDIMA"));
            divides(set, "KWG", group / of(set, "NDIMB"));
        } else {
            int group = of(set, "MDIMCD") * of(set, "NDIMCD");
            count[1]++;
            assert_string_equal(kernel, "XgemmDirect");
            assert_int_equal(json_object_size(set), 10);
            divides(set, "WGD", of(set, "KWID"));
            divides(set, "WGD", of(set, "MDIMCD") * of(set, "VWMD"));
            divides(set, "WGD", of(set, "NDIMCD") * of(set, "VWND"));
            divides(set, "WGD", of(set, "MDIMAD") * of(set, "VWMD"));
            divides(set, "WGD", of(set, "NDIMBD") * of(set, "VWND"));
            divides(set, "WGD", group / of(set, "MDIMAD"));
            divides(set, "WGD", group / of(set, "NDIMBD"));
        }
        json_decref(set);
    }
    assert_true(count[0] > 1 && count[1] > 1);
}

static void refused(void **state)
{
    static const char *const texts[] = {"{\"Xgemm\": {\"MWG\": \"64\"}}", "{\"Xgemm\": {\"MWG\": -1}}"};
    struct claret_device_desc device;
    struct claret_rt *rt = NULL;
    (void)state;
    claret_device_desc_default(&device);
    assert_int_equal(claret_rt_open_null(&device, &rt), CLARET_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *parameters = json_loads(texts[i], 0, NULL);
        assert_non_null(parameters);
        claret_error_clear();
        assert_int_equal(claret_gemms_override(rt, parameters), CLARET_FORMAT);
        json_decref(parameters);
    }
    assert_int_equal(claret_gemms_override(rt, NULL), CLARET_OK);
    claret_rt_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
