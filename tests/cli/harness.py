"""What the tests of the command share: a private environment, running it, the runner.

Each test file ends with harness.main(), which takes two arguments, the built claret's path and the source
folder, and exits 77 where its tests need PoCL and there is none."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

claret = source = None
have = {word.rpartition("HAVE_")[2] for word in sys.argv if word.startswith("-DCLARET_HAVE_")}  # optional libraries
program = "claret"  # what stands before its errors
TRAIN = ["train", "--data", "shapes", "--limit-train", "200", "--limit-test", "100", "--epochs", "1",
         "--log-every", "10"]  # 50 steps at batch 4
KEPT = ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "MALLOC_PERTURB_")
TIMEOUT = 240  # seconds; a cold cache of PoCL costs CLBlast's compilation, some 20 s


def pocl_drivers():
    """The system's lines for PoCL: what the loader is told of."""
    lines = []
    for path in glob.glob(os.path.join(os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors"), "*.icd")):
        with open(path, encoding="utf-8") as file:
            text = file.read().strip()
        if "pocl" in text.lower():
            lines.append(text)
    return lines


class Result:
    def __init__(self, process, words):
        self.code, self.words = process.returncode, words
        self.out, self.err = process.stdout, process.stderr

    def __str__(self):
        return f"claret {' '.join(self.words)}: exit {self.code}\n-- stdout\n{self.out}\n-- stderr\n{self.err}"


class Case(unittest.TestCase):
    """Each test has an empty folder as its home and working folder, and a cache of its own for programs. PoCL's
    cache is shared, as the environment says."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="claret-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        vendors = self.path("vendors")
        os.mkdir(vendors)
        for i, line in enumerate(pocl_drivers()):
            with open(os.path.join(vendors, f"pocl{i}.icd"), "w", encoding="utf-8") as file:
                file.write(line + "\n")
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.env.update(HOME=self.folder, XDG_CACHE_HOME=self.path("cache"), OCL_ICD_VENDORS=vendors, LANG="C")
        # Where PoCL itself would keep it: compiling CLBlast anew for every test would take half an hour.
        self.env["POCL_CACHE_DIR"] = os.environ.get("POCL_CACHE_DIR") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pocl", "kcache")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, data):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(data, bytes) else "w") as file:
            file.write(data)
        return path

    def start(self, *words, **keywords):
        """A running claret; keywords as Popen's, env: what to add or (None) to remove."""
        env = dict(self.env)
        for name, value in keywords.pop("env", {}).items():
            env.pop(name, None)
            if value is not None:
                env[name] = value
        settings = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        errors="replace", cwd=self.folder)
        settings.update(keywords)
        return subprocess.Popen([claret, *words], env=env, **settings)

    def finish(self, process, words=()):
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"still running after {TIMEOUT} s: claret {' '.join(words)}\n{out}\n{err}")
        process.stdout, process.stderr = out, err
        return Result(process, words)

    def run_claret(self, *words, code=0, **keywords):
        """Runs it, expects that exit code. Nothing but a signal's own death may look like a crash."""
        result = self.finish(self.start(*words, **keywords), words)
        self.assertEqual(result.code, code, str(result))
        return result

    def refused(self, *words, code, says, **keywords):
        """Expects that exit code, nothing on stdout, and every pattern in the message."""
        result = self.run_claret(*words, code=code, **keywords)
        self.assertEqual(result.out or "", "", str(result))
        for pattern in [says] if isinstance(says, str) else says:
            self.assertRegex(result.err, pattern, str(result))
        self.assertRegex(result.err, rf"(?m)^{program}: ", str(result))
        return result

    def files(self, *names):
        """The files below a folder, with their paths from there."""
        top = self.path(*names)
        return sorted(os.path.relpath(os.path.join(root, file), top)
                      for root, _, found in os.walk(top) for file in found)

    def json(self, result):
        lines = result.out.splitlines()
        self.assertEqual(len(lines), 1, str(result))
        return json.loads(lines[0])

    def check_page(self, page, *texts):
        """A manual page that has the options in those texts of --help, and is right roff."""
        with open(page, encoding="utf-8") as file:
            roff = file.read()
        for name in re.findall(r"(?m)^  (?:   |-\w,) --([a-z-]+)", "\n".join(texts)):
            self.assertIn("\\-\\-" + name.replace("-", "\\-"), roff)
        if shutil.which("groff"):
            groff = subprocess.run(["groff", "-man", "-ww", "-Tascii", page], capture_output=True, text=True)
            self.assertEqual((groff.returncode, groff.stderr), (0, ""))

    def weights_line(self, text):
        """(path, digest) of the line `Weights: …`."""
        match = re.search(r"(?m)^Weights: (.*) sha256:([0-9a-f]{64})$", text)
        self.assertTrue(match, text)
        return match.groups()


def main(device=True, name="claret"):
    """device: the tests need one; name: of the program."""
    global claret, program, source
    program = name
    if len(sys.argv) < 3:
        sys.exit(f"{sys.argv[0]} CLARET SOURCE-FOLDER [unittest's arguments]")
    claret, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if device and not pocl_drivers():
        print("skipped: PoCL is not installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[3:] if "CLARET_HAVE_" not in word)], verbosity=2)
