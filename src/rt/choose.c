/* Choosing a device from the list by what `--device` and `--platform` say. */
#include "rt/devices.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A set of platforms or devices, an element of the list each. */
struct set {
    bool *in;
    size_t size, count;
};

static bool set_init(struct set *set, size_t size)
{
    *set = (struct set){calloc(size + 1, sizeof *set->in), size, 0};
    return set->in != NULL;
}

static void set_add(struct set *set, size_t index)
{
    set->count += !set->in[index];
    set->in[index] = true;
}

static size_t set_first(const struct set *set)
{
    size_t i = 0;
    while (i < set->size && !set->in[i])
        i++;
    return i;
}

struct choice {
    const struct claret_devices *devices;
    const char *device, *platform; /* never NULL */
    struct set platforms;          /* those that `platform` names, all without it */
    struct set matches;            /* devices */
};

static bool given(const char *text)
{
    return *text != '\0';
}

static bool is_number(const char *text)
{
    return given(text) && text[strspn(text, "0123456789")] == '\0';
}

/* SIZE_MAX for one that is too large to be an index. */
static size_t to_index(const char *text)
{
    int64_t value;
    return claret_parse_int(text, 0, INT32_MAX, &value) ? (size_t)value : SIZE_MAX;
}

static bool usable(const struct claret_devices *devices, size_t device)
{
    return devices->devices[device].number[CLARET_DEVICE_USABLE] != 0;
}

static size_t platform_of(const struct claret_devices *devices, size_t device)
{
    return (size_t)devices->devices[device].number[CLARET_DEVICE_PLATFORM];
}

static bool contains(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text != '\0'; text++)
        if (strncasecmp(text, part, length) == 0)
            return true;
    return false;
}

/* ---- messages --------------------------------------------------------------------------------------- */

static bool in_platforms(const struct choice *choice, size_t device)
{
    return choice->platforms.in[platform_of(choice->devices, device)];
}

/* Each with the number that --device would take beside this --platform. */
static void list_devices(const struct choice *choice, bool matches_only, struct claret_text *text)
{
    for (size_t i = 0; i < choice->devices->device_count; i++) {
        if (matches_only ? !choice->matches.in[i] : !in_platforms(choice, i))
            continue;
        claret_text_add(text, "\n  ");
        claret_devices_describe(choice->devices, i,
                                given(choice->platform) ? choice->devices->devices[i].within : i, text);
    }
}

/* The end of a sentence about a platform's devices, or all. */
static void list_all(const struct choice *choice, struct claret_text *text)
{
    bool any = false;
    for (size_t i = 0; i < choice->devices->device_count; i++)
        any |= in_platforms(choice, i);
    claret_text_add(text, any ? "; there are:" : "; it has none");
    list_devices(choice, false, text);
}

static void list_platforms(const struct choice *choice, bool matches_only, struct claret_text *text)
{
    for (size_t i = 0; i < choice->devices->platform_count; i++)
        if (!matches_only || choice->platforms.in[i])
            claret_text_add(text, "\n  %zu: %s%s", i,
                            choice->devices->platforms[i].text[CLARET_PLATFORM_NAME],
                            choice->devices->platforms[i].devices == 0 ? " (no devices)" : "");
}

/* Records `text` as the error and frees it. */
static enum claret_status refuse(enum claret_status status, struct claret_text *text)
{
    status = text->failed ? claret_no_memory() : claret_fail(status, "%s", text->data);
    claret_text_drop(text);
    return status;
}

static enum claret_status unknown_device(const struct choice *choice)
{
    struct claret_text text = {0};
    claret_text_add(&text, "there is no device \"%s\"", choice->device);
    if (given(choice->platform))
        claret_text_add(&text, " in platform \"%s\"", choice->platform);
    list_all(choice, &text);
    return refuse(CLARET_NOT_FOUND, &text);
}

static enum claret_status unknown_platform(const struct choice *choice)
{
    struct claret_text text = {0};
    claret_text_add(&text, "there is no platform \"%s\"; there are:", choice->platform);
    list_platforms(choice, false, &text);
    return refuse(CLARET_NOT_FOUND, &text);
}

/* None of the matches can be used, or there are none of the kind that was asked for. */
static enum claret_status none_usable(const struct choice *choice, const char *kind)
{
    struct claret_text text = {0};
    claret_text_add(&text, "no usable %s", kind);
    if (given(choice->platform))
        claret_text_add(&text, " in platform \"%s\"", choice->platform);
    if (choice->matches.count > 0) {
        claret_text_add(&text, ":");
        list_devices(choice, true, &text);
    } else if (choice->devices->device_count > 0) {
        list_all(choice, &text);
    } else {
        claret_text_add(&text, ": no OpenCL driver offers one; what to install: claret devices");
    }
    return refuse(CLARET_NO_DEVICE, &text);
}

/* ---- narrowing ----------------------------------------------------------------------------------------- */

static bool platform_usable(const struct claret_devices *devices, size_t platform)
{
    for (size_t i = 0; i < devices->device_count; i++)
        if (platform_of(devices, i) == platform && usable(devices, i))
            return true;
    return false;
}

/* Where some elements are usable, only those count. */
static void prefer_usable(struct set *set, const struct claret_devices *devices,
                          bool (*can)(const struct claret_devices *, size_t))
{
    bool any = false;
    for (size_t i = 0; i < set->size; i++)
        any |= set->in[i] && can(devices, i);
    for (size_t i = 0; any && i < set->size; i++)
        if (set->in[i] && !can(devices, i)) {
            set->in[i] = false;
            set->count--;
        }
}

/* Whole names go before parts of names, so that a name that is part of another's can be given. */
static void match_names(struct set *set, const char *part, const char *(*name)(const void *, size_t),
                        const void *user, const bool *among)
{
    for (size_t i = 0; i < set->size; i++)
        if ((among == NULL || among[i]) && strcasecmp(name(user, i), part) == 0)
            set_add(set, i);
    bool whole = set->count > 0;
    for (size_t i = 0; i < set->size && !whole; i++)
        if ((among == NULL || among[i]) && contains(name(user, i), part))
            set_add(set, i);
}

static const char *platform_name(const void *devices, size_t index)
{
    return ((const struct claret_devices *)devices)->platforms[index].text[CLARET_PLATFORM_NAME];
}

static const char *device_name(const void *devices, size_t index)
{
    return ((const struct claret_devices *)devices)->devices[index].text[CLARET_DEVICE_NAME];
}

static enum claret_status narrow_platforms(struct choice *choice)
{
    struct set *set = &choice->platforms;
    if (!given(choice->platform)) {
        for (size_t i = 0; i < set->size; i++)
            set_add(set, i);
        return CLARET_OK;
    }
    if (is_number(choice->platform)) {
        size_t index = to_index(choice->platform);
        if (index < set->size)
            set_add(set, index);
    } else {
        match_names(set, choice->platform, platform_name, choice->devices, NULL);
        prefer_usable(set, choice->devices, platform_usable);
    }
    if (set->count == 0)
        return unknown_platform(choice);
    if (set->count > 1) {
        struct claret_text text = {0};
        claret_text_add(&text, "several platforms match \"%s\":", choice->platform);
        list_platforms(choice, true, &text);
        return refuse(CLARET_AMBIGUOUS, &text);
    }
    return CLARET_OK;
}

/* ---- devices --------------------------------------------------------------------------------------------
 */

/* The one that a number or "P:D" names; false: there is none. */
static bool by_number(const struct choice *choice, size_t platform, size_t within, size_t *index)
{
    for (size_t i = 0; i < choice->devices->device_count; i++)
        if (platform_of(choice->devices, i) == platform && choice->devices->devices[i].within == within &&
            in_platforms(choice, i)) {
            *index = i;
            return true;
        }
    return false;
}

/* Platform and device of "P:D"; false: it is not of that form. */
static bool split_pair(const char *text, size_t *platform, size_t *within)
{
    char first[16] = "";
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || (size_t)(colon - text) >= sizeof first || !is_number(colon + 1))
        return false;
    memcpy(first, text, (size_t)(colon - text));
    if (!is_number(first))
        return false;
    *platform = to_index(first);
    *within = to_index(colon + 1);
    return true;
}

static enum claret_status exactly(struct choice *choice, bool found, size_t device, size_t *index)
{
    if (!found)
        return choice->devices->device_count == 0 ? none_usable(choice, "device") : unknown_device(choice);
    set_add(&choice->matches, device);
    if (!usable(choice->devices, device))
        return none_usable(choice, "device");
    *index = device;
    return CLARET_OK;
}

/* The first usable one of that type; among GPUs those with memory of their own come first. */
static bool first_of_type(struct choice *choice, const char *type, size_t *index)
{
    const struct claret_devices *devices = choice->devices;
    bool found = false;
    for (size_t i = 0; i < devices->device_count; i++) {
        const struct claret_device *device = &devices->devices[i];
        if (!in_platforms(choice, i) || strcasecmp(device->text[CLARET_DEVICE_TYPE], type) != 0)
            continue;
        set_add(&choice->matches, i);
        if (!usable(devices, i))
            continue;
        if (!found || (strcmp(device->text[CLARET_DEVICE_TYPE], "gpu") == 0 &&
                       devices->devices[*index].number[CLARET_DEVICE_UNIFIED] &&
                       !device->number[CLARET_DEVICE_UNIFIED])) {
            *index = i;
            found = true;
        }
    }
    return found;
}

static enum claret_status by_default(struct choice *choice, size_t *index)
{
    static const char *const order[] = {"gpu", "accelerator", "cpu", "other"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (first_of_type(choice, order[i], index))
            return CLARET_OK;
    return none_usable(choice, "OpenCL device");
}

/* Whether all matches are one physical device, seen through several platforms. */
static bool all_one(const struct choice *choice)
{
    const struct claret_device *devices = choice->devices->devices;
    size_t first = set_first(&choice->matches);
    const char *pci = devices[first].text[CLARET_DEVICE_PCI];
    for (size_t i = 0; i < choice->matches.size; i++)
        for (size_t j = 0; choice->matches.in[i] && j < i; j++)
            if (choice->matches.in[j] &&
                (platform_of(choice->devices, i) == platform_of(choice->devices, j) ||
                 strcmp(devices[i].text[CLARET_DEVICE_PCI], pci) != 0))
                return false;
    return *pci != '\0';
}

static enum claret_status by_name(struct choice *choice, size_t *index, const char **note)
{
    const struct claret_devices *devices = choice->devices;
    bool *among = calloc(devices->device_count + 1, sizeof *among);
    if (among == NULL)
        return claret_no_memory();
    for (size_t i = 0; i < devices->device_count; i++)
        among[i] = in_platforms(choice, i);
    match_names(&choice->matches, choice->device, device_name, devices, among);
    free(among);
    prefer_usable(&choice->matches, devices, usable);
    if (choice->matches.count == 0)
        return exactly(choice, false, 0, index);

    size_t first = set_first(&choice->matches);
    if (!usable(devices, first))
        return none_usable(choice, "device");
    if (choice->matches.count > 1) {
        if (!all_one(choice)) {
            struct claret_text text = {0};
            claret_text_add(&text, "several devices match \"%s\":", choice->device);
            list_devices(choice, true, &text);
            return refuse(CLARET_AMBIGUOUS, &text);
        }
        *note = devices->devices[first].note;
    }
    *index = first;
    return CLARET_OK;
}

static enum claret_status by_device(struct choice *choice, size_t *index, const char **note)
{
    static const struct {
        const char *word, *kind;
    } types[] = {{"gpu", "GPU"}, {"cpu", "CPU device"}, {"accelerator", "accelerator"}};
    const struct claret_devices *devices = choice->devices;
    size_t platform, within, found = 0;

    if (!given(choice->device))
        return by_default(choice, index);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(choice->device, types[i].word) == 0)
            return first_of_type(choice, types[i].word, index) ? CLARET_OK
                                                               : none_usable(choice, types[i].kind);
    if (is_number(choice->device) && !given(choice->platform)) {
        found = to_index(choice->device);
        return exactly(choice, found < devices->device_count, found, index);
    }
    if (is_number(choice->device)) {
        platform = set_first(&choice->platforms);
        within = to_index(choice->device);
    } else if (!split_pair(choice->device, &platform, &within)) {
        return by_name(choice, index, note);
    }
    bool there = by_number(choice, platform, within, &found);
    return exactly(choice, there, found, index);
}

enum claret_status claret_devices_choose(const struct claret_devices *devices, const char *device,
                                         const char *platform, size_t *index, const char **note)
{
    struct choice choice = {.devices = devices,
                            .device = device == NULL ? "" : device,
                            .platform = platform == NULL ? "" : platform};
    const char *said = "";
    size_t chosen = 0;
    enum claret_status status;

    claret_error_clear();
    if (!set_init(&choice.platforms, devices->platform_count) ||
        !set_init(&choice.matches, devices->device_count)) {
        status = claret_no_memory();
        goto out;
    }
    if (devices->device_count == 0) {
        status = none_usable(&choice, "OpenCL device");
        goto out;
    }
    CLARET_GOTO(out, narrow_platforms(&choice));
    CLARET_GOTO(out, by_device(&choice, &chosen, &said));
    *index = chosen;
    if (note != NULL)
        *note = said;
out:
    free(choice.platforms.in);
    free(choice.matches.in);
    return status;
}
