/* Training steps with the data in memory: images a second, and where the time goes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bench.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "train/weights.h"

#define QUEUE_SECONDS 10e-3 /* steps for about so long are queued at once … */
#define QUEUE_MOST 64       /* … but no more */
#define PROFILED 128        /* runs at most in a repeat */
#define ROOF_SECONDS 0.02   /* for each number of the device's limits */

struct step {
    const struct bench_args *args;
    struct claret_network *network;
    struct claret_dataset *data; /* in batches: CLARET_STAGE_SLOTS_MAX of them where they are random */
    struct claret_session *session;
    struct bench_roof roof;
    int queue; /* steps queued at once */
    size_t launches;
    double *rates;          /* (repeat): images a second */
    double *medians;        /* (launches, repeat): seconds, each the median of a repeat's runs */
    double *samples;        /* (launches, PROFILED): seconds, of one repeat */
    double *seconds;        /* (launches): of one run */
    bool *wall, *ever_wall; /* (launches) */
};

static int64_t batch_of(const struct step *step)
{
    return step->session->train.batch;
}

/* ---- data -----------------------------------------------------------------------------------------------
 */

static enum claret_status random_data(struct step *step, int64_t batch)
{
    int shape[3], classes;
    claret_network_shape(step->network, shape, &classes);
    size_t count = (size_t)batch * CLARET_STAGE_SLOTS_MAX;
    size_t bytes = count * (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2];
    unsigned char *images = malloc(bytes);            /* (count, C, H, W) */
    int32_t *labels = malloc(count * sizeof *labels); /* (count) */
    struct claret_rng rng;
    claret_rng_init(&rng, (uint64_t)step->args->options->seed, CLARET_STREAM_SHAPES, 0);
    for (size_t i = 0; images && i < bytes; i++)
        images[i] = (unsigned char)claret_rng_below(&rng, 256);
    for (size_t i = 0; labels && i < count; i++)
        labels[i] = (int32_t)claret_rng_below(&rng, (uint32_t)classes);
    enum claret_status status = images && labels
                                    ? claret_dataset_from_arrays(CLARET_U8, images, labels, count, shape[0],
                                                                 shape[1], shape[2], classes, &step->data)
                                    : claret_no_memory();
    free(images);
    free(labels);
    return status;
}

static enum claret_status read_data(struct step *step, const char *path, int64_t batch)
{
    float *images = NULL, *numbers = NULL;
    int32_t *labels = NULL;
    size_t pixels, count;
    int shape[3], classes;
    enum claret_status status;
    claret_network_shape(step->network, shape, &classes);
    size_t image = (size_t)shape[0] * (size_t)shape[1] * (size_t)shape[2];
    CLARET_GOTO(cleanup, claret_weights_read(path, "images", &images, &pixels));
    CLARET_GOTO(cleanup, claret_weights_read(path, "labels", &numbers, &count));
    if (pixels != count * image) {
        status =
            claret_fail(CLARET_SHAPE, "%s: images has %zu numbers; %zu labels of %dx%dx%d images ask for %zu",
                        path, pixels, count, shape[0], shape[1], shape[2], count * image);
        goto cleanup;
    }
    if (count < (size_t)batch) {
        status = claret_fail(CLARET_INVALID, "%s has %zu images, --batch-size is %lld", path, count,
                             (long long)batch);
        goto cleanup;
    }
    labels = malloc(count * sizeof *labels);
    if (!labels) {
        status = claret_no_memory();
        goto cleanup;
    }
    for (size_t i = 0; i < count; i++)
        labels[i] = (int32_t)numbers[i];
    CLARET_GOTO(cleanup, claret_dataset_from_arrays(CLARET_F32, images, labels, count, shape[0], shape[1],
                                                    shape[2], classes, &step->data));
cleanup:
    free(images);
    free(numbers);
    free(labels);
    return status;
}

/* The index of the index-th batch's first image. */
static size_t batch_start(const struct step *step, size_t index)
{
    size_t batches = claret_dataset_count(step->data) / (size_t)batch_of(step);
    return index % batches * (size_t)batch_of(step);
}

/* A batch into each stage slot; the steps read them in turn and need no upload. */
static enum claret_status fill_slots(const struct step *step)
{
    const struct claret_engine *engine = &step->session->train;
    const struct claret_stage_layout *layout = &engine->layout;
    const struct claret_place *place = &engine->plan->places[engine->graph->stage];
    size_t count = (size_t)engine->batch;
    struct claret_stage_header header = {.count = (uint32_t)count,
                                         .lr = (float)step->args->options->lr,
                                         .momentum = claret_optimizer_momentum(&step->session->optimizer)};
    unsigned char *slot = calloc(1, layout->slot);
    enum claret_status status = slot ? CLARET_OK : claret_no_memory();
    for (size_t s = 0; status == CLARET_OK && s < (size_t)layout->slots; s++) {
        size_t first = batch_start(step, s);
        memcpy(slot, &header, sizeof header);
        memcpy(slot + layout->labels, step->data->labels + first, count * sizeof(int32_t));
        memcpy(slot + layout->images, step->data->images + first * layout->image, count * layout->image);
        status = claret_pool_write(step->session->pool, place->buffer, place->offset + s * layout->slot,
                                   layout->slot, slot);
    }
    free(slot);
    return status;
}

/* ---- measuring ------------------------------------------------------------------------------------------
 */

static enum claret_status queue_steps(const struct step *step, struct claret_ticket **done)
{
    struct claret_exec *exec = step->session->train.exec;
    for (int i = 1; i < step->queue; i++)
        CLARET_TRY(claret_exec_run(exec, NULL, NULL));
    return claret_exec_run(exec, NULL, done);
}

/* Steps for so long, at least two turns, the next ones always queued before the last ones are waited for. */
static enum claret_status run_for(const struct step *step, double seconds, double *step_seconds)
{
    struct claret_ticket *last = NULL, *next;
    double start = claret_clock(), elapsed;
    size_t turns = 0;
    do {
        CLARET_TRY(queue_steps(step, &next));
        CLARET_TRY(claret_ticket_wait(last));
        last = next;
        elapsed = claret_clock() - start;
    } while (++turns < 2 || elapsed < seconds);
    CLARET_TRY(claret_ticket_wait(last));
    *step_seconds = (claret_clock() - start) / ((double)turns * step->queue);
    return CLARET_OK;
}

/* Compiles what is compiled at the first run, and finds how many steps to queue. */
static enum claret_status warm_up(struct step *step)
{
    double seconds = 0;
    step->queue = 1;
    CLARET_TRY(run_for(step, 0, &seconds));
    CLARET_TRY(run_for(step, step->args->seconds / 2, &seconds));
    double queue = seconds > 0 ? QUEUE_SECONDS / seconds : QUEUE_MOST;
    step->queue = queue < 1 ? 1 : queue > QUEUE_MOST ? QUEUE_MOST : (int)queue;
    return CLARET_OK;
}

static enum claret_status profile(struct step *step, int repeat)
{
    double end = claret_clock() + step->args->seconds / 2;
    size_t runs = 0;
    if (repeat == 0) /* the first run waits after each launch: that time is not the others' */
        CLARET_TRY(claret_exec_run_profiled(step->session->train.exec, step->seconds, step->wall));
    do {
        CLARET_TRY(claret_exec_run_profiled(step->session->train.exec, step->seconds, step->wall));
        for (size_t l = 0; l < step->launches; l++) {
            step->samples[l * PROFILED + runs] = step->seconds[l];
            step->ever_wall[l] |= step->wall[l];
        }
    } while (++runs < PROFILED && claret_clock() < end);
    for (size_t l = 0; l < step->launches; l++)
        step->medians[l * (size_t)step->args->repeat + (size_t)repeat] =
            bench_median(&step->samples[l * PROFILED], runs);
    return CLARET_OK;
}

static enum claret_status measure(struct step *step)
{
    struct claret_window window;
    CLARET_TRY(fill_slots(step));
    CLARET_TRY(warm_up(step));
    for (int r = 0; r < (int)step->args->repeat; r++) {
        double seconds;
        CLARET_TRY(run_for(step, step->args->seconds, &seconds));
        step->rates[r] = (double)batch_of(step) / seconds;
        CLARET_TRY(profile(step, r));
    }
    /* A loss that is not finite would mean that something else was measured. */
    CLARET_TRY(claret_session_window(step->session, &window));
    return bench_roof_measure(step->session->rt,
                              ROOF_SECONDS < step->args->seconds ? ROOF_SECONDS : step->args->seconds, 1,
                              &step->roof);
}

/* ---- results --------------------------------------------------------------------------------------------
 */

static json_t *launch_row(const struct step *step, size_t index, double step_seconds, double *roof_seconds,
                          double *seconds)
{
    const struct claret_launch *launch = &step->session->train.plan->launches[index];
    size_t repeat = (size_t)step->args->repeat;
    struct bench_spread spread = bench_spread(&step->medians[index * repeat], repeat);
    double roof = bench_roof_seconds(&step->roof, launch->flops, launch->bytes);
    json_t *row = json_object();
    json_object_set_new(row, "name", cli_json_text(launch->label));
    json_object_set_new(row, "solver", cli_json_text(launch->solver));
    bench_set(row, "microseconds", 1e6 * spread.median);
    bench_set(row, "share", spread.median / step_seconds);
    bench_set(row, "gflops", 1e-9 * launch->flops / spread.median);
    bench_set(row, "gbytes_per_second", 1e-9 * launch->bytes / spread.median);
    bench_set(row, "roof_share", roof / spread.median);
    json_object_set_new(row, "wall_clock", json_boolean(step->ever_wall[index]));
    bench_set_spread(row, "repeats", &spread, 1e6);
    *seconds += spread.median;
    *roof_seconds += isnan(roof) ? 0 : roof;
    return row;
}

static void describe(const struct step *step, json_t *result)
{
    static const struct bench_column columns[] = {{"name", "launch", NULL, 0},
                                                  {"solver", "solver", NULL, 0},
                                                  {"microseconds", "us", "%.1f", 1},
                                                  {"wall_clock", "", NULL, 0},
                                                  {"share", "step %", "%.1f", 100},
                                                  {"gflops", "GFLOPS", "%.1f", 1},
                                                  {"gbytes_per_second", "GB/s", "%.1f", 1},
                                                  {"roof_share", "roof %", "%.1f", 100},
                                                  {.key = NULL}};
    struct bench_spread rate = bench_spread(step->rates, (size_t)step->args->repeat);
    double step_seconds = (double)batch_of(step) / rate.median, roof = 0, seconds = 0;
    json_t *launches = json_array();
    bool wall = false;
    bench_set_spread(result, "images_per_second", &rate, 1);
    for (size_t l = 0; l < step->launches; l++) {
        json_array_append_new(launches, launch_row(step, l, step_seconds, &roof, &seconds));
        wall |= step->ever_wall[l];
    }
    double gap = seconds < step_seconds ? 1 - seconds / step_seconds : 0;
    json_object_set_new(result, "launches", launches);
    bench_set(result, "host_gap_share", gap);
    bench_set(result, "step_microseconds", 1e6 * step_seconds);
    bench_set(result, "roof_share", roof / step_seconds);
    cli_out("%s, batch %lld: %.0f images/s (%.0f to %.0f over %lld repeats), %.1f us a step\n",
            claret_network_name(step->network), (long long)batch_of(step), rate.median, rate.min, rate.max,
            (long long)step->args->repeat, 1e6 * step_seconds);
    bench_print_rows(launches, columns);
    cli_out("host gaps %.1f%% of the step; the step is at %.1f%% of the roof\n", 100 * gap,
            100 * roof / step_seconds);
    if (wall)
        cli_out("*: by the wall clock, the driver does not tell the device's time\n");
}

/* ---- losses ---------------------------------------------------------------------------------------------
 */

static enum claret_status losses(const struct step *step, json_t *result)
{
    json_t *list = json_array();
    json_object_set_new(result, "losses", list);
    for (size_t s = 0; s < (size_t)step->args->losses; s++) {
        size_t first = batch_start(step, s);
        float loss;
        CLARET_TRY(claret_session_step(step->session, step->data->images + first * step->data->image_bytes,
                                       step->data->labels + first, (int)batch_of(step), &loss));
        json_array_append_new(list, cli_json_number((double)loss));
        cli_out("%zu %.9g\n", s + 1, (double)loss);
    }
    return CLARET_OK;
}

/* ---- the command ----------------------------------------------------------------------------------------
 */

static enum claret_status allocate(struct step *step)
{
    size_t repeat = (size_t)step->args->repeat, launches = (size_t)step->session->train.plan->launch_count;
    step->launches = launches;
    step->rates = calloc(repeat, sizeof *step->rates);
    step->medians = calloc(launches * repeat + 1, sizeof *step->medians);
    step->samples = calloc(launches * PROFILED + 1, sizeof *step->samples);
    step->seconds = calloc(launches + 1, sizeof *step->seconds);
    step->wall = calloc(launches + 1, sizeof *step->wall);
    step->ever_wall = calloc(launches + 1, sizeof *step->ever_wall);
    return step->rates && step->medians && step->samples && step->seconds && step->wall && step->ever_wall
               ? CLARET_OK
               : claret_no_memory();
}

static enum claret_status run(struct step *step, json_t *result)
{
    const struct claret_options *options = step->args->options;
    const char *file = step->args->value[BENCH_FLAG_DATA_FILE];
    CLARET_TRY(claret_network_load(options->model, &step->network));
    CLARET_TRY(file ? read_data(step, file, options->batch_size) : random_data(step, options->batch_size));
    CLARET_TRY(claret_session_create(step->network, options, step->data, 1, &step->session));
    bench_set_device(result, step->session->rt);
    json_object_set_new(result, "model", cli_json_text(claret_network_name(step->network)));
    json_object_set_new(result, "batch_size", json_integer((json_int_t)batch_of(step)));
    if (step->args->losses)
        return losses(step, result);
    CLARET_TRY(allocate(step));
    CLARET_TRY(measure(step));
    describe(step, result);
    return CLARET_OK;
}

enum claret_status bench_step(const struct bench_args *args, json_t *result)
{
    struct step step = {.args = args};
    enum claret_status status = run(&step, result);
    claret_session_destroy(step.session);
    claret_dataset_destroy(step.data);
    claret_network_destroy(step.network);
    free(step.rates);
    free(step.medians);
    free(step.samples);
    free(step.seconds);
    free(step.wall);
    free(step.ever_wall);
    return status;
}
