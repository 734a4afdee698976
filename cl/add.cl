/* y = a + b. Overwrites y. Items: (count). */
__kernel void add(CONST_TENSOR(float, a), CONST_TENSOR(float, b), TENSOR(float, y), int count)
{
    USE_CONST(float, a);
    USE_CONST(float, b);
    USE(float, y);
    const int i = get_global_id(0);
    if (i < count)
        y[i] = a[i] + b[i];
}

#ifdef LANES
#define ELEMENTS 2048 /* src/op/elementwise.h */

/* The same for devices whose work-items own wide vectors: an item does ELEMENTS of them. Items: (ceil(count / ELEMENTS)). */
__kernel void add_vectors(CONST_TENSOR(float, a), CONST_TENSOR(float, b), TENSOR(float, y), int count)
{
    USE_CONST(float, a);
    USE_CONST(float, b);
    USE(float, y);
    const int first = (int)get_global_id(0) * ELEMENTS;
    for (int i = first; i < min(first + ELEMENTS, count); i += LANES) {
        const FLOATS sum = LOAD(a + i) + LOAD(b + i);
        STORE_UP_TO(sum, y + i, count - i);
    }
}
#endif
