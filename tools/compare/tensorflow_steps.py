"""Training steps in TensorFlow, on the CPU: plain ops in one tf.function. Images are NHWC there, the only layout its
CPU kernels have; files are brought into it beforehand."""
import itertools

import numpy
import tensorflow as tf
import tensors

VARIANTS = {"tf.function": None}
TYPES = {"F32": "<f4", "I64": "<i8"}


def use_threads(count):
    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(count)


def load(path):
    return {name: numpy.frombuffer(data, TYPES[kind]).reshape(shape)
            for name, (kind, shape, data) in tensors.read(path).items()}


def padding_of(layer):
    """TensorFlow's word for a convolution's padding where it has one: that is its faster path."""
    padding = layer["padding"]
    if padding == [0, 0]:
        return "VALID"
    spans = [layer["dilation"][d] * (layer["kernel_size"][d] - 1) for d in range(2)]
    if layer["stride"] == [1, 1] and [2 * p for p in padding] == spans:
        return "SAME"
    return [[0, 0], [padding[0]] * 2, [padding[1]] * 2, [0, 0]]


SIMPLE = {"relu": tf.nn.relu, "relu6": tf.nn.relu6, "sigmoid": tf.nn.sigmoid, "tanh": tf.nn.tanh, "silu": tf.nn.silu,
          "dropout": tf.identity}
OF_MORE = {"add": tf.add_n, "mul": lambda inputs: inputs[0] * inputs[1], "concat": lambda inputs: tf.concat(inputs, -1)}


def depthwise(layer):
    return layer["op"] == "conv2d" and layer["groups"] == layer["in"][0] == layer["out_channels"] > 1


class Training:
    """A network at the file's weights, its optimizer, and batches of the file's images in turn."""

    def __init__(self, request, _):
        self.network, weights = request["network"], load(request["weights"])
        self.variables = {}
        self.statistics = {}
        for layer in self.network["layers"]:
            for what in ("weight", "bias", "running_mean", "running_var"):
                name = f"{layer['name']}.{what}"
                if name in weights:
                    kept = self.statistics if what.startswith("running") else self.variables
                    kept[name] = tf.Variable(self.convert(layer, weights[name]), name=name.replace(".", "_"),
                                             trainable=kept is self.variables)
        self.momenta = {name: tf.Variable(tf.zeros_like(value)) for name, value in self.variables.items()}
        self.lr, self.momentum = tf.constant(request["lr"]), tf.constant(request["momentum"])
        data, batch = load(request["data"]), request["batch"]
        count = len(data["labels"]) // batch
        images = numpy.ascontiguousarray(data["images"].transpose(0, 2, 3, 1))
        self.batches = itertools.cycle(
            [(tf.constant(images[at * batch:(at + 1) * batch]),
              tf.constant(data["labels"][at * batch:(at + 1) * batch].astype(numpy.int32))) for at in range(count)])
        self.graph = tf.function(self.run)
        self.loss = None

    def image(self, at):
        """(C, H, W) where the output of layer `at` is an image made flat, in its order of H, W, C; else None."""
        if at < 0:
            return None
        layer = self.network["layers"][at]
        source, shape = layer["from"][0], layer["in"]
        if layer["op"] == "flatten":
            return shape if len(shape) == 3 else self.image(source)
        return self.image(source) if layer["op"] in SIMPLE else None

    def convert(self, layer, value):
        """A parameter from PyTorch's order to NHWC's."""
        if value.ndim == 4:
            return value.transpose(2, 3, 0, 1) if depthwise(layer) else value.transpose(2, 3, 1, 0)
        if value.ndim == 2:
            image = self.image(layer["from"][0])
            if image:
                value = value.reshape(-1, *image).transpose(0, 2, 3, 1).reshape(len(value), -1)
            return value.T
        return value

    def normalise(self, layer, x):
        """Batch normalisation with this batch's statistics; the running ones go along."""
        name = layer["name"]
        mean, variance = self.statistics[name + ".running_mean"], self.statistics[name + ".running_var"]
        scale = self.variables.get(name + ".weight", tf.ones_like(mean))
        offset = self.variables.get(name + ".bias", tf.zeros_like(mean))
        y, new_mean, new_variance = tf.compat.v1.nn.fused_batch_norm(
            x, scale, offset, mean, variance, layer["eps"], is_training=True, exponential_avg_factor=layer["momentum"])
        mean.assign(new_mean)
        variance.assign(new_variance)
        return y

    def forward(self, layer, inputs):
        op, name, x = layer["op"], layer["name"], inputs[0]
        if op in SIMPLE:
            return SIMPLE[op](x)
        if op in OF_MORE:
            return OF_MORE[op](inputs)
        if op == "batch_norm2d":
            return self.normalise(layer, x)
        if op == "flatten":
            return tf.reshape(x, [x.shape[0], -1])
        if op in ("conv_transpose2d", "group_norm", "layer_norm", "upsample"):
            raise NotImplementedError(f"{name}: {op}")
        if op == "adaptive_avg_pool2d":
            return tf.reduce_mean(x, [1, 2], keepdims=True)
        if op == "max_pool2d":
            if any(layer["padding"]):
                x = tf.pad(x, [[0, 0], *([p, p] for p in layer["padding"]), [0, 0]], constant_values=-numpy.inf)
            return tf.nn.max_pool2d(x, layer["kernel_size"], layer["stride"], "VALID")
        if op == "avg_pool2d":
            if any(layer["padding"]):
                raise NotImplementedError(f"{name}: an average pool with padding")
            return tf.nn.avg_pool2d(x, layer["kernel_size"], layer["stride"], "VALID")
        weight, bias = self.variables[name + ".weight"], self.variables.get(name + ".bias")
        if op == "linear":
            x = tf.matmul(x, weight)
        elif depthwise(layer):
            x = tf.nn.depthwise_conv2d(x, weight, [1, *layer["stride"], 1], padding_of(layer),
                                       dilations=layer["dilation"])
        elif layer["groups"] > 1:
            raise NotImplementedError(f"{name}: groups on a CPU")
        else:
            x = tf.nn.conv2d(x, weight, layer["stride"], padding_of(layer), dilations=layer["dilation"])
        return x if bias is None else tf.nn.bias_add(x, bias)

    def run(self, images, labels):
        values, variables = [images], list(self.variables.values())
        with tf.GradientTape() as tape:
            for layer in self.network["layers"]:
                values.append(self.forward(layer, [values[source + 1] for source in layer["from"]]))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, values[-1]))
        for variable, momentum, gradient in zip(variables, self.momenta.values(), tape.gradient(loss, variables)):
            # PyTorch's rule: momentum = m * momentum + gradient; variable -= lr * momentum
            tf.raw_ops.ResourceApplyMomentum(var=variable.handle, accum=momentum.handle, lr=self.lr, grad=gradient,
                                             momentum=self.momentum)
        return loss

    def step(self):
        self.loss = self.graph(*next(self.batches))

    def last_loss(self):
        return float(self.loss)
