"""Draws by beacon: which verifier is assigned, and which gate games it replays.

Spec: `docs/spec/verdict.md` ("Draws"). Commit first: what is drawn from is logged before the beacon that draws exists.
"""

from collections.abc import Iterable

from protocol.seeds import is_picked, verifier_rank

GATE_REPLAY = "gate-replay"


def assigned_verifier(beacon: bytes, subject: bytes, verifiers: Iterable[bytes]) -> bytes | None:
    """The verifier that ranks first for a subject; None without verifiers."""
    return min(verifiers, key=lambda key: verifier_rank(beacon, subject, key), default=None)


def drawn_gate_games(beacon: bytes, result_digest: bytes, pairs: int, replay_ppm: int) -> tuple[int, ...]:
    """The games of a gate result to replay: games 2k and 2k + 1 of each pair k (u16) that the beacon picks."""
    return tuple(
        game
        for k in range(pairs)
        if is_picked(GATE_REPLAY, beacon, result_digest + k.to_bytes(2, "little"), replay_ppm)
        for game in (2 * k, 2 * k + 1)
    )
