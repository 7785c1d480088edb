"""A TrainState: all that training goes on from, in bytes with one encoding.

Spec: docs/spec/train-state.md. Weights, momentum and EMA with the step of the run, and the position in the cycle that
wrote it, and the ranges of its quantised steps. Data order and symmetries are functions of (seed, step), so there is no
generator to save.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from native.errors import EngineError
from native.netfile import Architecture
from protocol.codec import Value
from trainer.errors import BadTensors
from trainer.files import store
from trainer.learning.tensors import Array, TensorFile

KIND: Final = "train-state"
_GROUPS: Final = ("weights", "momentum", "average")
_FACTS: Final = ("kind", "network", "step", "born", "job", "done", "states")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a cycle stands: its job's digest, steps done in it, and the states already recorded as (step, digest)."""

    job: bytes
    done: int
    states: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True, slots=True)
class TrainState:
    """`step` counts the run's steps, `born` is the one at which this network was drawn; tensors by their names.

    `running` f64: running means of the losses. `ranges` f64: what each activation holds in quantised steps, in the order
    of `trainer.integer.fake.activations`; empty before a cycle's first such step.
    """

    shape: Architecture
    step: int
    born: int
    position: Position
    running: Array
    ranges: Array
    weights: Mapping[str, Array]
    momentum: Mapping[str, Array]
    average: Mapping[str, Array]

    def encode(self) -> bytes:
        """The file's bytes."""
        tensors: dict[str, Array] = {"running": self.running, "ranges": self.ranges}
        for group in _GROUPS:
            tensors |= {f"{group}/{name}": array for name, array in getattr(self, group).items()}
        facts: dict[str, Value] = {
            "kind": KIND,
            "network": self.shape.encode(),
            "step": self.step,
            "born": self.born,
            "job": self.position.job,
            "done": self.position.done,
            "states": [[step, digest] for step, digest in self.position.states],
        }
        return TensorFile(facts, tensors).encode()

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The state in a file's bytes; raises BadTensors with one sentence."""
        file = TensorFile.parse(data)
        facts = file.facts
        if facts.keys() != set(_FACTS) or facts["kind"] != KIND:
            raise BadTensors("The tensor file is not a train state.")
        network, step, born, job, done, listed = (facts[name] for name in _FACTS[1:])
        if not (isinstance(network, str) and isinstance(job, bytes) and isinstance(listed, list)):
            raise BadTensors("The train state has a fact of another type.")
        if (
            type(step) is not int
            or type(born) is not int
            or type(done) is not int
            or not 0 <= done <= step - born <= step
        ):
            raise BadTensors("The train state's steps contradict each other.")
        states: list[tuple[int, bytes]] = []
        for item in listed:
            if not (isinstance(item, list) and len(item) == 2 and type(item[0]) is int and isinstance(item[1], bytes)):
                raise BadTensors("The train state lists its predecessors in an unknown way.")
            states.append((item[0], item[1]))
        try:
            shape = Architecture.parse(network)
        except EngineError as error:
            raise BadTensors(f"The train state's network cannot be read: {error}") from error
        groups: dict[str, dict[str, Array]] = {group: {} for group in _GROUPS}
        for name, array in file.tensors.items():
            group, _, rest = name.partition("/")
            if rest and group in groups:
                groups[group][rest] = array
        shapes = [{name: array.shape for name, array in groups[group].items()} for group in _GROUPS]
        running, ranges = (file.tensors.get(name, np.zeros(0, np.float32)) for name in ("running", "ranges"))
        fits = shapes[1:] == shapes[:-1] and len(file.tensors) == 2 + 3 * len(shapes[0])
        if not fits or {running.dtype, ranges.dtype} != {np.dtype(np.float64)}:
            raise BadTensors("The train state's tensors do not belong together.")
        return cls(shape, step, born, Position(job, done, tuple(states)), running, ranges, **groups)

    def store(self, path: Path) -> bytes:
        """Writes the file atomically; gives its SHA-256, the state's digest."""
        return store(path, self.encode())

    @classmethod
    def load(cls, path: Path) -> tuple[Self, bytes]:
        """The state in a file, and its digest; raises BadTensors or OSError."""
        data = path.read_bytes()
        return cls.parse(data), hashlib.sha256(data).digest()
