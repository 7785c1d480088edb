"""KataGo's `train.py` as it is, in turns: a process that trains some steps when told to, and says what they took.

Run by `benchmarks._katago` as `python _katago_trainer.py SETTINGS`, SETTINGS being JSON. Nothing of ours is imported, and
torch keeps the settings that KataGo gives it. What is added to `train.py`: a network of a name of its own in the table of
configurations; at the end of each step, where it collects its metrics, a count; and after `turn` of them a line with the
processor seconds since the last line, and a wait for the next word. At the first line the network is counted.
"""

import json
import os
import runpy
import sys
import time
from typing import Any

SETTINGS: dict[str, Any] = json.loads(sys.argv[1])
NAME = "nearest"

# KataGo prints; what the parent reads gets a descriptor of its own.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.path.insert(0, SETTINGS["katago"])

import torch  # noqa: E402

torch.set_num_threads(1)

from katago.train import metrics_logging, model_pytorch, modelconfigs  # type: ignore[import-not-found]  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

MODELS: list[Any] = []
accumulate = metrics_logging.accumulate_metrics
initialize = model_pytorch.Model.initialize


def remembered(model: Any) -> None:
    """KataGo's initialisation of a network; and which one it was."""
    initialize(model)
    if SETTINGS["channels_last"]:
        model.to(memory_format=torch.channels_last)
    MODELS.append(model)


def counts() -> dict[str, int]:
    """Parameters, and multiply-accumulates of a position forward."""
    model, size = MODELS[0], SETTINGS["size"]
    planes = torch.ones(1, modelconfigs.get_num_bin_input_features(model.config), size, size)
    others = torch.zeros(1, modelconfigs.get_num_global_input_features(model.config))
    was_training = model.training
    model.eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(planes, others)
    model.train(was_training)
    return {"parameters": sum(p.numel() for p in model.parameters()), "macs": counter.get_total_flops() // 2}


class Turns:
    """Counts steps; says after each turn what it took and waits to be told to go on."""

    def __init__(self) -> None:
        self.steps, self.since = 0, time.process_time()

    def __call__(self, *given: Any, **named: Any) -> None:
        accumulate(*given, **named)
        self.steps += 1
        if self.steps % SETTINGS["turn"]:
            return
        now = time.process_time()
        answer: dict[str, float] = {"cpu_s": now - self.since}
        self.since = now  # What the thread that reads ahead does while we wait belongs to the next turn.
        if self.steps == SETTINGS["turn"]:
            answer |= counts()
            self.since = time.process_time()
        ANSWERS.write(json.dumps(answer) + "\n")
        ANSWERS.flush()
        if not sys.stdin.readline():
            os._exit(0)


model_pytorch.Model.initialize = remembered
metrics_logging.accumulate_metrics = Turns()
modelconfigs.config_of_name[NAME] = modelconfigs.config_of_name[SETTINGS["base"]] | SETTINGS["changes"]
train = os.path.join(SETTINGS["katago"], "train.py")
sys.argv = [train, *SETTINGS["arguments"], "-model-kind", NAME, *([] if SETTINGS["compile"] else ["-no-compile"])]
runpy.run_path(train, run_name="__main__")
