#!/usr/bin/env python3
"""torch_export.py CLARET: networks that tools/export_torch.py wrote have PyTorch's loss on the same images.

Needs golden/requirements.txt, and torchvision for the larger networks; run by hand, not by the suites. CLARET is the
command's path.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from export_torch import export, remark  # noqa: E402

IMAGES = 16


class Article(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.pool, self.fc = nn.Conv2d(3, 16, 3), nn.MaxPool2d(2, 2), nn.Linear(16 * 15 * 15, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        return self.fc(x.view(x.size(0), -1))


class Gated(nn.Module):
    """Functions, one ReLU for two places, sums, products and channels side by side."""

    def __init__(self):
        super().__init__()
        self.c, self.s, self.d = nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 8, 1), nn.Conv2d(8, 4, 1)
        self.e, self.r, self.fc = nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Linear(16, 10)

    def forward(self, x):
        y = self.r(self.c(x))
        y = torch.sigmoid(self.s(F.adaptive_avg_pool2d(y, 1))) * y
        z = torch.cat([y, F.leaky_relu(self.d(y), 0.2), self.r(self.e(y))], 1)
        return self.fc((z + z).mean([2, 3]))


class Upwards(nn.Module):
    """Norms of single images, transposed convolutions, upsampling by either mode."""

    def __init__(self):
        super().__init__()
        self.a, self.g = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.GroupNorm(4, 8)
        self.b = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1)
        self.l, self.u = nn.LayerNorm((6, 32, 32)), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.p, self.c = nn.ZeroPad2d((1, 0, 2, 1)), nn.Conv2d(6, 4, 5, stride=8)
        self.fc = nn.Linear(4 * 16 * 17, 10)
        for norm in (self.g, self.l):
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.uniform_(norm.bias, -0.5, 0.5)

    def forward(self, x):
        x = self.u(F.relu(self.l(self.b(F.relu(self.g(self.a(x)))))))
        x = F.interpolate(self.c(self.p(x)), scale_factor=(1, 2), mode="bilinear")
        return self.fc(F.interpolate(F.pad(x, (0, 1)), size=(16, 17)).flatten(1))


class Attention(nn.Module):
    """softmax in each of its ways to be written, over classes and over channels."""

    def __init__(self):
        super().__init__()
        self.c, self.s, self.d = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 1), nn.Softmax2d()
        self.m, self.k, self.fc = nn.Softmax(dim=1), nn.Softmax(dim=-1), nn.Linear(8, 10)

    def forward(self, x):
        y = self.c(x)
        y = self.m(self.s(y)) * y + F.softmax(y, dim=-3) * self.d(y) + y.softmax(1)
        y = self.k(y.mean([2, 3])) + torch.softmax(y.mean([2, 3]), -1)
        return F.softmax(self.fc(y), 1)


class Unknown(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.n = nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), nn.InstanceNorm2d(4)
        self.l, self.unused = nn.Linear(4, 4), nn.Conv2d(3, 3, 1)

    def forward(self, x):
        x = torch.fft.fft(self.n(self.c(x))).real.mean([2, 3])
        return F.softmax(self.l(self.l(x)), 0)


def sequential():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding="same"), nn.BatchNorm2d(8), nn.ReLU6(),
        nn.Sequential(nn.Conv2d(8, 8, 3, groups=8), nn.SiLU(), nn.Dropout(0.2), nn.Identity()), nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Tanh(), nn.Linear(8, 10))


def compare(command, name, model, shape):
    model = model.eval()
    for module in model.modules():  # running statistics that do something
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    images = torch.randn(IMAGES, *shape)
    with torch.no_grad():
        logits = model(images)
        labels = torch.arange(IMAGES) % logits.shape[1]  # of all classes: the data tells how many there are
        want = F.cross_entropy(logits.double(), labels).item()
    with tempfile.TemporaryDirectory() as folder:
        text, weights, data = (os.path.join(folder, file) for file in ("net.net", "net.safetensors", "data.npz"))
        export(model, shape, text, weights)
        numpy.savez(data, **{f"{what}_{split}": array.numpy() for what, array in (("x", images), ("y", labels))
                             for split in ("train", "test")})
        result = subprocess.run([command, "eval", "--model", text, "--weights", weights, "--data", data, "--json"],
                                check=True, stdout=subprocess.PIPE, timeout=900)
    got = json.loads(result.stdout.splitlines()[-1])["loss"]
    assert abs(got - want) <= 1e-4 * max(1.0, abs(want)), f"{name}: {got}, PyTorch {want}"
    print(f"{name}: loss {got:.6f}, PyTorch {want:.6f}")


def main():
    torch.manual_seed(1)
    command = os.path.abspath(sys.argv[1])
    for name, model in (("Article", Article()), ("Sequential", sequential()), ("Gated", Gated()), ("Upwards", Upwards()),
                        ("Attention", Attention())):
        compare(command, name, model, (3, 32, 32))
    try:
        export(Unknown(), (3, 8, 8))
    except ValueError as fault:
        for part in ("padding_mode=reflect", "InstanceNorm2d", "fft", "used twice", "softmax over dimension 0"):
            assert part in str(fault), f"{part} is not in: {fault}"
    else:
        raise AssertionError("what claret has no layers for was written")
    for last, loss in ((nn.Softmax(1), "cross_entropy"), (nn.Sigmoid(), "bce"), (nn.ReLU(), "")):
        said = remark(export(nn.Sequential(nn.Flatten(), nn.Linear(48, 4), last), (3, 4, 4)))
        assert loss in said if loss else not said, said
    try:
        from torchvision import models
    except ImportError:
        print("torchvision is not there: its networks are left out")
        return
    for name, side in (("resnet18", 64), ("resnet50", 64), ("mobilenet_v2", 64), ("vgg11_bn", 64),
                       ("densenet121", 64)):
        compare(command, name, getattr(models, name)(num_classes=10), (3, side, side))


main()
