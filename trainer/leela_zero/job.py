"""The job of a training on Leela Zero's positions, as `gonode train --from-leela-zero` writes it: `LeelaZeroJob.load`.

A JSON file. `digest` names what decides the result, so that a state tells which job it is of.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from protocol.codec import Value, encode
from protocol.errors import ProtocolError
from protocol.manifest import TrainingPolicy
from trainer.errors import BadJob, BadWeights
from trainer.job import DEVICES
from trainer.network.leela_zero_weights import line_sizes

_FIELDS = {"out", "positions", "positions_digest", "blocks", "channels", "policy", "seed", "steps", "device"}
_FIELDS |= {"state_every_steps"}


@dataclass(frozen=True, slots=True)
class LeelaZeroJob:
    """`positions`: a file of packed positions (`trainer.leela_zero.positions`) and its SHA-256. Threads, learning rates and
    weights of losses are the policy's; score, ownership and rounding it says in vain."""

    out: Path
    positions: Path
    positions_digest: bytes
    blocks: int
    channels: int
    policy: TrainingPolicy
    seed: bytes
    steps: int
    device: str
    state_every_steps: int

    def __post_init__(self) -> None:
        try:
            line_sizes(self.blocks, self.channels)
        except BadWeights as error:
            raise BadJob(f"The job's network cannot be: {error}") from error
        if self.steps < 1 or self.state_every_steps < 1:
            raise BadJob("The job has no step, or saves no state.")
        if self.device not in DEVICES:
            raise BadJob(f"The job's device is none of {', '.join(DEVICES)}.")
        if self.policy.processes != 1:
            raise BadJob("A training on positions of Leela Zero takes one process.")

    def digest(self) -> bytes:
        """SHA-256 of everything that decides the resulting bytes on one machine."""
        facts: dict[str, Value] = {
            "positions": self.positions_digest,
            "blocks": self.blocks,
            "channels": self.channels,
            "policy": self.policy.encode(),
            "seed": self.seed,
            "steps": self.steps,
            "device": self.device,
        }
        return hashlib.sha256(b"gonode/leela-zero-job/v2\0" + encode(facts)).digest()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a job file; raises BadJob."""
        try:
            table = json.loads(path.read_bytes())
            if table.keys() != _FIELDS:
                raise ValueError("other fields")
            return cls(
                out=Path(_text(table, "out")),
                positions=Path(_text(table, "positions")),
                positions_digest=bytes.fromhex(_text(table, "positions_digest")),
                blocks=_number(table, "blocks"),
                channels=_number(table, "channels"),
                policy=TrainingPolicy.parse(bytes.fromhex(_text(table, "policy"))),
                seed=bytes.fromhex(_text(table, "seed")),
                steps=_number(table, "steps"),
                device=_text(table, "device"),
                state_every_steps=_number(table, "state_every_steps"),
            )
        except OSError as error:
            raise BadJob(f"The job {path} cannot be read: {error.strerror}.") from error
        except (ValueError, AttributeError, RecursionError, ProtocolError) as error:
            raise BadJob(f"{path} is no job of a training on positions of Leela Zero.") from error


def _text(table: dict[str, Any], name: str) -> str:
    if not isinstance(table[name], str):
        raise ValueError(name)
    return str(table[name])


def _number(table: dict[str, Any], name: str) -> int:
    if type(table[name]) is not int:
        raise ValueError(name)
    return int(table[name])
