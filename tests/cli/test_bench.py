"""claret-bench: its options, the keys of its JSON. Nothing here depends on how long a thing takes."""
import copy
import csv
import io
import json
import os
import struct

import harness

SHORT = ["--seconds", "0.001", "--repeat", "2", "--no-cache"]
TINY = """input 1 8 8
conv1 = conv2d out_channels=4 kernel_size=3
relu
max_pool2d kernel_size=2
flatten
fc = linear out_features=3
"""
LAUNCH_KEYS = ["name", "solver", "microseconds", "share", "gflops", "gbytes_per_second", "roof_share"]
SPREAD_KEYS = ["median", "min", "max"]
TWO = {"POCL_DEVICES": "pthread basic"}


def read_tensors(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (row["dtype"], row["shape"], data[8 + size:][slice(*row["data_offsets"])])
            for name, row in header.items()}


def tensor_file(tensors):
    header, payload = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(payload), len(payload) + len(data)]}
        payload += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + payload


class Usage(harness.Case):
    def test_help(self):
        for words in (["--help"], ["step", "--help"], ["-h", "compare"]):
            out = self.run_claret(*words).out
            self.assertLess(out.index("Examples:"), out.index("Usage:"))
        self.assertRegex(self.run_claret("--version").out, r"^claret-bench \d+\.\d+\.\d+\n$")

    def test_manual_page(self):
        self.check_page(harness.claret + ".1", *(self.run_claret(command, "--help").out
                                                 for command in ("device", "step", "ops", "train", "compare")))

    def test_wrong(self):
        self.refused(code=2, says="no command")
        self.refused("stpe", code=2, says="did you mean 'step'?")
        self.refused("step", "--bach-size", "3", code=2, says="did you mean --batch-size?")
        self.refused("device", "--steps", "3", code=2, says="--steps is not an option of claret-bench device")
        self.refused("step", "--repeat", code=2, says="--repeat needs a value")
        self.refused("step", "--json=1", code=2, says="--json takes no value")
        self.refused("step", "now", code=2, says="'now' is one word too many")
        self.refused("step", "-Z", code=2, says="no option -Z; see claret-bench --help")
        self.refused("step", "--json", "--csv", code=2, says="either --json or --csv")
        self.refused("step", "--losses", "3", code=2, says="--losses needs --data-file")
        self.refused("compare", "a.json", code=2, says="two results")
        for name, values in {"repeat": ("0", "x"), "seconds": ("-1", "nan", "1e9"), "batch-size": ("0",)}.items():
            for value in values:
                self.refused("step", f"--{name}={value}", code=2, says=f"--{name}: '{value}' is not")

    def test_not_there(self):
        self.refused("step", "--model", "./no.net", *SHORT, code=1, says="no.net")
        self.refused("step", "--device", "no such device", *SHORT, code=2, says="no such device")
        self.refused("ops", "--case", "conv-cifra", *SHORT, code=2, says="did you mean 'conv-cifar'?")
        self.refused("compare", "a.json", "b.json", code=1, says="a.json")
        self.refused("step", code=3, says="no usable", env={"OCL_ICD_VENDORS": self.path()})
        self.refused("step", "--device", "all", code=3, says="no usable", env={"OCL_ICD_VENDORS": self.path()})


class Step(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("tiny.net", TINY)

    def step(self, *words, **keywords):
        return self.run_claret("step", "--model", "./tiny.net", "-b", "3", *SHORT, *words, **keywords)

    def spread(self, value):
        self.assertEqual(list(value), SPREAD_KEYS)
        self.assertLessEqual(value["min"], value["median"])
        self.assertLessEqual(value["median"], value["max"])

    def check(self, answer):
        self.spread(answer["images_per_second"])
        self.assertGreater(answer["images_per_second"]["min"], 0)
        self.assertIn("Portable Computing Language", answer["device"])
        self.assertGreaterEqual(answer["host_gap_share"], 0)
        self.assertEqual((answer["model"], answer["batch_size"]), ("tiny", 3))
        self.assertTrue(answer["launches"])
        for launch in answer["launches"]:
            self.assertEqual([key for key in launch if key in LAUNCH_KEYS], LAUNCH_KEYS)
            self.assertGreater(launch["microseconds"], 0)
            self.assertIsInstance(launch["wall_clock"], bool)

    def test_json(self):
        fused = self.json(self.step("--json"))
        apart = self.json(self.run_claret("--json", "step", "--no-fuse", "--model=./tiny.net", "-b3", *SHORT))
        self.check(fused)
        self.check(apart)
        self.assertGreater(len(apart["launches"]), len(fused["launches"]))

    def test_text(self):
        result = self.step()
        self.assertRegex(result.out, r"^tiny, batch 3: \d+ images/s ")
        self.assertRegex(result.err, r"(?m)^device 0 \(0:0\): ")

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.step("--csv").out)))
        self.assertTrue(rows)
        for row in rows:
            self.assertNotIn(None, row)
            self.assertEqual(row["model"], "tiny")
            self.assertGreater(float(row["microseconds"]), 0)
            self.assertGreater(float(row["images_per_second.median"]), 0)

    def test_all_devices(self):
        answer = self.json(self.step("--device", "all", "--json", env=TWO))
        self.assertEqual(list(answer), ["results"])
        self.assertEqual(len(answer["results"]), 2)
        for result in answer["results"]:
            self.check(result)

    def test_compare(self):
        self.write("a.json", self.step("--json").out)
        same = self.json(self.run_claret("compare", "a.json", "a.json", "--json"))
        self.assertGreater(same["compared"], 1)
        self.assertEqual((same["changed"], same["only_a"], same["only_b"]), ([], [], []))
        with open(self.path("a.json"), encoding="utf-8") as file:
            same_result = json.load(file)
        other = copy.deepcopy(same_result)
        other["images_per_second"] = {key: 10 * other["images_per_second"]["max"] for key in SPREAD_KEYS}
        other["launches"][0]["name"] = "another"
        self.write("b.json", json.dumps(other))
        changed = self.json(self.run_claret("compare", "a.json", "b.json", "--json"))
        self.assertEqual([row["what"] for row in changed["changed"]], ["images_per_second"])
        self.assertGreater(changed["changed"][0]["ratio"], 1)
        self.assertEqual((len(changed["only_a"]), changed["only_b"]), (1, ["another"]))
        self.assertIn("1 changed", self.run_claret("compare", "a.json", "b.json").out)
        # Of several devices: whose it is, once, and every row's own name.
        for name, result in (("a", same_result), ("b", other)):
            result["device"] = "a device with quite a long name, of a platform with a long name, driver 1.2.3"
            self.write(f"{name}s.json", json.dumps({"results": [result]}))
        lines = self.run_claret("compare", "as.json", "bs.json").out.splitlines()
        self.assertIn("driver 1.2.3", lines[0])
        self.assertEqual(lines[2].split()[0], "images_per_second")
        self.write("c.json", "[1")
        self.refused("compare", "a.json", "c.json", code=1, says="c.json is not JSON")
        self.write("c.json", "{}")
        self.refused("compare", "a.json", "c.json", code=1, says="no measurement in common")


class Losses(harness.Case):
    """The losses of PyTorch from the same weights and batches (tests/golden)."""

    def files(self):
        golden = read_tensors(os.path.join(harness.source, "tests", "golden", "simplecnn.safetensors"))
        values = [(value / 255 - 0.5) / 0.5 for value in golden["images"][2]]
        images = struct.pack(f"<{len(values)}f", *values)
        self.write("init.safetensors", tensor_file({name[5:]: tensor for name, tensor in golden.items()
                                                    if name.startswith("init.")}))
        self.write("data.safetensors", tensor_file({"images": ("F32", golden["images"][1], images),
                                                    "labels": golden["labels"]}))
        return struct.unpack(f"<{len(golden['losses'][2]) // 4}f", golden["losses"][2])

    def test_golden(self):
        wanted = self.files()
        words = ["step", "-b", "4", "--data-file", "data.safetensors", "--init", "init.safetensors", "--no-cache"]
        answer = self.json(self.run_claret(*words, "--losses", "20", "--json"))
        self.assertEqual(len(answer["losses"]), 20)
        for got, want in zip(answer["losses"], wanted):
            self.assertLess(abs(got - want), 1e-4 * want)
        self.assertEqual(len(self.run_claret(*words, "--losses", "3").out.splitlines()), 3)
        answer = self.json(self.run_claret(*words, *SHORT, "--json"))
        self.assertGreater(answer["images_per_second"]["min"], 0)
        self.refused(*words[:2], "65", *words[3:], "--losses", "1", code=2, says="64 images")

    def test_bad_files(self):
        self.write("data.safetensors", tensor_file({"labels": ("I64", [1], struct.pack("<q", 0))}))
        words = ["step", "-b", "1", "--data-file", "data.safetensors", "--losses", "1"]
        self.refused(*words, code=1, says="images")
        self.write("data.safetensors", tensor_file({"labels": ("I64", [1], struct.pack("<q", 0)),
                                                    "images": ("F32", [2], bytes(8))}))
        self.refused(*words, code=1, says="images has 2 numbers")


class Others(harness.Case):
    def test_device(self):
        answer = self.json(self.run_claret("device", *SHORT, "--json"))
        self.assertEqual(list(answer["peak_gflops"]), ["1", "4", "8", "16"])
        self.assertTrue(answer["copy_gbytes_per_second"])
        spreads = [*answer["peak_gflops"].values(), *answer["copy_gbytes_per_second"].values(),
                   answer["launch_microseconds"], answer["queued_launch_microseconds"],
                   answer["read_back_microseconds"]]
        for spread in spreads:
            self.assertEqual(list(spread), SPREAD_KEYS)
            self.assertGreater(spread["min"], 0)

    def test_ops(self):
        answer = self.json(self.run_claret("ops", "--case", "chain-simplecnn", *SHORT, "--json"))
        self.assertTrue({"conv2d", "linear", "update"} <= {row["op"] for row in answer["ops"]})
        keys = [(row["node"], row["solver"]) for row in answer["ops"]]
        for row in answer["ops"]:
            self.assertEqual(row["case"], "chain-simplecnn")
            self.assertGreater(row["microseconds"], 0)
        self.assertTrue(any(solver.endswith("by plain") for _, solver in keys), keys)
        self.write("tiny.net", TINY)
        answer = self.json(self.run_claret("ops", "--model", "./tiny.net", "-b", "2", *SHORT, "--json"))
        self.assertEqual({row["case"] for row in answer["ops"]}, {"tiny"})

    def test_train(self):
        answer = self.json(self.run_claret("train", "--data", "shapes", "-b", "4", "--steps", "5", "--repeat", "2",
                                           "--no-cache", "--json"))
        self.assertEqual(list(answer["images_per_second"]), SPREAD_KEYS)
        self.assertEqual(answer["steps"], 5)
        self.refused("train", "--data", "./no", code=1, says="./no")
        self.refused("train", "--data", "shapes", "-b", "20000", code=2, says="10000 training images")


if __name__ == "__main__":
    harness.main(name="claret-bench")
