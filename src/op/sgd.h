/* The attributes of a sgd node, in this order. */
#ifndef CLARET_OP_SGD_H
#define CLARET_OP_SGD_H
enum { CLARET_SGD_MOMENTUM, CLARET_SGD_DAMPENING, CLARET_SGD_WEIGHT_DECAY, CLARET_SGD_NESTEROV, CLARET_SGD_ATTRS };
#endif
