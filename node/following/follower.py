"""Follows the log: pulls what is new from any peer and believes only what the coordinator signed and the rules allow.

Spec: docs/spec/wire.md ("Log"). Entries are applied once a proof leads from the tree that they give to a
signed head, so a lying peer is found at its first answer and the next one is asked. Every signed head seen is kept; two
that contradict each other are written down as a `ForkProof`, and following ends. It ends as well at an entry that the
state refuses.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import trio

from node.disk.files import write_file
from node.disk.store import Head, Store
from node.following.fork import ForkProof
from node.following.service import LOG_PROTOCOL, MAX_ENTRIES, LogService, Replica
from node.peering.call import CallRefused, call
from node.peering.transport import MAX_FRAME, Transport, TransportError, short
from protocol import checkpoint, codec
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.errors import BadProof, ParseError, ProtocolError, WrongSigner
from protocol.merkle import leaf_hash, node_hash, verify_consistency
from protocol.root import COORDINATOR
from protocol.seeds import log_origin, run_id
from verification.witness import WITNESS_PREFIX, verify_head

log = logging.getLogger("gonode.net")

_HEAD_S: Final = 5.0
_ENTRIES_S: Final = 20.0
_APPLIED_AT_ONCE: Final = 64
_ASKED_AT_ONCE: Final = 4
_MOST_HEADS: Final = 1000
_MOST_WAIT_S: Final = 10.0

OnEntry = Callable[[int, Entry], None]
"""Told of each entry once it is applied and kept: (index, entry)."""


class LogUnbelievable(Exception):
    """The log cannot be followed any further; the message is one sentence."""


class LogForked(LogUnbelievable):
    """The coordinator signed two heads that contradict each other; the proof is on disk."""


class LogRefused(LogUnbelievable):
    """The coordinator logged an entry that the rules do not allow."""


class LogFollower:
    """Keeps `replica` and `store` in step with the run's log.

    `peers()` gives the connected peers to ask, best first; `directory` is where fork proofs are kept. Entries below
    `cosigned_size` are under a head that enough witnesses cosigned; `on_cosigned()` is told when it grows.
    """

    def __init__(
        self,
        transport: Transport,
        replica: Replica,
        store: Store,
        peers: Callable[[], Sequence[bytes]],
        directory: Path,
        *,
        poll_s: float = 1.0,
        on_entry: OnEntry | None = None,
        on_cosigned: Callable[[], None] = lambda: None,
    ) -> None:
        self.newest: Head | None = store.newest_head(replica.size)
        self._transport = transport
        self._replica = replica
        self._store = store
        self._peers = peers
        self._directory = directory
        self._poll_s = poll_s
        self._on_entry = on_entry
        self._on_cosigned = on_cosigned
        self._hinted = trio.Event()
        self.cosigned_size = self._stored_cosigned_size()

    async def run(self) -> None:
        """Follows until cancelled; raises LogForked or LogRefused when the log is not to be believed any more."""
        wait_s = self._poll_s
        while True:
            reached = await self.sync_once()
            await self.cosigned()
            wait_s = self._poll_s if reached else min(2 * wait_s, _MOST_WAIT_S)
            with trio.move_on_after(wait_s):
                await self._hinted.wait()
            self._hinted = trio.Event()

    def hint(self, note: bytes) -> None:
        """Looks for new entries soon if a gossiped note claims that there are some."""
        try:
            size = Checkpoint.parse(SignedNote.parse(note).text).size
        except ProtocolError:
            return
        if size > self._replica.size:
            self._hinted.set()

    async def sync_once(self) -> bool:
        """Asks peers for their heads and pulls up to the newest; whether any peer gave a head that holds."""
        asked = list(self._peers())[:_ASKED_AT_ONCE]
        if self._replica.size < 2:
            await self._begin(asked)
        found: list[tuple[Head, bytes]] = []
        if self._replica.size >= 2:
            async with trio.open_nursery() as nursery:
                for peer in asked:
                    nursery.start_soon(self._ask_head, peer, found)
        heads = sorted(found, key=lambda item: item[0].size, reverse=True)
        for head, peer in heads:
            if head is not self.newest:
                await self._take(head, peer)
        return bool(heads)

    async def cosigned(self) -> Head | None:
        """The newest head that enough witnesses cosigned, as far as peers show one, with its entries here; else None."""
        for peer in list(self._peers())[:_ASKED_AT_ONCE]:
            try:
                note, _ = await self._head_of(peer, "cosigned")
                found = verify_head(SignedNote.parse(note), self._replica.run, self._replica.root)
            except (CallRefused, ProtocolError, TransportError) as error:
                log.debug("no cosigned head from %s: %s", short(peer), error)
                continue
            await self._take(Head(found.size, found.root_hash, note), peer)
            if self._replica.size >= found.size:
                if found.size > self.cosigned_size:
                    self.cosigned_size = found.size
                    self._on_cosigned()
                return Head(found.size, found.root_hash, note)
        return None

    def _stored_cosigned_size(self) -> int:
        """The size of the newest stored head that enough witnesses cosigned; 0 without one."""
        if self._replica.size < 2:
            return 0
        for head in self._store.heads_with(WITNESS_PREFIX.encode(), _MOST_HEADS, self._replica.size):
            try:
                verify_head(SignedNote.parse(head.note), self._replica.run, self._replica.root)
            except ProtocolError:
                continue
            return head.size
        return 0

    # ---- heads

    async def _ask_head(self, peer: bytes, found: list[tuple[Head, bytes]]) -> None:
        try:
            note, _ = await self._head_of(peer)
            known = self.newest
            head = known if known is not None and note == known.note else self._verified(note)
        except (CallRefused, ProtocolError, TransportError) as error:
            log.debug("no head from %s: %s", short(peer), error)
        else:
            found.append((head, peer))

    async def _head_of(self, peer: bytes, op: str = "head") -> tuple[bytes, int]:
        match await self._call(peer, {"op": op}, _HEAD_S):
            case {"checkpoint": bytes(note), "size": int(size), **rest} if not rest:
                return note, size
        raise ParseError("The answer is not a log's head.")

    def _verified(self, note: bytes) -> Head:
        """The head in a note that a coordinator of the run signed; raises a ProtocolError."""
        signed = SignedNote.parse(note)
        claimed = Checkpoint.parse(signed.text)
        origin = log_origin(self._replica.run)
        for role in self._replica.root.roles:
            if role.role == COORDINATOR and role.is_valid_at(max(claimed.size - 1, 0)):
                try:
                    head = checkpoint.verify(signed, role.key, origin)
                except WrongSigner:
                    continue
                if head.origin != origin:
                    raise ParseError(f"The checkpoint is of the log {head.origin[:80]!r}, not of this run's.")
                return Head(head.size, head.root_hash, note)
        raise WrongSigner("The checkpoint is not signed by the run's coordinator.")

    async def _take(self, head: Head, peer: bytes) -> None:
        """Compares a verified head with what is known, keeps it, and pulls its entries from `peer`."""
        for known in self._store.heads(head.size, 2):
            if known.size == head.size and known.root != head.root:
                self._stop_forked(ForkProof(known.note, head.note, head.root, ()))
        self._store.put_head(head)
        if head.size > self._replica.size:
            try:
                await self._pull(head, peer)
            except (CallRefused, ProtocolError, TransportError) as error:
                log.info("could not follow the log with %s: %s", short(peer), error)
                return
        self._compare(head)
        if self.newest is None or head.size >= self.newest.size:
            self.newest = head

    def _compare(self, head: Head) -> None:
        """Stops when a head of at most the replica's size is not one of its own tree."""
        tree = self._replica.tree
        if tree.root(head.size) == head.root:
            return
        for known in self._store.heads(head.size):
            if known.size <= tree.size and tree.root(known.size) == known.root:
                path = tree.consistency_proof(head.size, known.size)
                self._stop_forked(ForkProof(head.note, known.note, tree.root(head.size), path))

    def _stop_forked(self, proof: ForkProof) -> None:
        older, newer = (Checkpoint.parse(SignedNote.parse(note).text).size for note in (proof.older, proof.newer))
        path = self._directory / f"fork-{older}-{newer}.proof"
        write_file(path, proof.encode())
        raise LogForked(
            f"The coordinator signed two logs that contradict each other, of sizes {older} and {newer}; "
            f"the proof is kept in {path}."
        )

    # ---- entries

    async def _begin(self, peers: Sequence[bytes]) -> None:
        """Takes the first two entries, root and manifest, which the run id certifies, from the first peer with them."""
        for peer in peers:
            try:
                _, size = await self._head_of(peer)
                entries, _ = await self._entries_of(peer, 0, 2, size)
                if len(entries) < 2:
                    continue
                payloads = (Envelope.parse(entry).payload for entry in entries)
                if run_id(*payloads) != self._replica.run:
                    raise BadProof("The log's first entries are not those that make the run id.")
                self._apply(entries[self._replica.size :])
                return
            except (CallRefused, ProtocolError, TransportError) as error:
                log.info("no beginning of the log from %s: %s", short(peer), error)

    async def _pull(self, head: Head, peer: bytes) -> None:
        while self._replica.size < head.size:
            start = self._replica.size
            entries, proof = await self._entries_of(peer, start, MAX_ENTRIES, head.size)
            if not entries or start != self._replica.size:
                raise ParseError("The answer holds no entries.")
            root = self._root_with(entries)
            try:
                verify_consistency(start + len(entries), head.size, proof, root, head.root)
            except BadProof:
                await self._look_for_fork(head, peer)
                raise
            for first in range(0, len(entries), _APPLIED_AT_ONCE):
                self._apply(entries[first : first + _APPLIED_AT_ONCE])
                await trio.lowlevel.checkpoint()

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

    async def _entries_of(self, peer: bytes, start: int, limit: int, size: int) -> tuple[list[bytes], list[bytes]]:
        request: dict[str, codec.Value] = {"limit": limit, "op": "entries", "size": size, "start": start}
        match await self._call(peer, request, _ENTRIES_S):
            case {"entries": list(entries), "proof": list(proof), **rest} if not rest:
                if len(entries) <= limit:
                    return _all_bytes(entries), _all_bytes(proof)
        raise ParseError("The answer is not a run of log entries.")

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

    async def _look_for_fork(self, head: Head, peer: bytes) -> None:
        """Asks whose entries lead to no proof what tree `head` grew from; stops when that contradicts a known head."""
        known = self._store.newest_head(self._replica.size)
        if known is None:
            return
        request: dict[str, codec.Value] = {"new": head.size, "old": known.size, "op": "prefix"}
        match await self._call(peer, request, _HEAD_S):
            case {"proof": list(items), "root": bytes(root), **rest} if not rest:
                path = _all_bytes(items)
                verify_consistency(known.size, head.size, path, root, head.root)
                if root != known.root:
                    self._stop_forked(ForkProof(known.note, head.note, root, tuple(path)))

    async def _call(self, peer: bytes, request: codec.Value, timeout_s: float) -> codec.Value:
        answer = await call(self._transport, peer, LOG_PROTOCOL, codec.encode(request), timeout_s=timeout_s)
        return codec.decode(answer, MAX_FRAME)


def replay_log(replica: Replica, store: Store) -> None:
    """Applies the entries in the store that the replica does not have yet; raises LogRefused."""
    for entry in store.iterate_log(replica.size):
        try:
            replica.apply(entry)
        except ValueError as error:
            raise LogRefused(
                f"The stored log holds an entry at {replica.size} that the rules refuse: {error}"
            ) from error


def _all_bytes(items: Sequence[codec.Value]) -> list[bytes]:
    """`items`, all of which must be bytes."""
    found = [item for item in items if isinstance(item, bytes)]
    if len(found) != len(items):
        raise ParseError("The answer holds something other than bytes.")
    return found


__all__ = ["LogFollower", "LogForked", "LogRefused", "LogService", "LogUnbelievable", "Replica", "replay_log"]
