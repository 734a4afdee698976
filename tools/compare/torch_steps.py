"""Training steps in PyTorch, on the CPU."""
import itertools

import tensors
import torch
from torch import nn

LAYOUTS = {"contiguous": torch.contiguous_format, "channels-last": torch.channels_last}
OPTIMIZERS = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
VARIANTS = {f"{layout}, {optimizer}": (layout, optimizer) for layout in LAYOUTS for optimizer in OPTIMIZERS}
TYPES = {"F32": torch.float32, "I64": torch.int64}


def use_threads(count):
    torch.set_num_threads(count)


def load(path):
    return {name: torch.frombuffer(data, dtype=TYPES[kind]).reshape(shape)
            for name, (kind, shape, data) in tensors.read(path).items()}


class Layer(nn.Module):
    """Of the others: a function of its inputs."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


SIMPLE = {"relu": nn.ReLU, "relu6": nn.ReLU6, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "silu": nn.SiLU,
          "flatten": nn.Flatten, "add": lambda: Layer(torch.add), "mul": lambda: Layer(torch.mul),
          "concat": lambda: Layer(lambda *inputs: torch.cat(inputs, 1)), "adaptive_avg_pool2d": lambda: nn.AdaptiveAvgPool2d(1)}


def module(layer):
    op = layer["op"]
    if op == "conv2d":
        return nn.Conv2d(layer["in"][0], layer["out_channels"], layer["kernel_size"], layer["stride"], layer["padding"],
                         layer["dilation"], layer["groups"], layer["bias"])
    if op == "batch_norm2d":
        return nn.BatchNorm2d(layer["in"][0], layer["eps"], layer["momentum"], layer["affine"])
    if op == "conv_transpose2d":
        return nn.ConvTranspose2d(layer["in"][0], layer["out_channels"], layer["kernel_size"], layer["stride"],
                                  layer["padding"], layer["output_padding"], layer["groups"], layer["bias"],
                                  layer["dilation"])
    if op == "group_norm":
        return nn.GroupNorm(layer["num_groups"], layer["in"][0], layer["eps"], layer["affine"])
    if op == "layer_norm":
        return nn.LayerNorm(layer["in"], layer["eps"], layer["elementwise_affine"], layer["bias"])
    if op == "upsample":
        return nn.Upsample(scale_factor=tuple(layer["scale_factor"]), mode=layer["mode"],
                           align_corners=layer["align_corners"] if layer["mode"] == "bilinear" else None)
    if op == "max_pool2d":
        return nn.MaxPool2d(layer["kernel_size"], layer["stride"], layer["padding"])
    if op == "avg_pool2d":
        return nn.AvgPool2d(layer["kernel_size"], layer["stride"], layer["padding"],
                            count_include_pad=layer["count_include_pad"])
    if op == "linear":
        return nn.Linear(layer["in"][0], layer["out_features"], layer["bias"])
    if op == "dropout":
        return nn.Dropout(layer["p"])
    return SIMPLE[op]()


class Network(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.plan = []
        for layer in network["layers"]:
            made = module(layer)
            self.place(layer["name"].split("."), made)
            self.plan.append((made, [source + 1 for source in layer["from"]]))
        self.chain = [sources for _, sources in self.plan] == [[i] for i in range(len(self.plan))]

    def place(self, words, made):
        """"layer1.0.conv1": in modules in one another, as its keys are."""
        inside = self
        for word in words[:-1]:
            if word not in inside._modules:
                inside.add_module(word, nn.Module())
            inside = inside._modules[word]
        inside.add_module(words[-1], made)

    def forward(self, x):
        if self.chain:
            for layer, _ in self.plan:
                x = layer(x)
            return x
        values = [x]
        for layer, sources in self.plan:
            values.append(layer(*(values[source] for source in sources)))
        return values[-1]


class Training:
    """A network at the file's weights, its optimizer, and batches of the file's images in turn."""

    def __init__(self, request, variant):
        layout, optimizer = VARIANTS[variant]
        layout = LAYOUTS[layout]
        self.model = Network(request["network"])
        self.model.load_state_dict(load(request["weights"]), strict=True)
        self.model.to(memory_format=layout)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=request["lr"], momentum=request["momentum"],
                                         **OPTIMIZERS[optimizer])
        data, batch = load(request["data"]), request["batch"]
        images = [part.contiguous(memory_format=layout) for part in data["images"].split(batch)]
        self.batches = itertools.cycle(list(zip(images, data["labels"].split(batch))))
        self.loss = None

    def step(self):
        images, labels = next(self.batches)
        self.optimizer.zero_grad(set_to_none=True)
        self.loss = nn.functional.cross_entropy(self.model(images), labels)
        self.loss.backward()
        self.optimizer.step()

    def last_loss(self):
        return self.loss.item()
