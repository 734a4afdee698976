"""Data sets from the command line: found, fitted to the network, refused with what to change."""
import csv
import math
import os
import re
import shlex
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

    def test_built_in(self):
        """Changed in a copy, as the messages say."""
        copy = r"\nIt is built in\. For a copy to change: claret show lenet5 --text > my.net; then train with --model ./my.net$"
        words = ("train", "--model", "lenet5", "--epochs", "1", "-o")
        self.refused(*words, "run", code=1, says=["to: input 1 6 6", copy])
        for split, count in (("train", 40), ("t10k", 20)):
            self.write(f"data/{split}-images-idx3-ubyte", idx([count, 28, 28], bytes(count * 28 * 28)))
            self.write(f"data/{split}-labels-idx1-ubyte", idx([count], bytes(i % 10 for i in range(count))))
        self.run_claret(*words, "fits")
        text = self.run_claret("show", "lenet5", "--text").out
        self.write("my.net", text.replace("out_features=10\n", "out_features=7\n"))
        err = self.refused("train", "--model", "./my.net", "-o", "run", code=1, says="out_features to 10").err
        self.assertNotIn("built in", err)
        for i in range(7):
            for split in ("train", "test"):
                self.write(f"seven/{split}/{i}/a.png", png(28, 28, lambda x, y: b"abc"))
        if "PNG" in have:
            self.refused(*words, "run", "--data", "seven", code=1, says=["7 classes", "out_features to 7", copy])
            self.run_claret("train", "--model", "./my.net", "--data", "seven", "--epochs", "1", "-o", "run")

    def test_files(self):
        """Where a folder is wanted: what to give instead, and nothing that cannot be done."""
        os.rename(self.path("data"), self.path("my data"))
        self.write("my data/notes.csv", "1,2\n")
        self.write("alone/data_batch_1.bin.tar.gz", "")
        for name in ("train-images-idx3-ubyte", "notes.csv"):
            err = self.refused("train", "--data", f"my data/{name}", "-o", "run", code=1,
                               says=rf"no data set in my data/{name}: it is a file; the folder .* MNIST: --data 'my data'$").err
            self.assertNotIn("mkdir", err)
        self.refused("train", "--data", "train-images-idx3-ubyte", "-o", "run", code=1, cwd=self.path("my data"),
                     says=r"MNIST: --data \.$")
        err = self.refused("train", "--data", "alone/data_batch_1.bin.tar.gz", "-o", "run", code=1,
                           says=["it is a file, where a folder .* is wanted .*; unpack it", "MNIST: train-images"]).err
        self.assertNotIn("fetch", err)
        self.assertFalse(os.path.exists(self.path("run")))

    def test_quotes(self):
        """Commands to copy are right for a shell."""
        folder = "mum's $HOME; data"
        quoted = shlex.quote(folder).replace("'\"'\"'", r"'\''")
        for name in (folder, f"./{folder}/"):
            err = self.refused("train", "--data", name, "-o", "run", code=1, says="no such folder").err
            commands = [re.search(pattern, err).group(1) for pattern in (r"(claret fetch .*)", r"(mkdir .*)")]
            self.assertEqual(shlex.split(commands[0]), ["claret", "fetch", "cifar10", "--out", name])
            self.assertEqual(shlex.split(commands[1]), ["mkdir", "-p", name, "&&", "tar", "-xzf", "cifar-10-binary.tar.gz", "-C", name])
        self.write(f"{folder}/cifar-10-binary.tar.gz", "")
        self.refused("train", "--data", folder, code=1,
                     says=re.escape(f"tar -xzf {quoted[:-1]}/cifar-10-binary.tar.gz' -C {quoted}\n"))
        for place in ("mnist", "fashion-mnist"):
            shutil.copytree(self.path("data"), self.path(folder, place))
        self.refused("train", "--data", folder, code=1, says=re.escape(f"MNIST: --data {quoted[:-1]}/mnist'"))

    def test_skip_unreadable(self):
        """Of no effect here; a file holds all options. Told before anything is read, and before the run that is there."""
        self.net("1 6 6", 10)
        self.write("own.ini", "[train]\nskip-unreadable = true\n")
        self.run_claret("train", "--config", "own.ini", "--model", "my.net", "--epochs", "1", "-o", "run")
        self.write("data/train-images-idx3-ubyte", b"no more")
        for command in (("train", "--model", "my.net", "-o", "run"), ("train", "--model", "my.net", "--preview-augment", "x.png"),
                        ("eval", "--model", "my.net", "--weights", "run/weights.safetensors")):
            self.refused(*command, "--skip-unreadable", code=2,
                         says=r"^claret: --skip-unreadable has no effect on MNIST, which is in \./data: it is for image folders$")
        self.refused("train", "--data", "nowhere", "--skip-unreadable", code=1, says="no data set in nowhere")


def png(width, height, pixel):
    """RGB; pixel(x, y) gives three bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class FolderCase(harness.Case):
    """Three classes of pictures in data/, and a network for them."""

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


class Folders(FolderCase):
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

    def test_class_names_that_are_no_utf8(self):
        for split in (b"train", b"test"):
            os.rename(os.path.join(self.folder.encode(), b"data", split, b"blue"),
                      os.path.join(self.folder.encode(), b"data", split, b"bl\xfce"))
        answer = self.json(self.run_claret(*self.TRAIN, "--json"))
        self.assertEqual(sorted(answer["class_accuracy"]), ["0", "green", "red"])

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

    def test_other_endings(self):
        """What ImageFolder would take and claret does not read is not lost without a word, -q or not."""
        for name in ("red/1.webp", "red/2.WEBP", "green/3.bmp", "green/a.tiff", "blue/Thumbs.db", "blue/README"):
            self.write("data/train/" + name, b"")
        said = ("data/train: 6 files are left out, as only .png, .jpg and .jpeg are read: 1 .db, 1 .bmp, 1 .tiff, 2 .webp, "
                "1 with others or none (such as data/train/blue/README)")
        result = self.run_claret(*self.TRAIN, "-q", "-o", "quiet")
        self.assertEqual(result.err, f"claret: warning: ./{said}\n".replace("data/train/blue", "./data/train/blue"))
        for name in ("red/1.webp", "red/2.WEBP", "green/3.bmp", "green/a.tiff"):
            os.remove(self.path("data/train", name))
        self.assertEqual(self.run_claret(*self.TRAIN, "-q", "-o", "none").err, "")
        self.assertIn("\n./data/train: 2 files are left out", "\n" + self.run_claret(*self.TRAIN, "-o", "told").err)
        for i in range(40):
            self.write(f"data/train/red/{i}.x{i}", b"")
        self.assertRegex(self.run_claret(*self.TRAIN, "-o", "many").err,
                         r"train: 42 files .*: 1 \.db, 1 \.x0, .*1 \.x\d+, 26 with others")
        for i in range(20):
            os.rename(self.path(f"data/train/red/{i:02}.png"), self.path(f"data/train/red/{i:02}.webp"))
        self.refused(*self.TRAIN, "-o", "empty", code=1,
                     says=[r"20 \.webp", r"train/red: a class folder without images \(\.png, \.jpg, \.jpeg\)"])

    def test_normalisation(self):
        for words, says in ((("--mean", "0.5,0.5"), "has 2 numbers, the data have 3 channels"), (("--mean", "x"), "mean: 'x'"),
                            (("--std", "0"), "std above 0"), (("--std", "0.5,0.5,-1"), "std above 0"), (("--mean="), "mean: ''"),
                            (("--mean", "1,2,3,4,5"), "mean: '1,2,3,4,5'"), (("--mean", "nan"), "mean: 'nan'"),
                            (("--std", "1,"), "std: '1,'"), (("--normalize", "yes"), "'yes' is not auto"),
                            (("--normalize", "auto", "--std", "1"), "does not go with")):
            words = words if isinstance(words, tuple) else (words,)
            self.refused(*self.TRAIN, *words, "-o", "run", code=2, says=says)
        for words in (("--mean", "125"), ("--std", "0.2,0.2,58"), ("--mean", "-3,0.5,0.5")):
            result = self.run_claret(*self.TRAIN, *words, "-o", "far", "--overwrite")
            self.assertEqual(re.findall("(?m)^claret: warning: (--.*) 0 to 1 .* divided by 255$", result.err),
                             [" ".join(words) + ": pixels are"])
        self.assertNotIn("divided", self.run_claret(*self.TRAIN, "--mean", "0,0,1", "--std", "1", "-o", "near").err)
        result = self.run_claret(*self.TRAIN, "--normalize", "auto", "-o", "auto")
        mean, std = re.search(r"normalised by --mean (\S+) --std (\S+)", result.err).groups()
        with open(self.path("auto/config.ini"), encoding="ascii") as file:
            config = file.read()
        self.assertIn(f"\nmean = {mean}\nstd = {std}\n", config)
        given = self.run_claret(*self.TRAIN, "--mean", mean, "--std", std, "-o", "given")
        self.assertEqual(self.weights_line(given.out)[1], self.weights_line(result.out)[1])
        plain = self.run_claret(*self.TRAIN, "--mean", "0.5,0.5,0.5", "-o", "plain")
        self.assertNotEqual(self.weights_line(plain.out)[1], self.weights_line(result.out)[1])
        self.assertEqual(self.weights_line(plain.out)[1], self.weights_line(self.run_claret(*self.TRAIN, "-o", "r").out)[1])
        # The numbers themselves, of images whose pixels are known: half of them 0, half of them 255.
        for c in "ab":
            for i in range(2):
                self.write(f"half/train/{c}/{i}.png", png(8, 8, lambda x, y: b"\0\xff\xff" if x < 4 else b"\xff\xff\xff"))
                self.write(f"half/test/{c}/{i}.png", png(8, 8, lambda x, y: b"\0\0\0"))
        self.write("two.net", "input 3 8 8\nflatten\nlinear out_features=2\n")
        result = self.run_claret("train", "--model", "two.net", "--data", "half", "--normalize", "auto", "-b", "2", code=2)
        self.assertIn("channel 1 has mean 1 and std 0", result.err)


class Augmented(FolderCase):
    ALL = ("--random-resized-crop", "0.3", "--random-crop", "2", "--padding-mode", "reflect", "--random-horizontal-flip", "0.5",
           "--random-rotation", "15", "--color-jitter", "0.2,0.2,0.2,0.05", "--random-erasing", "0.3")

    def test_same_bits_whatever_the_workers(self):
        """Of images in files and of those in memory."""
        for data, words in (("data", ("--model", "my.net")), ("shapes", ("--limit-train", "200", "--limit-test", "50"))):
            digests = [self.weights_line(self.run_claret("train", "--data", data, *words, "-b", "8", "--epochs", "2", "-j", workers,
                                                         "-o", data + workers, *more).out)[1]
                       for workers, more in (("0", self.ALL), ("5", self.ALL), ("1", self.ALL[:-2]))]
            self.assertEqual(digests[0], digests[1])
            self.assertNotEqual(digests[0], digests[2])

    def test_refused(self):
        for words, says in ((("--random-crop", "-1"), "--random-crop: '-1'"), (("--padding-mode", "edge"), "'edge' is neither"),
                            (("--random-horizontal-flip", "1.5"), "from 0 to 1"), (("--color-jitter", "1,2,3,0,5"), "more than"),
                            (("--color-jitter", "0,0,0,0.6"), "hue '0.6' is not a number from 0 to 0.5"),
                            (("--color-jitter", "x"), "brightness 'x'"), (("--color-jitter", "1,,2"), "contrast ''"),
                            (("--color-jitter", "-1"), "brightness '-1'"), (("--random-rotation", "181"), "from 0 to 180"),
                            (("--random-crop", "8", "--padding-mode", "reflect"), "cannot be reflected in images of 8x8"),
                            (("--random-erasing", "nan"), "from 0 to 1"), (("--random-resized-crop", "2"), "from 0 to 1")):
            self.refused(*self.TRAIN, *words, "-o", "run", code=2, says=says)
        self.assertFalse(os.path.exists(self.path("run")))

    def test_preview(self):
        result = self.run_claret(*self.TRAIN, *self.ALL, "--preview-augment", "sheet.png")
        self.assertEqual(result.out, "")
        with open(self.path("sheet.png"), "rb") as file:
            head = file.read(24)
        # eight rows of the image and eight epochs, each pixel of 8x8 shown eight times
        self.assertEqual(struct.unpack(">II", head[16:]), (9 * 66 + 2, 8 * 66 + 2))
        self.assertFalse(os.path.exists(self.path("runs")))
        self.refused(*self.TRAIN, "--preview-augment", "nowhere/sheet.png", code=1, says="nowhere/sheet.png: cannot be written")
        self.refused(*self.TRAIN, "--preview-augment", "", code=2, says="needs")
        self.refused(*self.TRAIN, "--preview-augment", "s.png", "--color-jitter", "x", code=2, says="brightness")


class Predict(FolderCase):
    def setUp(self):
        super().setUp()
        self.run_claret(*self.TRAIN, "-o", "run")
        self.words = ("predict", "--model", "my.net", "--weights", "run/weights.safetensors")
        self.images = [f"data/test/{name}/0{i}.png" for i in range(3) for name in ("red", "green", "blue")]

    def test_lines(self):
        result = self.run_claret(*self.words, *self.images, "--classes", "data")
        lines = result.out.splitlines()
        self.assertEqual(len(lines), 9)
        for path, line in zip(self.images, lines):
            name = path.split("/")[2]
            self.assertRegex(line, rf"\A{path}: {name} \d+\.\d\d%, \w+ \d+\.\d\d%, \w+ \d+\.\d\d%\Z")
            self.assertAlmostEqual(sum(map(float, re.findall(r"([\d.]+)%", line))), 100, delta=0.1)
        # In other batches, from a list, with names from a file: the same.
        self.write("names.txt", "blue\ngreen\nred\n")
        with open(self.write("list.txt", "\n".join(self.images[1:]) + "\n\n"), encoding="ascii") as listed:
            again = self.run_claret(*self.words, self.images[0], "-", "-b", "1", "--classes", "names.txt", stdin=listed)
        self.assertEqual(again.out, result.out)
        many = self.run_claret(*self.words, *self.images[:1] * 300, "-b", "290", "--classes", "data").out.splitlines()
        self.assertEqual(many, lines[:1] * 300)
        # By itself, the names are the training's.
        self.assertEqual(self.run_claret(*self.words, *self.images).out, result.out)

    def test_names(self):
        """config.ini and checkpoints have them; where nothing has, or they are not so many, there are numbers."""
        words = ("predict", self.images[0], "--top", "1", "--model", "my.net", "--weights")
        with open(self.path("run/config.ini"), encoding="utf-8") as file:
            self.assertIn("\nclass-names = blue\tgreen\tred\n", file.read())
        self.run_claret(*self.TRAIN, "--val-every", "1", "-o", "kept")
        for name in ("weights", "best"):
            shutil.copy(self.path(f"kept/{name}.safetensors"), self.path(f"{name}.safetensors"))
            self.assertRegex(self.run_claret(*words, f"kept/{name}.safetensors").out, r"png: red \d+\.\d\d%\n\Z")
        self.assertRegex(self.run_claret(*words, "best.safetensors").out, r"png: red \d")
        self.assertRegex(self.run_claret(*words, "weights.safetensors").out, r"png: 2 \d")
        # A later training's names are its own, whatever --config has.
        self.write("shapes.net", "input 3 32 32\nflatten\nlinear out_features=10\n")
        self.run_claret("train", "--config", "run/config.ini", "--data", "shapes", "--model", "shapes.net", "--max-steps", "1",
                        "--limit-test", "10", "-o", "other")
        with open(self.path("other/config.ini"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\nclass-names =( \w[^\t\n]*(\t[^\t\n]+){9})?\n")
        # Other classes than in training are told of, in a test.
        test = ("eval", "--model", "my.net", "--weights", "run/weights.safetensors")
        self.assertNotIn("same classes", self.run_claret(*test).err)
        for split in ("train", "test"):
            os.rename(self.path("data", split, "blue"), self.path("data", split, "sea"))
        self.assertIn("class 0 is green in these data, and was blue in training: are they the same classes?",
                      self.run_claret(*test).err)
        with open(self.path("run/config.ini"), encoding="utf-8") as file:
            text = file.read()
        self.write("run/config.ini", text.replace("blue\t", ""))
        self.assertRegex(self.run_claret(*words, "run/weights.safetensors").out, r"png: 2 \d")

    def test_csv_and_json(self):
        shutil.copy(self.path(self.images[0]), self.path('an "odd", name.png'))
        result = self.run_claret(*self.words, 'an "odd", name.png', self.images[1], "--csv", "--top", "2", "--classes", "data")
        rows = list(csv.reader(result.out.splitlines()))
        self.assertEqual(rows[0], ["file", "rank", "label", "class", "probability"])
        self.assertEqual([row[:4] for row in rows[1::2]], [['an "odd", name.png', "1", "2", "red"],
                                                          [self.images[1], "1", "1", "green"]])
        answer = self.json(self.run_claret(*self.words, *self.images[:2], "--json", "--top", "2", "--classes", "data"))
        self.assertEqual(list(answer), ["images", "weights", "device"])
        for image, expected in zip(answer["images"], rows[1::2]):
            first = image["classes"][0]
            self.assertEqual((str(first["label"]), first["name"]), tuple(expected[2:4]))
            self.assertAlmostEqual(first["probability"], float(expected[4]), places=5)
            self.assertEqual(len(image["classes"]), 2)

    def first(self, *words):
        """By label, without the name: that a file lies by itself changes it."""
        return {row["label"]: {key: row[key] for key in row if key != "name"} for row in self.json(self.run_claret(*words, "--json"))["images"][0]["classes"]}

    def test_by_the_loss(self):
        """Softmax, sigmoid or the outputs themselves, by what the run's files or --loss say."""
        image = self.images[0]
        self.run_claret(*self.TRAIN, "--loss", "bce", "--val-every", "1", "-o", "bce")
        words = ("predict", image, "--model", "my.net", "--weights", "bce/weights.safetensors")
        scores = {label: row["score"] for label, row in self.first(*words, "--loss", "mse").items()}
        self.assertEqual(list(scores.values()), sorted(scores.values(), reverse=True))
        for label, row in self.first(*words).items():
            self.assertAlmostEqual(row["probability"], 1 / (1 + math.exp(-scores[label])), places=6)
        total = sum(math.exp(score) for score in scores.values())
        soft = self.first(*words, "--loss", "cross_entropy")
        for label, row in soft.items():
            self.assertAlmostEqual(row["probability"], math.exp(scores[label]) / total, places=6)
        self.assertIn("trained with --loss bce, as bce/config.ini says", self.run_claret(*words).err)
        # A file by itself: weights say nothing, a checkpoint does. Elsewhere a config.ini may be anybody's.
        os.mkdir(self.path("alone"))
        for name in ("weights", "best"):
            shutil.copy(self.path(f"bce/{name}.safetensors"), self.path("alone"))
        alone = ("predict", image, "--model", "my.net", "--weights")
        self.assertEqual(self.first(*alone, "alone/weights.safetensors"), soft)
        self.write("alone/config.ini", "loss = bce\n[train\n")
        self.assertEqual(self.first(*alone, "alone/weights.safetensors"), soft)
        self.assertEqual(self.first(*alone, "alone/best.safetensors"), self.first(*alone, "bce/best.safetensors"))
        self.assertIn("as alone/best.safetensors says", self.run_claret(*alone, "alone/best.safetensors").err)
        # Lines and rows of scores.
        self.assertRegex(self.run_claret(*words, "--loss", "mse").out, r"\A\S+: red -?\d+\.\d{4}, \w+ -?\d+\.\d{4}, ")
        self.assertEqual(self.run_claret(*words, "--loss=mse", "--csv").out.splitlines()[0], "file,rank,label,class,score")
        self.refused(*words, "--loss", "msee", code=2, says="did you mean 'mse'?")

    def test_as_eval_sees_it(self):
        """The accuracy of the predictions is eval's, with a normalisation of one's own too."""
        self.run_claret(*self.TRAIN, "-o", "odd", "--mean", "0.1,0.2,0.3", "--std", "0.9", "--lr", "0.0001")
        images = [f"data/test/{name}/0{i}.png" for name in ("blue", "green", "red") for i in range(5)]
        words = ("--model", "my.net", "--weights", "odd/weights.safetensors", "--mean", "0.1,0.2,0.3", "--std", "0.9")
        answer = self.json(self.run_claret("eval", *words, "--json"))
        out = self.run_claret("predict", *words, *images, "--classes", "data").out
        right = sum(line.split("/")[2] == line.split()[1] for line in out.splitlines())
        self.assertEqual(round(answer["accuracy"] * 15 / 100), right)

    def test_wrong(self):
        self.write("bad.png", b"GIF89a")
        result = self.run_claret(*self.words, self.images[0], "bad.png", "none.png", self.images[1], code=1)
        self.assertEqual(len(result.out.splitlines()), 2)
        for says in ("bad.png: neither PNG nor JPEG", "none.png: cannot be opened", "2 of 4 images could not be read"):
            self.assertIn(says, result.err)
        image = self.images[0]
        self.refused(*self.words, "data/test", code=1, says="data/test: a folder, .*find data/test -name")
        self.refused(*self.words, "-", code=1, says="no image was named")
        self.refused(*self.words, "-", "--csv", code=1, says="no image was named")  # nor is there a head
        os.mkdir(self.path("my photos"))
        self.refused(*self.words, "my photos", code=1, says="find 'my photos' -name")
        self.refused("predict", code=2, says="needs images")
        self.refused("predict", image, code=2, says="needs --weights")
        self.refused(*self.words, image, "--csv", "--json", code=2, says="--csv and --json")
        for top in ("0", "-1", "x", "", "1.5"):
            self.refused(*self.words, image, f"--top={top}", code=2, says="--top: ")
        self.refused("predict", image, "--model", "my.net", "--weights", "none", code=1, says="none")
        self.write("names.txt", "one\ntwo\n")
        self.refused(*self.words, image, "--classes", "names.txt", code=1, says="has 2 class names, the network my gives 3")
        self.refused(*self.words, image, "--classes", "nowhere", code=1, says="no data set in nowhere")
        self.refused(*self.words, image, "--classes", "data/test/red", code=1, says="no data set in data/test/red")
        self.refused(*self.words, image, "--mean", "1,2", code=2, says="has 2 numbers")
        self.write("four.net", "input 4 8 8\nflatten\nlinear out_features=3\n")
        self.refused(*self.words, image, "--model", "four.net", code=1, says="takes 4")
        self.refused(*self.words, image, "--classes", "shapes", code=1, says="shapes has 10 classes")


if __name__ == "__main__":
    harness.main()
