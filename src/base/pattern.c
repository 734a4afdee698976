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

enum claret_status claret_pattern_check(const char *option, const char *patterns,
                                        const char *(*next)(int index, const void *user), const void *user)
{
    char pattern[LENGTH];
    while (take(&patterns, pattern)) {
        int at = 0;
        while (next(at, user) && !match_one(pattern, next(at, user)))
            at++;
        if (next(at, user))
            continue;
        int near = claret_nearest(pattern, next, user);
        return claret_fail(CLARET_INVALID, "%s: '%s' matches nothing of the network%s%s%s", option, pattern,
                           near >= 0 ? "; the nearest is '" : "", near >= 0 ? next(near, user) : "",
                           near >= 0 ? "'" : "");
    }
    return CLARET_OK;
}
