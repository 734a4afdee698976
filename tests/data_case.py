"""What the tests of data sets share: DATA_DIGEST and a folder of one's own.

A test file's arguments are the built tests/data_digest, -DCLARET_HAVE_NAME for each optional library that it has,
and unittest's."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
digest = None
have = {word.rpartition("HAVE_")[2] for word in sys.argv if word.startswith("-DCLARET_HAVE_")}


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
                              cwd=self.folder, errors="replace", timeout=60)

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


def main():
    global digest
    digest = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + [word for word in sys.argv[2:] if "CLARET_HAVE_" not in word], verbosity=2)
