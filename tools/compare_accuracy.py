#!/usr/bin/env python3
"""Trains networks with PyTorch and with `claret train` on the same files by the same schedule, and compares what they get right.

    compare_accuracy.py --data ./data                       the whole zoo; half an hour on two cores
    compare_accuracy.py --model resnet20 --model lenet5
    compare_accuracy.py --model ./my.net --train 5000 --epochs 4 --lr 0.05

--data holds CIFAR-10's binary version; its first images become a folder of PNG files that both read, resized to the
network's input (and made grey where it has one channel). Both start from the same weights: SGD with Nesterov's momentum
0.9, decay 0.0005, rate by cosine from step to step; each shuffles in its own way. What is printed are right answers on the
test images; images a second of compare_frameworks.py are the better measure of speed.

PyTorch and Pillow may lie in a venv: give --python VENV/bin/python.
Exit code: 0 compared; 1 a program failed, or PyTorch is missing; 2 usage.
"""
import argparse
import json
import math
import os
import re
import signal
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "compare"))

import article  # noqa: E402
import network  # noqa: E402
import report  # noqa: E402
import tensors  # noqa: E402
import turns  # noqa: E402

SCRIPT = "compare_accuracy.py"
MOMENTUM, WEIGHT_DECAY = 0.9, 0.0005
# Short enough for two cores: training and test images, epochs, batch, rate.
KEYS = ("train", "test", "epochs", "batch_size", "lr")
SCHEDULES = {"simplecnn": (10000, 2000, 6, 32, 0.01), "lenet5": (10000, 2000, 6, 32, 0.02),
             "resnet20": (10000, 2000, 4, 64, 0.1), "resnet9": (5000, 2000, 3, 64, 0.002),
             "vgg11_bn": (10000, 2000, 2, 64, 0.005), "mobilenet_v2": (5000, 2000, 3, 32, 0.02),
             "resnet18_cifar": (5000, 2000, 2, 32, 0.02), "densenet": (3000, 2000, 2, 32, 0.05),
             "resnet18": (600, 500, 2, 16, 0.01), "resnet50": (300, 200, 2, 16, 0.01)}
OTHER = (5000, 2000, 3, 32, 0.02)
HEAD = ["network", "parameters", "images, epochs, batch, rate", "PyTorch", "claret"]


def say(text):
    print(f"{SCRIPT}: {text}", file=sys.stderr, flush=True)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog=SCRIPT, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--model", action="append", metavar="NAME|FILE", help="a network (again for more; default: all of the zoo)")
    add("--data", default="./data", metavar="DIR", help="where CIFAR-10 is (default: ./data)")
    for key in KEYS[:-1]:
        add("--" + key.replace("_", "-"), type=int, metavar="N", help="instead of the network's own")
    add("--lr", type=float, metavar="RATE", help="likewise")
    add("--seed", type=int, default=1, metavar="N", help="of the first weights and the shuffling (default: 1)")
    add("--python", action="append", metavar="FILE", help="interpreter that has PyTorch (default: this one)")
    add("--claret", metavar="FILE", help="the command (default: that of build/, else of PATH)")
    add("--device", default="cpu", metavar="SEL", help="claret's device (default: cpu)")
    add("--json", metavar="FILE", help="write the rows there, each when it is done; those that are there are not done again")
    settings = parser.parse_args(arguments)
    if any(value is not None and not 0 < value < 1e6 for value in (getattr(settings, key) for key in KEYS)):
        parser.error("numbers of images and epochs, batch size and rate have to be above 0")
    settings.python = settings.python or [sys.executable]
    settings.threads = len(os.sched_getaffinity(0))
    return settings


def schedule_of(settings, name):
    own = dict(zip(KEYS, SCHEDULES.get(name, OTHER)))
    return {key: getattr(settings, key) or own[key] for key in KEYS}


def with_ten_classes(name, scratch):
    """The network's text, which may be for ImageNet's 1000, in a file of its own."""
    path = network.path_of(name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    model = os.path.join(scratch, os.path.basename(path))
    with open(model, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\bout_features=1000\b", "out_features=10", text))
    return model


def compare(settings, name, python, claret, scratch):
    """A row of the result."""
    env = turns.framework_environment(settings.threads)
    plan = schedule_of(settings, name)
    folder = os.path.join(scratch, f"{plan['train']}-{plan['test']}")
    script = os.path.join(turns.HERE, "accuracy_torch.py")
    if not os.path.exists(folder):
        os.mkdir(folder)
        article.measured([python, script, "folder", os.path.abspath(settings.data), folder, str(plan["train"]),
                          str(plan["test"])], env, scratch)
    model = with_ten_classes(name, scratch)
    net = network.load(model, claret)
    weights, request = os.path.join(scratch, "weights.safetensors"), os.path.join(scratch, "request.json")
    tensors.write_weights(weights, network.parameters(net), settings.seed)
    with open(request, "w", encoding="utf-8") as file:
        json.dump({"network": net, "weights": weights, "data": folder, "threads": settings.threads, "seed": settings.seed,
                   "momentum": MOMENTUM, "weight_decay": WEIGHT_DECAY, **plan}, file)
    say(f"{name}: PyTorch trains on {plan['train']} images, {plan['epochs']} epochs")
    torch = article.measured([python, script, "train", request], env, scratch)
    say(f"{name}: PyTorch {torch['accuracy']:.2%} in {torch['seconds']:.0f} s; claret trains")
    command = [claret, "train", "--model", model, "--data", folder, "--init", weights,
               "--epochs", plan["epochs"], "--batch-size", plan["batch_size"], "--lr", plan["lr"], "--momentum", MOMENTUM,
               "--nesterov", "--weight-decay", WEIGHT_DECAY, "--lr-schedule", "cosine", "--lr-by", "step", "--seed",
               settings.seed, "--device", settings.device, "--json", "--overwrite", "--out", os.path.join(scratch, "run")]
    answer = article.measured([str(word) for word in command], turns.environment(settings.threads), scratch)
    answer["accuracy"] /= 100
    say(f"{name}: claret {answer['accuracy']:.2%}")
    keys = ("accuracy", "loss", "images_per_second")
    count = sum(math.prod(shape) for key, kind, shape, *_ in network.parameters(net)
                if kind == "F32" and "running" not in key)
    return {"name": name, "parameters": count, **plan, "torch": {key: torch[key] for key in (*keys, "version")},
            "claret": {key: answer[key] for key in (*keys, "device")}}


def line_of(row):
    schedule = f"{row['train']:,}, {row['epochs']}, {row['batch_size']}, {row['lr']:g}"
    return [row["name"], f"{row['parameters']:,}", schedule,
            *(f"{row[key]['accuracy']:.1%}" for key in ("torch", "claret"))]


def compare_all(settings, names, rows):
    """Appends to the rows; -> the exit code."""
    code = 0
    claret = turns.find_claret(settings.claret, "claret", [("src", "cli", "claret")])
    python, _ = turns.find_framework("torch", settings.python, turns.framework_environment(settings.threads))
    with tempfile.TemporaryDirectory(prefix="compare-") as scratch:
        for name in names:
            try:
                rows.append(compare(settings, name, python, claret, scratch))
                if settings.json:
                    report.write_json(settings.json, rows)
            except (turns.Failed, network.NetworkError, OSError) as failure:
                say(f"{name}: {report.failure_text(failure)}")
                code = 1
    return code


def main(arguments):
    settings = parse_arguments(arguments)
    rows, code = [], 0
    try:
        if settings.json and os.path.exists(settings.json):
            with open(settings.json, encoding="utf-8") as file:
                rows = json.load(file)
        done = {row["name"] for row in rows}
        names = [name for name in settings.model or SCHEDULES if name not in done]
        if names:
            code = compare_all(settings, names, rows)
    except (turns.Missing, turns.Failed, OSError, ValueError) as failure:
        say(report.failure_text(failure))
        code = 1
    if rows:
        print(*report.columns([HEAD, *map(line_of, rows)]), sep="\n")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
