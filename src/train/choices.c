#include "train/choices.h"

#include <stdlib.h>
#include <string.h>

static int count_words(const char *text)
{
    int count = 0;
    for (const char *at = text; *(at += strspn(at, " ")); at += strcspn(at, " "))
        count++;
    return count;
}

enum claret_status claret_choices_init(const struct claret_options *options, struct claret_choices *choices)
{
    *choices = (struct claret_choices){.text = claret_strdup(options->solver)};
    choices->force = calloc((size_t)count_words(options->solver) + 1, sizeof *choices->force);
    if (!choices->text || !choices->force) {
        claret_choices_finish(choices);
        return claret_no_memory();
    }
    for (char *at = choices->text; *(at += strspn(at, " "));) {
        char *equals = strchr(at, '='), *end = at + strcspn(at, " "); /* options.c has seen to the '=' */
        struct claret_plan_force *force = &choices->force[choices->force_count++];
        force->node = at;
        force->solver = equals + 1;
        *equals = '\0';
        at = *end ? end + 1 : end;
        *end = '\0';
    }
    return CLARET_OK;
}

void claret_choices_finish(struct claret_choices *choices)
{
    free(choices->text);
    free(choices->force);
    *choices = (struct claret_choices){.text = NULL};
}

void claret_choices_apply(const struct claret_choices *choices, struct claret_plan_options *options)
{
    options->force = choices->force;
    options->force_count = choices->force_count;
    options->force_checked = true;
}
