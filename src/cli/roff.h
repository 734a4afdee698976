/* What the build's tools that write manual pages share: all print to standard output. */
#ifndef CLARET_CLI_ROFF_H
#define CLARET_CLI_ROFF_H

#include <stdbool.h>

/* Text in roff: no macro at a line's start, '-' as it is typed. */
void cli_roff(const char *text);
/* A line of text between two pieces of roff. */
void cli_roff_line(const char *before, const char *text, const char *after);
void cli_roff_paragraph(const char *text);
/* A name, and what it is. */
void cli_roff_entry(const char *name, const char *text);
/* letter 0: none; argument NULL: a switch; value: its default, NULL: none worth telling. */
void cli_roff_flag(char letter, const char *name, const char *argument, const char *help, const char *value);
/* The page's title and its section NAME. */
void cli_roff_head(const char *name, const char *summary);
/* signals: of a program that saves what it has when one interrupts it. device: of one that uses a device. */
void cli_roff_exit_status(bool signals);
void cli_roff_environment(bool device);

#endif
