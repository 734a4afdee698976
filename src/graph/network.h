/* The public handle: a parsed network with its name. */
#ifndef CLARET_GRAPH_NETWORK_H
#define CLARET_GRAPH_NETWORK_H

#include "spec/spec.h"

struct claret_network {
    char *name, *text;
    struct claret_spec *spec;
    int classes;
    bool built_in;
};

#endif
