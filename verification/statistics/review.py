"""One review of all contributors: what statistics say of each, and what is recommended.

Pure; see the package. A contributor's own games, those that others filled in for it, and repeats are looked at; where
several say something, the strongest share counts, and probation begins anew if any says so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from verification.statistics.profile import Profile
from verification.statistics.repeats import GameIndex
from verification.statistics.residual import Residual, residuals
from verification.statistics.suspicion import Suspicion, suspect_repeats, suspect_results, suspect_tails

MOST_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Review:
    """What a review found of one contributor: the family of its games in which it differs most, and what follows."""

    residual: Residual
    suspicion: Suspicion | None


def review_all(own: Mapping[bytes, Profile], filled: Mapping[bytes, Profile], index: GameIndex) -> dict[bytes, Review]:
    """A review of each contributor in `own`; `filled` by the owner of the seeds, with no game that is in `own` too."""
    pooled = Profile.merge(own.values())
    suspicions = [each for each in (_tails(owner, own, games) for owner, games in filled.items()) if each is not None]
    suspicions += [*suspect_repeats(index), *suspect_results(own)]
    return {
        peer: Review(
            max(residuals(profile, pooled), key=lambda each: each.severity),
            joined(each for each in suspicions if each.peer == peer),
        )
        for peer, profile in own.items()
    }


def joined(suspicions: Iterable[Suspicion]) -> Suspicion | None:
    """Several suspicions of one contributor as one."""
    found = list(suspicions)
    if not found:
        return None
    reason = "; ".join(each.reason for each in found)[:MOST_CHARACTERS]
    return Suspicion(found[0].peer, max(each.q_ppm for each in found), any(each.restart for each in found), reason)


def _tails(owner: bytes, own: Mapping[bytes, Profile], filled: Profile) -> Suspicion | None:
    """What the games that were filled in for `owner` say of those that it submitted.

    Of the others' games only those count that are like the filled ones: the rest would change no mean that matters.
    """
    alike = (
        Profile({stratum: profile.strata[stratum] for stratum in filled.strata.keys() & profile.strata.keys()})
        for peer, profile in own.items()
        if peer != owner
    )
    return suspect_tails(owner, own.get(owner, Profile()), filled, Profile.merge(alike))
