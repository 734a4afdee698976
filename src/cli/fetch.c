/* claret fetch */
#include <string.h>

#include "cli/cli.h"
#include "cli/terminal.h"

static void on_progress(void *user, const char *file, uint64_t done, uint64_t total)
{
    (void)user;
    double mebibytes = (double)done / 1048576.0;

    if (total)
        cli_progress("%s  %.1f of %.1f MiB  %d%%", file, mebibytes, (double)total / 1048576.0,
                     (int)((double)done / (double)total * 100));
    else
        cli_progress("%s  %.1f MiB", file, mebibytes);
}

static int parse_timeout(const struct cli_args *args, int *seconds)
{
    const char *text = args->value[CLI_TIMEOUT];
    int value = 0;

    *seconds = 60;
    if (!text)
        return CLI_DONE;
    for (const char *digit = text; *digit >= '0' && *digit <= '9' && value < 100000; digit++)
        value = 10 * value + (*digit - '0');
    if (strspn(text, "0123456789") != strlen(text) || value < 1 || value > 86400) {
        cli_error("--timeout: '%s' is not a whole number of seconds from 1 to 86400", text);
        return CLI_USAGE;
    }
    *seconds = value;
    return CLI_DONE;
}

int cli_fetch(const struct cli_args *args)
{
    const char *folder = args->value[CLI_FETCH_OUT] ? args->value[CLI_FETCH_OUT] : "./data";
    char *place = NULL;
    int seconds = 60, code = parse_timeout(args, &seconds);

    if (code != CLI_DONE)
        return code;
    if (!args->operand) {
        cli_error("claret fetch needs a data set:");
        for (size_t i = 0; claret_fetch_set_name(i); i++)
            cli_error("  %s", claret_fetch_set_name(i));
        return CLI_USAGE;
    }
    if (!*folder) {
        cli_error("--out: the folder has no name");
        return CLI_USAGE;
    }
    enum claret_status status =
        claret_fetch(args->operand, folder, args->value[CLI_URL], args->value[CLI_MD5], seconds,
                     cli_progress_wanted() ? on_progress : NULL, NULL, &place);
    cli_progress_clear();
    if (status != CLARET_OK)
        return cli_failed(cli_exit_code(status));
    cli_out("%s is in %s\n", args->operand, place);
    if (args->value[CLI_JSON]) {
        json_t *object = json_object();
        json_object_set_new(object, "set", cli_json_text(args->operand));
        json_object_set_new(object, "folder", cli_json_text(place));
        code = cli_print_json(object);
    }
    claret_text_free(place);
    return code;
}
