#!/usr/bin/env python3
"""test_sets.py DATA_DIGEST [-DCLARET_HAVE_NAME]...: data sets on disk, right ones and all that can be wrong.

Needs nothing but Python's own modules: the sets are written here, byte by byte."""
import gzip
import os
import struct
import unittest
import zipfile

import data_case
from data_case import GOLDEN, Case, have

PIXELS = 3072


# ---- CIFAR-100 ----

def pixels(i):
    return bytes((i * 31 + j * 17 + i * j) & 255 for j in range(PIXELS))


PATTERN = [pixels(i) for i in range(50)]
COUNT = 10000


def coarse(i):
    return i % 7 * 2


def fine(i):
    return i * 13 % 100


def binary(spoil=None):
    records = [bytes([coarse(i), fine(i)]) + PATTERN[i % 50] for i in range(COUNT)]
    if spoil:
        spoil(records)
    return b"".join(records)


def pickle_text(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"U" + bytes([len(data)]) + data if len(data) < 256 else b"T" + struct.pack("<i", len(data)) + data


def pickle_list(items):
    return b"](" + b"".join(items) + b"e"


def pickle_dict(**items):
    return b"\x80\x02}(" + b"".join(pickle_text(key) + value for key, value in items.items()) + b"u."


def pickle_array(rows, columns, data):
    """As Python 2's cPickle writes numpy's arrays of bytes."""
    return (b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
            + b"M" + struct.pack("<H", rows) + b"M" + struct.pack("<H", columns) + b"\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNN"
            b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" + pickle_text(data) + b"tb")


def python_file(labels=fine, rows=COUNT):
    return pickle_dict(filenames=pickle_list(pickle_text(f"a_s_{i:06}.png") for i in range(rows)),
                       batch_label=pickle_text("testing batch 1 of 1"),
                       fine_labels=pickle_list(b"K" + bytes([labels(i)]) for i in range(rows)),
                       coarse_labels=pickle_list(b"K" + bytes([coarse(i)]) for i in range(rows)),
                       data=pickle_array(rows, PIXELS, b"".join(PATTERN[i % 50] for i in range(rows))))


class Cifar100(Case):
    NAMES = [f"thing_{i}" for i in range(100)]

    def check(self, answer, labels, names):
        self.assertEqual((answer.count, answer.shape), (COUNT, [3, 32, 32]))
        self.assertEqual(answer.labels, [labels(i) for i in range(COUNT)])
        self.assertEqual(answer.names, names)
        for i in range(0, COUNT, 37):
            self.assertEqual(answer.image(i), PATTERN[i % 50])

    def test_binary(self):
        self.write("d/cifar-100-binary/test.bin", binary())
        numbers = [str(i) for i in range(100)]
        self.check(self.opened("test", data="d"), fine, numbers)
        self.write("d/cifar-100-binary/fine_label_names.txt", "\n".join(self.NAMES).encode() + b"\n")
        self.write("d/cifar-100-binary/coarse_label_names.txt", "\r\n".join(self.NAMES[:20]).encode())
        self.check(self.opened("test", data="d/"), fine, self.NAMES)
        self.check(self.opened("test", data="d/cifar-100-binary", coarse_labels="true"), coarse, self.NAMES[:20])
        # The training split is one file of 50,000.
        path = self.path("d/cifar-100-binary/train.bin")
        with open(path, "wb") as file:
            file.truncate(50000 * 3074)
        answer = self.opened("train", data="d", limit_train="20")
        self.assertEqual((answer.count, answer.labels), (20, [0] * 20))
        os.truncate(path, 49999 * 3074)
        self.refused("train", "train.bin: 153696926 bytes, where 153700000 are expected", "truncated",
                     "Get it again: https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                     "03b5dce01913d631647c71ecec9e9cb8", data="d")
        os.truncate(path, 50001 * 3074)
        self.refused("train", "the file is not CIFAR-100", data="d")

    def test_binary_faults(self):
        def bad_fine(records):
            records[77] = b"\x13\x64" + PATTERN[0]

        def bad_coarse(records):
            records[78] = b"\x14\x00" + PATTERN[0]

        self.write("d/test.bin", binary(bad_fine))
        self.refused("test", "image 77 (from 0) has label 100, where 0 to 99 can be", data="d")
        self.opened("test", data="d", coarse_labels="true")
        self.write("d/test.bin", binary(bad_coarse))
        self.opened("test", data="d")
        self.refused("test", "image 78 (from 0) has label 20, where 0 to 19 can be", data="d", coarse_labels="true")
        self.refused("train", "train.bin", "Get it again", status="NOT_FOUND", data="d")
        self.write("d/fine_label_names.txt", b"\n".join(b"x%d" % i for i in range(99)))
        self.refused("test", "fine_label_names.txt: 100 class names are expected", data="d")

    def test_python(self):
        self.write("d/cifar-100-python/test", python_file())
        self.write("d/cifar-100-python/meta",
                   pickle_dict(fine_label_names=pickle_list(map(pickle_text, self.NAMES)),
                               coarse_label_names=pickle_list(map(pickle_text, self.NAMES[:20]))))
        self.check(self.opened("test", data="d"), fine, self.NAMES)
        self.check(self.opened("test", data="d/cifar-100-python", coarse_labels="true"), coarse, self.NAMES[:20])
        self.refused("train", "cifar-100-python/train", status="NOT_FOUND", data="d")
        self.write("d/cifar-100-python/test", python_file(lambda i: 100 if i == 5 else 0))
        self.refused("test", "image 5 (from 0) has label 100", data="d")
        self.write("d/cifar-100-python/test", python_file(rows=100))
        self.refused("test", '"fine_labels" is not a list of 10000', data="d")
        self.write("d/cifar-100-python/test", pickle_dict(labels=pickle_list([])))
        self.refused("test", '"fine_labels" is not a list', data="d")
        self.write("d/cifar-100-python/meta", pickle_dict(fine_label_names=pickle_list([])))
        self.write("d/cifar-100-python/test", python_file())
        self.refused("test", '"fine_label_names" is not a list of 100', data="d")


# ---- MNIST ----

def idx(dims, data, kind=8):
    return bytes([0, 0, kind, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims) + data


def images_file(count, side=28, first=0):
    return idx([count, side, side], bytes((first + i * 7 + j) & 255 for i in range(count) for j in range(side * side)))


def labels_file(count):
    return idx([count], bytes(i % 10 for i in range(count)))


class Mnist(Case):
    def put(self, folder, suffix="", pack=lambda data: data, dot=False, side=28):
        for split, count in (("train", 30), ("t10k", 20)):
            names = (f"{split}-images-idx3-ubyte", f"{split}-labels-idx1-ubyte")
            for name, data in zip(names, (images_file(count, side, count), labels_file(count))):
                self.write(os.path.join(folder, (name.replace("-idx", ".idx") if dot else name) + suffix), pack(data))

    def check(self, data, names=None, side=28, **options):
        for split, count in (("train", 30), ("test", 20)):
            answer = self.opened(split, data=data, **options)
            self.assertEqual((answer.count, answer.shape), (count, [1, side, side]))
            self.assertEqual(answer.labels, [i % 10 for i in range(count)])
            self.assertEqual(answer.images, images_file(count, side, count)[16:])
            self.assertEqual(answer.names[0], names or "0")

    def test_places(self):
        self.put("a")
        self.check("a")
        self.put("b", dot=True)
        self.check("b")
        self.put("c/MNIST/raw")
        self.check("c")
        self.check("c/MNIST/raw")
        self.put("d/FashionMNIST/raw")
        for data in ("d", "d/FashionMNIST", "d/FashionMNIST/raw", "d/FashionMNIST/raw/"):
            self.check(data, "T-shirt/top")
        self.put("e/fashion-mnist", side=5)
        self.check("e", "T-shirt/top", side=5)
        self.put("e/mnist")
        self.refused("train", "e holds several data sets", "MNIST: --data e/mnist",
                     "Fashion-MNIST: --data e/fashion-mnist", data="e")
        self.check("e/mnist")

    @unittest.skipUnless("ZLIB" in have, "built without zlib")
    def test_gzip(self):
        self.put("a", ".gz", gzip.compress)
        self.check("a")
        self.put("b", "", gzip.compress)  # the bytes count, not the name
        self.check("b")
        # Larger than a chunk of the inflating.
        self.write("c/train-images-idx3-ubyte.gz", gzip.compress(images_file(1500, 40)))
        self.write("c/train-labels-idx1-ubyte", labels_file(1500))
        self.assertEqual(self.opened("train", data="c").images, images_file(1500, 40)[16:])

    @unittest.skipUnless("ZLIB" in have, "built without zlib")
    def test_gzip_faults(self):
        self.put("a", ".gz", gzip.compress)
        name = "a/train-images-idx3-ubyte.gz"
        good = gzip.compress(images_file(30))
        for bad, says in ((good[:-9], "truncated"), (good[:40], "truncated"), (good[:2], "truncated"),
                          (good[:-8] + bytes(8), "damaged"), (good[:30] + bytes(300), "damaged"),
                          (good[:2] + bytes(100), "damaged"), (b"", "not an IDX file")):
            self.write(name, bad)
            self.refused("train", "train-images-idx3-ubyte.gz: ", says, data="a")

    @unittest.skipIf("ZLIB" in have, "built with zlib")
    def test_without_zlib(self):
        self.put("a", ".gz", gzip.compress)
        self.refused("train", "built without zlib", data="a")

    def test_faults(self):
        self.put("a")
        images, labels = "a/train-images-idx3-ubyte", "a/train-labels-idx1-ubyte"
        good = images_file(30)
        for bad, says in ((b"", "not an IDX file"), (good[:15], "not an IDX file"), (b"\1" + good[1:], "not an IDX file"),
                          (idx([30, 28, 28], b"", 13), "type 0x0d"), (idx([30], bytes(30)), "1 dimensions, where 3"),
                          (idx([30, 784], bytes(30 * 784)), "2 dimensions, where 3"),
                          (good[:-1], "23519 bytes of elements, where its header says 23520: the file is truncated"),
                          (good + b"\0", "too long"), (idx([0, 28, 28], b""), "dimension 0 is 0"),
                          (idx([1, 1 << 31, 28], b"1"), "dimension 1 is 2147483648"),
                          (idx([1 << 31, 4096, 4096], b"1"), "truncated")):
            self.write(images, bad)
            self.refused("train", images, says, data="a")
        self.write(images, good)
        for bad, says in ((labels_file(29), "30 images"), (idx([30], bytes(29) + b"\x0a"), "image 29 (from 0) has label 10"),
                          (good, "3 dimensions, where 1"), (labels_file(30)[:-1], "truncated")):
            self.write(labels, bad)
            self.refused("train", labels, says, data="a")
        os.remove(self.path(labels))
        self.refused("train", labels, "No such file", status="NOT_FOUND", data="a")
        os.remove(self.path(images))  # the other split is still there: it is this set, and not whole
        self.refused("train", images, status="NOT_FOUND", data="a")
        self.opened("test", data="a")


# ---- numpy's arrays ----

def npy(dtype, shape, data, version=1, order="False", pad=True):
    text = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape!r}, }}"
    text += (" " * (-(11 + len(text)) % 64) if pad else "") + "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + data


def u8(*shape, first=0):
    count = 1
    for size in shape:
        count *= size
    return npy("|u1", shape, bytes((first + i * 7 + i // 50) & 255 for i in range(count)))


def labels(values, dtype="<i8", code="q", column=False):
    return npy(dtype, (len(values), 1) if column else (len(values),), struct.pack(f"{'<'}{len(values)}{code}", *values))


class Arrays(Case):
    Y = {"train": [0, 2, 1, 2], "test": [1, 3]}

    def put(self, folder="a", **files):
        for name, data in files.items():
            self.write(f"{folder}/{name}.npy", data)

    def whole(self, x, y=labels):
        return {"x_train": x(4), "y_train": y(self.Y["train"]), "x_test": x(2), "y_test": y(self.Y["test"])}

    def check(self, data, shape, images, **options):
        for split in ("train", "test"):
            answer = self.opened(split, data=data, **options)
            self.assertEqual((answer.labels, answer.shape), (self.Y[split], shape))
            self.assertEqual(answer.names, ["0", "1", "2", "3"])  # class 3 is in the other split alone
            self.assertEqual(answer.images, images(len(self.Y[split])))

    @staticmethod
    def body(data):
        return data[10 + struct.unpack("<H", data[8:10])[0]:]

    def test_layouts(self):
        self.put("first", **self.whole(lambda n: u8(n, 3, 6, 5)))
        self.check("first", [3, 6, 5], lambda n: self.body(u8(n, 3, 6, 5)))
        self.put("plain", **self.whole(lambda n: u8(n, 6, 5)))
        self.check("plain", [1, 6, 5], lambda n: self.body(u8(n, 6, 5)))
        self.put("last", **self.whole(lambda n: u8(n, 6, 5, 3)))

        def planes(n):
            data = self.body(u8(n, 6, 5, 3))
            return b"".join(data[i * 90 + c:(i + 1) * 90:3] for i in range(n) for c in range(3))

        self.check("last", [3, 6, 5], planes)

    def test_floats(self):
        def x(n):
            return npy("<f4", (n, 6, 5, 2), struct.pack(f"<{n * 60}f", *(i / 7 for i in range(n * 60))))

        self.put("a", **self.whole(x))

        def planes(n):
            return struct.pack(f"<{n * 60}f", *(((i * 30 + p) * 2 + c) / 7
                                                for i in range(n) for c in range(2) for p in range(30)))

        self.check("a", [2, 6, 5], planes)
        self.put("b", **self.whole(lambda n: npy("<f4", (n, 7, 6, 5), bytes(n * 840))))
        self.check("b", [7, 6, 5], lambda n: bytes(n * 840))

    def test_labels(self):
        for dtype, code in (("|u1", "B"), ("|i1", "b"), ("<i2", "h"), ("<u2", "H"), ("<i4", "i"), ("<u4", "I"),
                            ("<i8", "q"), ("<u8", "Q"), ("=i4", "i")):
            self.put("a", **self.whole(lambda n: u8(n, 6, 5), lambda y: labels(y, dtype, code, code in "BqI")))
            self.check("a", [1, 6, 5], lambda n: self.body(u8(n, 6, 5)))

    def test_headers(self):
        files = self.whole(lambda n: u8(n, 6, 5))
        for version in (2, 3):
            files["x_train"] = npy("|u1", (4, 6, 5), self.body(u8(4, 6, 5)), version)
            self.put("a", **files)
            self.check("a", [1, 6, 5], lambda n: self.body(u8(n, 6, 5)))
        files["x_train"] = npy("|u1", (4, 6, 5), self.body(u8(4, 6, 5)), pad=False)
        self.put("a", **files)
        self.check("a", [1, 6, 5], lambda n: self.body(u8(n, 6, 5)))

    def test_faults(self):
        files = self.whole(lambda n: u8(n, 6, 5))
        good = u8(4, 6, 5)
        bad = [(b"", "not a .npy"), (b"\x93NUMPX" + bytes(90), "not a .npy"), (good[:5], "not a .npy"),
               (b"\x93NUMPY\4" + good[7:], "version 4"), (good[:40], "truncated"), (good[:-1], "119 bytes"),
               (good + b"0", "too long"), (npy("<f8", (4, 6, 5), bytes(960)), "float64 (4, 6, 5), where uint8"),
               (npy("|b1", (4, 6, 5), bytes(120)), "bool (4, 6, 5), where"),
               (npy(">f4", (4, 6, 5), bytes(480)), "other order"), (npy("|O", (4, 6, 5), b""), "element type"),
               (npy("<U7", (4, 6, 5), b""), "element type"), (npy("<f99", (4, 6, 5), b""), "element type"),
               (npy("|u1", (4, 6, 5), bytes(120), order="True"), "Fortran's order"),
               (npy("|u1", (4, 6, 5), bytes(120), order="Maybe"), "not numpy's"),
               (npy("|u1", (4, -6, 5), bytes(120)), "not numpy's"), (npy("|u1", [4, 6, 5], bytes(120)), "not numpy's"),
               (npy("|u1", (1,) * 9, b"1"), "not numpy's"), (npy("|u1", (10**30, 1, 1), b"1"), "not numpy's"),
               (npy("|u1", (10**9, 10**9, 10**9), b"1"), "more elements"),
               (u8(4, 30), "uint8 (4, 30), where (N, C, H, W)"), (u8(4), "uint8 (4,), where"),
               (u8(4, 1, 1, 5, 6), "where (N, C, H, W)"), (u8(4, 5, 6, 7), "at most 4 channels"),
               (npy("|u1", (4, 0, 5), b""), "no images"), (npy("|u1", (0, 6, 5), b""), "0 images, but"),
               (u8(5, 6, 5), "5 images, but a/y_train.npy has 4 labels"),
               (good[:10] + b"\0" * 20 + good[30:], "not numpy's"),
               (npy("|u1', 'x': 3, 'y': '", (4, 6, 5), bytes(120)), "not numpy's")]
        for data, says in bad:
            files["x_train"] = data
            self.put(**files)
            self.refused("train", "a/x_train.npy", says, data="a")

    def test_bad_labels(self):
        files = self.whole(lambda n: u8(n, 6, 5))
        for data, says in ((labels([0, -1, 2, 3]), "image 1 (from 0) has label -1"),
                           (labels([0, 1, 2, 1 << 20]), "has label 1048576"),
                           (labels([0, 1, 2, (1 << 64) - 1], "<u8", "Q"), "label 9223372036854775807"),
                           (npy("<f4", (4,), bytes(16)), "float32 (4,), where whole numbers"),
                           (npy("|u1", (4, 10), bytes(40)), "y.argmax(1)"), (labels([1, 2, 3]), "4 images, but"),
                           (npy("|u1", (), b"1"), "where (N,)")):
            files["y_train"] = data
            self.put(**files)
            self.refused("train", "a/y_train.npy", says, data="a")
        files = self.whole(lambda n: u8(n, 6, 5))
        files["y_test"] = labels([7, -2])
        self.put(**files)
        self.refused("train", "a/y_test.npy: image 1 (from 0) has label -2", data="a")

    def test_labels_from_1(self):
        files = self.whole(lambda n: u8(n, 6, 5))
        files.update(y_train=labels([1, 3, 2, 1]), y_test=labels([3, 2]))
        self.put(**files)
        says = "a: the labels are 1 to 3, but begin at 0: these are 4 classes, one of them without images."
        self.assertIn(says, self.opened("train", data="a").said)
        files["y_test"] = labels([3, 0])  # in either split
        self.put(**files)
        self.assertNotIn("begin at 0", self.opened("train", data="a").said)

    def test_missing(self):
        self.put(x_train=u8(4, 6, 5))
        self.refused("train", "a has no y_train", status="NOT_FOUND", data="a")
        self.put(y_train=labels([0, 1, 0, 1]))
        self.assertEqual(self.opened("train", data="a").count, 4)
        self.refused("test", "a has no x_test", "--val-fraction 0.1", status="NOT_FOUND", data="a")
        self.opened("test", data="a", val_fraction="0.5")

    def npz(self, path, files, compressed=True):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
        with zipfile.ZipFile(self.path(path), "w", kind) as archive:
            for name, data in files.items():
                with archive.open(name + ".npy", "w", force_zip64=True) as file:  # as numpy does
                    file.write(data)

    @unittest.skipUnless("LIBARCHIVE" in have, "built without libarchive")
    def test_npz(self):
        files = self.whole(lambda n: u8(n, 6, 5))
        images = lambda n: self.body(u8(n, 6, 5))
        self.npz("a/set.npz", {**files, "other": labels([1])})
        self.check("a/set.npz", [1, 6, 5], images)
        self.check("a", [1, 6, 5], images)  # the only one there
        self.npz("a/more.npz", files, False)
        self.check("a/more.npz", [1, 6, 5], images)
        self.refused("train", "no data set in a\n", status="NOT_FOUND", data="a")
        # and one that numpy itself wrote
        self.check(os.path.join(GOLDEN, "arrays.npz"), [3, 6, 5], lambda n: bytes((i * 7 + n) & 255 for i in range(n * 90)))

    @unittest.skipUnless("LIBARCHIVE" in have, "built without libarchive")
    def test_npz_faults(self):
        files = self.whole(lambda n: u8(n, 60, 50))
        self.npz("a/set.npz", files, False)
        with open(self.path("a/set.npz"), "rb") as file:
            good = file.read()
        at = good.index(self.body(files["x_train"]))
        for bad in (b"", b"PK", b"no zip at all, but some text" * 9, good[:300], good[:len(good) // 2],
                    good[:at + 5000] + b"?" + good[at + 5001:]):
            self.write("a/set.npz", bad)
            self.refused("train", "a/set.npz: ", data="a/set.npz")
        del files["y_train"]
        self.npz("a/set.npz", files)
        self.refused("train", "a/set.npz has no y_train", "It holds x_train.npy, x_test.npy, y_test.npy",
                     status="NOT_FOUND", data="a/set.npz")
        self.refused("train", "no data set in a/none.npz: there is no such", status="NOT_FOUND", data="a/none.npz")
        os.mkdir(self.path("folder.npz"))
        self.refused("train", "no data set in folder.npz\n", status="NOT_FOUND", data="folder.npz")

    @unittest.skipIf("LIBARCHIVE" in have, "built with libarchive")
    def test_without_libarchive(self):
        self.npz("a/set.npz", self.whole(lambda n: u8(n, 6, 5)))
        self.refused("train", "built without libarchive", data="a/set.npz")


class HoldOut(Case):
    """--val-fraction: each class by itself, nothing in both parts, nothing lost, the order kept."""

    def test_stratified(self):
        counts = {0: 40, 1: 10, 2: 3, 3: 2}
        y = [c for c, count in counts.items() for _ in range(count)]
        y = [y[i * 34 % len(y)] for i in range(len(y))]  # mixed; 55 and 34 have no common divisor
        self.write("a/x_train.npy", npy("|u1", (55, 1, 1), bytes(range(55))))
        self.write("a/y_train.npy", labels(y))
        rest, held = (self.opened(split, data="a", val_fraction="0.25") for split in ("train", "test"))
        self.assertEqual(sorted(rest.images + held.images), list(range(55)))
        for part in (rest, held):
            self.assertEqual(list(part.images), sorted(part.images))
            self.assertEqual(part.labels, [y[i] for i in part.images])
        self.assertEqual([held.labels.count(c) for c in range(4)], [10, 3, 1, 1])
        self.assertEqual(self.opened("test", data="a", val_fraction="0.25", seed="9").images, held.images)
        # Another share holds out more of the same ones.
        self.assertTrue(set(held.images) < set(self.opened("test", data="a", val_fraction="0.5").images))
        self.assertEqual(self.opened("train", data="a", val_fraction="0.99").count, 4)
        self.assertEqual(self.opened("train", data="a", val_fraction="0.25", limit_train="7").images, rest.images[:7])

    def test_other_sets(self):
        rest, held = (self.opened(split, data="shapes", val_fraction="0.1") for split in ("train", "test"))
        self.assertEqual((rest.count, held.count), (9000, 1000))
        self.assertEqual([held.labels.count(c) for c in range(10)], [100] * 10)

    def test_refused(self):
        self.write("a/x_train.npy", u8(3, 6, 5))
        self.write("a/y_train.npy", labels([0, 0, 1]))
        self.refused("train", "class 1 has one image", status="INVALID", data="a", val_fraction="0.5")
        for value in ("1", "-0.1", "nan", "half"):
            self.refused("train", "val-fraction", status="INVALID", data="a", val_fraction=value)


# ---- which kind ----

class Which(Case):
    def test_nothing(self):
        self.refused("train", "no data set in d: there is no such folder", "CIFAR-100: train.bin", "MNIST: train-images",
                     "--data shapes", status="NOT_FOUND", data="d")
        os.mkdir(self.path("d"))
        self.refused("train", "no data set in d\n", status="NOT_FOUND", data="d")
        self.write("d/cifar-100-python.tar.gz", b"")
        self.refused("train", "not unpacked: tar -xzf d/cifar-100-python.tar.gz -C d", status="NOT_FOUND", data="d")

    def test_several(self):
        self.write("d/cifar-10-batches-bin/test_batch.bin", b"")
        self.write("d/cifar-100-binary/test.bin", b"")
        self.refused("test", "several", "CIFAR-10: --data d/cifar-10-batches-bin", "CIFAR-100: --data d/cifar-100-binary",
                     data="d")

    def test_coarse_labels_of_others(self):
        self.write("d/test_batch.bin", b"")
        self.refused("test", "--coarse-labels are CIFAR-100's; in d is CIFAR-10", status="INVALID", data="d",
                     coarse_labels="true")
        self.refused("test", "CIFAR-100's", status="INVALID", data="shapes", coarse_labels="true")


if __name__ == "__main__":
    data_case.main()
