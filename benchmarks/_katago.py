"""KataGo's own PyTorch trainer as a peer: `Peer`, one process of `train.py` that trains in turns with ours.

KataGo is no dependency: `git clone https://github.com/lightvector/KataGo`, and the folder as `--katago` or in the
environment as KATAGO. Its trainer needs torch, numpy and packaging, nothing else. The network is its own model class with
its own `b4c32` widened to our channels, and head widths as ours (they are those of its `b6c96`).
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks._katago_rows import write_rows
from native.netfile import Architecture

TRAINER = Path(__file__).parent / "_katago_trainer.py"
BASE, BASE_BLOCKS = "b4c32", 4
FILES = 1000
_CLOSES_WITHIN_S = 20
NORMS = {"batch norm": "-bng", "fixup": ""}
"""The normalisations compared: batch norm with gamma, as ours; fixup, which is KataGo's default for these sizes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How KataGo's trainer is run: as it comes, or with what its options and torch offer to make it faster."""

    norm: str
    channels_last: bool = False
    compiled: bool = False

    @property
    def layout(self) -> str:
        """As it is printed."""
        return f"{'channels last' if self.channels_last else 'as it comes'}{', compiled' if self.compiled else ''}"


def changes(shape: Architecture) -> dict[str, int]:
    """What makes KataGo's base network the nearest one to `shape` (four blocks)."""
    if shape.blocks != BASE_BLOCKS:
        raise ValueError(f"the nearest network has {BASE_BLOCKS} blocks")
    heads = dict.fromkeys(("p1_num_channels", "g1_num_channels", "v1_num_channels"), shape.head)
    trunk = dict.fromkeys(("trunk_num_channels", "mid_num_channels"), shape.channels)
    return trunk | heads | {"sbv2_num_channels": 48, "v2_size": shape.hidden}


class Peer:
    """A process of KataGo's trainer, waiting after each turn of `steps` minibatches; the first turn, slower, is over once
    `begin` returns. SystemExit with its last words when it ends."""

    def __init__(
        self, katago: Path, folder: Path, setting: Setting, shape: Architecture, size: int, minibatch: int, steps: int
    ) -> None:
        """Starts it; `katago` is the checkout, `folder` is empty and ours."""
        self.setting, self._samples = setting, steps * minibatch
        self.parameters = self.macs = 0
        write_rows(folder / "data", size, self._samples, FILES)
        arguments = {
            "-traindir": folder / "train",
            "-datadir": folder / "data",
            "-pos-len": size,
            "-batch-size": minibatch,
            "-samples-per-epoch": self._samples * FILES,
        }
        settings: dict[str, Any] = {
            "katago": str(katago / "python"),
            "size": size,
            "turn": steps,
            "base": BASE + NORMS[setting.norm],
            "changes": changes(shape),
            "channels_last": setting.channels_last,
            "compile": setting.compiled,
            "arguments": ["-no-export", *(str(word) for pair in arguments.items() for word in pair)],
        }
        self._log = folder / "log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(TRAINER), json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            )

    def begin(self) -> None:
        """Waits for the end of the first turn."""
        answer = self._answer()
        self.parameters, self.macs = answer["parameters"], answer["macs"]

    def turn(self) -> float:
        """Samples a processor second of one turn, everything included that the process did since the last."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self._samples / float(self._answer()["cpu_s"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("KataGo's trainer ended:\n" + "\n".join(self._log.read_text().splitlines()[-12:]))
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> "Peer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_CLOSES_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
