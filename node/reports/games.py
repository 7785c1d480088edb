"""A sample of a run's games, by the training cycle in whose time they were logged: `sample_games`.

Specs: docs/spec/batch.md, docs/spec/blob.md. Batches are opened, not replayed: an accepted batch was checked by a verifier.
What the folder does not have, or what is damaged, is counted as missing.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from node.disk.blob_store import BlobStore
from node.reports.facts import Balance, GameLengths, Sample
from protocol.batch import unpack_batch
from protocol.errors import ProtocolError
from protocol.game_block import BLACK_WINS, DRAW, GameHeader
from verification.identities import BatchInfo
from verification.state import LogState


@dataclass(frozen=True, slots=True)
class GameSample:
    """What the games of a run are like, cycle by cycle."""

    lengths: tuple[GameLengths, ...]
    balance: tuple[Balance, ...]
    sample: Sample


@dataclass(slots=True)
class _Seen:
    """Sampled games of one cycle: lengths in moves, and results by (size, komi in half points)."""

    lengths: list[int] = field(default_factory=list)
    games: Counter[tuple[int, int]] = field(default_factory=Counter)
    black: Counter[tuple[int, int]] = field(default_factory=Counter)
    draws: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, game: GameHeader) -> None:
        """Counts a game."""
        board = (game.size, game.komi_half)
        self.lengths.append(game.moves)
        self.games[board] += 1
        self.black[board] += game.result == BLACK_WINS
        self.draws[board] += game.result == DRAW


def sample_games(state: LogState, blobs: BlobStore, most: int) -> GameSample:
    """Looks at the games of about `most` accepted batches, as many of each cycle and at least one, evenly over its time.

    None for `most` 0.
    """
    cycles = _by_cycle(state)
    each = max(1, most // max(1, len(cycles))) if most else 0
    read = missing = 0
    lengths: list[GameLengths] = []
    balance: list[Balance] = []
    for cycle, batches in sorted(cycles.items()):
        seen = _Seen()
        for batch in _spread(batches, each):
            games = _games(blobs, batch)
            read, missing = read + (games is not None), missing + (games is None)
            for game in games or ():
                seen.add(game)
        lengths.append(_lengths(cycle, batches, sorted(seen.lengths)))
        balance += [
            Balance(cycle, size, komi / 2, count, seen.black[size, komi], seen.draws[size, komi])
            for (size, komi), count in sorted(seen.games.items())
        ]
    accepted = sum(map(len, cycles.values()))
    return GameSample(tuple(lengths), tuple(balance), Sample(accepted, read, missing))


def _by_cycle(state: LogState) -> dict[int, list[BatchInfo]]:
    """Accepted batches with games, in log order, by the first cycle whose window comes after them."""
    windows = [window.index for window in state.windows]
    found: dict[int, list[BatchInfo]] = defaultdict(list)
    for batch in state.batches.all:
        if batch.is_accepted_batch and not batch.dropped and batch.header.games:
            found[bisect_left(windows, batch.index) + 1].append(batch)
    return found


def _spread(batches: Sequence[BatchInfo], most: int) -> list[BatchInfo]:
    """At most `most` of them, evenly spread; of one, the last."""
    count = min(most, len(batches))
    return [batches[(number + 1) * len(batches) // count - 1] for number in range(count)]


def _games(blobs: BlobStore, batch: BatchInfo) -> list[GameHeader] | None:
    """The headers of a batch's games; None when its blob is missing or is not what its header says."""
    try:
        data = blobs.get(batch.header.blob_digest)
        if data is None:
            return None
        return [game.header for game in unpack_batch(data, batch.header.raw_len).games]
    except (ProtocolError, OSError):
        return None


def _lengths(cycle: int, batches: Sequence[BatchInfo], lengths: Sequence[int]) -> GameLengths:
    games = sum(batch.header.games for batch in batches)
    plies = sum(batch.header.plies for batch in batches)
    shortest = lengths[(len(lengths) - 1) // 10] if lengths else None
    longest = lengths[9 * (len(lengths) - 1) // 10] if lengths else None
    return GameLengths(cycle, games, round(plies / games, 1), len(lengths), shortest, longest)
