"""The command line's grammar, help, manual pages and what needs no device."""
import glob
import json
import os
import re
import shutil
import subprocess
import unittest

import harness

COMMANDS = ("devices", "train", "eval", "show", "fetch", "predict")
# INTERFACE's defaults of training.
DEFAULTS = {"model": "simplecnn", "data": "./data", "batch-size": "4", "epochs": "10", "lr": "0.001",
            "momentum": "0.9", "weight-decay": "0", "dampening": "0", "log-every": "2000", "workers": "2",
            "seed": "0"}
TRAIN_VALUES = (*DEFAULTS, "data-path", "max-steps", "limit-train", "limit-test", "init", "out", "device",
                "platform", "cache-dir", "kernel-dir", "max-memory", "solver", "tuning")
TRAIN_SWITCHES = ("nesterov", "no-shuffle", "overwrite", "no-cache", "verbose", "quiet", "no-progress", "json",
                  "dump-plan", "explain", "no-tuning")
COMMON = ("device", "platform", "verbose", "quiet", "json", "cache-dir", "no-cache", "kernel-dir", "max-memory",
          "solver", "tuning", "no-tuning")


class Help(harness.Case):
    def test_examples_come_first(self):
        for words in [("--help",), ("-h",), ("help",)] + [(c, "--help") for c in COMMANDS]:
            out = self.run_claret(*words).out
            self.assertIn("Examples:\n  claret ", out)
            self.assertLess(out.index("Examples:"), out.index("Usage:"), out)
            self.assertLess(max(map(len, out.splitlines())), 81)

    def test_help_of_a_command_in_three_ways(self):
        for command in COMMANDS:
            out = self.run_claret(command, "--help").out
            self.assertEqual(self.run_claret("help", command).out, out)
            self.assertEqual(self.run_claret(command, "-qh").out, out)
            self.assertIn(command, self.run_claret("--help").out)

    def test_options_and_defaults_are_there(self):
        out = self.run_claret("train", "--help").out
        for name in (*TRAIN_VALUES, *TRAIN_SWITCHES, "help", "version"):
            self.assertRegex(out, rf"(?m)^  (   |-\w,) --{name}\b")
        for name, value in DEFAULTS.items():
            entry = re.search(rf"(?ms)^  (?:   |-\w,) --{name} .*?(?=^  \s?\s?\s?(?:-|$)|^$)", out).group()
            self.assertIn(f"(default: {value})", " ".join(entry.split()))
        for name in COMMON:
            self.assertIn(f"--{name}", self.run_claret("eval", "--help").out)
            self.assertIn(f"--{name}", self.run_claret("show", "--help").out)

    def test_version(self):
        self.assertRegex(self.run_claret("--version").out, r"\Aclaret \d+\.\d+\.\d+\n\Z")
        self.assertEqual(self.run_claret("train", "--version").out, self.run_claret("--version").out)

    def test_manual_pages(self):
        pages = glob.glob(os.path.join(os.path.dirname(harness.claret), "*.1"))
        self.assertEqual(sorted(map(os.path.basename, pages)),
                         ["claret-devices.1", "claret-eval.1", "claret-fetch.1", "claret-predict.1", "claret-show.1", "claret-train.1", "claret.1"])
        for page in pages:
            command = os.path.basename(page)[len("claret"):-len(".1")].lstrip("-")
            self.check_page(page, self.run_claret(command, "--help").out if command else "")

    def test_bash_completion(self):
        if not shutil.which("bash"):
            self.skipTest("no bash")
        script = os.path.join(os.path.dirname(harness.claret), "claret.bash")

        def complete(*words):
            quoted = " ".join(f"'{word}'" for word in ("claret", *words))
            code = (f". {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _claret; "
                    'printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True,
                                  cwd=self.folder).stdout.split()

        self.assertEqual(complete("tr"), ["train"])
        self.assertEqual(complete("train", "--ba"), ["--batch-size"])
        self.assertEqual(complete("devices", "--ba"), [])
        self.write("some.net", "")
        self.assertEqual(complete("train", "--model", "so"), ["some.net"])


class Grammar(harness.Case):
    """--help ends the reading, so what stands before it is checked and nothing is run."""

    def accepted(self, *words):
        self.assertIn("Usage: claret", self.run_claret(*words, "--help").out)

    def test_values(self):
        for name in TRAIN_VALUES:
            value = DEFAULTS.get(name, "conv1=rows" if name == "solver" else "1")
            self.accepted("train", f"--{name}", value)
            self.accepted("train", f"--{name}={value}")
        for name in TRAIN_SWITCHES:
            self.accepted("train", f"--{name}")
            self.refused("train", f"--{name}=true", code=2, says=f"--{name} takes no value")

    def test_short(self):
        self.accepted("train", "-b", "8", "-j", "1", "-o", "x", "-q", "-v")
        self.accepted("train", "-b8", "-j1", "-ox", "-qvb8")

    def test_abbreviations(self):
        self.accepted("train", "--batch=8", "--epo", "1", "--mom", "0.5")
        self.accepted("train", "--dat", "shapes")  # --data and --data-path are the same
        self.refused("train", "--no-", code=2, says=["--no-shuffle", "--no-cache", "--no-progress"])
        self.refused("train", "--limit=3", code=2, says="--limit-train --limit-test")

    def test_anywhere(self):
        self.accepted("--lr", "1", "train", "-q")
        self.accepted("--lr=1", "-b", "2", "train", "-q")
        self.assertIn("conv1", self.run_claret("-b", "2", "show", "--json", "simplecnn", "-q").out)

    def test_double_dash(self):
        self.assertIn("conv1", self.run_claret("show", "-b2", "--", "simplecnn").out)
        self.refused("show", "--", "--help", code=1, says="--help")
        self.refused("train", "--", "--lr", code=2, says="--lr.*one word too many")

    def test_unknown(self):
        self.refused("train", "--bach-size", "3", code=2, says="did you mean --batch-size?")
        self.refused("train", "--weigth-decay=3", code=2, says="did you mean --weight-decay?")
        self.refused("train", "--zzzzzzzz", code=2, says="no option --zzzzzzzz; see claret train --help")
        self.refused("train", "-Z", code=2, says="no option -Z; see claret train --help")
        self.refused("eval", "--lr", "1", code=2, says="--lr is not an option of claret eval; see claret eval --help")
        self.refused("trian", code=2, says="did you mean 'train'?")
        self.refused("help", "sow", code=2, says="did you mean 'show'?")
        for command in ("doctor", "diff"):
            self.refused(command, code=2, says=f"no command '{command}'")

    def test_called_otherwise(self):
        """By the names that others have."""
        for name, ours in (("learning-rate", "lr"), ("num-workers", "workers"), ("dataset", "data"), ("arch", "model"),
                           ("gpu", "device gpu"), ("output-dir", "out"), ("val-split", "val-fraction"), ("bs", "batch-size"),
                           ("patience", "early-stopping")):
            self.refused("train", f"--{name}=1", code=2, says=rf"no option --{name}; did you mean --{ours}\?")
        self.refused("train", "--weights", "f", code=2, says=r"--weights is not an option of claret train; did you mean --init\?")
        self.refused("eval", "--checkpoint", "f", code=2, says=r"did you mean --weights\?")
        self.refused("eval", "--patience", "1", code=2, says="no option --patience; see claret eval --help")

    def test_wrong(self):
        self.refused(code=2, says="no command")
        self.refused("--quiet", code=2, says="without a command")
        self.refused("train", "--lr", code=2, says="--lr needs a value")
        self.refused("train", "-b", code=2, says="--batch-size needs a value")
        self.refused("train", "now", code=2, says="'now' is one word too many")
        self.refused("show", "simplecnn", "simplecnn", code=2, says="one word too many")
        self.refused("show", code=2, says="simplecnn")
        self.refused("eval", code=2, says="--weights FILE")
        self.refused("train", "--json", "--dump-plan", code=2, says="--dump-plan")
        self.refused("show", "simplecnn", "--json", "--explain", code=2, says="--explain")
        for value in ("conv1", "=rows", "conv1=", "conv1=rows fc"):
            self.refused("train", "--solver", value, code=2, says="--solver: '.*' is not NODE=NAME")

    def test_words_that_belong_to_options(self):
        for command, word, option in (("train", "simplecnn", "model"), ("train", "./my.net", "model"), ("eval", "resnet20", "model"),
                                      ("train", "w.safetensors", "init"), ("eval", "runs/w.safetensors", "weights")):
            self.refused(command, word, code=2, says=rf"'{word}' is one word too many for claret {command}; "
                                                     rf"did you mean --{option} {word}\?\n")
        self.refused("predict", "w.safetensors", code=2, says=r"needs --weights FILE; did you mean --weights w\.safetensors\?\n")
        self.refused("predict", "a.png", code=2, says=r"needs --weights FILE\n")
        self.refused("train", "now", code=2, says="for claret train\n")

    def test_values_out_of_range(self):
        for name, values in {"batch-size": ("0", "-1", "4.5", "four", "", " 4", "4 ", "99999999999999999999"),
                             "epochs": ("0",), "lr": ("-0.1", "nan", "inf", "0,1", "0x1p-3", ""),
                             "momentum": ("-1",), "workers": ("-1", "1e2"), "seed": ("-1",),
                             "max-memory": ("lots", "-1G", "1.5G", "1T"), "log-every": ("0",)}.items():
            for value in values:
                self.refused("train", f"--{name}={value}", code=2, says=f"--{name}: '{value}' is not")
        self.refused("train", "--data=", code=2, says="data needs a path")

    def test_no_colours_without_a_terminal(self):
        result = self.run_claret("trian", code=2, env={"TERM": "xterm"})
        self.assertNotIn("\033", result.err)


class Effects(harness.Case):
    """A flag that nothing comes of is told before anything is done. A file, and what is resumed, holds all options."""

    def test_without_effect(self):
        schedule = "with --lr-schedule {}: give --lr-schedule {}$"
        for words, says in (("--lr-milestones 3", schedule.format("constant", "multistep")),
                            ("--lr-step 3 --lr-schedule cosine", schedule.format("cosine", "step")),
                            ("--lr-gamma 0.1", schedule.format("constant", "step, multistep or plateau")),
                            ("--lr-min 0.1", schedule.format("constant", "cosine or plateau")),
                            ("--lr-end-factor 0.1 --lr-schedule cosine", schedule.format("cosine", "linear")),
                            ("--no-cycle-momentum", schedule.format("constant", "one-cycle")),
                            ("--lr-patience 3", schedule.format("constant", "plateau")),
                            ("--lr-by step", "without --lr-warmup or --lr-schedule step, multistep, cosine, linear or one-cycle$"),
                            ("--lr-warmup-factor 0.1 --lr-warmup 0", "without --lr-warmup$"),
                            ("--padding-mode reflect --random-crop 0", "without --random-crop$"),
                            ("--best-by loss", "without --val-every$"), ("--checkpoint-keep 3", "without --checkpoint-every$"),
                            ("--overwrite", "without --out$"), ("--dampening 0.1 --momentum 0.0", "without --momentum$"),
                            ("--no-decay-norm-bias", "without --weight-decay or --optimizer adamw$"),
                            ("--tuning x --no-tuning", "with --no-tuning$"), ("--preview-augment x --json", "with --preview-augment$"),
                            ("--skip-unreadable", "with --data shapes$")):
            flag = words.split()[2] if "preview" in words else words.split()[0]
            self.refused("train", "--data", "shapes", *words.split(), code=2, says=f"(?m)^claret: {flag} has no effect {says}")
        for flag in ("--device=gpu", "--no-fuse", "--max-memory=1G"):
            self.refused("show", "simplecnn", flag, code=2, says="has no effect without --dump-plan or --explain")
        err = self.refused("train", "--lr-milestones", "3", "--best-by", "loss", code=2, says="--lr-milestones").err
        self.assertEqual(err.count("has no effect"), 2)  # all at once
        self.assertEqual(os.listdir(self.folder), ["vendors"])

    def test_options_that_do_not_fit(self):
        """Named as they were given: as flags, or as keys of a file."""
        for words, says in (("--lr-schedule step", "--lr-schedule step lowers .*: --lr-step says"),
                            ("--lr-schedule one-cycle", "--lr-schedule one-cycle goes by steps: give --lr-by step"),
                            ("--nesterov --momentum 0", "--nesterov needs a --momentum"), ("--best-by luck", "--best-by: 'luck'"),
                            ("--early-stopping 2", "--early-stopping counts tests: --val-every"),
                            ("--beta1 0.5", "--beta1: the optimizer sgd"), ("--label-smoothing 0.1 --loss mse", "--label-smoothing: "),
                            ("--class-weights x", "--class-weights: 'x'"), ("--color-jitter x", "--color-jitter: "),
                            ("--padding-mode x", "--padding-mode: 'x'"), ("--checkpoint-every x", "--checkpoint-every: 'x'"),
                            ("--reset fc", "--reset names .* --init"), ("--lr-for x", "--lr-for: 'x'")):
            self.refused("train", "--data", "shapes", *words.split(), code=2, says=f"(?m)^claret: {says}")
        self.write("own.ini", "[train]\nlr-schedule = one-cycle\nlr-gamma = 0.5\nbest-by = loss\n")
        self.refused("train", "--config", "own.ini", code=2, says="claret: own.ini: lr-schedule one-cycle goes by steps: give --lr-by step")
        self.refused("train", "--config", "own.ini", "--lr-schedule", "step", code=2, says="claret: --lr-schedule step lowers")

    def test_usage_first(self):
        """Before the folder that is there, and before files are looked for."""
        self.write("run/log.csv", "")
        for words, says in (("--optimizer adan", "'adan'"), ("--normalize much", "'much'"), ("--best-by loss", "no effect"),
                            ("--model ./no.net --lr-by x", "--lr-by: 'x'"), ("--data shapes -b 20000", "10000 training images"),
                            ("--freeze fd", "^claret: --freeze: 'fd' matches nothing of the network$"),
                            ("--data nowhere --freeze *", "^claret: --freeze: '.' leaves nothing"),
                            ("--data nowhere --lr-for fd=0.1", "^claret: --lr-for: 'fd' matches nothing"),
                            ("--init none --reset fd", "^claret: --reset: 'fd' matches nothing"),
                            ("--dump-plan --freeze fd", "^claret: --freeze: 'fd' matches nothing")):
            self.refused("train", "--data", "shapes", "-o", "run", *words.split(), code=2, says=says)
        self.refused("train", "--data", "shapes", "-o", "run", code=1, says="holds a run")
        self.refused("show", "simplecnn", "--explain", "--freeze", "fd", code=2, says="^claret: --freeze: 'fd' matches nothing")


class Show(harness.Case):
    def test_table(self):
        out = self.run_claret("show", "simplecnn").out
        for text in ("conv1", "relu1", "max_pool2d1", "flatten1", "fc", "16x30x30", "16x15x15", "3600", "448",
                     "36010", "36458"):
            self.assertIn(text, out.replace(",", "").replace(" x ", "x"))

    def test_json(self):
        small, large = (json.loads(self.run_claret("show", "simplecnn", "--json", "-b", batch).out)
                        for batch in ("128", "256"))
        self.assertEqual((small["parameters"], small["batch_size"]), (36458, 128))
        self.assertGreater(large["training_bytes"], small["training_bytes"])

    def test_text(self):
        """A copy of what is built in, and of a file."""
        for name in ("simplecnn", "resnet20"):
            with open(os.path.join(harness.source, "models", name + ".net"), encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(self.run_claret("show", name, "--text").out, text)
        self.write("my.net", text.rstrip("\n"))
        self.assertEqual(self.run_claret("show", "./my.net", "--text").out, text)
        self.refused("show", "./no.net", "--text", code=1, says="no.net")
        for words in (["--json"], ["--dump-plan"], ["--explain"]):
            self.refused("show", "simplecnn", "--text", *words, code=2, says=f"claret: --text has no effect with {words[0]}\n")
        for words in (["-b", "2"], ["--freeze", "fc"]):
            self.refused("show", "simplecnn", "--text", *words, code=2, says="has no effect with --text\n")
        self.refused("train", "--text", code=2, says="--text is not an option of claret train")

    def test_file(self):
        path = os.path.join(harness.source, "models", "simplecnn.net")
        shutil.copy(path, self.path("my.net"))
        self.assertIn("conv1", self.run_claret("show", "my.net").out)
        self.assertIn("conv1", self.run_claret("show", "./my.net").out)

    def bad(self, text, *says):
        self.write("bad.net", text)
        self.refused("show", "bad.net", code=1, says=says)

    def test_bad_networks(self):
        head = "input 3 32 32\nconv1 = conv2d out_channels=16 kernel_size=3\nrelu\n"
        pool = "max_pool2d kernel_size=2 stride=2\nflatten\n"
        self.bad(head + pool + "fc = linear in_features=576 out_features=10\n", r"bad\.net:6:\d+: ", "fc",
                 "16x15x15", "3600", "576")
        self.bad(head + "max_pol2d kernel_size=2\n", r"bad\.net:4:1: ", "max_pol2d", "max_pool2d")
        self.bad("input 3 32 32\nconv2d out_channels=16 kernel_sze=3\n", r"bad\.net:2:24: ", "kernel_size")
        self.bad("input 3 32 32\nconv2d out_channels=many kernel_size=3\n", r"bad\.net:2:\d+: ", "many")
        self.bad("input 3 4 4\nconv2d out_channels=16 kernel_size=7\n", r"bad\.net:2:\d+: ")
        self.bad("", r"bad\.net")
        self.refused("show", "./no/such.net", code=1, says=r"no/such\.net")
        self.refused("show", "simplecn", code=1, says="simplecnn")


if __name__ == "__main__":
    harness.main(device=False)
