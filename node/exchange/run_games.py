"""The games of a run that its log released, the newest first: all, or those of a release, of a contributor, or by name.

Specs: docs/spec/batch.md, docs/spec/admission.md. A game's name is the hash of its leaf, as on the pages. Batches whose
blobs are not here are passed over and counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from native.rules import Rules
from node.exchange.errors import ExportError
from node.training.admitted import Admitted
from protocol.batch import game_leaf, unpack_batch
from protocol.game_block import GameBlock
from protocol.merkle import leaf_hash
from protocol.registration import Registration
from verification.identities import BatchInfo
from verification.releases import ReleaseInfo
from verification.setup import game_rules
from verification.state import LogState

SHORTEST_NAME: Final = 8
"""Digits of a game's name or a key that are enough."""


@dataclass(frozen=True, slots=True)
class RunGame:
    """A game: the released batch that has it, its number there, the release that played it, and its rules."""

    batch: BatchInfo
    number: int
    release: ReleaseInfo
    rules: Rules
    block: GameBlock

    @property
    def hash(self) -> bytes:
        """The game's name."""
        return leaf_hash(game_leaf(self.block))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which games: of a release by name or number (`latest`: the newest that has games), of a contributor by name or by the
    beginning of the key, by how the game's name begins, and how many at most. What is empty or None does not choose."""

    release: str = ""
    contributor: str = ""
    names: tuple[str, ...] = ()
    newest: int | None = None


class RunGames:
    """The games that are wanted; raises ExportError when the run has no such release or contributor."""

    def __init__(self, admitted: Admitted, wanted: Wanted) -> None:
        self._admitted, self._names, self._newest = admitted, tuple(map(_checked, wanted.names)), wanted.newest
        state, batches = admitted.state, list(admitted.state.batches.released)
        if wanted.release == "latest":
            batches = [each for each in batches if each.header.release == batches[-1].header.release]
        elif wanted.release:
            release = _find_release(state, wanted.release)
            batches = [each for each in batches if each.header.release == release.id]
        if wanted.contributor:
            keys = _find_keys(state, wanted.contributor)
            batches = [each for each in batches if each.header.peer in keys]
        self._batches = batches
        self.missing = 0
        """Batches of these that are not here, as far as games were looked at."""

    def __iter__(self) -> Iterator[RunGame]:
        """The games; raises ProtocolError for a damaged blob."""
        left = self._newest
        self.missing = 0
        for batch in reversed(self._batches):
            for game in reversed(self._games(batch)):
                if self._names and not game.hash.hex().startswith(self._names):
                    continue
                if left == 0:
                    return
                left = None if left is None else left - 1
                yield game

    def oldest_first(self) -> Iterator[RunGame]:
        """The same games in the order in which the log released them; raises ProtocolError for a damaged blob."""
        if self._names:
            yield from reversed(tuple(self))
            return
        self.missing = 0
        batches, passed_over = self._batches, 0
        if self._newest is not None:
            batches, passed_over = self._last(self._newest)
        for batch in batches:
            games = self._games(batch)
            yield from games[passed_over:]
            passed_over -= min(passed_over, len(games))

    @property
    def most(self) -> int:
        """Not more games than these, by what the headers say."""
        games = sum(batch.header.games for batch in self._batches)
        return games if self._newest is None else min(games, self._newest)

    def _last(self, games: int) -> tuple[list[BatchInfo], int]:
        """The last batches that have so many games here, and how many too many these are."""
        for start in range(len(self._batches) - 1, -1, -1):
            header = self._batches[start].header
            games -= header.games if self._admitted.blobs.has(header.blob_digest) else 0
            if games <= 0:
                return self._batches[start:], -games
        return self._batches, 0

    def _games(self, batch: BatchInfo) -> list[RunGame]:
        state, header = self._admitted.state, batch.header
        blob = self._admitted.blobs.get(header.blob_digest)
        if blob is None:
            self.missing += 1
            return []
        release = state.release_by_id(header.release)
        assert release is not None  # or the log had refused the header
        spec = state.release_manifest(release).rules
        return [
            RunGame(batch, number, release, game_rules(spec, block.header.size, block.header.komi_half), block)
            for number, block in enumerate(unpack_batch(blob, header.raw_len).games)
        ]


def contributor_name(state: LogState, key: bytes) -> str:
    """The name that a key was registered with, itself or as the key that it replaced; empty for none."""
    while (info := state.registration(key)) is not None:
        if isinstance(info.record, Registration):
            return info.record.name
        key = info.record.peer
    return ""


def _checked(name: str) -> str:
    if len(name) < SHORTEST_NAME or set(name.lower()) - set("0123456789abcdef"):
        raise ExportError(f"{name[:80]!r} is not a game's name: at least {SHORTEST_NAME} hexadecimal digits.")
    return name.lower()


def _find_release(state: LogState, name: str) -> ReleaseInfo:
    for release in state.releases.all:
        if name in (release.name, str(release.number)):
            return release
    known = ", ".join(release.name for release in state.releases.all)
    raise ExportError(f"{name[:80]!r} is not a release of this run; it has {known}.")


def _find_keys(state: LogState, name: str) -> set[bytes]:
    keys = {key for key in state.registry.peers if contributor_name(state, key) == name}
    if not keys and len(name) >= SHORTEST_NAME:
        keys = {key for key in state.registry.peers if key.hex().startswith(name.lower())}
    if not keys:
        raise ExportError(f"{name[:80]!r} is neither the name of a contributor of this run nor the beginning of a key.")
    return keys
