#include "tune/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define OUT 3     /* where the worker writes its answers: drivers print to the first three */
#define SLICE 100 /* milliseconds between two looks at the clock */
#define LINE_LIMIT ((size_t)16 << 20)

extern char **environ;

/* ---- start and end ---- */

static int spawn(const struct claret_worker *worker, int in, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code)
        return code;
    code = posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (!code)
        code = posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (!code)
        code = posix_spawn_file_actions_adddup2(&actions, out, OUT);
    if (!code)
        code = posix_spawn(pid, worker->command[0], &actions, NULL, worker->command, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Descriptors above those that the worker gets, closed when it is exec'd. */
static int make_pipe(int ends[2])
{
    int raw[2];
    if (pipe(raw))
        return errno;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, OUT + 1);
        close(raw[i]);
    }
    return ends[0] < 0 || ends[1] < 0 ? EMFILE : 0;
}

enum claret_status claret_worker_start(struct claret_worker *worker)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1}, code = make_pipe(to);
    claret_worker_end(worker);
    if (!code)
        code = make_pipe(from);
    if (!code)
        code = spawn(worker, to[0], from[1], &worker->pid);
    close(to[0]);
    close(from[1]);
    if (code) {
        close(to[1]);
        close(from[0]);
        worker->pid = 0;
        return claret_fail(CLARET_IO, "the worker %s cannot be started: %s", worker->command[0],
                           strerror(code));
    }
    worker->to = to[1];
    worker->from = from[0];
    worker->used = 0;
    return CLARET_OK;
}

void claret_worker_end(struct claret_worker *worker)
{
    if (worker->pid > 0) {
        kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        close(worker->to);
        close(worker->from);
    }
    free(worker->buffer);
    worker->buffer = NULL;
    worker->used = worker->capacity = 0;
    worker->pid = 0;
}

/* ---- asking ---- */

static bool send_line(const struct claret_worker *worker, json_t *request)
{
    char *line = request ? json_dumps(request, JSON_COMPACT) : NULL;
    size_t size = line ? strlen(line) : 0, done = 0;
    bool fine = line != NULL;
    while (fine && done < size) {
        ssize_t n = write(worker->to, line + done, size - done);
        fine = n > 0 || (n < 0 && errno == EINTR);
        done += n > 0 ? (size_t)n : 0;
    }
    fine = fine && write(worker->to, "\n", 1) == 1;
    free(line);
    return fine;
}

enum heard { HEARD_LINE, HEARD_END, HEARD_LATE, HEARD_STOP };

static bool room(struct claret_worker *worker)
{
    if (worker->used + 4096 <= worker->capacity)
        return true;
    char *larger =
        worker->capacity < LINE_LIMIT ? realloc(worker->buffer, 2 * worker->capacity + 8192) : NULL;
    if (!larger)
        return false;
    worker->buffer = larger;
    worker->capacity = 2 * worker->capacity + 8192;
    return true;
}

/* Waits for a whole line; it is at the buffer's start, its end a NUL. Time in which this process did not run
 * either (the machine was suspended, say) is nobody's fault and does not count. */
static enum heard hear(struct claret_worker *worker, double limit)
{
    double waited = 0;
    for (;;) {
        char *end = worker->used ? memchr(worker->buffer, '\n', worker->used) : NULL;
        if (end) {
            *end = '\0';
            return HEARD_LINE;
        }
        if (worker->stop && *worker->stop)
            return HEARD_STOP;
        if (waited >= limit)
            return HEARD_LATE;
        struct pollfd ready = {.fd = worker->from, .events = POLLIN};
        double start = claret_clock();
        int count = poll(&ready, 1, SLICE);
        double slice = claret_clock() - start;
        waited += slice < 2e-3 * SLICE ? slice : 2e-3 * SLICE;
        if (count <= 0)
            continue;
        if (!room(worker))
            return HEARD_END;
        ssize_t n = read(worker->from, worker->buffer + worker->used, worker->capacity - worker->used);
        if (n == 0 || (n < 0 && errno != EINTR))
            return HEARD_END;
        worker->used += n > 0 ? (size_t)n : 0;
    }
}

static json_t *take_line(struct claret_worker *worker)
{
    size_t length = strlen(worker->buffer) + 1;
    json_t *json = json_loads(worker->buffer, 0, NULL);
    memmove(worker->buffer, worker->buffer + length, worker->used - length);
    worker->used -= length;
    return json;
}

/* How the worker ended, as a text. */
static json_t *autopsy(struct claret_worker *worker)
{
    int status = 0;
    bool ended = false;
    /* It may be about to end: its pipe is closed. */
    for (int i = 0; i < 100 && !ended; i++) {
        ended = waitpid(worker->pid, &status, WNOHANG) == worker->pid;
        if (!ended)
            poll(NULL, 0, 20);
    }
    if (ended) {
        close(worker->to);
        close(worker->from);
        worker->pid = 0;
    }
    claret_worker_end(worker);
    if (ended && WIFSIGNALED(status))
        return json_sprintf("crashed (%s)", strsignal(WTERMSIG(status)));
    return json_sprintf("ended the worker (exit code %d)",
                        ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

enum claret_status claret_worker_ask(struct claret_worker *worker, json_t *request,
                                     const struct claret_worker_limits *limits, json_t **answer)
{
    double limit = limits->compile;
    const char *doing = "compiling";
    bool sent = send_line(worker, request);
    json_decref(request);
    *answer = NULL;
    for (;;) {
        enum heard heard = sent ? hear(worker, limit) : HEARD_END;
        if (heard == HEARD_STOP || (heard == HEARD_END && worker->stop && *worker->stop))
            return claret_fail(CLARET_STOPPED, "stopped");
        if (heard == HEARD_LATE) {
            claret_worker_end(worker);
            *answer = json_pack("{s:o}", "fault", json_sprintf("%s took more than %g s", doing, limit));
            return *answer ? CLARET_OK : claret_no_memory();
        }
        if (heard == HEARD_END) {
            *answer = json_pack("{s:o}", "fault", autopsy(worker));
            return *answer ? CLARET_OK : claret_no_memory();
        }
        json_t *line = take_line(worker);
        if (!line)
            return claret_fail(CLARET_INTERNAL, "the worker's answer is not JSON");
        const char *phase = json_string_value(json_object_get(line, "phase"));
        if (!phase) {
            *answer = line;
            return CLARET_OK;
        }
        bool runs = strcmp(phase, "run") == 0;
        limit = runs ? limits->run : limits->compile;
        doing = runs ? "running" : "compiling";
        json_decref(line);
    }
}
