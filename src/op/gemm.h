/* Ways to run a GEMM, best-known first; the last is always applicable. */
#ifndef CLARET_OP_GEMM_H
#define CLARET_OP_GEMM_H

#include "op/op.h"

struct claret_gemm_problem {
    const struct claret_gemm_call *gemm;
    const struct claret_device_desc *device;
    struct claret_params *params; /* as in struct claret_problem */
};
/* As claret_problem_key(): a GEMM's solver is tuned by itself, whichever op it is part of. */
void claret_gemm_key(const struct claret_gemm_call *gemm, struct claret_text *text);

struct claret_gemm_solver {
    const char *name;
    /* NULL: always. false: `reason` says why not. Asked with parameters too. */
    bool (*applicable)(const struct claret_gemm_problem *problem, char reason[128]);
    /* As of struct claret_solver. */
    bool (*unasked)(const struct claret_gemm_problem *problem);
    void (*emit)(struct claret_emit *emit, const char *what, const struct claret_gemm_call *gemm);
    const struct claret_tunable *tunables; /* NULL: none */
};
/* Whether a solver can run anything at all on a device: asked of the smallest GEMM. */
bool claret_gemm_on_device(const struct claret_gemm_solver *solver, const struct claret_device_desc *device);

extern const struct claret_gemm_solver claret_gemm_packed;           /* gemm_packed.c */
extern const struct claret_gemm_solver claret_gemm_tiled;            /* gemm_tiled.c */
extern const struct claret_gemm_solver *const claret_gemm_solvers[]; /* ends with NULL */

/* C = alpha * (the sum of `count` parts (count, m, n)) + beta * C: how a product ends whose terms were added
 * in parts. */
void claret_gemm_emit_sum(struct claret_emit *emit, const struct claret_gemm_call *gemm, int64_t count,
                          int parts);

#endif
