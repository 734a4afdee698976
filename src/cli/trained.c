/* What the training that saved weights says of the network, its images and its loss. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal.h"

/* Where it says so: the file of the weights itself, where that is a checkpoint, or the config.ini beside it.
 */
struct source {
    struct claret_checkpoint *checkpoint; /* NULL: it is none */
    struct claret_options *options;       /* what it says; of what it does not say, the defaults */
    char *config;                         /* its path, whether there is one or not */
};

/* Taken from there where no flag says them, nor the one whose value they belong to. */
static const struct {
    enum cli_flag_id flag, with;
} taken[] = {{CLI_MODEL, CLI_MODEL},
             {CLI_DATA, CLI_DATA},
             {CLI_COARSE_LABELS, CLI_DATA},
             {CLI_MEAN, CLI_MEAN},
             {CLI_STD, CLI_STD},
             {CLI_LOSS, CLI_LOSS},
             {CLI_LABEL_SMOOTHING, CLI_LOSS},
             {CLI_CLASS_WEIGHTS, CLI_LOSS}};

/* "runs/a/config.ini" of "runs/a/weights.safetensors", malloc'ed. */
static char *config_beside(const char *weights)
{
    const char *slash = strrchr(weights, '/');
    size_t folder = slash ? (size_t)(slash - weights) + 1 : 0, size = folder + sizeof "config.ini";
    char *path = malloc(size);

    if (path)
        snprintf(path, size, "%.*sconfig.ini", (int)folder, weights);
    return path;
}

static enum claret_status open_source(const char *weights, struct source *source)
{
    *source = (struct source){.config = config_beside(weights)};
    enum claret_status status = claret_options_create(&source->options);
    if (status != CLARET_OK)
        return status;
    if (claret_checkpoint_open(weights, &source->checkpoint) == CLARET_OK)
        claret_checkpoint_options(source->checkpoint, source->options);
    else if (source->config)
        cli_take_config(source->config, source->options);
    return CLARET_OK;
}

static void close_source(struct source *source)
{
    claret_options_destroy(source->options);
    claret_checkpoint_destroy(source->checkpoint);
    free(source->config);
}

/* By either of its names. */
static bool is_given(const struct cli_args *args, enum cli_flag_id flag)
{
    return args->value[flag] || (flag == CLI_DATA && args->value[CLI_DATA_PATH]);
}

/* Sets the options, and says those that differ from what they were. */
static void take_options(enum cli_command_id command, const struct cli_args *args,
                         const struct source *source)
{
    char said[1024] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        const struct cli_flag *flag = &cli_flags[taken[i].flag];
        const char *value = claret_options_get(source->options, flag->key);
        if (!(flag->commands & 1U << command) || is_given(args, taken[i].flag) ||
            is_given(args, taken[i].with))
            continue;
        if (strcmp(value, "balanced") == 0)
            cli_note(
                "trained with --class-weights balanced, which go by the images that it was trained on: the "
                "loss here is without them");
        else if (strcmp(value, claret_options_get(args->options, flag->key)) != 0 &&
                 claret_options_set(args->options, flag->key, value) == CLARET_OK && used < sizeof said)
            used += (size_t)snprintf(said + used, sizeof said - used, " --%s%s%s", flag->key,
                                     flag->argument ? " " : "", flag->argument ? value : "");
    }
    /* No flag's, and nothing to say: they are seen. */
    claret_options_set(args->options, "class-names", claret_options_get(source->options, "class-names"));
    if (said[0])
        cli_note("trained with%s, as %s says", said,
                 source->checkpoint ? claret_checkpoint_file(source->checkpoint) : source->config);
}

/* The test images are what a training leaves alone with it, so it is not taken: but whoever compares with the
 * training's own tests has to know. */
static void say_held_out(enum cli_command_id command, const struct cli_args *args,
                         const struct source *source)
{
    const char *fraction = claret_options_get(source->options, "val-fraction");

    if (command == CLI_EVAL && !args->value[CLI_VAL_FRACTION] && strtod(fraction, NULL) > 0)
        cli_note("trained with --val-fraction %s and tested on the images held out so; here it is the test "
                 "images, without that flag",
                 fraction);
}

int cli_open_trained(enum cli_command_id command, const struct cli_args *args,
                     struct claret_network **network)
{
    struct source source;

    if (open_source(args->value[CLI_WEIGHTS], &source) != CLARET_OK) {
        close_source(&source);
        return cli_failed(CLI_FAILED);
    }
    take_options(command, args, &source);
    say_held_out(command, args, &source);
    /* A checkpoint has the network's text, wherever its file is by now. */
    enum claret_status status =
        source.checkpoint && !args->value[CLI_MODEL]
            ? claret_checkpoint_network(source.checkpoint, network)
            : claret_network_load(claret_options_get(args->options, "model"), network);
    close_source(&source);
    return status == CLARET_OK ? CLI_DONE : cli_failed(CLI_FAILED);
}
