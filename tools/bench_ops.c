/* Each node of the op cases, or of a network, by each of its solvers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bench.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "op/gemm.h"
#include "op_cases.h"

#define RUNS 256 /* at most in a repeat */

struct ops {
    const struct bench_args *args;
    struct claret_rt *rt;
    struct bench_roof roof;
    json_t *rows;
    /* The graph under way. */
    const char *name;
    const struct claret_graph *graph;
    char **seen; /* (seen_count): nodes of this case with the launches by which they have been timed */
    size_t seen_count;
};

/* A plan on the device. */
struct config {
    struct claret_plan *plan;
    struct claret_pool *pool;
};

/* ---- plans ----------------------------------------------------------------------------------------------
 */

static int solver_count(const struct claret_node *node)
{
    int count = 0;
    while (node->op->solvers && node->op->solvers[count])
        count++;
    return count;
}

/* Forces each node to its solver of that number where it has one that is applicable, and GEMMs to `gemm`. */
static enum claret_status plan_by(const struct ops *ops, int number, const char *gemm,
                                  struct claret_plan **plan)
{
    const struct claret_device_desc *device = claret_rt_device(ops->rt);
    struct claret_plan_force *force = calloc((size_t)ops->graph->node_count + 1, sizeof *force);
    char gemm_name[40], reason[128];
    int count = 0;
    if (!force)
        return claret_no_memory();
    for (int i = 0; i < ops->graph->node_count; i++) {
        const struct claret_node *node = &ops->graph->nodes[i];
        struct claret_problem problem = {.node = node, .tensors = ops->graph->tensors, .device = device};
        if (number >= solver_count(node))
            continue;
        const struct claret_solver *solver = node->op->solvers[number];
        if (!solver->applicable || solver->applicable(&problem, reason))
            force[count++] = (struct claret_plan_force){node->name, solver->name};
    }
    snprintf(gemm_name, sizeof gemm_name, "gemm:%s", gemm);
    force[count++] = (struct claret_plan_force){NULL, gemm_name};
    struct claret_plan_options options = {.device = device,
                                          .force = force,
                                          .force_count = count,
                                          .gemm_workspace = claret_rt_gemm_workspace,
                                          .user = ops->rt};
    enum claret_status status = claret_plan_create(ops->graph, &options, plan);
    free(force);
    return status;
}

/* Ordinary numbers: a device may be faster with zeros. What is an index, a label or a count is zero. */
static enum claret_status fill_tensor(const struct config *config, int tensor, struct claret_rng *rng)
{
    const struct claret_tensor *of = &config->plan->tensors[tensor];
    const struct claret_place *place = &config->plan->places[tensor];
    if (place->buffer < 0 || of->home == CLARET_HOME_STEP || of->home == CLARET_HOME_STAGE)
        return CLARET_OK;
    size_t count = of->dtype == CLARET_DTYPE_F32 ? (size_t)place->bytes / sizeof(float) : 0;
    float *values = calloc(1, place->bytes + 1);
    if (!values)
        return claret_no_memory();
    for (size_t i = 0; i < count; i++)
        values[i] = 2 * claret_rng_float(rng) - 1;
    enum claret_status status =
        claret_pool_write(config->pool, place->buffer, place->offset, (size_t)place->bytes, values);
    free(values);
    return status;
}

/* What the node reads: tensors of other nodes may share its memory. */
static enum claret_status fill(const struct ops *ops, const struct config *config,
                               const struct claret_node *node)
{
    const struct claret_place *stage = &config->plan->places[ops->graph->stage];
    const struct claret_place *step = &config->plan->places[ops->graph->step];
    const struct claret_stage_header header = {.count = (uint32_t)ops->graph->batch, .lr = 1e-3f};
    uint32_t words[CLARET_STEP_WORDS] = {[CLARET_STEP_COUNT] = header.count};
    struct claret_rng rng;
    claret_rng_init(&rng, 1, CLARET_STREAM_SHAPES, 0);
    memcpy(&words[CLARET_STEP_LR], &header.lr, sizeof header.lr);
    for (int i = 0; i < node->in_count; i++)
        if (node->in[i] >= 0)
            CLARET_TRY(fill_tensor(config, node->in[i], &rng));
    CLARET_TRY(claret_pool_write(config->pool, step->buffer, step->offset, sizeof words, words));
    return claret_pool_write(config->pool, stage->buffer, stage->offset, sizeof header, &header);
}

/* ---- what has been timed --------------------------------------------------------------------------------
 */

static void add_launch(const struct claret_launch *launch, struct claret_text *text)
{
    const struct claret_kernel_call *call = &launch->kernel;
    if (launch->type == CLARET_LAUNCH_GEMM) {
        const struct claret_gemm_call *gemm = &launch->gemm;
        claret_text_add(text, "gemm %lld %lld %lld;", (long long)gemm->m, (long long)gemm->n,
                        (long long)gemm->k);
        return;
    }
    claret_text_add(text, "%s %s %zu %zu %zu", call->source, call->entry, call->items[0], call->items[1],
                    call->items[2]);
    for (int i = 0; i < call->define_count; i++)
        claret_text_add(text, " %s=%lld,%a", call->define[i].name, (long long)call->define[i].i,
                        (double)call->define[i].f);
    claret_text_add(text, ";");
}

/* false: the node has been timed by these launches before. */
static enum claret_status remember(struct ops *ops, char *text, bool *fresh)
{
    *fresh = false;
    for (size_t i = 0; i < ops->seen_count; i++)
        if (strcmp(ops->seen[i], text) == 0) {
            free(text);
            return CLARET_OK;
        }
    char **grown = realloc(ops->seen, (ops->seen_count + 1) * sizeof *grown);
    if (!grown) {
        free(text);
        return claret_no_memory();
    }
    ops->seen = grown;
    ops->seen[ops->seen_count++] = text;
    *fresh = true;
    return CLARET_OK;
}

static void forget(struct ops *ops)
{
    for (size_t i = 0; i < ops->seen_count; i++)
        free(ops->seen[i]);
    free(ops->seen);
    ops->seen = NULL;
    ops->seen_count = 0;
}

/* The node's launches of the plan into `part`; not *fresh: it has none, or has been timed by them. */
static enum claret_status pick(struct ops *ops, const struct claret_plan *plan, int node,
                               struct claret_plan *part, bool *fresh)
{
    struct claret_text text = {0};
    char *made = NULL;
    part->launch_count = 0;
    *fresh = false;
    claret_text_add(&text, "%s;", ops->graph->nodes[node].name);
    for (int i = 0; i < plan->launch_count; i++)
        if (plan->launches[i].node == node) {
            part->launches[part->launch_count++] = plan->launches[i];
            add_launch(&plan->launches[i], &text);
        }
    CLARET_TRY(claret_text_take(&text, &made));
    if (part->launch_count)
        return remember(ops, made, fresh);
    free(made);
    return CLARET_OK;
}

/* ---- timing ---------------------------------------------------------------------------------------------
 */

static enum claret_status time_launches(const struct ops *ops, struct claret_exec *exec, int count,
                                        struct bench_spread *spread, bool *any_wall)
{
    size_t repeat = (size_t)ops->args->repeat;
    double *medians = calloc(repeat, sizeof *medians), *seconds = calloc((size_t)count, sizeof *seconds);
    bool *wall = calloc((size_t)count, sizeof *wall);
    double runs[RUNS];
    enum claret_status status = medians && seconds && wall ? CLARET_OK : claret_no_memory();
    for (int i = 0; status == CLARET_OK && i < 2; i++) /* compiles; then finds out how to time each */
        status = claret_exec_run_profiled(exec, seconds, wall);
    for (size_t r = 0; status == CLARET_OK && r < repeat; r++) {
        double end = claret_clock() + ops->args->seconds;
        size_t done = 0;
        do {
            status = claret_exec_run_profiled(exec, seconds, wall);
            runs[done] = 0;
            for (int i = 0; i < count; i++)
                runs[done] += seconds[i];
        } while (status == CLARET_OK && ++done < RUNS && claret_clock() < end);
        medians[r] = status == CLARET_OK ? bench_median(runs, done) : 0;
    }
    if (status == CLARET_OK)
        *spread = bench_spread(medians, repeat);
    for (int i = 0; status == CLARET_OK && i < count; i++)
        *any_wall |= wall[i];
    free(medians);
    free(seconds);
    free(wall);
    return status;
}

static void add_row(struct ops *ops, const struct claret_node *node, const struct claret_plan *part,
                    const char *gemm, const struct bench_spread *spread, bool wall)
{
    double flops = 0, bytes = 0, roof = 0;
    char solver[80];
    bool uses_gemm = false;
    for (int i = 0; i < part->launch_count; i++) {
        const struct claret_launch *launch = &part->launches[i];
        double least = bench_roof_seconds(&ops->roof, launch->flops, launch->bytes);
        flops += launch->flops;
        bytes += launch->bytes;
        roof += isnan(least) ? 0 : least;
        uses_gemm |= launch->type == CLARET_LAUNCH_GEMM || strcmp(launch->kernel.source, "gemm") == 0;
    }
    snprintf(solver, sizeof solver, "%s%s%s", part->launches[0].solver, uses_gemm ? " by " : "",
             uses_gemm ? gemm : "");
    json_t *row = json_object();
    json_object_set_new(row, "case", cli_json_text(ops->name));
    json_object_set_new(row, "node", cli_json_text(node->name));
    json_object_set_new(row, "op", cli_json_text(node->op->name));
    json_object_set_new(row, "solver", cli_json_text(solver));
    json_object_set_new(row, "launches", json_integer(part->launch_count));
    bench_set(row, "microseconds", 1e6 * spread->median);
    bench_set(row, "gflops", 1e-9 * flops / spread->median);
    bench_set(row, "gbytes_per_second", 1e-9 * bytes / spread->median);
    bench_set(row, "roof_share", roof > 0 ? roof / spread->median : NAN);
    json_object_set_new(row, "wall_clock", json_boolean(wall));
    bench_set_spread(row, "repeats", spread, 1e6);
    json_array_append_new(ops->rows, row);
}

static enum claret_status run_node(struct ops *ops, const struct config *config, int index, const char *gemm,
                                   struct claret_plan *part)
{
    const struct claret_node *node = &ops->graph->nodes[index];
    struct claret_exec *exec = NULL;
    struct bench_spread spread;
    bool fresh, wall = false;
    CLARET_TRY(pick(ops, config->plan, index, part, &fresh));
    if (!fresh)
        return CLARET_OK;
    CLARET_TRY(fill(ops, config, node));
    CLARET_TRY(claret_exec_create(config->pool, part, &exec));
    enum claret_status status = time_launches(ops, exec, part->launch_count, &spread, &wall);
    claret_exec_destroy(exec);
    if (status == CLARET_OK)
        add_row(ops, node, part, gemm, &spread, wall);
    return status;
}

static enum claret_status run_config(struct ops *ops, int number, const char *gemm)
{
    struct config config = {NULL, NULL};
    struct claret_plan part = {.launches = NULL};
    enum claret_status status;
    CLARET_GOTO(cleanup, plan_by(ops, number, gemm, &config.plan));
    CLARET_GOTO(cleanup, claret_pool_create(ops->rt, config.plan->buffer_bytes, config.plan->buffer_count,
                                            &config.pool));
    part = *config.plan;
    part.launches = calloc((size_t)config.plan->launch_count + 1, sizeof *part.launches);
    if (!part.launches) {
        status = claret_no_memory();
        goto cleanup;
    }
    for (int i = 0; i < ops->graph->node_count; i++)
        CLARET_GOTO(cleanup, run_node(ops, &config, i, gemm, &part));
cleanup:
    free(part.launches);
    claret_pool_destroy(config.pool);
    claret_plan_destroy(config.plan);
    return status;
}

/* ---- graphs ---------------------------------------------------------------------------------------------
 */

static enum claret_status run_configs(struct ops *ops)
{
    const struct claret_device_desc *device = claret_rt_device(ops->rt);
    int solvers = 0;
    for (int i = 0; i < ops->graph->node_count; i++)
        solvers =
            solver_count(&ops->graph->nodes[i]) > solvers ? solver_count(&ops->graph->nodes[i]) : solvers;
    for (int number = 0; number < solvers; number++)
        for (int g = 0; claret_gemm_solvers[g]; g++) {
            const struct claret_gemm_solver *gemm = claret_gemm_solvers[g];
            if (claret_gemm_on_device(gemm, device))
                CLARET_TRY(run_config(ops, number, gemm->name));
        }
    return CLARET_OK;
}

/* Layers apart, then runs of them fused with the update in their nodes. */
static enum claret_status run_both(struct ops *ops, const struct claret_op_case *row,
                                   const struct claret_network *network)
{
    enum claret_status status = CLARET_OK;
    ops->name = row ? row->name : network->name;
    cli_progress("%s", ops->name);
    for (int fuse = 0; status == CLARET_OK && fuse < 2; fuse++) {
        struct claret_graph_options options = {.batch = ops->args->options->batch_size,
                                               .training = true,
                                               .fuse = fuse,
                                               .fuse_update = fuse,
                                               .optimizer.momentum = ops->args->options->momentum};
        struct claret_spec *spec = NULL;
        struct claret_graph *graph = NULL;
        status = row ? claret_op_case_graph(row, &options, &spec, &graph)
                     : claret_graph_create(network->spec, &options, &graph);
        ops->graph = graph;
        if (status == CLARET_OK)
            status = run_configs(ops);
        claret_graph_destroy(graph);
        claret_spec_destroy(spec);
    }
    if (status != CLARET_OK)
        claret_error_context("measuring %s", ops->name);
    forget(ops);
    return status;
}

static const char *next_case(int index, const void *user)
{
    return (void)user, claret_op_cases[index].name;
}

static enum claret_status run_cases(struct ops *ops)
{
    const char *only = ops->args->value[BENCH_FLAG_CASE];
    bool found = false;
    for (int i = 0; claret_op_cases[i].name; i++)
        if (!only || strcmp(only, claret_op_cases[i].name) == 0) {
            CLARET_TRY(run_both(ops, &claret_op_cases[i], NULL));
            found = true;
        }
    if (found)
        return CLARET_OK;
    int near = claret_nearest(only, next_case, NULL);
    return claret_fail(CLARET_INVALID, "there is no op case '%s'%s%s%s", only,
                       near >= 0 ? "; did you mean '" : "", near >= 0 ? claret_op_cases[near].name : "",
                       near >= 0 ? "'?" : "");
}

static enum claret_status run(struct ops *ops)
{
    struct claret_network *network = NULL;
    CLARET_TRY(bench_open(ops->args, &ops->rt));
    CLARET_TRY(claret_rt_probe_gemm(ops->rt));
    CLARET_TRY(
        bench_roof_measure(ops->rt, ops->args->seconds < 0.02 ? ops->args->seconds : 0.02, 1, &ops->roof));
    if (!ops->args->value[BENCH_FLAG_MODEL])
        return run_cases(ops);
    CLARET_TRY(claret_network_load(ops->args->options->model, &network));
    enum claret_status status = run_both(ops, NULL, network);
    claret_network_destroy(network);
    return status;
}

enum claret_status bench_ops(const struct bench_args *args, json_t *result)
{
    static const struct bench_column columns[] = {{"case", "case", NULL, 0},
                                                  {"node", "node", NULL, 0},
                                                  {"solver", "solver", NULL, 0},
                                                  {"microseconds", "us", "%.1f", 1},
                                                  {"wall_clock", "", NULL, 0},
                                                  {"gflops", "GFLOPS", "%.1f", 1},
                                                  {"gbytes_per_second", "GB/s", "%.1f", 1},
                                                  {"roof_share", "roof %", "%.1f", 100},
                                                  {.key = NULL}};
    struct ops ops = {.args = args, .rows = json_array()};
    enum claret_status status = run(&ops);
    if (ops.rt)
        bench_set_device(result, ops.rt);
    if (status == CLARET_OK)
        bench_print_rows(ops.rows, columns);
    json_object_set_new(result, "ops", ops.rows);
    claret_rt_close(ops.rt);
    return status;
}
