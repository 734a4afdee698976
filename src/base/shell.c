#include "base/shell.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-"

char *claret_shell_word(const char *text)
{
    size_t length = strlen(text), quotes = 0, at = 0;

    if (length && strspn(text, PLAIN) == length)
        return strdup(text);
    for (const char *c = text; *c; c++)
        quotes += *c == '\'';
    char *word = malloc(length + 3 * quotes + 3); /* a quote is '\'' there */
    if (!word)
        return NULL;
    word[at++] = '\'';
    for (const char *c = text; *c; c++) {
        if (*c == '\'') {
            memcpy(word + at, "'\\'", 3);
            at += 3;
        }
        word[at++] = *c;
    }
    word[at++] = '\'';
    word[at] = '\0';
    return word;
}
