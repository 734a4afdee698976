#!/usr/bin/env python3
"""check_includes.py [ROOT]: no stage of src/ includes what comes after it, and only rt knows OpenCL.

The order is spec -> graph -> plan -> rt; what each folder may include is the table below.
Exit code 1 and one line for each include that breaks it.
"""
import os
import re
import sys

# Folder of src/: the folders (or single headers) of src/ that its files may include beside its own.
ALLOWED = {
    "base": [],
    "spec": ["base"],
    "op": ["base", "spec"],
    "ref": ["base", "spec", "op"],
    "graph": ["base", "spec", "op"],
    "plan": ["base", "spec", "op", "graph"],
    "rt": ["base", "spec", "op", "graph", "plan"],
    "tune": ["base", "spec", "op", "graph", "plan", "rt"],
    "data": ["base", "op/augment.h", "op/batch.h"],
    "train": ["base", "spec", "op", "graph", "plan", "rt", "tune", "data"],
    "cli": ["base/shell.h"],  # compiled into the command too
}
# Folders that are clients of the library: of its headers they see the public ones alone (and what is named above).
CLIENTS = ["cli"]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
OPENCL = re.compile(r"^(CL/|OpenCL/|clblast)")


def sources(folder):
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.join(at, name)


def fault(root, stage, path, quote, included):
    """Why this file of src/STAGE may not include that, or None."""
    if OPENCL.match(included):
        return None if stage == "rt" else "only src/rt may include OpenCL's and CLBlast's headers"
    if included.startswith("claret/"):
        return None
    here = os.path.dirname(os.path.relpath(path, os.path.join(root, "src")))
    own = [os.path.join(here, included)] if quote == '"' else []
    for target in map(os.path.normpath, own + [included]):
        if os.path.isfile(os.path.join(root, "src", target)):
            break
    else:
        return "no such header in src/" if quote == '"' else None
    folder = target.split("/")[0]
    if folder == stage or folder in ALLOWED[stage] or target in ALLOWED[stage]:
        return None
    return f"src/{stage} may include only: " + ", ".join(
        (["claret/"] if stage in CLIENTS else []) + ALLOWED[stage] + [stage])


def main(root):
    faults, files = [], 0
    for stage in sorted(os.listdir(os.path.join(root, "src"))):
        folder = os.path.join(root, "src", stage)
        if not os.path.isdir(folder):
            continue
        if stage not in ALLOWED:
            faults.append(f"src/{stage}: this folder has no row in tests/check_includes.py")
            continue
        for path in sources(folder):
            files += 1
            with open(path, encoding="utf-8") as file:
                for quote, included in INCLUDE.findall(file.read()):
                    why = fault(root, stage, path, quote, included)
                    if why:
                        faults.append(f"{os.path.relpath(path, root)}: includes {included}: {why}")
    for path in sources(os.path.join(root, "include")):
        files += 1
        if os.path.basename(path) == "opencl.h":
            continue
        with open(path, encoding="utf-8") as file:
            for quote, included in INCLUDE.findall(file.read()):
                if OPENCL.match(included) or (quote == '"' and not included.startswith("claret/")):
                    faults.append(f"{os.path.relpath(path, root)}: includes {included}: "
                                  "a public header shows neither OpenCL nor internals")
    print("\n".join(faults + [f"{files} files, {len(faults)} faults"]))
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1
                  else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")))
