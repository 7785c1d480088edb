"""What must not be lost: everything that a node had on its disk, or was told, whenever it was killed.

At each kill and at the end, `note` reads a node's disk; `verify` compares all of it with what the log ends with.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from node.disk.blob_store import BlobStore
from node.disk.store import Store
from node.outbox import KINDS
from node.peering.post import Post
from node.verifier.shelf import PREFIX
from protocol.batch import unpack_batch
from protocol.entries import parse_entry
from protocol.envelope import Envelope
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.merkle import leaf_hash, verify_inclusion
from protocol.receipt import Receipt
from protocol.verdict import TraceOpening, Verdict
from verification.faults import LogFault, NotYet
from verification.identities import BatchInfo
from verification.state import LogState

if TYPE_CHECKING:
    from tests.sim.nodes import Node
    from tests.sim.simulation import Simulation

Game = tuple[bytes, bytes, int]
"""Whose seeds, with which release, under which counter."""


@dataclass(slots=True)
class Holdings:
    """What lies on one node's disk: finished games, entries to be sent, entries kept for others, receipts.

    `stuck`: games that are in no batch although their series is ended.
    """

    games: dict[Game, bytes] = field(default_factory=dict)
    entries: dict[bytes, bytes] = field(default_factory=dict)
    kept: dict[bytes, bytes] = field(default_factory=dict)
    receipts: list[bytes] = field(default_factory=list)
    stuck: set[Game] = field(default_factory=set)

    def add(self, other: "Holdings") -> None:
        """Adds what another disk holds, or this one held at another time; a game must be the same each time."""
        for game, block in other.games.items():
            assert self.games.setdefault(game, block) == block, f"game {game[2]} was played twice, differently"
        self.entries |= other.entries
        self.kept |= other.kept
        self.receipts += other.receipts
        self.stuck |= other.stuck


class Ledger:
    """Holdings of honest nodes at all times noted, and every head that any node had."""

    def __init__(self) -> None:
        self.held = Holdings()
        self._heads: dict[int, bytes] = {}

    def note(self, node: "Node") -> None:
        """Reads a node's disk."""
        with Store(node.home.database) as store:
            for head in store.heads(limit=1_000_000):
                self._see(head.size, head.root)
            if node.member is not None and 0 < store.log_size <= node.state.size:
                self._see(store.log_size, node.state.tree.root(store.log_size))
        if node.is_honest:
            self.held.add(holdings(node))

    def heads(self, size: int) -> Iterator[tuple[int, bytes]]:
        """Every head seen whose size is at most `size`."""
        return ((each, root) for each, root in sorted(self._heads.items()) if each <= size)

    def verify(self, simulation: "Simulation") -> None:
        """Compares with the coordinator's log as it ended, and with what still lies on disks."""
        state = simulation.state
        for size, root in self._heads.items():
            assert size <= state.size, f"a log of {size} entries was seen, and {state.size} are left"
            assert state.tree.root(size) == root, f"another log of {size} entries was seen"
        with Store(simulation.coordinator.home.database) as store:
            log = list(store.iterate_log())
        left = Holdings()
        for node in simulation.nodes.values():
            left.add(holdings(node))
        blobs = BlobStore(simulation.coordinator.home.public)
        logged = {game: block for batch in state.batches.all for game, block in games_of(batch.header, blobs)}
        outlived = simulation.outlived()
        for game, block in self.held.games.items():
            assert game not in left.stuck, f"game {game[2]} of {game[0].hex()[:8]} was never sent"
            found = logged.get(game, left.games.get(game))
            if found is None and game[:2] in outlived:
                continue
            assert found is not None, f"game {game[2]} of {game[0].hex()[:8]} is lost"
            assert found == block, f"game {game[2]} of {game[0].hex()[:8]} was logged with other bytes"
        leaves = {leaf_hash(entry) for entry in log} | set(left.entries)
        for leaf, entry in self.held.entries.items():
            assert leaf in leaves or not is_due(entry, state, outlived), (
                f"an entry is lost: {parse_entry(entry).record}"
            )
        promised = {leaf_hash(entry) for entry in log} | set(left.kept)
        for leaf, entry in self.held.kept.items():
            assert leaf in promised or is_vain(entry, state), f"a verifier lost: {parse_entry(entry).record}"
        for data in self.held.receipts:
            receipt = Receipt.open(Envelope.parse(data))
            entry = log[receipt.index]
            assert parse_entry(entry).envelope.digest == receipt.subject
            root = state.tree.root(receipt.size)
            verify_inclusion(leaf_hash(entry), receipt.index, receipt.size, receipt.path, root)
        verify_series(log)

    def _see(self, size: int, root: bytes) -> None:
        assert self._heads.setdefault(size, root) == root, f"two logs of {size} entries were seen"


def holdings(node: "Node") -> Holdings:
    """What lies on a node's disk now."""
    held = Holdings()
    blobs = BlobStore(node.home.public)
    with Store(node.home.database) as store:
        for (release,) in store._db.execute("SELECT DISTINCT release FROM games").fetchall():
            games = {(node.secret.public, release, n): block for n, block in store.games(release)}
            held.games.update(games)
            if store.series(release).ended:
                held.stuck.update(games)
        held.entries, held.kept = _waiting(store), _kept(store)
        for envelope in held.entries.values():
            record = parse_entry(envelope).record
            if isinstance(record, BatchHeader):
                held.games.update(games_of(record, blobs))
        for entry in held.kept.values():
            record = parse_entry(entry).record
            assert isinstance(record, BatchHeader | GateResult)
            assert blobs.get(record.blob_digest) is not None, "a verifier keeps an entry without its blob"
        held.receipts = [store.get(name) or b"" for name in store.names("receipt/")]
    return held


def waiting_entries(node: "Node") -> dict[bytes, bytes]:
    """The `entries` of `holdings` alone, which opens no blob: for what is asked again and again."""
    with Store(node.home.database) as store:
        return _waiting(store)


def kept_entries(node: "Node") -> dict[bytes, bytes]:
    """The `kept` of `holdings` alone, likewise."""
    with Store(node.home.database) as store:
        return _kept(store)


def _waiting(store: Store) -> dict[bytes, bytes]:
    entries = [Post.parse(item.payload).envelope for kind in KINDS for item in store.outbox(kind)]
    return {leaf_hash(entry): entry for entry in entries}


def _kept(store: Store) -> dict[bytes, bytes]:
    entries = [store.get(name) or b"" for name in store.names(PREFIX)]
    return {leaf_hash(entry): entry for entry in entries}


def games_of(header: BatchHeader, blobs: BlobStore) -> Iterator[tuple[Game, bytes]]:
    """The games of a batch."""
    blob = blobs.get(header.blob_digest)
    assert blob is not None, "the blob of a batch is lost"
    for block in unpack_batch(blob, header.raw_len).games:
        yield (header.owner, header.release, block.header.counter), block.raw


def is_due(entry: bytes, state: LogState, outlived: set[tuple[bytes, bytes]]) -> bool:
    """Whether an entry that a node had to send must be in the log; batches of `outlived` series, by key and release, came
    too late.

    Gate results and what is said of them may be late, and another verifier may have taken over.
    """
    record = parse_entry(entry).record
    if isinstance(record, Verdict | TraceOpening):
        subject = state.subjects.by_digest.get(record.subject)
        is_taken = subject is not None and subject.verdict is not None and subject.verdict.verifier != record.verifier
        return isinstance(subject, BatchInfo) and not is_taken
    return isinstance(record, BatchHeader) and (record.peer, record.release) not in outlived


def is_vain(entry: bytes, state: LogState) -> bool:
    """Whether an entry that a verifier kept can never be logged any more."""
    try:
        state.check(entry)
    except NotYet:
        return False
    except LogFault:
        return True
    return False


def verify_series(log: Iterable[bytes]) -> None:
    """Counters of each series are contiguous from 0, and nothing but what others fill in follows a final batch."""
    counters: Counter[tuple[bytes, bytes]] = Counter()
    ended: set[tuple[bytes, bytes]] = set()
    for entry in log:
        record = parse_entry(entry).record
        if isinstance(record, BatchHeader) and not record.fill_for:
            series = record.owner, record.release
            assert series not in ended
            assert record.first_counter == counters[series]
            counters[series] += record.games
            if record.final:
                ended.add(series)
