"""Our trainer beside KataGo's own: `python -m benchmarks.train_katago [--katago DIR] [--quick] [--json]`.

Samples a processor second on one core at 9x9 with the same minibatch, turns of whole steps one after another. Ours: rows of
games drawn, turned and laid out, forward, losses, backward, clipping, optimiser, averaged weights. KataGo's: its `train.py`
as it is, from reading its npz files to its metrics. In neither: how rows came to their files, validation, export.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks._katago import Peer, Setting
from benchmarks._run import Summary, rounds, show
from benchmarks.train import rows_of
from native.netfile import Architecture
from node.founding.manifest_file import load_manifest
from trainer.data.draws import Sampler
from trainer.data.feeder import Feeder
from trainer.learning.learner import Learner
from trainer.pin import pin

SIZE, SHAPE = 9, Architecture(4, 64)
QUICK = (Setting("batch norm"), Setting("fixup", channels_last=True))
SETTINGS = (
    *(Setting(norm, channels_last) for norm in ("batch norm", "fixup") for channels_last in (False, True)),
    *(Setting(norm, compiled=True) for norm in ("batch norm", "fixup")),
)
STEPS, QUICK_STEPS = 8, 2


class Ours:
    """Our trainer, in turns."""

    def __init__(self, stack: ExitStack, minibatch: int, steps: int, seconds: float) -> None:
        """Plays games for so long first."""
        manifest = load_manifest(None)
        manifest = replace(manifest, training=replace(manifest.training, minibatch=minibatch))
        window = rows_of(SIZE, seconds)
        sampler = Sampler(bytes(32), window.numbers(held_out=False), minibatch)
        self._feeder = stack.enter_context(Feeder(window, sampler, 0))
        self._learner = Learner(manifest, bytes(32), shape=SHAPE)
        self._minibatch, self._steps, self._done = minibatch, steps, 0

    def turn(self) -> float:
        """Samples a processor second of one turn."""
        started = time.process_time()
        for _ in range(self._steps):
            self._learner.step(self._feeder.minibatch(self._done), self._done)
            self._done += 1
        return self._steps * self._minibatch / (time.process_time() - started)

    def counts(self) -> tuple[int, int]:
        """Parameters, and multiply-accumulates of a position forward."""
        net = self._learner.net.eval()
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            net(torch.ones(1, net.stem.weight.shape[1], SIZE, SIZE), True)
        return sum(weight.numel() for weight in net.parameters()), counter.get_total_flops() // 2


def rows(ours: Ours, peers: Sequence[Peer], seconds: float) -> list[dict[str, str | float]]:
    """The table, ours first."""
    works: list[Callable[[], float]] = [ours.turn, *(peer.turn for peer in peers)]
    speeds = [Summary.of(found) for found in rounds(works, seconds)]
    names = [("gonode", SHAPE.encode(), "batch norm", "channels last", *ours.counts())]
    names += [
        ("KataGo", SHAPE.encode(), peer.setting.norm, peer.setting.layout, peer.parameters, peer.macs) for peer in peers
    ]
    return [
        {
            "trainer": trainer,
            "network": network,
            "norm": norm,
            "layout": layout,
            "parameters": parameters,
            "MMAC": macs / 1e6,
            "samples/cpu s": speed.median,
            "spread": speed.spread,
            "gonode/this": speeds[0].median / speed.median if trainer != "gonode" else "-",
        }
        for (trainer, network, norm, layout, parameters, macs), speed in zip(names, speeds, strict=True)
    ]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--katago", type=Path, default=os.environ.get("KATAGO"), help="its checkout; default: $KATAGO")
    parser.add_argument("--minibatch", type=int, default=load_manifest(None).training.minibatch)
    parser.add_argument("--quick", action="store_true", help="less than 45 seconds, for a first impression")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    given = parser.parse_args()
    if given.katago is not None and not (given.katago / "python" / "train.py").is_file():
        parser.error(f"there is no KataGo in {given.katago}")
    settings = (QUICK if given.quick else SETTINGS) if given.katago is not None else ()
    steps = QUICK_STEPS if given.quick else STEPS
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # ours and, started from here, theirs
    pin(1)
    with ExitStack() as stack:
        peers = []
        for setting in settings:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            peers.append(stack.enter_context(Peer(given.katago, folder, setting, SHAPE, SIZE, given.minibatch, steps)))
        ours = Ours(stack, given.minibatch, steps, 0.5)
        ours.turn()
        for peer in peers:
            peer.begin()
        show(rows(ours, peers, 10.0 if given.quick else 120.0), given.json)


if __name__ == "__main__":
    main()
