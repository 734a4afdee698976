"""tools/compare_frameworks.py: the networks it brings, its reading of them, its counting, and the whole tool against
programs that only pretend to be PyTorch, TensorFlow and claret. Nothing is timed."""
import glob
import json
import math
import os
import re
import subprocess
import sys
import textwrap

import harness

# What stands for an interpreter: it gets worker.py and a framework's name, or article_torch.py and its arguments.
FRAMEWORKS = """\
    import json, os, sys
    RATES, LOSSES = {rates!r}, {losses!r}
    script, framework = os.path.basename(sys.argv[1]), sys.argv[2]
    if script == "article_torch.py":
        rates = RATES["torch"]
        print("some noise")
        print(json.dumps(dict(images_per_second=rates[0], loss=2.0, steps=int(sys.argv[3]), images=60000,
                              version="2.0", transforms="by hand")))
        sys.exit()
    if script == "accuracy_torch.py" and sys.argv[2] == "folder":  # as arrays: 3 classes of one colour each
        for part, count in (("train", int(sys.argv[5])), ("test", int(sys.argv[6]))):
            for letter, kind, shape, data in (
                    ("x", "|u1", (count, 32, 32, 3), b"".join(bytes([i % 3 * 80] * 3072) for i in range(count))),
                    ("y", "|u1", (count,), bytes(i % 3 for i in range(count)))):
                head = repr(dict(descr=kind, fortran_order=False, shape=shape)).encode()
                head += b" " * (-(len(head) + 11) % 64) + b"\\n"
                with open(os.path.join(sys.argv[4], letter + "_" + part + ".npy"), "wb") as file:
                    file.write(b"\\x93NUMPY\\x01\\x00" + len(head).to_bytes(2, "little") + head + data)
        print("{{}}")
        sys.exit()
    if script == "accuracy_torch.py":
        request = json.load(open(sys.argv[3]))
        assert request["network"]["classes"] == 3 and request["epochs"] == 2, request
        if "torch" not in RATES:
            sys.exit("out of luck")
        print(json.dumps(dict(accuracy=0.5, loss=1.0, seconds=1.0, images_per_second=RATES["torch"][0], version="2.0")))
        sys.exit()
    tuned = "MALLOC_TOP_PAD_" in os.environ
    rates = iter(RATES.get(framework, []))
    for line in sys.stdin:
        request = json.loads(line)
        what = request["do"]
        if what == "hello":
            answer = dict(version="2.0") if framework in RATES else dict(missing="not installed")
        elif what == "prepare":
            header = open(request["data"], "rb").read(400)
            answer = dict() if b'"images"' in header else dict(error="no images")
        elif what == "try":
            answer = dict(tried=dict(slow=1.0, fast=2.0))
        elif what == "losses":
            answer = dict(losses=LOSSES[:request["steps"]])
        elif request["repeat"] == 1:  # still choosing the allocator
            answer = dict(rates=[9.0 if tuned else 5.0])
        else:
            rate = next(rates)
            answer = dict(rates=[rate, 1e9, rate / 2]) if rate else dict(error="broke down")
        print(json.dumps(answer), flush=True)
    """
CLARET = """\
    import json, os, sys
    nan = float("nan")
    RATES, LOSSES, LOG = {rates!r}, {losses!r}, {log!r}
    if "--version" in sys.argv:
        print("claret 0.9.9")
        sys.exit()
    with open(LOG, "a") as file:
        file.write(json.dumps([sys.argv[1:], len(os.sched_getaffinity(0)), dict(os.environ)]) + "\\n")
    if "--losses" in sys.argv:
        print(json.dumps(dict(losses=LOSSES[:int(sys.argv[sys.argv.index("--losses") + 1])], device="D")))
        sys.exit()
    with open(LOG) as file:
        turn = sum('"--losses"' not in line for line in file) - 1
    rate = RATES[turn % len(RATES)]
    if rate is None:
        sys.exit("claret-bench: the device is gone")
    if sys.argv[1] == "train":
        answer = dict(steps=int(sys.argv[sys.argv.index("--max-steps") + 1]), images_per_second=rate, device="D")
    else:
        answer = dict(images_per_second=dict(median=rate, min=rate, max=rate), device="D")
    print(json.dumps(answer))
    """
LOSSES = [2.3, 2.2, 2.1, 2.0, 1.9, 1.8, 1.7, 1.6]


class Tool(harness.Case):
    def setUp(self):
        super().setUp()
        self.log = self.path("log")

    def program(self, name, text, **values):
        path = self.write(name, f"#!{sys.executable}\n" + textwrap.dedent(text).format(**values))
        os.chmod(path, 0o755)
        return path

    def frameworks(self, name="python", losses=tuple(LOSSES), **rates):
        return self.program(name, FRAMEWORKS, rates=rates, losses=list(losses))

    def bench(self, rates, name="claret-bench", losses=tuple(LOSSES)):
        return self.program(name, CLARET, rates=rates, losses=list(losses), log=self.log)

    def calls(self):
        with open(self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def tool(self, *words, code=0, name="compare_frameworks.py"):
        script = os.path.join(harness.source, "tools", name)
        if "--claret" not in words:  # the one that these libraries are of
            words += ("--claret", harness.claret)
        done = subprocess.run([sys.executable, script, *words], cwd=self.folder, env=self.env, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def compare(self, python, bench, *words, code=0):
        return self.tool("--python", python, "--claret-bench", bench, "--json", "out.json", *words, code=code)

    def results(self):
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_numbers(self):
        done = self.compare(self.frameworks(torch=[100, 200, 300], tensorflow=[240, 220, 200]),
                            self.bench([480, 880, 600]), "--rounds", "3", "--batch-size", "2")
        case, = self.results()["cases"]
        self.assertEqual((case["name"], case["batch_size"], case["agree"]), ("simplecnn", 2, True))
        # A turn of three parts gives their median: that of (rate, 1e9, rate / 2).
        self.assertEqual(case["torch"]["rounds"], [100, 200, 300])
        self.assertEqual(case["tensorflow"]["images_per_second"], {"median": 220, "min": 200, "max": 240})
        self.assertEqual(case["better"], "TensorFlow")
        self.assertEqual(case["ratio"], {"median": 3, "min": 2, "max": 4})
        self.assertEqual(case["torch"]["variant"], "fast, malloc keeps memory")
        self.assertEqual(len(case["torch"]["tried"]), 4)
        self.assertRegex(done.stdout, r"(?m)^simplecnn, batch 2 +200 \(100–300\) +220 \(200–240\) +600 \(480–880\) +"
                                      r"3\.00x \(2\.00–4\.00\) TensorFlow$")
        self.assertRegex(done.stdout, r"(?m)^machine: .+; threads: \d+$")
        self.assertRegex(done.stdout, r"(?m)^versions: PyTorch 2\.0, TensorFlow 2\.0, claret 0\.9\.9 on D$")
        self.assertEqual(len(re.findall("(?m), round [123] of 3: ", done.stderr)), 3)

    def test_what_claret_is_given(self):
        self.compare(self.frameworks(torch=[1]), self.bench([1]), "--rounds", "1", "--batch-size", "2", "--quiet",
                     "--threads", "1", "--claret-options", "--no-fuse --verbose")
        (losses, *_), (step, cpus, env) = self.calls()
        self.assertIn("--losses", losses)
        self.assertEqual(step[0], "step")
        model = step[step.index("--model") + 1]
        self.assertTrue(os.path.isabs(model) and model.endswith("simplecnn.net"), model)
        for key, value in (("--batch-size", "2"), ("--repeat", "3"), ("--seconds", "1"), ("--device", "cpu")):
            self.assertEqual(step[step.index(key) + 1], value)
        self.assertEqual(step[-2:], ["--no-fuse", "--verbose"])
        for key in ("--init", "--data-file"):
            self.assertEqual(losses[losses.index(key) + 1], step[step.index(key) + 1])
        self.assertEqual(cpus, 1)
        if os.cpu_count() > 1:
            self.assertEqual(env["POCL_MAX_PTHREAD_COUNT"], "1")

    def test_sets(self):
        self.compare(self.frameworks(torch=[1]), self.bench([1]), "--rounds", "1", "--set", "siblings", "--set", "vgg",
                     "--batch-size", "1", "--quiet")
        names = [case["name"] for case in self.results()["cases"]]
        self.assertGreaterEqual(len([name for name in names if name.startswith("sibling-")]), 6)
        self.assertIn("vgg-like", names)

    def test_own_model(self):
        self.write("my.net", "input 1 4 4\nflatten\nlinear out_features=3\n")
        done = self.compare(self.frameworks(torch=[1], tensorflow=[1]), self.bench([2]), "--rounds", "1", "--model",
                            "my.net", "--batch-size", "1,3", "--quiet")
        self.assertEqual(done.stderr, "")
        self.assertEqual([(case["name"], case["batch_size"]) for case in self.results()["cases"]],
                         [("my", 1), ("my", 3)])
        self.write("my.net", "input 1 4 4\nflatten\nlinear out_feature=3\n")
        done = self.compare(self.frameworks(torch=[1]), self.bench([2]), "--model", "my.net", code=1)
        self.assertIn("my.net:3:8: linear has no key 'out_feature'", done.stderr)

    def test_one_framework(self):
        python = self.frameworks(torch=[100])
        done = self.compare(python, self.bench([300]), "--rounds", "1", "--batch-size", "2")
        self.assertIn(f"TensorFlow is not installed for {python}: pip install tensorflow-cpu", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^simplecnn, batch 2 .* - +300 .* 3\.00x \(3\.00–3\.00\) PyTorch$")

    def test_a_python_for_each(self):
        other = self.frameworks("other", tensorflow=[200])
        self.compare(self.frameworks(torch=[100]), self.bench([300]), "--python", other, "--rounds", "1", "--quiet",
                     "--batch-size", "2")
        self.assertEqual(self.results()["cases"][0]["ratio"]["median"], 1.5)

    def test_no_framework(self):
        # An interpreter as real as can be: the worker itself runs, the two packages are hidden from it.
        python = self.program("python", """\
            import runpy, sys
            sys.modules.update(torch=None, tensorflow=None)
            sys.argv = sys.argv[1:]
            sys.path.insert(0, sys.argv[0].rpartition("/")[0])
            runpy.run_path(sys.argv[0], run_name="__main__")
            """)
        done = self.compare(python, self.bench([1]), code=1)
        self.assertEqual(done.stdout, "")
        for text in (f"PyTorch is not installed for {python}", f"TensorFlow is not installed for {python}",
                     f"{python} -m pip install torch`", f"{python} -m pip install tensorflow-cpu`"):
            self.assertIn(text, done.stderr)
        done = self.tool("--article", "--python", python, "--claret", self.bench([1], "claret"), code=1)
        self.assertIn(f"{python} -m pip install torch`", done.stderr)
        done = self.compare(self.path("nowhere"), self.bench([1]), code=1)
        self.assertIn("nowhere: No such file", done.stderr)

    def test_broken_framework(self):
        python = self.program("python", """\
            import sys
            sys.exit("libtorch.so: cannot open shared object file")
            """)
        done = self.compare(python, self.bench([1]), code=1)
        self.assertIn("PyTorch ended (exit code 1): libtorch.so: cannot open", done.stderr)

    def test_no_claret(self):
        done = self.compare(self.frameworks(torch=[1]), self.path("nowhere"), code=1)
        self.assertIn("nowhere is not a program", done.stderr)

    def test_failures_on_the_way(self):
        done = self.compare(self.frameworks(torch=[1]), self.bench([None]), "--batch-size", "2", code=1)
        self.assertIn("claret-bench: exit code 1: claret-bench: the device is gone", done.stderr)
        done = self.compare(self.frameworks(torch=[None]), self.bench([1]), "--batch-size", "2", code=1)
        self.assertIn("PyTorch: broke down", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_losses_that_differ(self):
        for losses in ([2.3, 2.2, 2.1, 2.0, 1.9, 1.8, 1.7, 1.6004], [float("nan")] * 8, [None] * 8, LOSSES[:5]):
            done = self.compare(self.frameworks(torch=[1]), self.bench([1], losses=losses), "--batch-size", "2",
                                code=1)
            self.assertIn("this is not the same training", done.stderr)
            self.assertFalse(os.path.exists(self.path("out.json")))
        self.compare(self.frameworks(torch=[1]), self.bench([1], losses=[loss * (1 + 5e-5) for loss in LOSSES]),
                     "--batch-size", "2", "--rounds", "1")

    def test_article(self):
        done = self.tool("--article", "--python", self.frameworks(torch=[500]), "--claret",
                         self.bench([20000, 15000], "claret"), "--rounds", "2", "--data", "some", "--json", "out.json",
                         "--article-steps", "70", "--claret-steps", "90")
        (words, *_), _ = self.calls()
        self.assertEqual(words[words.index("--data") + 1], self.path("some"))
        self.assertEqual(words[words.index("--max-steps") + 1], "90")
        result = self.results()["article"]
        self.assertEqual(result["ratio"], {"median": 35, "min": 30, "max": 40})
        self.assertEqual((result["torch"]["steps"], result["claret"]["steps"]), (70, 90))
        self.assertTrue(1 < result["claret"]["peak_mib"]["median"] < 1000)
        self.assertRegex(done.stdout, r"(?m)^images/s +500 \(500–500\) +17,500 \(15,000–20,000\) +"
                                      r"35\.00x \(30\.00–40\.00\)$")
        self.assertRegex(done.stdout, r"(?m)^peak memory, MiB ")

    def accuracy(self, *words, code=0):
        return self.tool("--model", "./few.net", "--train", "30", "--test", "6", "--epochs", "2", "--batch-size", "5", *words,
                         code=code, name="compare_accuracy.py")

    def test_accuracy(self):
        """claret itself trains, on what the other side wrote."""
        self.write("few.net", "input 3 32 32\nflatten\nfc = linear out_features=3\n")
        python = self.frameworks(torch=[500])
        done = self.accuracy("--python", python, "--json", "rows.json")
        self.assertRegex(done.stdout, r"(?m)^\./few\.net +9,219 +30, 2, 5, 0\.02 +50\.0% +(33\.3|50\.0|66\.7|83\.3|100\.0)%$")
        with open(self.path("rows.json"), encoding="utf-8") as file:
            row, = json.load(file)
        self.assertEqual((row["name"], row["torch"]["accuracy"], row["train"]), ("./few.net", 0.5, 30))
        self.assertIn(f"{row['claret']['accuracy']:.1%}", done.stdout)
        again = self.accuracy("--python", self.frameworks(), "--json", "rows.json")
        self.assertEqual(again.stdout, done.stdout)
        self.assertNotIn("trains", again.stderr)

    def test_accuracy_failures(self):
        self.write("few.net", "input 3 32 32\nflatten\nfc = linear out_features=3\n")
        done = self.accuracy("--python", self.frameworks(torch=[500]), "--data", "nowhere", "--model", "none.net", code=1)
        self.assertIn("none.net: No such file", done.stderr)
        self.assertIn("PyTorch is not installed", self.accuracy("--python", self.frameworks(), code=1).stderr)
        self.assertIn("above 0", self.accuracy("--lr", "0", code=2).stderr)

    def test_usage(self):
        for words, text in ((["--set", "vg"], "--set"), (["--batch-size", "0"], "--batch-size"),
                            (["--threads", "99999"], "CPUs"), (["--article", "--set", "vgg"], "--article"),
                            (["--rounds", "x"], "--rounds"), (["--seconds", "nan"], "--seconds")):
            self.assertIn(text, self.tool(*words, code=2).stderr)
        self.assertIn("--claret-options", self.tool("--help").stdout)


class Worker(harness.Case):
    def test_protocol(self):
        self.write("lib/pretended.py", "__version__ = '3.1'\n")
        self.write("lib/pretended_steps.py", textwrap.dedent("""\
            VARIANTS = {"good": None, "absent": None}

            def use_threads(count):
                print("threads:", count)

            class Training:
                def __init__(self, request, variant):
                    self.done, self.lr = 0, request["lr"]
                    if variant == "absent":
                        raise RuntimeError("not in this release")

                def step(self):
                    self.done += 1

                def last_loss(self):
                    if self.lr < 0:
                        raise ValueError('Graph error:\\n  File "x"\\n\\nThe reason.\\n\\t[[node]]')
                    return 1 / self.done
            """))
        script = os.path.join(harness.source, "tools", "compare", "worker.py")
        prepare = {"do": "prepare", "threads": 2, "batch": 4, "lr": 1}
        requests = [{"do": "hello"}, prepare, {"do": "try", "seconds": 1e-3}, {"do": "losses", "steps": 4},
                    {"do": "measure", "repeat": 3, "seconds": 1e-3}, {**prepare, "lr": -1},
                    {"do": "losses", "steps": 1}]
        done = subprocess.run([sys.executable, script, "pretended"], timeout=60, check=True, capture_output=True,
                              input="".join(json.dumps(request) + "\n" for request in requests), text=True,
                              env={**self.env, "PYTHONPATH": self.path("lib")})
        hello, prepared, tried, losses, measured, _, failed = map(json.loads, done.stdout.splitlines())
        self.assertEqual((hello, prepared), ({"version": "3.1"}, {}))
        self.assertEqual(list(tried["tried"]), ["good"])
        self.assertEqual(losses["losses"], [1, 1 / 2, 1 / 3, 1 / 4])
        self.assertEqual(len(measured["rates"]), 3)
        self.assertTrue(all(rate > 0 for rate in measured["rates"]))
        self.assertEqual(failed, {"error": "The reason."})
        self.assertIn("threads: 2", done.stderr)


class Networks(harness.Case):
    """What the tool takes of a network that claret shows."""

    def setUp(self):
        super().setUp()
        folder = os.path.join(harness.source, "tools", "compare")
        if folder not in sys.path:
            sys.path.insert(0, folder)
        import network
        self.network = network

    def load(self, text):
        return self.network.read(json.loads(self.run_claret("show", self.write("x.net", textwrap.dedent(text)),
                                                            "--json").out), "x.net")

    def test_parameters(self):
        """As many as claret counts; a batch_norm2d's running statistics besides."""
        paths = glob.glob(os.path.join(harness.source, "tools", "networks", "*.net"))
        paths += glob.glob(os.path.join(harness.source, "models", "*.net"))
        self.assertGreater(len(paths), 8)
        for path in paths:
            shown = json.loads(self.run_claret("show", path, "--json").out)
            if {layer["op"] for layer in shown["layers"]} <= set(self.network.OPS):
                ours = self.network.parameters(self.network.read(shown, path))
                parameters = sum(math.prod(shape) for name, _, shape, _, _ in ours
                                 if name.endswith((".weight", ".bias")))
                self.assertEqual(parameters, shown["parameters"], path)

    def test_values(self):
        net = self.load("""\
            # a comment
            block pair(channels)
              a = conv2d out_channels=channels kernel_size=3,5 padding=1,2 stride=2,1 bias=False # another
              pool = max_pool2d kernel_size=2,1 stride=1
              relu from=a
              avg_pool2d kernel_size=2,1 stride=1
            end

            input 2 9 7
            one = pair channels=3
            add from=one.pool,one
            flatten
            max = linear out_features=4 in_features=84
            """)
        conv, pool, relu, _, add, flat, linear = net["layers"]
        self.assertEqual((conv["kernel_size"], conv["padding"], conv["stride"], conv["dilation"], conv["bias"]),
                         ([3, 5], [1, 2], [2, 1], [1, 1], False))
        self.assertEqual((conv["shape"], pool["shape"], pool["stride"]), ([3, 5, 7], [3, 4, 7], [1, 1]))
        self.assertEqual((relu["from"], relu["name"], flat["shape"], net["classes"]), ([0], "one.relu1", [84], 4))
        self.assertEqual((add["from"], linear["in"]), ([1, 3], [84]))
        names = [name for name, *_ in self.network.parameters(net)]
        self.assertEqual(names, ["one.a.weight", "max.weight", "max.bias"])

    def test_newer_layers(self):
        net = self.load("""\
            input 3 8 6
            group_norm num_groups=3 affine=false
            t = conv_transpose2d out_channels=4 kernel_size=2 stride=2 groups=1
            layer_norm bias=false
            g = group_norm num_groups=2
            upsample scale_factor=2,1 mode=bilinear
            flatten
            linear out_features=2
            """)
        shapes = {name: shape for name, _, shape, _, _ in self.network.parameters(net)}
        self.assertEqual(shapes, {"t.weight": [3, 4, 2, 2], "t.bias": [4], "layer_norm1.weight": [4, 16, 12], "g.weight": [4],
                                  "g.bias": [4], "linear1.weight": [2, 1536], "linear1.bias": [2]})
        self.assertEqual(net["layers"][4]["mode"], "bilinear")

    def test_dropout(self):
        text = "input 1 4 4\ndropout p=0.5 # half\nlast.drop = dropout\n# dropout p=1\nflatten\n"
        self.assertEqual(self.network.without_dropout(text),
                         "input 1 4 4\ndropout p=0# half\nlast.drop = dropout p=0\n# dropout p=1\nflatten\n")

    def test_errors(self):
        for text, says in (("input 1 4 4\ngelu\nflatten\n", "x.net: gelu1: .*no op 'gelu'"),
                           ("input 1 4 4\nadaptive_avg_pool2d output_size=2\nflatten\n", "output_size of 1 alone")):
            with self.assertRaisesRegex(self.network.NetworkError, says):
                self.load(text)
        with self.assertRaisesRegex(self.network.NetworkError, "^.*y.net:2:1: unknown op 'wrong'"):
            self.network.load(self.write("y.net", "input 1 4 4\nwrong\n"), harness.claret)


class Counting(harness.Case):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, os.path.join(harness.source, "tools", "compare"))
        self.addCleanup(sys.path.pop, 0)

    def test_statistics(self):
        import report
        self.assertEqual(report.Spread([3, 1, 2, 10]).as_dict(), {"median": 2.5, "min": 1, "max": 10})
        self.assertEqual(report.ratios([4, 9], [2, 3]), [2, 3])
        self.assertEqual(report.disagreement([1.0, 2.0], [1.0, 2.0]), 0)
        self.assertAlmostEqual(report.disagreement([1.0, 2.2], [1.0, 2.0]), 0.1)
        self.assertAlmostEqual(report.disagreement([1.1, 2.0], [1.0, 2.0]), 0.1)
        nan = float("nan")
        for a, b in (([1, nan], [1, 2]), ([nan, 1], [1, 1]), ([1, 2], [nan, 2]), ([1], [1, 2]), ([nan], [nan])):
            self.assertEqual(report.disagreement(a, b), float("inf"))
        self.assertEqual(report.spread_text({"median": 12345.6, "min": 99.94, "max": 2e6}), "12,346 (99.9–2,000,000)")

    def test_same_training(self):
        import report
        near, nan, inf = 1.00005, float("nan"), float("inf")
        for same, own, others in (
                (True, [1, 1, 1], [[1, near, 1]]),
                (True, [1, 1, 1], [[1, near, 1], [1, 1, near]]),
                (False, [1, 1, 1.001], [[1, 1, 1]]),                        # one framework alone: nothing to judge by
                (True, [1, 1, 1.001], [[1, 1, 1], [1, 1, 1.0005]]),         # they come apart at the third step
                (False, [1, 1, 1.01], [[1, 1, 1], [1, 1, 1.0005]]),         # too far from both
                (False, [1, 1.001, 1], [[1, 1, 1], [1, 1, 1.0005]]),        # they agree at the second step
                (True, [1, 1.001, 1], [[1, 1, 1], [1, 1.0005, 1]]),         # … and here do not
                (True, [1, 1.001, 1], [[1, 1.0005, 1], [1, 1, 1]]),
                (False, [1.001, 1, 1], [[1, 1, 1], [1.0005, 1, 1]]),        # the first step is the same weights' alone
                (False, [1.001, 1, 1], [[1, 1, 1], [1, 1.0005, 1]]),
                (False, [1, 1, nan], [[1, 1, 1], [1, 1, 1.0005]]),
                (False, [1, 1, 1], [[1, 1, 1], [1, 1, nan]]),
                (False, [nan, 1, 1], [[1, 1, 1], [1, 1, 1.0005]]),
                (False, [1, 1, inf], [[1, 1, 1], [1, 1, inf]]),
                (False, [1, 1], [[1, 1, 1]])):
            self.assertEqual(report.same_training(own, others, 1e-4), same, (own, others))

    def test_tensors(self):
        import tensors
        path = self.path("x.safetensors")
        tensors.write_data(path, [3, 5, 7], 1000, 10, seed=3)  # more than one piece
        content = tensors.read(path)
        kind, shape, data = content["images"]
        self.assertEqual((kind, shape, len(data)), ("F32", [1000, 3, 5, 7], 4 * 1000 * 105))
        values = tensors.little_endian("F32", [])
        values.frombytes(data)
        self.assertTrue(all(-1 <= value <= 1 for value in values))
        self.assertGreater(len(set(values)), 200)
        kind, shape, data = content["labels"]
        labels = tensors.little_endian("I64", [])
        labels.frombytes(data)
        self.assertEqual((kind, shape, set(labels)), ("I64", [1000], set(range(10))))
        parameters = [("b", "F32", [20], 1, 0.5), ("a", "F32", [3, 20], 0, 0.1), ("n", "I64", [], 0, 0)]
        tensors.write_weights(path, parameters, seed=1)
        with open(path, "rb") as file:
            first = file.read()
        content = tensors.read(path)
        self.assertEqual(list(content), ["a", "b", "n"])
        for name, low, high in (("a", -0.1, 0.1), ("b", 0.5, 1.5)):  # each within its own bound
            values = tensors.little_endian("F32", [])
            values.frombytes(content[name][2])
            self.assertTrue(all(low <= value <= high for value in values))
            self.assertGreater(max(values) - min(values), 0.7 * (high - low))
        self.assertEqual(int.from_bytes(first[:8], "little") % 8, 0)
        tensors.write_weights(path, parameters, seed=1)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), first)


if __name__ == "__main__":
    harness.main(device=False)
