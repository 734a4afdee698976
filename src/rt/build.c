/* Building programs from source, several at a time: each on a thread of its own, for compilers take seconds.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "rt/internal.h"

#define MAX_THREADS 4

struct build {
    struct claret_rt *rt;
    struct claret_program **programs;
    int count;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    int begun, finished;
    bool stop;  /* one has failed */
    bool alone; /* no threads: the caller's builds all */
};

static void say(const struct build *build, int index)
{
    claret_info("compiling program %d of %d (%s)", index + 1, build->count, build->programs[index]->name);
}

static void keep_log(const struct claret_rt *rt, struct claret_program *program)
{
    size_t size = 0;
    if (clGetProgramBuildInfo(program->handle, rt->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || !size)
        return;
    program->log = calloc(1, size + 1);
    if (program->log &&
        clGetProgramBuildInfo(program->handle, rt->device, CL_PROGRAM_BUILD_LOG, size, program->log, NULL)) {
        free(program->log);
        program->log = NULL;
    }
}

/* Reports nothing: the errors' record and the messages belong to the caller's thread. */
static bool build_one(const struct claret_rt *rt, struct claret_program *program)
{
    free(program->log);
    program->log = NULL;
    program->call = "clCreateProgramWithSource";
    program->handle =
        clCreateProgramWithSource(rt->context, 1, (const char **)&program->text, NULL, &program->code);
    if (program->code != CL_SUCCESS) {
        program->handle = NULL;
        return false;
    }
    claret_cl_created(CLARET_CL_PROGRAM);
    program->call = "clBuildProgram";
    program->code = clBuildProgram(program->handle, 1, &rt->device, program->options, NULL, NULL);
    if (program->code == CL_SUCCESS)
        return true;
    keep_log(rt, program);
    claret_cl_release_program(&program->handle);
    return false;
}

static void *work(void *user)
{
    struct build *build = user;
    pthread_mutex_lock(&build->mutex);
    while (!build->stop && build->begun < build->count) {
        int index = build->begun++;
        bool built;
        pthread_cond_signal(&build->changed);
        pthread_mutex_unlock(&build->mutex);
        if (build->alone)
            say(build, index);
        built = build_one(build->rt, build->programs[index]);
        pthread_mutex_lock(&build->mutex);
        build->finished++;
        build->stop |= !built;
        pthread_cond_signal(&build->changed);
    }
    pthread_mutex_unlock(&build->mutex);
    return NULL;
}

/* Says what the workers begin until all that was begun is finished. */
static void watch(struct build *build)
{
    int said = 0;
    pthread_mutex_lock(&build->mutex);
    for (;;) {
        int begun = build->begun;
        bool over = build->finished == begun && (build->stop || begun == build->count);
        if (said < begun) {
            pthread_mutex_unlock(&build->mutex);
            for (; said < begun; said++)
                say(build, said);
            pthread_mutex_lock(&build->mutex);
        } else if (over) {
            break;
        } else {
            pthread_cond_wait(&build->changed, &build->mutex);
        }
    }
    pthread_mutex_unlock(&build->mutex);
}

/* Threads that take no signals, which are the program's main thread's business. Returns how many there are.
 */
static int start_threads(struct build *build, pthread_t *threads)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = processors > MAX_THREADS ? MAX_THREADS : processors > 1 ? (int)processors : 1, count = 0;
    sigset_t all, before;
    if (strstr(build->rt->desc.platform, "Oclgrind")) /* its compiler crashes in two threads */
        return 0;
    if (wanted > build->count)
        wanted = build->count;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before))
        return 0;
    while (count < wanted && !pthread_create(&threads[count], NULL, work, build))
        count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return count;
}

static enum claret_status report(const struct claret_rt *rt, const struct claret_program *program)
{
    const char *own = strstr(program->text, "\n#line 1 \"");
    char file[80];
    int lines = 2;
    if (program->code == CL_SUCCESS)
        return CLARET_OK;
    claret_cl_fail(CLARET_BUILD, program->code, program->call,
                   "compiling %s.cl (kernel %s) for %s with the options %s", program->name, program->entry,
                   rt->desc.name, program->options);
    if (!program->log)
        return CLARET_BUILD;
    claret_error_context("build log:\n%s", program->log);
    snprintf(file, sizeof file, "%s.cl", program->name);
    if (own && !strstr(program->log, file)) { /* a compiler that leaves #line out of account */
        for (const char *at = program->text; at <= own; at++)
            lines += *at == '\n';
        claret_error_context("(line %d of what the compiler sees is line 1 of %s)", lines, file);
    }
    return CLARET_BUILD;
}

enum claret_status claret_build_sources(struct claret_rt *rt, struct claret_program **programs, int count)
{
    struct build build = {.rt = rt, .programs = programs, .count = count};
    pthread_t threads[MAX_THREADS];
    enum claret_status status = CLARET_OK;
    int started = 0;
    if (pthread_mutex_init(&build.mutex, NULL))
        return claret_no_memory();
    if (pthread_cond_init(&build.changed, NULL)) {
        pthread_mutex_destroy(&build.mutex);
        return claret_no_memory();
    }
    started = start_threads(&build, threads);
    build.alone = !started;
    if (started)
        watch(&build);
    else
        work(&build);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&build.changed);
    pthread_mutex_destroy(&build.mutex);
    for (int i = 0; i < build.begun; i++) {
        if (status == CLARET_OK)
            status = report(rt, programs[i]);
        rt->programs.built += programs[i]->handle != NULL;
    }
    return status;
}
