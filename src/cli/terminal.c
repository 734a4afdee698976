/* Standard output and standard error. */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
    const char *program;
    bool quiet, verbose, progress, json;
    bool clever; /* standard error is a terminal that can erase a line */
    bool colour;
    int out_error;           /* errno of the first failed write to standard output */
    bool out_said;           /* and it has been said */
    atomic_bool progress_on; /* a progress line stands on the terminal */
} terminal = {.program = "claret"};

#define ERASE "\r\033[K"
#define RED "\033[1;31m"
#define YELLOW "\033[1;33m"
#define PLAIN "\033[0m"

/* The library's messages may come from any of its threads: one call of stdio each, which locks. */
static void on_log(void *user, enum claret_log_level level, const char *message)
{
    (void)user;
    if ((level == CLARET_LOG_INFO && terminal.quiet) || (level == CLARET_LOG_DEBUG && !terminal.verbose))
        return;
    const char *erase = atomic_exchange(&terminal.progress_on, false) ? ERASE : "";
    if (level == CLARET_LOG_WARNING)
        fprintf(stderr, "%s%s%s: warning:%s %s\n", erase, terminal.colour ? YELLOW : "", terminal.program,
                terminal.colour ? PLAIN : "", message);
    else
        fprintf(stderr, "%s%s\n", erase, message);
}

void cli_terminal_start(const char *program)
{
    const char *kind = getenv("TERM"), *plain = getenv("NO_COLOR");

    terminal.program = program;
    /* A closed 0, 1 or 2 would be the number of the next file opened, and output would end up in it. These
     * give an error when they are used. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(1);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    terminal.clever = isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
    terminal.colour = terminal.clever && !(plain && plain[0]);
    claret_set_log(on_log, NULL);
}

void cli_terminal_set(bool quiet, bool verbose, bool progress, bool json)
{
    terminal.quiet = quiet && !verbose;
    terminal.verbose = verbose;
    terminal.progress = progress && terminal.clever && !terminal.quiet;
    terminal.json = json;
}

/* ---- standard output ---------------------------------------------------------------------------- */

static bool out_check(bool written)
{
    if (!written && !terminal.out_error)
        terminal.out_error = errno ? errno : EIO;
    return !terminal.out_error;
}

bool cli_out(const char *format, ...)
{
    va_list arguments;

    if (terminal.json && terminal.quiet)
        return true; /* the object has it all, and standard error is to have nothing */
    cli_progress_clear();
    va_start(arguments, format);
    errno = 0;
    bool written = vfprintf(terminal.json ? stderr : stdout, format, arguments) >= 0;
    va_end(arguments);
    return terminal.json || out_check(written && !ferror(stdout));
}

void cli_out_json(const char *text)
{
    cli_progress_clear();
    errno = 0;
    out_check(puts(text) >= 0 && !ferror(stdout));
}

const char *cli_out_error(void)
{
    terminal.out_said = terminal.out_said || terminal.out_error;
    return terminal.out_error ? strerror(terminal.out_error) : NULL;
}

bool cli_terminal_end(void)
{
    cli_progress_clear();
    errno = 0;
    out_check(fflush(stdout) == 0 && !ferror(stdout));
    out_check(fclose(stdout) == 0);
    /* A reader that has seen enough needs no message. */
    if (terminal.out_error && terminal.out_error != EPIPE && !terminal.out_said)
        cli_error("standard output cannot be written: %s", strerror(terminal.out_error));
    return !terminal.out_error;
}

/* ---- standard error ----------------------------------------------------------------------------- */

void cli_error(const char *format, ...)
{
    va_list arguments;

    cli_progress_clear();
    fprintf(stderr, "%s%s:%s ", terminal.colour ? RED : "", terminal.program, terminal.colour ? PLAIN : "");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void cli_warning(const char *format, ...)
{
    va_list arguments;

    cli_progress_clear();
    fprintf(stderr, "%s%s: warning:%s ", terminal.colour ? YELLOW : "", terminal.program,
            terminal.colour ? PLAIN : "");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void cli_note(const char *format, ...)
{
    va_list arguments;

    if (terminal.quiet)
        return;
    cli_progress_clear();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

bool cli_progress_wanted(void)
{
    return terminal.progress;
}

void cli_progress(const char *format, ...)
{
    char line[256];
    struct winsize size = {0};
    va_list arguments;

    if (!terminal.progress)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    /* A line that wraps cannot be erased. */
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_col < sizeof(line))
        line[size.ws_col - 1] = '\0';
    fprintf(stderr, ERASE "%s", line);
    atomic_store(&terminal.progress_on, true);
}

void cli_progress_clear(void)
{
    if (atomic_exchange(&terminal.progress_on, false))
        fputs(ERASE, stderr);
}
