/* All that training changes on the device: out of a session and back into one. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "train/session.h"
#include "train/weights.h"

static bool among(const int *tensors, int count, int tensor)
{
    for (int i = 0; i < count; i++)
        if (tensors[i] == tensor)
            return true;
    return false;
}

/* Parameters, buffers, and whole buffers of the optimizer's state. */
static bool changes(const struct claret_graph *graph, int tensor)
{
    const struct claret_tensor *of = &graph->tensors[tensor];
    switch (of->home) {
    case CLARET_HOME_PARAMS:
        return among(graph->params, graph->param_count, tensor);
    case CLARET_HOME_BUFFERS:
        return among(graph->buffers, graph->buffer_count, tensor);
    case CLARET_HOME_STATE:
        return of->base < 0;
    default:
        return false;
    }
}

/* "optimizer.momentum", malloc'ed; NULL: out of memory. */
static char *kept_name(const struct claret_tensor *tensor)
{
    struct claret_text text = {0};
    char *name = NULL;
    claret_text_add(&text, "%s%s", tensor->home == CLARET_HOME_STATE ? CLARET_WEIGHTS_OPTIMIZER : "",
                    tensor->name);
    return claret_text_take(&text, &name) == CLARET_OK ? name : NULL;
}

enum claret_status claret_session_swap_ema(struct claret_session *session)
{
    const struct claret_graph *graph = session->train.graph;
    if (!graph || graph->ema < 0 || !session->stepped)
        return CLARET_OK;
    const struct claret_place *average = &session->train.plan->places[graph->ema];
    const struct claret_place *params = &session->train.plan->places[graph->all_params];
    enum claret_status status = CLARET_OK;
    char *memory = malloc(2 * (size_t)average->bytes);
    if (!memory)
        return claret_no_memory();
    CLARET_GOTO(end, claret_session_drain(session));
    CLARET_GOTO(end,
                claret_pool_read(session->pool, average->buffer, average->offset, average->bytes, memory));
    CLARET_GOTO(end, claret_pool_read(session->pool, params->buffer, params->offset, average->bytes,
                                      memory + average->bytes));
    CLARET_GOTO(end,
                claret_pool_write(session->pool, params->buffer, params->offset, average->bytes, memory));
    CLARET_GOTO(end, claret_pool_write(session->pool, average->buffer, average->offset, average->bytes,
                                       memory + average->bytes));
    session->swapped = !session->swapped;
end:
    free(memory);
    return status;
}

static enum claret_status read_all(struct claret_session *session, struct claret_weights_list *list)
{
    const struct claret_graph *graph = session->train.graph;
    for (int i = 0; i < graph->tensor_count; i++) {
        const struct claret_tensor *tensor = &graph->tensors[i];
        if (!changes(graph, i))
            continue;
        char *name = kept_name(tensor);
        enum claret_status status = name ? CLARET_OK : claret_no_memory();
        if (status == CLARET_OK)
            status = claret_weights_list_add(list, name, &tensor->shape, tensor->dtype == CLARET_DTYPE_I32);
        free(name);
        CLARET_TRY(status);
        CLARET_TRY(claret_session_read_tensor(session, i, list->list[list->count - 1].values));
    }
    return CLARET_OK;
}

enum claret_status claret_session_keep(struct claret_session *session, struct claret_weights_list *list)
{
    CLARET_TRY(claret_session_swap_ema(session));
    enum claret_status status = read_all(session, list), back = claret_session_swap_ema(session);
    return status == CLARET_OK ? back : status;
}

/* Tensor `i`'s values in the list. */
static enum claret_status find(const struct claret_graph *graph, int i, const char *path,
                               const struct claret_weights_list *list, const struct claret_weight **found)
{
    const struct claret_tensor *tensor = &graph->tensors[i];
    char *name = kept_name(tensor);
    if (!name)
        return claret_no_memory();
    *found = claret_weights_list_find(list, name);
    enum claret_status status = CLARET_OK;
    if (!*found)
        status = claret_fail(CLARET_FORMAT, "%s: %s is missing: it was made with other options", path, name);
    else if (!claret_shape_equal(&(*found)->shape, &tensor->shape) ||
             (*found)->integer != (tensor->dtype == CLARET_DTYPE_I32))
        status = claret_fail(CLARET_SHAPE, "%s: %s has another shape", path, name);
    free(name);
    return status;
}

enum claret_status claret_session_restore(struct claret_session *session, const char *path,
                                          const struct claret_weights_list *list)
{
    const struct claret_graph *graph = session->train.graph;
    const struct claret_weight *from;
    int count = 0;
    for (int i = 0; i < graph->tensor_count; i++)
        if (changes(graph, i)) {
            CLARET_TRY(find(graph, i, path, list, &from));
            count++;
        }
    if (count != list->count)
        return claret_fail(CLARET_FORMAT,
                           "%s: %d tensors, the training has %d: it was made with other options", path,
                           list->count, count);
    for (int i = 0; i < graph->tensor_count; i++) {
        if (!changes(graph, i))
            continue;
        CLARET_TRY(find(graph, i, path, list, &from));
        size_t bytes = (size_t)claret_shape_count(&from->shape) * sizeof(float);
        float *copy = malloc(bytes + 1);
        if (!copy)
            return claret_no_memory();
        memcpy(copy, from->values, bytes);
        enum claret_status status = claret_session_write_tensor(session, i, copy);
        free(copy);
        CLARET_TRY(status);
    }
    return CLARET_OK;
}

/* ---- the step buffer ---- */

static const struct claret_place *step_place(const struct claret_session *session)
{
    return &session->train.plan->places[session->train.graph->step];
}

enum claret_status claret_session_words(struct claret_session *session, uint32_t words[CLARET_STEP_WORDS])
{
    const struct claret_place *place = step_place(session);
    return claret_pool_read(session->pool, place->buffer, place->offset, CLARET_STEP_WORDS * sizeof *words,
                            words);
}

enum claret_status claret_session_set_words(struct claret_session *session,
                                            const uint32_t words[CLARET_STEP_WORDS])
{
    const struct claret_place *place = step_place(session);
    session->running = NULL; /* the next run sets the slot */
    return claret_pool_write(session->pool, place->buffer, place->offset, CLARET_STEP_WORDS * sizeof *words,
                             words);
}
