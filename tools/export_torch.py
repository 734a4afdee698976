#!/usr/bin/env python3
"""Turns a PyTorch network into claret's network text, and its weights into a safetensors file.

    tools/export_torch.py torchvision.models:resnet18 --input 3,224,224 --out resnet18.net --weights resnet18.safetensors
    tools/export_torch.py mynet.py:Net --input 3,32,32 --out my.net

The network is a class or function that is called without arguments (or with --arguments), in a module or a file; it is
walked by torch.fx. Where claret has no layer for a part of it, all such parts are listed and nothing is written. From Python:
export(model, (3, 32, 32), "my.net", "my.safetensors").

Needs PyTorch (https://pytorch.org), and nothing else.
"""
import argparse
import ast
import importlib
import importlib.util
import json
import math
import operator
import os
import struct
import sys

try:
    import torch
    from torch import fx, nn
    from torch.fx.passes.shape_prop import ShapeProp
    import torch.nn.functional as F
except ImportError as fault:
    sys.exit(f"export_torch.py needs PyTorch, which walks the network: {fault}")


class Unsupported(Exception):
    """A part that claret has no layer for; the text says why."""


# ---- values ----

def pair(value):
    """claret's way to write one number, or two for height and width."""
    values = list(value) if isinstance(value, (tuple, list)) else [value, value]
    if len(values) == 1:
        values *= 2
    if len(values) != 2:
        raise Unsupported(f"{len(values)} dimensions")
    return str(values[0]) if values[0] == values[1] else f"{values[0]},{values[1]}"


def number(value):
    return repr(float(value)) if isinstance(value, float) else str(value)


def options(**values):
    """key=value, those that are not claret's (and PyTorch's) defaults: given as (value, default)."""
    return "".join(f" {key}={value if isinstance(value, str) else number(value)}"
                   for key, (value, default) in values.items() if value != default)


def flag(value):
    return "true" if value else "false"


def refuse(condition, why):
    if condition:
        raise Unsupported(why)


# ---- modules: text of a layer from a module ----

def conv2d(module):
    refuse(module.padding_mode != "zeros", f"padding_mode={module.padding_mode}")
    padding = module.padding
    if padding == "valid":
        padding = 0
    elif padding == "same":
        total = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size)]
        refuse(any(t % 2 for t in total), "padding='same' with an even kernel pads one side more")
        padding = [t // 2 for t in total]
    return f"conv2d out_channels={module.out_channels} kernel_size={pair(module.kernel_size)}" + options(
        stride=(pair(module.stride), "1"), padding=(pair(padding), "0"), dilation=(pair(module.dilation), "1"),
        groups=(module.groups, 1), bias=(flag(module.bias is not None), "true"))


def conv_transpose2d(module):
    refuse(module.padding_mode != "zeros", f"padding_mode={module.padding_mode}")
    return f"conv_transpose2d out_channels={module.out_channels} kernel_size={pair(module.kernel_size)}" + options(
        stride=(pair(module.stride), "1"), padding=(pair(module.padding), "0"), dilation=(pair(module.dilation), "1"),
        groups=(module.groups, 1), output_padding=(pair(module.output_padding), "0"),
        bias=(flag(module.bias is not None), "true"))


def group_norm(module):
    return f"group_norm num_groups={module.num_groups}" + options(eps=(module.eps, 1e-5),
                                                                  affine=(flag(module.affine), "true"))


def layer_norm(module):
    return "layer_norm" + options(eps=(module.eps, 1e-5), elementwise_affine=(flag(module.elementwise_affine), "true"),
                                  bias=(flag(module.bias is not None or not module.elementwise_affine), "true"))


def pad(padding, mode="constant", value=None):
    refuse(mode != "constant" or value, f"a pad by mode={mode}, value={value}")
    refuse(len(padding) not in (2, 4) or any(side < 0 for side in padding), f"a pad of {tuple(padding)}")
    left, right, top, bottom = (*padding, 0, 0)[:4]
    return "pad" + options(left=(left, 0), right=(right, 0), top=(top, 0), bottom=(bottom, 0))


def batch_norm2d(module):
    refuse(not module.track_running_stats, "track_running_stats=False")
    refuse(module.momentum is None, "momentum=None (a cumulative average)")
    return "batch_norm2d" + options(eps=(module.eps, 1e-5), momentum=(module.momentum, 0.1),
                                    affine=(flag(module.affine), "true"))


def max_pool(kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    refuse(pair(dilation) != "1", "a max-pool with dilation")
    refuse(ceil_mode, "ceil_mode=True")
    refuse(return_indices, "return_indices=True")
    stride = kernel_size if stride is None else stride
    return f"max_pool2d kernel_size={pair(kernel_size)}" + options(
        stride=(pair(stride), pair(kernel_size)), padding=(pair(padding), "0"))


def avg_pool(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    refuse(ceil_mode, "ceil_mode=True")
    refuse(divisor_override is not None, "divisor_override")
    stride = kernel_size if stride is None else stride
    return f"avg_pool2d kernel_size={pair(kernel_size)}" + options(
        stride=(pair(stride), pair(kernel_size)), padding=(pair(padding), "0"),
        count_include_pad=(flag(count_include_pad), "true"))


def adaptive_avg_pool(output_size):
    refuse(isinstance(output_size, (tuple, list)) and None in output_size, "an output_size of None")
    return f"adaptive_avg_pool2d output_size={pair(output_size)}"


def leaky_relu(negative_slope=0.01, inplace=False):
    return "leaky_relu" + options(negative_slope=(negative_slope, 0.01))


def gelu(approximate="none"):
    return "gelu" + options(approximate=(approximate, "none"))


def dropout(p=0.5, training=True, inplace=False):
    return "dropout" + options(p=(p, 0.5))


def flatten(start_dim=0, end_dim=-1):
    refuse(start_dim != 1 or end_dim not in (-1, 3), f"flatten from dimension {start_dim} to {end_dim}")
    return "flatten"


def dim_of(node):
    return node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else None)


def softmax(shape, dim):
    """Of (N, C) or (N, C, H, W), over C: claret has no other, and PyTorch takes it where no dim is said."""
    refuse(len(shape) not in (2, 4), f"a softmax of {len(shape)} dimensions")
    refuse(dim not in (None, 1, 1 - len(shape)), f"a softmax over dimension {dim} of {shape[1:]} by image: claret's is over "
           "the classes or channels, dim=1")
    return "softmax"


def interpolate(size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    refuse(antialias, "antialias=True")
    return mode, align_corners


def attributes(function, *names):
    return lambda module: function(*(getattr(module, name) for name in names))


MODULES = {
    nn.Conv2d: conv2d,
    nn.ConvTranspose2d: conv_transpose2d,
    nn.BatchNorm2d: batch_norm2d,
    nn.GroupNorm: group_norm,
    nn.LayerNorm: layer_norm,
    nn.ZeroPad2d: attributes(pad, "padding"),
    nn.Linear: lambda module: f"linear out_features={module.out_features}" + options(
        bias=(flag(module.bias is not None), "true")),
    nn.MaxPool2d: attributes(max_pool, "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"),
    nn.AvgPool2d: attributes(avg_pool, "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad",
                             "divisor_override"),
    nn.AdaptiveAvgPool2d: attributes(adaptive_avg_pool, "output_size"),
    nn.LeakyReLU: attributes(leaky_relu, "negative_slope"),
    nn.GELU: attributes(gelu, "approximate"),
    nn.Dropout: attributes(dropout, "p"),
    nn.Flatten: attributes(flatten, "start_dim", "end_dim"),
    nn.ReLU: lambda module: "relu",
    nn.ReLU6: lambda module: "relu6",
    nn.Sigmoid: lambda module: "sigmoid",
    nn.Tanh: lambda module: "tanh",
    nn.SiLU: lambda module: "silu",
    nn.Hardswish: lambda module: "hardswish",
}


def plain(word):
    return lambda *unused, **also: word


# Functions and methods of one tensor: text from the other arguments.
FUNCTIONS = {
    F.relu: plain("relu"), torch.relu: plain("relu"), F.relu6: plain("relu6"), F.silu: plain("silu"),
    F.hardswish: plain("hardswish"), torch.sigmoid: plain("sigmoid"), F.sigmoid: plain("sigmoid"),
    torch.tanh: plain("tanh"), F.tanh: plain("tanh"), F.leaky_relu: leaky_relu, F.gelu: gelu, F.dropout: dropout,
    F.max_pool2d: max_pool, torch.max_pool2d: max_pool, F.avg_pool2d: avg_pool,
    F.adaptive_avg_pool2d: adaptive_avg_pool, torch.flatten: flatten, F.pad: pad,
}
METHODS = {"relu": plain("relu"), "relu_": plain("relu"), "sigmoid": plain("sigmoid"), "tanh": plain("tanh"),
           "flatten": flatten}
OF_TWO = {operator.add: "add", operator.iadd: "add", torch.add: "add", operator.mul: "mul", operator.imul: "mul",
          torch.mul: "mul"}
OF_TWO_METHODS = {"add": "add", "add_": "add", "mul": "mul", "mul_": "mul"}
SOFTMAX = {nn.Softmax, nn.Softmax2d}
SIZES = {"size", "dim"}  # methods whose results are numbers: they come to nothing but a view's shape
MOST = 6  # layers that a concat takes
NUMBERS = {getattr, operator.getitem, operator.floordiv, operator.eq}


# ---- walking ----

class Walk:
    """The lines of the text, and what could not be written."""

    def __init__(self, model, shape):
        self.model, self.lines, self.missing = model, [f"input {shape[0]} {shape[1]} {shape[2]}"], []
        self.names = {}  # of a node's layer; "input" is the network's; None: what is missing
        self.used, self.last = set(), "input"
        traced = fx.symbolic_trace(model)
        ShapeProp(traced).propagate(torch.zeros(2, *shape))
        self.nodes = traced.graph.nodes
        self.modules = dict(traced.named_modules())
        self.taken = {name for name, module in model.named_modules() if type(module) in MODULES or type(module) in SOFTMAX}

    @staticmethod
    def shape(node):
        meta = node.meta.get("tensor_meta")
        return tuple(meta.shape) if hasattr(meta, "shape") else None

    def fresh(self, op):
        """A name for what has none in the model."""
        index = 1
        while f"{op}_{index}" in self.taken:
            index += 1
        self.taken.add(f"{op}_{index}")
        return f"{op}_{index}"

    def line(self, text, sources, name=None):
        """Adds one; its name. None among the sources: that is said of what is before it."""
        op, _, rest = text.partition(" ")
        if None in sources:
            return None
        where = "" if sources == [self.last] else f" from={','.join(sources)}"
        self.last = name or self.fresh(op)
        self.lines.append(f"{self.last} = {op}{where}{' ' + rest if rest else ''}")
        return self.last

    def write(self, node, text, inputs, name=None):
        self.names[node] = self.line(text, [self.names.get(source) for source in inputs], name)

    def upsample(self, node, mode, align_corners):
        before, after = self.shape(node.args[0])[2:], self.shape(node)[2:]
        scale = [large // small for small, large in zip(before, after)]
        refuse(mode not in ("nearest", "bilinear"), f"upsampling by mode={mode}")
        refuse(after != tuple(small * by for small, by in zip(before, scale)) or not all(scale),
               f"upsampling from {before} to {after}, which is no whole multiple")
        text = f"upsample scale_factor={pair(scale)}" + options(
            mode=(mode, "nearest"), align_corners=(flag(align_corners), "false"))
        self.write(node, text, node.args[:1])

    def softmax(self, node, dim, name=None):
        self.write(node, softmax(self.shape(node.args[0]), dim), node.args[:1], name)

    def module(self, node):
        module, name = self.modules[node.target], node.target
        if isinstance(module, nn.Identity):
            self.names[node] = self.names.get(node.args[0])
            return
        if isinstance(module, nn.Upsample):
            self.upsample(node, module.mode, module.align_corners)
            return
        if type(module) in SOFTMAX:
            self.softmax(node, getattr(module, "dim", 1), None if name in self.used else name)
            self.used.add(name)
            return
        if isinstance(module, nn.LayerNorm):
            refuse(module.normalized_shape != self.shape(node.args[0])[1:],
                   f"LayerNorm over {tuple(module.normalized_shape)} of {self.shape(node.args[0])[1:]}")
        text = MODULES.get(type(module))
        refuse(text is None, type(module).__name__)
        parameters = any(True for _ in module.parameters())
        refuse(parameters and name in self.used, f"{type(module).__name__}, used twice: its weights would be shared")
        fresh = name in self.used  # such as one ReLU for all
        self.used.add(name)
        self.write(node, text(module), node.args[:1], None if fresh else name)

    def two(self, node, op):
        refuse(not all(isinstance(one, fx.Node) and self.shape(one) for one in node.args[:2]) or node.kwargs,
               f"{op} of something else than two layers")
        first, second = node.args[:2]
        a, b = self.shape(first), self.shape(second)
        refuse(op == "add" and a != b, f"add of {a} and {b}")
        if op == "mul" and a != b and a[2:] == (1, 1):
            first, second, a, b = second, first, b, a
        refuse(op == "mul" and a != b and b != a[:2] + (1, 1), f"mul of {a} and {b}")
        self.write(node, op, [first, second])

    def concat(self, node):
        tensors, dim = node.args[0], node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else 0)
        refuse(dim not in (1, -3), f"concat along dimension {dim}")
        sources = [self.names.get(tensor) for tensor in tensors]
        while len(sources) > MOST:  # side by side in two steps or more: the same
            sources[:MOST] = [self.line("concat", sources[:MOST])]
        self.names[node] = sources[0] if len(sources) == 1 else self.line("concat", sources)

    def view(self, node):
        before, after = self.shape(node.args[0]), self.shape(node)
        refuse(after != (2, math.prod(before[1:])), f"{node.target} from {before[1:]} to {after[1:]}")
        if before == after:
            self.names[node] = self.names.get(node.args[0])
        else:
            self.write(node, "flatten", node.args[:1])

    def mean(self, node):
        dims = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
        refuse(sorted(d % 4 for d in (dims if isinstance(dims, (tuple, list)) else [dims])) != [2, 3],
               f"mean over {dims}")
        keep = node.kwargs.get("keepdim", node.args[2] if len(node.args) > 2 else False)
        self.write(node, "adaptive_avg_pool2d output_size=1", node.args[:1])
        if not keep:
            self.names[node] = self.line("flatten", [self.names[node]])

    def function(self, node):
        target = node.target
        if target in OF_TWO:
            if self.shape(node):
                self.two(node, OF_TWO[target])
        elif target in (torch.cat, getattr(torch, "concat", torch.cat)):
            self.concat(node)
        elif target is torch.mean:
            self.mean(node)
        elif target is torch.reshape:
            self.view(node)
        elif target is F.interpolate:
            self.upsample(node, *interpolate(*node.args[1:], **node.kwargs))
        elif target in (F.softmax, torch.softmax):
            self.softmax(node, dim_of(node))
        elif target in FUNCTIONS:
            self.write(node, FUNCTIONS[target](*node.args[1:], **node.kwargs), node.args[:1])
        elif target not in NUMBERS or self.shape(node):
            raise Unsupported(f"the function {getattr(target, '__name__', target)}")

    def method(self, node):
        target = node.target
        if target in OF_TWO_METHODS:
            self.two(node, OF_TWO_METHODS[target])
        elif target in ("view", "reshape"):
            self.view(node)
        elif target == "mean":
            self.mean(node)
        elif target == "softmax":
            self.softmax(node, dim_of(node))
        elif target == "contiguous":
            self.names[node] = self.names.get(node.args[0])
        elif target in METHODS:
            self.write(node, METHODS[target](*node.args[1:], **node.kwargs), node.args[:1])
        elif target not in SIZES:
            raise Unsupported(f"the method {target}")

    def visit(self, node):
        if node.op == "placeholder":
            refuse("input" in self.names.values(), "a second input")
            self.names[node] = "input"
        elif node.op == "call_module":
            self.module(node)
        elif node.op == "call_function":
            self.function(node)
        elif node.op == "call_method":
            self.method(node)
        elif node.op == "get_attr":
            raise Unsupported("a parameter of its own")
        elif node.op == "output":
            refuse(not isinstance(node.args[0], fx.Node), "several outputs")
            out = self.shape(node.args[0])
            refuse(len(out) != 2, f"an output of {out[1:]}, not of one value for each class")
            refuse(not self.missing and self.names.get(node.args[0]) != self.last, "an output before the last layer")

    def run(self):
        for node in self.nodes:
            try:
                self.visit(node)
            except Unsupported as fault:
                where = node.target if node.op == "call_module" else node.name
                self.missing.append(f"{where}: {fault}")
        return self


# ---- files ----

def write_weights(model, path):
    """safetensors: sorted keys, F32 and I64, no metadata."""
    header, blobs, offset = {}, [], 0
    for key, value in sorted(model.state_dict().items()):
        integer = value.dtype == torch.int64
        data = value.detach().cpu().contiguous().to(torch.int64 if integer else torch.float32).numpy().tobytes()
        header[key] = {"dtype": "I64" if integer else "F32", "shape": list(value.shape),
                       "data_offsets": [offset, offset + len(data)]}
        blobs.append(data)
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".tmp", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    os.replace(path + ".tmp", path)


def export(model, shape, path=None, weights=None):
    """The network's text; ValueError with all that is missing. Files are written where their names are given."""
    walk = Walk(model, tuple(shape)).run()
    if walk.missing:
        raise ValueError("claret has no layer for\n" + "\n".join(f"  {line}" for line in walk.missing))
    text = "\n".join(walk.lines) + "\n"
    if path:
        with open(path + ".tmp", "w", encoding="ascii") as file:
            file.write(text)
        os.replace(path + ".tmp", path)
    if weights:
        write_weights(model, weights)
    return text


def remark(text):
    """What is to be said of a network's text before it is trained; empty: nothing."""
    ops = [line.split(" = ")[1].split()[0] for line in text.splitlines()[1:]]
    last = next((op for op in reversed(ops) if op != "flatten"), None)
    losses = {"softmax": "cross_entropy (the one that claret train takes by itself)", "sigmoid": "bce"}
    if last not in losses:
        return ""
    return (f"the network ends in {last}, which the loss {losses[last]} applies itself, as PyTorch's does: "
            "leave it out to train by that")


# ---- the command ----

def load(name, arguments):
    """MODULE:NAME or FILE.py:NAME, called."""
    where, _, what = name.rpartition(":")
    if not where:
        sys.exit(f"export_torch.py: '{name}' is not MODULE:NAME, such as torchvision.models:resnet18 or net.py:Net")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location("exported", where)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    words = dict(word.split("=", 1) for word in arguments)
    for key, value in words.items():
        try:
            words[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            pass  # a word is a text
    return getattr(module, what)(**words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="MODULE:NAME or FILE.py:NAME")
    parser.add_argument("--input", required=True, help="channels,height,width")
    parser.add_argument("--arguments", nargs="*", default=[], metavar="KEY=VALUE", help="what NAME is called with")
    parser.add_argument("--out", help="the network text's file; not given: standard output")
    parser.add_argument("--weights", help="the weights' file (safetensors), for claret train --init")
    words = parser.parse_args()
    try:
        shape = [int(size) for size in words.input.split(",")]
    except ValueError:
        shape = []
    if len(shape) != 3 or min(shape) < 1:
        parser.error(f"--input: '{words.input}' is not channels,height,width")
    try:
        text = export(load(words.model, words.arguments).eval(), shape, words.out, words.weights)
    except (ValueError, OSError, ImportError, AttributeError) as fault:
        sys.exit(f"export_torch.py: {fault}")
    if remark(text):
        print(f"export_torch.py: {remark(text)}", file=sys.stderr)
    if not words.out:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
