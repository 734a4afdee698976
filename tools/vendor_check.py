#!/usr/bin/env python3
"""Compiles kernels for NVIDIA, AMD and Intel GPUs with their offline compilers: no GPU is needed.

    vendor_check.py LIST... [--jobs N] [--report FILE] [--markdown FILE] [--llvm 15] [--require]

LIST has a line for each kernel in each specialisation that a run of the tests used:
    SOURCE ENTRY OPTIONS...        conv2d forward -cl-std=CL1.2 -DPAD=1
(CLARET_TEST_KERNEL_LIST names the file that the tests append to.) Each program is compiled for one GPU of each
vendor, and the first one of each kernel for more of them. Of a kernel's specialisations at most 12 of a list are tried, from all
over it; of kernels made for CPUs, two. Any warning is an error. The table on stdout shows
registers, local memory, private memory and spills, the worst over a kernel's specialisations; --report gets every one,
--markdown the table of kernels for GPUs. A spill in one of these is an error, and so is private memory in those that work on
tiles (-DWM=): Intel's compiler counts spills as such. Blocks that only a tuner tries (-DRM=8, -DRN=8) may spill.
Compilers (Debian): clang-15 libclc-15 libclc-15-dev (NVIDIA; and ptxas from a CUDA toolkit, without which it ends
at PTX and knows no registers), rocm-device-libs (AMD), ocloc in intel-opencl-icd (Intel). --require: one that is
missing is a failure.
Exit code: 0 all compiled, 1 not, 2 usage.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FIRST = {"NVIDIA": "sm_75", "AMD": "gfx1030", "Intel": "dg2"}
MORE = {"NVIDIA": ["sm_80", "sm_90", "sm_120"], "AMD": ["gfx803", "gfx906", "gfx90a"], "Intel": ["skl", "tgllp", "pvc"]}
LOCAL_LIMIT = 48 << 10  # bytes of local memory that every one of these targets allows without asking


class Failed(Exception):
    pass


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}\n{text}")
    return text


def clang(llvm, *arguments):
    # Vendors' compilers define __OPENCL_VERSION__; clang alone defines only the language's version.
    return [f"clang-{llvm}", "-x", "cl", "-Xclang", "-finclude-default-header", "-Werror", "-Wno-linker-warnings",
            "-Wno-unused-command-line-argument", "-O2", "-D__OPENCL_VERSION__=120", *arguments]


def nvidia(tools, targets, options, source, scratch):
    """{entry: (registers, local bytes, private bytes, spilled bytes)} for each target."""
    ptx = os.path.join(scratch, "kernel.ptx")
    run(clang(tools["llvm"], "-target", "nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", "sm_75", "-Xclang",
              "-mlink-builtin-bitcode", "-Xclang", tools["libclc"], "-S", "-o", ptx, *options, source))
    if not tools["ptxas"]:
        with open(ptx, encoding="ascii") as file:
            text = file.read()
        extern = re.findall(r"^\.extern \.func.*?(\S+)\s*$", text, re.MULTILINE)
        if extern:
            raise Failed(f"{source} {' '.join(options)}: NVIDIA's compiler knows no {', '.join(extern)}")
        return {"PTX": {entry: (0, 0, 0, 0) for entry in re.findall(r"\.entry (\w+)", text)}}
    result = {}
    for target in targets:
        text = run([tools["ptxas"], "-v", f"-arch={target}", ptx, "-o", os.devnull])
        kernels = result[target] = {}
        for part in text.split("Compiling entry function ")[1:]:
            entry = re.match(r"'(\w+)'", part).group(1)
            stack, stores, loads = map(int, re.search(
                r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
            local = re.search(r"(\d+) bytes smem", part)
            kernels[entry] = (int(re.search(r"Used (\d+) registers", part).group(1)),
                              int(local.group(1)) if local else 0, stack, max(stores, loads))
    return result


def amd(tools, targets, options, source, scratch):
    result = {}
    for target in targets:
        text = run(clang(tools["llvm"], "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}",
                         f"--rocm-device-lib-path={tools['bitcode']}", "-Rpass-analysis=kernel-resource-usage",
                         "-c", "-o", os.path.join(scratch, "kernel.o"), *options, source))
        kernels = result[target] = {}
        for part in text.split("remark: Function Name: ")[1:]:
            def value(name):
                found = re.search(rf"remark: +{re.escape(name)}: (\d+)", part)
                return int(found.group(1)) if found else 0  # not for a function that is no kernel
            kernels[re.match(r"\w+", part).group(0)] = (
                value("VGPRs"), value("LDS Size [bytes/block]"), value("ScratchSize [bytes/lane]"),
                4 * (value("VGPRs Spill") + value("SGPRs Spill")))
    return result


def section(path, wanted):
    """The text of a section of a little-endian ELF64 file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:5] != b"\x7fELF\x02":
        raise Failed(f"{path}: not an ELF64 file")
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        start = headers[names][4] + name
        if data[start:data.index(b"\0", start)].decode() == wanted:
            return data[offset:offset + length].decode()
    raise Failed(f"{path}: no section {wanted}")


def intel(tools, targets, options, source, scratch):
    result = {}
    for target in targets:
        folder = os.path.join(scratch, target)
        text = run([tools["ocloc"], "compile", "-q", "--format", "zebin", "-file", source, "-device", target,
                    "-options", " ".join(["-Werror", *options]), "-out_dir", folder])
        binaries = glob.glob(os.path.join(folder, "*.bin"))
        if len(binaries) != 1:
            raise Failed(f"ocloc for {target}: {len(binaries)} binaries\n{text}")
        kernels = result[target] = {}
        info = section(binaries[0], ".ze_info").split("\nkernels_misc_info:")[0]
        for part in re.split(r"^  - name: +", info, flags=re.MULTILINE)[1:]:
            def value(name):
                found = re.search(rf"^ +{name}: +(\d+)", part, re.MULTILINE)
                return int(found.group(1)) if found else 0
            private = sum(int(size) for size in re.findall(
                r"- type: +(?:scratch|private)\n(?: +(?!-)\S+.*\n)*? +size: +(\d+)", part))
            kernels[re.match(r"\w+", part).group(0)] = (value("grf_count"), value("slm_size"), private,
                                                       value("spill_size"))
    return result


VENDORS = {"NVIDIA": nvidia, "AMD": amd, "Intel": intel}


def find_tools(llvm):
    """What is there, and what is missing as {vendor: packages}."""
    tools = {"llvm": llvm, "libclc": "/usr/lib/clc/nvptx64--nvidiacl.bc",
             "ptxas": shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin"),
             "bitcode": next(iter(glob.glob("/usr/lib/*/amdgcn/bitcode") + glob.glob("/usr/lib/amdgcn/bitcode")), ""),
             "ocloc": shutil.which("ocloc")}
    compiler, missing = shutil.which(f"clang-{llvm}"), {}
    if not compiler or not os.path.isfile(tools["libclc"]):
        missing["NVIDIA"] = f"clang-{llvm}, libclc-{llvm}"
    if not compiler or not tools["bitcode"]:
        missing["AMD"] = f"clang-{llvm}, rocm-device-libs"
    if not tools["ocloc"]:
        missing["Intel"] = "intel-opencl-icd"
    return tools, missing


def read_list(path):
    """{(source, options): entries} in the order of their first lines."""
    programs = {}
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if len(words) < 2:
                sys.exit(f"{path}:{number}: SOURCE ENTRY OPTIONS... expected")
            if not os.path.isfile(os.path.join(ROOT, "cl", words[0] + ".cl")):
                sys.exit(f"{path}:{number}: there is no cl/{words[0]}.cl")
            standard = [] if any(word.startswith("-cl-std=") for word in words) else ["-cl-std=CL1.2"]
            programs.setdefault((words[0], tuple(standard + words[2:])), set()).add(words[1])
    return programs


def compile_one(vendor, tools, job):
    """Rows (vendor, target, kernel, options, numbers) of one program on one vendor's GPUs; or an error's text."""
    (source, options), entries, targets = job
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, source + ".cl")
        with open(path, "w", encoding="ascii") as file:
            for part in ("common.clh", source + ".cl"):
                with open(os.path.join(ROOT, "cl", part), encoding="ascii") as text:
                    file.write(f'#line 1 "{part}"\n{text.read()}\n')
        try:
            result = VENDORS[vendor](tools, targets, list(options), path, scratch)
        except Failed as failure:
            # A CPU device has more local memory than GPUs; its kernels ask for it by their sizes.
            if for_cpus(options) and re.search(r"too much shared data|local memory.*exceeds", str(failure)):
                return [], ""
            return [], f"{vendor}: {source} {' '.join(options)}\n{failure}"
    rows, fault = [], ""
    for target, kernels in result.items():
        for entry in sorted(entries):
            if entry not in kernels:
                fault += f"{vendor} {target}: {source} {' '.join(options)}: no kernel {entry} in the result\n"
                continue
            rows.append((vendor, target, f"{source}:{entry}", " ".join(options), kernels[entry]))
            _, _, private, spills = kernels[entry]
            if not for_cpus(options) and not on_trial(options) and (
                    spills or (private and any(word.startswith("-DWM=") for word in options))):
                fault += f"{vendor} {target}: {source}:{entry} spills ({private} bytes private, {spills} spilled): " \
                         f"{' '.join(options)}\n"
            if not for_cpus(options) and kernels[entry][1] > LOCAL_LIMIT:
                fault += f"{vendor} {target}: {source}:{entry}: {kernels[entry][1]} bytes of local memory\n"
    return rows, fault


def on_trial(options):
    """Larger blocks of registers than are taken unasked: the tuner finds out where they are slow (src/op/tiles.c)."""
    return "-DRM=8" in options or "-DRN=8" in options


MOST = 12  # specialisations of a kernel that are compiled
MOST_FOR_CPUS = 2  # of a CPU's kernel: the large ones take a GPU's compiler minutes


def for_cpus(options):
    """Kernels for work-items that own wide vectors: they must compile everywhere, but no GPU is given them unasked."""
    return any(option.startswith(("-DLANES=", "-DWQ=")) for option in options)


def choose(programs):
    """At most so many of each kind, spread evenly over the list."""
    kinds = {}
    for program, entries in programs.items():
        most = MOST_FOR_CPUS if for_cpus(program[1]) else MOST
        kinds.setdefault((program[0], tuple(sorted(entries)), most), []).append(program)
    chosen = set()
    for (_, _, most), alike in kinds.items():
        chosen.update(alike if len(alike) <= most else
                      (alike[i * (len(alike) - 1) // (most - 1)] for i in range(most)))
    return {program: entries for program, entries in programs.items() if program in chosen}


def compile_all(programs, tools, vendors, jobs):
    seen, work = set(), []
    for (source, options), entries in programs.items():
        new = not entries <= seen
        seen |= entries
        for vendor in vendors:
            work.append((vendor, tools, ((source, options), entries, [FIRST[vendor]] + (MORE[vendor] if new else []))))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda arguments: compile_one(*arguments), work))
    return [row for rows, _ in results for row in rows], [fault for _, fault in results if fault]


def show(rows):
    worst = {}
    for vendor, target, kernel, _, numbers in rows:
        count, most = worst.get((vendor, target, kernel), (0, (0, 0, 0, 0)))
        worst[vendor, target, kernel] = count + 1, tuple(map(max, zip(most, numbers)))
    print(f"{'':8}{'':9}{'kernel':34}{'programs':>9}{'registers':>10}{'local':>8}{'private':>8}{'spills':>7}")
    for (vendor, target, kernel), (count, (registers, local, private, spills)) in sorted(worst.items()):
        print(f"{vendor:8}{target:9}{kernel:34}{count:9}{registers:10}{local:8}{private:8}{spills:7}")


def markdown(rows, path):
    """A row for each kernel, a column for each vendor, the worst over specialisations and that vendor's targets."""
    worst = {}
    for vendor, _, kernel, options, numbers in rows:
        if not for_cpus(options.split()):
            most = worst.setdefault(kernel, {}).get(vendor, (0, 0, 0, 0))
            worst[kernel][vendor] = tuple(map(max, zip(most, numbers)))
    lines = ["| kernel | " + " | ".join(VENDORS) + " | local memory | spills |", "|---" * (len(VENDORS) + 3) + "|"]
    for kernel, vendors in sorted(worst.items()):
        columns = [str(vendors[vendor][0]) if vendor in vendors else "-" for vendor in VENDORS]
        local = max(numbers[1] for numbers in vendors.values())
        spills = max(numbers[3] for numbers in vendors.values())
        lines.append(f"| {kernel} | " + " | ".join(columns) + f" | {local} | {spills} |")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", nargs="+")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--report")
    parser.add_argument("--markdown")
    parser.add_argument("--llvm", default="15")
    parser.add_argument("--require", action="store_true")
    arguments = parser.parse_args()
    lists = [read_list(path) for path in arguments.list]
    programs = {}
    for listed in lists:
        for program, entries in choose(listed).items():
            programs[program] = programs.get(program, set()) | entries
    tools, missing = find_tools(arguments.llvm)
    for vendor, packages in missing.items():
        print(f"{vendor}: left out, for its compiler is not there (packages {packages})")
    if "NVIDIA" not in missing and not tools["ptxas"]:
        print("NVIDIA: no ptxas (CUDA toolkit): compiled as far as PTX")
    rows, faults = compile_all(programs, tools, [vendor for vendor in VENDORS if vendor not in missing], arguments.jobs)
    if arguments.report:
        with open(arguments.report, "w", encoding="ascii") as file:
            for vendor, target, kernel, options, numbers in rows:
                file.write("\t".join([vendor, target, kernel, *map(str, numbers), options]) + "\n")
    if arguments.markdown:
        markdown(rows, arguments.markdown)
    show(rows)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{sum(map(len, lists))} programs listed, {len(programs)} taken, {len(rows)} kernels compiled, {len(faults)} programs failed")
    return 1 if faults or not rows or (missing and arguments.require) else 0


if __name__ == "__main__":
    sys.exit(main())
