/* GPUs that the system shows and no OpenCL platform offers: the likely cause and the command that mends it.
 */
#include "rt/devices.h"

#include <dirent.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPU_MAX 64
/* Bytes of a path: of a folder, of what is in it, of what is in that. */
#define FOLDER_BYTES 4096
#define ENTRY_BYTES (FOLDER_BYTES + 272)
#define INNER_BYTES (ENTRY_BYTES + 32)
#define PCI_DISPLAY 3 /* first byte of the class */

/* A vendor or a kernel driver whose GPUs some OpenCL driver serves. */
struct family {
    unsigned vendor; /* of PCI, 0: not on PCI, told by `kernel` */
    const char *name;
    const char *kernel;  /* its usual kernel driver, without which nothing works */
    const char *rusticl; /* what RUSTICL_ENABLE calls it; NULL: not served by it */
    const char *icd;     /* in the name of the vendor's own .icd file; NULL: there is none */
    const char *install; /* the commands */
};

static const struct family families[] = {
    {0x1002, "AMD", "amdgpu", "radeonsi", "amdocl",
     "sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=radeonsi; or, for GPUs that ROCm "
     "supports: "
     "sudo apt install rocm-opencl-icd"},
    {0x8086, "Intel", "i915", "iris", "intel", "sudo apt install intel-opencl-icd"},
    {0x10de, "NVIDIA", "nvidia", "nouveau", "nvidia",
     "sudo apt install nvidia-driver nvidia-opencl-icd (Debian: in the section non-free)"},
    {0, "ARM Mali", "panfrost", "panfrost", NULL,
     "sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=panfrost"},
    {0, "ARM Mali", "panthor", "panfrost", NULL,
     "sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=panfrost"},
    {0, "Qualcomm Adreno", "msm", "freedreno", NULL,
     "sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=freedreno"},
    {0, "Apple", "asahi", "asahi", NULL,
     "sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=asahi"},
    {0, "Broadcom VideoCore", "v3d", "v3d", NULL,
     "sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=v3d"},
};

struct gpu {
    char place[64];  /* "0000:03:00.0", or the name of a device that is not on PCI */
    char driver[64]; /* kernel driver, "" without one */
    char node[64];   /* "/dev/dri/renderD128", "" without one */
    unsigned vendor, device;
    const struct family *family;
};

struct search {
    struct claret_devices *devices;
    const struct claret_system *system;
    struct gpu gpus[GPU_MAX];
    size_t count;
};

/* ---- what the system shows -------------------------------------------------------------------------------
 */

static bool read_hex(const char *folder, const char *name, unsigned *value)
{
    char path[INNER_BYTES + 32];
    bool read = false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        read = fscanf(file, "%x", value) == 1;
        fclose(file);
    }
    return read;
}

/* The name of what the link FOLDER/NAME points to, "" without such a link. */
static void read_link(const char *folder, const char *link, char *name, size_t size)
{
    char path[INNER_BYTES + 32], target[4096];
    snprintf(path, sizeof path, "%s/%s", folder, link);
    ssize_t length = readlink(path, target, sizeof target - 1);
    *name = '\0';
    if (length <= 0)
        return;
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(name, size, "%.*s", (int)size - 1, slash == NULL ? target : slash + 1);
}

static const struct family *family_of(const struct gpu *gpu)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (gpu->vendor != 0 ? families[i].vendor == gpu->vendor
                             : families[i].vendor == 0 && strcmp(families[i].kernel, gpu->driver) == 0)
            return &families[i];
    return NULL; /* shows pictures, does not compute */
}

/* The GPU in that place, made from its folder in /sys where it is new. NULL: not one that could compute. */
static struct gpu *find_gpu(struct search *search, const char *place, const char *folder)
{
    struct gpu gpu = {0};
    for (size_t i = 0; i < search->count; i++)
        if (strcmp(search->gpus[i].place, place) == 0)
            return &search->gpus[i];
    snprintf(gpu.place, sizeof gpu.place, "%.*s", (int)sizeof gpu.place - 1, place);
    read_hex(folder, "vendor", &gpu.vendor);
    read_hex(folder, "device", &gpu.device);
    read_link(folder, "driver", gpu.driver, sizeof gpu.driver);
    gpu.family = family_of(&gpu);
    if (gpu.family == NULL || search->count == GPU_MAX)
        return NULL;
    search->gpus[search->count] = gpu;
    return &search->gpus[search->count++];
}

/* /sys/class/drm: card0 and renderD128, whose `device` is a link to the GPU. */
static void look_at_drm(struct search *search, const char *folder, const char *name)
{
    char path[ENTRY_BYTES], device[INNER_BYTES], place[64];
    bool node = strncmp(name, "renderD", 7) == 0;
    if (!node &&
        (strncmp(name, "card", 4) != 0 || strchr(name, '-') != NULL)) /* card0-HDMI-A-1 is a socket */
        return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(device, sizeof device, "%s/device", path);
    read_link(path, "device", place, sizeof place);
    struct gpu *gpu = place[0] == '\0' ? NULL : find_gpu(search, place, device);
    if (gpu != NULL && node)
        snprintf(gpu->node, sizeof gpu->node, "/dev/dri/%.*s", (int)sizeof gpu->node - 16, name);
}

static void look_at_pci(struct search *search, const char *folder, const char *name)
{
    char path[ENTRY_BYTES];
    unsigned class = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (read_hex(path, "class", &class) && class >> 16 == PCI_DISPLAY)
        find_gpu(search, name, path);
}

static void look_through(struct search *search, const char *place,
                         void (*look)(struct search *, const char *, const char *))
{
    char folder[FOLDER_BYTES];
    struct dirent **entries = NULL;
    snprintf(folder, sizeof folder, "%s%s", search->system->root, place);
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            look(search, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* ---- what the platforms offer
 * ------------------------------------------------------------------------------ */

static bool offered(const struct search *search, const struct gpu *gpu)
{
    for (size_t i = 0; i < search->devices->device_count; i++) {
        const struct claret_device *device = &search->devices->devices[i];
        const char *pci = device->text[CLARET_DEVICE_PCI];
        if (strcmp(device->text[CLARET_DEVICE_TYPE], "gpu") != 0)
            continue;
        /* Without an address the vendor must do. */
        if (*pci != '\0' ? strcmp(pci, gpu->place) == 0
                         : gpu->vendor == 0 || device->vendor_id == gpu->vendor)
            return true;
    }
    return false;
}

/* Mesa's rusticl is installed, but not asked to serve this GPU. */
static bool rusticl_asleep(const struct search *search, const struct gpu *gpu)
{
    bool there = false;
    for (size_t i = 0; i < search->devices->platform_count; i++)
        there |= strstr(search->devices->platforms[i].text[CLARET_PLATFORM_NAME], "rusticl") != NULL;
    if (!there || gpu->family->rusticl == NULL)
        return false;
    /* nouveau is a kernel driver as well: rusticl cannot serve what NVIDIA's own has taken. */
    if (gpu->vendor == 0x10de && strcmp(gpu->driver, "nouveau") != 0)
        return false;
    const char *list = search->system->rusticl == NULL ? "" : search->system->rusticl; /* "radeonsi:0,iris" */
    size_t length = strlen(gpu->family->rusticl);
    for (const char *at = list; (at = strstr(at, gpu->family->rusticl)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && strchr(",:", at[length]) != NULL)
            return false;
    return true;
}

static bool installed(const struct search *search, const struct gpu *gpu)
{
    return gpu->family->icd != NULL && strstr(search->system->drivers, gpu->family->icd) != NULL;
}

/* ---- advice
 * ---------------------------------------------------------------------------------------------------- */

/* true: a node that is there and may not be used; says how to get the right to it. */
static bool add_permission(const struct search *search, const char *node, struct claret_text *text)
{
    char path[ENTRY_BYTES];
    struct stat about;
    snprintf(path, sizeof path, "%s%s", search->system->root, node);
    if (stat(path, &about) != 0 || search->system->allowed(path))
        return false;

    struct group entry, *group = NULL;
    char names[16384]; /* members' too */
    getgrgid_r(about.st_gid, &entry, names, sizeof names, &group);
    bool helps = (about.st_mode & S_IRGRP) && (about.st_mode & S_IWGRP) && about.st_gid != 0;
    if (helps && group != NULL)
        claret_text_add(text,
                        "\n  You have no permission on %s, which group %s has. Join it, then log in again: "
                        "sudo usermod -aG %s $USER",
                        node, group->gr_name, group->gr_name);
    else if (helps)
        claret_text_add(
            text,
            "\n  You have no permission on %s, which the group with number %lu has, and that has no "
            "name here (in a container: start it with --group-add %lu).",
            node, (unsigned long)about.st_gid, (unsigned long)about.st_gid);
    else
        claret_text_add(
            text,
            "\n  You have no permission on %s, and no group of users has: sudo chgrp render %s && "
            "sudo chmod g+rw %s, then: sudo usermod -aG render $USER, and log in again.",
            node, node, node);
    return true;
}

/* Why a kernel driver is needed first. */
static void add_kernel(const struct gpu *gpu, struct claret_text *text)
{
    if (strcmp(gpu->driver, "vfio-pci") == 0)
        claret_text_add(text, "\n  It is set aside for a virtual machine (kernel driver vfio-pci).");
    else if (gpu->vendor == 0x10de)
        claret_text_add(text,
                        "\n  Its kernel driver is not loaded. Install it and start the computer again: %s",
                        gpu->family->install);
    else
        claret_text_add(
            text,
            "\n  No kernel driver serves it (%s should; often its firmware is missing): sudo modprobe "
            "%s, then see: sudo dmesg | grep -i %s",
            gpu->family->kernel, gpu->family->kernel, gpu->family->kernel);
}

static void add_causes(const struct search *search, const struct gpu *gpu, struct claret_text *text)
{
    bool nvidia = strcmp(gpu->driver, "nvidia") == 0; /* has nodes of its own, open to all */
    if (gpu->driver[0] == '\0' || strcmp(gpu->driver, "vfio-pci") == 0) {
        add_kernel(gpu, text);
        return;
    }
    bool locked = !nvidia && gpu->node[0] != '\0' && add_permission(search, gpu->node, text);
    if (!locked && gpu->vendor == 0x1002) /* ROCm's node */
        locked = add_permission(search, "/dev/kfd", text);

    if (rusticl_asleep(search, gpu)) {
        claret_text_add(
            text, "\n  Mesa's rusticl is installed, but RUSTICL_ENABLE is %s%s: export RUSTICL_ENABLE=%s",
            search->system->rusticl == NULL ? "not set" : "only ",
            search->system->rusticl == NULL ? "" : search->system->rusticl, gpu->family->rusticl);
        if (gpu->family->icd != NULL && !installed(search, gpu))
            claret_text_add(text, "\n  Or install the vendor's driver: %s", gpu->family->install);
    } else if (!installed(search, gpu)) {
        claret_text_add(text, "\n  No OpenCL driver for it is installed. On Debian and Ubuntu: %s",
                        gpu->family->install);
    } else if (!locked) {
        claret_text_add(
            text,
            "\n  %s's OpenCL driver is installed and does not offer it: it may be too old or too new "
            "for this GPU, or not fit the kernel driver.",
            gpu->family->name);
        if (gpu->family->rusticl != NULL && !nvidia)
            claret_text_add(text,
                            " Mesa's may: sudo apt install mesa-opencl-icd, then: export RUSTICL_ENABLE=%s",
                            gpu->family->rusticl);
    }
}

static enum claret_status advise_gpu(struct search *search, const struct gpu *gpu)
{
    struct claret_text text = {0};
    claret_text_add(&text, "This system has a GPU that no OpenCL platform offers: %s", gpu->family->name);
    if (gpu->vendor != 0)
        claret_text_add(&text, " (%04x:%04x, PCI %s", gpu->vendor, gpu->device, gpu->place);
    else
        claret_text_add(&text, " (%s", gpu->place);
    claret_text_add(&text, ", kernel driver %s).", gpu->driver[0] == '\0' ? "none" : gpu->driver);
    add_causes(search, gpu, &text);
    enum claret_status status =
        text.failed ? claret_no_memory() : claret_devices_add_advice(search->devices, "%s", text.data);
    claret_text_drop(&text);
    return status;
}

/* PoCL drops its devices without a word when it has no place for what it compiles. */
static enum claret_status advise_pocl(struct claret_devices *devices, const char *wanted)
{
    bool there = false;
    for (size_t i = 0; i < devices->platform_count; i++)
        there |= devices->platforms[i].devices == 0 &&
                 strcmp(devices->platforms[i].text[CLARET_PLATFORM_NAME], "Portable Computing Language") == 0;
    if (!there)
        return CLARET_OK;
    if (wanted != NULL && *wanted != '\0')
        return claret_devices_add_advice(devices,
                                         "PoCL is installed and offers no device: it may not have what "
                                         "POCL_DEVICES asks for, \"%s\". Unset that to have what there is.",
                                         wanted);
    return claret_devices_add_advice(
        devices, "PoCL is installed and offers no device, most often because it cannot write to its cache "
                 "folder ($XDG_CACHE_HOME/pocl, else ~/.cache/pocl): set HOME or XDG_CACHE_HOME to a folder "
                 "that can be written to, or: export POCL_CACHE_DIR=/tmp/pocl-$USER");
}

static enum claret_status advise_nothing(struct claret_devices *devices, const struct claret_system *system)
{
    const char *vendors = system->vendors, *noise = system->noise;
    if (vendors != NULL && *vendors != '\0')
        CLARET_TRY(claret_devices_add_advice(devices,
                                             "OCL_ICD_VENDORS is set to \"%s\", and no driver is looked for "
                                             "elsewhere. Unset it to have what is installed.",
                                             vendors));
    CLARET_TRY(advise_pocl(devices, system->pocl));
    if (*noise != '\0')
        CLARET_TRY(claret_devices_add_advice(devices, "While devices were listed, drivers wrote%s", noise));
    return claret_devices_add_advice(devices,
                                     "No device can be used. What to install on Debian and Ubuntu:\n"
                                     "  AMD:    %s\n"
                                     "  Intel:  %s\n"
                                     "  NVIDIA: %s\n"
                                     "  CPU:    sudo apt install pocl-opencl-icd",
                                     families[0].install, families[1].install, families[2].install);
}

enum claret_status claret_advise(struct claret_devices *devices, const struct claret_system *system)
{
    struct search *search = calloc(1, sizeof *search);
    enum claret_status status = CLARET_OK;
    bool usable = false;

    if (search == NULL)
        return claret_no_memory();
    search->devices = devices;
    search->system = system;
    look_through(search, "/sys/class/drm", look_at_drm);
    look_through(search, "/sys/bus/pci/devices", look_at_pci);
    for (size_t i = 0; i < search->count && status == CLARET_OK; i++)
        if (!offered(search, &search->gpus[i]))
            status = advise_gpu(search, &search->gpus[i]);
    for (size_t i = 0; i < devices->device_count; i++)
        usable |= devices->devices[i].number[CLARET_DEVICE_USABLE] != 0;
    if (status == CLARET_OK && !usable)
        status = advise_nothing(devices, system);
    free(search);
    return status;
}
