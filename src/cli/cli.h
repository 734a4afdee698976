/* The commands, and what they share. Each returns the process's exit code. */
#ifndef CLARET_CLI_CLI_H
#define CLARET_CLI_CLI_H

#include <jansson.h>

#include "cli/flags.h"

enum cli_exit { CLI_DONE, CLI_FAILED, CLI_USAGE, CLI_NO_DEVICE };

int cli_devices(const struct cli_args *args);
int cli_train(const struct cli_args *args);
int cli_eval(const struct cli_args *args);
int cli_show(const struct cli_args *args);
int cli_fetch(const struct cli_args *args);
int cli_predict(const struct cli_args *args);

/* Prints claret_error() and returns `code`. */
int cli_failed(enum cli_exit code);
/* The exit code of a status that has nothing to do with the command line but what the options say. */
enum cli_exit cli_exit_code(enum claret_status status);

/* Opens the split that the options say, for `network`. */
int cli_open_data(const struct cli_args *args, const struct claret_network *network, enum claret_split split,
                  struct claret_dataset **dataset);
/* The network of --weights. Where no flag says --model, --data, --mean, --std or the loss, they become what
 * they were in the training, by the file where it is a checkpoint, else by the config.ini beside it. */
int cli_open_trained(enum cli_command_id command, const struct cli_args *args,
                     struct claret_network **network);
/* Whether a class is called by its number alone. */
bool cli_class_unnamed(const char *name, int label);
/* Puts the classes' names, where they have any, into the options: so config.ini and checkpoints have them. */
int cli_keep_class_names(struct claret_options *options, const struct claret_dataset *dataset);
/* A class's name from there, `length` bytes; NULL: there are none, or not `classes` of them. */
const char *cli_class_name(const struct claret_options *options, int classes, int label, int *length);
/* CLI_USAGE, said: what --device and --platform say is none or several. That there is no usable device at all
 * is no mistake of the command line: cli_open_session() tells it. */
int cli_check_device(const struct cli_args *args);
/* Chooses the device, says which, and makes a session there. */
int cli_open_session(const struct cli_args *args, const struct claret_network *network,
                     const struct claret_dataset *dataset, int training, struct claret_session **session);
/* Whether the plan is to be printed instead of run: --dump-plan, --explain. Printing it. */
bool cli_plan_wanted(const struct cli_args *args);
int cli_print_plan(const struct cli_args *args, struct claret_session *session);
/* What "device" is in JSON: "NAME, PLATFORM, driver VERSION". NULL: out of memory. */
json_t *cli_device_json(struct claret_session *session);
/* An option's value as a number; options have been checked. */
long long cli_number(const struct cli_args *args, const char *key);

/* "Test loss: …" and a line for each class. */
void cli_print_result(const struct claret_result *result, const struct claret_dataset *dataset);
/* Warns where all images, of several classes, were taken for one; advice: what to do about it. */
void cli_warn_of_one_class(const struct claret_result *result, const struct claret_dataset *dataset,
                           const char *advice);
/* Adds "loss", "accuracy", "class_accuracy". */
void cli_result_json(json_t *object, const struct claret_result *result,
                     const struct claret_dataset *dataset);
/* Prints and frees an object. */
int cli_print_json(json_t *object);
json_t *cli_json_text(const char *text);
json_t *cli_json_number(double number); /* null where JSON has no such number */

#endif
