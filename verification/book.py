"""The book of all batches: identities, series, checks and what is released, and what can be asked of them.

Spec: `docs/spec/admission.md`. It changes nothing by itself: `verification.batches` writes in it what the log holds.
"""

from collections.abc import Iterable

from verification.convictions import Convictions
from verification.faults import LogFault
from verification.identities import BatchInfo, Identity, Recheck, Tally, batch_of
from verification.registry import Registry
from verification.releases import Releases
from verification.roles import Roles
from verification.series import Fill, Series
from verification.subjects import BatchSubject, Subjects, require_drawn


class Book:
    """All batches of the log, their contributors and checks."""

    def __init__(
        self, roles: Roles, registry: Registry, convictions: Convictions, releases: Releases, subjects: Subjects
    ) -> None:
        self._roles = roles
        self._registry = registry
        self._convictions = convictions
        self._releases = releases
        self._subjects = subjects
        self._looking: dict[bytes, Recheck] = {}  # orders to look again that are not decided, by key
        self._series: dict[tuple[bytes, bytes], Series] = {}
        self._identities: dict[bytes, Identity] = {}
        self._batches: dict[int, BatchInfo] = {}
        self._open: dict[int, BatchInfo] = {}
        self._said: dict[bytes, dict[int, list[BatchSubject]]] = {}  # checks with a verdict, by verifier and epoch
        self._released: list[BatchInfo] = []  # in header log order
        self.released_rows = 0
        self.fills: list[Fill] = []
        """Games that others may fill in, oldest first; `verification.fills` asks them, and closes what nobody takes."""
        self.filled: dict[bytes, list[BatchInfo]] = {}
        """Accepted batches that fill in games, by the owner of their seeds."""

    @property
    def all(self) -> tuple[BatchInfo, ...]:
        """Every batch in log order."""
        return tuple(self._batches.values())

    @property
    def open(self) -> tuple[BatchInfo, ...]:
        """Batches that still need a decision, in log order."""
        return tuple(self._open.values())

    @property
    def released(self) -> tuple[BatchInfo, ...]:
        """Batches released to training, of identities neither banned nor accused, in header log order.

        `released_rows` are their plies.
        """
        return tuple(batch for batch in self._released if not self.is_suspended(batch.header.peer))

    def find(self, index: int) -> BatchInfo | None:
        """The batch whose header is logged at `index`."""
        return self._batches.get(index)

    def identity(self, peer: bytes) -> Identity | None:
        """The state of one contributor; None before its first header."""
        return self._identities.get(peer)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """All contributors that had a header logged, in the order of their first; one for a key and its replacement."""
        return tuple(dict.fromkeys(self._identities.values()))

    @property
    def looking(self) -> tuple[Recheck, ...]:
        """Orders to look at a batch again that are not decided, oldest first."""
        return tuple(self._looking.values())

    def series(self, owner: bytes, release: bytes) -> Series:
        """The counters of (owner, release)."""
        return self._series.get((owner, release)) or Series()

    def tally(self, peer: bytes) -> Tally:
        """The games of one identity."""
        identity = self._identities.get(peer)
        return identity.tally if identity is not None else Tally()

    def total(self) -> Tally:
        """The games of all identities."""
        total = Tally()
        for identity in self.identities:
            total += identity.tally
        return total

    def last_index(self, peer: bytes) -> int | None:
        """The log index of the peer's last header."""
        identity = self._identities.get(peer)
        return identity.last_index if identity is not None else None

    def is_out(self, peer: bytes) -> bool:
        """Whether `peer` has a rejected batch or a ban, lost its probation slot, or goes on under another key."""
        identity = self._identities.get(peer)
        if identity is not None and identity.out_at is not None:
            return True
        is_gone = self._registry.has_lost_slot(peer) or self._registry.successor(peer) is not None
        return is_gone or self._convictions.is_banned(peer)

    def is_suspended(self, peer: bytes) -> bool:
        """Whether a verdict accuses `peer` of what no logged proof has shown yet."""
        identity = self._identities.get(peer)
        return identity is not None and bool(identity.accusing)

    def active_players(self, index: int) -> tuple[bytes, ...]:
        """Contributors in good standing that were heard of within the last `timeout_entries` entries before `index`."""
        since = index - self._roles.manifest.admission.timeout_entries
        heard = {peer: self.last_index(peer) for peer in self._registry.peers if not self.is_out(peer)}
        return tuple(peer for peer, at in heard.items() if at is not None and at >= since)

    def undecided(self) -> Iterable[BatchSubject]:
        """Every check that still needs a verdict or a decision: open batches, second looks, orders to look again."""
        for batch in self._open.values():
            yield batch
            if batch.second is not None:
                yield batch.second
        yield from self._looking.values()

    def awaiting_verdict(self, verifier: bytes, index: int) -> list[BatchSubject]:
        """Checks that `verifier` may judge in an entry at `index`."""
        return [each for each in self.undecided() if self._subjects.may_judge(each, verifier, index)]

    def accusing(self) -> list[BatchSubject]:
        """Checks whose verdict accuses a contributor of what no logged proof has shown yet."""
        accusing = (each for identity in self.identities for each in identity.accusing)
        return sorted(
            (each for each in accusing if not self._convictions.is_shown(batch_of(each).index)),
            key=lambda each: each.verdict_index,
        )

    def unjudged(self, verifier: bytes, epoch: int) -> list[BatchSubject]:
        """Checks without a verdict that a verifier's epoch still has to draw from."""
        return [
            each
            for each in self.undecided()
            if each.verdict is None
            and each.candidates.get(verifier) == epoch
            and (each.beacon is None or each.assigned == verifier)
        ]

    def judged(self, verifier: bytes, epoch: int | None = None) -> list[BatchSubject]:
        """Checks of batches with a verdict by a verifier, decided or not, in log order; given an epoch, those under it."""
        said = self._said.get(verifier, {})
        looks = [look for each in (said if epoch is None else (epoch,)) for look in said.get(each, ())]
        found = [look for look in looks if look.verdict is not None and look.verdict.verifier == verifier]
        return sorted(found, key=lambda look: (batch_of(look).index, look.index))

    def false_draws(self, verifier: bytes, epoch: int, secret: bytes) -> list[BatchSubject]:
        """Checks whose verdicts under an epoch name other games than its revealed secret draws."""
        wrong = []
        for look in self.judged(verifier, epoch):
            try:
                if look.verdict is not None:
                    require_drawn(look.verdict, look.draw(secret))
            except LogFault:
                wrong.append(look)
        return wrong
