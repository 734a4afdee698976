/* Texts that the build puts into the library (tools/embed.py): kernels and models. */
#ifndef CLARET_BASE_EMBEDDED_H
#define CLARET_BASE_EMBEDDED_H

struct claret_embedded {
    const char *name; /* "im2col.cl"; NULL ends a table */
    const char *text;
};
extern const struct claret_embedded claret_kernel_files[];
extern const struct claret_embedded claret_model_files[];

#endif
