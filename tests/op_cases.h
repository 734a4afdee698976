/* The table of small networks that all op tests run over: one row is one case. */
#ifndef CLARET_TESTS_OP_CASES_H
#define CLARET_TESTS_OP_CASES_H

#include "graph/graph.h"

struct claret_op_case {
    const char *name;   /* unique; NULL ends the table */
    const char *input;  /* channels height width */
    const char *layers; /* the layers after the input, ';' between them */
    int batch;
    bool small; /* cheap enough for emulators, sanitizers and finite differences */
    struct claret_loss loss;
};
extern const struct claret_op_case claret_op_cases[];

/* The case's network as text, malloc'ed. */
char *claret_op_case_text(const struct claret_op_case *row);
/* Its graph; options->batch is the case's. Destroy both, the graph first. */
enum claret_status claret_op_case_graph(const struct claret_op_case *row,
                                        const struct claret_graph_options *options, struct claret_spec **spec,
                                        struct claret_graph **graph);

#endif
