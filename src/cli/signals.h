/* SIGINT and SIGTERM: the first one stops the session after its step, a second one ends the process. */
#ifndef CLARET_CLI_SIGNALS_H
#define CLARET_CLI_SIGNALS_H

#include <claret/claret.h>

/* At the start, before a driver installs handlers of its own: which signals the process was started to
 * ignore. They stay ignored (nohup, a script's background). */
void cli_signals_start(void);
/* From now on. */
void cli_signals_catch(struct claret_session *session);
/* The signal that came, 0: none. */
int cli_signals_caught(void);
/* The session is about to go: a signal is only remembered. */
void cli_signals_forget_session(void);
/* Gives the signal that came its usual effect, so that the shell sees it. Returns if it has none. */
void cli_signals_raise(void);

#endif
