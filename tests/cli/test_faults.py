"""What goes wrong while the command works: streams, disks, kernels, caches, data."""
import glob
import os
import re
import shutil
import subprocess

import harness
from harness import TRAIN


class Streams(harness.Case):
    def test_stdout_that_is_full(self):
        for words in (("devices",), ("--help",), ("train", "--help"), ("show", "simplecnn"), ("devices", "--json")):
            with open("/dev/full", "w") as full:
                result = self.run_claret(*words, code=1, stdout=full)
            self.assertIn("standard output cannot be written", result.err)
        with open("/dev/full", "w") as full:
            result = self.run_claret(*TRAIN, code=1, stdout=full)
        self.assertEqual(result.err.count("standard output cannot be written"), 1, str(result))
        self.check_run("runs/simplecnn-001")

    def check_run(self, folder):
        """A whole run is there, nothing under a temporary name, and the weights can be used."""
        files = [name for name in self.files(folder) if not name.startswith("checkpoint-")]
        self.assertEqual(files, ["config.ini", "log.csv", "weights.safetensors"])
        self.run_claret("eval", "--data", "shapes", "--limit-test", "20", "--weights",
                        folder + "/weights.safetensors")

    def test_reader_that_goes_away(self):
        process = self.start(*TRAIN, "--epochs", "1000000", "--log-every", "1")
        self.assertRegex(process.stdout.readline(), r"\A\[1,     1\] loss: ")
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(harness.TIMEOUT), 1, err)
        self.assertEqual(err.count("standard output cannot be written"), 1, err)
        self.check_run("runs/simplecnn-001")

    def test_reader_that_is_gone_at_the_end(self):
        for more in ((), ("--json",)):
            process = self.start(*TRAIN, "--log-every", "1000000", "-o", f"run{len(more)}", *more)
            process.stdout.close()
            err = process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(harness.TIMEOUT), 1, err)
            self.assertEqual(err.count("standard output cannot be written"), 1, err)
            self.check_run(f"run{len(more)}")

    def test_help_into_head(self):
        process = self.start("train", "--help")
        process.stdout.close()
        process.wait(harness.TIMEOUT)
        self.assertEqual(process.stderr.read(), "")
        process.stderr.close()
        self.assertIn(process.returncode, (0, 1))

    def test_closed_streams(self):
        script = f'exec "{harness.claret}" "$@"'
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            process = subprocess.run(["sh", "-c", f"{script} {closed}", "sh", *TRAIN, "-o", f"run{closed}"],
                                     env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT,
                                     capture_output=True, text=True)
            self.assertEqual(process.returncode, 1 if ">&-" in closed.replace("2>&-", "") else 0, process)
            self.check_run(f"run{closed}")


class Disks(harness.Case):
    def small_disk(self, size):
        """The folder `small`, on a disk of that size; False: only root can have one."""
        os.mkdir(self.path("small"))
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs",
                                                self.path("small")], capture_output=True).returncode != 0:
            return False
        self.addCleanup(subprocess.run, ["umount", self.path("small")], check=True)
        return True

    def test_full_disk(self):
        """Weights are 146 KiB, the disk has 64; without root, where they go is a device that is always full."""
        if not self.small_disk("64k"):
            os.mkdir(self.path("small/run"))
            os.symlink("/dev/full", self.path("small/run/weights.safetensors"))
        result = self.run_claret(*TRAIN, "--no-cache", "-o", "small/run", "--overwrite", code=1)
        self.assertRegex(result.err, r"claret: .*small/run/weights\.safetensors", str(result))
        self.assertNotIn("Weights:", result.out)
        self.assertEqual([name for name in self.files("small/run") if not name.startswith("weights")],
                         ["config.ini", "log.csv"])
        self.assertFalse(os.path.isfile(self.path("small/run/weights.safetensors")))

    def test_log_that_fills_the_disk(self):
        """The training ends, and what was trained is saved."""
        if not self.small_disk("200k"):
            self.skipTest("a small disk takes root")
        result = self.run_claret(*TRAIN, "-o", "small/run", "--epochs", "1000", "--log-every", "1", code=1)
        self.assertRegex(result.err, r"(?m)^claret: small/run/log\.csv.* cannot be written", str(result))
        self.assertEqual(self.weights_line(result.out)[0], "small/run/weights.safetensors")
        self.assertEqual(self.files("small/run"), ["config.ini", "weights.safetensors"])

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def test_overwriting_keeps_the_old_until_the_new_is_whole(self):
        self.run_claret(*TRAIN, "-o", "here")
        old = {name: self.read("here", name) for name in self.files("here")}
        # A diverging training ends with an error: the first run's files stay, and its options with them.
        result = self.run_claret(*TRAIN, "-o", "here", "--overwrite", "--lr", "1e8", code=1)
        self.assertRegex(result.err, r"not finite.*step \d+|step \d+.*not finite", str(result))
        self.assertEqual({name: self.read("here", name) for name in self.files("here")}, old)
        self.run_claret(*TRAIN, "-o", "here", "--overwrite", "--lr", "0.01")
        self.assertEqual(sorted(old), self.files("here"))
        self.assertIn(b"lr = 0.01\n", self.read("here", "config.ini"))

    def test_last_step_that_diverges(self):
        """Each step's loss is finite, and what the last one makes of the weights is not; or of the test's loss."""
        self.write("linear.net", "input 3 32 32\nflatten\nlinear out_features=10\n")
        for words, says in ((("--model", "linear.net", "--weight-decay", "1e9"), r"is not finite after step \d+"),
                            (("--lr", "1e8"), "loss over the test is not finite")):
            result = self.run_claret(*TRAIN, "-o", "run", "--overwrite", *words, code=1)
            steps = int(re.search(r"not finite at step (\d+)", result.err)[1])
            result = self.run_claret(*TRAIN, "-o", "run", "--overwrite", *words, "--max-steps", str(steps - 1), code=1)
            self.assertRegex(result.err, says, str(result))
            self.assertEqual(os.path.exists(self.path("run/weights.safetensors")), "test" in says)


class Kernels(harness.Case):
    def test_syntax_error_in_a_kernel(self):
        shutil.copytree(os.path.join(harness.source, "cl"), self.path("kernels"))
        self.run_claret(*TRAIN, "--kernel-dir", "kernels", "-o", "good")
        with open(self.path("kernels/batch.cl"), "a", encoding="ascii") as file:
            file.write("\nthis is no OpenCL C;\n")
        with open(self.path("kernels/batch.cl"), encoding="ascii") as file:
            line = len(file.readlines())
        self.refused(*TRAIN, "--kernel-dir", "kernels", "-o", "bad", code=1, says=rf"batch\.cl:{line}\b")
        self.assertFalse(os.path.exists(self.path("bad")))
        os.remove(self.path("kernels/batch.cl"))
        self.refused(*TRAIN, "--kernel-dir", "kernels", "-o", "bad", code=1, says=r"batch\.cl")
        self.refused(*TRAIN, "--kernel-dir", "nowhere", "-o", "bad", code=1, says="nowhere")


class Cache(harness.Case):
    def programs(self, *words):
        result = self.run_claret(*TRAIN, *words)
        used, cached, built = map(int, re.search(r"programs: (\d+) used, (\d+) from cache, (\d+) built",
                                                 result.err).groups())
        return result, used, cached, built

    def spoil(self, change):
        files = [path for path in glob.glob(self.path("cache/claret/**"), recursive=True) if os.path.isfile(path)]
        self.assertTrue(files)
        for path in files:
            with open(path, "rb") as file:
                data = file.read()
            with open(path, "wb") as file:
                file.write(change(data))

    def test_cold_warm_and_spoilt(self):
        result, used, cached, built = self.programs()
        self.assertEqual((cached, built), (0, used))
        digest = self.weights_line(result.out)[1]
        self.assertEqual(os.stat(self.path("cache/claret")).st_mode & 0o777, 0o700)
        _, used, cached, built = self.programs()
        self.assertEqual((cached, built), (used, 0))
        for change in (lambda data: data[:len(data) // 2], lambda data: b"",
                       lambda data: data[:-9] + bytes([data[-9] ^ 255]) + data[-8:]):
            self.spoil(change)
            result, used, cached, built = self.programs("--verbose")
            self.assertEqual((cached, built), (0, used), str(result))
            self.assertRegex(result.err, r"(?i)cache", str(result))
            self.assertEqual(self.weights_line(result.out)[1], digest)
        _, used, cached, built = self.programs()
        self.assertEqual((cached, built), (used, 0))

    def test_no_cache(self):
        _, used, cached, built = self.programs("--no-cache")
        self.assertEqual((cached, built), (0, used))
        self.assertFalse(os.path.exists(self.path("cache/claret")))
        self.programs("--cache-dir", "mine")
        self.assertTrue(self.files("mine"))
        self.assertFalse(os.path.exists(self.path("cache/claret")))


class Data(harness.Case):
    IMAGES, BYTES = 10000, 3073

    def layout(self, spoil):
        """CIFAR-10's binary layout, all zeros, with one file made wrong."""
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            path = self.write(f"c/cifar-10-batches-bin/{name}", b"")
            os.truncate(path, self.IMAGES * self.BYTES)
        self.write("c/cifar-10-batches-bin/batches.meta.txt", "".join(f"class{i}\n" for i in range(10)))
        spoil(self.path("c/cifar-10-batches-bin"))

    def refuse(self, *says):
        self.refused("train", "--data", "c", "-o", "run", code=1, says=says)
        self.assertFalse(os.path.exists(self.path("run")))

    def test_bad_files(self):
        self.layout(lambda folder: os.truncate(folder + "/data_batch_3.bin", 3073 * 9999 + 17))
        self.refuse(r"data_batch_3\.bin")
        self.layout(lambda folder: os.truncate(folder + "/test_batch.bin", 3073 * 10001))
        self.refuse(r"test_batch\.bin")
        self.layout(lambda folder: os.remove(folder + "/data_batch_5.bin"))
        self.refuse(r"data_batch_5\.bin")

        def label(folder):
            with open(folder + "/data_batch_1.bin", "r+b") as file:
                file.seek(41 * 3073)
                file.write(b"\x0a")

        self.layout(label)
        self.refuse(r"data_batch_1\.bin", "10", "41")

    def test_no_data(self):
        self.refused("train", code=1, says=[r"data", "cs.toronto.edu", "c32a1d4ab5d03f1284b67883e8d87530",
                                            "--data shapes"])


if __name__ == "__main__":
    harness.main()
