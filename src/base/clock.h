/* Time that only goes forward. */
#ifndef CLARET_BASE_CLOCK_H
#define CLARET_BASE_CLOCK_H

/* Seconds since some moment of the past. */
double claret_clock(void);

#endif
