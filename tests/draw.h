/* Solvers with parameters drawn at random. */
#ifndef CLARET_TESTS_DRAW_H
#define CLARET_TESTS_DRAW_H

#include "base/rng.h"
#include "op/op.h"

#define DRAW_TEXT 200 /* bytes of a choice */

/* The solver's choice as text: with parameters that are applicable, where some are found; with its defaults,
 * where `rng` is NULL. false: it is not applicable. */
bool draw_choice(struct claret_rng *rng, const struct claret_problem *problem,
                 const struct claret_solver *solver, char text[DRAW_TEXT]);

#endif
