/* What the bench's files share. */
#ifndef CLARET_TOOLS_BENCH_H
#define CLARET_TOOLS_BENCH_H

#include <jansson.h>

#include "base/clock.h"
#include "bench_flags.h"
#include "rt/rt.h"
#include "train/session.h"

/* ---- numbers (bench_output.c) ---------------------------------------------------------------------------
 */

struct bench_spread {
    double median, min, max;
};
/* Sorts `values`; count > 0. */
struct bench_spread bench_spread(double *values, size_t count);
double bench_median(double *values, size_t count);

/* ---- results (bench_output.c) ---------------------------------------------------------------------------
 */

/* null where the number is not finite. */
void bench_set(json_t *object, const char *key, double number);
/* {"median", "min", "max"}, each times `scale`. */
void bench_set_spread(json_t *object, const char *key, const struct bench_spread *spread, double scale);

struct bench_column {
    const char *key, *title;
    const char *format; /* of a double; NULL: a text, to the left */
    double scale;
};
/* For people: a line for each row, columns until a NULL key. */
void bench_print_rows(const json_t *rows, const struct bench_column *columns);
/* Every number and text of the results as a table with commas: the elements of a result's array of objects
 * are rows, what else it holds is repeated in front of each. */
int bench_print_csv(const json_t *results);

/* ---- a device's limits (bench_device.c) -----------------------------------------------------------------
 */

#define BENCH_WIDTHS 4
#define BENCH_COPY_SIZES 7

struct bench_roof {
    struct bench_spread flops[BENCH_WIDTHS];         /* a second, by vectors of 1, 4, 8, 16 */
    uint64_t copy_bytes[BENCH_COPY_SIZES];           /* read and written by one pass; 0: not measured */
    struct bench_spread copy_rate[BENCH_COPY_SIZES]; /* bytes a second */
    struct bench_spread launch, queued, read_back;   /* seconds */
};
/* `repeat` times `seconds` for each number. */
enum claret_status bench_roof_measure(struct claret_rt *rt, double seconds, int repeat,
                                      struct bench_roof *roof);
/* The least time that so much arithmetic and so many bytes take; NAN where neither is known. */
double bench_roof_seconds(const struct bench_roof *roof, double flops, double bytes);

/* ---- commands: one device each --------------------------------------------------------------------------
 */

enum claret_status bench_device(const struct bench_args *args, json_t *result);
enum claret_status bench_step(const struct bench_args *args, json_t *result);
enum claret_status bench_ops(const struct bench_args *args, json_t *result);
enum claret_status bench_train(const struct bench_args *args, json_t *result);
/* No device: two files. Returns the exit code. */
int bench_compare(const struct bench_args *args);

/* Prints claret_error() and returns `code`. */
int bench_failed(int code);
/* A device without a session, as the options say. */
enum claret_status bench_open(const struct bench_args *args, struct claret_rt **rt);
/* "NAME, PLATFORM, driver VERSION" of what `rt` runs on, as "device". */
void bench_set_device(json_t *result, const struct claret_rt *rt);

#endif
