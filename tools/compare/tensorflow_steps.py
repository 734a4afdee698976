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


class Training:
    """A network at the file's weights, its optimizer, and batches of the file's images in turn."""

    def __init__(self, request, _):
        self.network, weights = request["network"], load(request["weights"])
        self.variables = {}
        for layer in self.network["layers"]:
            for name in (layer["name"] + ".weight", layer["name"] + ".bias"):
                if name in weights:
                    self.variables[name] = tf.Variable(self.convert(layer, weights[name]), name=name.replace(".", "_"))
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
        source = layer["from"]
        if layer["op"] == "flatten":
            shape = self.network["layers"][source]["shape"] if source >= 0 else self.network["input"]
            return shape if len(shape) == 3 else self.image(source)
        return self.image(source) if layer["op"] == "relu" else None

    def convert(self, layer, value):
        """A parameter from PyTorch's order to NHWC's."""
        if value.ndim == 4:
            return value.transpose(2, 3, 1, 0)
        if value.ndim == 2:
            image = self.image(layer["from"])
            if image:
                value = value.reshape(-1, *image).transpose(0, 2, 3, 1).reshape(len(value), -1)
            return value.T
        return value

    def forward(self, layer, x):
        op, name = layer["op"], layer["name"]
        if op == "relu":
            return tf.nn.relu(x)
        if op == "flatten":
            return tf.reshape(x, [x.shape[0], -1])
        if op == "max_pool2d":
            if any(layer["padding"]):
                x = tf.pad(x, [[0, 0], *([p, p] for p in layer["padding"]), [0, 0]], constant_values=-numpy.inf)
            return tf.nn.max_pool2d(x, layer["kernel_size"], layer["stride"], "VALID")
        weight, bias = self.variables[name + ".weight"], self.variables.get(name + ".bias")
        if op == "conv2d":
            x = tf.nn.conv2d(x, weight, layer["stride"], padding_of(layer), dilations=layer["dilation"])
        else:
            x = tf.matmul(x, weight)
        return x if bias is None else tf.nn.bias_add(x, bias)

    def run(self, images, labels):
        values, variables = [images], list(self.variables.values())
        with tf.GradientTape() as tape:
            for layer in self.network["layers"]:
                values.append(self.forward(layer, values[layer["from"] + 1]))
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
