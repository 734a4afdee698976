#!/usr/bin/env python3
"""Makes the golden files beside it: trainings by PyTorch that tests/test_golden.c repeats.

    pip install -r requirements.txt && python3 make_goldens.py [--verify] [NAME...]

Only needed to make the files again; the tests read them. Each golden is three files:
NAME.net          the network text; its layers' names are those of the state dict
NAME.json         batch size, hyper-parameters, numbers of steps and images, limits of the comparison
NAME.safetensors  images (U8, N x C x H x W), labels (I64), losses (F32, one per step), init.* and final.* weights
Batches are taken in order, over and over; the last one of a round is short where the sizes ask for it.
All of it is float32 on one thread. --verify trains once more in float64 and shows how far float32 is from it:
the room that another float32 implementation has within the limits.
"""
import fnmatch
import json
import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

HERE = os.path.dirname(os.path.abspath(__file__))

SIMPLECNN = """\
input 3 32 32
conv1 = conv2d out_channels=16 kernel_size=3
relu
max_pool2d kernel_size=2 stride=2
flatten
fc = linear out_features=10
"""

DEEPER = """\
# Every key that the first golden leaves at its default, on sizes that nothing divides.
input 3 19 17
first = conv2d out_channels=8 kernel_size=3,5 stride=2,1 padding=1,2
relu
max_pool2d kernel_size=3 stride=2 padding=1
second = conv2d out_channels=8 kernel_size=3 padding=2 dilation=2 bias=false
relu
max_pool2d kernel_size=2 stride=1
flatten
hidden = linear out_features=9
relu
out = linear out_features=7
"""

NORMED = """\
input 3 13 11
stem = conv2d out_channels=8 kernel_size=3 padding=1
norm = batch_norm2d
relu
second = conv2d out_channels=8 kernel_size=3
norm2 = batch_norm2d
relu
max_pool2d kernel_size=2
flatten
fc = linear out_features=5
"""


LAYERS = """\
# Norms of single images, a transposed convolution, upsampling both ways.
input 3 12 10
first = conv2d out_channels=8 kernel_size=3 stride=2 padding=1
norm1 = group_norm num_groups=4
relu
up = conv_transpose2d out_channels=6 kernel_size=3 stride=2 padding=1 output_padding=1
norm2 = layer_norm
relu
upsample scale_factor=2 mode=bilinear
second = conv2d out_channels=5 kernel_size=3 stride=3
upsample scale_factor=1,2 mode=bilinear align_corners=true
flatten
out = linear out_features=7
"""


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3)
        self.fc = nn.Linear(16 * 15 * 15, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2, 2)
        return self.fc(x.flatten(1))


class Deeper(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, (3, 5), stride=(2, 1), padding=(1, 2))
        self.second = nn.Conv2d(8, 8, 3, padding=2, dilation=2, bias=False)
        self.hidden = nn.Linear(8 * 4 * 8, 9)
        self.out = nn.Linear(9, 7)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.first(x)), 3, 2, 1)
        x = nn.functional.max_pool2d(torch.relu(self.second(x)), 2, 1)
        return self.out(torch.relu(self.hidden(x.flatten(1))))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3)
        self.norm2 = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 5 * 4, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.stem(x)))
        x = nn.functional.max_pool2d(torch.relu(self.norm2(self.second(x))), 2)
        return self.fc(x.flatten(1))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm1 = nn.GroupNorm(4, 8)
        self.up = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1)
        self.norm2 = nn.LayerNorm((6, 12, 10))
        self.second = nn.Conv2d(6, 5, 3, stride=3)
        self.out = nn.Linear(5 * 8 * 12, 7)

    def forward(self, x):
        x = torch.relu(self.norm2(self.up(torch.relu(self.norm1(self.first(x))))))
        x = nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
        x = nn.functional.interpolate(self.second(x), scale_factor=(1, 2), mode="bilinear", align_corners=True)
        return self.out(x.flatten(1))


GOLDENS = {
    "simplecnn": (SimpleCNN, SIMPLECNN, (64, 3, 32, 32), 10,
                  dict(batch=4, lr=0.001, momentum=0.9, weight_decay=0.0, dampening=0.0, nesterov=False, steps=200)),
    "nesterov": (Deeper, DEEPER, (22, 3, 19, 17), 7,
                 dict(batch=5, lr=0.02, momentum=0.9, weight_decay=0.005, dampening=0.0, nesterov=True, steps=60)),
    "dampening": (Deeper, DEEPER, (22, 3, 19, 17), 7,
                  dict(batch=5, lr=0.05, momentum=0.85, weight_decay=0.002, dampening=0.3, nesterov=False, steps=60)),
    "adam": (Deeper, DEEPER, (22, 3, 19, 17), 7, dict(batch=5, optimizer="adam", lr=0.002, weight_decay=0.01, steps=50)),
    "adamw": (Deeper, DEEPER, (22, 3, 19, 17), 7,
              dict(batch=5, optimizer="adamw", lr=0.003, beta1=0.8, beta2=0.99, eps=1e-6, weight_decay=0.1, steps=50)),
    "rmsprop": (Deeper, DEEPER, (22, 3, 19, 17), 7,
                dict(batch=5, optimizer="rmsprop", lr=0.0005, alpha=0.9, eps=1e-4, momentum=0.5, centered=True, steps=50)),
    "smoothing": (Deeper, DEEPER, (22, 3, 19, 17), 7,
                  dict(batch=5, lr=0.02, momentum=0.9, label_smoothing=0.1,
                       class_weights=[0.5, 2.0, 1.0, 0.0, 1.25, 3.0, 0.75], steps=40)),
    "layers": (Layers, LAYERS, (22, 3, 12, 10), 7, dict(batch=5, lr=0.002, momentum=0.9, weight_decay=0.002, steps=30)),
    "mse": (Deeper, DEEPER, (22, 3, 19, 17), 7, dict(batch=5, loss="mse", lr=0.1, momentum=0.9, steps=40)),
    "bce": (Deeper, DEEPER, (22, 3, 19, 17), 7, dict(batch=5, loss="bce", lr=0.1, momentum=0.9, steps=40)),
    # Half of a layer frozen, and all that is below what is trained.
    "frozen": (Normed, NORMED, (22, 3, 13, 11), 5,
               dict(batch=5, lr=0.003, momentum=0.9, weight_decay=0.01, freeze="stem,norm,norm2.weight,second.bias,fc.bias",
                    steps=25)),
    # Most steps' gradients are clipped, not all.
    "clip_norm": (Deeper, DEEPER, (22, 3, 19, 17), 7,
                  dict(batch=5, lr=0.02, momentum=0.9, weight_decay=0.005, clip_norm=0.6, steps=50)),
    "clip_value": (Deeper, DEEPER, (22, 3, 19, 17), 7,
                   dict(batch=5, lr=0.03, momentum=0.9, nesterov=True, clip_value=0.01, steps=50)),
    # Updates by the mean of three batches, one of which may be short.
    "accumulate": (Deeper, DEEPER, (22, 3, 19, 17), 7,
                   dict(batch=5, optimizer="adam", lr=0.002, weight_decay=0.01, accumulate=3, steps=61)),
    # Groups with their own rates and weight decays, by the nodes that make the gradients; then with all else.
    "groups": (Deeper, DEEPER, (22, 3, 19, 17), 7,
               dict(batch=5, lr=0.02, momentum=0.9, nesterov=True, weight_decay=0.1, no_decay_norm_bias=True,
                    lr_for="first.bias=0.01,out=0.002,out.bias=0.03,hidden.weight=0", steps=40)),
    "everything": (Normed, NORMED, (22, 3, 13, 11), 5,
                   dict(batch=5, optimizer="adamw", lr=0.002, eps=1e-3, weight_decay=0.1, no_decay_norm_bias=True,
                        lr_for="*=0.001,fc=0.004,norm2=0.002", clip_norm=1.5, accumulate=2, freeze="stem.bias",
                        steps=40)),
    "ema": (Normed, NORMED, (22, 3, 13, 11), 5, dict(batch=5, lr=0.004, momentum=0.9, ema=0.8, freeze="stem", steps=25)),
}
# What of the settings an optimizer takes; nothing is named like PyTorch's `betas`.
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}
OTHERS = ("batch", "optimizer", "steps", "beta1", "beta2", "loss", "label_smoothing", "class_weights", "ema",
          "lr_for", "no_decay_norm_bias", "freeze", "accumulate", "clip_norm", "clip_value")


def criterion(settings, classes, dtype):
    """The loss of (outputs, labels)."""
    if "loss" not in settings:
        weights = settings.get("class_weights")
        return nn.CrossEntropyLoss(weight=weights and torch.tensor(weights, dtype=dtype),
                                   label_smoothing=settings.get("label_smoothing", 0.0))
    loss = {"mse": nn.MSELoss, "bce": nn.BCEWithLogitsLoss}[settings["loss"]]()
    return lambda outputs, labels: loss(outputs, nn.functional.one_hot(labels, classes).to(dtype))


def matches(patterns, name):
    """As --freeze: a pattern is that of the parameter or of a module that it is in."""
    parts = name.split(".")
    return any(fnmatch.fnmatchcase(".".join(parts[:end]), pattern)
               for pattern in patterns.split(",") for end in range(1, len(parts) + 1))


def draw(shape, classes, seed):
    """Noise over a pattern of waves that belongs to the class, so that there is something to learn."""
    random = torch.Generator().manual_seed(seed)
    count, channels, height, width = shape
    labels = torch.randperm(count, generator=random) % classes
    y = torch.arange(height).view(1, 1, height, 1) / height
    x = torch.arange(width).view(1, 1, 1, width) / width
    label = labels.view(count, 1, 1, 1)
    channel = torch.arange(channels).view(1, channels, 1, 1)
    wave = torch.sin(6.2832 * ((1 + label % 4) * y + (1 + label // 4) * x) + channel + label)
    noise = torch.rand(shape, generator=random)
    return (255 * (0.2 * (0.5 + 0.5 * wave) + 0.8 * noise)).to(torch.uint8), labels


def groups(model, settings):
    """A group for each parameter: its rate is that of the last pattern of lr_for, as --lr-for has it."""
    made = []
    for module_name, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            group = {"params": [parameter]}
            for entry in filter(None, settings.get("lr_for", "").split(",")):
                pattern, rate = entry.split("=")
                if matches(pattern, f"{module_name}.{name}"):
                    group["lr"] = float(rate)
            if settings.get("no_decay_norm_bias") and (name == "bias" or isinstance(module, nn.BatchNorm2d)):
                group["weight_decay"] = 0.0
            made += [group] if parameter.requires_grad else []
    return made


def clip(parameters, settings):
    if "clip_norm" in settings:
        norm = nn.utils.clip_grad_norm_(parameters, settings["clip_norm"])
        clip.share += [float(norm > settings["clip_norm"])]
    if "clip_value" in settings:
        clip.share += [float(parameter.grad.abs().max() > settings["clip_value"]) for parameter in parameters]
        nn.utils.clip_grad_value_(parameters, settings["clip_value"])


def train(model, images, labels, classes, settings, dtype):
    """The losses; `model` is trained in place."""
    model.to(dtype)
    # What torchvision's ToTensor and Normalize(0.5, 0.5) compute, rounded in the same places.
    inputs = ((images.to(dtype) / 255) - 0.5) / 0.5
    arguments = {key: value for key, value in settings.items() if key not in OTHERS}
    if "beta1" in settings:
        arguments["betas"] = settings["beta1"], settings["beta2"]
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not matches(settings.get("freeze", ""), name)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = OPTIMIZERS[settings.get("optimizer", "sgd")](groups(model, settings), **arguments)
    if "ema" in settings:
        model.averages = [AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(settings["ema"]))]
    loss_of = criterion(settings, classes, dtype)
    losses, at, gathered = [], 0, []
    for _ in range(settings["steps"]):
        end = min(at + settings["batch"], len(images))
        loss = loss_of(model(inputs[at:end]), labels[at:end])
        # By images where there are several batches, so that a short one counts as it should.
        (loss * (end - at) if "accumulate" in settings else loss).backward()
        losses.append(loss.item())
        gathered.append(end - at)
        if len(gathered) == settings.get("accumulate", 1):
            for parameter in trained if "accumulate" in settings else []:
                parameter.grad /= sum(gathered)
            clip(trained, settings)
            optimizer.step()
            optimizer.zero_grad()
            for average in getattr(model, "averages", []):
                average.update_parameters(model)
            gathered = []
        at = end % len(images)
    return torch.tensor(losses, dtype=dtype)


def make(name, verify):
    kind, text, shape, classes, settings = GOLDENS[name]
    torch.manual_seed(1)
    model = kind()
    init = {key: value.clone() for key, value in model.state_dict().items()}
    images, labels = draw(shape, classes, seed=7)
    clip.share = []
    losses = train(model, images, labels, classes, settings, torch.float32)
    if clip.share:
        print(f"{name}: clipped in {sum(clip.share) / len(clip.share):.0%}")
    final = model.state_dict()
    tensors = {"images": images, "labels": labels, "losses": losses}
    tensors |= {f"init.{key}": value for key, value in init.items()}
    tensors |= {f"final.{key}": value for key, value in final.items()}
    for average in getattr(model, "averages", []):
        tensors |= {f"ema.{key}": value for key, value in average.module.state_dict().items()}
    path = os.path.join(HERE, name)
    save_file(tensors, f"{path}.safetensors")
    os.chmod(f"{path}.safetensors", 0o644)
    with open(f"{path}.net", "w", encoding="ascii") as file:
        file.write(text)
    with open(f"{path}.json", "w", encoding="ascii") as file:
        json.dump(settings | {"images": shape[0], "classes": classes, "shape": shape[1:],
                              "loss_limit": 1e-4, "weight_limit": 1e-4}, file, indent=1)
        file.write("\n")
    round_length = -(-shape[0] // settings["batch"])
    print(f"{name}: {os.path.getsize(path + '.safetensors')} bytes, mean loss of the first round "
          f"{losses[:round_length].mean():.4f}, of the last {losses[-round_length:].mean():.4f}")
    if verify:
        exact = kind()
        exact.load_state_dict(init)
        exact_losses = train(exact, images, labels, classes, settings, torch.float64)
        loss_error = ((losses - exact_losses).abs() / exact_losses.abs()).max()
        weight_error = max((final[key] - value).abs().max() for key, value in exact.state_dict().items())
        print(f"  float64: losses within {loss_error:.1e} relative, weights within {weight_error:.1e}")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in [name for name in sys.argv[1:] if name != "--verify"] or GOLDENS:
        make(name, "--verify" in sys.argv[1:])


if __name__ == "__main__":
    main()
