/* A graph made ready for a device: solvers chosen, tensors placed, launches frozen. No OpenCL here. */
#ifndef CLARET_PLAN_PLAN_H
#define CLARET_PLAN_PLAN_H

#include "base/arena.h"
#include "base/text.h"
#include "graph/graph.h"

/* "This node by that solver": `node` is a node's name ("conv1.dw"), or a layer's for all of its nodes that
 * have a solver of that name; NULL: every node that has. */
struct claret_plan_force {
    const char *node, *solver;
};

struct claret_plan_options {
    const struct claret_device_desc *device;
    const struct claret_plan_force *force;
    int force_count;
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
    const struct claret_solver **solvers; /* by node */
    uint64_t buffer_bytes[CLARET_PLAN_MAX_BUFFERS];
    int buffer_count;
};

/* `graph` must outlive the plan. CLARET_DEVICE_MEMORY: a tensor larger than the largest allocation, or too
 * many buffers; CLARET_NOT_FOUND, CLARET_INVALID: a forced solver that is unknown or not applicable. */
enum claret_status claret_plan_create(const struct claret_graph *graph,
                                      const struct claret_plan_options *options, struct claret_plan **plan);
void claret_plan_destroy(struct claret_plan *plan);
/* Whether a launch is for rt's GEMM library. */
bool claret_plan_uses_gemm(const struct claret_plan *plan);
uint64_t claret_plan_bytes(const struct claret_plan *plan); /* all buffers */
/* The launches and the memory, for people and for diff: same plan, same text. */
void claret_plan_dump(const struct claret_plan *plan, struct claret_text *text);

#endif
