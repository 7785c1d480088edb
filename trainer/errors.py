"""Named errors of the trainer: each carries one sentence for a person, and the exit status of the process."""

from __future__ import annotations

import re
from typing import ClassVar


class TrainerError(Exception):
    """Base of all errors of `trainer`."""

    exit_status: ClassVar[int] = 2

    @property
    def name(self) -> str:
        """What programs know it by, as `repeated-game`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()


class BadJob(TrainerError):
    """The job, or a file that it names, is not what it has to be."""


class BadState(BadJob):
    """The train state to go on from is none, or not the one of this job."""


class NoDevice(TrainerError):
    """The device is not there."""


class BadTensors(TrainerError):
    """Bytes that are no tensor file."""


class BadWeights(TrainerError):
    """A file that holds no weights of a network of Leela Zero, or numbers that no such file can hold."""


class BadBatch(TrainerError):
    """A batch that cannot be read; the cycle goes on without it."""


class BadRows(TrainerError):
    """Packed rows that are gone or damaged; they are made again when the same job goes on."""

    exit_status = 3


class PoisonedWindow(TrainerError):
    """Base of what makes a window unfit to be trained on."""

    exit_status = 1


class NoRows(PoisonedWindow):
    """The window holds nothing to train on."""


class PolicyNotFinite(PoisonedWindow):
    """A full search's policy target is no distribution."""


class ValueOffRange(PoisonedWindow):
    """A value or score is one that no position has."""


class RepeatedGame(PoisonedWindow):
    """One game makes up too much of the window."""


class LossNotFinite(TrainerError):
    """The loss or a gradient is not a number; the last good state stands."""

    exit_status = 1


class LossSpike(TrainerError):
    """The loss jumped far above its running mean; the last good state stands."""

    exit_status = 1


class ProcessesDiffer(TrainerError):
    """The processes of a group computed different weights; the last good state stands."""

    exit_status = 1


class PeerLost(TrainerError):
    """Another process of the group died or does not answer; the same job goes on from its last state."""

    exit_status = 3


class Interrupted(TrainerError):
    """A signal asked to stop; the state is saved and the same job goes on from it."""

    exit_status = 130
