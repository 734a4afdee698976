"""claret-tune: its search with candidates that go wrong, its records, and claret's use of them."""
import json
import os
import re
import signal
import time

import harness

# Few channels and outputs: few tiles to try.
TINY = "input 1 8 8\nconv1 = conv2d out_channels=2 kernel_size=3\nrelu\nmax_pool2d kernel_size=2\nflatten\n" \
       "fc = linear out_features=2\n"
RUN = ("run", "--model", "./tiny.net", "-b", "3", "--budget", "600")


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.write("tiny.net", TINY)

    def claret(self, *words, **keywords):
        """The command beside the tool."""
        tool = harness.claret
        harness.claret = os.path.join(os.path.dirname(os.path.dirname(tool)), "src", "cli", "claret")
        try:
            return self.run_claret(*words, **keywords)
        finally:
            harness.claret = tool

    def explain(self, *words, **keywords):
        return self.claret("show", "./tiny.net", "-b", "3", "--explain", *words, **keywords)

    def record_file(self):
        folder = self.path("cache", "claret", "tuning")
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
        self.assertEqual(len(names), 1)
        return os.path.join(folder, names[0])

    def load(self):
        with open(self.record_file(), encoding="utf-8") as file:
            return json.load(file)

    def save(self, root):
        with open(self.record_file(), "w", encoding="utf-8") as file:
            json.dump(root, file)

    @staticmethod
    def record_of(root, problem):
        return next(record for record in root["records"] if record["problem"].startswith(problem + " "))


class Usage(Case):
    def test_help(self):
        out = self.run_claret("--help").out
        self.assertLess(out.index("Examples:"), out.index("Usage:"))
        for command in ("run", "list", "show", "export", "clear"):
            self.assertIn(f"\n  {command} ", out)
            self.assertIn("Examples:\n  claret-tune " + command, self.run_claret(command, "--help").out)
        self.assertRegex(self.run_claret("--version").out, r"^claret-tune \d+\.\d+\.\d+\n$")

    def test_manual_page(self):
        self.check_page(harness.claret + ".1", *(self.run_claret(command, "--help").out for command in ("run", "list")))

    def test_wrong(self):
        self.refused(code=2, says="no command")
        self.refused("rnu", code=2, says="did you mean 'run'?")
        self.refused("run", "--bugdet", "3", code=2, says="did you mean --budget?")
        self.refused("list", "--budget", "3", code=2, says="--budget is not an option of claret-tune list")
        self.refused("run", "now", code=2, says="one word too many")
        for name in ("budget", "compile-limit", "run-limit"):
            for value in ("-1", "nan", "x"):
                self.refused("run", f"--{name}={value}", code=2, says=f"--{name}: '{value}' is not a number")
        self.refused("run", "--batch-size", "0", code=2, says="batch-size")
        self.refused("run", "--model", "./no.net", code=1, says="no.net")
        self.refused(*RUN, "--device", "no such device", code=1, says="no such device")
        self.refused(*RUN, code=1, says="no usable", env={"OCL_ICD_VENDORS": self.path()})

    def test_nothing_there(self):
        self.assertEqual(self.run_claret("list").out, "")
        self.assertIn("no tuning records", self.run_claret("show").err)
        self.refused("export", code=1, says="no such tuning records")
        self.refused("list", "--device", "radeon", code=1, says="no such tuning records")
        self.run_claret("clear")


class Search(Case):
    def test_run_and_use(self):
        answer = self.json(self.run_claret(*RUN, "--json"))
        self.assertEqual(list(answer), ["problems", "searched", "changed", "candidates", "faulty", "step_microseconds",
                                        "records"])
        self.assertEqual(answer["searched"], answer["problems"])
        self.assertGreater(answer["candidates"], 3)
        self.assertEqual(answer["faulty"], 0)
        self.assertEqual(answer["records"], self.record_file())
        self.assertEqual(list(answer["step_microseconds"]), ["default", "predicted", "tuned"])
        root = self.load()
        for record in root["records"]:
            self.assertTrue(record["complete"])
            self.assertEqual(len(record["verified"]), 2, record)
            self.assertIn("batch 5", record["verified"][1])
            self.assertGreater(record["seconds"]["median"], 0)
            self.assertRegex(record["kernel_hash"], "^[0-9a-f]{64}$")
            self.assertTrue(record["sources"] and record["date"] and record["driver"])
        # A second run has nothing to do.
        self.assertEqual(self.json(self.run_claret(*RUN, "--json"))["candidates"], 0)
        out = self.run_claret("list").out
        self.assertRegex(out, r"(?m)^    \S+: [\d.]+ us, "
                              r"(\d+\.\d\d times as fast as the default beside it|the default: nothing was faster), ")
        out = self.run_claret("show", "conv2d_relu_pool_dw").out
        self.assertRegex(out, r"(?m)^      (won |lost)  rows:")
        # Times of different moments are not set side by side.
        self.assertIn("      each in turn with the default, at its own time; the best again in the finals above:\n", out)
        self.assertNotRegex(out, r"(?m)^      (won |lost)  .* us")
        self.assertNotIn("linear", out)

        # Nothing but the defaults: no ratio of two times of the same step, in no run.
        self.write("none.json", json.dumps({**root, "records": []}))
        result = self.run_claret(*RUN, "--budget", "0", "--tuning", "none.json")
        self.assertRegex(result.out, r"(?m)^step: [\d.]+ us, by the defaults: nothing faster was found$")
        self.assertNotIn("times as fast", result.out)
        times = self.json(self.run_claret(*RUN, "--budget", "0", "--tuning", "none.json", "--json"))["step_microseconds"]
        self.assertEqual(len(set(times.values())), 1, times)

        # What is used, and when not.
        record = self.record_of(root, "conv2d_relu_pool")
        record["solver"], record["parameters"] = "rows", {"KT": 1}
        self.save(root)
        result = self.run_claret(*RUN)
        self.assertRegex(result.out, r"(?m)^step: [\d.]+ us by the defaults, .* us measured: (\d.\d\d times as fast|no faster by)")
        used = r"(?m)^conv1: rows KT=1 \(record\)"
        unused = r"(?m)^conv1: rows KT=\d \(default\)"
        self.assertRegex(self.explain().out, used)
        self.assertRegex(self.explain("--no-tuning").out, unused)
        self.assertRegex(self.explain("--solver", "conv1=rows:KT=2").out, r"(?m)^conv1: rows KT=2 \(forced\)")
        self.run_claret("export", "mine.json")
        with open(self.path("mine.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), json.loads(self.run_claret("export").out))
        self.assertIn("removed", self.run_claret("clear").out)
        self.assertRegex(self.explain().out, unused)
        self.assertRegex(self.explain("--tuning", "mine.json").out, used)
        self.refused("run", "--tuning", "tiny.net", "--model", "./tiny.net", code=1, says="remove it, or name another")
        with open(self.path("mine.json"), encoding="utf-8") as file:
            root = json.load(file)
        for change, says in (({"kernel_hash": "0"}, "of other kernels"), ({"driver": "9"}, "with another driver")):
            self.record_of(root, "conv2d_relu_pool").update(change)
            self.write("stale.json", json.dumps(root))
            result = self.explain("--tuning", "stale.json")
            self.assertRegex(result.out, unused)
            self.assertIn(says, result.err)
            with open(self.path("mine.json"), encoding="utf-8") as file:
                root = json.load(file)
        self.assertIn("the kernels have changed since", self.list_stale(root))

        # Another driver's: its best three are raced again, nothing else.
        self.record_of(root, "conv2d_relu_pool")["driver"] = "9"
        self.write("again.json", json.dumps(root))
        answer = self.json(self.run_claret(*RUN, "--json", "--tuning", "again.json"))
        self.assertEqual(answer["candidates"], 0)
        with open(self.path("again.json"), encoding="utf-8") as file:
            self.assertNotEqual(self.record_of(json.load(file), "conv2d_relu_pool")["driver"], "9")

    def list_stale(self, root):
        other = json.loads(json.dumps(root))
        self.record_of(other, "conv2d_relu_pool")["kernel_hash"] = "0"
        self.write("old.json", json.dumps(other))
        return self.run_claret("list", "--tuning", "old.json").out

    def test_candidates_that_go_wrong(self):
        for fault, says in (("wrong@KT=", r"wrong results \(batch 3, input 1x8x8\): "),
                            ("crash@KT=", r"crashed \("), ("hang@KT=", "running took more than 8 s")):
            self.run_claret("clear")
            result = self.run_claret(*RUN, "--run-limit", "8", "--json", env={"CLARET_TUNE_FAULT": fault})
            answer = self.json(result)
            self.assertGreaterEqual(answer["faulty"], 1)
            self.assertRegex(result.err, rf"(?m)^conv1.*: rows:KT=\d: {says}")
            for record in self.load()["records"]:
                self.assertNotIn("KT", record["parameters"])
                for trial in record["trials"]:
                    self.assertEqual("KT=" in trial["choice"], "fault" in trial, trial)
            self.assertRegex(self.run_claret("show").out, rf"(?m)^      out   rows:KT=\d: {says}")

    def test_broken_records(self):
        self.run_claret(*RUN, "--budget", "0")
        root, path = self.load(), self.record_file()
        for text, says in (("{", "line 1"), ("{}", "no tuning records"),
                           (json.dumps({**root, "device": {**root["device"], "name": "x"}}), "another device")):
            self.write("bad.json", text)
            result = self.explain("--tuning", "bad.json")
            self.assertRegex(result.err, rf"bad.json.*{says}")
            self.assertNotIn("(record)", result.out)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            result = self.explain()
            self.assertIn(path, result.err)
            self.assertIn("(default)", result.out)
        self.claret("show", "./tiny.net", "--explain", "--tuning", "nowhere.json", code=1)

    def test_lost_candidate(self):
        """A machine that locked up: what was being tried then is not tried again."""
        self.run_claret(*RUN, "--budget", "0")
        problem = self.record_of(self.load(), "conv2d_relu_pool")["problem"] if self.load()["records"] else None
        out = self.explain().out
        problem = problem or re.search(r"(?m)^conv1: .*\n  problem: (.*)$", out).group(1)
        with open(self.record_file() + ".trying", "w", encoding="utf-8") as file:
            json.dump({"problem": problem, "choice": "rows:KT=1"}, file)
        result = self.run_claret(*RUN)
        self.assertIn("ended while it tried rows:KT=1", result.err)
        self.assertFalse(os.path.exists(self.record_file() + ".trying"))
        choices = [trial["choice"] for trial in self.record_of(self.load(), "conv2d_relu_pool")["trials"]]
        self.assertNotIn("rows:KT=1", choices)

    def test_stopped_and_resumed(self):
        process = self.start(*RUN)
        folder = self.path("cache", "claret", "tuning")
        for _ in range(1200):
            names = os.listdir(folder) if os.path.isdir(folder) else []
            if any(name.endswith(".json") for name in names) and sum(len(r["trials"]) for r in self.load()["records"]) > 1:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        result = self.finish(process)
        self.assertEqual(result.code, -signal.SIGINT, str(result))
        self.assertIn("goes on from there", result.err)
        before = sum(len(record["trials"]) for record in self.load()["records"])
        self.assertGreater(before, 1)
        answer = self.json(self.run_claret(*RUN, "--json"))
        after = sum(len(record["trials"]) for record in self.load()["records"])
        self.assertEqual(answer["searched"], answer["problems"])
        self.assertEqual(answer["candidates"], after - before)


if __name__ == "__main__":
    harness.main(name="claret-tune")
