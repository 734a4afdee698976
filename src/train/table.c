#include "train/table.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define LEAST_PAUSE 1.0 /* seconds */
#define PAUSE 50        /* times as long as writing took: it takes 2% of the time at most */

enum claret_status claret_table_init(struct claret_table *table, const char *folder, const char *name,
                                     const char *text)
{
    *table = (struct claret_table){.path = claret_path_join(folder, name)};
    if (*text)
        claret_text_add(&table->rows, "%s", text);
    return table->path && !table->rows.failed ? CLARET_OK : claret_no_memory();
}

void claret_table_drop(struct claret_table *table)
{
    free(table->path);
    claret_text_drop(&table->rows);
    *table = (struct claret_table){0};
}

const char *claret_table_text(const struct claret_table *table)
{
    return table->rows.size ? table->rows.data : "";
}

enum claret_status claret_table_write(struct claret_table *table)
{
    double start = claret_clock();

    if (table->rows.failed)
        return claret_no_memory();
    if (table->rows.size)
        CLARET_TRY(claret_file_write(table->path, table->rows.data, table->rows.size));
    else
        unlink(table->path);
    table->written = table->rows.size;
    double end = claret_clock(), pause = PAUSE * (end - start);
    table->next = end + (pause > LEAST_PAUSE ? pause : LEAST_PAUSE);
    return CLARET_OK;
}

enum claret_status claret_table_renew(struct claret_table *table)
{
    return claret_clock() < table->next ? CLARET_OK : claret_table_write(table);
}
