#!/usr/bin/env python3
"""cifar10.py CLARET: the command at path CLARET on the real CIFAR-10, in the folder that CLARET_CIFAR10 names.

That folder is or holds cifar-10-batches-bin. Without it: exit code 77, skipped.
    learns         3,000 steps with the article's settings: the loss falls, accuracy passes 30%
    python_layout  the same images in cifar-10-batches-py give the same bits
    article        only with --article, which takes minutes: ten epochs end where PyTorch's do, 57% to 63%
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

RECORDS = 10000  # a file
PIXELS = 3072    # an image: three planes of 32 x 32


def claret(*arguments):
    """The command's stdout; it must succeed."""
    done = subprocess.run([claret.command, *arguments], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    sys.stdout.write(done.stdout)
    if done.returncode != 0:
        sys.exit(f"claret {' '.join(arguments)}: exit code {done.returncode}")
    return done.stdout


def accuracy(text):
    return float(re.search(r"^Test loss: [0-9.]+  accuracy: ([0-9.]+)%", text, re.MULTILINE).group(1))


def expect(condition, message):
    if not condition:
        sys.exit(message)


def learns(data, scratch):
    text = claret("train", "--data", data, "--max-steps", "3000", "--limit-test", "2000", "--log-every", "500",
                  "--out", os.path.join(scratch, "learns"))
    losses = [float(loss) for loss in re.findall(r"^\[1, +[0-9]+\] loss: ([0-9.]+)$", text, re.MULTILINE)]
    expect(len(losses) == 6, f"6 loss lines expected, {len(losses)} seen")
    expect(losses[-1] < losses[0] - 0.2, f"the loss does not fall: {losses}")
    expect(accuracy(text) > 30, f"accuracy {accuracy(text)}%, over 30% expected")


# Pickle as Python 2's cPickle wrote the published files, protocol 2. It leaves out the memo of objects that nothing
# else refers to, as there, and numbers the others.
def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"U" + bytes([len(data)]) + data if len(data) < 256 else b"T" + struct.pack("<i", len(data)) + data


def integer(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    return b"M" + struct.pack("<H", value) if 0 <= value < 65536 else b"J" + struct.pack("<i", value)


def memo(number):
    return b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<i", number)


def items(values):
    """A list's items, appended a thousand at a time."""
    return b"".join(b"(" + b"".join(values[at:at + 1000]) + b"e" for at in range(0, len(values), 1000))


def array(rows, data):
    """A numpy array of uint8, rows x PIXELS."""
    dtype = (b"cnumpy\ndtype\n" + memo(12) + string("u1") + integer(0) + integer(1) + b"\x87R" + memo(13) + b"("
             + integer(3) + string("|") + b"NNN" + integer(-1) + integer(-1) + integer(0) + b"tb")
    return (b"cnumpy.core.multiarray\n_reconstruct\n" + memo(7) + b"cnumpy\nndarray\n" + memo(8) + integer(0)
            + b"\x85" + memo(9) + string("b") + b"\x87" + memo(10) + b"R" + memo(11) + b"(" + integer(1)
            + integer(rows) + integer(PIXELS) + b"\x86" + dtype + b"\x89" + string(data) + b"tb")


def batch(title, records):
    labels = records[::PIXELS + 1]
    pixels = b"".join(records[at + 1:at + 1 + PIXELS] for at in range(0, len(records), PIXELS + 1))
    names = [string(f"image_s_{number:06}.png") + memo(14 + number) for number in range(len(labels))]
    return (b"\x80\x02}" + memo(1) + b"(" + string("batch_label") + memo(2) + string(title) + memo(3)
            + string("labels") + memo(4) + b"]" + memo(5) + items([integer(label) for label in labels])
            + string("data") + memo(6) + array(len(labels), pixels)
            + string("filenames") + b"]" + items(names) + b"u.")


def meta(names):
    return (b"\x80\x02}" + memo(1) + b"(" + string("num_cases_per_batch") + memo(2) + integer(RECORDS)
            + string("label_names") + memo(3) + b"]" + memo(4) + items([string(name) for name in names])
            + string("num_vis") + memo(5) + integer(PIXELS) + b"u.")


def make_python_layout(source, target):
    os.mkdir(target)
    for name, title in [(f"data_batch_{i}", f"training batch {i} of 5") for i in range(1, 6)] + [
            ("test_batch", "testing batch 1 of 1")]:
        with open(os.path.join(source, name + ".bin"), "rb") as file:
            records = file.read()
        expect(len(records) == RECORDS * (PIXELS + 1), f"{source}/{name}.bin: {len(records)} bytes")
        with open(os.path.join(target, name), "wb") as file:
            file.write(batch(title, records))
    with open(os.path.join(source, "batches.meta.txt"), encoding="ascii") as file:
        names = file.read().split()
    with open(os.path.join(target, "batches.meta"), "wb") as file:
        file.write(meta(names))


def python_layout(source, scratch):
    make_python_layout(source, os.path.join(scratch, "cifar-10-batches-py"))
    results = []
    for data in (source, scratch):
        text = claret("train", "--data", data, "--max-steps", "200", "--log-every", "50", "--limit-test", "1000",
                      "--out", os.path.join(scratch, f"layout{len(results)}"))
        # All but the speed and the weights' path must be the same: losses, accuracies, the weights' digest.
        results.append(re.sub(r"^Speed: .*\n|(?<=^Weights: ).*(?= sha256:)", "", text, flags=re.MULTILINE))
    expect("sha256:" in results[0], "no digest of the weights on stdout")
    expect(results[0] == results[1], "the two layouts do not train to the same bits")


def article(data, scratch):
    text = claret("train", "--data", data, "--out", os.path.join(scratch, "article"))
    expect(57 <= accuracy(text) <= 63, f"accuracy {accuracy(text)}%, 57% to 63% expected")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--article"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    claret.command = arguments[0]
    data = os.environ.get("CLARET_CIFAR10")
    if not data:
        print("SKIPPED: CLARET_CIFAR10 does not name a folder with CIFAR-10 (cifar-10-batches-bin)", file=sys.stderr)
        sys.exit(77)
    source = os.path.join(data, "cifar-10-batches-bin")
    source = source if os.path.isdir(source) else data
    expect(os.path.isfile(os.path.join(source, "test_batch.bin")), f"{data}: no cifar-10-batches-bin in it")
    with tempfile.TemporaryDirectory() as scratch:
        if "--article" in sys.argv[1:]:
            article(source, scratch)
        else:
            learns(source, scratch)
            python_layout(source, scratch)


if __name__ == "__main__":
    main()
