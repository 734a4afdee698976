/* What parent and worker tell each other of a device and of a graph's options. */
#ifndef CLARET_TUNE_DESCRIBE_H
#define CLARET_TUNE_DESCRIBE_H

#include <jansson.h>

#include "graph/graph.h"

json_t *claret_device_to_json(const struct claret_device_desc *device);
/* The texts are borrowed from `json`. */
void claret_device_from_json(const json_t *json, struct claret_device_desc *device);
json_t *claret_graph_options_to_json(const struct claret_graph_options *options);
void claret_graph_options_from_json(const json_t *json, struct claret_graph_options *options);

#endif
