"""Networks as `claret show --json` tells them: layers with their keys and shapes, parameters with bounds of their first values.

A network is a dictionary that goes to the frameworks' processes as JSON:
    {"input": [C, H, W], "classes": N, "layers": [{"name", "op", "from", "shape", "in", and the op's keys}]}
`from` are numbers of layers, -1 for the input; `shape` is that of the layer's output without the batch, `in` that of the
first input.
"""
import json
import math
import os
import re
import subprocess

ACTIVATIONS = ("relu", "relu6", "sigmoid", "tanh", "silu")
OPS = ("conv2d", "batch_norm2d", "linear", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "flatten", "add", "mul",
       "concat", "dropout", "conv_transpose2d", "group_norm", "layer_norm", "upsample", *ACTIVATIONS)


MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")


class NetworkError(Exception):
    """A network that cannot be read, or not be compared."""


def path_of(model):
    """The text of a network: a file, or a name of the zoo."""
    return model if os.sep in model or model.endswith(".net") else os.path.join(MODELS, model + ".net")


def without_dropout(text):
    """Everything is let through: what is dropped is each implementation's own choice, and losses are compared."""
    return re.sub(r"(?m)^((?:[^#\n]*=)?\s*dropout\b)[^#\n]*", r"\1 p=0", text)


def load(path, claret):
    """`path`: a file, or a name of the zoo."""
    done = subprocess.run([claret, "show", path, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace")
    if done.returncode:
        raise NetworkError(done.stderr.strip().rpartition("claret: ")[2] or f"claret show {path} failed")
    return read(json.loads(done.stdout), path)


def read(shown, path):
    layers = []
    for layer in shown["layers"]:
        op, source = layer["op"], layer["from"][0]
        if op not in OPS:
            raise NetworkError(f"{path}: {layer['name']}: the comparison knows no op '{op}': it knows {', '.join(OPS)}")
        shape = [int(size) for size in layer["output"].split("x")]
        layers.append({**layer["attributes"], "name": layer["name"], "op": op, "from": layer["from"], "shape": shape,
                       "in": layers[source]["shape"] if source >= 0 else shown["input"]})
        if not any(layers[-1].get("stride", [1])):  # a pool's that is not given
            layers[-1]["stride"] = layers[-1]["kernel_size"]
        if op == "adaptive_avg_pool2d" and layers[-1]["output_size"] != [1, 1]:
            raise NetworkError(f"{path}: {layer['name']}: the comparison knows an output_size of 1 alone")
    return {"input": shown["input"], "classes": shown["classes"], "layers": layers}


def parameters(network):
    """[(name, kind, shape, centre, bound)]: the first values are uniform within ±bound around the centre, PyTorch's
    default."""
    result = []
    for layer in network["layers"]:
        name = layer["name"]
        if layer["op"] == "batch_norm2d":
            channels = layer["shape"][:1]
            if layer["affine"]:
                result += [(name + ".weight", "F32", channels, 1, 0), (name + ".bias", "F32", channels, 0, 0)]
            result += [(name + ".running_mean", "F32", channels, 0, 0), (name + ".running_var", "F32", channels, 1, 0),
                       (name + ".num_batches_tracked", "I64", [], 0, 0)]
            continue
        if layer["op"] in ("group_norm", "layer_norm"):
            shape = layer["in"][:1] if layer["op"] == "group_norm" else layer["in"]
            if layer.get("affine", layer.get("elementwise_affine")):
                result.append((name + ".weight", "F32", shape, 1, 0))
                if layer.get("bias", True):
                    result.append((name + ".bias", "F32", shape, 0, 0))
            continue
        biases = layer["shape"][:1]
        if layer["op"] == "conv_transpose2d":
            shape = [layer["in"][0], layer["out_channels"] // layer["groups"], *layer["kernel_size"]]
        elif layer["op"] == "conv2d":
            shape = [layer["out_channels"], layer["in"][0] // layer["groups"], *layer["kernel_size"]]
        elif layer["op"] == "linear":
            shape = [layer["out_features"], layer["in"][0]]
        else:
            continue
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        result.append((name + ".weight", "F32", shape, 0, bound))
        if layer["bias"]:
            result.append((name + ".bias", "F32", biases, 0, bound))
    return result
