"""What statistics recommend: more replay for one contributor, with the reason in numbers. Never a conviction.

Pure. The coordinator decides, says until which entry, and logs it (`protocol.orders.Scrutiny`). The shares:

- results, lengths or first moves unlike the others': 50 %. Cheating in a share s of games then meets replay in s/2 of them,
  ten times as often as at q = 5 %, while an honest contributor flagged by chance costs half its compute again for a while.
- repeated games: 100 %. What was copied cannot replay from the copier's own seeds, so one replay of each game settles it.
- a difference between submitted and filled games: probation anew. Such games replay well, since each is honest; what is
  wrong is which of them came. Everything is held back until the whole of a new probation passed, and 50 % after that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from protocol.record import Record
from protocol.seeds import PPM
from protocol.types import Key, Ppm, Words
from verification.statistics.profile import Profile
from verification.statistics.repeats import GameIndex
from verification.statistics.residual import Residual, review
from verification.statistics.tails import NOTHING, tail_z

RESULTS_PPM = PPM // 2
REPEATS_PPM = PPM
TAILS_PPM = PPM // 2


@dataclass(frozen=True, slots=True)
class Suspicion(Record):
    """Replay at least `q_ppm` of the peer's games, and begin its probation anew if `restart`; `reason` is one line."""

    peer: Key
    q_ppm: Ppm
    restart: bool
    reason: Words


def suspect_results(profiles: Mapping[bytes, Profile]) -> tuple[Suspicion, ...]:
    """Contributors whose games are unlike the others', in order of key."""
    found = sorted(review(profiles).items())
    return tuple(Suspicion(peer, RESULTS_PPM, False, describe(residual)) for peer, residual in found)


def suspect_repeats(index: GameIndex) -> tuple[Suspicion, ...]:
    """Contributors that repeat too many games of others, in order of key."""
    return tuple(
        Suspicion(peer, REPEATS_PPM, False, _describe_repeats(index, peer))
        for peer in sorted(index.peers)
        if index.is_flagged(peer)
    )


def suspect_tails(peer: bytes, submitted: Profile, filled: Profile, others: Profile = NOTHING) -> Suspicion | None:
    """A contributor whose submitted games differ from those that others filled in for it, or None."""
    found = tail_z(submitted, filled, others)
    if not found.restarts:
        return None
    reason = f"submitted games differ from those filled in by others: z {found.z:.1f} in {found.measure}"
    return Suspicion(peer, TAILS_PPM, True, f"{reason} ({submitted.games} and {filled.games} games)")


def describe(residual: Residual) -> str:
    """A residual in one line."""
    numbers = f"chi-squared {residual.chi2:.1f} at {residual.degrees} degrees of freedom"
    return f"{residual.family} differ from the others': {numbers}, {_chance(residual.p)}, z {residual.z:.1f}"


def _describe_repeats(index: GameIndex, peer: bytes) -> str:
    own, others = index.repeats(peer), index.others(peer)
    return (
        f"{own.repeated} of {own.games} long games were played by others before, "
        f"who repeat {others.repeated} of {others.games}: {_chance(index.chance(peer))}"
    )


def _chance(p: float) -> str:
    return f"p {p:.0e}" if p > 0.0 else "p below 1e-300"
