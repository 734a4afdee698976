/* For meson.build: which OpenCL header does the compiler find? */
#include <CL/cl.h>
