"""Data sets from the command line: found, fitted to the network, refused with what to change."""
import os
import shutil
import struct
import zlib

import harness
from harness import have



def idx(dims, data):
    return bytes([0, 0, 8, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims) + data


class Mnist(harness.Case):
    def setUp(self):
        super().setUp()
        for split, count in (("train", 40), ("t10k", 20)):
            self.write(f"data/{split}-images-idx3-ubyte",
                       idx([count, 6, 6], bytes(255 * (j // 4 == i % 9) for i in range(count) for j in range(36))))
            self.write(f"data/{split}-labels-idx1-ubyte", idx([count], bytes(i % 9 for i in range(count))))

    def net(self, size, classes):
        self.write("my.net", f"input {size}\nflatten\nlinear out_features={classes}\n")

    def test_trains(self):
        self.net("1 6 6", 10)
        result = self.run_claret("train", "--model", "my.net", "--epochs", "40", "--lr", "0.1")
        self.assertIn("accuracy: 100.00% (20/20)", result.out)
        self.run_claret("eval", "--model", "my.net", "--weights", "runs/my-001/weights.safetensors", "--data", "data")

    def test_misfits(self):
        self.refused("train", "-o", "run", code=1,
                     says=["images are 1x6x6", "simplecnn takes 3x32x32", "to: input 1 6 6"])
        self.net("1 6 6", 7)
        self.refused("train", "--model", "my.net", "-o", "run", code=1,
                     says=["data has 10 classes", "my gives 7", "out_features to 10"])
        self.refused("train", "--coarse-labels", "-o", "run", code=2, says=["CIFAR-100's", "MNIST"])
        self.assertEqual(self.files("run"), [])


def png(width, height, pixel):
    """RGB; pixel(x, y) gives three bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Folders(harness.Case):
    def setUp(self):
        super().setUp()
        if "PNG" not in have:
            self.skipTest("built without libpng")
        for split, count in (("train", 20), ("test", 5)):
            for c, name in enumerate(("red", "green", "blue")):
                for i in range(count):
                    self.write(f"data/{split}/{name}/{i:02}.png",
                               png(9 + i, 12, lambda x, y: bytes((200 if k == c else 3 * i + x + y) for k in range(3))))
        self.write("my.net", "input 3 8 8\nflatten\nlinear out_features=3\n")

    TRAIN = ("train", "--model", "my.net", "--epochs", "3", "-b", "8", "--log-every", "2")

    def test_trains(self):
        digests = set()
        for workers in ("0", "2", "5"):
            result = self.run_claret(*self.TRAIN, "-j", workers, "-o", "run" + workers)
            self.assertIn("accuracy: 100.00% (15/15)\n  blue: 100.00%\n  green: 100.00%\n  red: 100.00%\n", result.out)
            digests.add(self.weights_line(result.out)[1])
        self.assertEqual(len(digests), 1)
        result = self.run_claret("eval", "--model", "my.net", "--weights", "run0/weights.safetensors", "-b", "64")
        self.assertIn("accuracy: 100.00% (15/15)", result.out)
        result = self.run_claret(*self.TRAIN, "--data", "data/train", "--val-fraction", "0.2", "-o", "held")
        self.assertIn("accuracy: 100.00% (12/12)", result.out)

    def test_misfits(self):
        self.write("four.net", "input 3 8 8\nflatten\nlinear out_features=4\n")
        self.refused(*self.TRAIN, "--model", "four.net", "-o", "run", code=1,
                     says=["data has 3 classes", "four gives 4", "out_features to 3"])
        shutil.rmtree(self.path("data/test"))
        self.refused(*self.TRAIN, "-o", "run", code=1, says=["data has no test images", "--val-fraction"])
        self.assertFalse(os.path.exists(self.path("run")))

    def test_unreadable(self):
        """One that is seen before the start, and one that only its reading shows."""
        with open(self.path("data/train/red/03.png"), "rb") as file:
            good = file.read()
        self.write("data/train/red/03.png", good[:50])
        self.refused(*self.TRAIN, "-o", "run", code=1,
                     says=["1 of 60 image files", "data/train/red/03.png: the file is truncated", "--skip-unreadable"])
        self.assertFalse(os.path.exists(self.path("run")))
        at = good.index(b"IDAT") + 20
        self.write("data/train/red/03.png", good[:at] + b"??" + good[at + 2:])
        for workers in ("0", "3"):
            result = self.run_claret(*self.TRAIN, "-o", "run" + workers, "-j", workers, code=1)
            self.assertRegex(result.err, r"(?m)^claret: \S*data/train/red/03\.png: .*\n.*--skip-unreadable")
            self.assertFalse(os.path.exists(self.path("run" + workers, "weights.safetensors")))
        result = self.run_claret(*self.TRAIN, "--skip-unreadable", "-o", "left")
        self.assertRegex(result.err, r"warning: 1 of 60 image files .*\n  \S*data/train/red/03\.png: .*\nThey were left out")
        self.assertIn("epoch 1 of 3: loss", result.err)
        self.assertIn(" 59 images", result.err)


if __name__ == "__main__":
    harness.main()
