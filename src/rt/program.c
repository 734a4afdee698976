/* Programs: their sources and options, which of them there are, and their way into the cache. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "rt/internal.h"

#define SOURCE_LIMIT ((size_t)16 << 20) /* bytes of a .cl file */
/* Part of every key: to be raised when what a cached program means changes. */
#define PROGRAM_FORMAT "claret program 1"

enum claret_status claret_programs_init(struct claret_rt *rt, const struct claret_rt_options *options)
{
    struct claret_programs *programs = &rt->programs;
    programs->end = &programs->first;
    if (options->kernel_dir) {
        programs->kernel_dir = claret_arena_strdup(&programs->arena, options->kernel_dir);
        if (!programs->kernel_dir)
            return claret_no_memory();
    }
    return options->cache_dir ? claret_cache_open(&programs->cache, options->cache_dir) : CLARET_OK;
}

void claret_programs_finish(struct claret_rt *rt)
{
    struct claret_programs *programs = &rt->programs;
    for (struct claret_program *program = programs->first; program; program = program->next) {
        claret_cl_release_program(&program->handle);
        free(program->log);
    }
    claret_cache_close(&programs->cache);
    claret_arena_free(&programs->arena);
    *programs = (struct claret_programs){0};
}

/* ---- sources ------------------------------------------------------------------------------------------- */

static enum claret_status read_file(struct claret_programs *programs, const char *name, const char **text)
{
    char *data = NULL, *path;
    size_t size;
    enum claret_status status;
    if (!programs->kernel_dir) {
        for (const struct claret_embedded *file = claret_kernel_files; file->name; file++)
            if (!strcmp(file->name, name)) {
                *text = file->text;
                return CLARET_OK;
            }
        return claret_fail(CLARET_INTERNAL, "no kernel file %s in the library", name);
    }
    path = claret_path_join(programs->kernel_dir, name);
    if (!path)
        return claret_no_memory();
    status = claret_file_read(path, SOURCE_LIMIT, &data, &size);
    if (status != CLARET_OK)
        claret_error_context("reading kernels from the folder %s: it must hold every .cl file and common.clh",
                             programs->kernel_dir);
    else if (!(*text = claret_arena_strdup(&programs->arena, data)))
        status = claret_no_memory();
    free(data);
    free(path);
    return status;
}

/* Blanks the kernels of `text` other than `entry`, each from its line that begins with __kernel to the brace
 * that begins a line; lines keep their numbers. Drivers compile all that a program holds, and some do so
 * twice. */
static void keep_entry(char *text, const char *entry)
{
    static const char opening[] = "\n__kernel void ", closing[] = "\n}";
    size_t length = strlen(entry);
    for (char *at = text; (at = strstr(at, opening));) {
        char *name = at + strlen(opening), *end = strstr(name, closing);
        at = name;
        if (!end || (!strncmp(name, entry, length) && name[length] == '('))
            continue;
        for (char *c = name - strlen(opening) + 1; c < end + strlen(closing); c++)
            if (*c != '\n')
                *c = ' ';
    }
}

/* common.clh, then the kernel's file, of which `entry` is left (all of it where that is ""); the compiler's
 * messages name both by their own lines. */
static enum claret_status find_text(struct claret_programs *programs, const char *name, const char *entry,
                                    const char **text)
{
    const char *common, *kernel;
    char *file, *whole;
    struct claret_source *source;
    for (source = programs->sources; source; source = source->next)
        if (!strcmp(source->name, name) && !strcmp(source->entry, entry)) {
            *text = source->text;
            return CLARET_OK;
        }
    file = claret_arena_printf(&programs->arena, "%s.cl", name);
    if (!file)
        return claret_no_memory();
    CLARET_TRY(read_file(programs, "common.clh", &common));
    CLARET_TRY(read_file(programs, file, &kernel));
    whole = claret_arena_printf(&programs->arena, "#line 1 \"common.clh\"\n%s\n#line 1 \"%s\"\n%s", common,
                                file, kernel);
    source = claret_arena_alloc(&programs->arena, sizeof *source);
    if (!whole || !source || !(source->name = claret_arena_strdup(&programs->arena, name)) ||
        !(source->entry = claret_arena_strdup(&programs->arena, entry)))
        return claret_no_memory();
    if (entry[0])
        keep_entry(whole, entry);
    source->text = whole;
    source->next = programs->sources;
    programs->sources = source;
    *text = whole;
    return CLARET_OK;
}

/* To be raised when records of older versions must not be used any more. */
#define KERNEL_HASH_FORMAT "claret kernels 1"

enum claret_status claret_rt_kernel_hash(struct claret_rt *rt, const char *const *sources, int count,
                                         char hex[65])
{
    struct claret_text all = {0};
    claret_text_add(&all, KERNEL_HASH_FORMAT);
    for (int i = 0; i < count; i++) {
        const char *text = "";
        enum claret_status status = CLARET_OK;
        if (strcmp(sources[i], "clblast") != 0)
            status = find_text(&rt->programs, sources[i], "", &text);
        if (status != CLARET_OK) {
            claret_text_drop(&all);
            return status;
        }
        claret_text_add(&all, "\n%s\n", sources[i]);
        claret_text_add(&all, "%s", text);
    }
    enum claret_status status = all.failed ? claret_no_memory() : CLARET_OK;
    if (status == CLARET_OK)
        claret_sha256(all.data, all.size, hex);
    claret_text_drop(&all);
    return status;
}

/* ---- which there are ----------------------------------------------------------------------------------- */

void claret_program_options(const struct claret_kernel_call *call, struct claret_text *text)
{
    claret_text_add(text, "-cl-std=CL1.2");
    for (int i = 0; i < call->define_count; i++) {
        const struct claret_define *define = &call->define[i];
        if (define->type == CLARET_DEFINE_INT)
            claret_text_add(text, " -D%s=%lld", define->name, (long long)define->i);
        else if (isnan(define->f))
            claret_text_add(text, " -D%s=NAN", define->name);
        else if (isinf(define->f))
            claret_text_add(text, " -D%s=%sINFINITY", define->name, define->f < 0 ? "-" : "");
        else
            claret_text_add(text, " -D%s=%af", define->name, (double)define->f);
    }
    if (call->build)
        claret_text_add(text, " %s", call->build);
}

/* The parts are ended by a byte that none of them holds, so that no two lists read the same. */
static void add_part(struct claret_text *text, const char *part)
{
    claret_text_add(text, "%s\n%c", part, 1);
}

static enum claret_status make_key(const struct claret_rt *rt, const char *source, const char *options,
                                   char key[65])
{
    const struct claret_device_desc *desc = &rt->desc;
    struct claret_text text = {0};
    add_part(&text, PROGRAM_FORMAT);
    add_part(&text, options);
    add_part(&text, desc->name);
    add_part(&text, desc->vendor);
    add_part(&text, desc->driver);
    add_part(&text, desc->platform_version);
    add_part(&text, source);
    if (text.failed) {
        claret_text_drop(&text);
        return claret_no_memory();
    }
    claret_sha256(text.data, text.size, key);
    claret_text_drop(&text);
    return CLARET_OK;
}

enum claret_status claret_programs_find(struct claret_rt *rt, const struct claret_kernel_call *call,
                                        struct claret_program **program)
{
    struct claret_programs *programs = &rt->programs;
    struct claret_program *made;
    struct claret_text options = {0};
    const char *source = NULL;
    char key[65], *text = NULL;
    enum claret_status status;
    CLARET_TRY(find_text(programs, call->source, call->entry, &source));
    claret_program_options(call, &options);
    CLARET_TRY(claret_text_take(&options, &text));
    CLARET_GOTO(cleanup, make_key(rt, source, text, key));
    for (made = programs->first; made; made = made->next)
        if (!strcmp(made->key, key)) {
            *program = made;
            goto cleanup;
        }
    made = claret_arena_alloc(&programs->arena, sizeof *made);
    if (!made || !(made->name = claret_arena_strdup(&programs->arena, call->source)) ||
        !(made->entry = claret_arena_strdup(&programs->arena, call->entry)) ||
        !(made->options = claret_arena_strdup(&programs->arena, text))) {
        status = claret_no_memory();
        goto cleanup;
    }
    memcpy(made->key, key, sizeof key);
    made->text = source;
    *programs->end = made;
    programs->end = &made->next;
    *program = made;
cleanup:
    free(text);
    return status;
}

/* ---- into and out of the cache ------------------------------------------------------------------------- */

static bool from_binary(struct claret_rt *rt, struct claret_program *program, const unsigned char *binary,
                        size_t size)
{
    cl_int state = CL_SUCCESS, code = CL_SUCCESS;
    cl_program handle = clCreateProgramWithBinary(rt->context, 1, &rt->device, &size, &binary, &state, &code);
    char why[96];
    if (code == CL_SUCCESS) {
        claret_cl_created(CLARET_CL_PROGRAM);
        code = state;
        if (code == CL_SUCCESS)
            code = clBuildProgram(handle, 1, &rt->device, program->options, NULL, NULL);
    } else {
        handle = NULL;
    }
    if (code == CL_SUCCESS) {
        program->handle = handle;
        program->from_cache = program->saved = true;
        return true;
    }
    claret_cl_release_program(&handle);
    snprintf(why, sizeof why, "the driver refuses it (%s)", claret_cl_name(code));
    claret_cache_drop(&rt->programs.cache, program->key, why);
    return false;
}

static bool load(struct claret_rt *rt, struct claret_program *program)
{
    unsigned char *binary;
    size_t size;
    bool loaded;
    if (!claret_cache_load(&rt->programs.cache, program->key, &binary, &size))
        return false;
    loaded = from_binary(rt, program, binary, size);
    free(binary);
    return loaded;
}

enum claret_status claret_programs_build(struct claret_rt *rt)
{
    struct claret_programs *programs = &rt->programs;
    struct claret_program *program, **missing;
    enum claret_status status;
    int count = 0;
    for (program = programs->first; program; program = program->next)
        if (!program->handle && load(rt, program))
            programs->from_cache++;
        else if (!program->handle)
            count++;
    if (!count)
        return CLARET_OK;
    missing = malloc((size_t)count * sizeof *missing);
    if (!missing)
        return claret_no_memory();
    count = 0;
    for (program = programs->first; program; program = program->next)
        if (!program->handle)
            missing[count++] = program;
    status = claret_build_sources(rt, missing, count);
    free(missing);
    return status;
}

static void save(struct claret_rt *rt, struct claret_program *program)
{
    size_t size = 0;
    unsigned char *binary;
    cl_int code = clGetProgramInfo(program->handle, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    if (code != CL_SUCCESS || !size) {
        claret_debug("program cache: the driver gives no binary of %s.cl", program->name);
        return;
    }
    binary = malloc(size);
    if (!binary)
        return;
    code = clGetProgramInfo(program->handle, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    if (code == CL_SUCCESS)
        claret_cache_store(&rt->programs.cache, program->key, binary, size);
    else
        claret_debug("program cache: the driver gives no binary of %s.cl (%s)", program->name,
                     claret_cl_name(code));
    free(binary);
}

void claret_programs_save(struct claret_rt *rt)
{
    struct claret_cache *cache = &rt->programs.cache;
    if (!cache->folder)
        return;
    for (struct claret_program *program = rt->programs.first; program; program = program->next)
        if (program->launched && !program->saved) {
            program->saved = true; /* or tried: once is enough */
            save(rt, program);
        }
    claret_cache_prune(cache);
}
