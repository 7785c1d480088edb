"""The verifier as a witness: cosigns heads that extend what it saw, and gives its beacon share with each.

Spec: `docs/spec/log.md` ("Witnesses"), `docs/spec/beacon.md`. Invariant: after a head was cosigned, no other is until the
log holds that head's share set with the own share in it; the cosignature is on disk before it is sent and is sent until
it is taken.
"""

from collections.abc import Callable

import trio

from node.disk.store import Head
from node.member import Member
from node.peering.call import CallRefused
from node.peering.post import COSIGN_PROTOCOL, Cosigning
from node.peering.transport import TransportError
from node.verifier.epoch_keeper import EpochKeeper
from protocol.checkpoint import Checkpoint, cosign
from protocol.ed25519 import SecretKey
from protocol.epoch import Share
from protocol.seeds import beacon_share, log_origin
from verification.witness import witness_name

LAST_KEY = "cosigned"
LOOK_EVERY_S = 1.0
"""How often to look besides at each change of the log and of its newest head."""

AGAIN_S = 30.0
"""A cosignature that was taken is on the coordinator's disk; it is sent again this late, should that disk be another."""


class Witness:
    """Cosigns for one verifier."""

    def __init__(self, member: Member, secret: SecretKey, epochs: EpochKeeper) -> None:
        self._member = member
        self._secret = secret
        self._epochs = epochs
        self._taken: tuple[int, float] = (0, 0.0)
        self._said_overdue: int | None = None

    async def run(self) -> None:
        """Cosigns new heads until cancelled."""
        while True:
            try:
                await self._step()
            except TransportError:
                await self._member.reach.backoff.until_ready()
            except CallRefused as refusal:
                self._member.events("cosign-refused", str(refusal))
                self._member.store.delete(LAST_KEY)
                await trio.sleep(1)
            await self._member.change_within(LOOK_EVERY_S)

    async def catch_up(self, said_size: Callable[[], int | None]) -> None:
        """Cosigns until the newest head known, of at least `said_size()` entries, carries its cosignature; for a drain.

        None means that something is still to be said.
        """
        with trio.move_on_after(15):
            while True:
                newest, said = self._member.newest_head(), said_size()
                if said is not None and self._has_cosigned(max(said, 0 if newest is None else newest.size)):
                    return
                await self._member.change_within(LOOK_EVERY_S)

    def _has_cosigned(self, size: int) -> bool:
        """Whether the coordinator has this witness's cosignature for a head of at least so many entries."""
        last = self._last()
        return last is not None and last.size >= size and (self._is_logged(last) or self._is_taken(last))

    def _last(self) -> Cosigning | None:
        saved = self._member.store.get(LAST_KEY)
        return None if saved is None else Cosigning.parse(saved)

    async def _step(self) -> None:
        last = self._last()
        if last is not None and not self._is_logged(last):
            if not self._is_taken(last):
                await self._send(last)
            return
        newest = self._member.newest_head()
        if newest is None or (last is not None and newest.size <= last.size) or newest.size > self._member.state.size:
            return
        if self._is_root_left_out():
            return
        cosigning = self._cosign(newest)
        if cosigning is not None:
            self._member.store.put(LAST_KEY, cosigning.encode())
            await self._send(cosigning)

    def _is_root_left_out(self) -> bool:
        """Whether the log does not hold a root version that it should hold by now; says so once."""
        follower = self._member.follower
        overdue = None if follower is None else follower.overdue_root
        if overdue is not None and overdue != self._said_overdue:
            self._member.events(
                "root-left-out", f"The log leaves out root version {overdue}: its heads are not cosigned."
            )
        self._said_overdue = overdue
        return overdue is not None

    def _is_logged(self, last: Cosigning) -> bool:
        return self._member.state.beacons.has_share(self._secret.public, last.size)

    def _is_taken(self, last: Cosigning) -> bool:
        """Whether the coordinator took it lately, and may still log it: no later share set is here."""
        size, at_s = self._taken
        is_open = self._member.state.beacons.last_size < last.size
        return is_open and size == last.size and trio.current_time() - at_s < AGAIN_S

    def _cosign(self, newest: Head) -> Cosigning | None:
        state = self._member.state
        epoch = state.epochs.at(self._secret.public, newest.size)
        if epoch is None or state.tree.root(newest.size) != newest.root:
            return None
        secret = self._epochs.secret_of(epoch.epoch)
        share = Share(
            run=state.run,
            verifier=self._secret.public,
            epoch=epoch.epoch,
            size=newest.size,
            root_hash=newest.root,
            share=beacon_share(secret, state.run, newest.size, newest.root),
        )
        body = Checkpoint(log_origin(state.run), newest.size, newest.root).body()
        line = cosign(body, self._secret, witness_name(self._secret.public), int(self._member.clock()))
        return Cosigning(self._secret.public, newest.size, line.encode(), share.seal(self._secret).encode())

    async def _send(self, cosigning: Cosigning) -> None:
        await self._member.reach.call(COSIGN_PROTOCOL, cosigning.encode())
        self._taken = cosigning.size, trio.current_time()
