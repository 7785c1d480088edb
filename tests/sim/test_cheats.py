"""Contributors that cheat beside honest ones: each is rejected for its own reason, and nothing of it trains a network."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from native.network import Kernel
from native.pool import Done, Job
from native.search import Player
from node.contributor.contributor import Contributor
from node.disk.blob_store import BlobStore
from node.outbox import Outbox
from protocol.envelope import Envelope
from protocol.game_block import GameBlock
from protocol.header import BatchHeader
from protocol.proof import Ban
from protocol.verdict import REJECT
from tests.sim.inline_engine import EditingEngine, InlineEngine, pool_of
from tests.sim.ledger import games_of
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from tests.verification import edits
from tests.verification.test_admission import CHEAP, REPLAYED
from verification.proof import check_proof
from verification.setup import selfplay_job

Change = Callable[[GameBlock], bytes]

EDITS: dict[str, Change] = {
    **CHEAP,
    **REPLAYED,
    "counter": lambda block: edits.header(counter=block.header.counter + 7)(block),
}
LATE = 12
"""From this counter on the cheat begins that first earns its trust."""


def if_possible(change: Change) -> Change:
    """The change where the game is long enough for it, else the game as it was."""

    def changed(block: GameBlock) -> bytes:
        try:
            return GameBlock.parse(change(block)).raw  # one of a short game may fall into another column
        except (AssertionError, IndexError, KeyError, ValueError):
            return block.raw

    return changed


class OtherJobs(InlineEngine):
    """An engine that plays other self-play games than it is asked for."""

    def __init__(self, other: Callable[[Job], Job]) -> None:
        super().__init__()
        self._other = other

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        return await super().play(job if job.black.release != job.white.release else self._other(job))


OTHERS: dict[str, Callable[[Job], Job]] = {
    "seed": lambda job: replace(job, game_seed=bytes([job.game_seed[0] ^ 1]) + job.game_seed[1:]),
    "network": lambda job: replace(job, black=Player(None, job.black.release), white=Player(None, job.white.release)),
    "fewer visits": lambda job: replace(job, config=replace(job.config, visits_full=8, visits_fast=4)),
}
OTHER_REASONS = {"seed": "search", "network": "search", "fewer visits": "visits sum"}


class Forger(Contributor):
    """Posts batches whose signature has another bit."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.outbox = ForgingOutbox(arguments[0])


class ForgingOutbox(Outbox):
    """Changes what is put into it."""

    def put(self, kind: str, key: bytes, envelope: Envelope, proof: bytes = b"") -> None:
        """See `Outbox.put`."""
        data = bytearray(envelope.encode())
        data[data.rindex(b"\xa3sig") + 10] ^= 1
        super().put(kind, key, Envelope.parse(bytes(data)), proof)


async def with_cheats(folder: Path) -> Simulation:
    """Two honest contributors among cheats of every kind, up to the second release."""
    async with simulated(folder, sim_manifest(timeout_entries=300), "cheats") as sim:
        for label, change in EDITS.items():
            sim.invite(label, EditingEngine(if_possible(change)), honest=False)
        for label, other in OTHERS.items():
            sim.invite(label, OtherJobs(other), honest=False)
        sim.invite("late", EditingEngine(if_possible(edits.value(0)), first=LATE), honest=False)
        sim.invite("forger", make=Forger, honest=False)
        sim.start()
        cheats = [node for node in sim.contributors if not node.is_honest and node.name != "forger"]
        await sim.until(
            lambda: sim.coordinator.member and all(sim.state.is_banned(cheat.secret.public) for cheat in cheats), 600
        )
        number = sim.state.release.number
        await sim.until(lambda: sim.state.release.number >= max(2, number + 1))
        for cheat in cheats:
            await cheat.life.ended.wait()
        await sim.finish()
        sim.settle()
        return sim


def test_cheats_are_found(tmp_path: Path) -> None:
    sim = virtually(with_cheats, tmp_path)
    state = sim.state
    reasons = {label: label for label in EDITS} | OTHER_REASONS | {"late": "value"}
    for name, reason in reasons.items():
        peer = sim.nodes[name].secret.public
        verdicts = [batch.verdict for batch in state.batches.all if batch.header.peer == peer]
        reasons_given = [verdict.reason for verdict in verdicts if verdict is not None and verdict.outcome == REJECT]
        assert reasons_given, name
        assert reasons_given[0].startswith(f"{reason}: "), f"{name}: {reasons_given[0]}"
        assert state.is_banned(peer)
    forger = sim.nodes["forger"]
    assert state.batches.tally(forger.secret.public).batches == 0
    assert "signature" in sim.said("refused", forger)[0].text

    # Every ban rests on a proof that anybody can check, and that the verifier kept as a file.
    files = [path.read_bytes() for path in sim.verifiers[0].home.proofs.iterdir()]
    bans = [record for record in sim.entries() if isinstance(record, Ban)]
    assert len(bans) == len(reasons)
    blobs = BlobStore(sim.coordinator.home.public)
    networks = {each.network: blobs.get(each.network_blob) for each in state.releases.all if each.network_blob}
    for ban in bans:
        assert ban.proof in files
        assert check_proof(ban.proof, sim.run, networks.get, Kernel.SCALAR).subject == ban.subject

    # Honest contributors are as they were, and every game that a window holds is the one that its seed gives.
    for name in ("ada", "bob"):
        tally = state.batches.tally(sim.nodes[name].secret.public)
        assert tally.verified == tally.games > 0
    assert state.windows
    for window in state.windows:
        for batch in window.window.batches:
            verify_games(sim, batch.header, blobs)


def verify_games(sim: Simulation, header: BatchHeader, blobs: BlobStore) -> None:
    """Replays every game of a batch."""
    release = sim.state.release_by_id(header.release)
    assert release is not None
    member = sim.coordinator.member
    assert member is not None
    player = virtually(member.player_of, release)
    pool = pool_of(Kernel.BEST)
    for (peer, _, counter), block in games_of(header, blobs):
        pool.replay(selfplay_job(sim.state, release, peer, counter, player), block)
        done = pool.wait(60)
        assert done is not None
        assert done.is_ok, done.sentence
