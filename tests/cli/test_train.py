"""claret train and claret eval: what stands on stdout, what is in the run's folder."""
import configparser
import csv
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess

import harness
from harness import TRAIN

NUMBER = r"\d+\.\d"


def read_tensors(path):
    """{name: (type, shape)} of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    return {name: (entry["dtype"], entry["shape"]) for name, entry in header.items()}, size


def read_weights(path):
    """{name: bytes} of a safetensors file."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()
            if name != "__metadata__"}


class Stdout(harness.Case):
    def test_lines(self):
        result = self.run_claret(*TRAIN, "--epochs", "2", "--log-every", "15")
        lines = result.out.splitlines()
        for i, step in enumerate((15, 30, 45)):  # the remainder of 5 is not printed, the window starts anew
            self.assertRegex(lines[i], rf"\A\[1, {step:5d}\] loss: \d\.\d\d\d\Z")
            self.assertRegex(lines[3 + i], rf"\A\[2, {step:5d}\] loss: \d\.\d\d\d\Z")
        self.assertEqual(lines[6], "Finished Training")
        match = re.fullmatch(r"Test loss: \d\.\d{4}  accuracy: (\d+\.\d\d)% \((\d+)/100\)", lines[7])
        self.assertTrue(match, lines[7])
        self.assertEqual(float(match.group(1)), float(match.group(2)))
        for line in lines[8:18]:
            self.assertRegex(line, r"\A  \S+: \d+\.\d\d%\Z")
        self.assertRegex(lines[18], rf"\ASpeed: {NUMBER} images/s\Z".replace(r"\d+\.\d", r"\d+\.\d"))
        path, digest = self.weights_line(lines[19])
        self.assertEqual(len(lines), 20)
        self.assertEqual(path, "runs/simplecnn-001/weights.safetensors")
        with open(self.path(path), "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest)
        # and all else on stderr: the choice once, no progress line without a terminal
        self.assertEqual(len(re.findall(r"(?m)^device \d+ \(\d+:\d+\): .+, .+, driver .+$", result.err)), 1)
        self.assertRegex(result.err, r"(?m)^programs: \d+ used, \d+ from cache, \d+ built$")
        self.assertRegex(result.err, r"(?m)^epoch 1 of 2: loss ")
        self.assertNotIn("\r", result.err)

    def test_json(self):
        result = self.run_claret(*TRAIN, "--json", "-o", "here")
        answer = self.json(result)
        self.assertEqual(list(answer), ["steps", "epochs", "loss", "accuracy", "class_accuracy",
                                        "images_per_second", "weights", "sha256", "device"])
        self.assertEqual((answer["steps"], answer["epochs"]), (50, 1))
        self.assertEqual(answer["weights"], "here/weights.safetensors")
        self.assertEqual(len(answer["class_accuracy"]), 10)
        self.assertEqual(self.weights_line(result.err), (answer["weights"], answer["sha256"]))
        self.assertIn("Finished Training\n", result.err)
        accuracy = re.search(r"accuracy: (\d+\.\d\d)%", result.err).group(1)
        self.assertEqual(f"{answer['accuracy']:.2f}", accuracy)
        self.assertIn(answer["device"], result.err)

    def test_remainder(self):
        """What is left of an epoch when it ends has its row, and no line."""
        result = self.run_claret(*TRAIN, "--epochs", "3", "--log-every", "40", "--max-steps", "120", "-o", "run")
        self.assertEqual(re.findall(r"\[(\d), +(\d+)\]", result.out), [("1", "40"), ("2", "40")])
        with open(self.path("run/log.csv"), encoding="ascii") as file:
            rows = [row.split(",") for row in file.read().splitlines()[1:]]
        self.assertEqual([tuple(row[:3]) for row in rows],
                         [("1", "40", "160"), ("1", "50", "200"), ("2", "40", "360"), ("2", "50", "400"), ("3", "20", "480")])
        mean = re.search(r"epoch 1 of 3: loss (\d\.\d{4})", result.err).group(1)
        self.assertAlmostEqual((40 * float(rows[0][3]) + 10 * float(rows[1][3])) / 50, float(mean), delta=1e-4)

    def test_log_of_a_running_training(self):
        """It can be looked at from the first epoch's end on, whole, also where the training then breaks off."""
        process = self.start(*TRAIN, "--epochs", "1000000", "--log-every", "20", "-o", "run")
        while True:
            line = process.stderr.readline()
            self.assertTrue(line)
            if line.startswith("epoch 2 of"):
                break
        with open(self.path("run/log.csv"), encoding="ascii") as file:
            text = file.read()
        process.kill()
        self.finish(process)
        rows = text.splitlines()
        self.assertTrue(text.endswith("\n"))
        self.assertEqual(rows[0], "epoch,step,images,loss,lr,seconds")
        self.assertEqual([row.split(",")[:2] for row in rows[1:4]], [["1", "20"], ["1", "40"], ["1", "50"]])
        self.assertTrue(all(row.count(",") == 5 for row in rows))

    def test_max_steps_in_an_epoch(self):
        """It ends as if finished: what comes at an epoch's end comes then."""
        self.run_claret(*TRAIN, "--epochs", "3", "--val-every", "1", "--max-steps", "70", "-o", "run")
        with open(self.path("run/validation.csv"), encoding="ascii") as file:
            rows = [row.split(",") for row in file.read().splitlines()[1:]]
        self.assertEqual([row[:2] for row in rows], [["1", "50"], ["2", "70"]])
        self.run_claret(*TRAIN, "--val-every", "1", "--max-steps", "20", "-o", "short")
        self.assertIn("best.safetensors", self.files("short"))
        tested = self.json(self.run_claret("eval", "--weights", "short/best.safetensors", "--data", "shapes",
                                           "--limit-test", "100", "--json"))
        with open(self.path("short/validation.csv"), encoding="ascii") as file:
            self.assertAlmostEqual(float(file.read().splitlines()[1].split(",")[2]), tested["loss"], places=5)

    def test_max_steps(self):
        result = self.run_claret(*TRAIN, "--max-steps", "20", "--epochs", "9")
        self.assertEqual(re.findall(r"\[1, +(\d+)\]", result.out), ["10", "20"])
        self.assertIn("Finished Training", result.out)

    def rates(self, *args):
        self.run_claret(*TRAIN, "--log-every", "1", "--lr", "0.01", "--overwrite", "-o", "rates", *args)
        with open(self.path("rates/log.csv"), encoding="ascii", newline="") as file:
            return [float(row["lr"]) for row in csv.DictReader(file)]

    def test_schedules(self):
        constant = self.rates("--max-steps", "9")
        self.assertEqual(constant, [0.01] * 9)
        plain = self.weights_line(self.run_claret(*TRAIN, "--lr", "0.01").out)[1]
        cosine = self.rates("--lr-schedule", "cosine", "--lr-by", "step", "--lr-warmup", "2", "--max-steps", "10")
        self.assertEqual([f"{rate:.6g}" for rate in cosine[:3]], ["0.0001", "0.00505", "0.01"])
        self.assertEqual(sorted(cosine[2:], reverse=True), cosine[2:])
        self.assertGreater(cosine[-1], 0)
        halves = self.rates("--lr-schedule", "step", "--lr-step", "1", "--lr-gamma", "0.5", "--epochs", "3")
        self.assertEqual(sorted(set(halves)), [0.0025, 0.005, 0.01])
        self.assertEqual(halves, sorted(halves, reverse=True))
        # They are what the weights are trained with.
        scheduled = self.run_claret(*TRAIN, "--lr", "0.01", "--lr-schedule", "linear", "--lr-by", "step").out
        self.assertNotEqual(self.weights_line(scheduled)[1], plain)
        same = self.run_claret(*TRAIN, "--lr", "0.02", "--lr-schedule", "multistep", "--lr-milestones", "9",
                               "--lr-warmup", "0").out
        doubled = self.run_claret(*TRAIN, "--lr", "0.02").out
        self.assertEqual(self.weights_line(same)[1], self.weights_line(doubled)[1])

    def test_losses(self):
        plain = self.weights_line(self.run_claret(*TRAIN, "-o", "plain").out)
        for args in (("--label-smoothing", "0.1"), ("--class-weights", "balanced", "--limit-train", "199"),
                     ("--loss", "mse"), ("--loss", "bce")):
            trained = self.run_claret(*TRAIN, *args, "--overwrite", "-o", "other")
            path, digest = self.weights_line(trained.out)
            self.assertNotEqual(digest, plain[1], args)
            # the test after a training is by its loss
            tests = ("--data", "shapes", "--limit-test", "100", "--weights", path)
            said = re.search(r"Test loss: (\d\.\d{4})", trained.out).group(1)
            if "balanced" in args:
                self.assertIn("loss here is without them", self.run_claret("eval", *tests).err)
                continue
            self.assertIn(f"Test loss: {said} ", self.run_claret("eval", *tests, *args).out)
            # and found beside the weights; flags win
            found = self.run_claret("eval", *tests)
            self.assertIn(f"Test loss: {said} ", found.out)
            self.assertIn(f"trained with {args[0]} {args[1]}, as other/config.ini says", found.err)
            plainly = self.run_claret("eval", *tests, "--loss", "cross_entropy")
            self.assertNotIn(f"Test loss: {said} ", plainly.out)
            self.assertNotIn("trained with", plainly.err)

    def test_losses_applied_twice(self):
        """A last layer that the loss has in itself trains, and is told of; under another loss it is right."""
        for last, loss, told in (("softmax", "cross_entropy", True), ("sigmoid", "bce", True), ("sigmoid", "mse", False),
                                 ("softmax", "mse", False), ("fc2 = linear out_features=10", "bce", False),
                                 ("softmax\nflatten", "cross_entropy", True)):
            self.write("last.net", f"input 3 32 32\nflatten\nfc = linear out_features=10\n{last}\n")
            words = (*TRAIN, "--model", "./last.net", "--loss", loss, "--max-steps", "1", "-q")
            said = self.run_claret(*words).err
            op = last.split()[0]
            self.assertEqual(said.splitlines(), [said.strip()] if told else [], (last, loss))
            if told:
                self.assertRegex(said, rf"^claret: warning: .* ends in {op} \({op}1\), which the loss {loss} applies itself")

    def test_losses_that_cannot_be(self):
        for args, says in ((("--loss", "hinge"), "cross_entropy"), (("--loss", "mse", "--label-smoothing", "0.1"), "mse"),
                           (("--label-smoothing", "2"), "0 to 1"), (("--class-weights", "1,2"), "10 classes"),
                           (("--class-weights", "1,x"), "'x'"), (("--class-weights", "balanced", "--limit-train", "5"),
                                                                 "no training image")):
            self.refused(*TRAIN, *args, code=2, says=says)
        self.run_claret(*TRAIN, "-o", "weighed")
        self.refused("eval", "--data", "shapes", "--weights", "weighed/weights.safetensors", "--class-weights", "balanced",
                     code=2, says="numbers")

    def test_schedules_that_cannot_be(self):
        for args, says in ((("--lr-schedule", "cosin"), "cosine"), (("--lr-schedule", "step"), "lr-step"),
                           (("--lr-schedule", "multistep", "--lr-milestones", "5,3"), "above 5"),
                           (("--lr-by", "batch"), "epoch"), (("--lr-schedule", "one-cycle"), "--lr-by step")):
            self.refused(*TRAIN, *args, code=2, says=says)
        before = self.files("runs") if os.path.exists(self.path("runs")) else []
        self.refused(*TRAIN, "--lr-warmup", "1", code=2, says="leaves nothing")
        self.refused(*TRAIN, "--lr-warmup", "50", "--lr-by", "step", code=2, says="leaves nothing")
        self.assertEqual(self.files("runs") if os.path.exists(self.path("runs")) else [], before)

    def test_quiet_and_verbose(self):
        self.assertEqual(self.run_claret(*TRAIN, "--quiet").err, "")
        self.assertGreater(len(self.run_claret(*TRAIN, "--verbose").err), 100)

    def test_quiet_json(self):
        """The object alone, of a training and of a test; what is wrong is said."""
        words = (*TRAIN, "-o", "run", "--json", "-q")
        trained = self.run_claret(*words)
        self.assertEqual((trained.err, list(self.json(trained))[:2]), ("", ["steps", "epochs"]))
        tested = self.run_claret("eval", "--weights", "run/weights.safetensors", "--data", "shapes", "--json", "--quiet")
        self.assertEqual(tested.err, "")
        self.assertIn("confusion", self.json(tested))
        self.assertIn("Test loss", self.run_claret("eval", "--weights", "run/weights.safetensors", "--json").err)
        self.refused(*words, code=1, says="holds a run already")

    def test_dump_plan(self):
        plan = self.run_claret(*TRAIN, "--dump-plan").out
        self.assertIn("conv1", plan)
        self.assertNotIn("Finished", plan)
        self.assertEqual(self.files("runs"), [])
        self.assertEqual(self.run_claret("show", "simplecnn", "--dump-plan").out, plan)
        self.assertNotEqual(self.run_claret("show", "simplecnn", "--dump-plan", "-b", "7").out, plan)

    def test_solver(self):
        out = self.run_claret(*TRAIN, "--explain").out
        self.assertRegex(out, r"(?m)^conv1: rows KT=\d+ \(default\)\n  problem: conv2d_relu_pool in=f32:4x3x")
        self.assertEqual(self.run_claret("show", "simplecnn", "--explain").out, out)
        self.assertEqual(self.files("runs"), [])
        words = ["--no-fuse", "--solver", "conv1=im2col+gemm", "--solver=conv1.dw=gemm:plain", "--solver",
                 "conv1=gemm:packed:MR=4", "--solver", "conv1.dw=gemm:plain"]
        out = self.run_claret(*TRAIN, "--explain", "--dump-plan", *words).out
        self.assertRegex(out, r"(?m)^conv1: im2col\+gemm \(forced\)\n(  .*\n)*    not plain: another is forced\n")
        self.assertRegex(out, r"packed MR=4,NV=\d,CHUNK=\d+ \(forced\)\n(    .*\n)*relu1: vectors \(default\)")
        self.assertRegex(out, r"(?m)^conv1\.dw: im2col\+gemm \(forced\)\n(  .*\n)*.* b=transposed: plain \(forced\)")
        self.assertRegex(out, r"gemm_packed -DLANES=\d+ -DMR=4 ")
        result = self.run_claret(*TRAIN, *words, "-o", "run")
        self.assertIn("Finished Training", result.out)
        with open(self.path("run", "config.ini"), encoding="utf-8") as file:
            self.assertIn("\nsolver = conv1=im2col+gemm conv1.dw=gemm:plain conv1=gemm:packed:MR=4 conv1.dw=gemm:plain\n",
                          file.read())
        weights = self.weights_line(result.out)[0]
        self.run_claret("eval", "--data", "shapes", "--limit-test", "100", "--weights", weights, "--solver", "conv1=rows")
        for value, says in {"cov1=rows": "'cov1'; did you mean 'conv1'?", "conv1=row": "are: rows[ a-z]*; .*--no-fuse",
                            "conv1=rows:KT=7": "the value of KT has to be one of: 1 2 3 4"}.items():
            self.refused(*TRAIN, "--solver", value, code=2, says=says)

    def test_solver_without_gemm(self):
        refused = {("conv1=gemm:plain",): r"conv1=gemm:plain has no effect: conv1 goes without a GEMM \(conv1 by \w+, "
                                          r"conv1\.dw by \w+\); it runs several layers as one, which --no-fuse",
                   ("fc=gemm:plain",): r"fc\.backward by \w+\); force one that has as well: gemm\n",
                   ("relu1=gemm:plain", "--no-fuse"): "no solver of it has one",
                   ("conv1.dw=gemm:plain", "--no-fuse", "--solver", "conv1=direct"): r"as well: im2col-rows\+gemm im2col\+gemm\n",
                   ("conv1=gemm:packed:MR=4", "--no-fuse", "--solver", "conv1.dw=im2col+gemm"): r"\(conv1 by \w+\)"}
        for words, says in refused.items():
            self.refused(*TRAIN, "--solver", *words, code=2, says=says)
        for words in (("conv1=gemm:plain", "--no-fuse", "--solver", "conv1.dw=im2col+gemm"),
                      ("fc.backward=gemm:plain", "--solver", "fc.backward=gemm")):
            self.run_claret("show", "simplecnn", "--explain", "--solver", *words)

    def test_comma_locale(self):
        with open(self.path("definition"), "w", encoding="ascii") as file:
            file.write('LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3;3\nEND LC_NUMERIC\n')
        env = {"LC_ALL": "xx_XX", "LOCPATH": self.folder}
        if not shutil.which("localedef"):
            self.skipTest("COMMA LOCALE NOT TESTED: no localedef")
        subprocess.run(["localedef", "-c", "-i", "definition", "./xx_XX"], cwd=self.folder, capture_output=True)
        shown = subprocess.run(["locale", "decimal_point"], env={**self.env, **env}, capture_output=True, text=True)
        if shown.stdout.strip() != ",":
            self.skipTest("COMMA LOCALE NOT TESTED: localedef cannot make one here")
        out = self.run_claret(*TRAIN, "--lr", "0.01", "-o", "comma", env=env).out
        plain = self.run_claret(*TRAIN, "--lr", "0.01", "-o", "point").out
        self.assertEqual(self.weights_line(out)[1], self.weights_line(plain)[1])
        self.assertEqual([line for line in out.splitlines() if "loss" in line],
                         [line for line in plain.splitlines() if "loss" in line])
        with open(self.path("comma", "log.csv"), encoding="ascii") as file:
            self.assertTrue(all(line.count(",") == 5 for line in file))
        answer = self.json(self.run_claret(*TRAIN, "--json", "-q", env=env))
        self.assertIsInstance(answer["loss"], float)

    def test_no_home(self):
        bad = "/proc/no/cache"
        for env in ({"HOME": None, "XDG_CACHE_HOME": None}, {"HOME": bad, "XDG_CACHE_HOME": bad},
                    {"HOME": bad, "XDG_CACHE_HOME": None}, {"HOME": None, "XDG_CACHE_HOME": bad}):
            result = self.run_claret(*TRAIN, env=env)
            self.assertEqual(len(re.findall("claret: warning: .*cache", result.err)), 1, str(result))
        result = self.run_claret(*TRAIN, env={"XDG_CACHE_HOME": bad})
        self.assertNotIn("warning", result.err)
        self.assertTrue(self.files(".cache", "claret", "programs"))


class Folder(harness.Case):
    def test_contents(self):
        self.run_claret(*TRAIN, "--lr", "0.01", "--nesterov")
        self.run_claret(*TRAIN)
        files = ["config.ini", "log.csv", "weights.safetensors"]
        self.assertEqual(self.files("runs"), [f"simplecnn-00{n}/{f}" for n in (1, 2) for f in files])
        config = configparser.ConfigParser(interpolation=None)
        config.read(self.path("runs/simplecnn-001/config.ini"))
        section = config["train"]
        given = {"model": "simplecnn", "data": "shapes", "limit-train": "200", "limit-test": "100",
                 "epochs": "1", "log-every": "10", "lr": "0.01", "nesterov": "true", "momentum": "0.9",
                 "batch-size": "4", "seed": "0", "no-shuffle": "false", "workers": "2", "weight-decay": "0",
                 "dampening": "0", "max-steps": "0", "init": "", "device": "", "max-memory": "0"}
        for key, value in given.items():
            self.assertEqual(section[key], value, key)
        with open(self.path("runs/simplecnn-001/log.csv"), encoding="ascii", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["epoch", "step", "images", "loss", "lr", "seconds"])
        self.assertEqual([(r["epoch"], r["step"], r["images"]) for r in rows],
                         [("1", str(s), str(4 * s)) for s in range(10, 51, 10)])
        for row in rows:
            self.assertEqual(float(row["lr"]), 0.01)
            self.assertGreater(float(row["seconds"]), 0)

    def test_weights(self):
        self.run_claret(*TRAIN, "-o", "here")
        tensors, size = read_tensors(self.path("here/weights.safetensors"))
        self.assertEqual(size % 8, 0)
        self.assertEqual(tensors, {"conv1.bias": ("F32", [16]), "conv1.weight": ("F32", [16, 3, 3, 3]),
                                   "fc.bias": ("F32", [10]), "fc.weight": ("F32", [10, 3600])})
        self.assertEqual(list(tensors), sorted(tensors))

    def config(self, text):
        with open(self.path("own.ini"), "w", encoding="utf-8") as file:
            file.write(text)
        return "own.ini"

    def test_config(self):
        first = self.run_claret(*TRAIN, "--lr", "0.02", "--weight-decay", "0.01", "-o", "first").out
        again = self.run_claret("train", "--config", "first/config.ini", "-o", "again").out
        self.assertEqual(self.weights_line(first)[1], self.weights_line(again)[1])
        other = self.run_claret("train", "--seed", "7", "--config", "first/config.ini", "-o", "other").out
        self.assertNotEqual(self.weights_line(first)[1], self.weights_line(other)[1])
        # Flags win wherever they stand; what the file has not keeps its default; a file's --out counts.
        config = configparser.ConfigParser(interpolation=None)
        file = self.config("; mine\n[train]\nlr = 0.5\nmomentum=0\nout = by file\ndata = shapes\n"
                           "limit-train = 40\nlimit-test = 10\nepochs = 1")
        self.run_claret("train", "--lr", "0.01", "--config", file, "--no-shuffle")
        config.read(self.path("by file/config.ini"))
        section = config["train"]
        self.assertEqual([section[key] for key in ("lr", "momentum", "no-shuffle", "batch-size")],
                         ["0.01", "0", "true", "4"])
        self.refused("train", "--config", "first/config.ini", code=1, says="holds a run")

    def test_config_of_long_lines(self):
        folder = "d" * 180
        os.makedirs(self.path(folder))
        out = f"{folder}/{folder[:100]} ;not a comment"
        file = self.config(f"[train]\ndata = shapes\nlimit-train = 8\nlimit-test = 4\nepochs = 1\nout = {out}\n")
        self.run_claret("train", "--config", file)
        self.assertEqual(self.files(out), ["config.ini", "log.csv", "weights.safetensors"])

    def test_configs_that_cannot_be(self):
        for text, says in (("[train]\nlr = 0.1\nmomentun = 0.9\n", ("own.ini:3: ", "did you mean 'momentum'")),
                           ("[train]\nlr = fast\n", ("own.ini:2: ", "lr: 'fast'")),
                           ("lr = 0.1\n", ("own.ini:1: ", r"\[train\]")),
                           ("[other]\nlr = 0.1\n", ("own.ini:2: ", r"\[train\]")),
                           ("[train]\nlr = 0.1\nlr = 0.2\n", ("own.ini:3: ", "lr stands there twice")),
                           ("[train]\nlr\n", ("own.ini:2: ", "key = value")),
                           ("[train\nlr = 1\n", ("own.ini:1: ", "section")),
                           ("[train]\nnesterov = yes\n", ("own.ini:2: ", "neither true nor false"))):
            self.refused("train", "--config", self.config(text), code=2, says=says)
        self.refused("train", "--config", "no.ini", code=1, says="no.ini cannot be read: No such file")
        self.refused("train", "--config", ".", code=1, says="cannot be read")
        self.refused("eval", "--config", "own.ini", code=2, says="not an option of claret eval")

    def test_used_folder(self):
        first = self.run_claret(*TRAIN, "-o", "here").out
        before = self.files("here")
        self.refused(*TRAIN, "-o", "here", code=1, says=["here holds a run", "overwrite"])
        self.assertEqual(self.files("here"), before)
        second = self.run_claret(*TRAIN, "-o", "here", "--overwrite", "--seed", "5").out
        self.assertNotEqual(self.weights_line(first)[1], self.weights_line(second)[1])
        self.assertEqual(self.files("here"), before)
        for name in before:  # one of its files is enough
            os.mkdir(self.path("d-" + name))
            shutil.copy(self.path("here", name), self.path("d-" + name, name))
            self.refused(*TRAIN, "-o", "d-" + name, code=1, says="holds a run")

    def test_folder_that_is_no_run(self):
        self.write("there/notes.txt", "mine")
        self.run_claret(*TRAIN, "-o", "there/", "--max-steps", "10")
        self.assertEqual(self.files("there"), ["config.ini", "log.csv", "notes.txt", "weights.safetensors"])

    def test_nothing_is_made_before_training_can_start(self):
        self.refused(*TRAIN, "--data", "nowhere", code=1, says=["nowhere", "shapes"])
        self.refused(*TRAIN, "--init", "no.safetensors", code=1, says=r"no\.safetensors")
        self.refused(*TRAIN, "-b", "201", code=2, says=["201", "200"])
        self.refused(*TRAIN, "--max-memory", "100K", code=1, says="memory")
        self.refused(*TRAIN, "--nesterov", "--momentum", "0", code=2, says="(?i)nesterov")
        self.assertEqual(self.files("runs"), [])
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_folders_that_cannot_be_made(self):
        file = self.write("file", "")
        self.refused(*TRAIN, "-o", "file", code=1, says="file")
        self.refused(*TRAIN, "-o", "file/below", code=1, says="file")
        self.refused(*TRAIN, "-o", "/proc/claret/run", code=1, says="/proc/claret")
        for name in ("weights.safetensors", "log.csv", "config.ini"):
            os.makedirs(self.path("taken-" + name, name))
            self.refused(*TRAIN, "-o", "taken-" + name, "--overwrite", code=1, says=f"{name} cannot be written")
        os.mkdir(self.path("locked"))
        os.chmod(self.path("locked"), 0o555)
        if os.geteuid() != 0:  # root may write there all the same
            self.refused(*TRAIN, "-o", "locked/run", code=1, says="locked")
        self.assertEqual(os.path.getsize(file), 0)

    def test_diverged(self):
        """Leaves no folder that counts as a run; an earlier run stays as it was."""
        words = [*TRAIN, "--lr", "1e9"]
        self.refused(*words, code=1, says="loss is not finite")
        self.assertEqual(os.listdir(self.path("runs")), [])
        os.mkdir(self.path("there"))
        self.write("there/notes.txt", "mine")
        self.refused(*words, "-o", "there", code=1, says="loss is not finite")
        self.assertEqual(self.files("there"), ["notes.txt"])
        self.run_claret(*TRAIN, "-o", "there")
        before = self.files("there")
        self.refused(*words, "-o", "there", "--overwrite", code=1, says="loss is not finite")
        self.assertEqual(self.files("there"), before)
        # What was kept on the way stays, with its options.
        self.refused(*words, "-o", "kept", "--checkpoint-every", "1", code=1, says="loss is not finite")
        self.assertEqual(self.files("kept")[-1], "config.ini")

    def test_leftovers(self):
        """What a process that was killed was writing goes with the next run; what one that lives writes stays."""
        for name in ("log.csv.1999999999-0.tmp", f"log.csv.{os.getpid()}-0.tmp", "mine.tmp"):
            self.write(f"run/{name}", "half")
        self.run_claret(*TRAIN, "-o", "run")
        self.assertEqual(self.files("run"), ["config.ini", "log.csv", f"log.csv.{os.getpid()}-0.tmp", "mine.tmp",
                                             "weights.safetensors"])


class Same(harness.Case):
    def test_seed_workers_and_cache(self):
        def digest(*words):
            return self.weights_line(self.run_claret(*TRAIN, "-q", *words).out)[1]

        cold = digest()
        self.assertEqual(digest(), cold)  # the cache is warm now
        self.assertEqual(digest("--no-cache"), cold)
        self.assertEqual(digest("--workers", "0"), cold)
        self.assertEqual(digest("-j5"), cold)
        self.assertNotEqual(digest("--seed", "1"), cold)
        self.assertNotEqual(digest("--no-shuffle"), cold)


class Eval(harness.Case):
    def test_eval(self):
        trained = self.run_claret(*TRAIN, "-o", "w").out
        words = ("eval", "--weights", "w/weights.safetensors", "--data-path", "shapes", "--limit-test", "100")
        result = self.run_claret(*words)
        lines = result.out.splitlines()
        test = [line for line in trained.splitlines() if line.startswith(("Test loss", "  "))]
        self.assertEqual(lines[:11], test)
        self.assertIn("Confusion", lines[11])
        self.assertRegex(lines[-1], r"\ASpeed: \d+\.\d images/s\Z")
        answer = self.json(self.run_claret(*words, "--json", "-b", "50"))
        self.assertEqual(list(answer), ["loss", "accuracy", "class_accuracy", "confusion", "images",
                                        "images_per_second", "weights", "device"])
        self.assertEqual(answer["images"], 100)
        self.assertEqual(sum(map(sum, answer["confusion"])), 100)
        self.assertEqual(sum(answer["confusion"][i][i] for i in range(10)), round(answer["accuracy"]))
        for i, row in enumerate(answer["confusion"]):
            self.assertEqual(list(map(int, lines[13 + i].split()[2:])), row)

        # Of two images most classes have none.
        result = self.run_claret(*words[:-1], "2", "--json", "-b", "1")
        for name, accuracy in self.json(result)["class_accuracy"].items():
            self.assertIn(f"  {name}: no images\n" if accuracy is None else f"  {name}: {accuracy:.2f}%\n", result.err)
        self.assertEqual(result.err.count(": no images\n"), list(self.json(result)["class_accuracy"].values()).count(None))
        self.assertIn(": no images\n", result.err)

    def test_one_class(self):
        """A bias that outweighs all else: said by both tests, and not of a single image."""
        self.run_claret(*TRAIN, "--max-steps", "1", "-o", "w")
        with open(self.path("w/weights.safetensors"), "rb") as file:
            data = bytearray(file.read())
        size, = struct.unpack("<Q", data[:8])
        bias = 8 + size + json.loads(data[8:8 + size])["fc.bias"]["data_offsets"][0]
        data[bias + 12:bias + 16] = struct.pack("<f", 1e6)
        self.write("w/one.safetensors", bytes(data))
        test = ("eval", "--data", "shapes", "--weights", "w/one.safetensors", "--limit-test")
        says = r"(?m)^claret: warning: all 100 test images, of \d+ classes, were taken for one, (.*): the network .*--lr.*--batch-size"
        result = self.run_claret(*test, "100")
        name = re.search(says, result.err).group(1)
        self.assertIn(f"  {name}: 100.00%\n", result.out)
        self.assertIn("--mean", result.err)
        self.assertRegex(self.run_claret(*TRAIN, "--init", "w/one.safetensors", "--lr", "0", "-q").err, says)
        self.assertNotIn("taken for one", self.run_claret(*test, "1").err)
        self.assertNotIn("taken for one", self.run_claret(*TRAIN, "--epochs", "2").err)

    def test_init_continues(self):
        self.run_claret(*TRAIN, "-o", "a")
        self.run_claret(*TRAIN, "-o", "b", "--init", "a/weights.safetensors", "--lr", "0")
        with open(self.path("a/weights.safetensors"), "rb") as a, open(self.path("b/weights.safetensors"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_reset(self):
        """Another last layer: --reset begins it anew, and takes the others."""
        self.run_claret(*TRAIN, "-o", "a")
        self.write("b.net", "input 3 32 32\nconv1 = conv2d out_channels=16 kernel_size=3\nrelu\n"
                            "max_pool2d kernel_size=3\nflatten\nfc = linear out_features=10\n")
        words = [*TRAIN, "--model", "./b.net", "--init", "a/weights.safetensors"]
        self.refused(*words, code=1, says="fc.weight: file has 10x3600, network wants 10x1600; --reset fc begins")
        self.run_claret(*words, "--reset", "fc", "--lr", "0", "-o", "b")
        self.run_claret(*TRAIN, "--model", "./b.net", "--lr", "0", "-o", "c")
        a, b, c = (read_weights(self.path(name, "weights.safetensors")) for name in "abc")
        for name in ("conv1.weight", "conv1.bias"):
            self.assertEqual(b[name], a[name])
        for name in ("fc.weight", "fc.bias"):
            self.assertEqual(b[name], c[name])  # the first values that the seed gives
        self.run_claret(*words, "--reset", "f*,conv1.bias", "--lr", "0", "-o", "d")
        d = read_weights(self.path("d/weights.safetensors"))
        self.assertEqual((d["conv1.weight"], d["conv1.bias"]), (a["conv1.weight"], c["conv1.bias"]))
        self.refused(*words, "--reset", "fc.weigth", code=2, says="'fc.weigth' matches nothing.*'fc.weight'")
        self.refused(*TRAIN, "--reset", "fc", code=2, says="reset names what is not taken")

    def test_bad_weights(self):
        self.run_claret(*TRAIN, "-o", "w", "--max-steps", "1")
        with open(self.path("w/weights.safetensors"), "rb") as file:
            data = file.read()
        self.write("other.net", "input 3 32 32\nflatten\nfc = linear out_features=10\n")
        words = ("eval", "--data", "shapes", "--limit-test", "10", "--weights")
        self.write("cut", data[:-4])
        self.write("foreign", b"\x89PNG\r\n\x1a\n" + bytes(100))
        self.write("empty", b"")
        for name in ("cut", "foreign", "empty", "missing"):
            self.refused(*words, name, code=1, says=name)
        self.refused(*words, "w/weights.safetensors", "--model", "other.net", code=1,
                     says=[r"conv1\.|fc\.", "the network is other: --model names the one that the weights are of"])
        self.refused(*TRAIN, "--model", "./other.net", "--init", "w/weights.safetensors", code=1,
                     says="; the network is other: --model names")
        # What is no weights file, and what is no network.
        for path, says in (("other.net", ": it looks like a network text, which --model takes"), ("foreign", ""), ("empty", "")):
            self.refused(*TRAIN, "--init", path, code=1, says=f"(?m){path}: not a safetensors file{says}$")
        shutil.copy(self.path("w/weights.safetensors"), self.path("hidden.net"))
        for path in ("w/weights.safetensors", "no.safetensors", "hidden.net"):
            self.refused(*TRAIN, "--model", path, code=1, says=f"{path}: these are weights .*--init")
        self.refused(*words, "", code=1, says="claret: ")
        os.mkdir(self.path("none"))
        says = "claret: w: a folder, where a safetensors file is wanted, such as w/weights.safetensors$"
        self.refused(*words, "w", code=1, says=says)
        self.refused(*TRAIN, "--init", "w", code=1, says=says)
        self.refused(*words, "none", code=1, says="claret: none: a folder, where a safetensors file is wanted$")
        self.write("nan", data[:-4] + b"\0\0\xc0\x7f")
        self.refused(*words, "nan", code=1, says="nan: fc.weight: element 35999 is not finite")
        self.refused(*TRAIN, "--init", "nan", code=1, says="fc.weight: element 35999 is not finite")


class Trained(harness.Case):
    """What eval and predict take from the file or folder of the weights."""

    def test_as_in_training(self):
        self.write("own.net", "input 3 32 32\nflatten\nlinear out_features=10\n")
        normal = ("--mean", "0.1,0.2,0.3", "--std", "0.9")
        trained = self.run_claret(*TRAIN, "--model", "./own.net", *normal, "--val-every", "1", "-o", "run")
        said = re.search(r"Test loss: .*", trained.out).group()
        words = ("eval", "--data", "shapes", "--limit-test", "100", "--weights")
        for name, where in (("weights", "config.ini"), ("best", "best.safetensors")):
            found = self.run_claret(*words, f"run/{name}.safetensors")
            self.assertIn(said, found.out)
            self.assertIn(f"trained with --model ./own.net --mean 0.1,0.2,0.3 --std 0.9, as run/{where} says", found.err)
        self.assertNotIn(said, self.run_claret(*words, "run/weights.safetensors", "--std", "0.5").out)
        # A checkpoint has the network in it; weights name the file that is gone.
        os.rename(self.path("own.net"), self.path("other.net"))
        self.assertIn(said, self.run_claret(*words, "run/best.safetensors").out)
        self.refused(*words, "run/weights.safetensors", code=1, says=["trained with --model ./own.net", "own.net: cannot be opened"])
        self.assertIn(said, self.run_claret(*words, "run/weights.safetensors", "--model", "other.net").out)
        # By themselves they are taken as ever.
        shutil.copy(self.path("run/weights.safetensors"), self.path("alone.safetensors"))
        alone = self.run_claret(*words, "alone.safetensors", "--model", "other.net")
        self.assertNotIn("trained with", alone.err)
        self.assertIn(said, self.run_claret(*words, "alone.safetensors", "--model", "other.net", *normal).out)

    def test_data_of_the_training(self):
        trained = self.run_claret(*TRAIN, "--val-fraction", "0.1", "--val-every", "1", "-o", "run")
        self.assertRegex(trained.out, r"Test loss: .*/100\)")
        for name, where in (("weights", "config.ini"), ("best", "best.safetensors")):
            words = ("eval", "--limit-test", "100", "--weights", f"run/{name}.safetensors")
            by_itself = self.run_claret(*words)
            self.assertIn(f"trained with --data shapes, as run/{where} says", by_itself.err)
            # The test images, which the training left alone: and that is said. By the flag they are the training's.
            self.assertIn("trained with --val-fraction 0.1", by_itself.err)
            self.assertEqual(by_itself.out.split("Speed")[0],
                             self.run_claret(*words, "--val-fraction", "0").out.split("Speed")[0])
            held_out = self.run_claret(*words, "--val-fraction", "0.1")
            self.assertNotIn("held out", held_out.err)
            self.assertIn(re.search(r"Test loss: .*", trained.out).group(), held_out.out)
            for flag in ("--data", "--data-path"):  # wins
                self.refused(*words, flag, "elsewhere", code=1, says="no data set in elsewhere: there is no such folder")
        # Data that have gone are told of with where they were said.
        with open(self.path("run/config.ini"), encoding="utf-8") as file:
            text = file.read()
        self.write("run/config.ini", text.replace("data = shapes", "data = gone"))
        self.refused("eval", "--weights", "run/weights.safetensors", code=1,
                     says=["trained with --data gone, as run/config.ini says", "no data set in gone"])
        self.write("run/config.ini", "nonsense\n" + text.replace("loss = cross_entropy", "loss = none"))
        self.run_claret("eval", "--data", "shapes", "--limit-test", "100", "--weights", "run/weights.safetensors")

    def test_other_data(self):
        self.write("three.net", "input 3 32 32\nflatten\nlinear out_features=3\n")
        self.write("grey.net", "input 1 32 32\nflatten\nlinear out_features=10\n")
        words = ("eval", "--weights", "none", "--data", "shapes", "--model")
        self.refused(*words, "three.net", code=1,
                     says="data have 10 classes, the network three and its weights 3: take the data that it was trained on")
        self.refused(*words, "grey.net", code=1, says="images are 3x32x32, the network grey and its weights take 1x32x32: take data")


if __name__ == "__main__":
    harness.main()
