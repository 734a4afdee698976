/* Parameters of solvers that may be tuned, and how a choice is written: "direct", "direct:PX=8,KV=2". */
#ifndef CLARET_OP_TUNABLE_H
#define CLARET_OP_TUNABLE_H

#include <stdbool.h>

#include "base/text.h"

#define CLARET_MAX_TUNABLES 8
#define CLARET_MAX_TUNABLE_VALUES 16

/* A solver's list of them ends with name NULL. */
struct claret_tunable {
    const char *name;                          /* as the kernel's define, where there is one */
    int64_t values[CLARET_MAX_TUNABLE_VALUES]; /* worth trying, above 0; 0 ends them where they are fewer */
};

/* The parameters of one choice. What is not given keeps the solver's default; what the solver asked for is
 * kept with the value that it took. */
struct claret_param {
    const char *name; /* the tunable's */
    int64_t value;
    bool given, asked;
};
struct claret_params {
    struct claret_param param[CLARET_MAX_TUNABLES];
    int count;
};

/* What a solver asks: the value given for `name`, else `normal`, its default. `params` NULL: all defaults. */
int64_t claret_param(struct claret_params *params, const char *name, int64_t normal);

/* The value given for `name`; 0: none is. */
int64_t claret_param_given(const struct claret_params *params, const char *name);

/* Whether `choice` ("direct", "direct:PX=8") is of the solver called `solver`. */
bool claret_choice_is(const char *choice, const char *solver);
/* The parameters that `choice` gives, each one of `tunables` (NULL: there are none) with one of its values.
 * CLARET_INVALID says what is wrong and what is there. */
enum claret_status claret_choice_parse(const char *choice, const struct claret_tunable *tunables,
                                       struct claret_params *params);
/* "PX=8,KV=2": those given, or (`all`) those asked too; nothing where there are none. */
void claret_params_write(const struct claret_params *params, bool all, struct claret_text *text);

#endif
