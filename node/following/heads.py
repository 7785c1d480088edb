"""The signed heads of one log that this node saw: verifies, keeps and compares them.

Spec: docs/spec/swarm.md ("Following", "Fork proof"). Every head that the coordinator signed is kept, with those lines only
that hold, so that nobody can make a note worse by adding to it. Two heads that contradict each other are written down as a
`ForkProof`, and following ends; but a head by a key that a newest root known has replaced or revoked is no longer evidence,
for whoever stole that key could sign it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from node.disk.cosigned import is_cosigned_head, newest_cosigned
from node.disk.files import write_file
from node.disk.store import Head, Store
from node.following.fork import ForkProof
from node.following.replica import Replica
from node.following.roots import KnownRoots
from protocol import checkpoint
from protocol.checkpoint import COSIGNATURE_V1, ED25519, Checkpoint, NoteSignature, SignedNote
from protocol.errors import BadSignature, ParseError, ProtocolError, WrongSigner
from protocol.seeds import log_origin
from verification.witness import witness_name, witnesses

_MOST_HEADS: Final = 1000


class LogUnbelievable(Exception):
    """The log cannot be followed any further; the message is one sentence."""


class LogRefused(LogUnbelievable):
    """The coordinator logged an entry that the rules do not allow."""


class LogForked(LogUnbelievable):
    """The coordinator signed two heads that contradict each other; the proof is on disk."""


def signed_head(note: bytes, run: bytes, keys: Iterable[bytes]) -> Head:
    """The head of `run` in a note that one of `keys` signed; raises a ProtocolError, WrongSigner where none of them did."""
    signed, origin = SignedNote.parse(note), log_origin(run)
    for key in keys:
        try:
            head = checkpoint.verify(signed, key, origin)
        except WrongSigner:
            continue
        if head.origin != origin:
            raise ParseError(f"The checkpoint is of the log {head.origin[:80]!r}, not of this run's.")
        return Head(head.size, head.root_hash, note)
    raise WrongSigner("The checkpoint is not signed by the run's coordinator.")


class Heads:
    """The heads of `replica`'s log, kept in `store`; fork proofs go to `directory`.

    `newest` is the largest head whose entries are here, `cosigned` the largest of these that enough witnesses cosigned.
    """

    def __init__(self, replica: Replica, store: Store, directory: Path) -> None:
        self._replica = replica
        self._store = store
        self._directory = directory
        self.roots = KnownRoots(replica, store)
        self.newest: Head | None = None
        newest = store.newest_head(replica.size)
        if newest is not None and replica.tree.root(newest.size) == newest.root:
            self.newest = newest
        self.cosigned: Head | None = newest_cosigned(store, replica) if replica.size >= 2 else None

    def verified(self, note: bytes) -> Head:
        """The head in a note that a present coordinator of the run signed; raises a ProtocolError. The log has begun."""
        return self._signed_by(note, self.roots.coordinators)

    def is_held(self, head: Head) -> bool:
        """Whether a coordinator signed a head: a root version may have ended the key since it was heard."""
        try:
            self.verified(head.note)
        except ProtocolError:
            return False
        return True

    def is_evidence(self, head: Head) -> bool:
        """Whether a verified or kept head's signer is still a coordinator, and no root version known has ended its key."""
        try:
            self._signed_by(head.note, self.roots.undisputed)
        except ProtocolError:
            return False
        return True

    def _signed_by(self, note: bytes, keys: Callable[[int], list[bytes]]) -> Head:
        claimed = Checkpoint.parse(SignedNote.parse(note).text)
        tree, size = self._replica.tree, claimed.size
        if size > tree.size or tree.root(size) != claimed.root_hash:  # else the key proves nothing that is not here
            size = max(size, tree.size)
        return signed_head(note, self._replica.run, keys(size))

    def is_news(self, note: bytes) -> bool:
        """Whether a note, not verified, claims entries or cosignatures that are not here, or another tree than this one."""
        try:
            signed = SignedNote.parse(note)
            claimed = Checkpoint.parse(signed.text)
        except ProtocolError:
            return False
        if claimed.size > self._replica.size or claimed.root_hash != self._replica.tree.root(claimed.size):
            return True
        is_newest = self.newest is None or claimed.size > self.newest.size
        return is_newest or (claimed.size > self.cosigned_size and len(signed.signatures) > 1)

    def keep(self, head: Head) -> None:
        """Keeps a verified head whose entries may be missing; raises LogForked beside another one of its size.

        WrongSigner when a root version has ended its signer's key since.
        """
        for known in self._store.heads(head.size, 2):
            is_other = known.size == head.size and known.root != head.root
            if is_other and self.is_evidence(known) and self.is_evidence(head):
                self.stop_forked(ForkProof(known.note, head.note, head.root, ()))
        self._store.put_head(Head(head.size, head.root, self._only_held(head, ())))

    def settle(self, head: Head) -> bool:
        """Compares a kept head with the tree, which reaches it; whether it is the largest one that enough cosigned.

        Raises LogForked when the head is not one of this tree and a larger one is.
        """
        if not self._is_ours(head):
            return False
        try:
            held = Head(head.size, head.root, self._only_held(head, witnesses(self._replica.roots, head.size)))
        except WrongSigner:
            return False  # by a coordinator that the root has replaced below it
        self._store.put_head(held)
        if self.newest is None or (held.size, len(held.note)) > (self.newest.size, len(self.newest.note)):
            self.newest = held
        is_larger = held.size > self.cosigned_size
        if is_larger and is_cosigned_head(held, self._replica):
            self.cosigned = held
            return True
        return False

    def settle_grown(self) -> None:
        """Settles every kept head that the tree has reached since the newest one; raises LogForked."""
        start = 0 if self.newest is None else self.newest.size + 1
        while found := self._store.heads(start, _MOST_HEADS):
            for head in found:
                if head.size > self._replica.size:
                    return
                self.settle(head)
            start = found[-1].size + 1

    @property
    def cosigned_size(self) -> int:
        """The size of the largest head that enough witnesses cosigned; 0 without one."""
        return 0 if self.cosigned is None else self.cosigned.size

    def stop_forked(self, proof: ForkProof) -> None:
        """Writes the proof down and raises LogForked."""
        older, newer = (Checkpoint.parse(SignedNote.parse(note).text).size for note in (proof.older, proof.newer))
        path = self._directory / f"fork-{older}-{newer}.proof"
        write_file(path, proof.encode())
        raise LogForked(
            f"The coordinator signed two logs that contradict each other, of sizes {older} and {newer}; "
            f"the proof is kept in {path}."
        )

    def _is_ours(self, head: Head) -> bool:
        """Whether a head of at most the tree's size is one of the tree; stops when another one proves that it forked."""
        tree = self._replica.tree
        if tree.root(head.size) == head.root:
            return True
        if not self.is_evidence(head):
            return False
        for known in self._store.heads(head.size):
            if known.size <= tree.size and tree.root(known.size) == known.root:
                path = tree.consistency_proof(head.size, known.size)
                self.stop_forked(ForkProof(head.note, known.note, tree.root(head.size), path))
        return False

    def _only_held(self, head: Head, cosigners: Iterable[bytes]) -> bytes:
        """A head's note with its coordinator's line, and those lines of `cosigners` that hold; WrongSigner without one."""
        signed = SignedNote.parse(head.note)
        origin = log_origin(self._replica.run)
        held: list[NoteSignature] = []
        for key in self.roots.coordinators(head.size):
            with suppress(BadSignature, WrongSigner):
                checkpoint.verify(signed, key, origin)
                held.append(signed.find(origin, key, ED25519))
        if not held:
            raise WrongSigner("The checkpoint is not signed by the run's coordinator.")
        for key in sorted(cosigners):
            with suppress(BadSignature, WrongSigner):
                checkpoint.verify_cosignature(signed, key, witness_name(key))
                held.append(signed.find(witness_name(key), key, COSIGNATURE_V1))
        return SignedNote(signed.text, tuple(held)).encode()
