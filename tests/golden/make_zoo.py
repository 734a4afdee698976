#!/usr/bin/env python3
"""Makes golden/zoo/NAME.json for networks of the zoo: what PyTorch makes of them, for tests/test_zoo.c to repeat.

    pip install -r requirements.txt torchvision && python3 make_zoo.py [NAME...]

Weights, running statistics, images and labels are made of a formula (draw) that both sides compute. A file has
logits     of the first batch in eval mode
gradients  of the first batch in train mode, by parameter: largest size, root of the mean square, and values at drawn places
losses     of the steps of plain SGD that follow, from the same weights anew
buffers    running statistics after them: root of the mean square, values at drawn places
Dropout lets everything through here: its draws are the implementation's own. All of it is PyTorch's in float64, and
limits are 1e-3, or where PyTorch's own float32 (the worse of its two layouts of images) is further off than a quarter of
that (deep networks have kinks everywhere), four times as far as it is.
"""
import json
import os
import sys

import numpy
import torch
import torchvision
from torch import nn
from torchvision.models.resnet import BasicBlock, ResNet

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 4


def hashed(name, count):
    """uint32 by place: MurmurHash3's finaliser over the place and FNV-1a of the name."""
    seed = 0x811C9DC5
    for byte in name.encode():
        seed = (seed ^ byte) * 0x01000193 & 0xFFFFFFFF
    x = numpy.arange(count, dtype=numpy.uint32) * numpy.uint32(0x9E3779B9) + numpy.uint32(seed)
    for shift, factor in (16, 0x85EBCA6B), (13, 0xC2B2AE35):
        x = (x ^ (x >> numpy.uint32(shift))) * numpy.uint32(factor)
    return x ^ (x >> numpy.uint32(16))


def draw(name, shape):
    count = int(numpy.prod(shape))
    signed = (hashed(name, count) >> numpy.uint32(8)).astype(numpy.float64) * 2.0 ** -23 - 1  # -1 to 1
    if name.endswith("running_mean") or name.endswith("bias"):
        values = 0.1 * signed
    elif name.endswith("running_var"):
        values = 1 + 0.25 * signed
    elif len(shape) == 1:  # of norms: with larger ones a ReLU that turns over changes everything behind it
        values = 0.3 + 0.075 * signed
    else:
        values = numpy.sqrt(6 / (count // shape[0])) * signed
    return torch.from_numpy(values.astype(numpy.float32)).reshape(shape)


def places(name, count):
    return [int(place) % count for place in hashed(name, SAMPLES)]


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = nn.functional.avg_pool2d(torch.tanh(self.conv1(x)), 2)
        x = nn.functional.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x.flatten(1))))))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torchvision.models.vgg11_bn().features
        self.classifier = nn.Linear(512, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Conv(nn.Module):
    def __init__(self, channels, out, then=None):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out)
        self.then = then or nn.Identity()

    def forward(self, x):
        x = self.then(torch.relu(self.bn(self.conv(x))))
        return self.residual(x) if hasattr(self, "residual") else x


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.res1, self.res2 = Conv(channels, channels), Conv(channels, channels)

    def forward(self, x):
        return self.res2(self.res1(x)) + x


class ResNet9(nn.Module):
    def __init__(self):
        super().__init__()
        self.prep, self.layer1 = Conv(3, 64), Conv(64, 128, nn.MaxPool2d(2))
        self.layer1.residual = Residual(128)
        self.layer2, self.layer3 = Conv(128, 256, nn.MaxPool2d(2)), Conv(256, 512, nn.MaxPool2d(2))
        self.layer3.residual = Residual(512)
        self.linear = nn.Linear(512, 10)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.prep(x))))
        return self.linear(nn.functional.max_pool2d(x, 4).flatten(1))


def cifar_resnet18():
    model = ResNet(BasicBlock, [2, 2, 2, 2], num_classes=10)
    model.conv1, model.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    return model


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(*(BasicBlock(16, 16) for _ in range(3)))
        self.layer2, self.layer3 = self.layer(16, 32), self.layer(32, 64)
        self.fc = nn.Linear(64, 10)

    @staticmethod
    def layer(channels, out):
        down = nn.Sequential(nn.Conv2d(channels, out, 1, stride=2, bias=False), nn.BatchNorm2d(out))
        return nn.Sequential(BasicBlock(channels, out, 2, down), BasicBlock(out, out), BasicBlock(out, out))

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(torch.relu(self.bn1(self.conv1(x))))))
        return self.fc(x.mean((2, 3)))


def mobilenet_v2():
    stages = [[1, 16, 1, 1], [6, 24, 2, 1], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]
    model = torchvision.models.mobilenet_v2(num_classes=10, inverted_residual_setting=stages, dropout=0.0)
    model.features[0][0].stride = (1, 1)
    return model


def densenet():
    model = torchvision.models.DenseNet(12, (16, 16, 16), 24, num_classes=10)
    model.features.conv0 = nn.Conv2d(3, 24, 3, padding=1, bias=False)
    del model.features.norm0, model.features.relu0, model.features.pool0
    return model


# name: model, input, batch, steps, learning rate
ZOO = {
    "lenet5": (LeNet5, (1, 28, 28), 16, 50, 0.01),
    "vgg11_bn": (Vgg, (3, 32, 32), 16, 50, 0.01),
    "resnet9": (ResNet9, (3, 32, 32), 16, 50, 0.01),
    "resnet20": (ResNet20, (3, 32, 32), 16, 50, 0.01),
    "resnet18_cifar": (cifar_resnet18, (3, 32, 32), 16, 50, 0.01),
    "resnet18": (torchvision.models.resnet18, (3, 224, 224), 4, 50, 0.01),
    "resnet50": (torchvision.models.resnet50, (3, 224, 224), 4, 8, 0.001),
    "mobilenet_v2": (mobilenet_v2, (3, 32, 32), 16, 8, 0.001),
    "densenet": (densenet, (3, 32, 32), 16, 50, 0.01),
}


def reset(model, dtype):
    model.load_state_dict({key: value if value.dtype == torch.int64 else draw(key, value.shape)
                           for key, value in model.state_dict().items()})
    return model.to(dtype)


def sampled(name, tensor, whole):
    flat = tensor.detach().double().flatten()
    values = [flat[place].item() for place in places(name, len(flat))]
    largest = [flat.abs().max().item()] if whole else []
    return largest + [flat.norm().item() / len(flat) ** 0.5] + values


def run(name, dtype, layout=torch.contiguous_format):
    make, shape, batch, steps, lr = ZOO[name]
    model = reset(make(), dtype).to(memory_format=layout)
    pixels = hashed("images", 2 * batch * int(numpy.prod(shape))) >> numpy.uint32(24)
    images = torch.from_numpy(pixels.astype(numpy.int64)).reshape(2, batch, *shape)
    inputs = ((images.to(dtype) / 255) - 0.5) / 0.5
    result = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    model.eval()
    with torch.no_grad():
        result["logits"] = model(inputs[0]).double()
    classes = result["logits"].shape[1]
    labels = torch.from_numpy((hashed("labels", 2 * batch) % numpy.uint32(classes)).astype(numpy.int64)).reshape(2, batch)
    reset(model, dtype).train()
    nn.functional.cross_entropy(model(inputs[0]), labels[0]).backward()
    result["gradients"] = {key: sampled(key, value.grad, True) for key, value in model.named_parameters()}
    reset(model, dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    result["losses"] = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs[step % 2]), labels[step % 2])
        loss.backward()
        optimizer.step()
        result["losses"].append(loss.item())
    result["buffers"] = {key: sampled(key, value, False) for key, value in model.named_buffers()
                         if value.dtype != torch.int64}
    return result


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(of) for key, of in value.items()}
    if isinstance(value, list):
        return [rounded(of) for of in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main():
    for name in sys.argv[1:] or ZOO:
        _, shape, batch, _, lr = ZOO[name]
        result = run(name, torch.float64)
        singles = [run(name, torch.float32, layout) for layout in (torch.contiguous_format, torch.channels_last)]
        losses = max(abs(a - b) / max(b, 1) for single in singles for a, b in zip(single["losses"], result["losses"]))
        gradients = max(abs(a - b) / of[0] for single in singles for key, of in result["gradients"].items() if of[0] > 1e-5
                        for a, b in zip(single["gradients"][key][2:], of[2:]))
        buffers = max([abs(a - b) / of[0] for single in singles for key, of in result["buffers"].items()
                       for a, b in zip(single["buffers"][key][1:], of[1:])], default=0)
        print(f"{name}: float32 is off by {losses:.1e} in losses, {gradients:.1e} in gradients, {buffers:.1e} in buffers")
        result["logits"] = [float(value) for value in result["logits"][:, :10].flatten()]
        path = os.path.join(HERE, "zoo", f"{name}.json")
        limits = {"loss_limit": max(1e-3, 4 * losses), "gradient_limit": max(1e-3, 4 * gradients),
                  "buffer_limit": max(1e-3, 4 * buffers)}
        with open(path, "w", encoding="ascii") as file:
            json.dump({"shape": shape, "batch": batch, "lr": lr} | rounded(limits) | rounded(result), file,
                      separators=(",", ":"))
            file.write("\n")
        print(f"{name}: {os.path.getsize(path)} bytes, losses {result['losses'][0]:.4f} to {result['losses'][-1]:.4f}")


if __name__ == "__main__":
    main()
