#include "text.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the C locale -------------------------------------------------------------------------------------- */

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale; /* lives as long as the process; (locale_t)0 leaves the thread's locale alone */

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t enter_c_locale(void)
{
    pthread_once(&locale_once, make_locale);
    return uselocale(c_locale);
}

static void leave_c_locale(locale_t before)
{
    uselocale(before);
}

int claret_vprint(char *buffer, size_t size, const char *format, va_list arguments)
{
    locale_t before = enter_c_locale();
    int length = vsnprintf(buffer, size, format, arguments);

    leave_c_locale(before);
    return length;
}

int claret_print(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = claret_vprint(buffer, size, format, arguments);
    va_end(arguments);
    return length;
}

/* ---- growing text -------------------------------------------------------------------------------------- */

static bool reserve(struct claret_text *text, size_t more)
{
    size_t need, capacity = text->capacity ? text->capacity : 256;
    char *data;

    if (more >= SIZE_MAX / 2 - text->size)
        return false;
    need = text->size + more + 1;
    if (need <= text->capacity)
        return true;
    while (capacity < need)
        capacity *= 2;
    data = realloc(text->data, capacity);
    if (!data)
        return false;
    text->data = data;
    text->capacity = capacity;
    return true;
}

void claret_text_vadd(struct claret_text *text, const char *format, va_list arguments)
{
    va_list again;
    int length;

    if (text->failed)
        return;
    va_copy(again, arguments);
    length = claret_vprint(NULL, 0, format, again);
    va_end(again);
    if (length < 0 || !reserve(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    claret_vprint(text->data + text->size, (size_t)length + 1, format, arguments);
    text->size += (size_t)length;
}

void claret_text_add(struct claret_text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    claret_text_vadd(text, format, arguments);
    va_end(arguments);
}

void claret_text_drop(struct claret_text *text)
{
    free(text->data);
    *text = (struct claret_text){0};
}

enum claret_status claret_text_take(struct claret_text *text, char **result)
{
    char *data;

    if (text->failed) {
        claret_text_drop(text);
        return claret_no_memory();
    }
    data = text->data ? text->data : claret_strdup("");
    *text = (struct claret_text){0};
    if (!data)
        return claret_no_memory();
    *result = data;
    return CLARET_OK;
}

void claret_text_free(char *text)
{
    free(text);
}

bool claret_ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), rest = strlen(ending);
    return length > rest && strcmp(text + length - rest, ending) == 0;
}

char *claret_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* Digits at `text`, at least one; `*end` is what follows. false: none, or more than 64 bits. */
static bool parse_digits(const char *text, uint64_t *value, const char **end)
{
    uint64_t sum = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    *end = p;
    return p > text;
}

bool claret_parse_int(const char *text, int64_t minimum, int64_t maximum, int64_t *value)
{
    bool negative = *text == '-';
    uint64_t digits;
    const char *end;
    int64_t number;

    if (!parse_digits(text + negative, &digits, &end) || *end)
        return false;
    if (digits > (uint64_t)INT64_MAX + negative)
        return false;
    if (negative)
        number = digits ? -(int64_t)(digits - 1) - 1 : 0;
    else
        number = (int64_t)digits;
    if (number < minimum || number > maximum)
        return false;
    *value = number;
    return true;
}

bool claret_parse_double(const char *text, double *value)
{
    locale_t before;
    char *end;
    double number;

    /* What else strtod would take: leading space, hexadecimal, "inf", "nan". */
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return false;
    before = enter_c_locale();
    number = strtod(text, &end);
    leave_c_locale(before);
    if (end == text || *end || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool claret_parse_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    uint64_t number;
    const char *end, *unit;
    unsigned shift = 0;

    if (!parse_digits(text, &number, &end))
        return false;
    if (*end) {
        unit = strchr(units, toupper((unsigned char)*end));
        if (!unit || end[1])
            return false;
        shift = 10 * (unsigned)(unit - units + 1);
    }
    if (number > UINT64_MAX >> shift)
        return false;
    *bytes = number << shift;
    return true;
}

const char *claret_format_bytes(uint64_t bytes, char buffer[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        claret_print(buffer, 32, "%d bytes", (int)bytes);
        return buffer;
    }
    /* 1023.95 and more would show as 1024.0 */
    while (value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    claret_print(buffer, 32, "%.1f %s", value, units[unit]);
    return buffer;
}

/* ---- nearest names ------------------------------------------------------------------------------------- */

#define MAX_NAME 63

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that make `a` into `b`. */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][MAX_NAME + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2], *spare;
    int length = (int)strlen(b);

    for (int j = 0; j <= length; j++)
        above[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (int j = 1; j <= length; j++) {
            int cost = a[i - 1] != b[j - 1];
            row[j] = smaller(smaller(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[length];
}

int claret_nearest(const char *name, const char *(*next)(int index, const void *user), const void *user)
{
    size_t length = strlen(name);
    int limit = length / 3 > 2 ? (int)(length / 3) : 2;
    int best = -1;
    const char *candidate;

    if (length > MAX_NAME)
        return -1;
    for (int i = 0; (candidate = next(i, user)); i++) {
        int distance;
        if (strlen(candidate) > MAX_NAME)
            continue;
        distance = edit_distance(name, candidate);
        /* A candidate with nothing in common is no hint, however short it is. */
        if (distance > limit || distance >= (int)strlen(candidate))
            continue;
        if (distance < limit || best < 0) {
            best = i;
            limit = distance;
        }
    }
    return best;
}
