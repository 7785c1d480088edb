"""Copies of a log for tests of following: their nodes on a network in memory, their followers, calls counted."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from node.disk.store import Head, Store
from node.following.follower import LogFollower
from node.following.service import LOG_PROTOCOL, LogService
from node.peering.call import serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from protocol import codec
from protocol.checkpoint import Checkpoint, SignedNote, cosign
from protocol.ed25519 import SecretKey
from protocol.entries import Entry, parse_entry
from protocol.errors import ProtocolError
from protocol.merkle import Tree
from protocol.receipt import Tick
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import log_origin, run_id
from protocol.types import ZERO
from tests.node.keys import secret
from verification.root_versions import RootVersions
from verification.witness import witness_name

OWNER, PEN, OTHER, WITNESS, PARTNER = secret(100), secret(101), secret(102), secret(103), secret(104)
TOPIC = "heads"
FORBIDDEN = 666
ROLES = (Role(COORDINATOR, PEN.public, "pen"), Role(VERIFIER, WITNESS.public, "witness"))
ROOT = Root(ZERO, 1, 1, (OWNER.public, PARTNER.public), ROLES, 1).seal(OWNER, PARTNER)  # one would be enough
MANIFEST = Tick(ZERO, 1, 0).seal(
    OWNER, PARTNER
)  # any second entry makes the run id; the rules are the replica's matter
RUN = run_id(ROOT.payload, MANIFEST.payload)


class Rules:
    """A replica whose only rule is that no tick has the forbidden time."""

    def __init__(self) -> None:
        self.run = RUN
        self.tree = Tree()
        self.roots = RootVersions(((0, Root.parse(ROOT.payload)),))

    @property
    def size(self) -> int:
        return self.tree.size

    def apply(self, entry: bytes, *, is_verified: bool = False) -> Entry:
        parsed = parse_entry(entry, is_verified=is_verified)
        if isinstance(parsed.record, Tick) and parsed.record.unix_s == FORBIDDEN:
            raise ProtocolError("This tick is forbidden.")
        self.tree.append(entry)
        return parsed


def tick(number: int, unix_s: int = 0) -> bytes:
    return Tick(RUN, number, unix_s).seal(PEN).encode()


BEGINNING = [ROOT.encode(), MANIFEST.encode()]


@dataclass
class Log:
    """One node's copy."""

    transport: MemoryTransport
    replica: Rules
    store: Store
    service: LogService
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def key(self) -> bytes:
        return self.transport.key

    def extend(self, entries: Sequence[bytes]) -> None:
        for entry in entries:
            self.replica.tree.append(entry)
        self.store.append(entries)

    def grow(self, count: int = 1) -> Head:
        """Adds some ticks and signs their head."""
        self.extend([tick(number) for number in range(self.replica.size, self.replica.size + count)])
        return self.sign()

    def sign(self, key: SecretKey = PEN) -> Head:
        signed = signed_head(self.replica.tree, key)
        self.store.put_head(signed)
        return signed

    def follower(self, path: Path, *peers: "Log", **more: Any) -> LogFollower:
        """A follower that asks `peers`, or all connected ones."""
        keys = [peer.key for peer in peers]
        ask = (lambda: keys) if keys else self.transport.peers
        return LogFollower(self.transport, self.replica, self.store, ask, path, rng=Random(self.key), **more)

    async def link(self, *peers: "Log") -> None:
        for peer in peers:
            await self.transport.dial(peer.transport.addresses()[0])

    async def answer(self, peer: bytes, request: bytes) -> bytes:
        """What the service answers, counted by its operation."""
        value = codec.decode(request, 256)
        self.calls[str(value.get("op")) if isinstance(value, dict) else "?"] += 1
        return await self.service._answer(peer, request)


def signed_head(tree: Tree, key: SecretKey = PEN) -> Head:
    head = Checkpoint(log_origin(RUN), tree.size, tree.root())
    return Head(head.size, head.root_hash, head.sign(key).encode())


def cosigned(head: Head, witness: SecretKey = WITNESS) -> Head:
    """The head with a witness's line."""
    note = SignedNote.parse(head.note)
    line = cosign(note.text, witness, witness_name(witness.public), 1)
    return Head(head.size, head.root, note.with_signatures([line]).encode())


@asynccontextmanager
async def logs(path: Path, count: int, linked: bool = True) -> AsyncIterator[list[Log]]:
    """So many copies with nothing in them, each linked to all others unless told otherwise."""
    network = MemoryNetwork()
    async with AsyncExitStack() as stack:
        made: list[Log] = []
        for number in range(count):
            transport = await stack.enter_async_context(network.open(secret(number)))
            store = stack.enter_context(Store(path / str(number) / "node.db"))
            replica = Rules()
            log = Log(transport, replica, store, LogService(transport, replica, store))
            serve_calls(transport, LOG_PROTOCOL, log.answer, max_bytes=256)
            made.append(log)
        for log in made if linked else ():
            await log.link(*(peer for peer in made if peer is not log))
        yield made


def called(made: Iterable[Log], op: str | None = None) -> int:
    """How many calls these served, of one operation or of all."""
    return sum(sum(log.calls.values()) if op is None else log.calls[op] for log in made)
