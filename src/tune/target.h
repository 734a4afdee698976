/* What a search is for: a node's solver, or the solver of one kind of GEMM inside a node. */
#ifndef CLARET_TUNE_TARGET_H
#define CLARET_TUNE_TARGET_H

#include "op/gemm.h"
#include "plan/plan.h"

#define CLARET_CHOICE_TEXT 200 /* bytes */

struct claret_target {
    const struct claret_plan *plan; /* in which `node` has the choice `normal`, or `host` */
    const struct claret_device_desc *device;
    int node;
    bool is_gemm;
    struct claret_gemm_call gemm;
    char host[CLARET_CHOICE_TEXT];   /* of a GEMM: the node's choice that it is part of */
    char normal[CLARET_CHOICE_TEXT]; /* what is taken untuned */
    char *key;
};

enum claret_status claret_target_node(const struct claret_plan *plan, const struct claret_device_desc *device,
                                      int node, struct claret_target *target);
/* `gemm`: of that plan, in which the node's choice is `host`. */
enum claret_status claret_target_gemm(const struct claret_plan *plan, const struct claret_device_desc *device,
                                      const struct claret_plan_gemm *gemm, const char *host,
                                      struct claret_target *target);
void claret_target_free(struct claret_target *target);

const char *claret_target_solver(const struct claret_target *target, int index); /* NULL: no more */
/* Of the choice's solver; NULL: none. */
const struct claret_tunable *claret_target_tunables(const struct claret_target *target, const char *choice);
bool claret_target_applicable(const struct claret_target *target, const char *choice, char reason[128]);
/* Whether there is anything to choose. */
bool claret_target_has_choice(const struct claret_target *target);
/* What the parameter is in that choice, given or by the solver's default; 0: the solver does not ask for it.
 */
int64_t claret_target_value(const struct claret_target *target, const char *choice, const char *name);
/* The choice with that parameter changed; false: it is the same, or not applicable. */
bool claret_target_vary(const struct claret_target *target, const char *choice, const char *name,
                        int64_t value, char varied[CLARET_CHOICE_TEXT]);

#endif
