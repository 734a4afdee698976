#!/usr/bin/env python3
"""Trains the same networks with PyTorch, TensorFlow and claret in turn, and compares their images a second.

    compare_frameworks.py                                   SimpleCNN at batch 4, 32, 128 and 512
    compare_frameworks.py --set all --json result.json      its siblings, a VGG-like network, and the zoo's larger ones
    compare_frameworks.py --model my.net --batch-size 64
    compare_frameworks.py --article --data ./data           the article's whole training, with loading and shuffling

All take turns, A B C A B C, on the same CPUs with the same number of threads, with the data in memory: noise, drawn
once. Each starts from the same weights, and all must lose the same loss over a few steps before anything is measured
(SGD, lr 0.001, momentum 0.9). PyTorch is taken in the fastest of: contiguous or channels-last, SGD as a loop, foreach
or fused; it and TensorFlow (tf.function) with glibc's allocator as it is, or told to keep what is freed. The ratio is
that of claret to the better of the two, round by round: median, least and greatest.

PyTorch and TensorFlow may be missing, or lie in a venv each: give --python VENV/bin/python for both.
Exit code: 0 compared; 1 losses differ, a program failed, or there is nothing to compare with; 2 usage.
"""
import argparse
import glob
import os
import shlex
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "compare"))

import article  # noqa: E402
import network  # noqa: E402
import report  # noqa: E402
import tensors  # noqa: E402
import turns  # noqa: E402

NETWORKS = os.path.join(ROOT, "tools", "networks")
SIMPLECNN = os.path.join(ROOT, "models", "simplecnn.net")
# name: (network texts, batch sizes)
ZOO = [("resnet18_cifar", 32), ("resnet20", 128), ("mobilenet_v2", 32), ("vgg11_bn", 64)]
SETS = {"simplecnn": [(SIMPLECNN, batch) for batch in (4, 32, 128, 512)],
        "siblings": [(path, 32) for path in sorted(glob.glob(os.path.join(NETWORKS, "sibling-*.net")))],
        "vgg": [(os.path.join(NETWORKS, "vgg-like.net"), 64)],
        "zoo": [(os.path.join(ROOT, "models", name + ".net"), batch) for name, batch in ZOO]}
FRAMEWORKS = ("torch", "tensorflow")
LR, MOMENTUM = 0.001, 0.9
LOSS_STEPS = 8     # compared, each on a batch of its own; the measured steps take these batches in turn
LOSS_LIMIT = 1e-4  # relative; how it is kept: report.same_training
SEED = 1
BUSY = 0.7  # load average
SCRIPT = "compare_frameworks.py"


class Case:
    """A network at a batch size, and the files of its weights and data."""

    def __init__(self, model, batch, folder, claret):
        self.model, self.batch = os.path.abspath(model), batch
        self.name = os.path.splitext(os.path.basename(model))[0]
        with open(self.model, encoding="utf-8") as file:
            text = file.read()
        if network.without_dropout(text) != text:
            self.model = os.path.join(folder, os.path.basename(model))
            with open(self.model, "w", encoding="utf-8") as file:
                file.write(network.without_dropout(text))
        self.network = network.load(self.model, claret)
        self.weights = os.path.join(folder, "weights.safetensors")
        self.data = os.path.join(folder, "data.safetensors")

    def write(self):
        tensors.write_weights(self.weights, network.parameters(self.network), SEED)
        tensors.write_data(self.data, self.network["input"], LOSS_STEPS * self.batch, self.network["classes"], SEED)

    def request(self, settings):
        return {"network": self.network, "weights": self.weights, "data": self.data, "batch": self.batch,
                "threads": settings.threads, "lr": LR, "momentum": MOMENTUM}


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def batch_sizes(text):
    return [positive(part) for part in text.split(",")]


def seconds(text):
    value = float(text)
    if not 0 < value < 1e6:
        raise ValueError
    return value


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog=SCRIPT, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--set", action="append", choices=[*SETS, "all"],
        help="networks to compare (again for more; default: simplecnn)")
    add("--model", action="append", metavar="FILE", help="a network text to compare")
    add("--batch-size", type=batch_sizes, metavar="N[,N]", help="instead of a set's own; with --model: default 32")
    add("--article", action="store_true", help="compare the article's whole training instead")
    add("--data", default="./data", metavar="DIR", help="--article: where CIFAR-10 is (default: ./data)")
    add("--article-steps", type=positive, default=2000, metavar="N", help="PyTorch's steps (default: 2000)")
    add("--claret-steps", type=positive, default=12500, metavar="N", help="claret's (default: 12500, an epoch)")
    add("--python", action="append", metavar="FILE",
        help="interpreter that has PyTorch or TensorFlow; again for the other (default: this one)")
    add("--claret", metavar="FILE", help="the command (default: that of build/, else of PATH)")
    add("--claret-bench", metavar="FILE", help="likewise")
    add("--device", metavar="SEL", help="claret's device (default: $CLARET_DEVICE, else cpu)")
    add("--claret-options", type=shlex.split, default=[], metavar="TEXT", help="further options for it, as one word")
    add("--threads", type=positive, metavar="N", help="default: as many as CPUs; with less all are bound to N CPUs")
    add("--rounds", type=positive, default=5, metavar="N", help="turns of each (default: 5)")
    add("--seconds", type=seconds, default=3.0, metavar="S", help="length of a turn (default: 3)")
    add("--repeat", type=positive, default=3, metavar="N", help="parts of a turn; their median counts (default: 3)")
    add("--try-seconds", type=seconds, default=0.3, metavar="S", help="each time a variant is tried (default: 0.3)")
    add("--json", metavar="FILE", help="write all numbers there; after each network, so that little is lost")
    add("--quiet", action="store_true", help="no progress on standard error")
    settings = parser.parse_args(arguments)
    if settings.article and (settings.set or settings.model):
        parser.error("--article compares SimpleCNN alone: leave --set and --model out")
    cpus = sorted(os.sched_getaffinity(0))
    settings.threads = settings.threads or len(cpus)
    if settings.threads > len(cpus):
        parser.error(f"--threads {settings.threads}: there are {len(cpus)} CPUs to run on")
    os.sched_setaffinity(0, cpus[:settings.threads])  # and so of all that is started
    settings.python = settings.python or [sys.executable]
    device = settings.device or (None if os.environ.get("CLARET_DEVICE") else "cpu")
    if device:
        settings.claret_options = ["--device", device, *settings.claret_options]
    settings.note = (lambda text: None) if settings.quiet else say
    return settings


def say(text):
    print(text, file=sys.stderr, flush=True)


def error(text):
    say(f"{SCRIPT}: {text}")


def cases_of(settings, folder, claret):
    chosen = settings.set or ([] if settings.model else ["simplecnn"])
    for name in SETS if "all" in chosen else chosen:
        models = list(dict.fromkeys(model for model, _ in SETS[name]))
        own = [(model, batch) for model in models for batch in settings.batch_size or []]
        for model, batch in own or SETS[name]:
            yield Case(model, batch, folder, claret)
    for model in settings.model or []:
        model = network.path_of(model)
        for batch in settings.batch_size or [32]:
            yield Case(model, batch, folder, claret)


def check_losses(case, runners):
    """What the JSON says of the losses of all that take part."""
    losses = {runner.key: runner.losses(LOSS_STEPS) for runner in runners}
    worst = report.greatest_disagreement(losses.values())
    others = [losses[key] for key in losses if key != "claret"]
    result = {"losses": losses, "greatest_difference": worst if worst != float("inf") else None,
              "agree": report.same_training(losses["claret"], others, LOSS_LIMIT)}
    if not result["agree"]:
        lines = "".join(f"\n  {turns.TITLES[key]}: {values}" for key, values in losses.items())
        raise turns.Failed(f"{case.name}, batch {case.batch}: the losses differ by {worst:.1e}, more than "
                           f"{LOSS_LIMIT:g}: this is not the same training, nothing is measured{lines}")
    return result


def take_turns(case, runners, settings):
    rounds = {runner.key: [] for runner in runners}
    for at in range(settings.rounds):
        for runner in runners:
            rounds[runner.key].append(report.Spread(runner.measure()).median)
        settings.note(f"{case.name}, batch {case.batch}, round {at + 1} of {settings.rounds}: images/s " + ", ".join(
            f"{turns.TITLES[key]} {report.number(rates[-1])}" for key, rates in rounds.items()))
    return rounds


def start_runners(case, found, bench, settings, runners):
    """Appends those that can take part; a framework that cannot run the network is said and left out."""
    for key, (python, _) in found.items():
        try:
            settings.note(f"{case.name}, batch {case.batch}: trying {turns.TITLES[key]}'s variants")
            runners.append(turns.Framework(key, python, turns.framework_environment(settings.threads), case, settings))
        except turns.Failed as failure:
            error(f"{case.name}: left out: {failure}")
    if not runners:
        raise turns.Failed(f"{case.name}: no framework runs it")
    runners.append(turns.Claret(bench, turns.environment(settings.threads), case, settings))


def compare(case, found, bench, settings):
    """What the JSON says of a case."""
    runners = []
    try:
        case.write()
        start_runners(case, found, bench, settings, runners)
        result = {"name": case.name, "batch_size": case.batch, **check_losses(case, runners)}
        rounds = take_turns(case, runners, settings)
        for runner in runners:
            part = result[runner.key] = {"images_per_second": report.Spread(rounds[runner.key]).as_dict(),
                                         "rounds": rounds[runner.key]}
            if runner.key == "claret":
                part["device"] = runner.device
            else:
                part.update(variant=runner.variant, tried=runner.tried)
    finally:
        for runner in runners:
            runner.close()
    better = max((key for key in FRAMEWORKS if key in rounds), key=lambda key: report.Spread(rounds[key]).median)
    result["better"] = turns.TITLES[better]
    result["ratio"] = report.Spread(report.ratios(rounds["claret"], rounds[better])).as_dict()
    return result


def find_frameworks(settings, wanted):
    """{framework: (interpreter, version)} of those there are; says which are not."""
    found = {}
    for key in wanted:
        try:
            found[key] = turns.find_framework(key, settings.python, turns.framework_environment(settings.threads))
        except turns.Missing as missing:
            error(str(missing))
        except turns.Failed as failure:
            error(f"left out: {failure}")
    if not found:
        error("nothing to compare with: " + " or ".join(
            f"`{shlex.quote(settings.python[0])} -m {turns.PIP[key]}`" for key in wanted))
    return found


def claret_version(program):
    try:
        done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              timeout=60, check=False)
        return done.stdout.split()[-1] if done.returncode == 0 and done.stdout.split() else "of unknown version"
    except (OSError, subprocess.TimeoutExpired):
        return "of unknown version"


def device_text(device):
    if not isinstance(device, dict):
        return str(device or "an unknown device")
    return ", ".join(str(device[key]) for key in ("name", "platform", "driver") if device.get(key))


def write_json(settings, results):
    if settings.json:
        report.write_json(settings.json, results)


def print_head(results, device):
    print(report.machine_text(results["machine"]))
    versions = [f"{turns.TITLES[key]} {value}" for key, value in results["versions"].items()]
    print("versions: " + ", ".join(versions) + f" on {device_text(device)}")


def print_cases(results):
    cases = results["cases"]
    print_head(results, cases[0]["claret"]["device"])
    for line in report.columns([report.CASE_HEAD, *map(report.case_row, cases)]):
        print(line)
    print("Losses agree within " + f"{max(case['greatest_difference'] for case in cases):.1e}. Fastest variants:")
    for case in cases:
        variants = [f"{turns.TITLES[key]}: {case[key]['variant']}" for key in FRAMEWORKS if key in case]
        print(f"  {case['name']}, batch {case['batch_size']}: " + "; ".join(variants))


def compare_cases(settings, results):
    bench = turns.find_claret(settings.claret_bench, "claret-bench", [("tools", "claret-bench")])
    program = turns.find_claret(settings.claret, "claret", [("src", "cli", "claret")])
    found = find_frameworks(settings, FRAMEWORKS)
    if not found:
        return 1
    results["versions"] = {key: version for key, (_, version) in found.items()}
    results["versions"]["claret"] = claret_version(bench)
    code, results["cases"] = 0, []
    try:
        with tempfile.TemporaryDirectory(prefix="compare-") as folder:
            for case in cases_of(settings, folder, program):
                try:
                    results["cases"].append(compare(case, found, bench, settings))
                    write_json(settings, results)
                except turns.Failed as failure:
                    error(str(failure))
                    code = 1
    finally:  # also when it is interrupted
        if results["cases"]:
            print_cases(results)
    return code


def compare_article(settings, results):
    program = turns.find_claret(settings.claret, "claret", [("src", "cli", "claret")])
    found = find_frameworks(settings, ["torch"])
    if not found:
        return 1
    python, version = found["torch"]
    results["versions"] = {"torch": version, "claret": claret_version(program)}
    results["article"] = article.compare(settings, python, program)
    write_json(settings, results)
    print_head(results, results["article"]["claret"]["device"])
    title, rows = article.table(results["article"])
    print(title, *report.columns(rows), sep="\n")
    return 0


def main(arguments):
    settings = parse_arguments(arguments)
    results = {"machine": report.machine(settings.threads), "load_average": os.getloadavg()[0],
               "settings": {key: getattr(settings, key) for key in ("rounds", "seconds", "repeat", "claret_options")}}
    if results["load_average"] > BUSY:
        settings.note(f"{SCRIPT}: other programs keep this machine busy (load average {results['load_average']:.1f}): "
                      "the frameworks' threads wait for each other, and the ratios will say little")
    try:
        return (compare_article if settings.article else compare_cases)(settings, results)
    except (turns.Failed, network.NetworkError, OSError) as failure:
        error(report.failure_text(failure))
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
