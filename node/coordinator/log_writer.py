"""The coordinator's pen: the only place where the log grows.

Spec: `docs/spec/log.md`. Invariants: nothing is appended that `verification.state` refuses; an entry is on disk, with where
it lies, before the state knows it or anybody hears of it; heads only grow; the public folder shows a head only once enough
witnesses cosigned it, together with exactly its tiles.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from node.disk.publisher import Publisher
from node.disk.store import Head, Store
from protocol import checkpoint
from protocol.checkpoint import Checkpoint, NoteSignature, SignedNote
from protocol.codec import Value, decode, encode
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.epoch import Share, ShareSet
from protocol.errors import BadProof, ProtocolError, WrongSigner
from protocol.merkle import leaf_hash
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.root import VERIFIER
from protocol.seeds import log_origin
from verification.state import LogState
from verification.witness import is_cosigned, witness_name

SHARES_WITHIN_S = 3.0
SHARES_KEY = "unlogged-shares"
NEWCOMERS = (Registration.payload_type(), KeyReplacement.payload_type())
"""Entries whose signers play once the beacon of these is under a cosigned head."""


@dataclass(slots=True)
class OpenHead:
    """A signed head that still gathers cosignatures and beacon shares."""

    head: Checkpoint
    note: SignedNote
    signed_s: float
    shares: dict[bytes, bytes] = field(default_factory=dict)


class LogWriter:
    """Appends entries, signs heads, gathers cosignatures and shares, publishes tiles.

    `on_cosigned(note)` is told of a head once, when enough witnesses cosigned it.
    """

    def __init__(
        self, state: LogState, store: Store, secret: SecretKey, public: Path, now: Callable[[], float]
    ) -> None:
        self._state = state
        self._store = store
        self._secret = secret
        self._now = now
        self._dirty = True
        self._newcomer: int | None = None
        """The index of the newest of `NEWCOMERS`, while no share set covers it."""
        self._open: dict[int, OpenHead] = {}
        self.publisher = Publisher(state, store, public)
        self.on_cosigned: Callable[[bytes], None] = lambda note: None
        self._last_append_s = now()
        newest = store.newest_head()
        self._newest = None if newest is None else newest.note
        self._restore_shares()
        self.publisher.mend()

    @property
    def idle_s(self) -> float:
        """How long nothing was appended."""
        return self._now() - self._last_append_s

    @property
    def newest_note(self) -> bytes:
        """The newest signed head with the cosignatures it has; empty before the first."""
        return self._newest or b""

    @property
    def awaited_shares(self) -> tuple[int, int, float | None]:
        """How many heads wait for shares, how many shares the oldest of them has, and since when it waits (in `now`)."""
        oldest = min(self._open.values(), key=lambda opened: opened.signed_s, default=None)
        return (0, 0, None) if oldest is None else (len(self._open), len(oldest.shares), oldest.signed_s)

    def append(self, envelope: Envelope) -> int:
        """Appends an entry and returns its index; raises LogFault or ProtocolError when it may not be logged."""
        data = envelope.encode()
        index = self._state.size

        def keep() -> None:
            with self._store.transaction():
                self._store.append([data])
                self._store.put(_place_key(data), index.to_bytes(8, "big"))

        self._state.apply(data, keep=keep)
        self._last_append_s = self._now()
        self._dirty = self._wants_head(envelope, index) or self._dirty
        return index

    def _wants_head(self, envelope: Envelope, index: int) -> bool:
        """Whether what was appended at `index` wants a head: a share set only when a newcomer waits for its beacon.

        Every head brings a share set, so a log in which nothing else happens would grow for ever.
        """
        if envelope.type in NEWCOMERS:
            self._newcomer = index
        if envelope.type != ShareSet.payload_type():
            return True
        if self._newcomer is None or self._newcomer >= self._state.beacons.covered:
            return False
        self._newcomer = None
        return True

    def index_of(self, envelope: Envelope) -> int | None:
        """Where this very entry was appended; None if it was not."""
        place = self._store.get(_place_key(envelope.encode()))
        return None if place is None else int.from_bytes(place, "big")

    def is_head(self, note: bytes) -> bool:
        """Whether a note that somebody told is a head signed with this log's key."""
        try:
            checkpoint.verify(SignedNote.parse(note), self._secret.public, log_origin(self._state.run))
        except ProtocolError:
            return False
        return True

    def sign_head(self) -> bool:
        """Signs a new head if an entry came that wants one (not every share set does) since the last one; whether it did."""
        self._log_due_shares()
        if not self._dirty or not self._state.size:
            return False
        head = Checkpoint(log_origin(self._state.run), self._state.size, self._state.tree.root())
        opened = self._open[head.size] = OpenHead(head, head.sign(self._secret), self._now())
        self._keep(opened)
        self._dirty = False
        return True

    def add_cosignature(self, witness: bytes, size: int, line: str, share: Envelope) -> bool:
        """Takes a witness's cosignature and beacon share for a head that this log signed; whether they are new.

        They are on disk before this returns, for the witness cosigns nothing more until its share is logged. What was
        taken before changes nothing. Raises ProtocolError when either does not hold for that head, or comes too late.
        """
        if self._state.beacons.has_share(witness, size):
            return False
        if size <= self._state.beacons.last_size:
            raise BadProof(f"The shares for the head of size {size} are logged already.")
        opened = self._open.get(size) or self._reopen(size)
        if witness in opened.shares:
            return False  # a second line by one witness would make the note one that nobody believes
        role = self._state.role_of(witness, self._state.size)
        if role is None or role.role != VERIFIER:
            raise WrongSigner("Only a verifier of this run may cosign.")
        note = opened.note.with_signatures([NoteSignature.parse(line)])
        checkpoint.verify_cosignature(note, witness, witness_name(witness))
        part = Share.open(share, witness)
        if (part.run, part.size, part.root_hash) != (self._state.run, size, opened.head.root_hash):
            raise BadProof("The share is not for this head.")
        if part.verifier != witness:  # a set with it could never be logged, nor any head be signed after it
            raise WrongSigner("The share names another verifier than the one that signed it.")
        epoch = self._state.epochs.at(witness, size)
        if epoch is None or part.epoch != epoch.epoch:
            raise BadProof("The share is not made under the witness's epoch in that tree.")
        was_enough = self._is_enough(opened.note)
        opened.note = note
        opened.shares[witness] = share.encode()
        is_enough = self._is_enough(note)
        if is_enough:
            self.publisher.publish(note)
        self._keep(opened)
        self._save_shares()
        if is_enough and not was_enough:
            self.on_cosigned(note.encode())
        if opened.shares.keys() >= self._verifiers():
            self._log_shares(opened)
        return True

    def _is_enough(self, note: SignedNote) -> bool:
        """Whether enough witnesses cosigned a head of this log, whose lines were verified when they came."""
        return is_cosigned(note, self._state.run, self._state.roots, is_verified=True)

    def _reopen(self, size: int) -> OpenHead:
        for head in self._store.heads(size, 1) if size <= self._state.size else ():
            if head.size == size:
                note = SignedNote.parse(head.note)
                return self._open.setdefault(size, OpenHead(Checkpoint.parse(note.text), note, self._now()))
        raise BadProof(f"This log never signed a head of size {size}.")

    def _log_due_shares(self) -> None:
        """Logs what came for heads that waited long enough for the rest; forgets old heads that nobody cosigned."""
        for opened in list(self._open.values()):
            if opened.head.size <= self._state.beacons.last_size:
                del self._open[opened.head.size]
            elif self._now() - opened.signed_s >= SHARES_WITHIN_S:
                if opened.shares:
                    self._log_shares(opened)
                else:
                    del self._open[opened.head.size]

    def _log_shares(self, opened: OpenHead) -> None:
        shares = tuple(opened.shares[key] for key in sorted(opened.shares.keys() & self._verifiers()))
        if shares:
            share_set = ShareSet(
                self._state.run, opened.head.size, opened.head.root_hash, self._state.beacons.covered, shares
            )
            self.append(share_set.seal(self._secret))
        del self._open[opened.head.size]
        self._save_shares()

    def _verifiers(self) -> set[bytes]:
        """Whose shares may be logged next: without those revoked since they came."""
        return {role.key for role in self._state.verifiers(self._state.size)}

    def _save_shares(self) -> None:
        waiting: list[Value] = [
            [size, list(opened.shares.values())] for size, opened in self._open.items() if opened.shares
        ]
        self._store.put(SHARES_KEY, encode(waiting))

    def _restore_shares(self) -> None:
        """Takes up the shares that were not logged when the process ended; witnesses send again what is damaged."""
        waiting = decode(self._store.get(SHARES_KEY) or encode([]), 1 << 24)
        for item in waiting if isinstance(waiting, list) else []:
            match item:
                case [int(size), list(shares)] if size > self._state.beacons.last_size:
                    parts = [Envelope.parse(each) for each in shares if isinstance(each, bytes)]
                    self._reopen(size).shares |= {signer: part.encode() for part in parts for signer in part.signers}

    def _keep(self, opened: OpenHead) -> None:
        self._newest = opened.note.encode()
        self._store.put_head(Head(opened.head.size, opened.head.root_hash, self._newest))


def _place_key(data: bytes) -> str:
    return f"posted/{leaf_hash(data).hex()}"
