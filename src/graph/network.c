/* The public network handle: its text, parsed and found to fit. */
#include "graph/network.h"

#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/text.h"
#include "graph/graph.h"

#define TEXT_LIMIT (16 << 20)

/* Shapes are the same at every batch size, so one image tells whether the layers fit. */
static enum claret_status check_shapes(struct claret_network *network)
{
    struct claret_graph_options options = {.batch = 1};
    struct claret_graph *graph;
    CLARET_TRY(claret_graph_create(network->spec, &options, &graph));
    network->classes = (int)graph->classes;
    claret_graph_destroy(graph);
    return CLARET_OK;
}

/* "folder/mine.net" is called "mine". */
static char *name_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *name = claret_strdup(slash ? slash + 1 : file);
    if (name && claret_ends_in(name, ".net"))
        name[strlen(name) - strlen(".net")] = 0;
    return name;
}

static enum claret_status parse(const char *text, const char *file, struct claret_network **result)
{
    struct claret_network *network = calloc(1, sizeof *network);
    enum claret_status status = CLARET_OK;
    if (!network)
        return claret_no_memory();
    network->name = name_of(file);
    network->text = claret_strdup(text);
    if (!network->name || !network->text) {
        status = claret_no_memory();
        goto fail;
    }
    CLARET_GOTO(fail, claret_spec_parse(text, file, claret_op_schemas(), &network->spec));
    CLARET_GOTO(fail, check_shapes(network));
    *result = network;
    return CLARET_OK;
fail:
    claret_network_destroy(network);
    return status;
}

enum claret_status claret_network_parse(const char *text, const char *name, struct claret_network **network)
{
    claret_error_clear();
    if (!text || !name || !network)
        return claret_fail(CLARET_INVALID, "claret_network_parse: an argument is NULL");
    return parse(text, name, network);
}

static const char *zoo_name(int index, const void *user)
{
    (void)user;
    return claret_network_zoo((size_t)index);
}

static enum claret_status no_network(const char *path, bool weights)
{
    return claret_fail(CLARET_NETWORK, "%s: %s", path,
                       weights
                           ? "these are weights (safetensors), no network text: claret train takes them by "
                             "--init, claret eval and claret predict by --weights"
                           : "this is no network text: it holds a zero byte");
}

static enum claret_status load_file(const char *path, struct claret_network **network)
{
    char *text;
    size_t size;
    CLARET_TRY(claret_file_read(path, TEXT_LIMIT, &text, &size));
    enum claret_status status;
    if (memchr(text, 0, size))
        status = no_network(path, size > 8 && text[8] == '{');
    else
        status = parse(text, path, network);
    free(text);
    return status;
}

enum claret_status claret_network_load(const char *name, struct claret_network **network)
{
    claret_error_clear();
    if (!name || !network)
        return claret_fail(CLARET_INVALID, "claret_network_load: an argument is NULL");
    if (claret_ends_in(name, ".safetensors"))
        return no_network(name, true);
    if (strchr(name, '/') || claret_ends_in(name, ".net"))
        return load_file(name, network);
    for (size_t i = 0; claret_network_zoo(i); i++)
        if (strcmp(claret_network_zoo(i), name) == 0) {
            CLARET_TRY(parse(claret_model_files[i].text, claret_model_files[i].name, network));
            (*network)->built_in = true;
            return CLARET_OK;
        }
    int near = claret_nearest(name, zoo_name, NULL);
    struct claret_text known = {0};
    for (size_t i = 0; claret_network_zoo(i); i++)
        claret_text_add(&known, "%s%s", i ? ", " : "", claret_network_zoo(i));
    enum claret_status status = claret_fail(
        CLARET_NOT_FOUND,
        "no built-in network is called '%s'%s%s%s: there are %s; a file's path has a '/' or ends in .net",
        name, near >= 0 ? " (did you mean '" : "", near >= 0 ? zoo_name(near, NULL) : "",
        near >= 0 ? "'?)" : "", known.data ? known.data : "none");
    claret_text_drop(&known);
    return status;
}

void claret_network_destroy(struct claret_network *network)
{
    if (!network)
        return;
    claret_spec_destroy(network->spec);
    free(network->name);
    free(network->text);
    free(network);
}

const char *claret_network_name(const struct claret_network *network)
{
    return network->name;
}

const char *claret_network_text(const struct claret_network *network)
{
    return network->text;
}

void claret_network_shape(const struct claret_network *network, int input[3], int *classes)
{
    for (int i = 0; i < 3; i++)
        input[i] = (int)network->spec->input[i];
    *classes = network->classes;
}

const char *claret_network_zoo(size_t index)
{
    static _Thread_local char name[64];
    for (size_t i = 0; claret_model_files[i].name; i++)
        if (i == index) {
            size_t length = strlen(claret_model_files[i].name) - strlen(".net");
            length = length < sizeof name - 1 ? length : sizeof name - 1;
            memcpy(name, claret_model_files[i].name, length);
            name[length] = 0;
            return name;
        }
    return NULL;
}
