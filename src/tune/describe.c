#include "tune/describe.h"

/* X(field, json_type of it) */
#define DEVICE_TEXTS(X)                                                                                      \
    X(name) X(vendor) X(driver) X(platform) X(platform_version) X(opencl_c) X(clblast_reason)
#define DEVICE_NUMBERS(X)                                                                                    \
    X(kind)                                                                                                  \
    X(vendor_id)                                                                                             \
    X(compute_units)                                                                                         \
    X(global_mem)                                                                                            \
    X(local_mem)                                                                                             \
    X(max_alloc) X(mem_align) X(max_work_group) X(max_item[0]) X(max_item[1]) X(max_item[2]) X(float_width)
#define DEVICE_FLAGS(X) X(fp16) X(fp64) X(subgroups) X(unified) X(short_loops) X(clblast)

#define GRAPH_FLAGS(X)                                                                                       \
    X(training)                                                                                              \
    X(fuse) X(tiles) X(fuse_update) X(channels_last) X(f32_images) X(optimizer.nesterov) X(optimizer.centered)
#define GRAPH_REALS(X)                                                                                       \
    X(optimizer.momentum)                                                                                    \
    X(optimizer.dampening)                                                                                   \
    X(optimizer.weight_decay)                                                                                \
    X(optimizer.beta1) X(optimizer.beta2) X(optimizer.eps) X(optimizer.alpha)

json_t *claret_device_to_json(const struct claret_device_desc *device)
{
    json_t *json = json_object();
#define X(field)                                                                                             \
    if (device->field)                                                                                       \
        json_object_set_new(json, #field, json_string(device->field));
    DEVICE_TEXTS(X)
#undef X
#define X(field) json_object_set_new(json, #field, json_integer((json_int_t)device->field));
    DEVICE_NUMBERS(X)
#undef X
#define X(field) json_object_set_new(json, #field, json_boolean(device->field));
    DEVICE_FLAGS(X)
#undef X
    return json;
}

void claret_device_from_json(const json_t *json, struct claret_device_desc *device)
{
    claret_device_desc_default(device);
#define X(field) device->field = json_string_value(json_object_get(json, #field));
    DEVICE_TEXTS(X)
#undef X
#define X(field) device->field = (__typeof__(device->field))json_integer_value(json_object_get(json, #field));
    DEVICE_NUMBERS(X)
#undef X
#define X(field) device->field = json_is_true(json_object_get(json, #field));
    DEVICE_FLAGS(X)
#undef X
}

json_t *claret_graph_options_to_json(const struct claret_graph_options *options)
{
    json_t *json = json_object();
    json_object_set_new(json, "batch", json_integer(options->batch));
    json_object_set_new(json, "optimizer", json_integer(options->optimizer.kind));
#define X(field) json_object_set_new(json, #field, json_boolean(options->field));
    GRAPH_FLAGS(X)
#undef X
#define X(field) json_object_set_new(json, #field, json_real(options->field));
    GRAPH_REALS(X)
#undef X
    return json;
}

void claret_graph_options_from_json(const json_t *json, struct claret_graph_options *options)
{
    *options = (struct claret_graph_options){.batch = json_integer_value(json_object_get(json, "batch"))};
    options->optimizer.kind =
        (enum claret_optimizer_kind)json_integer_value(json_object_get(json, "optimizer"));
#define X(field) options->field = json_is_true(json_object_get(json, #field));
    GRAPH_FLAGS(X)
#undef X
#define X(field) options->field = json_number_value(json_object_get(json, #field));
    GRAPH_REALS(X)
#undef X
}
