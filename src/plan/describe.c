/* A network's layer table (`claret show`): shapes, parameters, multiply-adds, and the bytes that training
 * needs. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "graph/network.h"
#include "plan/plan.h"

struct row {
    const char *name, *op;
    char shape[96];
    int64_t params;
    double multiply_adds;
};

struct table {
    struct row *rows;
    int count;
    int64_t params, frozen; /* frozen: of params */
    double multiply_adds;   /* of one image */
    uint64_t training_bytes;
};

/* A row for each layer, which may have several nodes, one behind the other. */
static void fill_rows(struct table *table, const struct claret_graph *graph)
{
    for (int i = 0, layer = -1; i < graph->node_count; i++) {
        const struct claret_node *node = &graph->nodes[i];
        if (node->layer < 0)
            continue;
        table->count += node->layer != layer;
        layer = node->layer;
        struct row *row = &table->rows[table->count - 1];
        int64_t before = row->params;
        row->name = graph->spec->layers[node->layer].name;
        row->op = graph->spec->layers[node->layer].schema->name;
        claret_shape_format(&graph->tensors[node->out[0]].shape, 1, row->shape);
        for (int j = 0; j < node->in_count; j++) {
            const struct claret_tensor *in = node->in[j] >= 0 ? &graph->tensors[node->in[j]] : NULL;
            if (!in || in->home != CLARET_HOME_PARAMS)
                continue;
            row->params += claret_shape_count(&in->shape);
            table->frozen += in->frozen ? claret_shape_count(&in->shape) : 0;
        }
        if (node->op->multiply_adds)
            row->multiply_adds += node->op->multiply_adds(node, graph->tensors);
        table->params += row->params - before;
    }
    for (int i = 0; i < table->count; i++)
        table->multiply_adds += table->rows[i].multiply_adds;
}

#define UNITS 8 /* of a device nobody named: partial sums are kept for each */

/* On a device of that kind which allows everything at once, its layers fused as they are there; what one
 * device needs in particular (CLBlast's workspace, say) is not in it. */
static enum claret_status bytes_on(const struct claret_spec *spec, int batch, const char *freeze,
                                   enum claret_device_class kind, uint64_t *bytes)
{
    const bool vectors = kind == CLARET_CLASS_CPU, tiles = kind == CLARET_CLASS_GPU;
    struct claret_device_desc device;
    claret_device_desc_default(&device);
    device.kind = kind;
    device.max_alloc = INT64_MAX;
    device.local_mem = 1 << 20;
    device.float_width = vectors ? 16 : 1;
    device.compute_units = UNITS;
    struct claret_graph_options options = {.batch = batch,
                                           .training = true,
                                           .optimizer.momentum = 0.9,
                                           .fuse = vectors || tiles,
                                           .fuse_update = vectors || tiles,
                                           .tiles = tiles,
                                           .channels_last = vectors,
                                           .freeze = freeze};
    struct claret_plan_options plan_options = {.device = &device};
    struct claret_graph *graph = NULL;
    struct claret_plan *plan = NULL;
    enum claret_status status;
    CLARET_GOTO(end, claret_graph_create(spec, &options, &graph));
    CLARET_GOTO(end, claret_plan_create(graph, &plan_options, &plan));
    *bytes = claret_plan_bytes(plan);
end:
    claret_plan_destroy(plan);
    claret_graph_destroy(graph);
    return status;
}

/* Kernels of one kind of device keep more than those of another: the most is told. */
static enum claret_status training_bytes(const struct claret_spec *spec, int batch, const char *freeze,
                                         uint64_t *most)
{
    static const enum claret_device_class kinds[] = {CLARET_CLASS_CPU, CLARET_CLASS_GPU};
    *most = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t bytes = 0;
        CLARET_TRY(bytes_on(spec, batch, freeze, kinds[i], &bytes));
        *most = bytes > *most ? bytes : *most;
    }
    return CLARET_OK;
}

static enum claret_status make_table(const struct claret_network *network, int batch, const char *freeze,
                                     struct table *table, struct claret_graph **graph)
{
    struct claret_graph_options options = {.batch = 1, .freeze = freeze};
    if (batch < 1)
        return claret_fail(CLARET_INVALID, "batch size %d: at least 1 is wanted", batch);
    CLARET_TRY(claret_graph_create(network->spec, &options, graph));
    table->rows = calloc((size_t)network->spec->layer_count, sizeof *table->rows);
    if (!table->rows)
        return claret_no_memory();
    fill_rows(table, *graph);
    if (table->params)
        CLARET_TRY(training_bytes(network->spec, batch, freeze, &table->training_bytes));
    return CLARET_OK;
}

/* 1234567 as "1,234,567" */
static const char *grouped(double value, char buffer[40])
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", value), out = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            buffer[out++] = ',';
        buffer[out++] = digits[i];
    }
    buffer[out] = 0;
    return buffer;
}

static void format_table(const struct claret_network *network, int batch, const struct table *table,
                         struct claret_text *text)
{
    char params[40], multiply_adds[40], bytes[32], exact[40];
    const int64_t *input = network->spec->input;
    int name_width = 5;
    for (int i = 0; i < table->count; i++)
        if ((int)strlen(table->rows[i].name) > name_width)
            name_width = (int)strlen(table->rows[i].name);
    claret_text_add(text, "%s: input %" PRId64 "x%" PRId64 "x%" PRId64 ", %d classes\n\n", network->name,
                    input[0], input[1], input[2], network->classes);
    claret_text_add(text, "%-*s  %-14s %-14s %14s %18s\n", name_width, "layer", "op", "output", "parameters",
                    "multiply-adds");
    for (int i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        claret_text_add(text, "%-*s  %-14s %-14s %14s %18s\n", name_width, row->name, row->op, row->shape,
                        grouped((double)row->params, params), grouped(row->multiply_adds, multiply_adds));
    }
    claret_text_add(text, "%-*s  %-14s %-14s %14s %18s\n\n", name_width, "total", "", "",
                    grouped((double)table->params, params), grouped(table->multiply_adds, multiply_adds));
    claret_text_add(text, "Parameters: %s (%s)\n", grouped((double)table->params, params),
                    claret_format_bytes((uint64_t)table->params * 4, bytes));
    if (table->frozen)
        claret_text_add(text, "Frozen: %s of them\n", grouped((double)table->frozen, params));
    claret_text_add(text, "Multiply-adds: %s for one image, forward\n",
                    grouped(table->multiply_adds, multiply_adds));
    if (table->params)
        claret_text_add(text, "Training at batch size %d: about %s (%s bytes) on the device\n", batch,
                        claret_format_bytes(table->training_bytes, bytes),
                        grouped((double)table->training_bytes, exact));
}

static json_t *value_json(const struct claret_attr *attr)
{
    switch (attr->def->type) {
    case CLARET_ATTR_PAIR:
        return json_pack("[I,I]", (json_int_t)attr->i[0], (json_int_t)attr->i[1]);
    case CLARET_ATTR_BOOL:
        return json_boolean(attr->i[0] != 0);
    case CLARET_ATTR_FLOAT:
        return json_real(attr->f);
    case CLARET_ATTR_WORD:
        return json_string(attr->def->words[attr->i[0]]);
    default:
        return json_integer((json_int_t)attr->i[0]);
    }
}

/* What the layer's line says, with defaults (a pool's stride, not given: 0,0), and the layers that it reads,
 * -1 for the input. */
static void add_line(json_t *object, const struct claret_layer *layer)
{
    json_t *from = json_array(), *attributes = json_object();
    for (int i = 0; i < layer->from_count; i++)
        json_array_append_new(from, json_integer(layer->from[i]));
    for (const struct claret_attr *attr = layer->attr; attr->def && attr->def->key; attr++)
        json_object_set_new(attributes, attr->def->key, value_json(attr));
    json_object_set_new(object, "from", from);
    json_object_set_new(object, "attributes", attributes);
}

static enum claret_status format_json(const struct claret_network *network, int batch,
                                      const struct table *table, char **text)
{
    const int64_t *input = network->spec->input;
    json_t *layers = json_array();
    for (int i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        json_t *object =
            json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", row->name, "op", row->op, "output", row->shape,
                      "parameters", (json_int_t)row->params, "multiply_adds", (json_int_t)row->multiply_adds);
        add_line(object, &network->spec->layers[i]);
        json_array_append_new(layers, object);
    }
    json_t *root =
        json_pack("{s:s, s:[I,I,I], s:i, s:o, s:I, s:I, s:I, s:i, s:I}", "name", network->name, "input",
                  (json_int_t)input[0], (json_int_t)input[1], (json_int_t)input[2], "classes",
                  network->classes, "layers", layers, "parameters", (json_int_t)table->params, "frozen",
                  (json_int_t)table->frozen, "multiply_adds", (json_int_t)table->multiply_adds, "batch_size",
                  batch, "training_bytes", (json_int_t)table->training_bytes);
    *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    return *text ? CLARET_OK : claret_no_memory();
}

static enum claret_status describe(const struct claret_network *network, int batch, const char *freeze,
                                   bool json, char **text)
{
    claret_error_clear();
    if (!network || !text)
        return claret_fail(CLARET_INVALID, "claret_network_describe: an argument is NULL");
    struct table table = {0};
    struct claret_graph *graph = NULL;
    enum claret_status status = make_table(network, batch, freeze, &table, &graph);
    if (status == CLARET_OK && json) {
        status = format_json(network, batch, &table, text);
    } else if (status == CLARET_OK) {
        struct claret_text out = {0};
        format_table(network, batch, &table, &out);
        status = claret_text_take(&out, text);
    }
    claret_graph_destroy(graph);
    free(table.rows);
    return status;
}

enum claret_status claret_network_describe(const struct claret_network *network, int batch_size,
                                           const char *freeze, char **text)
{
    return describe(network, batch_size, freeze, false, text);
}

enum claret_status claret_network_describe_json(const struct claret_network *network, int batch_size,
                                                const char *freeze, char **text)
{
    return describe(network, batch_size, freeze, true, text);
}
