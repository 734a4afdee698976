#include "tune/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/network.h"
#include "tune/describe.h"
#include "tune/gemms.h"
#include "tune/subject.h"

#define SLOTS 8
#define PROFILES 7 /* runs of the step, of whose seconds the median counts */
#define MAX_SOURCES 64
#define OFF_BATCH 5 /* images of the size that fits no tile */

/* The network at a size, with the node's outputs there by what is trusted. */
struct size {
    struct claret_network *network;
    struct claret_graph *graph;
    char name[60];
    int wanted_node; /* whose outputs `want` are, of the first size's graph; -2: none's */
    struct claret_outputs want;
};

struct worker {
    int out;
    const char *fault;
    struct claret_rt *rt;
    struct claret_graph_options options;
    struct size sizes[2]; /* the problem's own, one that fits no tile */
    struct claret_subject slots[SLOTS];
    struct claret_graph *apart; /* layers apart, of the first size */
    struct claret_gemms *gemms;
};

/* ---- answers ---- */

static void answer(const struct worker *worker, json_t *json)
{
    char *line = json ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t size = line ? strlen(line) : 0;
    json_decref(json);
    if (!line)
        _exit(1);
    line[size++] = '\n';
    for (size_t done = 0; done < size;) {
        ssize_t n = write(worker->out, line + done, size - done);
        if (n <= 0)
            _exit(1); /* nobody listens any more */
        done += (size_t)n;
    }
    free(line);
}

/* Which limit counts from here on: "compile" or "run". */
static void tell_phase(const struct worker *worker, const char *phase)
{
    answer(worker, json_pack("{s:s}", "phase", phase));
}

static json_t *error_json(const char *key)
{
    const char *text = claret_error();
    return json_pack("{s:s}", key, text[0] ? text : "failed without a reason");
}

static const char *text_of(const json_t *request, const char *key)
{
    return json_string_value(json_object_get(request, key));
}

/* ---- open, graph ---- */

static enum claret_status open_device(struct worker *worker, const json_t *request, json_t *result)
{
    struct claret_rt_options options = {.device = text_of(request, "device"),
                                        .platform = text_of(request, "platform"),
                                        .cache_dir = text_of(request, "cache_dir"),
                                        .kernel_dir = text_of(request, "kernel_dir")};
    CLARET_TRY(claret_rt_open(&options, &worker->rt));
    if (json_is_true(json_object_get(request, "probe")))
        CLARET_TRY(claret_rt_probe_gemm(worker->rt));
    json_object_set_new(result, "device", claret_device_to_json(claret_rt_device(worker->rt)));
    json_object_set_new(result, "describe", json_string(claret_rt_describe(worker->rt)));
    return CLARET_OK;
}

/* One more of everything that a kernel might cut into tiles; what the network text says again is forgotten.
 */
static void enlarge(struct claret_spec *spec, bool images)
{
    if (images) {
        spec->input[1] += 1;
        spec->input[2] += 3;
    }
    for (int i = 0; i < spec->layer_count; i++)
        for (struct claret_attr *attr = spec->layers[i].attr; attr->def && attr->def->key; attr++) {
            if (strncmp(attr->def->key, "out_", 4) == 0)
                attr->i[0] += 1;
            if (strncmp(attr->def->key, "in_", 3) == 0)
                attr->given = false;
        }
}

static enum claret_status make_size(const json_t *request, const struct claret_graph_options *options,
                                    bool larger, bool images, struct size *size)
{
    struct claret_graph_options own = *options;
    own.batch = larger ? OFF_BATCH : options->batch;
    size->wanted_node = -2;
    CLARET_TRY(claret_network_parse(text_of(request, "text"), text_of(request, "file"), &size->network));
    if (larger)
        enlarge(size->network->spec, images);
    const int64_t *in = size->network->spec->input;
    snprintf(size->name, sizeof size->name, "batch %" PRId64 ", input %" PRId64 "x%" PRId64 "x%" PRId64,
             own.batch, in[0], in[1], in[2]);
    return claret_graph_create(size->network->spec, &own, &size->graph);
}

static void drop_size(struct size *size)
{
    claret_outputs_free(&size->want);
    claret_graph_destroy(size->graph);
    claret_network_destroy(size->network);
    *size = (struct size){.graph = NULL};
}

static enum claret_status open_graph(struct worker *worker, const json_t *request)
{
    const struct claret_graph_options *options = &worker->options;
    claret_graph_options_from_json(json_object_get(request, "options"), &worker->options);
    CLARET_TRY(make_size(request, options, false, false, &worker->sizes[0]));
    /* Not every network can be made larger (a layer's input may have to be of one size): then less of it, or
     * not at all. */
    for (int images = 1; images >= 0 && !worker->sizes[1].graph; images--)
        if (make_size(request, options, true, images, &worker->sizes[1]) != CLARET_OK)
            drop_size(&worker->sizes[1]);
    claret_error_clear();
    return CLARET_OK;
}

/* ---- candidates ---- */

static const char *recorded(void *user, const char *key)
{
    return json_string_value(json_object_get(user, key));
}

static struct claret_plan_options plan_options(struct worker *worker, json_t *choices)
{
    return (struct claret_plan_options){.device = claret_rt_device(worker->rt),
                                        .record = choices ? recorded : NULL,
                                        .record_user = choices,
                                        .gemm_workspace = claret_rt_gemm_workspace,
                                        .user = worker->rt};
}

static int find_node(const struct claret_graph *graph, const struct claret_node *like)
{
    for (int i = 0; graph && i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].name, like->name) == 0 && graph->nodes[i].op == like->op)
            return i;
    return -1;
}

/* What is trusted: at the problem's own size the default, at the other the last solver of the op, which is
 * the plainest. */
static enum claret_status make_want(struct worker *worker, struct size *size, int node, int wanted)
{
    const struct claret_node *at = &size->graph->nodes[node];
    int last = 0;
    while (at->op->solvers[last + 1])
        last++;
    const struct claret_plan_force force[] = {{at->name, at->op->solvers[last]->name},
                                              {at->name, "gemm:plain"}};
    struct claret_plan_options options = plan_options(worker, NULL);
    struct claret_subject subject;
    if (size->wanted_node == wanted)
        return CLARET_OK;
    claret_outputs_free(&size->want);
    size->wanted_node = -2;
    if (size != &worker->sizes[0]) {
        options.force = force;
        options.force_count = 2;
    }
    tell_phase(worker, "compile");
    CLARET_TRY(claret_subject_create(worker->rt, size->graph, &options, node, &subject));
    tell_phase(worker, "run");
    enum claret_status status = claret_subject_run(&subject);
    if (status == CLARET_OK)
        status = claret_subject_outputs(&subject, &size->want);
    if (status == CLARET_OK)
        size->wanted_node = wanted;
    claret_subject_destroy(&subject);
    return status;
}

static bool has_fault(const struct worker *worker, const json_t *request, const char *kind)
{
    size_t length = strlen(kind);
    const char *gemm = text_of(request, "gemm"), *solver = text_of(request, "solver"), *part;
    if (!worker->fault || strncmp(worker->fault, kind, length) != 0 || worker->fault[length] != '@')
        return false;
    part = worker->fault + length + 1;
    return (solver && strstr(solver, part)) || (gemm && strstr(gemm, part));
}

/* Runs it and compares; `where` tells what is wrong. */
static enum claret_status verify(struct worker *worker, const json_t *request, struct size *size,
                                 struct claret_subject *subject, int wanted, char where[200])
{
    struct claret_outputs got = {.count = 0};
    CLARET_TRY(make_want(worker, size, subject->node, wanted));
    tell_phase(worker, "run");
    if (has_fault(worker, request, "crash"))
        abort();
    while (has_fault(worker, request, "hang"))
        pause();
    CLARET_TRY(claret_subject_run(subject));
    CLARET_TRY(claret_subject_outputs(subject, &got));
    if (has_fault(worker, request, "wrong"))
        claret_outputs_spoil(&got);
    claret_outputs_compare(subject, &got, &size->want, where);
    claret_outputs_free(&got);
    return CLARET_OK;
}

/* The candidate at the size that fits no tile. It need not be applicable there. */
static enum claret_status verify_off(struct worker *worker, const json_t *request, int node, bool *done,
                                     char where[200])
{
    struct size *size = &worker->sizes[1];
    int at = find_node(size->graph, &worker->sizes[0].graph->nodes[node]);
    const char *solver = text_of(request, "solver"), *gemm = text_of(request, "gemm");
    struct claret_plan_force force[2];
    char gemm_text[200];
    struct claret_plan_options options = plan_options(worker, NULL);
    struct claret_subject subject;
    *done = false;
    if (at < 0 || !solver)
        return CLARET_OK;
    snprintf(gemm_text, sizeof gemm_text, "gemm:%s", gemm ? gemm : "");
    force[options.force_count++] = (struct claret_plan_force){size->graph->nodes[at].name, solver};
    if (gemm)
        force[options.force_count++] = (struct claret_plan_force){size->graph->nodes[at].name, gemm_text};
    options.force = force;
    tell_phase(worker, "compile");
    enum claret_status status = claret_subject_create(worker->rt, size->graph, &options, at, &subject);
    if (status == CLARET_INVALID) {
        claret_error_clear();
        return CLARET_OK;
    }
    if (status == CLARET_OK) {
        *done = true;
        status = verify(worker, request, size, &subject, node, where);
        claret_subject_destroy(&subject);
    }
    return status;
}

/* The sources of the node's kernels, each once, and their hash. */
static enum claret_status add_sources(struct worker *worker, const struct claret_subject *subject,
                                      json_t *result)
{
    const char *sources[MAX_SOURCES];
    char hex[65];
    int count = 0;
    for (int i = 0; i < subject->own_part.launch_count; i++) {
        const struct claret_launch *launch = &subject->own_part.launches[i];
        const char *name = launch->type == CLARET_LAUNCH_GEMM ? "clblast" : launch->kernel.source;
        int at = 0;
        while (at < count && strcmp(sources[at], name) != 0)
            at++;
        if (at == count && count < MAX_SOURCES)
            sources[count++] = name;
    }
    CLARET_TRY(claret_rt_kernel_hash(worker->rt, sources, count, hex));
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_string(sources[i]));
    json_object_set_new(result, "sources", list);
    json_object_set_new(result, "hash", json_string(hex));
    return CLARET_OK;
}

static struct claret_subject *slot_of(struct worker *worker, const json_t *request)
{
    return &worker->slots[json_integer_value(json_object_get(request, "slot")) % SLOTS];
}

static enum claret_status prepare(struct worker *worker, const json_t *request, json_t *result)
{
    struct claret_subject *subject = slot_of(worker, request);
    int node = (int)json_integer_value(json_object_get(request, "node"));
    struct size *size = &worker->sizes[0];
    struct claret_plan_options options = plan_options(worker, json_object_get(request, "choices"));
    const char *solver = text_of(request, "solver");
    struct claret_plan_force force = {node >= 0 ? size->graph->nodes[node].name : NULL, solver};
    json_t *verified = json_array();
    char where[200] = "";
    bool off = false;
    json_object_set_new(result, "verified", verified);
    if (solver) {
        options.force = &force;
        options.force_count = 1;
    }
    claret_subject_destroy(subject);
    CLARET_TRY(claret_subject_create(worker->rt, size->graph, &options, node, subject));
    if (node == CLARET_WHOLE_STEP) {
        tell_phase(worker, "run");
        return claret_subject_run(subject);
    }
    CLARET_TRY(verify(worker, request, size, subject, node, where));
    if (!where[0]) {
        json_array_append_new(verified, json_string(size->name));
        if (json_is_true(json_object_get(request, "everywhere")))
            CLARET_TRY(verify_off(worker, request, node, &off, where));
        if (off)
            json_array_append_new(verified, json_string(worker->sizes[1].name));
    }
    if (where[0])
        return claret_fail(CLARET_INTERNAL, "wrong results (%s): %s", (off ? &worker->sizes[1] : size)->name,
                           where);
    return add_sources(worker, subject, result);
}

/* ---- times ---- */

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Each node's share of a step by the defaults. */
static enum claret_status profile(struct worker *worker, json_t *result)
{
    struct claret_plan_options options = plan_options(worker, NULL);
    struct claret_subject subject;
    enum claret_status status;
    const struct claret_graph *graph = worker->sizes[0].graph;
    json_t *nodes = json_array();
    json_object_set_new(result, "nodes", nodes);
    CLARET_TRY(claret_subject_create(worker->rt, graph, &options, CLARET_WHOLE_STEP, &subject));
    int count = subject.plan->launch_count;
    double *seconds = calloc((size_t)count * (PROFILES + 1) + 1, sizeof *seconds);
    double *sums = calloc((size_t)graph->node_count + 1, sizeof *sums), sorted[PROFILES];
    bool *wall = calloc((size_t)count + 1, sizeof *wall);
    status = seconds && sums && wall ? claret_subject_run(&subject) : claret_no_memory();
    for (int p = 0; status == CLARET_OK && p <= PROFILES; p++) /* the first one warms up */
        status =
            claret_exec_run_profiled(subject.own, seconds + (size_t)count * (size_t)(p ? p - 1 : 0), wall);
    for (int i = 0; status == CLARET_OK && i < count; i++) {
        for (int p = 0; p < PROFILES; p++)
            sorted[p] = seconds[count * p + i];
        qsort(sorted, PROFILES, sizeof *sorted, by_size);
        sums[subject.plan->launches[i].node] += sorted[PROFILES / 2];
    }
    for (int i = 0; status == CLARET_OK && i < graph->node_count; i++)
        json_array_append_new(nodes, json_real(sums[i]));
    free(seconds);
    free(sums);
    free(wall);
    claret_subject_destroy(&subject);
    return status;
}

static enum claret_status time_slot(struct worker *worker, const json_t *request, json_t *result)
{
    struct claret_subject *subject = slot_of(worker, request);
    double seconds;
    if (!subject->plan)
        return claret_fail(CLARET_INTERNAL, "nothing is prepared there");
    CLARET_TRY(claret_subject_time(subject, json_number_value(json_object_get(request, "least")), &seconds));
    json_object_set_new(result, "seconds", json_real(seconds));
    return CLARET_OK;
}

static enum claret_status hash(struct worker *worker, const json_t *request, json_t *result)
{
    const json_t *list = json_object_get(request, "sources");
    const char *sources[MAX_SOURCES];
    char hex[65];
    int count = 0;
    for (size_t i = 0; i < json_array_size(list) && count < MAX_SOURCES; i++)
        sources[count++] = json_string_value(json_array_get(list, i));
    CLARET_TRY(claret_rt_kernel_hash(worker->rt, sources, count, hex));
    json_object_set_new(result, "hash", json_string(hex));
    return CLARET_OK;
}

/* All GEMMs of the network on CLBlast, by its own parameters or by those given. */
static enum claret_status time_gemms(struct worker *worker, const json_t *request, json_t *result)
{
    double seconds;
    if (!worker->gemms) {
        struct claret_graph_options options = worker->options;
        options.fuse = options.fuse_update = options.channels_last = false;
        CLARET_TRY(claret_graph_create(worker->sizes[0].network->spec, &options, &worker->apart));
        CLARET_TRY(claret_gemms_create(worker->rt, worker->apart, &worker->gemms));
    }
    CLARET_TRY(claret_gemms_override(worker->rt, json_object_get(request, "parameters")));
    CLARET_TRY(claret_gemms_time(worker->gemms, &seconds));
    json_object_set_new(result, "seconds", json_real(seconds));
    return CLARET_OK;
}

/* ---- the process ---- */

static enum claret_status serve(struct worker *worker, const json_t *request, json_t *result)
{
    const char *op = text_of(request, "op");
    op = op ? op : "";
    if (strcmp(op, "open") == 0)
        return open_device(worker, request, result);
    if (!worker->rt)
        return claret_fail(CLARET_INTERNAL, "no device is open");
    if (strcmp(op, "graph") == 0)
        return open_graph(worker, request);
    if (strcmp(op, "hash") == 0)
        return hash(worker, request, result);
    if (!worker->sizes[0].graph)
        return claret_fail(CLARET_INTERNAL, "there is no graph");
    if (strcmp(op, "profile") == 0)
        return profile(worker, result);
    if (strcmp(op, "prepare") == 0)
        return prepare(worker, request, result);
    if (strcmp(op, "time") == 0)
        return time_slot(worker, request, result);
    if (strcmp(op, "gemms") == 0)
        return time_gemms(worker, request, result);
    if (strcmp(op, "drop") == 0) {
        claret_subject_destroy(slot_of(worker, request));
        return CLARET_OK;
    }
    return claret_fail(CLARET_INTERNAL, "no such request: '%s'", op);
}

enum claret_status claret_worker_run(int in, int out, const char *fault)
{
    struct worker worker = {.out = out, .fault = fault};
    FILE *requests = fdopen(in, "r");
    json_t *request;
    if (!requests)
        return claret_fail(CLARET_IO, "the worker cannot read its requests");
    while ((request = json_loadf(requests, JSON_DISABLE_EOF_CHECK, NULL))) {
        json_t *result = json_object();
        claret_error_clear();
        if (serve(&worker, request, result) != CLARET_OK) {
            json_decref(result);
            result = error_json("error");
        }
        json_decref(request);
        answer(&worker, result);
    }
    for (int i = 0; i < SLOTS; i++)
        claret_subject_destroy(&worker.slots[i]);
    claret_gemms_destroy(worker.gemms);
    claret_graph_destroy(worker.apart);
    drop_size(&worker.sizes[0]);
    drop_size(&worker.sizes[1]);
    claret_rt_close(worker.rt);
    fclose(requests);
    return CLARET_OK;
}
