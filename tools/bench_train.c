/* The whole pipeline: loader threads, uploads, steps, as `claret train` runs them. */
#include <stdlib.h>

#include "bench.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#define WARM_UP 10 /* the repeat before the first has this part of its steps */

/* The session's own options, so that one session can train several times. */
static void set_steps(struct claret_session *session, const struct claret_dataset *data, int64_t steps)
{
    int64_t batch = session->train.batch, count = (int64_t)claret_dataset_count(data);
    int64_t in_epoch = (count + batch - 1) / batch;
    session->options->max_steps = steps;
    session->options->epochs = (steps + in_epoch - 1) / in_epoch;
}

static enum claret_status repeat(struct claret_session *session, const struct claret_dataset *data,
                                 int64_t steps, double *rate)
{
    double seconds = claret_session_seconds(session);
    size_t images = claret_session_images(session);
    set_steps(session, data, steps);
    CLARET_TRY(claret_session_train(session, data, NULL, NULL));
    *rate = (double)(claret_session_images(session) - images) / (claret_session_seconds(session) - seconds);
    return CLARET_OK;
}

static enum claret_status measure(const struct bench_args *args, struct claret_session *session,
                                  const struct claret_dataset *data, json_t *result)
{
    size_t count = (size_t)args->repeat;
    double *rates = calloc(count, sizeof *rates);
    enum claret_status status = rates ? CLARET_OK : claret_no_memory();
    if (status == CLARET_OK)
        status = repeat(session, data, args->steps / WARM_UP + 1, &rates[0]);
    for (size_t r = 0; status == CLARET_OK && r < count; r++)
        status = repeat(session, data, args->steps, &rates[r]);
    if (status == CLARET_OK) {
        struct bench_spread spread = bench_spread(rates, count);
        bench_set_spread(result, "images_per_second", &spread, 1);
        cli_out("%s, batch %lld, %lld steps: %.0f images/s (%.0f to %.0f over %zu repeats)\n",
                claret_network_name(session->network), (long long)session->train.batch,
                (long long)args->steps, spread.median, spread.min, spread.max, count);
    }
    free(rates);
    return status;
}

enum claret_status bench_train(const struct bench_args *args, json_t *result)
{
    const struct claret_options *options = args->options;
    struct claret_network *network = NULL;
    struct claret_dataset *data = NULL;
    struct claret_session *session = NULL;
    enum claret_status status;
    CLARET_GOTO(cleanup, claret_network_load(options->model, &network));
    CLARET_GOTO(cleanup, claret_dataset_load(options, network, CLARET_TRAIN, &data));
    if ((size_t)options->batch_size > claret_dataset_count(data)) {
        status = claret_fail(CLARET_INVALID, "--batch-size %lld is more than the %zu training images",
                             (long long)options->batch_size, claret_dataset_count(data));
        goto cleanup;
    }
    CLARET_GOTO(cleanup, claret_session_create(network, options, data, 1, &session));
    bench_set_device(result, session->rt);
    json_object_set_new(result, "model", cli_json_text(claret_network_name(network)));
    json_object_set_new(result, "batch_size", json_integer((json_int_t)options->batch_size));
    json_object_set_new(result, "steps", json_integer((json_int_t)args->steps));
    CLARET_GOTO(cleanup, measure(args, session, data, result));
cleanup:
    claret_session_destroy(session);
    claret_dataset_destroy(data);
    claret_network_destroy(network);
    return status;
}
