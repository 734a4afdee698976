/* --help, and what it shares with the manual pages. */
#ifndef CLARET_CLI_HELP_H
#define CLARET_CLI_HELP_H

#include "cli/flags.h"

/* Both print to standard output. */
void cli_help(void);
void cli_help_command(enum cli_command_id command, const struct claret_options *defaults);

/* The default worth showing for a flag, NULL: none. */
const char *cli_flag_default(const struct cli_flag *flag, const struct claret_options *defaults);

#endif
