#include "train/optimizer.h"

#include <string.h>

#include "base/text.h"

/* By enum claret_optimizer_kind. */
#define KINDS 4
static const char *const kinds[KINDS] = {"sgd", "adam", "adamw", "rmsprop"};

/* What each takes, and its default: PyTorch's, and the article's for SGD. NULL: it does not take it. */
static const struct {
    const char *key, *value[KINDS];
} arguments[] = {{"lr", {"0.001", "0.001", "0.001", "0.01"}}, {"momentum", {"0.9", NULL, NULL, "0"}},
                 {"dampening", {"0", NULL, NULL, NULL}},      {"nesterov", {"false", NULL, NULL, NULL}},
                 {"weight-decay", {"0", "0", "0.01", "0"}},   {"beta1", {NULL, "0.9", "0.9", NULL}},
                 {"beta2", {NULL, "0.999", "0.999", NULL}},   {"eps", {NULL, "1e-8", "1e-8", "1e-8"}},
                 {"alpha", {NULL, NULL, NULL, "0.99"}},       {"centered", {NULL, NULL, NULL, "false"}}};
#define ARGUMENTS (sizeof arguments / sizeof *arguments)

static const char *kind_name(int index, const void *user)
{
    (void)user;
    return index < KINDS ? kinds[index] : NULL;
}

/* KINDS: there is none of that name. */
static int find_kind(const char *name)
{
    int kind = 0;
    while (kind < KINDS && strcmp(kinds[kind], name) != 0)
        kind++;
    return kind;
}

static enum claret_status not_taken(const char *key, int kind)
{
    struct claret_text by = {0};
    for (size_t i = 0; i < ARGUMENTS; i++)
        for (int other = 0; strcmp(arguments[i].key, key) == 0 && other < KINDS; other++)
            if (arguments[i].value[other])
                claret_text_add(&by, "%s%s", by.size ? ", " : "", kinds[other]);
    enum claret_status status =
        claret_fail(CLARET_INVALID, "--%s: the optimizer %s has none; it is an argument of %s", key,
                    kinds[kind], by.failed ? "another" : by.data);
    claret_text_drop(&by);
    return status;
}

enum claret_status claret_optimizer_resolve(struct claret_options *options)
{
    int kind = find_kind(options->optimizer);
    if (kind == KINDS) {
        int near = claret_nearest(options->optimizer, kind_name, NULL);
        return claret_fail(CLARET_INVALID, "--optimizer: '%s' is none of sgd, adam, adamw, rmsprop%s%s%s",
                           options->optimizer, near >= 0 ? "; did you mean '" : "",
                           near >= 0 ? kinds[near] : "", near >= 0 ? "'?" : "");
    }
    for (size_t i = 0; i < ARGUMENTS; i++) {
        const char *key = arguments[i].key, *value = arguments[i].value[kind];
        bool given = claret_options_given(options, key);
        if (!value && given && strcmp(claret_options_get(options, key), "false") != 0)
            return not_taken(key, kind);
        if (value && !given)
            CLARET_TRY(claret_options_default(options, key, value));
    }
    return CLARET_OK;
}

bool claret_optimizer_takes(const struct claret_options *options, const char *key)
{
    int kind = find_kind(options->optimizer);
    for (size_t i = 0; kind < KINDS && i < ARGUMENTS; i++)
        if (strcmp(arguments[i].key, key) == 0)
            return arguments[i].value[kind] != NULL;
    return true;
}

struct claret_optimizer claret_optimizer_of(const struct claret_options *options)
{
    int kind = find_kind(options->optimizer);
    struct claret_optimizer of = {.kind = (enum claret_optimizer_kind)(kind < KINDS ? kind : 0),
                                  .weight_decay = options->weight_decay};
#define TAKE(key, field) of.field = claret_optimizer_takes(options, key) ? options->field : of.field
    TAKE("momentum", momentum);
    TAKE("dampening", dampening);
    TAKE("nesterov", nesterov);
    TAKE("beta1", beta1);
    TAKE("beta2", beta2);
    TAKE("eps", eps);
    TAKE("alpha", alpha);
    TAKE("centered", centered);
#undef TAKE
    return of;
}

double claret_optimizer_cycled(const struct claret_optimizer *optimizer)
{
    return claret_optimizer_is_adam(optimizer) ? optimizer->beta1 : optimizer->momentum;
}

struct claret_optimizer claret_optimizer_at(const struct claret_optimizer *optimizer, double momentum)
{
    struct claret_optimizer at = *optimizer;
    *(claret_optimizer_is_adam(optimizer) ? &at.beta1 : &at.momentum) = momentum;
    return at;
}
