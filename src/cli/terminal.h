/* What a person or a script sees: the lines that are promised on standard output, everything else on standard
 * error, a progress line on a terminal. Numbers have a point whatever the locale is (main.c sets LC_NUMERIC).
 */
#ifndef CLARET_CLI_TERMINAL_H
#define CLARET_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include <claret/claret.h>

/* Before anything is printed. `program` stands before errors. */
void cli_terminal_start(const char *program);
/* json: what cli_out() prints goes to standard error, with quiet nowhere. */
void cli_terminal_set(bool quiet, bool verbose, bool progress, bool json);

/* Promised lines. false: standard output cannot be written; cli_terminal_end() says so. */
bool cli_out(const char *format, ...) CLARET_PRINTF(1, 2);
/* The one JSON object. */
void cli_out_json(const char *text);
/* Why standard output cannot be written, NULL: it can. Who asks says it: cli_terminal_end() will not. */
const char *cli_out_error(void);

void cli_error(const char *format, ...) CLARET_PRINTF(1, 2);
void cli_warning(const char *format, ...) CLARET_PRINTF(1, 2);
void cli_note(const char *format, ...) CLARET_PRINTF(1, 2); /* not with --quiet */
void cli_progress(const char *format, ...) CLARET_PRINTF(1, 2);
void cli_progress_clear(void);
bool cli_progress_wanted(void);

/* Flushes and closes standard output. false: something of it was lost; says so, unless it was a pipe whose
 * reader went away. */
bool cli_terminal_end(void);

#endif
