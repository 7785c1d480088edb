"""Replays: a drawn game is searched again, whole, up to the first ply that differs.

Spec: `docs/spec/verdict.md` ("Replay"). One searched move is the unit of proof, one game the unit of audit. Replays run in
the caller's `native.pool.Pool`; here is what its answers amount to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from native.errors import EngineError
from native.game import Game
from native.network import Kernel
from native.pool import Done, Job
from native.search import Ply, search_ply
from protocol.game_block import GameBlock, PlyRecord
from verification.faults import Rejected


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first difference: game number in the batch, absolute ply (None: outside the plies), and what differs."""

    game: int
    ply: int | None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replayed:
    """The D of all replayed plies in order of game and ply, up to and with a mismatch; the games replayed by then."""

    games: tuple[int, ...]
    digests: tuple[bytes, ...]
    mismatch: Mismatch | None


DOUBT = "replay"
"""The label of a mismatch in which a search by itself gives what was recorded: the engine contradicts itself."""


def collect(games: Sequence[int], dones: Sequence[Done]) -> Replayed:
    """What finished replays of the games with these numbers, in order, amount to."""
    digests: list[bytes] = []
    for position, (game, done) in enumerate(zip(games, dones, strict=True)):
        digests += done.digests
        if done.is_mismatch:
            ply = done.bad_ply if done.bad_ply >= 0 else None
            return Replayed(tuple(games[: position + 1]), tuple(digests), Mismatch(game, ply))
        if not done.is_ok:
            raise EngineError(f"Game {game} could not be replayed: {done.sentence}", done.status)
    return Replayed(tuple(games), tuple(digests), None)


def repeat_ply(job: Job, moves: Sequence[int], ply: int, kernel: Kernel) -> Ply:
    """Searches absolute ply `ply` of a game with these moves as `job` would; raises IllegalMove, EngineError."""
    game = Game(job.rules)
    for move in moves[:ply]:
        game.play(move)
    player = job.white if ply % 2 else job.black
    return search_ply(player, kernel, job.config, job.config_digest, job.game_seed, game)


def differences(claimed: bytes, ply: Ply, size: int) -> tuple[str, ...]:
    """Names of the fields in which a claimed ply record differs from what the search gives."""
    theirs, ours = PlyRecord.parse(claimed, size), PlyRecord.parse(ply.record(), size)
    names = {
        "kind": "kind",
        "move": "move",
        "visits": "visits",
        "policy_target": "policy target",
        "value": "value",
        "score": "score",
        "trace_hash": "trace",
    }
    return tuple(name for field, name in names.items() if getattr(theirs, field) != getattr(ours, field))


def name_mismatch(job: Job, block: GameBlock, mismatch: Mismatch, kernel: Kernel = Kernel.BEST) -> Rejected:
    """The named reason of a mismatch: the one edited field, or `search` when the whole search was another one."""
    game, ply = mismatch.game, mismatch.ply
    if ply is None:
        return Rejected(DOUBT, f"Game {game} does not have the header that its replay gives.", game)
    fields = differences(block.record(ply), repeat_ply(job, block.moves, ply, kernel), block.header.size)
    if "trace" in fields and len(fields) > 1:
        text = f"Ply {ply} of game {game} was not searched with this release, config and seed."
        return Rejected("search", text, game, ply)
    if not fields:
        return Rejected(DOUBT, f"The engine and its own search differ at ply {ply} of game {game}.", game, ply)
    return Rejected(
        fields[0], f"Ply {ply} of game {game} has another {' and '.join(fields)} than its replay.", game, ply
    )
