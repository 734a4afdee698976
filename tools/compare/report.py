"""What is counted and how it is printed."""
import json
import os
import platform
import statistics

FIRST = 2  # steps that must agree even where later ones need not
APART = 4  # times as far from the nearer training as the others are from each other


class Spread:
    """Median, least and greatest of some numbers."""

    def __init__(self, values):
        self.median, self.min, self.max = statistics.median(values), min(values), max(values)

    def as_dict(self):
        return {"median": self.median, "min": self.min, "max": self.max}


def ratios(values, others):
    """Round by round: what disturbs the machine for a while disturbs both of a round."""
    return [value / other for value, other in zip(values, others)]


def disagreement(losses, others):
    """The greatest relative difference of two trainings' losses; infinite where one is not a number."""
    worst = 0.0
    if len(losses) != len(others):
        return float("inf")
    for a, b in zip(losses, others):
        difference = abs(a - b) / max(abs(b), 1e-6)
        if not difference <= worst:
            worst = difference if difference == difference else float("inf")
    return worst


def greatest_disagreement(trainings):
    trainings = list(trainings)
    return max(disagreement(a, b) for a in trainings for b in trainings)


def same_training(own, others, limit):
    """Whether own is the training that the others are, by the losses of their steps.

    All agree within the limit; or the others come apart themselves, as deep networks with norms do by rounding alone. Then the
    first steps must agree as far as the others' do, the very first in any case, and own may be APART times as far from the
    nearer as they are from each other.
    """
    def agree(trainings, steps=None):
        return greatest_disagreement(losses[:steps] for losses in trainings) <= limit

    everyone = [own, *others]
    if agree(everyone):
        return True
    apart = greatest_disagreement(others)
    nearest = min(disagreement(own, other) for other in others)
    return agree(everyone, FIRST if agree(others, FIRST) else 1) and nearest <= APART * apart < float("inf")


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def spread_text(spread):
    return f"{number(spread['median'])} ({number(spread['min'])}–{number(spread['max'])})"


def ratio_text(spread):
    return f"{spread['median']:.2f}x ({spread['min']:.2f}–{spread['max']:.2f})"


def columns(rows):
    """Rows of text with their columns under each other; the first column stands to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) if i else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def case_row(case):
    """The table's row of one case."""
    cells = [f"{case['name']}, batch {case['batch_size']}"]
    for key in ("torch", "tensorflow", "claret"):
        cells.append(spread_text(case[key]["images_per_second"]) if key in case else "-")
    cells.append(ratio_text(case["ratio"]) + " " + case["better"] if "ratio" in case else "-")
    return cells


CASE_HEAD = ["images/s: median (min–max) of the rounds", "PyTorch", "TensorFlow", "claret", "claret to the better"]


def write_json(path, what):
    """Whole or not at all."""
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(what, file, indent=1)
        file.write("\n")
    os.replace(temporary, path)


def failure_text(failure):
    """An exception as a user reads it."""
    if isinstance(failure, OSError) and failure.filename:
        return f"{failure.filename}: {failure.strerror}"
    return str(failure)


def read_field(path, field):
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == field:
                    return value.strip()
    except OSError:
        pass
    return ""


def machine(threads):
    memory = read_field("/proc/meminfo", "MemTotal").split()
    return {"cpu": read_field("/proc/cpuinfo", "model name") or platform.machine(), "cpus": os.cpu_count(),
            "bound_to": sorted(os.sched_getaffinity(0)), "threads": threads,
            "memory_gib": round(int(memory[0]) / (1 << 20), 1) if memory else None,
            "system": f"{platform.system()} {platform.release()}"}


def machine_text(what):
    return (f"machine: {what['cpu']}, {what['cpus']} CPUs, {what['memory_gib']} GiB, {what['system']}; "
            f"threads: {what['threads']}")
