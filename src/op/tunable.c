#include "op/tunable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t claret_param(struct claret_params *params, const char *name, int64_t normal)
{
    if (!params)
        return normal;
    for (int i = 0; i < params->count; i++)
        if (strcmp(params->param[i].name, name) == 0) {
            params->param[i].asked = true;
            return params->param[i].value;
        }
    if (params->count < CLARET_MAX_TUNABLES)
        params->param[params->count++] = (struct claret_param){.name = name, .value = normal, .asked = true};
    return normal;
}

int64_t claret_param_given(const struct claret_params *params, const char *name)
{
    for (int i = 0; params && i < params->count; i++)
        if (params->param[i].given && strcmp(params->param[i].name, name) == 0)
            return params->param[i].value;
    return 0;
}

bool claret_choice_is(const char *choice, const char *solver)
{
    size_t length = strlen(solver);
    return strncmp(choice, solver, length) == 0 && (choice[length] == '\0' || choice[length] == ':');
}

/* ---- reading ---- */

static const struct claret_tunable *find_tunable(const struct claret_tunable *tunables, const char *name,
                                                 size_t length)
{
    for (int i = 0; tunables && tunables[i].name; i++)
        if (strncmp(tunables[i].name, name, length) == 0 && tunables[i].name[length] == '\0')
            return &tunables[i];
    return NULL;
}

static enum claret_status fail_unknown(const struct claret_tunable *tunables, const char *choice, int length,
                                       const char *name)
{
    struct claret_text known = {0};
    for (int i = 0; tunables && tunables[i].name; i++)
        claret_text_add(&known, " %s", tunables[i].name);
    enum claret_status status =
        claret_fail(CLARET_INVALID, "'%s': %.*s is no parameter of that solver; it has%s", choice, length,
                    name, known.size ? known.data : " none");
    claret_text_drop(&known);
    return status;
}

static enum claret_status fail_value(const struct claret_tunable *tunable, const char *choice)
{
    struct claret_text known = {0};
    for (int i = 0; i < CLARET_MAX_TUNABLE_VALUES && tunable->values[i]; i++)
        claret_text_add(&known, " %" PRId64, tunable->values[i]);
    enum claret_status status = claret_fail(CLARET_INVALID, "'%s': the value of %s has to be one of:%s",
                                            choice, tunable->name, known.size ? known.data : "");
    claret_text_drop(&known);
    return status;
}

static bool has_value(const struct claret_tunable *tunable, int64_t value)
{
    for (int i = 0; i < CLARET_MAX_TUNABLE_VALUES && tunable->values[i]; i++)
        if (tunable->values[i] == value)
            return true;
    return false;
}

/* One "NAME=VALUE" of `length` letters. */
static enum claret_status parse_param(const char *choice, const char *text, size_t length,
                                      const struct claret_tunable *tunables, struct claret_params *params)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    const struct claret_tunable *tunable = find_tunable(tunables, text, name_length);
    char digits[24];
    int64_t value;
    if (!tunable)
        return fail_unknown(tunables, choice, (int)name_length, text);
    snprintf(digits, sizeof digits, "%.*s", equals ? (int)(length - name_length - 1) : 0,
             equals ? equals + 1 : "");
    if (!claret_parse_int(digits, 1, INT32_MAX, &value) || !has_value(tunable, value))
        return fail_value(tunable, choice);
    for (int i = 0; i < params->count; i++)
        if (params->param[i].name == tunable->name)
            return claret_fail(CLARET_INVALID, "'%s': %s is given twice", choice, tunable->name);
    if (params->count == CLARET_MAX_TUNABLES)
        return claret_fail(CLARET_INVALID, "'%s': more than %d parameters", choice, CLARET_MAX_TUNABLES);
    params->param[params->count++] =
        (struct claret_param){.name = tunable->name, .value = value, .given = true};
    return CLARET_OK;
}

enum claret_status claret_choice_parse(const char *choice, const struct claret_tunable *tunables,
                                       struct claret_params *params)
{
    const char *at = strchr(choice, ':');
    params->count = 0;
    while (at) {
        const char *start = at + 1, *comma = strchr(start, ',');
        size_t length = comma ? (size_t)(comma - start) : strlen(start);
        CLARET_TRY(parse_param(choice, start, length, tunables, params));
        at = comma;
    }
    return CLARET_OK;
}

void claret_params_write(const struct claret_params *params, bool all, struct claret_text *text)
{
    const char *comma = "";
    for (int i = 0; i < params->count; i++)
        if (params->param[i].given || all) {
            claret_text_add(text, "%s%s=%" PRId64, comma, params->param[i].name, params->param[i].value);
            comma = ",";
        }
}
