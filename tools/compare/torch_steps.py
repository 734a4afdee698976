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


def module(layer):
    op = layer["op"]
    if op == "conv2d":
        return nn.Conv2d(layer["in_channels"], layer["out_channels"], layer["kernel_size"], layer["stride"],
                         layer["padding"], layer["dilation"], bias=layer["bias"])
    if op == "max_pool2d":
        return nn.MaxPool2d(layer["kernel_size"], layer["stride"], layer["padding"])
    if op == "linear":
        return nn.Linear(layer["in_features"], layer["out_features"], layer["bias"])
    return {"relu": nn.ReLU, "flatten": nn.Flatten}[op]()


class Network(nn.Module):
    def __init__(self, network):
        super().__init__()
        for layer in network["layers"]:
            self.add_module(layer["name"], module(layer))
        modules = [getattr(self, layer["name"]) for layer in network["layers"]]
        sources = [layer["from"] + 1 for layer in network["layers"]]
        self.chain = sources == list(range(len(sources)))
        self.plan = list(zip(modules, sources))

    def forward(self, x):
        if self.chain:
            for layer, _ in self.plan:
                x = layer(x)
            return x
        values = [x]
        for layer, source in self.plan:
            values.append(layer(values[source]))
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
