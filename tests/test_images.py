#!/usr/bin/env python3
"""test_images.py DATA_DIGEST [-DCLARET_HAVE_NAME]...: folders of images: every kind of file against Pillow's pixels
(golden/make_images.py), how classes and splits are found, and what is said of files that cannot be read."""
import os
import shutil
import unittest
import zipfile

import data_case
from data_case import GOLDEN, Case, have

IMAGES = os.path.join(GOLDEN, "images")
BOTH = {"PNG", "JPEG"} <= have
SIZE = "3x8x8"


def is_jpeg(name):
    return name.lower().endswith((".jpg", ".jpeg"))


class Folder(Case):
    def put(self, name, source="rgb.png"):
        """A copy of a golden image, or these bytes."""
        if isinstance(source, str):
            with open(os.path.join(IMAGES, source), "rb") as file:
                source = file.read()
        self.write(name, source)
        return source


@unittest.skipUnless(BOTH, "built without libpng or libjpeg")
class Pillow(Folder):
    def test_pixels(self):
        """PNG to the bit; JPEG decoders may differ by a little where they are not the same."""
        with zipfile.ZipFile(os.path.join(IMAGES, "pixels.zip")) as archive:
            names = archive.namelist()
            for size in sorted({name.split("/")[1] for name in names}):
                kinds = sorted(name.split("/")[0] for name in names if name.endswith("/" + size))
                self.assertEqual(len(kinds), 16)
                for kind in kinds:
                    self.put(f"{size}/all/{kind}", kind)
                answer = self.opened("train", data=size, size=size)
                self.assertEqual((answer.count, answer.shape), (16, [int(part) for part in size.split("x")]))
                for i, kind in enumerate(kinds):
                    expected, found = archive.read(f"{kind}/{size}"), answer.image(i)
                    worst = max(abs(a - b) for a, b in zip(expected, found, strict=True))
                    self.assertLessEqual(worst, 2 if is_jpeg(kind) else 0, f"{kind} at {size}")


@unittest.skipUnless(BOTH, "built without libpng or libjpeg")
class Layouts(Folder):
    def test_classes(self):
        for name in ("b/2.png", "b/10.png", "a/x.JPEG", "a/deep/er/y.png", "a/z.png", "c/1.Png"):
            self.put("d/" + name, "rgb.jpg" if "x." in name else "rgb.png")
        self.write("d/b/notes.txt", b"not an image")
        self.write("d/b/.hidden.png", b"")
        self.write("d/.git/x.png", b"")
        self.write("d/readme.md", b"")
        answer = self.opened("train", data="d", size=SIZE)
        self.assertEqual(answer.names, ["a", "b", "c"])
        # By class, in it by name (10 before 2), folders in it last.
        self.assertEqual(answer.labels, [0, 0, 0, 1, 1, 2])
        self.assertIn("d: 1 file is left out, as only .png, .jpg and .jpeg are read: 1 .txt (such as d/b/notes.txt)",
                      answer.said)
        self.refused("test", "d has no test images", "--val-fraction 0.1", status="NOT_FOUND", data="d", size=SIZE)
        self.put("d/c/2.png")
        counts = [self.opened(split, data="d", val_fraction="0.4", size=SIZE).count for split in ("train", "test")]
        self.assertEqual(counts, [4, 3])

    def test_splits(self):
        for name in ("train/cat/1.png", "train/cat/2.png", "train/dog/1.png", "val/dog/1.png"):
            self.put("d/" + name)
        self.put("d/train/cat/3.png", "grey.png")
        self.assertEqual(self.opened("train", data="d", size=SIZE).labels, [0, 0, 0, 1])
        test = self.opened("test", data="d", size=SIZE)
        self.assertEqual((test.labels, test.names), ([1], ["cat", "dog"]))
        self.put("d/test/cat/1.png")
        self.assertEqual(self.opened("test", data="d", size=SIZE).labels, [0])
        self.put("d/test/eel/1.png")
        self.refused("test", "d/test has a class folder eel, which d/train does not have", data="d", size=SIZE)
        self.assertEqual(self.opened("train", data="d/train", size=SIZE).count, 4)

    def test_a_class_called_train(self):
        for name in ("bus/1.png", "car/1.png", "train/1.png"):
            self.put("d/" + name)
        self.assertEqual(self.opened("train", data="d", size=SIZE).names, ["bus", "car", "train"])

    def test_refused(self):
        self.put("d/a/1.png")
        os.mkdir(self.path("d/b"))
        self.refused("train", "d/b: a class folder without images", data="d", size=SIZE)
        os.rmdir(self.path("d/b"))
        self.refused("train", "1 channel (grey) or 3 (RGB), but the network takes 4", status="SHAPE", data="d", size="4x8x8")
        os.makedirs(self.path("d/evil\x1b[2J"))
        self.refused("train", "a class folder whose name cannot be shown", data="d", size=SIZE)
        os.rmdir(self.path("d/evil\x1b[2J"))
        os.makedirs(self.path("d/a/" + "/".join(["x"] * 20)))
        self.refused("train", "more than 16 deep", data="d", size=SIZE)
        shutil.rmtree(self.path("d/a/x"))
        os.symlink(".", self.path("d/a/loop"))
        self.refused("train", "more than 16 deep", data="d", size=SIZE)
        os.mkdir(self.path("none"))
        self.write("none/1.png", b"")  # no class folder
        self.refused("train", "no data set in none\n", "image folders: a folder for each class", status="NOT_FOUND",
                     data="none", size=SIZE)

    def test_an_image_folder_beside_another_set(self):
        self.put("d/cat/1.png")
        self.write("d/x_train.npy", b"")
        self.refused("train", "several", "numpy's arrays: --data d", "image folders: --data d", data="d", size=SIZE)

    def test_grey(self):
        self.put("d/a/1.png")
        self.assertEqual(self.opened("train", data="d", size="1x5x7").shape, [1, 5, 7])


@unittest.skipUnless(BOTH, "built without libpng or libjpeg")
class Unreadable(Folder):
    def bad_files(self):
        """{name: (bytes, what is said)}: seen before training starts."""
        png, jpeg = self.put("good/a/1.png"), self.put("good/a/2.jpg", "rgb.jpg")
        return {"empty.png": (b"", "the file is empty"), "text.jpg": (b"hello, world" * 20, "neither PNG nor JPEG"),
                "gif.png": (b"GIF89a" + bytes(50), "neither PNG nor JPEG"), "cut.png": (png[:-20], ""),
                "short.png": (png[:300], ""), "head.png": (png[:8], "the file is truncated"), "cut.jpg": (jpeg[:-30], "Premature end"),
                "head.jpg": (jpeg[:3], "")}

    def test_listed_and_refused(self):
        bad = self.bad_files()
        for name, (data, _) in bad.items():
            self.write(f"good/b/{name}", data)
        self.put("good/b/fine.png", "grey.png")
        self.refused("train", f"{len(bad)} of {len(bad) + 3} image files in good cannot be read:", "--skip-unreadable",
                     *(f"good/b/{name}: {says}" for name, (_, says) in bad.items()), data="good", size=SIZE)
        for workers in ("0", "3"):
            answer = self.opened("train", data="good", skip_unreadable="true", workers=workers, size=SIZE)
            self.assertEqual(answer.labels, [0, 0, 1])
            for name in bad:
                self.assertIn(f"  good/b/{name}: ", answer.said)
            self.assertIn("They were left out.", answer.said)
        os.remove(self.path("good/b/fine.png"))
        self.refused("train", "good/b: a class folder without images", data="good", skip_unreadable="true", size=SIZE)

    def test_many(self):
        for i in range(33):
            self.write(f"d/a/{i:02}.png", b"")
        self.refused("train", "33 of 33", "d/a/19.png", "and 13 more", data="d", size=SIZE)
        self.refused("train", "d/a: a class folder without images", data="d", size=SIZE, skip_unreadable="true")

    def damaged(self):
        """Whole to the look, but the check sum of PNG's data is wrong; JPEG's data end in the middle."""
        png, jpeg = self.put("d/a/1.png"), self.put("d/b/1.jpg", "rgb.jpg")
        at = png.index(b"IDAT") + 100
        self.write("d/a/bad.png", png[:at] + b"????" + png[at + 4:])
        self.write("d/b/bad.jpg", jpeg[:-900] + jpeg[-20:])

    def test_damaged_inside(self):
        self.damaged()
        self.refused("train", "d/a/bad.png: ", "Mend or remove it, or leave all such files out: --skip-unreadable", data="d", size=SIZE)
        os.remove(self.path("d/a/bad.png"))
        self.refused("train", "d/b/bad.jpg: ", data="d", size=SIZE)
        self.damaged()
        answer = self.opened("train", data="d", skip_unreadable="true", size=SIZE)
        self.assertEqual(answer.labels, [0, 1])
        self.assertIn("2 of 4 image files in d cannot be read", answer.said)

    def test_harmless_oddities(self):
        """Bytes after the end, as many cameras leave them, and dimensions that are too large to be meant."""
        png, jpeg = self.put("d/a/1.png"), self.put("d/a/2.jpg", "rgb.jpg")
        self.write("d/a/1.png", png + bytes(5000))
        self.write("d/a/2.jpg", jpeg + bytes(5000))
        self.assertEqual(self.opened("train", data="d", size=SIZE).count, 2)
        at = jpeg.index(b"\xff\xc0") + 5
        self.write("d/a/2.jpg", jpeg[:at] + b"\xff\x00\xff\x00" + jpeg[at + 4:])
        self.refused("train", "d/a/2.jpg: an image of 65280x65280 pixels", data="d", size=SIZE)

    def test_a_folder_like_an_image(self):
        self.put("d/a/1.png")
        os.makedirs(self.path("d/a/2.png"))
        os.mkfifo(self.path("d/a/3.png"))
        self.refused("train", "d/a/3.png: a device or pipe", data="d", size=SIZE)
        os.remove(self.path("d/a/3.png"))
        self.assertEqual(self.opened("train", data="d", size=SIZE).count, 1)
        os.symlink("nowhere", self.path("d/a/4.png"))
        self.refused("train", "d/a/4.png: ", "No such file", data="d", size=SIZE)


class Without(Folder):
    @unittest.skipIf("PNG" in have, "built with libpng")
    def test_png(self):
        self.put("d/a/1.png")
        self.refused("train", "d/a/1.png: PNG, and this claret was built without libpng", data="d", size=SIZE)

    @unittest.skipIf("JPEG" in have, "built with libjpeg")
    def test_jpeg(self):
        self.put("d/a/1.jpg", "rgb.jpg")
        self.refused("train", "d/a/1.jpg: JPEG, and this claret was built without libjpeg", data="d", size=SIZE)


if __name__ == "__main__":
    data_case.main()
