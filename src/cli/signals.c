/* Signals. */
#include "cli/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static volatile sig_atomic_t caught;
static struct claret_session *_Atomic session_to_stop;

static void on_signal(int number)
{
    if (caught) {
        /* Blocked while it is handled: it takes effect on return. */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    caught = number;
    struct claret_session *session = atomic_load(&session_to_stop);
    if (session)
        claret_session_stop(session);
}

void cli_signals_catch(struct claret_session *session)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;

    atomic_store(&session_to_stop, session);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void cli_signals_forget_session(void)
{
    atomic_store(&session_to_stop, NULL);
}

int cli_signals_caught(void)
{
    return caught;
}

void cli_signals_raise(void)
{
    signal(caught, SIG_DFL);
    raise(caught);
}
