"""What every role of a run stands on: its copy of the log, its store, its blobs, its peers.

Roles hold a `Member` and add what they do. It knows how to wait for the log to change and how to hand an entry to the
coordinator; the coordinator's own member hands it to itself.
"""

import platform
import re
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import TypeVar

import trio

from native.search import Player
from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Head, Store
from node.events import Events
from node.following.follower import LogFollower
from node.networks import Networks
from node.peering.call import CallRefused
from node.peering.conduct import Conduct
from node.peering.links import Links
from node.peering.post import MIRRORED, RELAYED, Post, Posted
from node.peering.reach import HeldByMirrors, Reach
from node.peering.transport import Transport, TransportError, Unreachable
from node.services import Services
from protocol.envelope import Envelope
from protocol.errors import BadProof, WrongSigner
from protocol.gate import GateAssignment
from protocol.receipt import Receipt
from protocol.root import COORDINATOR
from verification.faults import LogFault, NotYet
from verification.releases import ReleaseInfo
from verification.state import LogState

T = TypeVar("T")

RECEIPTED = tuple(record.payload_type() for record in MIRRORED)
"""Entries that are kept until the coordinator has signed for them."""

RELAYED_TYPES = tuple(record.payload_type() for record in RELAYED)
"""Entries that verifiers pass on."""


class Member:
    """One node's share in a run; `keeps(digest)` says whether its role keeps a blob for others, which stays on disk."""

    def __init__(
        self,
        home: Home,
        transport: Transport,
        state: LogState,
        store: Store,
        blobs: BlobService,
        blob_store: BlobStore,
        reach: Reach,
        events: Events,
        clock: Callable[[], float],
        rng: Random,
    ) -> None:
        self.home = home
        self.transport = transport
        self.state = state
        self.store = store
        self.blobs = blobs
        self.blob_store = blob_store
        self.reach = reach
        self.follower: LogFollower | None = None
        self.links: Links | None = None
        self.conduct: Conduct | None = None
        self.keeps: Callable[[bytes], bool] = keeps_nothing
        self.events = events
        self.clock = clock
        self.rng = rng
        self.services = Services(events, rng)
        self.networks = Networks(blobs, transport.peers)
        self.build = package_version()
        self.cpu = cpu_name()
        self._changed = trio.Event()

    def wake(self) -> None:
        """Has everybody who waits for a change look again."""
        self._changed.set()
        self._changed = trio.Event()

    async def change_within(self, seconds: float) -> None:
        """Returns at the next change, or after `seconds`."""
        with trio.move_on_after(seconds):
            await self._changed.wait()

    async def until(self, condition: Callable[[], T | None]) -> T:
        """The first answer of `condition` that is not None, asked now and after every change."""
        while True:
            answer = condition()
            if answer is not None:
                return answer
            await self._changed.wait()

    async def until_size(self, size: int) -> None:
        """Returns once this node's copy of the log has `size` entries."""
        await self.until(lambda: True if self.state.size >= size else None)

    async def post(self, post: Post) -> Posted:
        """Hands an entry to the coordinator, or where it is away and verifiers pass it on, to these.

        Raises CallRefused when it may never be logged, or a TransportError: HeldByMirrors when verifiers keep it.
        """
        try:
            return await self.post_directly(post)
        except TransportError:
            if Envelope.parse(post.envelope).type not in RELAYED_TYPES or not self.reach.mirrors():
                raise
        return await self.offer(post)

    async def post_directly(self, post: Post) -> Posted:
        """Hands an entry to the coordinator; raises CallRefused or TransportError."""
        return await self.reach.post(post, partial(self._check_receipt, Envelope.parse(post.envelope)))

    async def offer(self, post: Post) -> Posted:
        """Hands an entry to verifiers that pass it on; raises as `post` does.

        A verifier's refusal is its word alone: only what this node's own copy of the log never allows is refused.
        """
        try:
            return await self.reach.offer(post, partial(self._check_receipt, Envelope.parse(post.envelope)))
        except HeldByMirrors:
            raise
        except TransportError:
            reason = self.never_logged(post.envelope)
            if reason is not None:
                raise CallRefused(reason) from None
            raise

    def never_logged(self, data: bytes) -> str | None:
        """Why an entry will never be logged, as this node's copy of the log says; None when it is logged or may be."""
        envelope = Envelope.parse(data)
        if self.state.size < 2 or envelope.digest in self.state.subjects.by_digest:
            return None
        try:
            self.state.check(data)
        except NotYet:
            return None
        except LogFault as fault:
            return fault.reason
        return None

    def _check_receipt(self, envelope: Envelope, posted: Posted) -> None:
        """Raises ProtocolError unless the receipt is the coordinator's, for this entry at this index."""
        if envelope.type not in RECEIPTED:
            return
        signed = Envelope.parse(posted.receipt)
        receipt = Receipt.open(signed)
        role = self.state.role_of(signed.signers[0]) if len(signed.signers) == 1 else None
        if role is None or role.role != COORDINATOR:
            raise WrongSigner("it is not signed by the run's coordinator.")
        if (receipt.run, receipt.subject, receipt.index) != (self.state.run, envelope.digest, posted.index):
            raise BadProof("it is for another entry.")

    def entry_at(self, index: int) -> bytes:
        """The bytes of a log entry that this node has."""
        entry = self.store.entry(index)
        if entry is None:
            raise LogFault(f"Entry {index} is not in this node's copy of the log.")
        return entry

    def newest_head(self) -> Head | None:
        """The newest head that this node knows to be signed by the coordinator."""
        return self.store.newest_head() if self.follower is None else self.follower.newest

    @property
    def cosigned_size(self) -> int:
        """Entries below this index are witnessed, so what they say may be acted on; the coordinator's own all are."""
        return self.state.size if self.follower is None else self.follower.cosigned_size

    @property
    def releases(self) -> tuple[ReleaseInfo, ...]:
        """Release 0 and those whose entry enough witnesses cosigned, oldest first."""
        return tuple(each for each in self.state.releases.all if each.number == 0 or each.index < self.cosigned_size)

    def unix_s(self, since_s: float | None) -> int | None:
        """A moment of trio's clock as the wall clock counts now, which may have been set since; None stays None.

        What is shown as "since" keeps its true age so.
        """
        return None if since_s is None else int(self.clock() - (trio.current_time() - since_s))

    def jitter(self, seconds: float) -> float:
        """`seconds` give or take a quarter."""
        return seconds * self.rng.uniform(0.75, 1.25)

    async def player_of(self, release: ReleaseInfo) -> Player:
        """The player of a release, its network fetched if need be."""
        manifest = self.state.release_manifest(release)
        if release.number == 0:
            return self.networks.first_player(release.id, manifest, release.manifest)
        return await self.networks.player(release.id, release.network, release.network_blob, release.network_len)

    async def gate_players(self, assignment: GateAssignment) -> tuple[Player, Player]:
        """The players of a gate assignment: the candidate, then the base."""
        gate = self.state.gates.by_candidate(assignment.candidate)
        if gate is None:
            raise Unreachable("The assignment's candidate is not in this log.")
        train = gate.train
        return (
            await self.networks.player(gate.digest, train.network, train.network_blob, train.network_len),
            await self.player_of(gate.base),
        )


def keeps_nothing(digest: bytes) -> bool:
    """The `keeps` of a role that keeps no blobs for others."""
    return False


def package_version() -> str:
    """The version of this build."""
    try:
        return version("gonode")
    except PackageNotFoundError:
        return "unknown"


def cpu_name() -> str:
    """The processor's kind, as batch headers name it; it only informs."""
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", platform.machine() or "unknown").strip("-._+") or "unknown"
