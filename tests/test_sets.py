#!/usr/bin/env python3
"""test_sets.py DATA_DIGEST [-DCLARET_HAVE_NAME]...: data sets on disk, right ones and all that can be wrong.

DATA_DIGEST is the built tests/data_digest; the further arguments say which optional libraries it has. Needs nothing
but Python's own modules: the sets are written here, byte by byte."""
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

digest = None
have = {word.rpartition("HAVE_")[2] for word in sys.argv if word.startswith("-DCLARET_HAVE_")}
PIXELS = 3072


class Answer:
    """What data_digest said of a split: its JSON's members, and the images' bytes."""

    def __init__(self, text, images):
        self.__dict__.update(json.loads(text))
        self.images = images

    def image(self, i):
        size = len(self.images) // self.count
        return self.images[i * size:(i + 1) * size]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="claret-sets-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, data):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data)

    def run_digest(self, split, options, size="3x32x32"):
        words = [f"{key.replace('_', '-')}={value}" for key, value in options.items()]
        return subprocess.run([digest, split, size, self.path("images.bin"), *words], capture_output=True, text=True,
                              cwd=self.folder, errors="replace")

    def opened(self, split, size="3x32x32", **options):
        """The split's Answer; what was said on the way is in its member `said`."""
        done = self.run_digest(split, options, size)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("images.bin"), "rb") as file:
            answer = Answer(done.stdout, file.read())
        answer.said = done.stderr
        return answer

    def refused(self, split, *says, status="FORMAT", size="3x32x32", **options):
        done = self.run_digest(split, options, size)
        self.assertNotEqual(done.returncode, 0, done.stdout[:200])
        self.assertNotEqual(done.returncode, 99, done.stderr)
        self.assertTrue(done.stderr.splitlines()[-1:], "nothing was said")
        self.assertIn(f"CLARET_{status}: ", done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertNotIn(self.folder + "//", done.stderr)


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
        self.refused("test", "coarse labels are CIFAR-100's; in d is CIFAR-10", status="INVALID", data="d",
                     coarse_labels="true")
        self.refused("test", "CIFAR-100's", status="INVALID", data="shapes", coarse_labels="true")


def main():
    global digest
    digest = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + [word for word in sys.argv[2:] if "CLARET_HAVE_" not in word], verbosity=2)


if __name__ == "__main__":
    main()
