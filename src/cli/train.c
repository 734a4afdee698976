/* claret train */
#include <stdlib.h>
#include <string.h>

#include "base/shell.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "cli/terminal.h"

struct training {
    const struct cli_args *args;
    struct claret_network *network;
    struct claret_dataset *train, *test;
    struct claret_session *session;
    struct claret_run *run;
    struct claret_result *result; /* NULL: not tested */
    char *weights;                /* path; NULL: not saved */
    char sha256[65];
    long long epochs, batch;
};

/* ---- as it goes --------------------------------------------------------------------------------- */

static void on_loss(void *user, int epoch, size_t step, double loss)
{
    struct training *training = user;

    /* Nobody reads on (a closed pipe, a full disk): end as on a signal. */
    if (!cli_out("[%d, %5zu] loss: %.3f\n", epoch, step, loss))
        claret_session_stop(training->session);
}

static void on_epoch(void *user, int epoch, double loss, double seconds, size_t images)
{
    struct training *training = user;

    cli_note("epoch %d of %lld: loss %.4f, %zu images in %.1f s, %.1f images/s", epoch, training->epochs,
             loss, images, seconds, seconds > 0 ? (double)images / seconds : 0.0);
}

static void on_progress(void *user, size_t step, size_t steps, int epoch, double images_per_second)
{
    struct training *training = user;
    double left =
        images_per_second > 0 ? (double)(steps - step) * (double)training->batch / images_per_second : 0.0;
    long long seconds = (long long)(left < 1e9 ? left + 0.5 : 1e9);

    cli_progress("epoch %d/%lld  step %zu/%zu  %.0f images/s  %lld:%02lld:%02lld left", epoch,
                 training->epochs, step, steps, images_per_second, seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
}

static void on_test(void *user, int epoch, double loss, double accuracy, int best)
{
    (void)user;
    cli_note("epoch %d: test loss %.4f, accuracy %.2f%%%s", epoch, loss, accuracy,
             best ? ", the best so far" : "");
}

/* ---- before ------------------------------------------------------------------------------------- */

static bool set_list(struct claret_options *options, const char *key, const float *values, int count)
{
    char text[128] = "";
    size_t used = 0;

    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.6g", i ? "," : "", (double)values[i]);
    return claret_options_set(options, key, text) == CLARET_OK;
}

static bool normalize_is_right(const struct cli_args *args)
{
    const char *how = args->value[CLI_NORMALIZE];

    if (how && strcmp(how, "auto") != 0)
        cli_error("--normalize: '%s' is not auto", how);
    else if (how && (args->value[CLI_MEAN] || args->value[CLI_STD]))
        cli_error("--normalize auto finds mean and std: it does not go with --mean or --std");
    else
        return true;
    return false;
}

/* --normalize auto: the options get what was measured, so that test, config.ini and later runs have the same.
 */
static int normalise(const struct cli_args *args, struct claret_dataset *dataset)
{
    float mean[4], std[4];
    int shape[3];

    claret_dataset_shape(dataset, shape);
    enum claret_status status = claret_dataset_measure(dataset, mean, std);
    if (status != CLARET_OK)
        return cli_failed(cli_exit_code(status));
    if (!set_list(args->options, "mean", mean, shape[0]) || !set_list(args->options, "std", std, shape[0]))
        return cli_failed(CLI_FAILED);
    cli_note("normalised by --mean %s --std %s", claret_options_get(args->options, "mean"),
             claret_options_get(args->options, "std"));
    status = claret_dataset_normalise(args->options, dataset);
    return status == CLARET_OK ? CLI_DONE : cli_failed(cli_exit_code(status));
}

static int resume(struct training *training)
{
    const struct claret_checkpoint *checkpoint = training->args->checkpoint;
    const char *passed = claret_checkpoint_passed(checkpoint);

    enum claret_status status = claret_session_resume(training->session, checkpoint);
    if (status != CLARET_OK)
        return cli_failed(status == CLARET_INVALID ? CLI_USAGE : CLI_FAILED);
    if (passed)
        cli_note("%s", passed);
    cli_note("going on after step %zu, from %s", claret_checkpoint_steps(checkpoint),
             claret_checkpoint_file(checkpoint));
    return CLI_DONE;
}

/* The network; and what can be said of the command line by it and before it. */
static int open_network(const struct cli_args *args, struct claret_network **network)
{
    int code = normalize_is_right(args) ? cli_check_device(args) : CLI_USAGE;

    if (code != CLI_DONE)
        return code;
    enum claret_status status =
        args->checkpoint ? claret_checkpoint_network(args->checkpoint, network)
                         : claret_network_load(claret_options_get(args->options, "model"), network);
    if (status != CLARET_OK)
        return cli_failed(CLI_FAILED);
    status = claret_options_fit(args->options, *network);
    return status == CLARET_OK ? CLI_DONE : cli_failed(cli_exit_code(status));
}

/* Everything that can be wrong is found before the run's folder is made. */
static int prepare(struct training *training)
{
    const struct cli_args *args = training->args;
    bool dump = cli_plan_wanted(args);

    training->epochs = cli_number(args, "epochs");
    training->batch = cli_number(args, "batch-size");
    int code = open_network(args, &training->network);
    if (code == CLI_DONE)
        code = cli_open_data(args, training->network, CLARET_TRAIN, &training->train);
    if (code != CLI_DONE)
        return code;
    code = cli_keep_class_names(args->options, training->train);
    if (code != CLI_DONE)
        return code;
    size_t count = claret_dataset_count(training->train);
    if ((size_t)training->batch > count) {
        cli_error("--batch-size %lld is more than the %zu training images", training->batch, count);
        return CLI_USAGE;
    }
    /* Behind the mistakes that lie in the command line, before what takes long. */
    if (!dump && !args->checkpoint && claret_run_check(args->options, training->network) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    if (args->value[CLI_NORMALIZE])
        code = normalise(args, training->train);
    if (code == CLI_DONE)
        code = cli_open_data(args, training->network, CLARET_TEST, &training->test);
    if (code == CLI_DONE)
        code = cli_open_session(args, training->network, training->train, 1, &training->session);
    if (code == CLI_DONE && claret_session_validate(training->session, training->test) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    return code == CLI_DONE && args->checkpoint ? resume(training) : code;
}

/* ---- training ----------------------------------------------------------------------------------- */

static int save(struct training *training)
{
    static const char name[] = "/weights.safetensors";
    const char *folder = claret_run_folder(training->run);
    size_t length = strlen(folder);
    char *path = malloc(length + sizeof(name));

    if (!path) {
        cli_error("host memory is used up");
        return CLI_FAILED;
    }
    while (length > 1 && folder[length - 1] == '/')
        length--;
    memcpy(path, folder, length);
    memcpy(path + length, name, sizeof(name));
    if (claret_session_save(training->session, path, training->sha256) != CLARET_OK) {
        free(path);
        return cli_failed(CLI_FAILED);
    }
    training->weights = path;
    return CLI_DONE;
}

static void say_stopped(const struct training *training)
{
    const char *folder = claret_run_folder(training->run);
    char *word = claret_shell_word(folder);

    cli_note("stopped after %zu steps, the weights are in %s; to go on: claret train --resume %s",
             claret_session_steps(training->session), training->weights, word ? word : folder);
    free(word);
}

static int run(struct training *training, bool *stopped)
{
    struct claret_train_callbacks *callbacks = NULL;

    /* From here on there is something to leave whole. */
    cli_signals_catch(training->session);
    const struct cli_args *args = training->args;
    enum claret_status made = args->checkpoint
                                  ? claret_run_resume(args->options, args->checkpoint, &training->run)
                                  : claret_run_create(args->options, training->network, &training->run);
    if (made != CLARET_OK || claret_train_callbacks_create(&callbacks) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    claret_train_callbacks_set(callbacks, training, on_loss, on_epoch,
                               cli_progress_wanted() ? on_progress : NULL);
    claret_train_callbacks_set_test(callbacks, on_test);
    enum claret_status status =
        claret_session_train(training->session, training->train, training->run, callbacks);
    claret_train_callbacks_destroy(callbacks);
    cli_progress_clear();
    /* A log that cannot be written ends the training, and must not cost what was trained. */
    if (status == CLARET_IO)
        cli_failed(CLI_FAILED);
    else if (status != CLARET_OK && status != CLARET_STOPPED)
        return cli_failed(cli_exit_code(status));
    const char *unheard = cli_out_error();
    *stopped = status != CLARET_OK || cli_signals_caught() || unheard;
    /* Before the test, which takes a while and may be interrupted too. */
    int code = save(training);
    if (code == CLI_DONE && unheard)
        cli_error("standard output cannot be written (%s): stopped after %zu steps, the weights are in %s",
                  unheard, claret_session_steps(training->session), training->weights);
    else if (code == CLI_DONE && *stopped)
        say_stopped(training);
    return status == CLARET_IO ? CLI_FAILED : code;
}

/* ---- after -------------------------------------------------------------------------------------- */

static double images_per_second(const struct claret_session *session)
{
    double seconds = claret_session_seconds(session);

    return seconds > 0 ? (double)claret_session_images(session) / seconds : 0.0;
}

static int test(struct training *training)
{
    cli_out("Finished Training\n");
    if (claret_session_evaluate(training->session, training->test, &training->result) != CLARET_OK)
        return cli_signals_caught() ? CLI_DONE : cli_failed(CLI_FAILED);
    cli_print_result(training->result, training->test);
    cli_warn_of_one_class(training->result, training->test,
                          "a longer training may, or smaller steps: a smaller --lr, a larger --batch-size, "
                          "--normalize auto");
    cli_out("Speed: %.1f images/s\n", images_per_second(training->session));
    return CLI_DONE;
}

static int print_training_json(struct training *training)
{
    const struct claret_session *session = training->session;
    json_t *object = json_object();

    json_object_set_new(object, "steps", json_integer((json_int_t)claret_session_steps(session)));
    json_object_set_new(object, "epochs", json_integer((json_int_t)claret_session_epochs(session)));
    cli_result_json(object, training->result, training->test);
    json_object_set_new(object, "images_per_second", cli_json_number(images_per_second(session)));
    json_object_set_new(object, "weights", cli_json_text(training->weights));
    json_object_set_new(object, "sha256", cli_json_text(training->sha256));
    json_object_set_new(object, "device", cli_device_json(training->session));
    return cli_print_json(object);
}

static int train_and_test(struct training *training)
{
    bool stopped = false;
    int code = run(training, &stopped);

    if (code == CLI_DONE && !stopped)
        code = test(training);
    if (training->weights)
        cli_out("Weights: %s sha256:%s\n", training->weights, training->sha256);
    if (code == CLI_DONE && training->result && training->args->value[CLI_JSON])
        code = print_training_json(training);
    /* A reader that left after the last loss line: the exit code is 1, and nothing else would say why. */
    const char *unheard = stopped ? NULL : cli_out_error();
    if (code == CLI_DONE && unheard)
        cli_error("standard output cannot be written (%s); the training is done, the weights are in %s",
                  unheard, training->weights);
    return code;
}

/* --preview-augment */
static int preview(const struct cli_args *args)
{
    struct claret_network *network = NULL;
    struct claret_dataset *dataset = NULL;
    int code = CLI_DONE;

    if (claret_network_load(claret_options_get(args->options, "model"), &network) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    code = cli_open_data(args, network, CLARET_TRAIN, &dataset);
    if (code == CLI_DONE) {
        enum claret_status status = claret_dataset_preview(args->options, dataset, args->value[CLI_PREVIEW]);
        code = status == CLARET_OK ? CLI_DONE : cli_failed(cli_exit_code(status));
    }
    if (code == CLI_DONE)
        cli_note("%s: an image a row, first as it is, then in epochs 1 to 8", args->value[CLI_PREVIEW]);
    claret_dataset_destroy(dataset);
    claret_network_destroy(network);
    return code;
}

int cli_train(const struct cli_args *args)
{
    struct training training = {.args = args};
    int code = args->value[CLI_PREVIEW] ? preview(args) : prepare(&training);

    if (args->value[CLI_PREVIEW])
        return code;

    if (code == CLI_DONE)
        code = cli_plan_wanted(args) ? cli_print_plan(args, training.session) : train_and_test(&training);
    cli_signals_forget_session();
    free(training.weights);
    claret_result_destroy(training.result);
    claret_run_destroy(training.run);
    claret_session_destroy(training.session);
    claret_dataset_destroy(training.test);
    claret_dataset_destroy(training.train);
    claret_network_destroy(training.network);
    return code;
}
