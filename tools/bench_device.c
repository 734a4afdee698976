/* What a device can do: arithmetic, memory, latencies. Kernels: cl/bench.cl. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#define QUEUED 64          /* launches queued back to back */
#define ROUND_SECONDS 5e-3 /* a launch is made so long that its own cost does not count */
#define LEAST_ROUND 2e-4   /* where --seconds is shorter */
#define MAX_ROUNDS (1 << 30)
#define MAX_REPEATS 1000

static const int widths[BENCH_WIDTHS] = {1, 4, 8, 16};
/* Sums in flight in an item: enough for two units of five cycles; the widest may take two registers each. */
static const int chains[BENCH_WIDTHS] = {10, 10, 10, 8};

/* Plans made by hand over two buffers of the same size; tensor i is buffer i. */
struct probe {
    struct claret_rt *rt;
    struct claret_pool *pool;
    uint64_t bytes; /* of a buffer */
    struct claret_tensor tensors[2];
    struct claret_place places[2];
    struct claret_launch launches[QUEUED];
    struct claret_plan plan;
    double seconds;
    int repeat;
};

static enum claret_status open_probe(struct claret_rt *rt, struct probe *probe)
{
    const struct claret_device_desc *device = claret_rt_device(rt);
    uint64_t most = device->max_alloc < device->global_mem / 8 ? device->max_alloc : device->global_mem / 8;
    uint64_t bytes = UINT64_C(32) << 10;
    for (int i = 1; i < BENCH_COPY_SIZES && bytes * 4 <= most; i++)
        bytes *= 4;
    probe->rt = rt;
    probe->bytes = bytes;
    for (int i = 0; i < 2; i++) {
        probe->tensors[i] = (struct claret_tensor){.name = "bench",
                                                   .home = CLARET_HOME_ARENA,
                                                   .base = -1,
                                                   .dtype = CLARET_DTYPE_F32,
                                                   .shape = claret_shape1((int64_t)(bytes / 4))};
        probe->places[i] = (struct claret_place){.buffer = i, .bytes = bytes};
    }
    probe->plan = (struct claret_plan){
        .tensors = probe->tensors, .places = probe->places, .tensor_count = 2, .launches = probe->launches};
    return claret_pool_create(rt, (uint64_t[]){bytes, bytes}, 2, &probe->pool);
}

/* The plan is one launch of this kernel, with the tensors as its first arguments. */
static struct claret_kernel_call *set_kernel(struct probe *probe, const char *entry, int width, int tensors)
{
    struct claret_launch *launch = &probe->launches[0];
    memset(launch, 0, sizeof *launch);
    launch->label = launch->solver = launch->kernel.entry = entry;
    launch->kernel.source = "bench";
    claret_kernel_define(&launch->kernel, "WIDTH", width);
    for (int i = 0; i < tensors; i++)
        claret_kernel_tensor(&launch->kernel, i, 0);
    probe->plan.launch_count = 1;
    return &launch->kernel;
}

static enum claret_status timed_run(struct claret_exec *exec, double *seconds)
{
    struct claret_ticket *done = NULL;
    double start = claret_clock();
    CLARET_TRY(claret_exec_run(exec, NULL, &done));
    CLARET_TRY(claret_ticket_wait(done));
    *seconds = claret_clock() - start;
    return CLARET_OK;
}

/* Makes the kernel ready with that many rounds (its argument `at`) and runs it twice. */
static enum claret_status ready(struct probe *probe, int at, double rounds, struct claret_exec **exec,
                                double *seconds)
{
    claret_exec_destroy(*exec);
    *exec = NULL;
    probe->launches[0].kernel.arg[at].i = (int32_t)rounds;
    CLARET_TRY(claret_exec_create(probe->pool, &probe->plan, exec));
    CLARET_TRY(timed_run(*exec, seconds));
    return timed_run(*exec, seconds);
}

/* The best rate in each repeat: what is in the way of a device only makes it slower. `work`: of one round. */
static enum claret_status measure_rate(struct probe *probe, int at, double work, struct bench_spread *rate)
{
    double wanted = probe->seconds < ROUND_SECONDS ? probe->seconds : ROUND_SECONDS, rounds = 1, seconds = 0;
    double rates[MAX_REPEATS];
    struct claret_exec *exec = NULL;
    enum claret_status status;
    wanted = wanted > LEAST_ROUND ? wanted : LEAST_ROUND;
    CLARET_GOTO(cleanup, ready(probe, at, rounds, &exec, &seconds));
    while (seconds < wanted / 2 && rounds < MAX_ROUNDS) {
        double factor = seconds > 0 ? 1.2 * wanted / seconds : 100;
        rounds = ceil(rounds * (factor < 2 ? 2 : factor > 100 ? 100 : factor));
        rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
        CLARET_GOTO(cleanup, ready(probe, at, rounds, &exec, &seconds));
    }
    for (int r = 0; r < probe->repeat; r++) {
        double end = claret_clock() + probe->seconds;
        rates[r] = 0;
        do {
            CLARET_GOTO(cleanup, timed_run(exec, &seconds));
            rates[r] = fmax(rates[r], work * rounds / seconds);
        } while (claret_clock() < end);
    }
    *rate = bench_spread(rates, (size_t)probe->repeat);
cleanup:
    claret_exec_destroy(exec);
    return status;
}

/* ---- what is measured -----------------------------------------------------------------------------------
 */

static enum claret_status measure_flops(struct probe *probe, int index, struct bench_spread *flops)
{
    const struct claret_device_desc *device = claret_rt_device(probe->rt);
    bool cpu = device->kind == CLARET_CLASS_CPU;
    int64_t items = (int64_t)device->compute_units * (cpu ? 64 : 2048), most = (int64_t)(probe->bytes / 64);
    items = items < most ? items : most;
    struct claret_kernel_call *call = set_kernel(probe, "bench_fma", widths[index], 1);
    claret_kernel_define(call, "CHAINS", chains[index]);
    claret_kernel_int(call, items);
    claret_kernel_int(call, 1);
    claret_kernel_float(call, 0.5f);
    claret_kernel_float(call, 0.25f);
    claret_kernel_range(call, items, cpu ? 16 : 256);
    return measure_rate(probe, 2, 2.0 * widths[index] * chains[index] * (double)items, flops);
}

/* CPU devices: a piece of memory for each unit; others: neighbours for neighbours. */
static enum claret_status measure_copy(struct probe *probe, uint64_t bytes, struct bench_spread *rate)
{
    const struct claret_device_desc *device = claret_rt_device(probe->rt);
    bool cpu = device->kind == CLARET_CLASS_CPU;
    int width = cpu ? 16 : 4;
    int64_t vectors = (int64_t)(bytes / 4) / width;
    int64_t items = (int64_t)device->compute_units * (cpu ? 1 : 1024);
    items = items < vectors ? items : vectors;
    int64_t span = (vectors + items - 1) / items;
    struct claret_kernel_call *call = set_kernel(probe, "bench_copy", width, 2);
    claret_kernel_int(call, vectors);
    claret_kernel_int(call, items);
    claret_kernel_int(call, cpu ? span : 1);
    claret_kernel_int(call, span);
    claret_kernel_int(call, cpu ? 1 : items);
    claret_kernel_int(call, 1);
    claret_kernel_range(call, items, cpu ? 1 : 256);
    return measure_rate(probe, 7, 2.0 * (double)bytes, rate);
}

/* The median of the seconds that a launch takes when `count` of them are queued at once. */
static enum claret_status measure_launch(struct probe *probe, int count, struct bench_spread *spread)
{
    struct claret_kernel_call *call = set_kernel(probe, "bench_nothing", 1, 1);
    struct claret_exec *exec = NULL;
    double medians[MAX_REPEATS], seconds[256];
    enum claret_status status;
    claret_kernel_range(call, 1, 1);
    for (int i = 1; i < count; i++)
        probe->launches[i] = probe->launches[0];
    probe->plan.launch_count = count;
    CLARET_GOTO(cleanup, claret_exec_create(probe->pool, &probe->plan, &exec));
    CLARET_GOTO(cleanup, timed_run(exec, &seconds[0]));
    for (int r = 0; r < probe->repeat; r++) {
        double end = claret_clock() + probe->seconds;
        size_t runs = 0;
        do
            CLARET_GOTO(cleanup, timed_run(exec, &seconds[runs++]));
        while (runs < 256 && claret_clock() < end);
        medians[r] = bench_median(seconds, runs) / count;
    }
    *spread = bench_spread(medians, (size_t)probe->repeat);
cleanup:
    claret_exec_destroy(exec);
    return status;
}

/* A word back from a device that has nothing to do. */
static enum claret_status measure_read_back(struct probe *probe, struct bench_spread *spread)
{
    double medians[MAX_REPEATS], seconds[256];
    uint32_t word;
    CLARET_TRY(claret_pool_read(probe->pool, 0, 0, sizeof word, &word)); /* new programs are saved here */
    for (int r = 0; r < probe->repeat; r++) {
        double end = claret_clock() + probe->seconds;
        size_t runs = 0;
        do {
            double start = claret_clock();
            CLARET_TRY(claret_pool_read(probe->pool, 0, 0, sizeof word, &word));
            seconds[runs++] = claret_clock() - start;
        } while (runs < 256 && claret_clock() < end);
        medians[r] = bench_median(seconds, runs);
    }
    *spread = bench_spread(medians, (size_t)probe->repeat);
    return CLARET_OK;
}

enum claret_status bench_roof_measure(struct claret_rt *rt, double seconds, int repeat,
                                      struct bench_roof *roof)
{
    struct probe probe = {.seconds = seconds, .repeat = repeat < MAX_REPEATS ? repeat : MAX_REPEATS};
    enum claret_status status;
    memset(roof, 0, sizeof *roof);
    CLARET_GOTO(cleanup, open_probe(rt, &probe));
    for (int i = 0; i < BENCH_WIDTHS; i++)
        CLARET_GOTO(cleanup, measure_flops(&probe, i, &roof->flops[i]));
    uint64_t bytes = UINT64_C(32) << 10;
    for (int i = 0; i < BENCH_COPY_SIZES && bytes <= probe.bytes; i++, bytes *= 4) {
        roof->copy_bytes[i] = 2 * bytes;
        CLARET_GOTO(cleanup, measure_copy(&probe, bytes, &roof->copy_rate[i]));
    }
    CLARET_GOTO(cleanup, measure_launch(&probe, 1, &roof->launch));
    CLARET_GOTO(cleanup, measure_launch(&probe, QUEUED, &roof->queued));
    CLARET_GOTO(cleanup, measure_read_back(&probe, &roof->read_back));
cleanup:
    claret_pool_destroy(probe.pool);
    return status;
}

double bench_roof_seconds(const struct bench_roof *roof, double flops, double bytes)
{
    double peak = 0, rate = 0;
    if (flops <= 0 && bytes <= 0)
        return NAN;
    for (int i = 0; i < BENCH_WIDTHS; i++)
        peak = fmax(peak, roof->flops[i].max);
    /* The memory that holds so many bytes: the fastest of those that do. */
    for (int i = 0; i < BENCH_COPY_SIZES && roof->copy_bytes[i]; i++)
        if ((double)roof->copy_bytes[i] >= bytes || i + 1 == BENCH_COPY_SIZES || !roof->copy_bytes[i + 1])
            rate = fmax(rate, roof->copy_rate[i].max);
    return fmax(flops / peak, bytes / rate);
}

/* ---- the command ----------------------------------------------------------------------------------------
 */

static void describe(const struct bench_roof *roof, json_t *result)
{
    json_t *peak = json_object(), *copy = json_object();
    char key[32], size[32];
    cli_out("peak arithmetic (fused multiply-adds), GFLOPS: median of the repeats' best, least, most\n");
    for (int i = 0; i < BENCH_WIDTHS; i++) {
        const struct bench_spread *flops = &roof->flops[i];
        snprintf(key, sizeof key, "%d", widths[i]);
        bench_set_spread(peak, key, flops, 1e-9);
        cli_out("  %2d floats a vector  %10.1f  %10.1f  %10.1f\n", widths[i], 1e-9 * flops->median,
                1e-9 * flops->min, 1e-9 * flops->max);
    }
    cli_out("copying, GB/s read and written\n");
    for (int i = 0; i < BENCH_COPY_SIZES && roof->copy_bytes[i]; i++) {
        const struct bench_spread *rate = &roof->copy_rate[i];
        snprintf(key, sizeof key, "%llu", (unsigned long long)roof->copy_bytes[i]);
        bench_set_spread(copy, key, rate, 1e-9);
        cli_out("  %18s  %10.1f  %10.1f  %10.1f\n", claret_format_bytes(roof->copy_bytes[i], size),
                1e-9 * rate->median, 1e-9 * rate->min, 1e-9 * rate->max);
    }
    cli_out("latencies, microseconds\n");
    const struct {
        const char *name, *key;
        const struct bench_spread *spread;
    } latencies[] = {{"launch and finish", "launch_microseconds", &roof->launch},
                     {"launch, queued", "queued_launch_microseconds", &roof->queued},
                     {"read back", "read_back_microseconds", &roof->read_back}};
    json_object_set_new(result, "peak_gflops", peak);
    json_object_set_new(result, "copy_gbytes_per_second", copy);
    for (int i = 0; i < 3; i++) {
        const struct bench_spread *spread = latencies[i].spread;
        bench_set_spread(result, latencies[i].key, spread, 1e6);
        cli_out("  %-18s  %10.2f  %10.2f  %10.2f\n", latencies[i].name, 1e6 * spread->median,
                1e6 * spread->min, 1e6 * spread->max);
    }
}

enum claret_status bench_device(const struct bench_args *args, json_t *result)
{
    struct claret_rt *rt = NULL;
    struct bench_roof roof;
    CLARET_TRY(bench_open(args, &rt));
    bench_set_device(result, rt);
    enum claret_status status = bench_roof_measure(rt, args->seconds, (int)args->repeat, &roof);
    if (status == CLARET_OK)
        describe(&roof, result);
    claret_rt_close(rt);
    return status;
}
