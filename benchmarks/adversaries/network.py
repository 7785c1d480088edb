"""Bytes from strangers: bombs in size, depth and compression, and garbage in place of everything that is read."""

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from time import perf_counter

from benchmarks.adversaries.identities import refusal, refused
from benchmarks.adversaries.outcome import REFUSED, Effort, Row, Run, percent, summary
from node.following.fork import ForkProof
from protocol import codec
from protocol.blob import blob_digest
from protocol.checkpoint import SignedNote
from protocol.codec import MAX_BYTES
from protocol.compress import compress
from protocol.entries import parse_entry
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.header import BatchHeader
from protocol.proof import FraudProof
from protocol.ticket import Ticket
from tests.verification.world import World
from verification.admission import check_games
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo
from verification.proof import check_proof
from verification.setup import selfplay_series

KIND = "what the log or a reader refuses"
MOST_TIMES = 4
CHANGES = 30


def rejection(world: World, header: BatchHeader, blob: bytes) -> str:
    """Why a blob is not the batch that a header signs."""
    try:
        check_games(header, blob, selfplay_series(world.state, world.state.release, header.peer))
    except Rejected as rejected:
        return str(rejected)
    return ""


def bombs(effort: Effort) -> Iterator[Row]:
    """A header beyond the limits, a blob that grows when it is read, one that is cut, maps within maps."""
    size, zstd, cut, deep = [], [], [], []
    nested = b"\x81\xa1a" * 1000 + b"\x80"
    for seed in range(effort.real):
        world = World(word=f"bombs {seed}")
        ada = world.register("ada")
        most = world.manifest.limits.raw_bytes
        header = world.header(ada, world.games(ada, 2))
        size.append(refusal(world.state, replace(header, raw_len=most + 1), ada))
        bomb = compress(bytes(64 * most if seed == 0 else most + 1))
        signed = replace(header, blob_digest=blob_digest(bomb), blob_len=len(bomb), raw_len=most)
        tracemalloc.start()
        zstd.append(rejection(world, signed, bomb))
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < MOST_TIMES * most
        cut.append(rejection(world, header, world.blobs[header.blob_digest][:-1]))
        deep.append(error_of(lambda: codec.decode(nested)))
    yield refused("batch bomb: size", "larger than the manifest's limits", *size)
    yield refused("batch bomb: zstd", "size limit", *zstd)
    yield refused("batch bomb: cut short", "blob length", *cut)
    yield refused("batch bomb: depth", "ParseError", *deep)


def error_of(read: Callable[[], object]) -> str:
    """The name of the error that reading ends in; empty for none. Any but a named one is raised on."""
    try:
        read()
    except (ProtocolError, LogFault, Rejected) as error:
        return "ParseError" if isinstance(error, ProtocolError) else type(error).__name__
    return ""


def garbage(effort: Effort) -> Iterator[Row]:
    """Random bytes, and honest entries, notes, proofs and blobs with bytes changed, to every reader of the core."""
    runs, refusals, reads, started = [], 0, 0, perf_counter()
    for seed in range(effort.real):
        world, rng = World(word=f"garbage {seed}"), Random(seed)
        batch = world.batch(world.register("ada"))
        size = world.state.size
        for read, honest in readers(world, batch):
            for _ in range(CHANGES):
                reads += 1
                refusals += bool(error_of(partial(read, changed(honest, rng))))
        assert world.state.size == size
        runs.append(Run(1, 0, 0, "named errors"))
    text = (
        f"{reads:,} reads, {percent(refusals / reads)} refused, {1e3 * (perf_counter() - started) / reads:.2f} ms each"
    )
    yield summary("garbage to every reader", KIND, text, REFUSED, runs, 0.0)


def readers(world: World, batch: BatchInfo) -> list[tuple[Callable[[bytes], object], bytes]]:
    """What reads bytes from outside, each with bytes that it takes."""
    header, note = batch.header, world.note()
    series = selfplay_series(world.state, world.state.release, header.peer)
    return [
        *((parse_entry, entry) for entry in world.entries),
        *((world.state.check, entry) for entry in world.entries),
        (Envelope.parse, world.entries[0]),
        (SignedNote.parse, note),
        (FraudProof.parse, note),
        (ForkProof.parse, note),
        (lambda data: Ticket.parse(data.decode("latin-1")), note),
        (lambda data: check_proof(data, world.run, world.networks.get), note),
        (lambda data: check_games(header, data, series), world.blobs[header.blob_digest]),
    ]


def changed(honest: bytes, rng: Random) -> bytes:
    """Bytes that nobody sent: random ones, a cut, or a few bytes changed."""
    kind = rng.randrange(3)
    if kind == 0:
        return rng.randbytes(rng.choice([0, 1, 33, 1000, MAX_BYTES // 256]))
    if kind == 1:
        return honest[: rng.randrange(len(honest))]
    data = bytearray(honest)
    for _ in range(rng.choice([1, 2, 9])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


ADVERSARIES = (bombs, garbage)
