/* Two results of the bench: what changed by more than the spread. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "bench.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#define FILE_LIMIT ((size_t)64 << 20)

struct comparison {
    json_t *changed, *only_a, *only_b;
    size_t compared;
};

static bool is_measurement(const json_t *value)
{
    return json_is_number(json_object_get(value, "median")) &&
           json_is_number(json_object_get(value, "min")) && json_is_number(json_object_get(value, "max"));
}

/* Spreads that do not overlap. */
static void compare_measurement(struct comparison *comparison, const char *what, const json_t *a,
                                const json_t *b)
{
    double from = json_number_value(json_object_get(a, "median")),
           to = json_number_value(json_object_get(b, "median"));
    bool up = json_number_value(json_object_get(b, "min")) > json_number_value(json_object_get(a, "max"));
    bool down = json_number_value(json_object_get(b, "max")) < json_number_value(json_object_get(a, "min"));
    comparison->compared++;
    if (!up && !down)
        return;
    json_t *row = json_object();
    json_object_set_new(row, "what", cli_json_text(what));
    bench_set(row, "a", from);
    bench_set(row, "b", to);
    bench_set(row, "ratio", to / from);
    json_array_append_new(comparison->changed, row);
}

/* What tells an element of a list from the others: its name (a launch may have another solver now), or all
 * its texts. */
static void identify(const json_t *element, char name[200])
{
    const char *key, *own = json_string_value(json_object_get(element, "name"));
    json_t *value;
    size_t used = 0;
    snprintf(name, 200, "%s", own ? own : "");
    if (own)
        return;
    json_object_foreach((json_t *)element, key, value) if (json_is_string(value) && used < 200) used +=
        (size_t)snprintf(name + used, 200 - used, "%s%s", used ? " " : "", json_string_value(value));
}

static const json_t *find(const json_t *list, const char *name, size_t occurrence)
{
    char other[200];
    for (size_t i = 0; i < json_array_size(list); i++) {
        identify(json_array_get(list, i), other);
        if (strcmp(name, other) == 0 && occurrence-- == 0)
            return json_array_get(list, i);
    }
    return NULL;
}

static size_t occurrence_of(const json_t *list, size_t index, const char *name)
{
    char other[200];
    size_t count = 0;
    for (size_t i = 0; i < index; i++) {
        identify(json_array_get(list, i), other);
        count += strcmp(name, other) == 0;
    }
    return count;
}

static void compare(struct comparison *comparison, const char *what, const json_t *a, const json_t *b);

static void compare_lists(struct comparison *comparison, const char *what, const json_t *a, const json_t *b)
{
    char name[200], path[500];
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *element = json_array_get(a, i);
        if (!json_is_object(element))
            return;
        identify(element, name);
        const json_t *other = find(b, name, occurrence_of(a, i, name));
        snprintf(path, sizeof path, "%s%s%s", what, what[0] ? ": " : "", name);
        if (other)
            compare(comparison, path, element, other);
        else
            json_array_append_new(comparison->only_a, cli_json_text(path));
    }
    for (size_t i = 0; i < json_array_size(b); i++) {
        identify(json_array_get(b, i), name);
        if (!find(a, name, occurrence_of(b, i, name)))
            json_array_append_new(comparison->only_b, cli_json_text(name));
    }
}

static void compare(struct comparison *comparison, const char *what, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    char path[500];
    json_object_foreach((json_t *)a, key, value)
    {
        const json_t *other = json_object_get(b, key);
        snprintf(path, sizeof path, "%s%s%s", what, what[0] ? ": " : "", key);
        if (is_measurement(value) && is_measurement(other))
            compare_measurement(comparison, path, value, other);
        else if (json_is_object(value) && json_is_object(other))
            compare(comparison, path, value, other);
        else if (json_is_array(value) && json_is_array(other))
            compare_lists(comparison, what, value, other);
    }
}

static json_t *load(const char *path)
{
    char *text = NULL;
    size_t size;
    json_error_t error;
    if (claret_file_read(path, FILE_LIMIT, &text, &size) != CLARET_OK) {
        bench_failed(CLI_FAILED);
        return NULL;
    }
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!value)
        cli_error("%s is not JSON: line %d: %s", path, error.line, error.text);
    else if (!json_is_object(value)) {
        cli_error("%s is not a result of claret-bench --json", path);
        json_decref(value);
        value = NULL;
    }
    return value;
}

static void print_only(const char *file, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        cli_out("only in %s: %s\n", file, json_string_value(json_array_get(list, i)));
}

/* A table; where there are `several` results, one for each, under what it is of: names of devices are longer
 * than a column. */
static void print_changed(const json_t *changed, bool several)
{
    static const struct bench_column columns[] = {{"what", "changed", NULL, 0},
                                                  {"a", "A", "%.4g", 1},
                                                  {"b", "B", "%.4g", 1},
                                                  {"ratio", "B / A", "%.3f", 1},
                                                  {.key = NULL}};
    size_t count = json_array_size(changed), next = 0;
    while (next < count) {
        const char *first = json_string_value(json_object_get(json_array_get(changed, next), "what"));
        const char *end = several ? strstr(first, ": ") : NULL;
        int length = end ? (int)(end - first) + 2 : 0;
        json_t *rows = json_array();
        for (; next < count; next++) {
            json_t *row = json_array_get(changed, next);
            const char *what = json_string_value(json_object_get(row, "what"));
            if (strncmp(what, first, (size_t)length) != 0)
                break;
            row = json_copy(row);
            json_object_set_new(row, "what", cli_json_text(what + length));
            json_array_append_new(rows, row);
        }
        if (length)
            cli_out("%.*s\n", length - 2, first);
        bench_print_rows(rows, columns);
        json_decref(rows);
    }
}

static int print(const struct bench_args *args, const struct comparison *comparison, bool several)
{
    print_changed(comparison->changed, several);
    print_only(args->operand[0], comparison->only_a);
    print_only(args->operand[1], comparison->only_b);
    cli_out("%zu measurements, %zu changed by more than their spread\n", comparison->compared,
            json_array_size(comparison->changed));
    if (!args->value[BENCH_FLAG_JSON] && !args->value[BENCH_FLAG_CSV])
        return CLI_DONE;
    json_t *object = json_object();
    json_object_set_new(object, "compared", json_integer((json_int_t)comparison->compared));
    json_object_set(object, "changed", comparison->changed);
    if (args->value[BENCH_FLAG_CSV]) {
        json_t *results = json_array();
        json_array_append_new(results, object);
        int code = bench_print_csv(results);
        json_decref(results);
        return code;
    }
    json_object_set(object, "only_a", comparison->only_a);
    json_object_set(object, "only_b", comparison->only_b);
    return cli_print_json(object);
}

int bench_compare(const struct bench_args *args)
{
    json_t *a = load(args->operand[0]), *b = a ? load(args->operand[1]) : NULL;
    struct comparison comparison = {json_array(), json_array(), json_array(), 0};
    int code = CLI_FAILED;
    if (a && b) {
        compare(&comparison, "", a, b);
        if (comparison.compared == 0)
            cli_error("%s and %s have no measurement in common", args->operand[0], args->operand[1]);
        else
            code = print(args, &comparison, json_object_get(a, "results") != NULL);
    }
    json_decref(comparison.changed);
    json_decref(comparison.only_a);
    json_decref(comparison.only_b);
    json_decref(a);
    json_decref(b);
    return code;
}
