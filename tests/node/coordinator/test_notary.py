"""Each release is stated once, also after a start; one whose weights are gone goes without."""

from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.coordinator.notary import Notary
from node.disk.blob_store import BlobStore
from protocol.envelope import Envelope
from tests.verification.world import World


class Desk:
    """A notary over a world whose first release is not stated."""

    def __init__(self, folder: Path) -> None:
        self.world = World()
        self.world.register("ada")
        self.release()
        self.blobs = BlobStore(folder)
        for blob in self.world.blobs.values():
            self.blobs.put(blob)
        self.said: list[str] = []
        self.woken = 0
        self.notary = self.start()

    def release(self) -> None:
        while self.world.state.due_window() is None:
            self.world.batch(self.world.peers["ada"])
        self.world.train()
        assert self.world.gate(is_stated=False)

    def start(self) -> Notary:
        member: Any = SimpleNamespace(
            state=self.world.state,
            blob_store=self.blobs,
            wake=self._wake,
            events=lambda event, text, **values: self.said.append(text),
        )
        log: Any = SimpleNamespace(append=self._append)
        return Notary(member, self.world.coordinator, log)

    def _wake(self) -> None:
        self.woken += 1

    def _append(self, envelope: Envelope) -> int:
        return self.world.log_bytes(envelope.encode())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_release_is_stated_once(desk: Desk) -> None:
    state = desk.world.state
    desk.notary.step()
    (info,) = state.statements.all
    assert info.index == state.release.index + 1
    assert info.record.weights_sha256 == sha256(desk.world.blobs[state.release.weights_blob]).digest()
    size = state.size
    desk.notary.step()
    desk.start().step()
    assert (state.size, desk.woken, desk.said) == (size, 1, [])


def test_what_was_missed_is_stated_at_the_next_start(desk: Desk) -> None:
    desk.release()
    for blob in desk.world.blobs.values():
        desk.blobs.put(blob)
    desk.start().step()
    assert [info.record.release for info in desk.world.state.statements.all] == [
        release.index for release in desk.world.state.releases.all[1:]
    ]


def test_weights_that_are_gone_are_said_once(desk: Desk) -> None:
    state = desk.world.state
    desk.blobs.delete(state.release.weights_blob)
    size = state.size
    desk.notary.step()
    desk.notary.step()
    assert state.size == size
    assert desk.said == [f"Release {state.release.name} gets no statement: its weights are not here."]
