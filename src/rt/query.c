/* What drivers say of platforms and devices, and from the list's index to their handles. */
#include "rt/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "rt/cl.h"

/* Asks for a text by one of the two functions below, which have the same shape but for the object. */
typedef cl_int (*query_fn)(const void *object, cl_uint what, size_t size, void *value, size_t *needed);

static cl_int query_platform(const void *object, cl_uint what, size_t size, void *value, size_t *needed)
{
    return clGetPlatformInfo(*(const cl_platform_id *)object, what, size, value, needed);
}

static cl_int query_device(const void *object, cl_uint what, size_t size, void *value, size_t *needed)
{
    return clGetDeviceInfo(*(const cl_device_id *)object, what, size, value, needed);
}

static char *query_text(query_fn query, const void *object, cl_uint what)
{
    size_t size = 0;
    if (query(object, what, 0, NULL, &size) != CL_SUCCESS || size == 0)
        return claret_strdup("");
    char *raw = calloc(size + 1, 1);
    if (raw == NULL)
        return NULL;
    char *clean = claret_devices_clean(query(object, what, size, raw, NULL) == CL_SUCCESS ? raw : "");
    free(raw);
    return clean;
}

char *claret_query_platform(cl_platform_id platform, cl_platform_info what)
{
    return query_text(query_platform, &platform, what);
}

char *claret_query_device(cl_device_id device, cl_device_info what)
{
    return query_text(query_device, &device, what);
}

bool claret_query_has(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

enum claret_status claret_query_platforms(cl_platform_id **platforms, cl_uint *count)
{
    cl_int code = clGetPlatformIDs(0, NULL, count);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && *count == 0)) {
        *count = 0;
        *platforms = NULL;
        return CLARET_OK;
    }
    if (code != CL_SUCCESS)
        return claret_cl_fail(CLARET_OPENCL, code, "clGetPlatformIDs", NULL);
    cl_platform_id *list = calloc(*count, sizeof(cl_platform_id));
    if (list == NULL)
        return claret_no_memory();
    code = clGetPlatformIDs(*count, list, NULL);
    if (code != CL_SUCCESS) {
        free(list);
        return claret_cl_fail(CLARET_OPENCL, code, "clGetPlatformIDs", NULL);
    }
    *platforms = list;
    return CLARET_OK;
}

enum claret_status claret_query_devices(cl_platform_id platform, cl_device_id **devices, cl_uint *count)
{
    *devices = NULL;
    /* A platform with no devices answers CL_DEVICE_NOT_FOUND, or an error of its own (no permission, say). */
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, count) != CL_SUCCESS)
        *count = 0;
    if (*count == 0)
        return CLARET_OK;
    cl_device_id *list = calloc(*count, sizeof(cl_device_id));
    if (list == NULL)
        return claret_no_memory();
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, *count, list, NULL);
    if (code != CL_SUCCESS) {
        free(list);
        return claret_cl_fail(CLARET_OPENCL, code, "clGetDeviceIDs", NULL);
    }
    *devices = list;
    return CLARET_OK;
}

/* ---- from the list to handles ------------------------------------------------------------------------ */

static bool same_text(char *text /* freed */, const char *expected)
{
    bool same = text != NULL && strcmp(text, expected) == 0;
    free(text);
    return same;
}

static bool same_platform(cl_platform_id id, const struct claret_platform *platform)
{
    static const cl_platform_info what[CLARET_PLATFORM_TEXTS] = {
        [CLARET_PLATFORM_NAME] = CL_PLATFORM_NAME,
        [CLARET_PLATFORM_VENDOR] = CL_PLATFORM_VENDOR,
        [CLARET_PLATFORM_VERSION] = CL_PLATFORM_VERSION,
    };
    for (int i = 0; i < CLARET_PLATFORM_TEXTS; i++)
        if (!same_text(claret_query_platform(id, what[i]), platform->text[i]))
            return false;
    return true;
}

/* How many platforms before `index` in the list have the same texts: drivers may be installed twice. */
static size_t twins_before(const struct claret_devices *devices, size_t index)
{
    size_t twins = 0;
    for (size_t i = 0; i < index; i++) {
        bool same = !devices->platforms[i].failed;
        for (int k = 0; k < CLARET_PLATFORM_TEXTS && same; k++)
            same = strcmp(devices->platforms[i].text[k], devices->platforms[index].text[k]) == 0;
        twins += same;
    }
    return twins;
}

enum claret_status claret_devices_resolve(const struct claret_devices *devices, size_t index,
                                          cl_platform_id *platform, cl_device_id *device)
{
    const struct claret_device *wanted = &devices->devices[index];
    size_t owner = (size_t)wanted->number[CLARET_DEVICE_PLATFORM];
    size_t skip = twins_before(devices, owner);
    cl_platform_id *platforms = NULL;
    cl_device_id *ids = NULL;
    cl_uint platform_count = 0, id_count = 0, found = 0;
    enum claret_status status;

    CLARET_GOTO(out, claret_query_platforms(&platforms, &platform_count));
    for (found = 0; found < platform_count; found++)
        if (same_platform(platforms[found], &devices->platforms[owner]) && skip-- == 0)
            break;
    if (found < platform_count)
        CLARET_GOTO(out, claret_query_devices(platforms[found], &ids, &id_count));
    if (wanted->within >= id_count || !same_text(claret_query_device(ids[wanted->within], CL_DEVICE_NAME),
                                                 wanted->text[CLARET_DEVICE_NAME])) {
        status = claret_fail(CLARET_NO_DEVICE,
                             "%s of %s was there when devices were listed and is not any more; start again",
                             wanted->text[CLARET_DEVICE_NAME], wanted->text[CLARET_DEVICE_PLATFORM_NAME]);
        goto out;
    }
    *platform = platforms[found];
    *device = ids[wanted->within];
out:
    free(platforms);
    free(ids);
    return status;
}
