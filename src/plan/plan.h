/* A graph made ready for a device: solvers chosen, tensors placed, launches frozen. No OpenCL here. */
#ifndef CLARET_PLAN_PLAN_H
#define CLARET_PLAN_PLAN_H

#include "base/arena.h"
#include "base/text.h"
#include "graph/graph.h"

/* "This node by that solver": `node` is a node's name ("conv1.dw"), or without parameters a layer's for all
 * of its nodes that have a solver of that name; NULL: every node that has. `solver`: "direct", with
 * parameters "direct:PX=8", and for the GEMMs inside the node "gemm:packed:MR=8". The last one that fits a
 * node counts. */
struct claret_plan_force {
    const char *node, *solver;
};

/* Where a choice of solver comes from, the first that there is: forced, tuned, the solvers' own order. */
enum claret_plan_source { CLARET_FROM_FORCE, CLARET_FROM_RECORD, CLARET_FROM_DEFAULT };
struct claret_plan_choice {
    const char *solver;
    int index; /* among the op's solvers, or GEMM's */
    struct claret_params params;
    enum claret_plan_source source;
};
/* The choice for the GEMMs of one kind in a node. */
struct claret_plan_gemm {
    int node;
    struct claret_gemm_call call; /* the first of them */
    struct claret_plan_choice choice;
};

struct claret_plan_options {
    const struct claret_device_desc *device;
    const struct claret_plan_force *force;
    int force_count;
    bool force_checked; /* claret_plan_check_force() has been asked: what fits nothing here is passed over */
    /* What tuning found for a problem of that key (claret_problem_key, claret_gemm_key): "direct:PX=8"; NULL:
     * nothing. */
    const char *(*record)(void *record_user, const char *key);
    void *record_user;
    size_t guard;             /* bytes kept free around every tensor (tests put sentinels there) */
    uint64_t workspace_limit; /* 0: the default, CLARET_PLAN_WORKSPACE */
    /* Bytes of the temporary buffer that this GEMM needs on CLBlast; rt answers, NULL: none. */
    size_t (*gemm_workspace)(void *user, const struct claret_gemm_call *gemm);
    void *user;
};
/* Bytes at the end of every buffer: a vector load may run past its tensor's end, not past the buffer's. */
#define CLARET_PLAN_SLACK 128
#define CLARET_PLAN_WORKSPACE (UINT64_C(256) << 20)

/* Buffers 0 .. CLARET_HOME_ARENA - 1 are the homes of that number; from CLARET_HOME_ARENA on come as many
 * arena buffers as the largest allocation asks for. */
#define CLARET_PLAN_MAX_BUFFERS 64

struct claret_place {
    int buffer;
    uint64_t offset, bytes;
    int first, last; /* launch that writes it first, launch that uses it last; the whole step for homes */
};

struct claret_plan {
    struct claret_arena arena;
    const struct claret_graph *graph;    /* borrowed */
    const struct claret_tensor *tensors; /* the graph's, then the launches' temporaries */
    struct claret_place
        *places; /* by tensor id; a view's place is its own, offset included; buffer -1: unused */
    int tensor_count;
    struct claret_launch *launches;
    int launch_count;
    struct claret_plan_choice *choices; /* by node; solver NULL: a view */
    struct claret_plan_gemm *gemms;     /* gemm_count of them, in the order of their first launches */
    int gemm_count;
    uint64_t buffer_bytes[CLARET_PLAN_MAX_BUFFERS];
    int buffer_count;
};

/* `graph` must outlive the plan. CLARET_DEVICE_MEMORY: a tensor larger than the largest allocation, or too
 * many buffers; CLARET_INVALID: a forced solver that is unknown or not applicable. */
enum claret_status claret_plan_create(const struct claret_graph *graph,
                                      const struct claret_plan_options *options, struct claret_plan **plan);
void claret_plan_destroy(struct claret_plan *plan);
/* CLARET_INVALID, with what there is: a forced node or solver that none of the graphs has. */
enum claret_status claret_plan_check_force(const struct claret_graph *const *graphs, int count,
                                           const struct claret_plan_force *force, int force_count);
/* Whether the solver that a node was given goes by GEMMs. */
bool claret_plan_has_gemms(const struct claret_plan *plan, int node);
/* CLARET_INVALID: the GEMMs forced for a node are those of none, for its solver in each of the plans has
 * none. Plans may be NULL. For checked choices. */
enum claret_status claret_plan_check_gemms(const struct claret_plan *const *plans, int count,
                                           const struct claret_plan_force *force, int force_count);
/* Whether the op's solver (or GEMM's) of that number can be used; NULL params: with its defaults. */
bool claret_plan_applicable(const struct claret_plan *plan, const struct claret_node *node,
                            const struct claret_device_desc *device, int solver,
                            const struct claret_params *params, char reason[128]);
bool claret_plan_gemm_applicable(const struct claret_gemm_call *gemm, const struct claret_device_desc *device,
                                 int solver, const struct claret_params *params, char reason[128]);
/* Node by node: which solver it was given, with which parameters and from where, and why no other. The
 * options are those that the plan was made with. */
void claret_plan_explain(const struct claret_plan *plan, const struct claret_plan_options *options,
                         struct claret_text *text);
/* Whether a launch is for rt's GEMM library. */
bool claret_plan_uses_gemm(const struct claret_plan *plan);
uint64_t claret_plan_bytes(const struct claret_plan *plan); /* all buffers */
/* The launches and the memory, for people and for diff: same plan, same text. */
void claret_plan_dump(const struct claret_plan *plan, struct claret_text *text);

#endif
