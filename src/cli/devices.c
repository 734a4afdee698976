/* claret devices */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal.h"

static const char *text_of(const struct claret_devices *devices, size_t device, enum claret_device_text what)
{
    return claret_devices_text(devices, device, what);
}

static bool is_usable(const struct claret_devices *devices, size_t device)
{
    return claret_devices_number(devices, device, CLARET_DEVICE_USABLE) != 0;
}

/* ---- for people --------------------------------------------------------------------------------- */

static void print_device(const struct claret_devices *devices, size_t device, int name_width)
{
    double gigabytes =
        (double)claret_devices_number(devices, device, CLARET_DEVICE_GLOBAL_MEM) / (double)(1U << 30);

    cli_out("  %2zu  %-5s  %-11s  %-*s  %5" PRIu64 "  %8.1f  %s\n", device,
            text_of(devices, device, CLARET_DEVICE_ID), text_of(devices, device, CLARET_DEVICE_TYPE),
            name_width, text_of(devices, device, CLARET_DEVICE_NAME),
            claret_devices_number(devices, device, CLARET_DEVICE_COMPUTE_UNITS), gigabytes,
            is_usable(devices, device) ? "usable" : "not usable");
    if (is_usable(devices, device))
        return;
    /* A reason may be a build log of several lines. */
    for (const char *line = text_of(devices, device, CLARET_DEVICE_REASON); *line;) {
        size_t length = strcspn(line, "\n");
        cli_out("        %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* Whether the device is to be listed: all of them are, or the one that was chosen. */
static bool is_listed(size_t device, const size_t *only)
{
    return !only || *only == device;
}

static void print_table(const struct claret_devices *devices, const size_t *only)
{
    size_t count = claret_devices_count(devices);
    int width = 4;

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(text_of(devices, i, CLARET_DEVICE_NAME));
        if (length < 60 && (int)length > width)
            width = (int)length;
    }
    if (count)
        cli_out("   #  P:D    type         %-*s  units  mem, GiB  state\n", width, "name");
    for (size_t platform = 0; platform < claret_devices_platforms(devices); platform++) {
        size_t in_it = 0;
        for (size_t i = 0; i < count; i++)
            in_it += claret_devices_number(devices, i, CLARET_DEVICE_PLATFORM) == platform;
        if (only && claret_devices_number(devices, *only, CLARET_DEVICE_PLATFORM) != platform)
            continue;
        const char *version = claret_devices_platform_text(devices, platform, CLARET_PLATFORM_VERSION);
        const char *more = strstr(version, "  "); /* PoCL lists how it was built */
        cli_out("platform %zu: %s, %.*s%s\n", platform,
                claret_devices_platform_text(devices, platform, CLARET_PLATFORM_NAME),
                (int)(more ? (size_t)(more - version) : strlen(version)), version,
                in_it ? "" : ": no devices");
        for (size_t i = 0; i < count; i++)
            if (is_listed(i, only) && claret_devices_number(devices, i, CLARET_DEVICE_PLATFORM) == platform)
                print_device(devices, i, width);
    }
}

/* ---- for scripts -------------------------------------------------------------------------------- */

static json_t *platform_json(const struct claret_devices *devices, size_t platform)
{
    json_t *object = json_object();

    json_object_set_new(object, "index", json_integer((json_int_t)platform));
    json_object_set_new(object, "name",
                        cli_json_text(claret_devices_platform_text(devices, platform, CLARET_PLATFORM_NAME)));
    json_object_set_new(
        object, "vendor",
        cli_json_text(claret_devices_platform_text(devices, platform, CLARET_PLATFORM_VENDOR)));
    json_object_set_new(
        object, "version",
        cli_json_text(claret_devices_platform_text(devices, platform, CLARET_PLATFORM_VERSION)));
    return object;
}

static json_t *device_json(const struct claret_devices *devices, size_t device)
{
    enum kind { INDEX, TEXT, NUMBER, FLAG };
    /* The keys in INTERFACE's order. */
    static const struct {
        const char *key;
        enum kind kind;
        int what;
    } rows[] = {
        {"index", INDEX, 0},
        {"id", TEXT, CLARET_DEVICE_ID},
        {"platform", NUMBER, CLARET_DEVICE_PLATFORM},
        {"name", TEXT, CLARET_DEVICE_NAME},
        {"vendor", TEXT, CLARET_DEVICE_VENDOR},
        {"type", TEXT, CLARET_DEVICE_TYPE},
        {"compute_units", NUMBER, CLARET_DEVICE_COMPUTE_UNITS},
        {"global_mem", NUMBER, CLARET_DEVICE_GLOBAL_MEM},
        {"local_mem", NUMBER, CLARET_DEVICE_LOCAL_MEM},
        {"max_alloc", NUMBER, CLARET_DEVICE_MAX_ALLOC},
        {"max_work_group", NUMBER, CLARET_DEVICE_MAX_WORK_GROUP},
        {"opencl_c", TEXT, CLARET_DEVICE_OPENCL_C},
        {"fp16", FLAG, CLARET_DEVICE_FP16},
        {"fp64", FLAG, CLARET_DEVICE_FP64},
        {"subgroups", FLAG, CLARET_DEVICE_SUBGROUPS},
        {"command_buffer", FLAG, CLARET_DEVICE_COMMAND_BUFFER},
        {"driver", TEXT, CLARET_DEVICE_DRIVER},
        {"usable", FLAG, CLARET_DEVICE_USABLE},
        {"reason", TEXT, CLARET_DEVICE_REASON},
    };
    json_t *object = json_object();

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *value;
        if (rows[i].kind == INDEX)
            value = json_integer((json_int_t)device);
        else if (rows[i].kind == TEXT)
            value = cli_json_text(text_of(devices, device, (enum claret_device_text)rows[i].what));
        else {
            uint64_t number = claret_devices_number(devices, device, (enum claret_device_number)rows[i].what);
            value = rows[i].kind == FLAG ? json_boolean(number != 0) : json_integer((json_int_t)number);
        }
        json_object_set_new(object, rows[i].key, value);
    }
    return object;
}

static int print_devices_json(const struct claret_devices *devices, const size_t *only)
{
    json_t *platforms = json_array(), *list = json_array(), *object = json_object();

    for (size_t i = 0; i < claret_devices_platforms(devices); i++)
        json_array_append_new(platforms, platform_json(devices, i));
    for (size_t i = 0; i < claret_devices_count(devices); i++)
        if (is_listed(i, only))
            json_array_append_new(list, device_json(devices, i));
    json_object_set_new(object, "platforms", platforms);
    json_object_set_new(object, "devices", list);
    return cli_print_json(object);
}

/* With --device or --platform only what these choose is listed. *only stays NULL without them. */
static int choose(const struct cli_args *args, const struct claret_devices *devices, size_t *index,
                  const size_t **only)
{
    const char *device = args->value[CLI_LIST_DEVICE], *platform = args->value[CLI_LIST_PLATFORM], *note = "";

    if (!device && !platform)
        return CLI_DONE;
    enum claret_status status = claret_devices_choose(devices, device, platform, index, &note);
    if (status != CLARET_OK)
        return cli_failed(status == CLARET_NOT_FOUND ? CLI_USAGE : cli_exit_code(status));
    if (note && note[0])
        cli_note("%s", note);
    *only = index;
    return CLI_DONE;
}

int cli_devices(const struct cli_args *args)
{
    struct claret_devices *devices = NULL;
    const size_t *only = NULL;
    size_t index = 0;
    const char *paragraph;
    bool usable = false;
    int code = CLI_DONE;

    if (claret_devices_list(&devices) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    code = choose(args, devices, &index, &only);
    if (code != CLI_DONE) {
        claret_devices_destroy(devices);
        return code;
    }
    for (size_t i = 0; i < claret_devices_count(devices); i++)
        usable = usable || is_usable(devices, i);
    print_table(devices, only);
    for (size_t i = 0; !only && (paragraph = claret_devices_advice(devices, i)); i++)
        cli_out("\n%s\n", paragraph);
    if (args->value[CLI_JSON])
        code = print_devices_json(devices, only);
    claret_devices_destroy(devices);
    if (!usable && code == CLI_DONE) {
        cli_error("no usable OpenCL device");
        code = CLI_NO_DEVICE;
    }
    return code;
}
