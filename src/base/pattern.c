#include "base/pattern.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define LENGTH 256

/* The pattern that *at begins with, which goes on to the next; false: there is none. */
static bool take(const char **at, char pattern[LENGTH])
{
    size_t length = strcspn(*at, ",");
    if (!**at)
        return false;
    snprintf(pattern, LENGTH, "%.*s", (int)length, *at);
    *at += length + ((*at)[length] == ',');
    return true;
}

static bool match_one(const char *pattern, const char *name)
{
    char part[LENGTH];
    for (size_t end = strlen(name); end > 0; end--) {
        if (name[end] != '\0' && name[end] != '.')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)end, name);
        if (fnmatch(pattern, part, 0) == 0)
            return true;
    }
    return false;
}

bool claret_pattern_match(const char *patterns, const char *name)
{
    char pattern[LENGTH];
    while (take(&patterns, pattern))
        if (match_one(pattern, name))
            return true;
    return false;
}

static enum claret_status check_one(const char *option, const char *pattern,
                                    const char *(*next)(int index, const void *user), const void *user)
{
    int at = 0;
    while (next(at, user) && !match_one(pattern, next(at, user)))
        at++;
    if (next(at, user))
        return CLARET_OK;
    int near = claret_nearest(pattern, next, user);
    return claret_fail(CLARET_INVALID, "%s: '%s' matches nothing of the network%s%s%s", option, pattern,
                       near >= 0 ? "; the nearest is '" : "", near >= 0 ? next(near, user) : "",
                       near >= 0 ? "'" : "");
}

enum claret_status claret_pattern_check(const char *option, const char *patterns,
                                        const char *(*next)(int index, const void *user), const void *user)
{
    char pattern[LENGTH];
    while (take(&patterns, pattern))
        CLARET_TRY(check_one(option, pattern, next, user));
    return CLARET_OK;
}

/* ---- with numbers ---- */

/* The number behind the '=' of "PATTERN=X", which is cut off; false: there is none, or it is none. */
static bool split(char pattern[LENGTH], double *number)
{
    char *equals = strrchr(pattern, '=');
    if (!equals || equals == pattern || !claret_parse_double(equals + 1, number) || *number < 0)
        return false;
    *equals = '\0';
    return true;
}

enum claret_status claret_pattern_parse_numbers(const char *option, const char *patterns)
{
    char pattern[LENGTH];
    double number;
    while (take(&patterns, pattern))
        if (!split(pattern, &number))
            return claret_fail(CLARET_INVALID, "%s: '%s' is not NAME=NUMBER, such as fc=0.01", option,
                               pattern);
    return CLARET_OK;
}

bool claret_pattern_number(const char *patterns, const char *name, double *number)
{
    char pattern[LENGTH];
    double value;
    bool found = false;
    while (take(&patterns, pattern))
        if (split(pattern, &value) && match_one(pattern, name)) {
            *number = value;
            found = true;
        }
    return found;
}

enum claret_status claret_pattern_check_numbers(const char *option, const char *patterns,
                                                const char *(*next)(int index, const void *user),
                                                const void *user)
{
    char pattern[LENGTH];
    double number;
    while (take(&patterns, pattern))
        if (split(pattern, &number))
            CLARET_TRY(check_one(option, pattern, next, user));
    return CLARET_OK;
}
