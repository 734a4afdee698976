/* Medians and spreads; results as tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "bench.h"
#include "cli/cli.h"
#include "cli/terminal.h"

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct bench_spread bench_spread(double *values, size_t count)
{
    double low, high;
    qsort(values, count, sizeof *values, compare_doubles);
    low = values[(count - 1) / 2];
    high = values[count / 2];
    return (struct bench_spread){(low + high) / 2, values[0], values[count - 1]};
}

double bench_median(double *values, size_t count)
{
    return bench_spread(values, count).median;
}

void bench_set(json_t *object, const char *key, double number)
{
    json_object_set_new(object, key, cli_json_number(number));
}

void bench_set_spread(json_t *object, const char *key, const struct bench_spread *spread, double scale)
{
    json_t *made = json_object();
    bench_set(made, "median", spread->median * scale);
    bench_set(made, "min", spread->min * scale);
    bench_set(made, "max", spread->max * scale);
    json_object_set_new(object, key, made);
}

/* ---- for people -----------------------------------------------------------------------------------------
 */

static void format_cell(const json_t *row, const struct bench_column *column, char cell[64])
{
    const json_t *value = row ? json_object_get(row, column->key) : NULL;
    if (!row)
        snprintf(cell, 64, "%s", column->title);
    else if (!column->format && json_is_string(value))
        snprintf(cell, 64, "%s", json_string_value(value));
    else if (column->format && json_is_number(value))
        claret_print(cell, 64, column->format, json_number_value(value) * column->scale);
    else
        snprintf(cell, 64, "%s", json_is_true(value) ? "*" : json_is_false(value) ? "" : "-");
}

static void print_row(const json_t *row, const struct bench_column *columns, const int *widths)
{
    char cell[64];
    for (int c = 0; columns[c].key; c++) {
        format_cell(row, &columns[c], cell);
        cli_out(columns[c].format ? "%s%*s" : "%s%-*s", c ? "  " : "", widths[c], cell);
    }
    cli_out("\n");
}

#define MAX_COLUMNS 16

void bench_print_rows(const json_t *rows, const struct bench_column *columns)
{
    int widths[MAX_COLUMNS] = {0};
    char cell[64];
    for (int c = 0; columns[c].key && c < MAX_COLUMNS; c++) {
        widths[c] = (int)strlen(columns[c].title);
        for (size_t r = 0; r < json_array_size(rows); r++) {
            format_cell(json_array_get(rows, r), &columns[c], cell);
            widths[c] = (int)strlen(cell) > widths[c] ? (int)strlen(cell) : widths[c];
        }
    }
    print_row(NULL, columns, widths);
    for (size_t r = 0; r < json_array_size(rows); r++)
        print_row(json_array_get(rows, r), columns, widths);
}

/* ---- CSV ------------------------------------------------------------------------------------------------
 */

/* One line as a flat object: "images_per_second.median". */
static void flatten(const json_t *from, const char *prefix, json_t *line)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)from, key, value)
    {
        char name[160];
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (json_is_object(value))
            flatten(value, name, line);
        else if (!json_is_array(value))
            json_object_set(line, name, value);
    }
}

static void add_lines(const json_t *result, json_t *lines)
{
    const char *key;
    json_t *value, *first = json_object();
    bool any = false;
    flatten(result, "", first);
    json_object_foreach((json_t *)result, key, value)
    {
        for (size_t i = 0; i < json_array_size(value); i++) {
            json_t *line = json_copy(first), *element = json_array_get(value, i);
            if (json_is_object(element))
                flatten(element, "", line);
            else
                json_object_set(line, key, element);
            json_array_append_new(lines, line);
            any = true;
        }
    }
    if (!any)
        json_array_append(lines, first);
    json_decref(first);
}

static void add_field(struct claret_text *text, const json_t *value)
{
    if (json_is_string(value)) {
        bool quote = strpbrk(json_string_value(value), ",\"\r\n") != NULL;
        claret_text_add(text, quote ? "\"" : "");
        for (const char *at = json_string_value(value); *at; at++)
            claret_text_add(text, "%s%c", *at == '"' ? "\"" : "", *at);
        claret_text_add(text, quote ? "\"" : "");
    } else if (json_is_integer(value)) {
        claret_text_add(text, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        claret_text_add(text, "%.10g", json_real_value(value));
    } else if (json_is_boolean(value)) {
        claret_text_add(text, json_is_true(value) ? "true" : "false");
    }
}

int bench_print_csv(const json_t *results)
{
    struct claret_text text = {0};
    json_t *lines = json_array(), *columns = json_object(), *value;
    const char *key;
    char *out = NULL;
    for (size_t i = 0; i < json_array_size(results); i++)
        add_lines(json_array_get(results, i), lines);
    for (size_t i = 0; i < json_array_size(lines); i++)
        json_object_update_missing(columns, json_array_get(lines, i));
    json_object_foreach(columns, key, value) claret_text_add(&text, "%s%s", text.size ? "," : "", key);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *comma = "\n";
        json_object_foreach(columns, key, value)
        {
            claret_text_add(&text, "%s", comma);
            add_field(&text, json_object_get(json_array_get(lines, i), key));
            comma = ",";
        }
    }
    json_decref(lines);
    json_decref(columns);
    if (claret_text_take(&text, &out) != CLARET_OK)
        return bench_failed(CLI_FAILED);
    cli_out_json(out);
    free(out);
    return CLI_DONE;
}
