"""Checkpoints: a training that was killed, stopped or torn goes on, and ends with the same bits."""
import os
import random
import re
import resource
import shlex
import signal

import harness
from harness import TRAIN

# Running statistics, momentum, dropout, a rate by the step, shuffled and augmented images: all has to go on.
NETWORK = """input 3 32 32
conv2d out_channels=4 kernel_size=3
batch_norm2d
relu
max_pool2d kernel_size=4
dropout p=0.25
flatten
linear out_features=10
"""
CONSTANT = ["train", "--data", "shapes", "--limit-train", "500", "--limit-test", "50", "--model", "./net.net",
            "--epochs", "7", "--batch-size", "4", "--log-every", "4", "--random-horizontal-flip", "0.5"]
LONG = [*CONSTANT, "--lr-schedule", "cosine", "--lr-by", "step"]  # 875 steps; an epoch's last one is the log's remainder


class Resume(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("net.net", NETWORK)

    def log(self, folder):
        """log.csv without the seconds."""
        with open(self.path(folder, "log.csv"), encoding="ascii") as file:
            return [line.rsplit(",", 1)[0] for line in file]

    def whole(self, *words):
        """What a training that nothing interrupts ends with."""
        result = self.run_claret(*LONG, *words, "-o", "whole")
        return self.weights_line(result.out)[1], self.log("whole")

    def check(self, result, folder, expected):
        self.assertEqual((self.weights_line(result.out)[1], self.log(folder)), expected)

    def checkpoints(self, folder):
        return [name for name in self.files(folder) if name.startswith("checkpoint-")]

    def kill_after(self, lines, *words):
        """Kills a training when it has shown so many losses; False: it had finished."""
        process = self.start(*words)
        for _ in range(lines):
            line = process.stdout.readline()
            if not line.startswith("["):
                break
        process.kill()
        return self.finish(process).code == -signal.SIGKILL

    def test_killed_at_random(self):
        """20 moments; which they are tells the seed."""
        expected = self.whole()
        draw, kills = random.Random(5), 0
        self.assertTrue(self.kill_after(30, *LONG, "-o", "run", "--checkpoint-every", "7"))
        while kills < 19:
            kills += 1
            if not self.kill_after(draw.randrange(1, 9), "train", "--resume", "run"):
                break
        self.assertEqual(kills, 19)
        result = self.run_claret("train", "--resume", "run")
        self.assertRegex(result.err, r"going on after step \d+, from run/checkpoint-\d+\.safetensors")
        self.check(result, "run", expected)
        self.assertEqual(self.files("run"), ["checkpoint-00000868.safetensors", "checkpoint-00000875.safetensors",
                                             "config.ini", "log.csv", "weights.safetensors"])

    def test_killed_with_adam(self):
        """Its averages, and the number of steps that corrects them."""
        words = ["--optimizer", "adamw", "--lr", "0.01"]
        expected = self.whole(*words)
        self.assertTrue(self.kill_after(50, *LONG, *words, "-o", "run", "--checkpoint-every", "15"))
        self.check(self.run_claret("train", "--resume", "run"), "run", expected)

    def test_killed_with(self):
        """What else the update depends on."""
        for words in (["--freeze", "conv2d1,linear1.bias"], ["--clip-norm", "0.5"],
                      ["--accumulate", "4", "--optimizer", "adam"],
                      ["--lr-for", "*.bias=0.002", "--no-decay-norm-bias", "--weight-decay", "0.01"],
                      ["--ema", "0.9", "--accumulate", "2", "--val-every", "2"],
                      ["--lr-schedule", "one-cycle", "--optimizer", "adamw"]):
            with self.subTest(words=words):
                expected = self.whole(*words, "--overwrite")
                self.assertTrue(self.kill_after(50, *LONG, *words, "-o", "run", "--overwrite", "--checkpoint-every", "15"))
                self.check(self.run_claret("train", "--resume", "run"), "run", expected)

    def test_stopped(self):
        """A signal leaves a checkpoint, wherever the training stands; other threads are as good."""
        expected = self.whole()
        process = self.start(*LONG, "-o", "my run")
        for _ in range(40):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        stopped = self.finish(process)
        self.assertEqual(stopped.code, -signal.SIGINT)
        self.assertIn("to go on: claret train --resume 'my run'\n", stopped.err)
        self.assertEqual(len(self.checkpoints("my run")), 1)
        self.check(self.run_claret("train", "--resume", "my run", "--workers", "0"), "my run", expected)

    def test_torn(self):
        """The newest file cut, or with one bit turned anywhere: the one before is taken."""
        expected = self.whole()
        self.kill_after(60, *LONG, "-o", "run", "--checkpoint-every", "20", "--checkpoint-keep", "3")
        newest = self.path("run", self.checkpoints("run")[-1])
        with open(newest, "rb") as file:
            data = file.read()
        header = data.index(b'"progress')
        torn = [data[:0], data[:100], data[:-1]]
        torn += [data[:at] + bytes([data[at] ^ 1]) + data[at + 1:] for at in (3, header + 20, len(data) - 5)]
        for broken in torn:
            with open(newest, "wb") as file:
                file.write(broken)
            self.refused("train", "--resume", newest, code=1, says=os.path.basename(newest))
        result = self.run_claret("train", "--resume", "run")
        self.assertIn(os.path.basename(newest), result.err)
        self.check(result, "run", expected)

    def test_full_disk(self):
        """Checkpoints that find no room cost no training, and leave the older ones."""
        expected = self.whole()
        self.kill_after(60, *LONG, "-o", "run", "--checkpoint-every", "20")
        kept = self.checkpoints("run")
        process = self.start("train", "--resume", "run",
                             preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        process.stdout.readline()
        limit = os.path.getsize(self.path("run", kept[0])) - 1  # weights and log have room
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        result = self.finish(process)
        self.assertEqual(result.code, 0, str(result))
        self.assertRegex(result.err, "there is no checkpoint: .*File too large")
        self.assertEqual(len(self.checkpoints("run")), 2)
        self.check(result, "run", expected)
        self.check(self.run_claret("train", "--resume", "run"), "run", expected)

    def rows(self, folder):
        with open(self.path(folder, "validation.csv"), encoding="ascii") as file:
            return [line.split(",") for line in file.read().splitlines()[1:]]

    def test_tested_as_it_goes(self):
        """Tests in between change nothing of the training; what they said goes on too."""
        plain = self.whole()
        result = self.run_claret(*LONG, "--val-every", "2", "-o", "tested")
        self.check(result, "tested", plain)
        rows = self.rows("tested")
        self.assertEqual([row[:2] for row in rows], [["2", "250"], ["4", "500"], ["6", "750"]])
        best = max(rows, key=lambda row: float(row[3]))
        self.assertIn("checkpoint", self.refused("train", "--resume", "tested", code=1, says="no checkpoint").err)
        words = ["eval", "--data", "shapes", "--limit-test", "50", "--model", "./net.net", "--json", "--weights"]
        of_best = self.json(self.run_claret(*words, "tested/best.safetensors"))
        self.assertAlmostEqual(of_best["accuracy"], float(best[3]), places=4)
        self.assertAlmostEqual(of_best["loss"], float(best[2]), places=4)
        self.kill_after(70, *LONG, "--val-every", "2", "--checkpoint-every", "20", "-o", "run")
        self.check(self.run_claret("train", "--resume", "run"), "run", plain)
        self.assertEqual(self.rows("run"), rows)
        with open(self.path("tested/best.safetensors"), "rb") as one, \
                open(self.path("run/best.safetensors"), "rb") as other:
            self.assertEqual(one.read()[-4000:], other.read()[-4000:])  # tensors: seconds in the header differ

    def test_early_stopping(self):
        """At a rate of 0 nothing gets better; and by plateaus the rate goes down."""
        words = ["--val-every", "1", "--lr", "0", "--early-stopping", "2"]
        result = self.run_claret(*CONSTANT, *words, "--checkpoint-every", "1000", "-o", "run")
        self.assertIn("Finished Training", result.out)
        self.assertEqual([row[0] for row in self.rows("run")], ["1", "2", "3"])
        self.assertEqual(self.checkpoints("run"), ["checkpoint-00000375.safetensors"])
        again = self.run_claret("train", "--resume", "run")
        self.assertEqual(self.weights_line(again.out)[1], self.weights_line(result.out)[1])
        self.run_claret(*CONSTANT, "--lr", "1e-30", "--lr-gamma", "0.5", "--lr-schedule", "plateau", "--lr-patience", "1",
                        "--val-every", "1", "-o", "flat")
        self.assertEqual(len(self.rows("flat")), 7)

    def test_plateau(self):
        """The rates of log.csv are ReduceLROnPlateau's for the losses of validation.csv."""
        self.run_claret(*CONSTANT, "--lr", "0.3", "--lr-gamma", "0.5", "--lr-schedule", "plateau", "--lr-patience", "0",
                        "--val-every", "1", "--log-every", "125", "-o", "run")
        rate, best, rates = 0.3, float("inf"), [0.3]
        for row in self.rows("run")[:-1]:
            if float(row[2]) < best * (1 - 1e-4):
                best = float(row[2])
            else:
                rate *= 0.5
            rates.append(rate)
        logged = [float(line.split(",")[4]) for line in self.log("run")[1:]]
        self.assertEqual(len(logged), 7)
        for got, want in zip(logged, rates):
            self.assertAlmostEqual(got, want, delta=1e-6)
        self.assertLess(rate, 0.3)  # else it has shown nothing

    def test_extended(self):
        """More epochs than were asked for at first: as if asked for at once."""
        result = self.run_claret(*CONSTANT, "-o", "whole")
        expected = self.weights_line(result.out)[1], self.log("whole")
        self.run_claret(*CONSTANT, "--epochs", "3", "-o", "run", "--checkpoint-every", "1000")
        self.assertEqual(self.checkpoints("run"), ["checkpoint-00000375.safetensors"])
        with open(self.path("run/config.ini"), encoding="utf-8") as file:
            config = file.read()
        for flag, value, says in (("--epochs", "2", "stands in epoch 3"), ("--max-steps", "1", "steps")):
            self.refused("train", "--resume", "run", flag, value, code=2, says=says)
        with open(self.path("run/config.ini"), encoding="utf-8") as file:
            self.assertEqual(file.read(), config)
        self.check(self.run_claret("train", "--resume", "run", "--epochs", "7"), "run", expected)

    def test_raised(self):
        """--max-steps cuts the third epoch, and is raised: as if it had never been there."""
        for words in ([], ["--accumulate", "4", "--optimizer", "adam", "--checkpoint-every", "3"],
                      ["--ema", "0.9", "--clip-norm", "0.5", "--lr-schedule", "step", "--lr-step", "60", "--lr-by", "step"],
                      ["--lr", "0.3", "--lr-gamma", "0.5", "--lr-schedule", "plateau", "--lr-patience", "0", "--val-every", "1"]):
            with self.subTest(words=words):
                start = [*CONSTANT, "--epochs", "4", "--checkpoint-every", "1000", *words, "--overwrite"]
                result = self.run_claret(*start, "-o", "whole")
                expected = self.weights_line(result.out)[1], self.log("whole")
                tests = self.rows("whole") if "plateau" in words else None
                short = self.run_claret(*start, "-o", "run", "--max-steps", "297")
                self.assertIn("Finished Training", short.out)
                cut = self.weights_line(short.out)[1], self.log("run")
                self.assertEqual(cut[1][-1].split(",")[:3], ["3", "47", "1188"])
                if tests:
                    self.assertEqual([row[1] for row in self.rows("run")], ["125", "250", "297"])
                # As it was finished, then beyond in two ways.
                self.check(self.run_claret("train", "--resume", "run"), "run", cut)
                if tests:
                    self.assertEqual([row[1] for row in self.rows("run")], ["125", "250", "297"])
                self.run_claret("train", "--resume", "run", "--max-steps", "301")
                self.check(self.run_claret("train", "--resume", "run", "--max-steps", "0"), "run", expected)
                if tests:
                    self.assertEqual(self.rows("run"), tests)

    def test_too_short_to_raise(self):
        """Less than one whole update: it can be ended again, not gone on with."""
        words = [*TRAIN, "--accumulate", "8", "--max-steps", "3", "--checkpoint-every", "1000", "-o", "run"]
        digest = self.weights_line(self.run_claret(*words).out)[1]
        self.assertEqual(self.checkpoints("run"), ["checkpoint-00000003.safetensors"])
        self.refused("train", "--resume", "run", "--max-steps", "4", code=2, says="step 3, is of fewer batches than --accumulate 8")
        self.assertEqual(self.weights_line(self.run_claret("train", "--resume", "run").out)[1], digest)

    def test_every_seconds(self):
        self.run_claret(*TRAIN, "-o", "run", "--checkpoint-every", "100000s")
        self.assertEqual(self.checkpoints("run"), ["checkpoint-00000050.safetensors"])  # at the end alone

    def test_overwrite(self):
        """An earlier training's checkpoints go with its other files."""
        self.run_claret(*TRAIN, "-o", "run", "--checkpoint-every", "10")
        self.run_claret(*TRAIN, "-o", "run", "--overwrite", "--limit-train", "40", "--checkpoint-every", "4")
        self.assertEqual(self.checkpoints("run"), ["checkpoint-00000008.safetensors",
                                                   "checkpoint-00000010.safetensors"])
        self.run_claret(*TRAIN, "-o", "run", "--overwrite")
        self.assertEqual(self.checkpoints("run"), [])
        self.run_claret(*TRAIN, "-o", "run", "--overwrite", "--checkpoint-every", "10")
        # Nor do its tests, where the new one makes none.
        self.run_claret(*TRAIN, "-o", "run", "--overwrite", "--val-every", "1")
        self.assertIn("best.safetensors", self.files("run"))
        self.run_claret(*TRAIN, "-o", "run", "--overwrite", "--checkpoint-every", "10")
        self.assertFalse({"best.safetensors", "validation.csv"} & set(self.files("run")))
        for name in ("config.ini", "log.csv", "weights.safetensors"):
            os.unlink(self.path("run", name))
        self.refused(*TRAIN, "-o", "run", code=1, says=r"holds a run already \(checkpoint-")

    def test_none(self):
        """What there is instead, and how it comes that there are some."""
        plain, tested = [*CONSTANT, "--epochs", "1"], "a run's"
        self.run_claret(*plain, "-o", "plain")
        self.run_claret(*plain, "--val-every", "1", "-o", tested)
        os.mkdir(self.path("empty"))
        how = r"\nCheckpoints are written by --checkpoint-every N, .* interrupted$"
        self.refused("train", "--resume", "empty", code=1, says=f"^claret: empty holds no checkpoint{how}")
        self.refused("train", "--resume", "plain", code=1,
                     says=rf"^claret: plain holds no checkpoint\n.*: claret train --init plain/weights\.safetensors{how}")
        err = self.refused("train", "--resume", tested, code=1, says=f"holds no checkpoint\n.*{how}").err
        words = shlex.split(re.search("claret (train .*)", err).group(1))
        self.assertEqual(words, ["train", "--resume", f"{tested}/best.safetensors"])
        self.assertIn("going on after step 125", self.run_claret(*words, "--epochs", "2").err)

    def test_data_elsewhere(self):
        """Relative data are the first folder's; --data says where they are now."""
        for split, count in (("train", 40), ("t10k", 20)):
            for kind, dims, data in (("images-idx3", [count, 6, 6], bytes(count * 36)),
                                     ("labels-idx1", [count], bytes(i % 10 for i in range(count)))):
                self.write(f"work/set/{split}-{kind}-ubyte", bytes([0, 0, 8, len(dims)]) +
                           b"".join(dim.to_bytes(4, "big") for dim in dims) + data)
        self.write("work/grey.net", "input 1 6 6\nflatten\nlinear out_features=10\n")
        self.run_claret("train", "--data", "./set", "--model", "grey.net", "--epochs", "1", "--checkpoint-every", "5",
                        "-o", "run", cwd=self.path("work"))
        told = r"(?m)^claret: --data \./set is what work/run/checkpoint-00000010\.safetensors has, .* started in: go on there, .*--data DIR$"
        self.refused("train", "--resume", "work/run", "--epochs", "2", code=1, says=["no data set in ./set", told])
        err = self.refused("train", "--resume", "work/run", "--data", "./other", code=1, says="no data set in ./other").err
        self.assertNotIn("is what", err)
        self.run_claret("train", "--resume", "work/run", "--epochs", "2", "--data", "work/set")

    def test_refused(self):
        self.run_claret(*TRAIN, "-o", "run", "--checkpoint-every", "10")
        self.run_claret(*TRAIN, "-o", "plain")
        for words, says in [
                (["--resume", "run", "--batch-size", "8"], ["--batch-size is '4'", "cannot become '8'"]),
                (["--resume", "run", "--seed", "1"], "--seed"),
                (["--resume", "run", "--freeze", "conv1"], "--freeze is '' in"),
                (["--resume", "run", "--model", "resnet20"], "--model"),
                (["--resume", "run", "-o", "other"], "--out"),
                (["--resume", "run", "--config", "run/config.ini"], "--config"),
                (["--resume", "plain"], "plain holds no checkpoint"),
                (["--resume", "nowhere"], "nowhere"),
                (["--resume", "plain/weights.safetensors"], "weights, but no checkpoint"),
                ([*TRAIN[1:], "--checkpoint-every", "0"], "checkpoint-every"),
                ([*TRAIN[1:], "--checkpoint-every", "5m"], "neither a number of steps"),
                ([*TRAIN[1:], "--checkpoint-every", "s"], "neither a number of steps"),
                ([*TRAIN[1:], "--checkpoint-keep", "0"], "checkpoint-keep"),
                ([*TRAIN[1:], "--early-stopping", "3"], "--early-stopping counts tests: --val-every"),
                ([*TRAIN[1:], "--lr-schedule", "plateau"], "val-every"),
                ([*TRAIN[1:], "--best-by", "luck"], "neither loss nor accuracy")]:
            self.refused("train", *words, code=1 if words[0] == "--resume" and len(words) == 2 else 2, says=says)
        self.refused("train", "--resume", "run", "--momentum", "0", code=1, says="made with other options")


harness.main()
