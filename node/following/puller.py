"""Pulls the entries below a signed head from one peer, and finds out whose fault it is when they lead to no proof.

Spec: docs/spec/swarm.md ("Following"). Entries are applied once a proof leads from the tree that they give to the head, so a
lying peer is found at its first answer. Nothing is applied that the replica refuses; then following ends.
"""

from collections.abc import Callable, Sequence
from typing import Final

import trio

from node.disk.store import Head, Store
from node.following.chains import RootChains
from node.following.client import ENTRIES_S, LogClient
from node.following.fork import ForkProof
from node.following.heads import Heads, LogRefused, signed_head
from node.following.replica import Replica
from node.following.roots import ask_for_roots
from node.following.service import MAX_ENTRIES
from node.peering.call import CallRefused
from node.peering.transport import TransportError
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.entries import Entry, parse_entry
from protocol.envelope import Envelope
from protocol.errors import BadProof, ParseError, ProtocolError, WrongSigner
from protocol.merkle import leaf_hash, node_hash, verify_consistency
from protocol.root import Root
from protocol.seeds import run_id
from verification.faults import LogFault
from verification.root_versions import require_threshold

_APPLIED_AT_ONCE: Final = 64

OnEntry = Callable[[int, Entry], None]
"""Told of each entry once it is applied and kept: (index, entry)."""


class Puller:
    """Grows `replica` and `store` by what peers give; one pull at a time."""

    def __init__(
        self, client: LogClient, replica: Replica, store: Store, heads: Heads, on_entry: OnEntry | None = None
    ) -> None:
        self._client = client
        self._replica = replica
        self._store = store
        self._heads = heads
        self._on_entry = on_entry

    async def begin(self, peer: bytes, note: bytes) -> None:
        """Takes the first two entries, root and manifest, from a peer that shows the head in `note`.

        The run id certifies what they say, a proof to the head their signatures, for the tree is over these too. Raises
        CallRefused, TransportError, ProtocolError; WrongSigner where the peer tells of no root version that names the
        head's signer.
        """
        size = Checkpoint.parse(SignedNote.parse(note).text).size
        entries, proof = await self._client.entries(peer, 0, 2, size)
        if len(entries) != 2:
            raise ParseError("The answer does not hold the first two entries.")
        root = _verified_beginning(entries, self._replica.run)
        head = await self._first_head(peer, note, root)
        entries = entries[self._replica.size :]
        verify_consistency(2, head.size, proof, self._root_with(entries), head.root)
        self._apply(entries)

    async def _first_head(self, peer: bytes, note: bytes, root: Root) -> Head:
        """The head in a note, by a coordinator of root version 1 or of one after it that the peer tells of."""
        run, size = self._replica.run, Checkpoint.parse(SignedNote.parse(note).text).size
        chains = RootChains(root, run)
        try:
            return signed_head(note, run, chains.coordinators(size))
        except WrongSigner:
            await ask_for_roots(self._client, peer, chains)
            return signed_head(note, run, chains.coordinators(size))

    async def pull(self, head: Head, peer: bytes, timeout_s: float = ENTRIES_S) -> None:
        """Pulls what is missing below a kept head, as long as its signer is a coordinator; each call may take `timeout_s`.

        Raises CallRefused when the peer will not or cannot, TransportError, ProtocolError when the peer lied; LogForked or
        LogRefused when the coordinator did.
        """
        while self._replica.size < head.size and self._heads.is_held(head):
            try:
                await self._pull_some(head, peer, timeout_s)
            except BadProof:
                await self._look_for_fork(head, peer)
                if not await self._leads_to_own_head(head, peer, timeout_s) and self._heads.is_held(head):
                    raise

    async def _pull_some(self, head: Head, peer: bytes, timeout_s: float) -> None:
        start = self._replica.size
        entries, proof = await self._client.entries(peer, start, MAX_ENTRIES, head.size, timeout_s)
        if not entries:
            raise ParseError("The answer holds no entries.")
        verify_consistency(start + len(entries), head.size, proof, self._root_with(entries), head.root)
        for first in range(0, len(entries), _APPLIED_AT_ONCE):
            if not self._heads.is_held(head):
                return  # a root version that was told meanwhile, or one of these entries, ends the key
            self._apply(entries[first : first + _APPLIED_AT_ONCE])
            await trio.lowlevel.checkpoint()

    async def _look_for_fork(self, head: Head, peer: bytes) -> None:
        """Asks whose entries lead to no proof what tree `head` grew from; stops when that contradicts a known head."""
        known = self._heads.newest
        if known is None or not self._heads.is_evidence(head):
            return
        try:
            root, path = await self._client.prefix(peer, known.size, head.size)
            verify_consistency(known.size, head.size, path, root, head.root)
        except (CallRefused, ProtocolError, TransportError):
            return  # its tree is another than the head's
        if root != known.root:
            self._heads.stop_forked(ForkProof(known.note, head.note, root, tuple(path)))

    async def _leads_to_own_head(self, head: Head, peer: bytes, timeout_s: float) -> bool:
        """Whether the peer's entries lead to the head that it shows itself, and the log has grown by them.

        An honest peer has no proof for a head of a forked log: then its entries make the fork known, which raises LogForked
        once they reach `head`.
        """
        try:
            own = await self._own_head(peer)
            if own.root == head.root or own.size <= self._replica.size:
                return False
            self._heads.keep(own)
            await self._pull_some(own, peer, timeout_s)
        except (CallRefused, ProtocolError, TransportError):
            return False
        self._heads.settle_grown()
        return True

    async def _own_head(self, peer: bytes) -> Head:
        """The newest head that a peer shows; when a stranger signed it, a newer root may name him."""
        note = (await self._client.heads(peer)).note
        try:
            return self._heads.verified(note)
        except WrongSigner:
            await self._heads.roots.ask(self._client, peer)
            return self._heads.verified(note)

    def _apply(self, entries: Sequence[bytes]) -> None:
        start = self._replica.size
        applied: list[Entry] = []
        try:
            for entry in entries:
                applied.append(self._replica.apply(entry))
        except ValueError as error:  # LogFault or ProtocolError
            raise LogRefused(
                f"The log holds an entry at {self._replica.size} that the rules refuse: {error}"
            ) from error
        finally:
            self._store.append(entries[: len(applied)])
            for index, record in enumerate(applied, start):
                if self._on_entry is not None:
                    self._on_entry(index, record)

    def _root_with(self, entries: Sequence[bytes]) -> bytes:
        """The root of the replica's tree with `entries` after it."""
        tree = self._replica.tree
        peaks: list[tuple[int, bytes]] = []
        done = 0
        for height in reversed(range(tree.size.bit_length())):
            if tree.size >> height & 1:
                peaks.append((height, tree.node(height, done >> height)))
                done += 1 << height
        for entry in entries:
            height, node = 0, leaf_hash(entry)
            while peaks and peaks[-1][0] == height:
                node = node_hash(peaks.pop()[1], node)
                height += 1
            peaks.append((height, node))
        root = peaks.pop()[1]
        while peaks:
            root = node_hash(peaks.pop()[1], root)
        return root


def _verified_beginning(entries: Sequence[bytes], run: bytes) -> Root:
    """The root in a log's first two entries; BadProof unless they make the run id and enough of its keys signed them."""
    try:
        if run_id(*(Envelope.parse(entry).payload for entry in entries)) != run:
            raise BadProof("The log's first entries are not those that make the run id.")
        first, second = map(parse_entry, entries)
        if not isinstance(first.record, Root):
            raise BadProof("The log's first entry is not a root.")
        for entry in (first, second):
            require_threshold(entry, first.record, first.record.keys)
    except (LogFault, ProtocolError) as error:
        raise BadProof(f"The log does not begin as its run does: {error}") from error
    return first.record
