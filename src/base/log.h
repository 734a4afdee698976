/* Messages to the program's callback (claret_set_log). */
#ifndef CLARET_BASE_LOG_H
#define CLARET_BASE_LOG_H

#include <claret/claret.h>

void claret_warn(const char *format, ...) CLARET_PRINTF(1, 2);
void claret_info(const char *format, ...) CLARET_PRINTF(1, 2);
void claret_debug(const char *format, ...) CLARET_PRINTF(1, 2);

#endif
