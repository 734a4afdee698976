/* The list of devices: made from what a child tells, and what the public API shows of it. */
#include "rt/devices.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

const char *const claret_platform_keys[CLARET_PLATFORM_TEXTS] = {
    [CLARET_PLATFORM_NAME] = "name",
    [CLARET_PLATFORM_VENDOR] = "vendor",
    [CLARET_PLATFORM_VERSION] = "version",
};
const char *const claret_device_text_keys[CLARET_DEVICE_TEXTS] = {
    [CLARET_DEVICE_NAME] = "name",         [CLARET_DEVICE_VENDOR] = "vendor", [CLARET_DEVICE_TYPE] = "type",
    [CLARET_DEVICE_OPENCL_C] = "opencl_c", [CLARET_DEVICE_DRIVER] = "driver", [CLARET_DEVICE_PCI] = "pci",
};
const char *const claret_device_number_keys[CLARET_DEVICE_NUMBERS] = {
    [CLARET_DEVICE_COMPUTE_UNITS] = "compute_units",
    [CLARET_DEVICE_GLOBAL_MEM] = "global_mem",
    [CLARET_DEVICE_LOCAL_MEM] = "local_mem",
    [CLARET_DEVICE_MAX_ALLOC] = "max_alloc",
    [CLARET_DEVICE_MAX_WORK_GROUP] = "max_work_group",
    [CLARET_DEVICE_FP16] = "fp16",
    [CLARET_DEVICE_FP64] = "fp64",
    [CLARET_DEVICE_SUBGROUPS] = "subgroups",
    [CLARET_DEVICE_COMMAND_BUFFER] = "command_buffer",
    [CLARET_DEVICE_UNIFIED] = "unified",
};

/* The length of a terminal's escape sequence that `text` begins with, such as for colour; 0: none. */
static size_t escape_length(const char *text)
{
    if (text[0] != 0x1b || text[1] != '[')
        return 0;
    size_t length = 2;
    while (text[length] >= ' ' && text[length] < '@')
        length++;
    return text[length] == '\0' ? length : length + 1;
}

char *claret_devices_clean(const char *text)
{
    char *clean = claret_strdup(text), *to = clean;
    if (clean == NULL)
        return NULL;
    json_t *valid = json_string(text); /* NULL: not UTF-8 */
    for (size_t skip; *text != '\0'; text += skip == 0 ? 1 : skip) {
        skip = escape_length(text);
        unsigned char c = (unsigned char)*text;
        if (skip == 0 && (c < ' ' || c == 0x7f))
            c = ' ';
        if (skip == 0 && (c != ' ' || to != clean)) /* no spaces in front */
            *to++ = (char)(valid == NULL && c >= 0x80 ? '?' : c);
    }
    while (to > clean && to[-1] == ' ')
        to--;
    *to = '\0';
    json_decref(valid);
    return clean;
}

/* ---- making a list -------------------------------------------------------------------------------- */

enum claret_status claret_devices_create(struct claret_devices **devices)
{
    struct claret_devices *list = calloc(1, sizeof *list);
    if (list == NULL)
        return claret_no_memory();
    list->under_way = -1;
    *devices = list;
    return CLARET_OK;
}

void claret_devices_destroy(struct claret_devices *devices)
{
    if (devices == NULL || devices->shared)
        return;
    claret_arena_free(&devices->arena);
    free(devices->platforms);
    free(devices->devices);
    free(devices->advice);
    free(devices);
}

/* Makes room for one more of `count` elements of `size` bytes; the new one is zero. */
static enum claret_status grow(void **array, size_t count, size_t size)
{
    char *larger = realloc(*array, (count + 1) * size);
    if (larger == NULL)
        return claret_no_memory();
    memset(larger + count * size, 0, size);
    *array = larger;
    return CLARET_OK;
}

static enum claret_status keep(struct claret_devices *devices, const char *text, const char **kept)
{
    *kept = claret_arena_strdup(&devices->arena, text == NULL ? "" : text);
    return *kept == NULL ? claret_no_memory() : CLARET_OK;
}

static enum claret_status malformed(const char *what)
{
    return claret_fail(CLARET_FORMAT, "the list of devices that a child process tells: %s", what);
}

/* `record` NULL: nothing is known of it. */
static enum claret_status add_platform(struct claret_devices *devices, const json_t *record)
{
    void *array = devices->platforms;
    CLARET_TRY(grow(&array, devices->platform_count, sizeof *devices->platforms));
    devices->platforms = array;

    struct claret_platform *platform = &devices->platforms[devices->platform_count];
    for (int i = 0; i < CLARET_PLATFORM_TEXTS; i++)
        CLARET_TRY(keep(devices, json_string_value(json_object_get(record, claret_platform_keys[i])),
                        &platform->text[i]));
    devices->platform_count++;
    return CLARET_OK;
}

/* Of the last platform. `record` NULL: nothing is known of it. */
static enum claret_status add_device(struct claret_devices *devices, const json_t *record)
{
    void *array = devices->devices;
    CLARET_TRY(grow(&array, devices->device_count, sizeof *devices->devices));
    devices->devices = array;

    size_t owner = devices->platform_count - 1;
    struct claret_platform *platform = &devices->platforms[owner];
    struct claret_device *device = &devices->devices[devices->device_count];
    for (int i = 0; i < CLARET_DEVICE_TEXTS; i++) {
        const char *key = claret_device_text_keys[i];
        const char *value = key == NULL ? NULL : json_string_value(json_object_get(record, key));
        CLARET_TRY(keep(devices, value, &device->text[i]));
    }
    for (int i = 0; i < CLARET_DEVICE_NUMBERS; i++) {
        const char *key = claret_device_number_keys[i];
        if (key != NULL)
            device->number[i] = (uint64_t)json_integer_value(json_object_get(record, key));
    }
    device->number[CLARET_DEVICE_PLATFORM] = owner;
    device->vendor_id = (uint32_t)json_integer_value(json_object_get(record, "vendor_id"));
    device->within = platform->devices;
    device->note = "";
    device->text[CLARET_DEVICE_PLATFORM_NAME] = platform->text[CLARET_PLATFORM_NAME];
    device->text[CLARET_DEVICE_ID] = claret_arena_printf(&devices->arena, "%zu:%zu", owner, device->within);
    if (device->text[CLARET_DEVICE_ID] == NULL)
        return claret_no_memory();
    platform->devices++;
    devices->device_count++;
    return CLARET_OK;
}

enum claret_status claret_devices_result(struct claret_devices *devices, size_t index, const char *reason)
{
    struct claret_device *device = &devices->devices[index];
    CLARET_TRY(keep(devices, reason, &device->text[CLARET_DEVICE_REASON]));
    device->number[CLARET_DEVICE_USABLE] = *reason == '\0';
    device->tried = true;
    devices->under_way = -1;
    return CLARET_OK;
}

enum claret_status claret_devices_add_advice(struct claret_devices *devices, const char *format, ...)
{
    struct claret_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    claret_text_vadd(&text, format, arguments);
    va_end(arguments);

    void *array = devices->advice;
    enum claret_status status = CLARET_OK;
    if (text.failed || text.data == NULL)
        status = claret_no_memory();
    if (status == CLARET_OK)
        status = grow(&array, devices->advice_count, sizeof *devices->advice);
    if (status == CLARET_OK) {
        devices->advice = array;
        status = keep(devices, text.data, &devices->advice[devices->advice_count]);
    }
    if (status == CLARET_OK)
        devices->advice_count++;
    claret_text_drop(&text);
    return status;
}

/* A record that speaks of one device once all are listed. */
static enum claret_status about_device(struct claret_devices *devices, const json_t *root, const json_t *step,
                                       const json_t *result)
{
    json_int_t index = json_integer_value(json_object_get(root, "device"));
    if (!devices->listed || index < 0 || (size_t)index >= devices->device_count)
        return malformed("a result without its device");
    if (json_is_string(json_object_get(root, "key")))
        CLARET_TRY(
            keep(devices, json_string_value(json_object_get(root, "key")), &devices->devices[index].key));
    devices->devices[index].short_loops = json_is_true(json_object_get(root, "short_loops"));
    if (json_is_string(result))
        return claret_devices_result(devices, (size_t)index, json_string_value(result));
    CLARET_TRY(keep(devices, json_string_value(step), &devices->step));
    devices->under_way = (long)index;
    return CLARET_OK;
}

enum claret_status claret_devices_record(struct claret_devices *devices, const char *line, size_t length)
{
    json_t *root = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *platform = json_object_get(root, "platform"), *device = json_object_get(root, "device");
    const json_t *step = json_object_get(root, "step"), *result = json_object_get(root, "result");
    const json_t *advice = json_object_get(root, "advice");
    enum claret_status status;

    if (!devices->listed && json_is_object(platform))
        status = add_platform(devices, platform);
    else if (!devices->listed && json_is_object(device) && devices->platform_count > 0)
        status = add_device(devices, device);
    else if (!devices->listed && json_is_true(json_object_get(root, "listed")))
        status = CLARET_OK, devices->listed = true;
    else if (json_is_string(advice))
        status = claret_devices_add_advice(devices, "%s", json_string_value(advice));
    else if (json_is_integer(device) && (json_is_string(step) || json_is_string(result)))
        status = about_device(devices, root, step, result);
    else
        status = malformed("a line that makes no sense");
    json_decref(root);
    return status;
}

enum claret_status claret_devices_add_failed(struct claret_devices *devices, const char *driver,
                                             const char *reason)
{
    CLARET_TRY(add_platform(devices, NULL));
    struct claret_platform *platform = &devices->platforms[devices->platform_count - 1];
    platform->failed = true;
    CLARET_TRY(keep(devices, driver, &platform->text[CLARET_PLATFORM_NAME]));
    CLARET_TRY(add_device(devices, NULL));
    struct claret_device *device = &devices->devices[devices->device_count - 1];
    device->text[CLARET_DEVICE_NAME] = platform->text[CLARET_PLATFORM_NAME];
    device->text[CLARET_DEVICE_TYPE] = "other";
    return claret_devices_result(devices, devices->device_count - 1, reason);
}

enum claret_status claret_devices_finish(struct claret_devices *devices)
{
    for (size_t i = 0; i < devices->device_count; i++) {
        struct claret_device *one = &devices->devices[i];
        const char *pci = one->text[CLARET_DEVICE_PCI];
        for (size_t j = 0; j < devices->device_count && *pci != '\0'; j++) {
            const struct claret_device *other = &devices->devices[j];
            if (other->number[CLARET_DEVICE_PLATFORM] == one->number[CLARET_DEVICE_PLATFORM] ||
                strcmp(other->text[CLARET_DEVICE_PCI], pci) != 0)
                continue;
            one->note = claret_arena_printf(
                &devices->arena,
                "devices %zu (%s) and %zu (%s) are one, seen through %s and %s; %zu (%s) is taken", i,
                one->text[CLARET_DEVICE_ID], j, other->text[CLARET_DEVICE_ID],
                one->text[CLARET_DEVICE_PLATFORM_NAME], other->text[CLARET_DEVICE_PLATFORM_NAME], i,
                one->text[CLARET_DEVICE_ID]);
            if (one->note == NULL)
                return claret_no_memory();
            break;
        }
    }
    return CLARET_OK;
}

/* ---- the public API --------------------------------------------------------------------------------- */

enum claret_status claret_devices_list(struct claret_devices **devices)
{
    return claret_devices_find(NULL, devices);
}

enum claret_status claret_devices_find(const char *cache_dir, struct claret_devices **devices)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct claret_devices *listed; /* for the rest of the process: OpenCL is in use from now on */
    enum claret_status status = CLARET_OK;

    claret_error_clear();
    pthread_mutex_lock(&lock);
    if (listed == NULL) {
        struct claret_devices *list;
        struct claret_enumerate_options options = claret_enumerate_defaults;
        options.cache_dir = cache_dir;
        status = claret_enumerate(&options, &list);
        if (status == CLARET_OK) {
            list->shared = true;
            listed = list;
        }
    }
    if (status == CLARET_OK)
        *devices = listed;
    pthread_mutex_unlock(&lock);
    return status;
}

size_t claret_devices_count(const struct claret_devices *devices)
{
    return devices->device_count;
}

const char *claret_devices_text(const struct claret_devices *devices, size_t device,
                                enum claret_device_text what)
{
    if (device >= devices->device_count || (unsigned)what >= CLARET_DEVICE_TEXTS)
        return "";
    return devices->devices[device].text[what];
}

uint64_t claret_devices_number(const struct claret_devices *devices, size_t device,
                               enum claret_device_number what)
{
    if (device >= devices->device_count || (unsigned)what >= CLARET_DEVICE_NUMBERS)
        return 0;
    return devices->devices[device].number[what];
}

size_t claret_devices_platforms(const struct claret_devices *devices)
{
    return devices->platform_count;
}

const char *claret_devices_platform_text(const struct claret_devices *devices, size_t platform,
                                         enum claret_platform_text what)
{
    if (platform >= devices->platform_count || (unsigned)what >= CLARET_PLATFORM_TEXTS)
        return "";
    return devices->platforms[platform].text[what];
}

const char *claret_devices_advice(const struct claret_devices *devices, size_t index)
{
    return index < devices->advice_count ? devices->advice[index] : NULL;
}

void claret_devices_describe(const struct claret_devices *devices, size_t index, size_t number,
                             struct claret_text *text)
{
    const struct claret_device *device = &devices->devices[index];
    claret_text_add(text, "%zu (%s): %s, %s", number, device->text[CLARET_DEVICE_ID],
                    device->text[CLARET_DEVICE_NAME], device->text[CLARET_DEVICE_PLATFORM_NAME]);
    if (!device->number[CLARET_DEVICE_USABLE])
        claret_text_add(text, "; not usable: %s", device->text[CLARET_DEVICE_REASON]);
}
