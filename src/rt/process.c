/* The parent's side of one child that lists and tries devices. */
#include "rt/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "rt/child.h"

#define LINE_BYTES 65536 /* of one record; drivers' texts are a few thousand at most */
#define NOISE_BYTES 2048
#define NOISE_LINES 3
#define SLICE_MS 500
#define QUIET_MS 5000 /* after so long the user is told what is waited for */

struct process {
    pid_t pid;
    int stream, noise; /* read ends of the child's records and of its stderr */
    char *line;        /* LINE_BYTES, `filled` of them */
    size_t filled;
    char tail[NOISE_BYTES + 1]; /* the last of what came from stderr */
    size_t tail_size;
};

/* Both ends above stderr, whatever of 0 to 2 the program has closed, and not for programs that others exec.
 */
static bool make_pipe(int ends[2])
{
    int low[2];
    if (pipe(low) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
        close(low[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    return false;
}

static _Noreturn void in_child(const struct claret_child *child, int noise)
{
    static const int reset[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,  SIGFPE,  SIGSEGV,
                                SIGPIPE, SIGALRM, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2, SIGTRAP, SIGSYS};
    sigset_t none;
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
        signal(reset[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);

    /* Nothing that drivers print may reach the program's own output. */
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(noise, 2) < 0)
        _exit(1);
    if (child->drivers->folder != NULL && claret_drivers_apply(child->drivers) != CLARET_OK)
        _exit(1);
    claret_child_run(child);
}

static enum claret_status start(struct process *process, struct claret_child *child)
{
    int stream[2], noise[2];
    if (!make_pipe(stream))
        return claret_fail(CLARET_IO, "listing devices: making a pipe: %s", strerror(errno));
    if (!make_pipe(noise)) {
        close(stream[0]);
        close(stream[1]);
        return claret_fail(CLARET_IO, "listing devices: making a pipe: %s", strerror(errno));
    }
    child->out = stream[1];
    process->pid = fork();
    if (process->pid == 0)
        in_child(child, noise[1]);
    close(stream[1]);
    close(noise[1]);
    process->stream = stream[0];
    process->noise = noise[0];
    if (process->pid > 0)
        return CLARET_OK;
    int cause = errno;
    close(stream[0]);
    close(noise[0]);
    return claret_fail(CLARET_IO, "listing devices: starting a process: %s", strerror(cause));
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Takes whole lines out of what was read. *any: there was one. */
static enum claret_status take_lines(struct process *process, struct claret_devices *devices, bool *any)
{
    char *end, *from = process->line;
    while ((end = memchr(from, '\n', process->filled - (size_t)(from - process->line))) != NULL) {
        CLARET_TRY(claret_devices_record(devices, from, (size_t)(end - from)));
        from = end + 1;
        *any = true;
    }
    process->filled -= (size_t)(from - process->line);
    memmove(process->line, from, process->filled);
    return process->filled < LINE_BYTES ? CLARET_OK
                                        : claret_fail(CLARET_FORMAT, "a child process told an endless line");
}

static void take_noise(struct process *process)
{
    char piece[NOISE_BYTES];
    ssize_t n = read(process->noise, piece, sizeof piece);
    if (n <= 0) {
        close(process->noise);
        process->noise = -1; /* poll() passes over it */
        return;
    }
    size_t size = (size_t)n, old = process->tail_size;
    if (old + size > NOISE_BYTES) {
        size_t drop = old + size - NOISE_BYTES;
        memmove(process->tail, process->tail + drop, old - drop);
        old -= drop;
    }
    memcpy(process->tail + old, piece, size);
    process->tail_size = old + size;
    process->tail[process->tail_size] = '\0';
}

/* Until the child closes its stream. A child that says nothing for too long is told in *timed_out. */
static enum claret_status listen_to(struct process *process, const struct claret_enumerate_options *options,
                                    struct claret_devices *devices, bool *timed_out)
{
    int64_t quiet = 0; /* ms without a word; counted in slices, so that a stop by Ctrl-Z does not count */
    for (bool told = false;;) {
        int64_t limit = (int64_t)(devices->listed ? options->step_seconds : options->list_seconds) * 1000;
        if (quiet >= limit) {
            *timed_out = true;
            return CLARET_OK;
        }
        if (quiet >= QUIET_MS && !told) {
            told = true;
            claret_info("waiting for an OpenCL driver that is %s, for %u seconds at most",
                        devices->under_way >= 0 ? devices->step : "listing its devices",
                        (unsigned)(limit / 1000));
        }
        int64_t before = milliseconds(), slice = limit - quiet < SLICE_MS ? limit - quiet : SLICE_MS;
        struct pollfd ends[] = {{process->stream, POLLIN, 0}, {process->noise, POLLIN, 0}};
        int ready = poll(ends, 2, (int)slice), cause = errno;
        int64_t passed = milliseconds() - before;
        quiet += passed < slice ? passed : slice;
        if (ready < 0 && cause != EINTR)
            return claret_fail(CLARET_IO, "listing devices: waiting for a process: %s", strerror(cause));
        if (ready <= 0)
            continue;
        if (ends[1].revents != 0)
            take_noise(process);
        if (ends[0].revents == 0)
            continue;
        ssize_t n = read(process->stream, process->line + process->filled, LINE_BYTES - process->filled);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return CLARET_OK;
        process->filled += (size_t)n;
        bool any = false;
        CLARET_TRY(take_lines(process, devices, &any));
        if (any) {
            quiet = 0;
            told = false;
        }
    }
}

static void describe_signal(int number, char *text, size_t size)
{
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {SIGABRT, "aborted (SIGABRT)"},
        {SIGSEGV, "crashed (SIGSEGV)"},
        {SIGBUS, "crashed (SIGBUS)"},
        {SIGILL, "crashed (SIGILL: an instruction that this processor does not have)"},
        {SIGFPE, "crashed (SIGFPE)"},
        {SIGTRAP, "aborted (SIGTRAP)"},
        {SIGSYS, "made a system call that is forbidden here (SIGSYS)"},
        {SIGKILL, "was killed (SIGKILL; out of memory?)"},
    };
    snprintf(text, size, "was ended by signal %d", number);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number)
            snprintf(text, size, "%s", known[i].text);
}

/* The last lines of stderr, without what would upset a terminal. */
static void describe_noise(struct process *process, char *text, size_t size)
{
    /* What the pipe still holds; a compiler that the driver started may keep it open, so no waiting for its
     * end. */
    fcntl(process->noise, F_SETFL, O_NONBLOCK);
    while (process->noise >= 0)
        take_noise(process);

    char *lines[NOISE_LINES] = {0}, *rest = process->tail, *line;
    while ((line = strtok_r(rest, "\r\n", &rest)) != NULL) {
        memmove(lines, lines + 1, sizeof lines - sizeof *lines);
        lines[NOISE_LINES - 1] = line;
    }
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < NOISE_LINES && used < size; i++) {
        char *clean = lines[i] == NULL ? NULL : claret_devices_clean(lines[i]);
        if (clean != NULL && *clean != '\0')
            used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? ": " : " | ", clean);
        free(clean);
    }
}

/* Waits for the end of a child that closed its stream; ends one that is not wanted any more. */
static void finish(struct process *process, unsigned seconds, bool unwanted, struct claret_outcome *outcome)
{
    int status = 0;
    pid_t ended;

    if (unwanted)
        kill(process->pid, SIGKILL);
    while ((ended = waitpid(process->pid, &status, 0)) < 0 && errno == EINTR)
        ;
    if (outcome->timed_out)
        snprintf(outcome->how, sizeof outcome->how, "did not answer for %u seconds", seconds);
    else if (unwanted)
        snprintf(outcome->how, sizeof outcome->how, "wrote into what belongs to claret");
    else if (ended == process->pid && WIFSIGNALED(status))
        describe_signal(WTERMSIG(status), outcome->how, sizeof outcome->how);
    else if (ended == process->pid && WIFEXITED(status))
        snprintf(outcome->how, sizeof outcome->how, "ended the process (exit code %d)", WEXITSTATUS(status));
    else
        snprintf(outcome->how, sizeof outcome->how, "ended the process");
    outcome->stopped =
        !unwanted && ended == process->pid && WIFSIGNALED(status) &&
        (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGHUP);
    describe_noise(process, outcome->noise, sizeof outcome->noise);
    if (outcome->noise[0] != '\0')
        claret_debug("OpenCL drivers wrote while devices were listed%s", outcome->noise);
    close(process->stream);
}

enum claret_status claret_process_run(const struct claret_enumerate_options *options,
                                      const struct claret_drivers *drivers,
                                      const struct claret_devices *known, const struct claret_trust *trust,
                                      bool list_only, struct claret_devices **devices,
                                      struct claret_outcome *outcome)
{
    struct claret_child child = {.known = known,
                                 .drivers = drivers,
                                 .trust = trust,
                                 .list_seconds = options->list_seconds,
                                 .step_seconds = options->step_seconds,
                                 .list_only = list_only};
    struct process process = {.line = malloc(LINE_BYTES)};
    struct claret_devices *told = NULL;
    enum claret_status status;

    *outcome = (struct claret_outcome){0};
    if (process.line == NULL)
        return claret_no_memory();
    CLARET_GOTO(out, claret_devices_create(&told));
    CLARET_GOTO(out, start(&process, &child));
    status = listen_to(&process, options, told, &outcome->timed_out);
    finish(&process, told->listed ? options->step_seconds : options->list_seconds,
           outcome->timed_out || status != CLARET_OK, outcome);
    if (status == CLARET_FORMAT) { /* the driver's fault, like a crash */
        claret_error_clear();
        status = CLARET_OK;
    }
    if (status == CLARET_OK && outcome->stopped)
        status = claret_fail(CLARET_STOPPED, "stopped while devices were being listed");
out:
    free(process.line);
    if (status == CLARET_OK)
        *devices = told;
    else
        claret_devices_destroy(told);
    return status;
}
