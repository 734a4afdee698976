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
    struct claret_options *options;       /* the checkpoint's */
    char *config;                         /* its path, whether there is one or not */
};

/* Taken from there where no flag says them; those of the loss only with the loss itself. */
static const struct {
    enum cli_flag_id flag;
    bool of_loss;
} taken[] = {{CLI_MODEL, false}, {CLI_MEAN, false},           {CLI_STD, false},
             {CLI_LOSS, true},   {CLI_LABEL_SMOOTHING, true}, {CLI_CLASS_WEIGHTS, true}};

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

static void open_source(const char *weights, struct source *source)
{
    *source = (struct source){.config = config_beside(weights)};
    if (claret_checkpoint_open(weights, &source->checkpoint) != CLARET_OK)
        return;
    if (claret_options_create(&source->options) == CLARET_OK)
        claret_checkpoint_options(source->checkpoint, source->options);
}

static void close_source(struct source *source)
{
    claret_options_destroy(source->options);
    claret_checkpoint_destroy(source->checkpoint);
    free(source->config);
}

/* malloc'ed; NULL: nothing is said of it. */
static char *value_in(const struct source *source, const char *key)
{
    if (source->options)
        return strdup(claret_options_get(source->options, key));
    return source->config ? cli_config_value(source->config, key) : NULL;
}

/* Sets the options, and says those that differ from what they were. */
static void take_options(enum cli_command_id command, const struct cli_args *args,
                         const struct source *source)
{
    char said[1024] = "";
    size_t used = 0;

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        const struct cli_flag *flag = &cli_flags[taken[i].flag];
        if (!(flag->commands & 1U << command) || args->value[taken[i].flag] ||
            (taken[i].of_loss && args->value[CLI_LOSS]))
            continue;
        char *value = value_in(source, flag->key);
        if (value && strcmp(value, "balanced") == 0)
            cli_note(
                "trained with --class-weights balanced, which go by the images that it was trained on: the "
                "loss here is without them");
        else if (value && strcmp(value, claret_options_get(args->options, flag->key)) != 0 &&
                 claret_options_set(args->options, flag->key, value) == CLARET_OK && used < sizeof said)
            used += (size_t)snprintf(said + used, sizeof said - used, " --%s %s", flag->key, value);
        free(value);
    }
    if (said[0])
        cli_note("trained with%s, as %s says", said,
                 source->options ? claret_checkpoint_file(source->checkpoint) : source->config);
}

int cli_open_trained(enum cli_command_id command, const struct cli_args *args,
                     struct claret_network **network)
{
    struct source source;

    open_source(args->value[CLI_WEIGHTS], &source);
    take_options(command, args, &source);
    /* A checkpoint has the network's text, wherever its file is by now. */
    enum claret_status status =
        source.checkpoint && !args->value[CLI_MODEL]
            ? claret_checkpoint_network(source.checkpoint, network)
            : claret_network_load(claret_options_get(args->options, "model"), network);
    close_source(&source);
    return status == CLARET_OK ? CLI_DONE : cli_failed(CLI_FAILED);
}
