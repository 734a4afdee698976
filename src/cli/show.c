/* claret show */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal.h"

/* The plan depends on a device and on the kind of data: bytes, as images are. */
static int print_plan(const struct cli_args *args, const struct claret_network *network)
{
    struct claret_dataset *dataset = NULL;
    struct claret_session *session = NULL;
    int shape[3], classes = 0, code;
    const int32_t label = 0;

    enum claret_status status = claret_options_fit(args->options, network);
    if (status != CLARET_OK)
        return cli_failed(cli_exit_code(status));
    claret_network_shape(network, shape, &classes);
    void *image = calloc((size_t)shape[0] * (size_t)shape[1], (size_t)shape[2]); /* (C, H, W) */
    if (!image) {
        cli_error("host memory is used up");
        return CLI_FAILED;
    }
    if (claret_dataset_from_arrays(CLARET_U8, image, &label, 1, shape[0], shape[1], shape[2], classes,
                                   &dataset) != CLARET_OK)
        code = cli_failed(CLI_FAILED);
    else
        code = cli_open_session(args, network, dataset, 1, &session);
    if (code == CLI_DONE)
        code = cli_print_plan(args, session);
    claret_session_destroy(session);
    claret_dataset_destroy(dataset);
    free(image);
    return code;
}

static int describe(const struct cli_args *args, const struct claret_network *network)
{
    int batch = (int)cli_number(args, "batch-size");
    const char *freeze = claret_options_get(args->options, "freeze");
    char *text = NULL, *json = NULL;
    int code = CLI_DONE;

    enum claret_status status = claret_network_describe(network, batch, freeze, &text);
    if (status != CLARET_OK)
        return cli_failed(cli_exit_code(status));
    cli_out("%s", text);
    if (args->value[CLI_JSON]) {
        if (claret_network_describe_json(network, batch, freeze, &json) == CLARET_OK)
            cli_out_json(json);
        else
            code = cli_failed(CLI_FAILED);
    }
    claret_text_free(json);
    claret_text_free(text);
    return code;
}

static int print_text(const struct claret_network *network)
{
    const char *text = claret_network_text(network);
    size_t length = strlen(text);

    cli_out("%s%s", text, length && text[length - 1] == '\n' ? "" : "\n");
    return CLI_DONE;
}

int cli_show(const struct cli_args *args)
{
    struct claret_network *network = NULL;

    if (!args->operand) {
        cli_error("claret show needs a network: the path of a network text, or a name of the zoo:");
        for (size_t i = 0; claret_network_zoo(i); i++)
            cli_error("  %s", claret_network_zoo(i));
        return CLI_USAGE;
    }
    int code = cli_plan_wanted(args) ? cli_check_device(args) : CLI_DONE;
    if (code != CLI_DONE)
        return code;
    if (claret_network_load(args->operand, &network) != CLARET_OK)
        return cli_failed(CLI_FAILED);
    if (args->value[CLI_TEXT])
        code = print_text(network);
    else
        code = cli_plan_wanted(args) ? print_plan(args, network) : describe(args, network);
    claret_network_destroy(network);
    return code;
}
