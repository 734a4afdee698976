#include "status.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* The record is of fixed size so that running out of memory can be recorded too. A long text (a build log)
 * is cut at MESSAGE_SIZE, which leaves room for the context lines that are added on the way up. */
#define RECORD_SIZE 16384
#define MESSAGE_SIZE (RECORD_SIZE - 2048)

static _Thread_local struct {
    bool set;
    char text[RECORD_SIZE];
} record;

static const char *const status_names[] = {
#define X(symbol, text) "CLARET_" #symbol,
    CLARET_STATUS_LIST(X)
#undef X
};

const char *claret_status_name(enum claret_status status)
{
    if ((unsigned)status >= CLARET_STATUS_COUNT)
        return "CLARET_?";
    return status_names[status];
}

const char *claret_error(void)
{
    return record.set ? record.text : "";
}

const char *claret_version(void)
{
    return CLARET_VERSION;
}

void claret_error_clear(void)
{
    record.set = false;
}

/* Prints to record.text[start .. limit), without final newlines, whole UTF-8 characters only. */
static void print_at(size_t start, size_t limit, const char *format, va_list arguments)
{
    static const char cut[] = "\n[cut]";
    char *text = record.text + start;
    size_t room = limit - start;
    int length = claret_vprint(text, room, format, arguments);
    size_t size;

    if (length < 0) {
        text[0] = '\0';
        return;
    }
    size = (size_t)length;
    if (size >= room) {
        size = room - sizeof(cut);
        while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80)
            size--;
        memcpy(text + size, cut, sizeof(cut));
        size = strlen(text);
    }
    while (size > 0 && text[size - 1] == '\n')
        text[--size] = '\0';
    /* Names out of files end up here, and this ends up on terminals. */
    for (size_t i = 0; i < size; i++) {
        if (((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') || text[i] == 127)
            text[i] = '?';
    }
}

enum claret_status(claret_fail)(enum claret_status status, const char *format, ...)
{
    va_list arguments;

    if (record.set)
        return status;
    va_start(arguments, format);
    print_at(0, MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    record.set = true;
    return status;
}

void claret_error_context(const char *format, ...)
{
    va_list arguments;
    size_t size;

    if (!record.set)
        return;
    size = strlen(record.text);
    if (size + 64 > RECORD_SIZE)
        return;
    record.text[size++] = '\n';
    va_start(arguments, format);
    print_at(size, RECORD_SIZE, format, arguments);
    va_end(arguments);
}

char *claret_error_take(void)
{
    char *text = record.set ? claret_strdup(record.text) : NULL;

    record.set = false;
    return text;
}

void claret_error_give(char *text)
{
    if (text)
        claret_fail(CLARET_INTERNAL, "%s", text);
    free(text);
}
