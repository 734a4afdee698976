"""safetensors files: 8 bytes with the header's size, the header in JSON, the data; all little-endian.

What is written is made piece by piece, so that this process stays small: a child's peak memory, as wait4() tells it,
is at least its parent's.
"""
import array
import itertools
import json
import math
import random
import struct
import sys

SIZES = {"F32": 4, "I64": 8}
CODES = {"F32": "f", "I64": "q"}
PIECE = 1 << 16  # values written at once


def little_endian(kind, values):
    data = array.array(CODES[kind], values)
    if sys.byteorder == "big":
        data.byteswap()
    return data


def write(path, tensors):
    """tensors: {name: (kind, shape, iterator over the values)}."""
    header, at = {}, 0
    for name in sorted(tensors):
        kind, shape, _ = tensors[name]
        end = at + SIZES[kind] * math.prod(shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(tensors):
            kind, _, values = tensors[name]
            while piece := little_endian(kind, itertools.islice(values, PIECE)):
                piece.tofile(file)


def read(path):
    """{name: (kind, shape, bytes)}"""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = bytearray(file.read())  # writable: PyTorch warns of anything else
    return {name: (entry["dtype"], entry["shape"], memoryview(data)[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def write_weights(path, parameters, seed):
    draw = random.Random(seed)

    def values(count, centre, bound):
        for _ in range(count):
            yield centre + draw.uniform(-bound, bound) if bound else centre

    write(path, {name: (kind, shape, values(math.prod(shape), centre, bound))
                 for name, kind, shape, centre, bound in sorted(parameters)})


def write_data(path, shape, count, classes, seed):
    """`count` images of noise, normalised bytes as a loader gives them, and random labels."""
    draw = random.Random(seed)
    levels = [(byte / 255 - 0.5) / 0.5 for byte in range(256)]
    total = count * math.prod(shape)
    bytes_of_noise = (draw.randbytes(min(PIECE, total - at)) for at in range(0, total, PIECE))
    images = (levels[byte] for piece in bytes_of_noise for byte in piece)
    labels = (random.Random(seed + 1 + i).randrange(classes) for i in range(count))
    write(path, {"images": ("F32", [count, *shape], images), "labels": ("I64", [count], labels)})
