"""What a statement is about: a release, and the log's records that it came from.

Spec: `docs/spec/statement.md`.
"""

from dataclasses import dataclass

from protocol.gate import GateRecord
from protocol.manifest import Manifest
from protocol.release import Release
from protocol.window import TrainRecord, WindowCommitment


@dataclass(frozen=True, slots=True)
class Stated:
    """A release as logged at `index`, its train record, window and gate record; `manifest` is the training cycle's."""

    index: int
    release: Release
    train: TrainRecord
    window: WindowCommitment
    gate: GateRecord
    manifest: Manifest

    @property
    def network_name(self) -> str:
        """What the documents call the network's file."""
        return f"{self.release.name}.network.bin"

    @property
    def weights_name(self) -> str:
        """What the documents call the weights' file."""
        return f"{self.release.name}.weights.bin"
