/* A case's text and graph. */
#include "op_cases.h"

#include <stdlib.h>

#include "base/text.h"

char *claret_op_case_text(const struct claret_op_case *row)
{
    struct claret_text text = {0};
    char *result = NULL;
    claret_text_add(&text, "input %s\n%s\n", row->input, row->layers);
    for (char *at = text.data; at && *at; at++)
        if (*at == ';')
            *at = '\n';
    return claret_text_take(&text, &result) == CLARET_OK ? result : NULL;
}

enum claret_status claret_op_case_graph(const struct claret_op_case *row,
                                        const struct claret_graph_options *options, struct claret_spec **spec,
                                        struct claret_graph **graph)
{
    struct claret_graph_options with_batch = *options;
    with_batch.batch = row->batch;
    with_batch.loss = row->loss;
    char *text = claret_op_case_text(row);
    enum claret_status status =
        text ? claret_spec_parse(text, row->name, claret_op_schemas(), spec) : claret_no_memory();
    free(text);
    if (status != CLARET_OK)
        return status;
    status = claret_graph_create(*spec, &with_batch, graph);
    if (status != CLARET_OK) {
        claret_spec_destroy(*spec);
        *spec = NULL;
    }
    return status;
}
