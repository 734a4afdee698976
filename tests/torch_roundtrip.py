#!/usr/bin/env python3
"""torch_roundtrip.py CLARET: weights go from claret to PyTorch and from PyTorch to claret unchanged.

Needs golden/requirements.txt and is therefore run by hand, not by the suites. CLARET is the command's path.
"""
import os
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden"))
from make_goldens import SimpleCNN  # noqa: E402


def claret(*arguments):
    subprocess.run([claret.command, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=600)


def from_claret(folder):
    """What claret saves loads strictly."""
    out = os.path.join(folder, "saved")
    claret("train", "--data", "shapes", "--max-steps", "20", "--limit-test", "100", "--out", out)
    model = SimpleCNN()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model.load_state_dict(load_file(os.path.join(out, "weights.safetensors")), strict=True)
    assert all(not torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert torch.isfinite(model(torch.zeros(1, 3, 32, 32))).all()


def from_torch(folder):
    """What PyTorch saves is where claret starts: with a learning rate of 0 it comes out again bit for bit."""
    torch.manual_seed(5)
    model = SimpleCNN()
    path, out = os.path.join(folder, "torch.safetensors"), os.path.join(folder, "again")
    save_file(model.state_dict(), path)
    claret("train", "--data", "shapes", "--init", path, "--lr", "0", "--max-steps", "3", "--limit-test", "100",
           "--out", out)
    again = load_file(os.path.join(out, "weights.safetensors"))
    assert sorted(again) == sorted(model.state_dict())
    assert all(torch.equal(again[key], value) for key, value in model.state_dict().items())
    claret("eval", "--data", "shapes", "--weights", path, "--limit-test", "100")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    claret.command = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        from_claret(scratch)
        from_torch(scratch)
    print("2 passed, 0 failed")
