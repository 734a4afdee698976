#!/usr/bin/env python3
"""make_schedules.py: writes schedules.json beside itself: learning rates of PyTorch's schedulers, which
tests/test_schedule.c compares with. Each row: claret's options, the time's length, and the rate at each time."""
import json
import os
import warnings

import torch
from torch.optim import lr_scheduler as scheduler

warnings.filterwarnings("ignore")
LR = 0.1
MOMENTUM = 0.9


def rates(total, make):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR, momentum=MOMENTUM)
    schedule, result, momenta = make(optimizer), [], []
    for i in range(total):
        result.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if i + 1 < total:  # OneCycleLR refuses a step past its end
            schedule.step()
    return {"rates": result} | ({"momenta": momenta} if min(momenta) < max(momenta) else {})


def warm(optimizer, steps, factor, make):
    first = scheduler.LinearLR(optimizer, start_factor=factor, total_iters=steps)
    return scheduler.SequentialLR(optimizer, [first, make(optimizer)], milestones=[steps])


ROWS = [
    ({"lr-schedule": "step", "lr-step": "4", "lr-gamma": "0.5"}, 17, lambda o: scheduler.StepLR(o, 4, 0.5)),
    ({"lr-schedule": "multistep", "lr-milestones": "3,5,11"}, 17, lambda o: scheduler.MultiStepLR(o, [3, 5, 11])),
    ({"lr-schedule": "cosine"}, 17, lambda o: scheduler.CosineAnnealingLR(o, 17)),
    ({"lr-schedule": "cosine", "lr-min": "0.02"}, 13, lambda o: scheduler.CosineAnnealingLR(o, 13, 0.02)),
    ({"lr-schedule": "linear", "lr-end-factor": "0.1"}, 17, lambda o: scheduler.LinearLR(o, 1.0, 0.1, 17)),
    ({"lr-schedule": "linear"}, 9, lambda o: scheduler.LinearLR(o, 1.0, 0.0, 9)),
    ({"lr-schedule": "one-cycle", "lr-by": "step"}, 23, lambda o: scheduler.OneCycleLR(o, LR, total_steps=23)),
    ({"lr-schedule": "one-cycle", "lr-by": "step", "no-cycle-momentum": "true"}, 23,
     lambda o: scheduler.OneCycleLR(o, LR, total_steps=23, cycle_momentum=False)),
    ({"lr-schedule": "one-cycle", "lr-by": "step"}, 100, lambda o: scheduler.OneCycleLR(o, LR, total_steps=100)),
    ({"lr-warmup": "5"}, 9, lambda o: scheduler.LinearLR(o, 0.01, 1.0, 5)),
    ({"lr-schedule": "cosine", "lr-warmup": "4", "lr-warmup-factor": "0.25"}, 15,
     lambda o: warm(o, 4, 0.25, lambda o: scheduler.CosineAnnealingLR(o, 11))),
    ({"lr-schedule": "step", "lr-step": "3", "lr-warmup": "2"}, 15,
     lambda o: warm(o, 2, 0.01, lambda o: scheduler.StepLR(o, 3))),
]


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedules.json"), "w", encoding="ascii") as file:
    json.dump({"lr": LR, "momentum": MOMENTUM, "torch": torch.__version__.split("+")[0], "rows": [{"options": options, "total": total} | rates(total, make) for options, total, make in ROWS]},
              file, indent=1)
    file.write("\n")
