"""Follows the log: acts on heads that are gossiped, asks now and then for those that gossip lost, pulls what is new.

Spec: docs/spec/swarm.md ("Following"). A head certifies itself, so whoever tells of one is not asked for it; its entries are
taken from any peer, the coordinator last (by verifiers first). Nothing depends on gossip. `heads` says what is believed,
`puller` how entries get here.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import trio

from node.disk.store import Head, Store
from node.following.client import LogClient, ShownHeads
from node.following.heads import Heads
from node.following.puller import OnEntry, Puller
from node.following.replica import Replica
from node.peering.call import CallRefused
from node.peering.gossip import is_note
from node.peering.transport import Transport, TransportError, short
from protocol.errors import ProtocolError, WrongSigner
from protocol.root import Root

log = logging.getLogger("gonode.net")

POLL_S: Final = 10.0
"""One peer is asked for its heads so often, give or take a quarter, while gossip brings heads."""

SILENT_POLL_S: Final = 3.0
"""The same once gossip brought no head for SILENCE_S."""

SILENCE_S: Final = 20.0

QUICK_S: Final = 0.5
"""The first wait after a peer showed no head; it doubles up to POLL_S, or MOST_BEGIN_S while the log has not begun."""

MOST_BEGIN_S: Final = 2.0

SPREAD_S: Final = 0.4
"""The most that a node waits before it asks for the entries of a gossiped head, and as long again without a link to the
coordinator: so that others have them by then."""

AGAIN_S: Final = 0.3
"""The first wait, give or take a quarter, after nobody gave the entries of a head; it doubles up to MOST_AGAIN_S."""

MOST_AGAIN_S: Final = 3.0

ASKED: Final = 2
"""Peers besides the coordinator that are asked for one head's entries before the next wait."""

_SHOW: Final = 4

_LOOK_S: Final = 0.5
_LIVE_ENTRIES: Final = 512
_LIVE_S: Final = 4.0
_ENTRIES_S: Final = 20.0
_MOST_HEARD: Final = 64

Report = Callable[[bytes, str], None]
"""Told of a peer that lied: (its key, why)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A verified head whose entries are not here yet, and the peer that showed it; None when it was gossiped."""

    head: Head
    shown_by: bytes | None


class LogFollower:
    """Keeps `replica` and `store` in step with the run's log.

    `peers()` gives the connected peers, `coordinators()` those of them that are the run's coordinator, which are asked
    first or last; `directory` is where fork proofs are kept. Entries below `cosigned_size` are under a head that enough
    witnesses cosigned; `on_cosigned()` is told when it grows, `on_newest()` when `newest` does, `report` of peers whose
    entries lead to no proof.
    """

    def __init__(
        self,
        transport: Transport,
        replica: Replica,
        store: Store,
        peers: Callable[[], Sequence[bytes]],
        directory: Path,
        *,
        coordinators: Callable[[], Sequence[bytes]] = tuple,
        coordinator_first: bool = False,
        rng: Random | None = None,
        on_entry: OnEntry | None = None,
        on_cosigned: Callable[[], None] = lambda: None,
        on_newest: Callable[[], None] = lambda: None,
        report: Report = lambda peer, reason: None,
    ) -> None:
        self._replica = replica
        self._peers = peers
        self._coordinators = coordinators
        self._coordinator_first = coordinator_first
        self._rng = rng or Random()
        self._on_cosigned = on_cosigned
        self._on_newest = on_newest
        self._report = report
        self._client = LogClient(transport)
        self._heads = Heads(replica, store, directory)
        self._puller = Puller(self._client, replica, store, self._heads, on_entry)
        self._told_newest = self._heads.newest
        self._pulling = trio.Lock()
        self._heard: list[Target] = []
        self._heard_s = -SILENCE_S
        self._is_called = False
        self._targets: list[Target] = []
        self._waiting: list[Head] = []
        self._tips: tuple[Root, ...] = ()
        self._said: dict[bytes, tuple[int, float]] = {}
        self._doubted: set[bytes] = set()
        self._giver: bytes | None = None
        self._turns: list[bytes] = []
        self._moved = trio.Event()

    @property
    def newest(self) -> Head | None:
        """The largest head that the coordinator signed and whose entries are here."""
        return self._heads.newest

    @property
    def cosigned_size(self) -> int:
        """The size of the largest head whose entries are here and that enough witnesses cosigned; 0 without one."""
        return self._heads.cosigned_size

    def said_size(self, peer: bytes) -> tuple[int, float] | None:
        """How many entries a connected peer last said to have, and when, on trio's clock: its word alone."""
        return self._said.get(peer)

    @property
    def overdue_root(self) -> int | None:
        """A root version that this node knows by its signatures and that the log should hold by now; None: there is none."""
        return self._heads.roots.overdue

    def learn_root(self, root: bytes) -> None:
        """Takes the envelope of a root version that no peer gave, if it follows one that is known; the log has begun."""
        self._heads.roots.learn([root])
        self._drop_ended()

    async def run(self) -> None:
        """Follows until cancelled; raises LogForked or LogRefused when the log is not to be believed any more."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._poll)
            nursery.start_soon(self._follow)

    def is_head(self, note: bytes) -> bool:
        """Whether a gossiped note is worth passing on: the coordinator signed it, as far as that can be checked yet."""
        try:
            return is_note(note) if self._replica.size < 2 else bool(self._heads.verified(note))
        except ProtocolError:
            return False

    def hint(self, note: bytes) -> None:
        """Follows the head in a gossiped note soon, if the coordinator signed it and it is news."""
        if self._replica.size < 2:
            self._is_called = True  # no signature can be checked yet, but somebody may have the beginning
            return
        if not self._heads.is_news(note):
            return
        try:
            head = self._heads.verified(note)
        except ProtocolError as error:
            log.debug("a gossiped head does not hold: %s", error)
            return
        self._heard_s = trio.current_time()
        self._hear(Target(head, None))

    async def sync_once(self) -> bool:
        """Asks some peers at once for their heads and pulls up to the newest; whether any of them gave one that holds."""
        return bool(await self._round())

    async def cosigned(self) -> Head | None:
        """Asks some peers; the newest head here that enough witnesses cosigned, or None when no peer shows one."""
        shown = await self._round()
        return self._heads.cosigned if any(each.cosigned for each in shown) else None

    async def _round(self) -> list[ShownHeads]:
        shown: list[ShownHeads] = []

        async def ask(peer: bytes) -> None:
            found = await self._ask(peer)
            if found is not None:
                shown.append(found)

        peers = self._order(None, _SHOW)
        if self._replica.size < 2:
            for peer in peers:
                await ask(peer)
        else:
            async with trio.open_nursery() as nursery:
                for peer in peers:
                    nursery.start_soon(ask, peer)
        self._take_heard()
        await self._pull_once(_ENTRIES_S)
        return shown

    # ---- heads

    async def _poll(self) -> None:
        """Asks a peer for its heads now and then, each in its turn; sooner when a peer is new or nobody showed any yet."""
        known: set[bytes] = set()
        quick_s, due_s = QUICK_S, trio.current_time()
        while True:
            peers = self._peers()
            fresh = [peer for peer in peers if peer not in known]
            known = set(peers)
            if not known.issuperset(self._said):
                self._said = {peer: said for peer, said in self._said.items() if peer in known}
            if fresh or self._is_called:
                self._is_called = False
                self._turns = [*fresh, *self._turns]
                quick_s, due_s = QUICK_S, trio.current_time()
            if trio.current_time() >= due_s and peers:
                shown = await self._ask(self._next_turn(known))
                if shown is not None and self._replica.size >= 2:
                    is_silent = trio.current_time() - self._heard_s >= SILENCE_S
                    wait_s = SILENT_POLL_S if is_silent else POLL_S
                else:
                    most_s = MOST_BEGIN_S if self._replica.size < 2 else POLL_S
                    wait_s, quick_s = quick_s, min(2 * quick_s, most_s)
                due_s = trio.current_time() + self._jitter(wait_s)
            await trio.sleep(min(_LOOK_S, max(0.0, due_s - trio.current_time())) if peers else _LOOK_S)

    def _next_turn(self, connected: set[bytes]) -> bytes:
        """The peer to be asked now: every connected one has a turn before one has a second."""
        self._turns = [peer for peer in dict.fromkeys(self._turns) if peer in connected]
        if not self._turns:
            self._turns = sorted(connected)
            self._rng.shuffle(self._turns)
        return self._turns.pop(0)

    async def _ask(self, peer: bytes) -> ShownHeads | None:
        """Hears what a peer shows; None when it shows no head that holds. The log begins with the first that has one."""
        try:
            shown = await self._client.heads(peer)
            self._said[peer] = (shown.size, trio.current_time())
            if self._replica.size < 2:
                await self._begin(peer, shown.note)
            heads = await self._verified(peer, shown)
        except (CallRefused, ProtocolError, TransportError) as error:
            log.debug("no head from %s: %s", short(peer), error)
            return None
        for head in heads:
            self._hear(Target(head, peer))
        return shown

    async def _verified(self, peer: bytes, shown: ShownHeads) -> list[Head]:
        """The heads that a peer showed and that are news; when a stranger signed one, a newer root may name him."""
        notes = [note for note in dict.fromkeys((shown.note, shown.cosigned)) if note and self._heads.is_news(note)]
        try:
            return [self._heads.verified(note) for note in notes]
        except WrongSigner:
            await self._heads.roots.ask(self._client, peer)
            self._drop_ended()
            return [self._heads.verified(note) for note in notes]

    async def _begin(self, peer: bytes, note: bytes) -> None:
        async with self._pulling:
            if self._replica.size >= 2:
                return
            try:
                await self._puller.begin(peer, note)
            except WrongSigner:
                raise  # its head may be by a thief: then it only passed that on
            except ProtocolError as error:
                self._lied(peer, error)
                raise

    def _hear(self, target: Target) -> None:
        self._heard = [*self._heard, target][-_MOST_HEARD:]
        self._moved.set()

    def _drop_ended(self) -> None:
        """Drops the heads by a key that a root version has ended since they were verified."""
        if self._replica.size < 2 or self._tips == self._heads.roots.tips:
            return
        self._tips = self._heads.roots.tips
        self._heard = [each for each in self._heard if self._heads.is_held(each.head)]
        self._targets = [each for each in self._targets if self._heads.is_held(each.head)]
        self._waiting = [head for head in self._waiting if self._heads.is_held(head)]

    def _take_heard(self) -> None:
        """Keeps the heads that were heard, and compares them or has their entries pulled; raises LogForked."""
        self._drop_ended()
        heard, self._heard = self._heard, []
        for target in heard:
            head = target.head
            try:
                self._heads.keep(head)
            except ProtocolError as error:
                log.debug("a head that was heard does not hold any more: %s", error)
                continue
            if head.size <= self._replica.size:
                self._settle([head])
                continue
            self._waiting = [*self._waiting, head][-_MOST_HEARD:]
            # The largest one stays beside the newest: a bad coordinator may sign one whose entries nobody has.
            others = [each for each in self._targets if each.head.size != head.size]
            self._targets = [*sorted(others, key=lambda each: each.head.size)[-1:], target]

    def _settle(self, heads: Sequence[Head]) -> None:
        """Compares heads that the tree reaches; raises LogForked."""
        before = self._heads.cosigned_size
        for head in heads:
            self._heads.settle(head)
        if self._heads.cosigned_size > before:
            self._on_cosigned()
        if self._heads.newest is not self._told_newest:
            self._told_newest = self._heads.newest
            self._on_newest()

    # ---- entries

    async def _follow(self) -> None:
        """Pulls what is heard of or shown, again and again while nobody has it."""
        wait_s, live_s = AGAIN_S, _LIVE_S
        while True:
            if not (self._heard or self._targets):
                await self._moved.wait()
                if all(each.shown_by is None for each in self._heard):
                    await trio.sleep(self._spread_s())
            self._moved = trio.Event()
            self._take_heard()
            before = self._replica.size
            is_done = await self._pull_once(live_s)
            if is_done or self._replica.size > before:
                wait_s, live_s = AGAIN_S, _LIVE_S
            if not is_done:
                with trio.move_on_after(self._jitter(wait_s)):
                    await self._moved.wait()
                wait_s, live_s = min(2 * wait_s, MOST_AGAIN_S), min(2 * live_s, _ENTRIES_S)

    async def _pull_once(self, live_s: float) -> bool:
        """Asks for the entries of each target, peer after peer; whether nothing is left to be pulled.

        A few entries have to come within `live_s`.
        """
        async with self._pulling:
            failed: set[bytes] = set()
            for target in sorted(self._targets, key=lambda each: -each.head.size):
                for peer in self._order(target.shown_by):
                    missing = target.head.size - self._replica.size
                    if missing > 0 and peer not in failed:
                        await self._pull(target.head, peer, live_s if missing <= _LIVE_ENTRIES else _ENTRIES_S)
                        failed |= self._doubted & {peer}
            self._drop_ended()
            size = self._replica.size
            reached = [head for head in self._waiting if head.size <= size]
            self._waiting = [head for head in self._waiting if head.size > size]
            self._targets = [each for each in self._targets if each.head.size > size]
            self._heads.settle_grown()
            self._settle(reached)
            return not self._targets

    async def _pull(self, head: Head, peer: bytes, timeout_s: float) -> None:
        try:
            await self._puller.pull(head, peer, timeout_s)
        except CallRefused as error:
            log.debug("no entries from %s: %s", short(peer), error)
        except TransportError as error:
            log.info("no entries from %s: %s", short(peer), error)
            self._doubted.add(peer)
        except ProtocolError as error:
            self._lied(peer, error)
        else:
            self._doubted.discard(peer)
            self._giver = peer

    def _lied(self, peer: bytes, error: ProtocolError) -> None:
        log.info("the entries of %s lead to no proof: %s", short(peer), error)
        self._doubted.add(peer)
        self._report(peer, f"Its log entries lead to no proof: {error}")

    def _order(self, first: bytes | None, most: int = ASKED) -> list[bytes]:
        """Whom to ask: who showed the head, who gave the last entries, others at random up to `most`, the coordinator.

        That one before them with `coordinator_first`; doubted ones after all.
        """
        connected = list(self._peers())
        self._doubted &= set(connected)
        self._rng.shuffle(connected)
        connected.sort(key=lambda peer: (peer != first, peer in self._doubted, peer != self._giver))
        coordinators = set(self._coordinators())
        others = [peer for peer in connected if peer not in coordinators][:most]
        named = [peer for peer in connected if peer in coordinators]
        order = [*named, *others] if self._coordinator_first else [*others, *named]
        return sorted(order, key=lambda peer: (peer != first, peer in self._doubted))

    def _spread_s(self) -> float:
        """How long to wait for others to have the entries of a gossiped head: longer the farther from the coordinator."""
        if self._coordinator_first:
            return 0.0
        return self._rng.uniform(0, SPREAD_S) + (0.0 if self._coordinators() else SPREAD_S)

    def _jitter(self, seconds: float) -> float:
        return seconds * self._rng.uniform(0.75, 1.25)
