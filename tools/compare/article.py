"""The article's whole training, loading and shuffling included: PyTorch's script against `claret train`."""
import json
import os
import subprocess
import tempfile

import turns
from report import Spread, ratio_text, ratios, spread_text

WARM = 100  # steps in which PyTorch's loader starts its workers; they do not count


def measured(command, env, folder):
    """Runs a command that ends with an object in JSON; -> the object, with its peak memory in MiB: that of the largest
    of its processes."""
    name = os.path.basename(command[0])
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=errors)
        except OSError as error:
            raise turns.Failed(f"{command[0]}: {error.strerror}") from None
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        text, said = out.read().decode(errors="replace"), errors.read().decode(errors="replace")
    if process.returncode != 0:
        raise turns.Failed(f"{name}: exit code {process.returncode}: {turns.last_line(said)}")
    try:
        answer = json.loads(turns.last_line(text))
    except ValueError:
        raise turns.Failed(f"{name} did not end with an object in JSON") from None
    answer["peak_mib"] = usage.ru_maxrss / 1024
    return answer


def commands(settings, python, claret, scratch):
    data = os.path.abspath(settings.data)
    torch_command = [python, os.path.join(turns.HERE, "article_torch.py"), data, str(settings.article_steps),
                     str(min(WARM, settings.article_steps // 2)), str(settings.threads)]
    claret_command = [claret, "train", "--data", data, "--json", "--max-steps", str(settings.claret_steps), "--out",
                      os.path.join(scratch, "run"), "--overwrite", *settings.claret_options]
    return torch_command, claret_command


def compare(settings, python, claret):
    """Takes turns; -> what the JSON says of it."""
    rates, peaks = {"torch": [], "claret": []}, {"torch": [], "claret": []}
    last = {}
    with tempfile.TemporaryDirectory(prefix="compare-") as scratch:
        pair = commands(settings, python, claret, scratch)
        envs = turns.framework_environment(settings.threads), turns.environment(settings.threads)
        for at in range(settings.rounds):
            for key, command, env in zip(rates, pair, envs):
                last[key] = answer = measured(command, env, scratch)
                rates[key].append(answer["images_per_second"])
                peaks[key].append(answer["peak_mib"])
                settings.note(f"article, round {at + 1} of {settings.rounds}: {turns.TITLES[key]} "
                              f"{rates[key][-1]:,.0f} images/s, {peaks[key][-1]:,.0f} MiB")
    speed, memory = ratios(rates["claret"], rates["torch"]), ratios(peaks["claret"], peaks["torch"])
    return {"torch": {"rounds": rates["torch"], "images_per_second": Spread(rates["torch"]).as_dict(),
                      "peak_mib": Spread(peaks["torch"]).as_dict(), "loss": last["torch"]["loss"],
                      "steps": last["torch"]["steps"], "version": last["torch"]["version"],
                      "transforms": last["torch"]["transforms"]},
            "claret": {"rounds": rates["claret"], "images_per_second": Spread(rates["claret"]).as_dict(),
                       "peak_mib": Spread(peaks["claret"]).as_dict(), "steps": last["claret"]["steps"],
                       "device": last["claret"].get("device")},
            "ratio": Spread(speed).as_dict(), "memory_ratio": Spread(memory).as_dict()}


def table(result):
    torch, claret = result["torch"], result["claret"]
    title = ("The article's training on CIFAR-10, with loading and shuffling, batch 4 "
             f"(PyTorch {torch['version']}: {torch['steps']} steps, transforms {torch['transforms']}; "
             f"claret: {claret['steps']} steps)")
    rows = [("", "PyTorch", "claret", "claret to PyTorch"),
            ("images/s", spread_text(torch["images_per_second"]), spread_text(claret["images_per_second"]),
             ratio_text(result["ratio"])),
            ("peak memory, MiB", spread_text(torch["peak_mib"]), spread_text(claret["peak_mib"]),
             ratio_text(result["memory_ratio"]))]
    return title, rows
