"""Entering a run: posts the registration, and waits until the log and a beacon have given this key its join nonce.

Spec: `docs/spec/registration.md`, `docs/spec/slots.md`. With an invite it is posted once. With a stamp it waits at the
coordinator for a probation slot: it is posted again now and then, which tells its place, and stamped anew before its stamp
is too old.
"""

from collections.abc import Awaitable, Callable

import trio

from node.contributor.stamping import Stamper
from node.engine.engine import Engine
from node.member import Member
from node.peering.call import CallRefused
from node.peering.post import Post, Posted
from node.peering.transport import TransportError
from protocol.ed25519 import SecretKey
from protocol.registration import Registration

SEEN_WITHIN_S = 10.0
LOGGED_WITHIN_S = 60.0
AGAIN_S = 1.0
ASKED_AGAIN_S = 30.0
"""How soon a registration that waits for a slot is posted again."""

SAID_AGAIN_S = 300.0
"""How soon it is said again that it waits."""

NO_VERIFIER = "a verifier: none is approved (the root's holder signs one in with gonode root sign)"


class RegistrationRefused(Exception):
    """One sentence: why the coordinator does not register this key."""


class Registrar:
    """Registers the key of `secret`, with an invite, or without one by a stamp where the run takes stamps.

    A registration with a stamp is posted only after `until_play`, which returns while play does not rest. That of a ringer
    (`is_ringer`) has no owner to be told to keep its key.
    """

    def __init__(
        self,
        member: Member,
        secret: SecretKey,
        engine: Engine,
        invite: bytes,
        name: str,
        recovery_hash: bytes = b"",
        until_play: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint,
        is_ringer: bool = False,
    ) -> None:
        self._member = member
        self._secret = secret
        self._invite = invite
        self._name = name
        self._recovery_hash = recovery_hash
        self._stamper = Stamper(member, engine, secret.public, name, recovery_hash)
        self._until_play = until_play
        self._is_ringer = is_ringer
        self._place = ""
        self._said_s = -SAID_AGAIN_S

    @property
    def waiting_for(self) -> str | None:
        """What the registration waits for; None once it is done."""
        member, peer = self._member, self._secret.public
        if member.state.size < 2:
            return "the run's log"
        if self._is_witnessed():
            return None
        if member.state.registry.find(peer) is None:
            return self._stamper.waiting_for or self._place or "the run's coordinator to register this key"
        return "the run's verifiers to witness the registration" if member.state.verifiers() else NO_VERIFIER

    async def register(self) -> None:
        """Returns once the key is registered and has its join nonce; raises RegistrationRefused."""
        member = self._member
        head = await member.until(member.newest_head)
        await member.until_size(head.size)  # below it this key may be registered
        self._say_recovery()
        is_new = not self._is_registered()
        while not self._is_registered():
            try:
                await (self._with_invite() if self._invite or not self._takes_stamps() else self._with_stamp())
            except TransportError as error:
                await self._back_off(error)
        if not member.state.verifiers():
            member.events("waiting", f"Registered; waiting for {NO_VERIFIER}.")
        await member.until(lambda: True if self._is_witnessed() else None)
        who = f"{self._name} ({self._secret.public.hex()[:8]})"
        text = f"Joined run {member.state.manifest.name} as {who}."
        if self._is_ringer:
            text = (
                f"Registered {who}, a ringer: a contributor of this coordinator's own, whose games test the verifiers."
            )
        elif is_new:
            text += " Its key is new, and your credit: back it up (gonode keys export)."
        member.events("registered", text)

    def _say_recovery(self) -> None:
        """Says once with which recovery key this one is registered, and when it is not what its owner has in mind."""
        if self._is_ringer:
            return
        info = self._member.state.registry.find(self._secret.public)
        if info is None and not self._recovery_hash:
            text = "Without a recovery key, a stolen or lost key takes its history along."
            self._member.events(
                "no-recovery", f"{text} One is made by: gonode keys recovery FILE (then --recovery FILE)."
            )
        elif info is None:
            found = self._recovery_hash.hex()
            text = f"This key is registered with the recovery key {found}; whoever has that can replace it."
            self._member.events("recovery", text, hash=found)
        elif self._recovery_hash:
            if not isinstance(info.record, Registration):
                self._member.events("no-recovery", "This key replaced another one and cannot be replaced again.")
            elif info.record.recovery_hash != self._recovery_hash:
                self._member.events("no-recovery", "This key is registered already, and not with this recovery key.")

    async def _with_invite(self) -> None:
        """Posts the registration with its invite and waits for it in the log."""
        head = await self._member.until(self._member.newest_head)
        if not self._invite:
            raise RegistrationRefused(
                "This key is not registered, and no invite was given: ask for one (--invite FILE)."
            )
        record = Registration(
            run=self._member.state.run,
            peer=self._secret.public,
            name=self._name,
            recovery_hash=self._recovery_hash,
            log_size=head.size,
            root_hash=head.root,
            invite=self._invite,
            stamp=0,
        )
        try:
            await self._post(record)
            await self._seen_within(LOGGED_WITHIN_S)  # who passed it on may have lied
        except CallRefused as refusal:
            if not await self._seen_within(SEEN_WITHIN_S):  # an earlier post may be logged although its answer was lost
                raise RegistrationRefused(f"The coordinator does not register this key: {refusal}") from None

    async def _with_stamp(self) -> None:
        """Posts the registration with a stamp, made if need be, and waits for it in the log for a while."""
        record = await self._stamper.stamped()
        await self._until_play()  # a slot that is won while play rests is lost again
        if self._is_registered() or not self._stamper.is_of_use(record):
            return
        try:
            posted = await self._post(record)
        except CallRefused as refusal:
            if not await self._seen_within(SEEN_WITHIN_S):
                reason = self._member.never_logged(record.seal(self._secret).encode())
                if reason is not None and self._takes_stamps() and self._stamper.is_of_use(record):
                    raise RegistrationRefused(f"The coordinator does not register this key: {reason}") from None
                self._wait(f"the run's coordinator to let its registration wait: {refusal}")
                await self._seen_within(self._member.jitter(ASKED_AGAIN_S))
            return
        if posted.place:
            self._wait(f"a probation slot: place {posted.place} of {posted.waiting}")
        await self._seen_within(self._member.jitter(ASKED_AGAIN_S))

    async def _post(self, record: Registration) -> Posted:
        return await self._member.post(Post(record.seal(self._secret).encode(), b""))

    async def _seen_within(self, seconds: float) -> bool:
        """Whether the log comes to show the registration within so many seconds."""
        with trio.move_on_after(seconds):
            await self._member.until(lambda: True if self._is_registered() else None)
        return self._is_registered()

    def _wait(self, what: str) -> None:
        """Notes what the registration waits for, and says so now and then."""
        self._place = what
        if trio.current_time() - self._said_s >= SAID_AGAIN_S:
            self._said_s = trio.current_time()
            self._member.events("waiting", f"Waiting for {what.rstrip('.')}.")

    async def _back_off(self, error: TransportError) -> None:
        backoff = self._member.reach.backoff
        text = f"Cannot register yet: {error} Next try in {max(1, backoff.next_try_in_s):.0f} s."
        self._member.events("waiting", text)
        await trio.sleep(self._member.jitter(AGAIN_S))
        await backoff.until_ready()

    def _takes_stamps(self) -> bool:
        return self._member.state.manifest.admission.registration == "stamp"

    def _is_registered(self) -> bool:
        return self._member.state.registry.find(self._secret.public) is not None

    def _is_witnessed(self) -> bool:
        """Whether the registration and the share set of its beacon are under a cosigned head."""
        registration = self._member.state.registry.find(self._secret.public)
        shares = None if registration is None else self._member.state.beacons.find(registration.index)
        return shares is not None and shares.set_index < self._member.cosigned_size
