#include "log.h"

#include <stdarg.h>

#include "text.h"

static claret_log_fn log_function;
static void *log_user;

void claret_set_log(claret_log_fn log, void *user)
{
    log_function = log;
    log_user = user;
}

static void say(enum claret_log_level level, const char *format, va_list arguments)
{
    struct claret_text text = {0};

    if (!log_function)
        return;
    claret_text_vadd(&text, format, arguments);
    if (!text.failed)
        log_function(log_user, level, text.data);
    claret_text_drop(&text);
}

void claret_warn(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(CLARET_LOG_WARNING, format, arguments);
    va_end(arguments);
}

void claret_info(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(CLARET_LOG_INFO, format, arguments);
    va_end(arguments);
}

void claret_debug(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(CLARET_LOG_DEBUG, format, arguments);
    va_end(arguments);
}
