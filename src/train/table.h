/* A CSV file of a run's folder, which grows while training goes on: its rows so far are in memory, and each
 * writing makes the whole file anew, so that it can be looked at any time. */
#ifndef CLARET_TRAIN_TABLE_H
#define CLARET_TRAIN_TABLE_H

#include "base/text.h"

struct claret_table {
    char *path;
    struct claret_text rows; /* with their head; empty: there is to be no file */
    size_t written;          /* bytes of them that the file has; 0: it is another's, or not there */
    double next;             /* when it may be renewed again */
};

/* `name` in `folder`, beginning with `text`. */
enum claret_status claret_table_init(struct claret_table *table, const char *folder, const char *name,
                                     const char *text);
void claret_table_drop(struct claret_table *table);
/* The rows, "": none. Valid until one is added. */
const char *claret_table_text(const struct claret_table *table);
/* Writes the file, or removes one that is there where there are no rows. */
enum claret_status claret_table_write(struct claret_table *table);
/* The same, but not again before 50 times as long as it took last, at least a second: large tables and short
 * epochs do not make writing what a training does. */
enum claret_status claret_table_renew(struct claret_table *table);

#endif
