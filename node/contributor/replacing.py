"""Replacing a contributor's stolen or lost key: the new key is on disk first, then the log's, then this folder's.

Spec: `docs/spec/recovery.md`. A kill between any two steps loses nothing: the same command again goes on. The old key's file
stays beside the new one. What this folder sent is known by its receipts, so what a thief sent is known too.
"""

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import trio

from node.disk.files import sync
from node.disk.home import Home
from node.disk.keyring import create_key, load_key, load_or_create_key, load_public
from node.disk.store import Store
from node.member import Member
from node.outbox import BATCH
from node.peering.call import CallRefused
from node.peering.post import Post
from node.peering.transport import TransportError, Unreachable
from protocol.ed25519 import SecretKey
from protocol.recovery import KeyReplacement
from verification.faults import LogFault, NotYet
from verification.state import LogState

LOG_WITHIN_S: Final = 60.0
LOGGED_WITHIN_S: Final = 180.0
AGAIN_S: Final = 5.0
ASK_AGAIN_S: Final = 1.0


class ReplacementRefused(Exception):
    """One sentence: why a key is not replaced."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A replacement at `index` of the log; so many batches and games from `invalid_from` on were not the owner's."""

    old: bytes
    new: bytes
    index: int
    invalid_from: int
    batches: int
    games: int


def recovery_hash_of(text: str) -> bytes:
    """The hash of a recovery key, given as itself (64 hexadecimal digits) or as the key's file; raises KeyringError."""
    if len(text) == 64:
        try:
            return bytes.fromhex(text)
        except ValueError:
            pass
    return sha256(load_public(Path(text))).digest()


class Replacer:
    """Replaces the key `old`, by default the one that a folder has, by the folder's new key."""

    def __init__(self, home: Home, recovery: SecretKey, old: bytes | None) -> None:
        self._host = home.key("host")
        self._next = home.key("host.next")
        self._recovery = recovery
        present = load_key(self._host) if self._host.exists() else None
        if present is None and old is None:
            raise ReplacementRefused(f"{home.directory}: there is no key here; say which one to replace: --key KEY.")
        self._is_own = present is not None and old in (None, present.public)
        self.old = present.public if present is not None and old is None else old or b""
        if self._is_own:
            self.new = load_key(self._next) if self._next.exists() else create_key(self._next)
        else:
            self.new = load_or_create_key(self._host)

    async def replace(self, member: Member, invalid_from: int | None) -> Replaced:
        """Has the log show the replacement, then takes the new key into use; raises ReplacementRefused, TransportError."""
        await self._catch_up(member)
        state = member.state
        if state.registry.successor(self.old) != self.new.public:
            since = foreign_since(state, member.store, self.old) if invalid_from is None else invalid_from
            record = KeyReplacement(state.run, self.old, self._recovery.public, self.new.public, since)
            await self._log(member, record)
        info = state.registration(self.new.public)
        assert info is not None
        assert isinstance(info.record, KeyReplacement)
        self._take_new(member.store)
        identity = state.batches.identity(self.old)
        since = info.record.invalid_from
        gone = [] if identity is None else [b for b in identity.batches if since <= b.index < info.index]
        return Replaced(
            self.old, self.new.public, info.index, since, len(gone), sum(batch.header.games for batch in gone)
        )

    async def _catch_up(self, member: Member) -> None:
        """Returns once this copy of the log is as long as a peer says that the log is now; raises Unreachable."""
        with trio.move_on_after(LOG_WITHIN_S) as scope:
            while member.follower is None or await member.follower.cosigned() is None:
                await trio.sleep(member.jitter(ASK_AGAIN_S))
            head = await member.until(member.newest_head)
            await member.until_size(max(2, head.size))
        if scope.cancelled_caught:
            raise Unreachable(f"No peer of the run showed its log within {LOG_WITHIN_S:.0f} s.")

    async def _log(self, member: Member, record: KeyReplacement) -> None:
        """Posts the replacement until the log shows it."""
        data = record.seal(self._recovery, self.new).encode()
        try:
            member.state.check(data)
        except NotYet:
            pass
        except LogFault as fault:
            raise ReplacementRefused(fault.reason) from None
        why = "The run's coordinator does not answer."
        with trio.move_on_after(LOGGED_WITHIN_S):
            while True:
                try:
                    await member.post(Post(data, b""))
                except CallRefused as refusal:
                    raise ReplacementRefused(f"The coordinator does not log the replacement: {refusal}") from None
                except TransportError as error:
                    why = str(error)
                with trio.move_on_after(member.jitter(AGAIN_S)):
                    await member.until(lambda: member.state.registration(self.new.public))
                    return
        raise Unreachable(f"The replacement is not logged yet; the same command again goes on with it. {why}")

    def _take_new(self, store: Store) -> None:
        """The folder's key is the new one from now on, and nothing of the old one is kept but its file."""
        if self._is_own:
            store.forget_own()
            kept = self._host.with_name(f"host.{self.old.hex()[:16]}")
            if not kept.exists():
                os.link(self._host, kept)
            os.replace(self._next, self._host)
            sync(self._host.parent)
            self._is_own = False


def foreign_since(state: LogState, store: Store, peer: bytes) -> int:
    """The log index of the first header of `peer` that this folder did not send; the log's size if it sent all, or none."""
    identity = state.batches.identity(peer)
    sent = {name.removeprefix("receipt/") for name in store.names("receipt/")}
    sent |= {item.key.hex() for item in store.outbox(BATCH)}
    batches = [] if identity is None else identity.batches
    if not any(batch.digest.hex() in sent for batch in batches):
        return state.size
    return next((batch.index for batch in batches if batch.digest.hex() not in sent), state.size)
