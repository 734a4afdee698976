/* Plans made by hand, for tests of rt that need no network: tensors put where the test wants them, launches
 * appended. */
#ifndef CLARET_TESTS_HAND_PLAN_H
#define CLARET_TESTS_HAND_PLAN_H

#include "op/gemm.h"
#include "plan/plan.h"

#define HAND_MAX 16

struct hand_plan {
    struct claret_plan plan;
    struct claret_tensor tensors[HAND_MAX];
    struct claret_place places[HAND_MAX];
    struct claret_launch launches[HAND_MAX];
};
void hand_init(struct hand_plan *hand);
/* `count` elements at byte `offset` of `buffer`; returns the tensor's id. */
int hand_tensor(struct hand_plan *hand, enum claret_dtype dtype, int64_t count, int buffer, uint64_t offset);
/* A view of `base` from its element `offset` on. */
int hand_view(struct hand_plan *hand, int base, int64_t offset, int64_t count);
struct claret_kernel_call *hand_kernel(struct hand_plan *hand, const char *label, const char *source,
                                       const char *entry);
void hand_define(struct claret_kernel_call *call, const char *name, int64_t value);
void hand_define_float(struct claret_kernel_call *call, const char *name, float value);
void hand_arg_tensor(struct claret_kernel_call *call, int tensor, int64_t offset);
void hand_arg_int(struct claret_kernel_call *call, int32_t value);
void hand_arg_float(struct claret_kernel_call *call, float value);
void hand_gemm(struct hand_plan *hand, const struct claret_gemm_call *gemm); /* a record for CLBlast */
/* The same as the launches of a solver of kernels, planned for `device`. Its workspace lies in `buffer` from
 * `*bytes` on, which grows. */
enum claret_status hand_gemm_by(struct hand_plan *hand, const struct claret_gemm_call *gemm,
                                const struct claret_gemm_solver *solver,
                                const struct claret_device_desc *device, int buffer, uint64_t *bytes);
void hand_finish(struct hand_plan *hand); /* frees what hand_gemm_by() made */

#endif
