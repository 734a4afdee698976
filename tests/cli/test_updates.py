"""What is trained, and how gradients become updates: --freeze."""
import json
import os
import re

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
        for words, says in ((["--clip-norm", "1", "--clip-value", "1"], "clip-norm and clip-value exclude each other"),
                            (["--clip-norm", "-1"], "clip-norm: '-1' is not a number"),
                            (["--clip-norm", "nan"], "clip-norm"), (["--clip-value", "inf"], "clip-value")):
            self.refused(*TRAIN, *words, code=2, says=says)


if __name__ == "__main__":
    harness.main()
