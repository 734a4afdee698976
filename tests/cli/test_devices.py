"""claret devices, and the choice of a device."""
import os
import re

import harness

PLATFORM_KEYS = ["index", "name", "vendor", "version"]
DEVICE_KEYS = ["index", "id", "platform", "name", "vendor", "type", "compute_units", "global_mem", "local_mem",
               "max_alloc", "max_work_group", "opencl_c", "fp16", "fp64", "subgroups", "command_buffer", "driver",
               "usable", "reason"]
NUMBERS = ("index", "platform", "compute_units", "global_mem", "local_mem", "max_alloc", "max_work_group")
SWITCHES = ("fp16", "fp64", "subgroups", "command_buffer", "usable")
TWO = {"POCL_DEVICES": "pthread basic"}
CHOICE = r"(?m)^device (\d+) \((\d+:\d+)\): (.+), (.+), driver (.+)$"


class Devices(harness.Case):
    def test_table(self):
        result = self.run_claret("devices")
        self.assertRegex(result.out, r"(?m)^platform 0: Portable Computing Language, ")
        self.assertRegex(result.out, r"(?m)^ +0 +0:0 +cpu .* usable$")
        self.assertNotIn("not usable", result.out)

    def test_json(self):
        result = self.run_claret("devices", "--json")
        answer = self.json(result)
        self.assertEqual(list(answer), ["platforms", "devices"])
        self.assertEqual(len(answer["platforms"]), 1)
        for index, platform in enumerate(answer["platforms"]):
            self.assertEqual(list(platform), PLATFORM_KEYS)
            self.assertEqual(platform["index"], index)
        self.assertEqual(len(answer["devices"]), 1)
        device = answer["devices"][0]
        self.assertEqual(list(device), DEVICE_KEYS)
        for key, value in device.items():
            kind = int if key in NUMBERS else bool if key in SWITCHES else str
            self.assertIs(type(value), kind, key)
        self.assertEqual((device["index"], device["id"], device["platform"], device["type"]), (0, "0:0", 0, "cpu"))
        self.assertEqual((device["usable"], device["reason"]), (True, ""))
        self.assertGreater(device["global_mem"], device["local_mem"])
        self.assertRegex(device["opencl_c"], r"\A\d\.\d\Z")
        self.assertIn("0:0", result.err)  # the table goes there

    def test_two_devices_on_one_platform(self):
        answer = self.json(self.run_claret("devices", "--json", "-q", env=TWO))
        self.assertEqual([d["id"] for d in answer["devices"]], ["0:0", "0:1"])
        self.assertEqual([d["index"] for d in answer["devices"]], [0, 1])

    def test_only_the_chosen(self):
        """Its number stays; the environment's choice is not one of the list."""
        answer = self.json(self.run_claret("devices", "--json", "-q", env={**TWO, "CLARET_DEVICE": "0"}))
        self.assertEqual(len(answer["devices"]), 2)
        for words in (["--device", "1"], ["--device=0:1"], ["--platform", "0", "--device", "1"]):
            chosen = self.json(self.run_claret("devices", "--json", "-q", *words, env=TWO))
            self.assertEqual(chosen["devices"], answer["devices"][1:])
        self.assertRegex(self.run_claret("devices", "--device", "1", env=TWO).out, r"(?m)^   1  0:1  .*(?!\n   0)")
        self.assertNotRegex(self.run_claret("devices", "--device", "1", env=TWO).out, r"(?m)^   0  0:0")
        self.refused("devices", "--device", "7", code=2, says='there is no device "7"; there are:')

    def test_nothing(self):
        os.mkdir(self.path("none"))
        env = {"OCL_ICD_VENDORS": self.path("none")}
        result = self.run_claret("devices", code=3, env=env)
        self.assertIn("no usable OpenCL device", result.err)
        self.assertIn("pocl-opencl-icd", result.out)  # what to install
        self.assertIn("OCL_ICD_VENDORS is set to", result.out)
        self.assertEqual(self.json(self.run_claret("devices", "--json", code=3, env=env)),
                         {"platforms": [], "devices": []})
        result = self.refused(*harness.TRAIN, code=3, says="no usable OpenCL device", env=env)
        self.assertIn("pocl-opencl-icd", result.err)
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_a_driver_that_cannot_be_loaded(self):
        self.write("vendors/broken.icd", "libno-such-driver.so.1\n")
        answer = self.json(self.run_claret("devices", "--json"))
        self.assertTrue([d for d in answer["devices"] if d["usable"]])


class Choice(harness.Case):
    def chosen(self, *words, **keywords):
        """The device that would be used. Kernels that are not there end it before anything is compiled."""
        result = self.run_claret("show", "simplecnn", "--dump-plan", "--kernel-dir", "nowhere", *words, code=1,
                                 **keywords)
        match = re.search(CHOICE, result.err)
        self.assertTrue(match, str(result))
        return int(match.group(1))

    def test_selectors(self):
        answer = self.json(self.run_claret("devices", "--json", env=TWO))
        names = [d["name"] for d in answer["devices"]]
        basic = [i for i, name in enumerate(names) if name.startswith("basic")][0]
        for words in (["--device", str(basic)], [f"--device=0:{basic}"], ["--device", "BASIC"],
                      ["--platform=portable", "--device", "basic"], ["--platform", "0", "--device", str(basic)]):
            self.assertEqual(self.chosen(*words, env=TWO), basic, words)
        self.assertEqual(self.chosen("--device", "cpu", env=TWO), 0)
        self.assertEqual(self.chosen(env=TWO), 0)
        self.assertEqual(self.chosen(env={**TWO, "CLARET_DEVICE": "basic"}), basic)
        self.assertEqual(self.chosen("--device", str(1 - basic), env={**TWO, "CLARET_DEVICE": "basic"}),
                         1 - basic)

    def test_refusals(self):
        plan = ("show", "simplecnn", "--dump-plan")
        self.refused(*plan, "--device", "7", code=2, says="7")
        self.refused(*plan, "--device", "0:7", code=2, says="0:7")
        self.refused(*plan, "--platform", "nosuch", code=2, says="nosuch")
        self.refused(*plan, code=2, says=["nosuch", "CLARET_DEVICE"], env={"CLARET_DEVICE": "nosuch"})
        self.refused(*harness.TRAIN, "--out", "here", "--device", "nosuch", code=2, says="nosuch")
        self.assertFalse(os.path.exists(self.path("here")))
        # Before any file is looked for, and before the run that is there.
        self.write("run/log.csv", "")
        train = ("train", "--data", "nowhere", "--model", "./no.net", "-o", "run")
        for command in (train, ("eval", "--weights", "none"), ("predict", "none.png", "--weights", "none"),
                        ("show", "./no.net", "--explain")):
            for words, says in ((("--device", "nosuch"), 'no device "nosuch"'), (("--platform", "nosuch"), 'no platform "nosuch"'),
                                (("--device", "-"), 'several devices match "-"')):
                result = self.refused(*command, *words, code=2, says=says, env=TWO)
                self.assertEqual(result.err.count("claret: "), 1)
        self.refused(*train, code=2, says="CLARET_DEVICE", env={"CLARET_DEVICE": "nosuch"})
        self.write("own.ini", "[train]\ndevice = nosuch\n")
        self.assertNotIn("CLARET_DEVICE", self.refused(*train, "--config", "own.ini", code=2, says="nosuch").err)
        # Both devices' names have it: the list of them is shown.
        result = self.refused(*plan, "--device", "-", code=2, says=["pthread", "basic", "0:0", "0:1"], env=TWO)
        self.assertEqual(result.err.count("claret: "), 1)


if __name__ == "__main__":
    harness.main()
