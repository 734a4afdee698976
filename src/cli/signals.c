/* Signals. */
#include "cli/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static const int numbers[] = {SIGINT, SIGTERM};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))
static bool ignored[NUMBERS];
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

void cli_signals_start(void)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        struct sigaction action;
        ignored[i] = sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
}

void cli_signals_catch(struct claret_session *session)
{
    struct sigaction action = {.sa_flags = SA_RESTART};

    atomic_store(&session_to_stop, session);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NUMBERS; i++) {
        /* Ignoring is set again too: a driver's compiler (LLVM) has put its own handler there, which on its
         * first signal gives every signal back the disposition that it found, ours lost. */
        action.sa_handler = ignored[i] ? SIG_IGN : on_signal;
        sigaction(numbers[i], &action, NULL);
    }
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
