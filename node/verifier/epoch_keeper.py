"""A verifier's epoch secrets: on disk before their hash is logged, revealed when they are spent.

Spec: `docs/spec/epoch.md`. The next hash is logged before four fifths of an epoch are over; an old epoch is revealed once
nothing drawn under it waits for a verdict. Nothing is posted while the root does not name this verifier. One that the log
trusts no more goes on with its epochs, for its shares and cosignatures still count; what it cannot do any more it says.
"""

import os

import trio

from node.disk.store import StoreError
from node.member import Member
from node.peering.call import CallRefused
from node.peering.post import Post
from node.peering.transport import TransportError
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.epoch import EpochHash, EpochReveal
from protocol.root import VERIFIER
from protocol.seeds import epoch_hash
from verification.epochs import EpochInfo

LOOK_EVERY_S = 1.0
SEEN_WITHIN_S = 60.0

NOT_APPROVED = (
    "this key's approval as a verifier; give it (gonode verify --request) to the root's holder, who signs it in "
    "(gonode root sign)"
)

NEW_KEY = (
    "move its key file away, make a new key (gonode verify --request) and give it to the root's holder, who signs it in "
    "(gonode root sign)"
)


class Distrusted(Exception):
    """One sentence about a verifier's key under which nothing is judged any more, at the end of its node."""


class EpochKeeper:
    """Logs hashes and reveals of one verifier."""

    def __init__(self, member: Member, secret: SecretKey) -> None:
        self._member = member
        self._secret = secret
        self._begin_at: int | None = None
        self.unapproved_since: float | None = None
        self.distrusted_since: float | None = None

    def secret_of(self, epoch: int) -> bytes:
        """The secret of an epoch whose hash is logged; raises StoreError when this store never held it."""
        secret = self._member.store.get(f"epoch/{epoch}")
        if secret is None:
            raise StoreError(
                f"The secret of epoch {epoch} is not in this node's store; was another node.db here before?"
            )
        return secret

    async def run(self) -> None:
        """Begins and reveals epochs until cancelled."""
        while True:
            await self._step()
            await self._member.change_within(LOOK_EVERY_S)

    @property
    def distrust(self) -> str:
        """Why the log takes no more verdicts from this key, in one sentence; empty while it does."""
        state, key = self._member.state, self._secret.public
        if key not in state.subjects.distrusted:
            return ""
        void = [info.epoch for info in state.epochs.all(key) if state.rechecks.is_void(info)]
        why = f"its epoch {void[0]} was not revealed in time" if void else "it said what the log shows to be wrong"
        if state.is_banned(key):
            why = "it is banned"
        return f"This run takes no more verdicts from this verifier's key, for {why}; {NEW_KEY}."

    async def finish(self) -> None:
        """Ends the newest epoch by beginning one under which nothing is drawn yet, and reveals those before; for a drain.

        The new epoch lets this verifier cosign the head that holds the reveals, and is gone on with at the next start.
        """
        epochs = self._member.state.epochs
        self._begin_at = len(epochs.all(self._secret.public))
        while self._is_approved() and any(
            self._is_to_reveal(info) for info in epochs.all(self._secret.public)[: self._begin_at]
        ):
            await self._step()
            await self._member.change_within(LOOK_EVERY_S)

    async def _step(self) -> None:
        if not self._is_approved():
            return
        self._say_distrust()
        state = self._member.state
        key = self._secret.public
        epochs = state.epochs.all(key)
        try:
            if self._is_next_due():
                await self._log_hash(len(epochs))
            newest = epochs[-1].epoch if epochs else -1
            for info in epochs:
                is_spent = info.epoch < newest and self._is_to_reveal(info)
                if is_spent and not state.batches.unjudged(key, info.epoch):
                    reveal = EpochReveal(state.run, key, info.epoch, self.secret_of(info.epoch))
                    await self._post(reveal.seal(self._secret))
        except TransportError:
            await self._member.reach.backoff.until_ready()

    def _is_approved(self) -> bool:
        """Whether the root names this verifier now; says once when it does not, and once when it does at last."""
        role = self._member.state.role_of(self._secret.public)
        if role is not None and role.role == VERIFIER:
            if self.unapproved_since is not None:
                self.unapproved_since = None
                version = self._member.state.root.version
                self._member.events(
                    "approved", f"Root version {version} approves this verifier's key: it judges from now on."
                )
            return True
        if self.unapproved_since is None:
            self.unapproved_since = trio.current_time()
            self._member.events("waiting", f"Waiting for {self._lack()}.")
        return False

    def _lack(self) -> str:
        """What this verifier's key waits for: the first approval, another one, or a key in its place."""
        role = self._member.state.root.find(self._secret.public)
        if role is None:
            return NOT_APPROVED
        if role.invalid_from <= self._member.state.size:
            return f"another key, for the root has revoked this verifier's from entry {role.invalid_from} on: {NEW_KEY}"
        return (
            f"this key's approval as a verifier to be renewed, which ended at entry {role.expires}: the root's holder "
            "signs another end (gonode root sign DIR --verifier KEY --expires INDEX)"
        )

    def _is_to_reveal(self, info: EpochInfo) -> bool:
        """Whether an epoch's secret is not known yet and may still be."""
        return info.secret is None and not self._member.state.rechecks.is_void(info)

    def _say_distrust(self) -> None:
        """Says once that the log takes no more verdicts from this key."""
        distrust = self.distrust
        if distrust and self.distrusted_since is None:
            self.distrusted_since = trio.current_time()
            self._member.events("distrusted", distrust)

    def _is_next_due(self) -> bool:
        state = self._member.state
        newest = state.epochs.newest(self._secret.public)
        if newest is None or newest.secret is not None:
            return True
        if self._begin_at is not None and newest.epoch < self._begin_at:
            return True
        return state.size - newest.index > 4 * state.manifest.admission.epoch_entries // 5

    async def _log_hash(self, epoch: int) -> None:
        store = self._member.store
        secret = store.get(f"epoch/{epoch}")
        if secret is None:
            secret = os.urandom(32)
            store.put(f"epoch/{epoch}", secret)
        run = self._member.state.run
        record = EpochHash(run, self._secret.public, epoch, epoch_hash(run, self._secret.public, epoch, secret))
        await self._post(record.seal(self._secret))

    async def _post(self, envelope: Envelope) -> None:
        """Posts, and waits until this node's own copy of the log has the entry, so that nothing is posted twice."""
        try:
            posted = await self._member.post(Post(envelope.encode(), b""))
        except CallRefused as refusal:
            self._member.events("refused", f"epoch entry refused: {refusal}")
            await trio.sleep(LOOK_EVERY_S)
        else:
            with trio.move_on_after(SEEN_WITHIN_S):  # what was not logged after all is posted again
                await self._member.until_size(posted.index + 1)
