"""The run whose peers the network's fuzzer plays: its log, the posts that may come next, and heads."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from node.coordinator.intake import POSTABLE
from node.disk.store import Head, Store
from node.peering.post import Cosigning, Post
from protocol.checkpoint import Checkpoint, NoteSignature, SignedNote, cosign
from protocol.ed25519 import SecretKey
from protocol.entries import parse_entry
from protocol.seeds import log_origin
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.state import LogState
from verification.witness import witness_name

SHORT: Final = b"gonode"
"""A blob of one chunk that peers have."""


@dataclass(frozen=True, slots=True)
class Example:
    """A world to look at; each of `posts` may come next in its log, `cosigning` for its newest head."""

    world: World
    posts: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """The entries of the log."""
        return len(self.world.entries)

    @property
    def secrets(self) -> tuple[SecretKey, ...]:
        """All who sign, and one who never did."""
        world = self.world
        return (*world.peers.values(), *world.verifiers, world.coordinator, world.key("coral"))

    @property
    def cosigning(self) -> bytes:
        """The verifier's cosignature of the newest head, with its share."""
        verifier = self.world.verifiers[0]
        line = self._line(SignedNote.parse(self.head(self.size))).encode()
        return Cosigning(verifier.public, self.size, line, self.world.share(verifier, self.size).encode()).encode()

    def head(self, size: int, cosigned: bool = False) -> bytes:
        """The note of a head, with its verifier's line or without."""
        root = self.world.state.tree.root(size)
        note = Checkpoint(log_origin(self.world.run), size, root).sign(self.world.coordinator)
        return (note.with_signatures([self._line(note)]) if cosigned else note).encode()

    def state(self, size: int | None = None) -> LogState:
        """A copy of the log's first entries, to be changed."""
        state = LogState(self.world.run)
        for entry in self.world.entries[:size]:
            state.apply(entry)
        return state

    def store(self) -> Store:
        """A store in memory with the log and two heads of it."""
        store = Store(Path(":memory:"))
        store.append(self.world.entries)
        for size, cosigned in ((self.size - 1, True), (self.size, False)):
            store.put_head(Head(size, self.world.state.tree.root(size), self.head(size, cosigned)))
        return store

    def _line(self, note: SignedNote) -> NoteSignature:
        verifier = self.world.verifiers[0]
        return cosign(note.text, verifier, witness_name(verifier.public), 1_760_000_000)


@cache
def example_run() -> Example:
    """A run with two contributors: one batch has its verdict and lacks the opening, another awaits its verdict."""
    later, first, _ = _grown()
    later.judge(first)
    *_, verdict, opening = later.entries
    world, _, _ = _grown()
    world.log_bytes(verdict)
    world.blobs.update(later.blobs)
    later, _, second = _grown()
    later.log_bytes(verdict)
    later.register("coral")
    later.judge(second)
    later.entries.pop()  # the opening needs the verdict before it
    later.play(later.peers["ada"])
    later.begin_epoch(later.verifiers[0])
    world.blobs.update(later.blobs)
    world.put(SHORT)
    entries = [opening, *later.entries[len(world.entries) :]]
    postable = [each for each in entries if isinstance(parse_entry(each).record, POSTABLE)]
    return Example(world, tuple(Post(each, b"").encode() for each in postable))


def _grown() -> tuple[World, BatchInfo, BatchInfo]:
    world = World()
    ada, bob = world.register("ada"), world.register("bob")
    return world, world.play(ada), world.play(bob)
