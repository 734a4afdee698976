/* Words of a command line that is shown for others to copy. Compiled into the command too. */
#ifndef CLARET_BASE_SHELL_H
#define CLARET_BASE_SHELL_H

/* `text` as a shell reads it back: itself, or in single quotes where it has to be. malloc'ed; NULL: out of
 * memory. */
char *claret_shell_word(const char *text);

#endif
