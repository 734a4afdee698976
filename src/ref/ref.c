#include "ref/ref.h"

#include <string.h>

claret_ref_fn claret_ref_find(const char *op)
{
    for (int list = 0; claret_ref_lists[list]; list++)
        for (const struct claret_ref *ref = claret_ref_lists[list]; ref->op; ref++)
            if (strcmp(ref->op, op) == 0)
                return ref->run;
    return NULL;
}
