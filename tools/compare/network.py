"""Network texts, as far as the comparison needs them: layers with shapes, parameters with bounds of their first values.

A network is a dictionary that goes to the frameworks' processes as JSON:
    {"input": [C, H, W], "classes": N, "layers": [{"name", "op", "from", "shape", and the op's keys}]}
`from` is a layer's number, -1 for the input; `shape` is that of the layer's output without the batch.
"""
import math
import re

REQUIRED, KERNEL = object(), object()  # no default; the kernel's size
# op: {key: (kind, default)}. A pair is height, width.
OPS = {
    "conv2d": {"out_channels": ("int", REQUIRED), "kernel_size": ("pair", REQUIRED), "stride": ("pair", [1, 1]),
               "padding": ("pair", [0, 0]), "dilation": ("pair", [1, 1]), "bias": ("bool", True),
               "in_channels": ("int", None)},
    "relu": {},
    "max_pool2d": {"kernel_size": ("pair", REQUIRED), "stride": ("pair", KERNEL), "padding": ("pair", [0, 0])},
    "flatten": {},
    "linear": {"out_features": ("int", REQUIRED), "bias": ("bool", True), "in_features": ("int", None)},
}
MAY_BE_0 = ("padding",)
BOOLS = {"false": False, "False": False, "0": False, "true": True, "True": True, "1": True}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


class NetworkError(Exception):
    """A network text that cannot be read; the message begins with FILE:LINE."""


def number(key, text):
    if not re.fullmatch(r"[0-9]+", text) or (int(text) == 0 and key not in MAY_BE_0):
        raise NetworkError(f"{key}={text}: a whole number is wanted")
    return int(text)


def value_of(key, kind, text):
    if kind == "bool":
        if text not in BOOLS:
            raise NetworkError(f"{key}={text}: true or false is wanted")
        return BOOLS[text]
    if kind == "int":
        return number(key, text)
    parts = [number(key, part) for part in text.split(",")]
    if len(parts) > 2:
        raise NetworkError(f"{key}={text}: one number, or two as HEIGHT,WIDTH, is wanted")
    return parts if len(parts) == 2 else parts * 2


def read_layer(line, counts, layers):
    """The layer that `line` describes, without its shape."""
    match = re.fullmatch(rf"\s*(?:({NAME.pattern})\s*=\s*)?({NAME.pattern})((?:\s+\S+)*)\s*", line)
    if not match:
        raise NetworkError("[NAME =] OP key=value ... is wanted")
    name, op, rest = match.groups()
    if op not in OPS:
        raise NetworkError(f"the comparison knows no op '{op}': it knows {', '.join(OPS)}")
    if name is None:
        counts[op] = counts.get(op, 0) + 1
        name = f"{op}{counts[op]}"
    names = [layer["name"] for layer in layers]
    if name in names or name == "input":
        raise NetworkError(f"the name '{name}' is taken")
    layer = {"name": name, "op": op, "from": len(layers) - 1}
    given = set()
    for word in rest.split():
        key, equals, text = word.partition("=")
        if not equals or key in given or (key not in OPS[op] and key != "from"):
            raise NetworkError(f"{op}: '{word}' is not understood")
        given.add(key)
        if key == "from":
            if text != "input" and text not in names:
                raise NetworkError(f"from={text}: no layer before this one is called so")
            layer["from"] = -1 if text == "input" else names.index(text)
        else:
            layer[key] = value_of(key, OPS[op][key][0], text)
    for key, (_, default) in OPS[op].items():
        if key not in given:
            if default is REQUIRED:
                raise NetworkError(f"{op} needs {key}")
            layer[key] = layer["kernel_size"] if default is KERNEL else default
    return layer


def extent(size, layer, d):
    """The output's height (d 0) or width (d 1)."""
    span = layer.get("dilation", [1, 1])[d] * (layer["kernel_size"][d] - 1) + 1
    room = size + 2 * layer["padding"][d] - span
    if room < 0:
        raise NetworkError(f"{layer['name']}: its kernel spans {span}, its input is {size}")
    return room // layer["stride"][d] + 1


def infer(layer, shape):
    """Fills in what follows from the input's shape, and the output's."""
    op = layer["op"]
    if op in ("conv2d", "max_pool2d") and len(shape) != 3:
        raise NetworkError(f"{layer['name']}: {op} wants images, its input is flat")
    if op == "linear" and len(shape) != 1:
        raise NetworkError(f"{layer['name']}: put flatten before linear")
    key = {"conv2d": "in_channels", "linear": "in_features"}.get(op)
    if key:
        if layer[key] not in (None, shape[0]):
            raise NetworkError(f"{layer['name']}: {key} is {layer[key]}, but its input has {shape[0]}")
        layer[key] = shape[0]
    if op == "conv2d":
        shape = [layer["out_channels"], extent(shape[1], layer, 0), extent(shape[2], layer, 1)]
    elif op == "max_pool2d":
        shape = [shape[0], extent(shape[1], layer, 0), extent(shape[2], layer, 1)]
    elif op == "flatten":
        shape = [math.prod(shape)]
    elif op == "linear":
        shape = [layer["out_features"]]
    layer["shape"] = shape


def parse(text, file):
    network, counts = None, {}
    for at, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0]
        if not line.strip():
            continue
        try:
            if network is None:
                words = line.split()
                if words[0] != "input" or len(words) != 4:
                    raise NetworkError("a network begins with 'input CHANNELS HEIGHT WIDTH'")
                network = {"input": [number("input", word) for word in words[1:]], "layers": []}
                continue
            layers = network["layers"]
            layer = read_layer(line, counts, layers)
            infer(layer, network["input"] if layer["from"] < 0 else layers[layer["from"]]["shape"])
            layers.append(layer)
        except NetworkError as error:
            raise NetworkError(f"{file}:{at}: {error}") from None
    if network is None or not network["layers"] or len(network["layers"][-1]["shape"]) != 1:
        raise NetworkError(f"{file}: the last layer must give the logits, one number for each class")
    network["classes"] = network["layers"][-1]["shape"][0]
    return network


def load(path):
    with open(path, encoding="utf-8") as file:
        return parse(file.read(), path)


def parameters(network):
    """[(name, shape, bound)]: the first values are uniform within ±bound, PyTorch's default."""
    result = []
    for layer in network["layers"]:
        if layer["op"] == "conv2d":
            shape = [layer["out_channels"], layer["in_channels"], *layer["kernel_size"]]
        elif layer["op"] == "linear":
            shape = [layer["out_features"], layer["in_features"]]
        else:
            continue
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        result.append((layer["name"] + ".weight", shape, bound))
        if layer["bias"]:
            result.append((layer["name"] + ".bias", shape[:1], bound))
    return result
