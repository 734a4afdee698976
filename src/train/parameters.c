/* A session's parameters and running statistics: their list, first values, out of it and into it, files. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "base/rng.h"
#include "base/text.h"
#include "train/session.h"
#include "train/weights.h"

/* ---- on the device ---- */

static const struct claret_graph *graph_of(const struct claret_session *session)
{
    return session->train.graph ? session->train.graph : session->eval.graph;
}

/* Parameters, then buffers: what a weights file holds. */
static int saved_count(const struct claret_graph *graph)
{
    return graph->param_count + graph->buffer_count;
}

static int saved_tensor(const struct claret_graph *graph, int index)
{
    return index < graph->param_count ? graph->params[index] : graph->buffers[index - graph->param_count];
}

static const struct claret_plan *plan_of(const struct claret_session *session)
{
    return session->train.plan ? session->train.plan : session->eval.plan;
}

static const struct claret_place *place_of(const struct claret_session *session, size_t index)
{
    return &plan_of(session)->places[saved_tensor(graph_of(session), (int)index)];
}

enum claret_status claret_session_list_weights(struct claret_session *session)
{
    const struct claret_graph *graph = graph_of(session);
    session->weights = calloc((size_t)saved_count(graph) + 1, sizeof *session->weights);
    if (!session->weights)
        return claret_no_memory();
    for (int i = 0; i < saved_count(graph); i++) {
        const struct claret_tensor *tensor = &graph->tensors[saved_tensor(graph, i)];
        session->weights[i] = (struct claret_weight){
            .name = tensor->name, .shape = tensor->shape, .integer = tensor->dtype == CLARET_DTYPE_I32};
    }
    return CLARET_OK;
}

static const char *saved_name(int index, const void *user)
{
    const struct claret_graph *graph = user;
    return index < saved_count(graph) ? graph->tensors[saved_tensor(graph, index)].name : NULL;
}

enum claret_status claret_options_fit(const struct claret_options *options,
                                      const struct claret_network *network)
{
    claret_error_clear();
    if (!options || !network)
        return claret_fail(CLARET_INVALID, "claret_options_fit: options and network must not be NULL");
    /* Making a graph looks for the names of two of them. */
    struct claret_graph_options wanted = {
        .batch = 1, .freeze = options->freeze, .lr_for = options->lr_for, .lr = 1};
    struct claret_graph *graph;
    CLARET_TRY(claret_graph_create(network->spec, &wanted, &graph));
    enum claret_status status = claret_pattern_check("--reset", options->reset, saved_name, graph);
    claret_graph_destroy(graph);
    return status;
}

/* On the device integers are int32, on the host floats. */
static void convert(float *values, size_t count, bool to_device)
{
    for (size_t i = 0; i < count; i++) {
        int32_t integer;
        float value;
        if (to_device) {
            integer = (int32_t)values[i];
            memcpy(&values[i], &integer, sizeof integer);
        } else {
            memcpy(&integer, &values[i], sizeof integer);
            value = (float)integer;
            memcpy(&values[i], &value, sizeof value);
        }
    }
}

enum claret_status claret_session_read_tensor(struct claret_session *session, int tensor, float *values)
{
    const struct claret_tensor *of = &graph_of(session)->tensors[tensor];
    const struct claret_place *place = &plan_of(session)->places[tensor];
    CLARET_TRY(claret_pool_read(session->pool, place->buffer, place->offset, place->bytes, values));
    if (of->dtype == CLARET_DTYPE_I32)
        convert(values, (size_t)claret_shape_count(&of->shape), false);
    return CLARET_OK;
}

enum claret_status claret_session_write_tensor(struct claret_session *session, int tensor, float *values)
{
    const struct claret_tensor *of = &graph_of(session)->tensors[tensor];
    const struct claret_place *place = &plan_of(session)->places[tensor];
    if (of->dtype == CLARET_DTYPE_I32)
        convert(values, (size_t)claret_shape_count(&of->shape), true);
    return claret_pool_write(session->pool, place->buffer, place->offset, place->bytes, values);
}

static enum claret_status read_weight(struct claret_session *session, size_t index, float *values)
{
    return claret_session_read_tensor(session, saved_tensor(graph_of(session), (int)index), values);
}

/* `values` may be changed. */
static enum claret_status write_weight(struct claret_session *session, size_t index, float *values)
{
    return claret_session_write_tensor(session, saved_tensor(graph_of(session), (int)index), values);
}

static enum claret_status initialise(struct claret_session *session)
{
    const struct claret_graph *graph = graph_of(session);
    for (int i = 0; i < saved_count(graph); i++) {
        const struct claret_tensor *tensor = &graph->tensors[saved_tensor(graph, i)];
        size_t count = (size_t)claret_shape_count(&tensor->shape);
        float *values = malloc(count * sizeof *values);
        if (!values)
            return claret_no_memory();
        struct claret_rng rng;
        claret_rng_init(&rng, (uint64_t)session->options->seed, CLARET_STREAM_INIT, (uint32_t)i);
        for (size_t j = 0; j < count; j++)
            values[j] = tensor->init_bound > 0 ? (2 * claret_rng_float(&rng) - 1) * tensor->init_bound
                                               : tensor->init_value;
        enum claret_status status = write_weight(session, (size_t)i, values);
        free(values);
        CLARET_TRY(status);
    }
    return CLARET_OK;
}

/* ---- parameters, to and from outside ---- */

size_t claret_session_parameters(const struct claret_session *session)
{
    return (size_t)saved_count(graph_of(session));
}

const char *claret_session_parameter_name(const struct claret_session *session, size_t index)
{
    return index < claret_session_parameters(session) ? session->weights[index].name : NULL;
}

size_t claret_session_parameter_shape(const struct claret_session *session, size_t index, size_t shape[4],
                                      int *rank)
{
    if (index >= claret_session_parameters(session))
        return 0;
    const struct claret_shape *of = &session->weights[index].shape;
    for (int i = 0; i < of->rank; i++)
        shape[i] = (size_t)of->dim[i];
    *rank = of->rank;
    return (size_t)claret_shape_count(of);
}

static const char *parameter_name(int index, const void *user)
{
    return claret_session_parameter_name(user, (size_t)index);
}

static enum claret_status find_parameter(const struct claret_session *session, const char *name, size_t count,
                                         size_t *index)
{
    for (size_t i = 0; i < claret_session_parameters(session); i++)
        if (strcmp(session->weights[i].name, name) == 0) {
            size_t elements = (size_t)claret_shape_count(&session->weights[i].shape);
            if (elements != count)
                return claret_fail(CLARET_SHAPE, "%s has %zu elements, %zu were given", name, elements,
                                   count);
            *index = i;
            return CLARET_OK;
        }
    int near = claret_nearest(name, parameter_name, session);
    return claret_fail(CLARET_NOT_FOUND, "no parameter is called '%s'%s%s%s", name,
                       near >= 0 ? ": did you mean '" : "", near >= 0 ? parameter_name(near, session) : "",
                       near >= 0 ? "'?" : "");
}

enum claret_status claret_session_read(struct claret_session *session, const char *name, float *values,
                                       size_t count)
{
    size_t index;
    claret_error_clear();
    CLARET_TRY(find_parameter(session, name, count, &index));
    return read_weight(session, index, values);
}

enum claret_status claret_session_write(struct claret_session *session, const char *name, const float *values,
                                        size_t count)
{
    size_t index;
    claret_error_clear();
    CLARET_TRY(find_parameter(session, name, count, &index));
    float *copy = malloc(count * sizeof *copy + 1);
    if (!copy)
        return claret_no_memory();
    memcpy(copy, values, count * sizeof *copy);
    enum claret_status status = write_weight(session, index, copy);
    free(copy);
    return status;
}

static void free_values(struct claret_session *session)
{
    for (size_t i = 0; i < claret_session_parameters(session); i++) {
        free(session->weights[i].values);
        session->weights[i].values = NULL;
    }
}

static enum claret_status allocate_values(struct claret_session *session)
{
    for (size_t i = 0; i < claret_session_parameters(session); i++) {
        session->weights[i].values = malloc(place_of(session, i)->bytes);
        if (!session->weights[i].values)
            return claret_no_memory();
    }
    return CLARET_OK;
}

static enum claret_status save(struct claret_session *session, const char *path, char sha256[65])
{
    enum claret_status status;
    CLARET_GOTO(end, allocate_values(session));
    for (size_t i = 0; i < claret_session_parameters(session); i++)
        CLARET_GOTO(end, read_weight(session, i, session->weights[i].values));
    CLARET_GOTO(end,
                claret_weights_save(path, session->weights, (int)claret_session_parameters(session), sha256));
end:
    free_values(session);
    return status;
}

enum claret_status claret_session_save(struct claret_session *session, const char *path, char sha256[65])
{
    claret_error_clear();
    CLARET_TRY(claret_session_swap_ema(session));
    enum claret_status status = save(session, path, sha256), back = claret_session_swap_ema(session);
    return status == CLARET_OK ? back : status;
}

static enum claret_status check_finite(const char *path, const struct claret_weight *weight)
{
    for (int64_t i = 0; i < claret_shape_count(&weight->shape); i++)
        if (!isfinite(weight->values[i]))
            return claret_fail(CLARET_NOT_FINITE, "%s: %s: element %" PRId64 " is not finite", path,
                               weight->name, i);
    return CLARET_OK;
}

/* All but the tensors that `fresh` matches (weights.h). */
static enum claret_status load_part(struct claret_session *session, const char *path, const char *fresh)
{
    const size_t count = claret_session_parameters(session);
    enum claret_status status;
    CLARET_GOTO(end, allocate_values(session));
    CLARET_GOTO(end, claret_weights_load_part(path, session->weights, (int)count, fresh));
    for (size_t i = 0; i < count; i++)
        if (!claret_pattern_match(fresh, session->weights[i].name))
            CLARET_GOTO(end, check_finite(path, &session->weights[i]));
    for (size_t i = 0; i < count; i++)
        if (!claret_pattern_match(fresh, session->weights[i].name))
            CLARET_GOTO(end, write_weight(session, i, session->weights[i].values));
end:
    free_values(session);
    return status;
}

/* The layer, such as the last one for another number of classes, whose shape is what does not fit; its length
 * in *length. NULL: it is something else. */
static const char *misfit_layer(const struct claret_session *session, const char *said, int *length)
{
    for (size_t i = 0; i < claret_session_parameters(session); i++) {
        const char *name = session->weights[i].name, *dot = strrchr(name, '.');
        char place[300];
        snprintf(place, sizeof place, ": %s: file has", name);
        *length = dot ? (int)(dot - name) : (int)strlen(name);
        if (strstr(said, place))
            return name;
    }
    return NULL;
}

/* Says what to do about weights that do not fit the network. */
static enum claret_status name_remedy(const struct claret_session *session, bool init)
{
    char *said = claret_error_take();
    int length = 0;
    const char *layer = said && init ? misfit_layer(session, said, &length) : NULL;
    if (!said)
        return claret_no_memory();
    if (layer)
        claret_fail(CLARET_SHAPE, "%s; --reset %.*s begins that layer anew", said, length, layer);
    else
        claret_fail(CLARET_SHAPE, "%s; the network is %s: --model names the one that the weights are of",
                    said, session->network->name);
    free(said);
    return CLARET_SHAPE;
}

enum claret_status claret_session_load(struct claret_session *session, const char *path)
{
    claret_error_clear();
    enum claret_status status = load_part(session, path, "");
    return status == CLARET_SHAPE ? name_remedy(session, false) : status;
}

/* The option init's weights, but for what reset names. */
static enum claret_status load_init(struct claret_session *session)
{
    CLARET_TRY(initialise(session));
    enum claret_status status = load_part(session, session->options->init, session->options->reset);
    return status == CLARET_SHAPE ? name_remedy(session, true) : status;
}

enum claret_status claret_session_first_weights(struct claret_session *session)
{
    return session->options->init[0] ? load_init(session) : initialise(session);
}
