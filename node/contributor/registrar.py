"""Entering a run: posts the registration once, and waits until the log and a beacon have given this key its join nonce.

Spec: `docs/spec/registration.md`.
"""

import trio

from node.member import Member
from node.peering.call import CallRefused
from node.peering.post import Post
from node.peering.transport import TransportError
from protocol.ed25519 import SecretKey
from protocol.registration import Registration

SEEN_WITHIN_S = 10.0
LOGGED_WITHIN_S = 60.0
AGAIN_S = 1.0

NO_VERIFIER = "a verifier: none is approved (the root's holder signs one in with gonode root sign)"


class RegistrationRefused(Exception):
    """One sentence: why the coordinator does not register this key."""


async def register(member: Member, secret: SecretKey, invite: bytes, name: str) -> None:
    """Returns once `secret`'s key is registered and has its join nonce; raises RegistrationRefused."""
    await member.until(member.newest_head)  # below it this key may be registered
    while member.state.registry.find(secret.public) is None:
        head = await member.until(member.newest_head)
        if not invite:
            raise RegistrationRefused(
                "This key is not registered, and no invite was given: ask for one (--invite FILE)."
            )
        record = Registration(
            run=member.state.run,
            peer=secret.public,
            name=name,
            recovery_hash=b"",
            log_size=head.size,
            root_hash=head.root,
            invite=invite,
            stamp=0,
        )
        try:
            await member.post(Post(record.seal(secret).encode(), b""))
            with trio.move_on_after(LOGGED_WITHIN_S):  # who passed it on may have lied
                await member.until(lambda: member.state.registry.find(secret.public))
        except CallRefused as refusal:
            with trio.move_on_after(SEEN_WITHIN_S):  # an earlier post may be logged although its answer was lost
                await member.until(lambda: member.state.registry.find(secret.public))
            if member.state.registry.find(secret.public) is None:
                raise RegistrationRefused(f"The coordinator does not register this key: {refusal}") from None
        except TransportError as error:
            backoff = member.reach.backoff
            member.events("waiting", f"Cannot register yet: {error} Next try in {max(1, backoff.next_try_in_s):.0f} s.")
            await trio.sleep(member.jitter(AGAIN_S))
            await backoff.until_ready()
    if not member.state.verifiers():
        member.events("waiting", f"Registered; waiting for {NO_VERIFIER}.")
    await member.until(lambda: True if _is_witnessed(member, secret.public) else None)
    member.events("registered", f"Joined run {member.state.manifest.name} as {name} ({secret.public.hex()[:8]}).")


def awaited(member: Member, peer: bytes) -> str | None:
    """What the registration of `peer` waits for; None once it is done."""
    if member.state.size < 2:
        return "the run's log"
    if _is_witnessed(member, peer):
        return None
    if member.state.registry.find(peer) is None:
        return "the run's coordinator to register this key"
    return "the run's verifiers to witness the registration" if member.state.verifiers() else NO_VERIFIER


def _is_witnessed(member: Member, peer: bytes) -> bool:
    """Whether the registration of `peer` and the share set of its beacon are under a cosigned head."""
    registration = member.state.registry.find(peer)
    shares = None if registration is None else member.state.beacons.find(registration.index)
    return shares is not None and shares.set_index < member.cosigned_size
