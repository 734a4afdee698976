#!/usr/bin/env python3
"""count_tests.py TESTLOG.json [--may-skip NAME]...: counts in Meson's log of a test run: PASSED FAILED SKIPPED.

A skipped test of the suites that need a device counts as failed, unless it is named: a run that silently tested
nothing on a device is not a good one. What failed or was skipped is said on stderr.
"""
import json
import sys

NEED_DEVICE = ("device", "train")
PASSED = ("OK", "EXPECTEDFAIL")


def main(path, *options):
    may_skip = options[1::2]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with open(path, encoding="utf-8") as file:
        for line in file:
            test = json.loads(line)
            name, result = test["name"], test["result"]
            suites = [part.split(":")[-1] for part in test.get("suite", [])]
            needed = any(suite in NEED_DEVICE for suite in suites) and name.split(" / ")[-1].strip() not in may_skip
            if result in PASSED:
                kind = "passed"
            elif result == "SKIP" and not needed:
                kind = "skipped"
            else:
                kind = "failed"
            counts[kind] += 1
            if kind != "passed":
                what = "skipped, though it needs only a device" if result == "SKIP" and needed else result.lower()
                print(f"    {name}: {what}", file=sys.stderr)
    print(counts["passed"], counts["failed"], counts["skipped"])


if __name__ == "__main__":
    main(*sys.argv[1:])
