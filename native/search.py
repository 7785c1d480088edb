"""One searched move as a pure function, and the numbers that steer it (docs/spec/search.md).

Invariants: a `Ply` depends on (network bytes, config, position history, game seed, ply) alone, never on the kernel, the
machine or what was searched before; a config whose numbers are out of range is never made. Whole games are
`native.pool`'s.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING

from native._engine import ffi, lib
from native.errors import EngineError, sentence_of, verify_status
from native.game import Game
from native.network import Kernel, Network

if TYPE_CHECKING:
    from native._engine import CData

DIGEST_BYTES = 32


class Root(IntEnum):
    """How the root divides its visits."""

    PUCT = lib.GO_ROOT_PUCT
    GUMBEL = lib.GO_ROOT_GUMBEL


class Kind(IntEnum):
    """Playout-cap randomisation: a full search gives a policy target, a fast one only a move."""

    FAST = lib.GO_PLY_FAST
    FULL = lib.GO_PLY_FULL


_ONE = 1_000_000
_RANGES = {
    "root": (Root.PUCT, Root.GUMBEL),
    "visits_full": (2, 65535),
    "visits_fast": (2, 65535),
    "full_share_ppm": (0, _ONE),
    "cpuct_micro": (0, 100 * _ONE),
    "fpu_reduction_micro": (0, 10 * _ONE),
    "root_fpu_reduction_micro": (0, 10 * _ONE),
    "noise_weight_ppm": (0, _ONE),
    "noise_alpha_micro": (0, 1000 * _ONE),
    "root_temperature_micro": (_ONE // 100, 100 * _ONE),
    "forced_playouts_micro": (0, 100 * _ONE),
    "score_utility_micro": (0, 10 * _ONE),
    "temperature_start_micro": (0, 10 * _ONE),
    "temperature_end_micro": (0, 10 * _ONE),
    "temperature_halflife": (1, _ONE),
    "gumbel_considered": (1, 362),
    "gumbel_noise_micro": (0, 10 * _ONE),
    "gumbel_c_visit_micro": (0, 1000 * _ONE),
    "gumbel_c_scale_micro": (0, 100 * _ONE),
    "symmetry": (0, 1),
}


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """The numbers of a signed search config; micro are millionths, ppm parts per million, the temperature's half-life
    is in plies. Raises EngineError for a number out of its range. The defaults are a plain search without noise whose
    move is the most visited one (PUCT root) or the one of the highest score (Gumbel root)."""

    root: int = Root.PUCT
    visits_full: int = 100
    visits_fast: int = 100
    full_share_ppm: int = _ONE
    cpuct_micro: int = 1_100_000
    fpu_reduction_micro: int = 200_000
    root_fpu_reduction_micro: int = 200_000
    noise_weight_ppm: int = 0
    noise_alpha_micro: int = 0
    root_temperature_micro: int = _ONE
    forced_playouts_micro: int = 0
    score_utility_micro: int = 0
    temperature_start_micro: int = 0
    temperature_end_micro: int = 0
    temperature_halflife: int = 1
    gumbel_considered: int = 16
    gumbel_noise_micro: int = 0
    gumbel_c_visit_micro: int = 50 * _ONE
    gumbel_c_scale_micro: int = _ONE
    symmetry: int = 1

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            number = getattr(self, name)
            if not isinstance(number, int) or not low <= number <= high:
                raise EngineError(f"The search config's {name} is {number!r}; it has to be {low:d} to {high:d}.")
        if self.noise_weight_ppm > 0 and self.noise_alpha_micro == 0:
            raise EngineError("The search config has root noise of zero concentration.")

    def as_dict(self) -> dict[str, int]:
        """The fields of a `go_search_config`."""
        return {field.name: int(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Player:
    """Who searches: a network, or None for uniform evaluation, and the 32-byte id of the release it is."""

    network: Network | None
    release: bytes

    def __post_init__(self) -> None:
        verify_digest("release", self.release)

    def as_dict(self) -> dict[str, object]:
        """The fields of a `go_player`; the network must outlive its use."""
        return {"net": ffi.NULL if self.network is None else self.network.handle, "release": self.release}


@dataclass(frozen=True, slots=True)
class Ply:
    """What one search leaves behind.

    `visits` of the root's children, one a move with the pass last, sum to the root visits - 1; `policy_target` sums to
    65535, or is all 0 on a fast ply. `value` (2^-24) and `score` (2^-12 points) are means at the root in the view of
    the side to move. `digest` is the trace digest D, never recorded itself.
    """

    ply: int
    move: int
    kind: Kind
    visits: tuple[int, ...]
    policy_target: tuple[int, ...]
    value: int
    score: int
    nodes: int
    digest: bytes

    def record(self) -> bytes:
        """The bytes of the ply's record, the leaf of a proof (docs/spec/batch.md)."""
        return (
            struct.pack("<HHB", self.ply, self.move, self.kind)
            + struct.pack(f"<{len(self.visits)}H", *self.visits)
            + struct.pack(f"<{len(self.policy_target)}H", *self.policy_target)
            + struct.pack("<ii", self.value, self.score)
            + hashlib.sha256(self.digest).digest()
        )


def verify_digest(name: str, digest: bytes) -> None:
    """Raises EngineError unless `digest` is 32 bytes."""
    if len(digest) != DIGEST_BYTES:
        raise EngineError(f"The {name} has {len(digest)} bytes; it has to have {DIGEST_BYTES}.")


def search_ids(config_digest: bytes, game_seed: bytes) -> dict[str, bytes]:
    """The fields of a `go_search_ids`. Raises EngineError for a digest or seed that is not 32 bytes."""
    verify_digest("config digest", config_digest)
    verify_digest("game seed", game_seed)
    return {"config": config_digest, "game_seed": game_seed}


def search_ply(
    player: Player, kernel: Kernel, config: SearchConfig, config_digest: bytes, game_seed: bytes, game: Game
) -> Ply:
    """Searches the position of `game` with `player`; the GIL is released. IllegalMove when the game is over,
    EngineError for a board that this engine does not search."""
    if player.network is not None and game.rules.rows != game.rules.cols:
        raise EngineError("A network searches square boards only.")
    out = ffi.new("go_ply *")
    ids = ffi.new("go_search_ids *", search_ids(config_digest, game_seed))
    verify_status(
        lib.go_search_ply(
            ffi.new("go_player *", player.as_dict()),
            int(kernel),
            ffi.new("go_search_config *", config.as_dict()),
            ids,
            game.handle,
            out,
        )
    )
    return _ply(out, game.rules.points + 1)


def _ply(ply: CData, width: int) -> Ply:
    return Ply(
        ply=ply.ply,
        move=ply.move,
        kind=Kind(ply.kind),
        visits=tuple(ffi.unpack(ply.visits, width)),
        policy_target=tuple(ffi.unpack(ply.policy_target, width)),
        value=ply.value,
        score=ply.score,
        nodes=ply.nodes,
        digest=bytes(ffi.buffer(ply.digest)),
    )


def selftest(kernel: Kernel = Kernel.BEST) -> None:
    """Raises EngineError unless this build on this machine, with `kernel`, finds the known trees. Takes some
    milliseconds; a node calls it before it plays or judges anything."""
    status = lib.go_search_selftest(int(kernel))
    if status == lib.GO_ERR_MISMATCH:
        raise EngineError(
            "The engine's self-test found another tree than the known one: do not use this build.", status
        )
    if status != lib.GO_OK:
        raise EngineError(f"The engine's self-test could not run: {sentence_of(status)}", status)
