"""What is trained, and how gradients become updates: --freeze."""
import json
import os
import re
import signal
import struct

import harness
from harness import TRAIN
from test_train import read_weights


class Freeze(harness.Case):
    def test_frozen_stays(self):
        self.run_claret(*TRAIN, "--max-steps", "5", "-o", "a")
        self.run_claret(*TRAIN, "--init", "a/weights.safetensors", "--freeze", "conv1,fc.b*", "-o", "b")
        a, b = (read_weights(self.path(name, "weights.safetensors")) for name in "ab")
        for name in ("conv1.weight", "conv1.bias", "fc.bias"):
            self.assertEqual(a[name], b[name])
        self.assertNotEqual(a["fc.weight"], b["fc.weight"])
        # Evaluation finds them where they lie.
        words = ["eval", "--data", "shapes", "--limit-test", "100", "--json", "--weights", "b/weights.safetensors"]
        self.assertIn("accuracy", self.json(self.run_claret(*words)))
        with open(self.path("b/config.ini"), encoding="ascii") as file:
            self.assertIn("freeze = conv1,fc.b*\n", file.read())
        self.run_claret(*TRAIN, "--config", "b/config.ini", "-o", "c")
        self.assertEqual(read_weights(self.path("c/weights.safetensors")), b)

    def test_shown(self):
        whole = json.loads(self.run_claret("show", "resnet20", "-b", "32", "--json").out)
        part = json.loads(self.run_claret("show", "resnet20", "-b", "32", "--json", "--freeze", "conv*,bn*,layer[12]").out)
        self.assertEqual((whole["frozen"], part["parameters"]), (0, whole["parameters"]))
        self.assertGreater(part["frozen"], 60000)
        self.assertLess(part["training_bytes"], 0.7 * whole["training_bytes"])
        result = self.run_claret("show", "simplecnn", "--freeze", "conv1")
        self.assertRegex(result.out, "Frozen: 448 of them")
        plans = [self.run_claret("show", "resnet20", "--dump-plan", *words).out for words in ([], ["--freeze", "layer1"])]
        self.assertIn("layer1.0.conv1.dw", plans[0])
        self.assertNotIn("layer1.0.conv1.dw", plans[1])
        self.assertIn("layer1.0.conv1.dx", plans[1])  # what is below is trained
        explained = self.run_claret("show", "simplecnn", "--explain", "--freeze", "conv1").out
        self.assertNotRegex(explained, r"conv1\.d[wx]")
        self.assertTrue(re.search(r"fc", explained))

    def test_refused(self):
        for words in (["show", "simplecnn"], ["show", "simplecnn", "--explain"], [*TRAIN]):
            self.refused(*words, "--freeze", "conv", code=2, says="freeze: 'conv' matches nothing of the network")
            self.refused(*words, "--freeze", "fc.wieght", code=2, says="'fc.wieght' matches .*nearest is 'fc.weight'")
            self.refused(*words, "--freeze", "conv1,fc", code=2, says="freeze: 'conv1,fc' leaves nothing to train")
        self.assertFalse(os.path.exists(self.path("runs")))


class Clip(harness.Case):
    def test_clipped(self):
        """The same bits each time; a limit that nothing reaches is none."""
        made = {}
        for name, words in (("a", ["--clip-norm", "0.5"]), ("b", ["--clip-norm", "0.5"]), ("c", ["--clip-value", "0.01"]),
                            ("d", ["--clip-norm", "1e9"]), ("e", ["--clip-value", "1e9"])):
            made[name] = self.weights_line(self.run_claret(*TRAIN, *words, "-o", name).out)[1]
        self.assertEqual(made["a"], made["b"])
        self.assertEqual(made["d"], made["e"])
        self.assertEqual(len(set(made.values())), 3)

    def test_refused(self):
        for words, says in ((["--clip-norm", "1", "--clip-value", "1"], "--clip-norm and --clip-value exclude each other"),
                            (["--clip-norm", "-1"], "clip-norm: '-1' is not a number"),
                            (["--clip-norm", "nan"], "clip-norm"), (["--clip-value", "inf"], "clip-value")):
            self.refused(*TRAIN, *words, code=2, says=says)


class Accumulate(harness.Case):
    def rates(self, folder):
        with open(self.path(folder, "log.csv"), encoding="ascii") as file:
            return [float(line.split(",")[4]) for line in file.read().splitlines()[1:]]

    def same(self, large, small):
        large, small = (read_weights(self.path(name, "weights.safetensors")) for name in (large, small))
        for name, values in large.items():
            numbers = [struct.unpack(f"<{len(some) // 4}f", some) for some in (values, small[name])]
            self.assertLess(max(abs(a - b) for a, b in zip(*numbers)), 1e-6)

    def test_as_a_large_batch(self):
        """Also an epoch's last update, of fewer images."""
        words = ["--epochs", "2", "--lr", "0.01", "--lr-schedule", "cosine", "--lr-by", "step", "--lr-warmup", "3"]
        self.run_claret(*TRAIN, *words, "-b", "16", "--log-every", "1", "-o", "large")
        self.run_claret(*TRAIN, *words, "-b", "4", "--accumulate", "4", "--log-every", "4", "-o", "small")
        self.same("large", "small")
        self.assertEqual(self.rates("small"), self.rates("large"))  # a row for each update

    def test_with_class_weights(self):
        """Each batch counts by its images' weights; some batches of two have none but 0."""
        for weights, batch, steps in (("1,0.1,3,0.5,7,1,2,0.01,1,5", 8, 4), ("0,0,0,0,1,0,2,0,0,5", 2, 8)):
            words = ["--lr", "0.01", "--class-weights", weights, "--overwrite"]
            self.run_claret(*TRAIN, *words, "-b", str(batch * steps), "-o", "large")
            self.run_claret(*TRAIN, *words, "-b", str(batch), "--accumulate", str(steps), "-o", "small")
            self.same("large", "small")

    def test_checkpoints_at_updates(self):
        self.run_claret(*TRAIN, "--accumulate", "4", "--checkpoint-every", "6", "--checkpoint-keep", "99", "-o", "run")
        steps = [int(name[11:19]) for name in self.files("run") if name.startswith("checkpoint-")]
        self.assertEqual(steps, [8, 12, 20, 24, 32, 36, 44, 48, 50])

    def test_stopped(self):
        """A signal lets the update come first."""
        process = self.start(*TRAIN, "--epochs", "100", "--log-every", "1", "--accumulate", "7", "-o", "run")
        for _ in range(20):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, -signal.SIGINT)
        step, = [int(name[11:19]) for name in self.files("run") if name.startswith("checkpoint-")]
        self.assertEqual(step % 50 % 7, 0)

    def test_refused(self):
        for value in ("0", "-1", "1.5", "many", "9999999"):
            self.refused(*TRAIN, "--accumulate", value, code=2, says="accumulate: ")
        self.run_claret(*TRAIN, "--accumulate", "2", "--checkpoint-every", "10", "-o", "run")
        self.refused("train", "--resume", "run", "--accumulate", "4", code=2, says="--accumulate is '2' in")
        words = ["--lr-by", "step", "--lr-warmup", "13", "--lr-schedule", "cosine"]
        self.run_claret(*TRAIN, *words, "-o", "fits")
        self.refused(*TRAIN, *words, "--accumulate", "4", code=2, says="leaves nothing of a training of 13")


class Groups(harness.Case):
    def weights(self, *words):
        self.run_claret(*TRAIN, *words, "-o", "run", "--overwrite")
        return read_weights(self.path("run/weights.safetensors"))

    def test_rates(self):
        """A rate of 0 is as good as frozen; the last pattern counts; all the same is none at all."""
        frozen = self.weights("--freeze", "conv1", "--no-fuse")
        for words in (["--lr-for", "conv1=0"], ["--lr-for", "*=0,fc=0.001"], ["--lr-for", "conv1=0", "--accumulate", "1"]):
            self.assertEqual(self.weights("--no-fuse", *words), frozen)
        self.assertEqual(self.weights("--lr-for", "*=0.001"), self.weights())
        self.assertNotEqual(self.weights("--lr-for", "*=0.0011"), self.weights())

    def test_decay(self):
        decayed, spared = (self.weights("--lr", "0.01", "--optimizer", "adamw", "--weight-decay", "0.5", *words)
                           for words in ([], ["--no-decay-norm-bias"]))
        self.assertEqual(self.weights("--no-decay-norm-bias", "--weight-decay", "1e-30"), self.weights())  # without decay
        for name in decayed:
            self.assertNotEqual(decayed[name], spared[name])

    def test_refused(self):
        for value, says in (("fc", "lr-for: 'fc' is not NAME=NUMBER"), ("fc=", "is not NAME=NUMBER"),
                            ("=1", "is not NAME=NUMBER"), ("fc=-1", "'fc=-1' is not NAME=NUMBER"),
                            ("fc=1,conv1", "'conv1' is not NAME=NUMBER"), ("fc=nan", "is not NAME=NUMBER"),
                            ("fd=1", "lr-for: 'fd' matches nothing of the network"),
                            ("fc=1,conv1.wieght=2", "'conv1.wieght' matches nothing of .*; the nearest is 'conv1.weight'")):
            self.refused(*TRAIN, "--lr-for", value, code=2, says=says)
        self.refused(*TRAIN, "--lr-for", "fc=1", "--lr", "0", code=2, says="lr-for gives rates .* which is 0")


class Average(harness.Case):
    def test_saved_and_tested(self):
        """The averages by the decays: of 0 the weights themselves; of one step them too; and they are what is tested."""
        made = {}
        for name, words in (("plain", []), ("one", ["--max-steps", "1"]), ("one-ema", ["--max-steps", "1", "--ema", "0.9"]),
                            ("ema", ["--ema", "0.9", "--val-every", "1", "--checkpoint-every", "1000"])):
            result = self.run_claret(*TRAIN, "--json", *words, "-o", name)
            made[name] = self.json(result)
        self.assertEqual(made["one"]["sha256"], made["one-ema"]["sha256"])
        self.assertNotEqual(made["plain"]["sha256"], made["ema"]["sha256"])
        words = ["eval", "--data", "shapes", "--limit-test", "100", "--json", "--weights"]
        for name in ("weights", "best", "checkpoint-00000050"):
            tested = self.json(self.run_claret(*words, f"ema/{name}.safetensors"))
            self.assertAlmostEqual(tested["loss"], made["ema"]["loss"], places=5)
        kept = read_weights(self.path("ema/checkpoint-00000050.safetensors"))
        plain = read_weights(self.path("plain/weights.safetensors"))
        self.assertIn(plain["fc.weight"], kept["optimizer.state"])  # the weights themselves are what goes on

    def test_refused(self):
        for value in ("1", "-0.1", "much", "nan"):
            self.refused(*TRAIN, "--ema", value, code=2, says="ema: ")
        self.run_claret(*TRAIN, "--checkpoint-every", "10", "-o", "run")
        self.refused("train", "--resume", "run", "--ema", "0.9", code=1, says="optimizer.state has another shape")


class Momentum(harness.Case):
    def test_cycled_momentum(self):
        words = [*TRAIN, "--lr-schedule", "one-cycle", "--lr-by", "step", "--optimizer"]
        for kind, own in (("sgd", "--momentum"), ("adam", "--beta1")):
            made = [self.weights_line(self.run_claret(*words, kind, *more, "--overwrite", "-o", "run").out)[1]
                    for more in ([], [own, "0.5"], ["--no-cycle-momentum"], [own, "0.5", "--no-cycle-momentum"])]
            self.assertEqual(made[0], made[1])
            self.assertEqual(len(set(made)), 3)


if __name__ == "__main__":
    harness.main()
