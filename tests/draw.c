#include "draw.h"

#include <stdio.h>

/* ":KT=2,RT=1": values of tunables drawn at random; half of them keep their default. */
static void draw_params(struct claret_rng *rng, const struct claret_tunable *tunables, char text[DRAW_TEXT])
{
    int length = 0;
    text[0] = '\0';
    for (int i = 0; tunables && tunables[i].name; i++) {
        uint32_t count = 0;
        while (count < CLARET_MAX_TUNABLE_VALUES && tunables[i].values[count])
            count++;
        if (claret_rng_below(rng, 2) == 0)
            length += snprintf(text + length, (size_t)(DRAW_TEXT - length), "%c%s=%lld", length ? ',' : ':',
                               tunables[i].name, (long long)tunables[i].values[claret_rng_below(rng, count)]);
    }
}

bool draw_choice(struct claret_rng *rng, const struct claret_problem *problem,
                 const struct claret_solver *solver, char text[DRAW_TEXT])
{
    struct claret_params params = {.count = 0};
    struct claret_problem asked = *problem;
    char reason[128], drawn[DRAW_TEXT];
    asked.params = &params;
    if (solver->applicable && !solver->applicable(&asked, reason))
        return false;
    snprintf(text, DRAW_TEXT, "%s", solver->name);
    for (int attempt = 0; rng && attempt < 20; attempt++) {
        draw_params(rng, solver->tunables, drawn);
        if (drawn[0] == '\0' || claret_choice_parse(drawn, solver->tunables, &params) != CLARET_OK ||
            (solver->applicable && !solver->applicable(&asked, reason)))
            continue;
        snprintf(text, DRAW_TEXT, "%.40s%.150s", solver->name, drawn);
        break;
    }
    return true;
}
