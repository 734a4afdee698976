/* Activation functions, element by element; NaN goes through. One program holds one of them, for single floats or, with LANES, for
 * vectors of them: the same formulas, PyTorch's.
 *
 * Defines: ACTIVATION, one of those below (src/op/activation.c has the same list); SLOPE, a float, for LEAKY_RELU; LANES. */
#define LEAKY_RELU 0
#define RELU6 1
#define SIGMOID 2
#define TANH 3
#define GELU 4
#define GELU_TANH 5
#define SILU 6
#define HARDSWISH 7
#define RELU 8
#ifndef ACTIVATION
#define ACTIVATION RELU6
#endif

#ifdef LANES
#define ELEMENTS 2048 /* src/op/elementwise.h */
#define T FLOATS
#else
#define T float
#endif
#define OR(yes, condition, no) select(no, yes, condition) /* `yes` where the condition holds */
#define OF(value) ((T)(value))

/* value(x): the function. slope(v): its derivative, where v is x, or for RELU, RELU6, SIGMOID and TANH the function's value. CUT(v):
 * where nothing comes through, whatever there is. */
T value(T x);
T slope(T v);
#if ACTIVATION == LEAKY_RELU
T value(T x)
{
    return OR(x, isgreater(x, OF(0.0f)), SLOPE *x);
}
T slope(T x)
{
    return OR(OF(1.0f), isgreater(x, OF(0.0f)), OF(SLOPE));
}
#elif ACTIVATION == RELU
#define CUT(y) islessequal(y, OF(0.0f))
T value(T x)
{
    return OR(OF(0.0f), isless(x, OF(0.0f)), x);
}
T slope(T y)
{
    return 1.0f;
}
#elif ACTIVATION == RELU6
#define CUT(y) (islessequal(y, OF(0.0f)) | isgreaterequal(y, OF(6.0f)))
T value(T x)
{
    return OR(OF(0.0f), isless(x, OF(0.0f)), OR(OF(6.0f), isgreater(x, OF(6.0f)), x));
}
T slope(T y)
{
    return 1.0f;
}
#elif ACTIVATION == SIGMOID
T value(T x)
{
    return 1.0f / (1.0f + exp(-x));
}
T slope(T y)
{
    return (1.0f - y) * y;
}
#elif ACTIVATION == TANH
T value(T x)
{
    return tanh(x);
}
T slope(T y)
{
    return 1.0f - y * y;
}
#elif ACTIVATION == GELU
#define CDF(x) (0.5f * (1.0f + erf((x)*M_SQRT1_2_F)))
T value(T x)
{
    return x * CDF(x);
}
T slope(T x)
{
    return CDF(x) + x * exp(-0.5f * x * x) * (0.5f * M_SQRT1_2_F * M_2_SQRTPI_F);
}
#elif ACTIVATION == GELU_TANH
#define BETA (M_SQRT2_F * M_2_SQRTPI_F * 0.5f)
#define KAPPA 0.044715f
T value(T x)
{
    return 0.5f * x * (1.0f + tanh(BETA * (x + KAPPA * x * x * x)));
}
T slope(T x)
{
    const T t = tanh(BETA * (x + KAPPA * x * x * x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * (BETA * (1.0f + 3.0f * KAPPA * x * x));
}
#elif ACTIVATION == SILU
T value(T x)
{
    return x / (1.0f + exp(-x));
}
T slope(T x)
{
    const T s = 1.0f / (1.0f + exp(-x));
    return s * (1.0f + x * (1.0f - s));
}
#else
#define CUT(x) islessequal(x, OF(-3.0f))
T value(T x)
{
    return x * fmin(fmax(x + 3.0f, OF(0.0f)), OF(6.0f)) / 6.0f;
}
T slope(T x)
{
    return OR(OF(1.0f), isgreaterequal(x, OF(3.0f)), x / 3.0f + 0.5f);
}
#endif
#ifdef CUT
#define PASS(v, dy) OR(OF(0.0f), CUT(v), (dy)*slope(v))
#else
#define PASS(v, dy) ((dy)*slope(v))
#endif

#ifndef LANES
/* y = the function of x. Overwrites y. Items: (count). */
__kernel void activation(CONST_TENSOR(float, x), TENSOR(float, y), int count)
{
    USE_CONST(float, x);
    USE(float, y);
    const int i = get_global_id(0);
    if (i < count)
        y[i] = value(x[i]);
}

/* dx = dy times the slope at v. Overwrites dx. Items: (count). */
__kernel void activation_dx(CONST_TENSOR(float, v), CONST_TENSOR(float, dy), TENSOR(float, dx), int count)
{
    USE_CONST(float, v);
    USE_CONST(float, dy);
    USE(float, dx);
    const int i = get_global_id(0);
    if (i < count)
        dx[i] = PASS(v[i], dy[i]);
}

#else
/* The same for devices whose work-items own wide vectors: an item does ELEMENTS of them. Items: (ceil(count / ELEMENTS)). */
__kernel void activation(CONST_TENSOR(float, x), TENSOR(float, y), int count)
{
    USE_CONST(float, x);
    USE(float, y);
    const int first = (int)get_global_id(0) * ELEMENTS;
    for (int i = first; i < min(first + ELEMENTS, count); i += LANES) {
        const FLOATS result = value(LOAD(x + i));
        STORE_UP_TO(result, y + i, count - i);
    }
}

__kernel void activation_dx(CONST_TENSOR(float, v), CONST_TENSOR(float, dy), TENSOR(float, dx), int count)
{
    USE_CONST(float, v);
    USE_CONST(float, dy);
    USE(float, dx);
    const int first = (int)get_global_id(0) * ELEMENTS;
    for (int i = first; i < min(first + ELEMENTS, count); i += LANES) {
        const FLOATS at = LOAD(v + i), through = LOAD(dy + i), result = PASS(at, through);
        STORE_UP_TO(result, dx + i, count - i);
    }
}
#endif
