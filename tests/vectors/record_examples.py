"""One small run from its root to its first release, record by record: what vectors and specification pages show.

The keys and secrets are hashes of words, so everybody makes the same bytes. Digests, beacons, proofs and log indices fit
each other; the game, its trace digests and the network are placeholders, since a record only names them.
"""

import struct
from dataclasses import dataclass, field
from hashlib import sha256

from protocol import checkpoint, seeds
from protocol.admission import Admission, Decision
from protocol.ed25519 import SecretKey
from protocol.entries import parse_entry
from protocol.epoch import EpochHash, EpochReveal, Share, ShareSet
from protocol.fills import FillAssignment
from protocol.gate import GateAssignment, GatePair, GateRecord, GateResult
from protocol.header import BatchHeader
from protocol.manifest import (
    AdmissionPolicy,
    BoardWeight,
    GatePolicy,
    KomiWeight,
    Limits,
    Manifest,
    NetworkSpec,
    Opening,
    OpeningList,
    RatePoint,
    RulesSpec,
    Stage,
    TrainingPolicy,
    WindowPolicy,
)
from protocol.merkle import Tree, leaf_hash, root_of
from protocol.orders import Exit, Scrutiny, VoidEpoch
from protocol.proof import Ban, FraudProof, LoggedEntry, Pardon
from protocol.receipt import Receipt, Tick
from protocol.record import Record
from protocol.recovery import KeyReplacement
from protocol.registration import Invite, Registration
from protocol.release import FirstRelease, Release
from protocol.ringer import RingerHash, RingerReveal
from protocol.root import Role, Root
from protocol.search_config import SEMANTICS, SearchConfig
from protocol.slots import SlotList
from protocol.statement.documents import Documents
from protocol.statement.stated import Stated
from protocol.types import ZERO
from protocol.verdict import TraceOpening, Verdict
from protocol.window import GivenUpCycle, LossReport, RoundingReport, StatePoint, TrainRecord, WindowCommitment


def digest_of(word: str) -> bytes:
    """The digest, secret or seed that stands for `word` in the examples."""
    return sha256(f"gonode example: {word}".encode()).digest()


ROOT_KEY = SecretKey(digest_of("root key"))
COORDINATOR = SecretKey(digest_of("coordinator key"))
VERIFIER = SecretKey(digest_of("verifier key"))
CONTRIBUTOR = SecretKey(digest_of("contributor key"))
RECOVERY = SecretKey(digest_of("recovery key"))
REPLACEMENT = SecretKey(digest_of("replacement key"))
STRANGER = SecretKey(digest_of("stranger key"))


@dataclass(frozen=True, slots=True)
class Example:
    """A record and the key that signs it, if it travels in an envelope."""

    record: Record
    signer: SecretKey | None


@dataclass(slots=True)
class Log:
    """The example's log: entries in order, and the tree over them."""

    entries: list[bytes] = field(default_factory=list)
    tree: Tree = field(default_factory=Tree)

    def add(self, record: Record, *keys: SecretKey) -> int:
        """Logs the record's envelope; gives its index."""
        data = record.seal(*keys).encode()
        self.entries.append(data)
        return self.tree.append(data)

    def proof(self, index: int, size: int) -> LoggedEntry:
        """The entry with its inclusion proof into the tree of `size`."""
        return LoggedEntry(self.entries[index], index, self.tree.inclusion_proof(index, size))


def examples() -> dict[str, Example]:
    """All example records by the name of their format."""
    return _story()[0]


def log_entries() -> list[bytes]:
    """The entries of the example's log, in order."""
    return _story()[1]


def release_documents() -> Documents:
    """The documents of the example's release."""
    return _story()[2]


def _story() -> tuple[dict[str, Example], list[bytes], Documents]:
    """The records by the name of their format, the log's entries, and the release's documents."""
    made: dict[str, Example] = {}
    log = Log()
    covered = 0

    def keep(record: Record, signer: SecretKey | None = None) -> None:
        made[record.NAME] = Example(record, signer)

    def logged(record: Record, signer: SecretKey) -> int:
        keep(record, signer)
        return log.add(record, signer)

    def share_set() -> bytes:
        """Logs the shares for the log as it is; gives the beacon they make."""
        nonlocal covered
        size, root_hash = log.tree.size, log.tree.root()
        word = seeds.beacon_share(secret, run, size, root_hash)
        share = Share(run, VERIFIER.public, 0, size, root_hash, word)
        keep(share, VERIFIER)
        logged(ShareSet(run, size, root_hash, covered, (share.seal(VERIFIER).encode(),)), COORDINATOR)
        covered = size
        return seeds.beacon(run, size, root_hash, {VERIFIER.public: word})

    root = _root()
    manifest = _manifest()
    run = seeds.run_id(root.encode(), manifest.encode())
    logged(root, ROOT_KEY)
    logged(manifest, ROOT_KEY)
    keep(manifest.selfplay)
    keep(OpeningList(manifest.openings))
    keep(manifest.training)

    secret = digest_of("epoch secret 0")
    hashed = seeds.epoch_hash(run, VERIFIER.public, 0, secret)
    logged(EpochHash(run, VERIFIER.public, 0, hashed), VERIFIER)
    share_set()

    first = FirstRelease(run, manifest.digest(), 0, digest_of("network 0"))
    keep(first)
    invite = Invite(run, digest_of("invite nonce")[:16], 1000)
    keep(invite, COORDINATOR)
    sealed = invite.seal(COORDINATOR).encode()
    joined = logged(
        Registration(
            run, CONTRIBUTOR.public, "ada", sha256(RECOVERY.public).digest(), log.tree.size, log.tree.root(), sealed, 0
        ),
        CONTRIBUTOR,
    )
    share_set()

    ply, game = _ply(), _game(_ply())
    header = BatchHeader(
        run=run,
        manifest=manifest.digest(),
        config=manifest.selfplay.digest(),
        semantics=SEMANTICS,
        release=first.digest(),
        peer=CONTRIBUTOR.public,
        registration=joined,
        first_counter=0,
        games=2,
        plies=1,
        visits=16,
        batch_root=root_of([game, game]),
        blob_digest=digest_of("batch blob"),
        blob_len=4711,
        raw_len=9000,
        final=False,
        fill_for=b"",
        build="gonode-0.1.0",
        kernel="vnni",
        cpu="x86_64",
    )
    header_index = logged(header, CONTRIBUTOR)
    receipt = (header.digest(), header_index, log.tree.size, log.tree.inclusion_proof(header_index))
    keep(Receipt(run, *receipt), COORDINATOR)
    share_set()
    work = seeds.work(run, VERIFIER.public, header.digest(), [digest_of("trace digest")])
    verdict = Verdict(
        run=run,
        subject=header.digest(),
        index=header_index,
        epoch=0,
        verifier=VERIFIER.public,
        semantics=SEMANTICS,
        drawn=(0,),
        outcome="reject",
        evidence="ply",
        game=0,
        ply=2,
        reason="visits: ply 2",
        work=work,
    )
    logged(verdict, VERIFIER)
    opening = TraceOpening(run, VERIFIER.public, header.digest(), header_index, digest_of("trace blob"), 1)
    logged(opening, VERIFIER)
    proof_size = log.tree.size
    note = checkpoint.Checkpoint(seeds.log_origin(run), proof_size, log.tree.root(proof_size)).sign(COORDINATOR)
    cosignature = checkpoint.cosign(note.text, VERIFIER, f"gonode-witness/{VERIFIER.public.hex()}", 1_760_000_000)
    fraud = FraudProof(
        run=run,
        kind="ply",
        accused="contributor",
        root=log.entries[0],
        manifest=log.entries[1],
        later=(),
        release=first.encode(),
        checkpoint=note.with_signatures([cosignature]).encode(),
        header=log.proof(header_index, proof_size),
        registration=log.proof(joined, proof_size),
        shares=log.proof(joined + 1, proof_size),
        verdict=(),
        game=game,
        game_index=0,
        game_path=(leaf_hash(game),),
        ply=ply,
        ply_index=0,
        ply_path=(),
    )
    keep(fraud)
    logged(Ban(run, CONTRIBUTOR.public, fraud.encode()), COORDINATOR)
    decision = Decision(header_index, header_index, "rejected", VERIFIER.public, 1_000_000, "visits: ply 2")
    logged(Admission(run, (decision,)), COORDINATOR)

    headers = sha256(header.digest()).digest()
    commitment = WindowCommitment(run, 1, log.tree.size, 1, 2, 1, 1, headers)
    window = logged(commitment, COORDINATOR)
    train = TrainRecord(
        run=run,
        cycle=1,
        window=window,
        base=first.digest(),
        parent_state=ZERO,
        state=digest_of("train state 1500"),
        steps=1500,
        samples=192_000,
        seed=digest_of("training seed"),
        network=digest_of("network 1"),
        network_blob=digest_of("network blob 1"),
        network_len=123_456,
        weights_blob=digest_of("weights blob 1"),
        torch="2.13.0+cpu",
        threads=1,
        capability="ATEN avx2, oneDNN avx2, MKL avx2",
        states=(StatePoint(1000, digest_of("train state 1000")), StatePoint(1500, digest_of("train state 1500"))),
        shape="b3c32",
        processes=1,
        device="cpu",
        rounding=RoundingReport(1024, 12_000, 9_000, 930_000),
        losses=LossReport(192_000, 2_100_000, 2_400_000, 650_000, 900_000, 400_000),
        held_out=LossReport(1, 2_200_000, 2_500_000, 680_000, 950_000, 420_000),
        batches=1,
        skipped=0,
    )
    candidate = logged(train, COORDINATOR)
    share_set()
    assignment = logged(GateAssignment(run, candidate, first.digest(), COORDINATOR.public, 0, 2), COORDINATOR)
    result = GateResult(
        run=run,
        assignment=assignment,
        player=COORDINATOR.public,
        pairs=(GatePair(1, 2), GatePair(1, 1)),
        batch_root=digest_of("gate batch root"),
        blob_digest=digest_of("gate blob"),
        blob_len=2000,
        raw_len=4000,
    )
    logged(result, COORDINATOR)
    gate = GateRecord(run, candidate, first.digest(), 2, (0, 0, 1, 0, 1), 2_950_001, True, 0)
    gate_index = logged(gate, COORDINATOR)
    release = Release(
        run=run,
        manifest=manifest.digest(),
        number=1,
        parent=first.digest(),
        name="example-b3c32-s192000-d1",
        network=train.network,
        network_blob=train.network_blob,
        network_len=train.network_len,
        weights_blob=train.weights_blob,
        train_record=candidate,
        gate_record=gate_index,
        config=manifest.selfplay.digest(),
        gate_config=manifest.gate_search.digest(),
        openings=manifest.openings_digest(),
        training=manifest.training.digest(),
        semantics=SEMANTICS,
        shape=train.shape,
        steps=1500,
        samples=192_000,
        rows=1,
        code_version="0.1.0",
    )
    stated = Stated(logged(release, COORDINATOR), release, train, commitment, gate, manifest)
    documents = Documents(stated, digest_of("weights 1"), COORDINATOR.public)
    logged(Tick(run, log.tree.size, 1_760_000_000), COORDINATOR)
    logged(EpochReveal(run, VERIFIER.public, 0, secret), VERIFIER)

    waiting = Registration(run, STRANGER.public, "sam", b"", log.tree.size, log.tree.root(), b"", 77)
    logged(SlotList(run, (waiting.digest(),)), COORDINATOR)
    logged(FillAssignment(run, CONTRIBUTOR.public, first.digest(), 2, 2, STRANGER.public), COORDINATOR)
    logged(Exit(run, (CONTRIBUTOR.public,)), COORDINATOR)
    logged(VoidEpoch(run, VERIFIER.public, 0), COORDINATOR)
    reason = "Lengths differ from the others'."
    logged(Scrutiny(run, CONTRIBUTOR.public, 500_000, 2000, False, reason), COORDINATOR)
    salt = digest_of("ringer salt")
    logged(RingerHash(run, seeds.ringer_commitment(run, header.digest(), 0, 2, salt)), COORDINATOR)
    logged(RingerReveal(run, header_index, 0, 2, salt), COORDINATOR)
    logged(Pardon(run, CONTRIBUTOR.public, fraud.encode()), COORDINATOR)
    text = "One game makes up 31 of the window's 64 games."
    untrained = log.add(WindowCommitment(run, 2, log.tree.size, 1, 2, 1, 1, headers), COORDINATOR)
    logged(GivenUpCycle(run, 2, untrained, "repeated-game", text), COORDINATOR)
    replaced = KeyReplacement(run, CONTRIBUTOR.public, RECOVERY.public, REPLACEMENT.public, header_index)
    keep(replaced)
    log.add(replaced, RECOVERY, REPLACEMENT)
    logged(documents.sign(COORDINATOR), COORDINATOR)
    for entry in log.entries:
        parse_entry(entry)
    return made, log.entries, documents


def _root() -> Root:
    roles = (
        Role("coordinator", COORDINATOR.public, "home"),
        Role("verifier", VERIFIER.public, "vera", 100_000),
    )
    return Root(ZERO, 1, 1, (ROOT_KEY.public,), roles, 1)


def _manifest() -> Manifest:
    selfplay = SearchConfig(
        semantics=SEMANTICS,
        root="puct",
        visits_full=64,
        visits_fast=16,
        full_share_ppm=350_000,
        cpuct_micro=1_100_000,
        fpu_reduction_micro=200_000,
        root_fpu_reduction_micro=0,
        noise_weight_ppm=250_000,
        noise_alpha_micro=10_830_000,
        root_temperature_micro=1_100_000,
        forced_playouts_micro=2_000_000,
        score_utility_micro=100_000,
        temperature_start_micro=800_000,
        temperature_end_micro=150_000,
        temperature_halflife=9,
        gumbel_considered=16,
        gumbel_noise_micro=1_000_000,
        gumbel_c_visit_micro=50_000_000,
        gumbel_c_scale_micro=1_000_000,
        symmetry=True,
    )
    gating = SearchConfig.from_value(
        {**_map(selfplay), "full_share_ppm": 1_000_000, "noise_weight_ppm": 0, "forced_playouts_micro": 0}
    )
    return Manifest(
        run=ZERO,
        version=1,
        name="example",
        rules=RulesSpec("positional", True, True, True, 3),
        stages=(Stage(0, (BoardWeight(7, 1, (KomiWeight(17, 1), KomiWeight(19, 1))),)),),
        openings=(Opening(7, (), 1, 0), Opening(7, (16, 32), 0, 1)),
        selfplay=selfplay,
        gate_search=gating,
        network=NetworkSpec(3, 32, 1, "random"),
        admission=AdmissionPolicy(
            "invite", 0, 2, 1, 2, 50_000, 200, 2000, 200, 1000, 2, 32, 200_000, 100_000, 10_000, 10**6, 3, 200
        ),
        gate=GatePolicy("sprt", 0, 50, 400, 550_000, 250_000, 4, 0),
        window=WindowPolicy(1, 1, 1, 650_000),
        training=TrainingPolicy(
            minibatch=128,
            samples_per_row_milli=6000,
            samples_per_cycle=1_000_000,
            learning_rate_micro=20_000,
            warmup_steps=50,
            momentum_micro=900_000,
            weight_decay_micro=30,
            gradient_clip_micro=1_000_000,
            ema_micro=990_000,
            policy_weight_micro=1_000_000,
            opponent_policy_weight_micro=150_000,
            value_weight_micro=1_000_000,
            score_weight_micro=500_000,
            ownership_weight_micro=500_000,
            value_root_share_ppm=0,
            held_out_ppm=10_000,
            calibration_rows=1024,
            threads=1,
            schedule=(RatePoint(1000, 1_000_000), RatePoint(5000, 300_000)),
            quantised_share_ppm=100_000,
            most_policy_divergence_micro=50_000,
            most_value_error_micro=50_000,
            least_same_move_ppm=600_000,
            processes=1,
            precision="float32",
        ),
        limits=Limits(2**24, 2**26),
        bootstrap=("/ip4/127.0.0.1/tcp/4001",),
    )


def _map(record: Record) -> dict[str, object]:
    value = record.to_value()
    assert isinstance(value, dict)
    return value  # type: ignore[return-value]


def _ply() -> bytes:
    """A ply record of a 7x7 board: all 15 visits on the first point."""
    visits = struct.pack("<50H", 15, *[0] * 49)
    target = struct.pack("<50H", 65535, *[0] * 49)
    return struct.pack("<HHB", 2, 0, 0) + visits + target + struct.pack("<ii", 0, 0) + digest_of("trace digest")


def _game(ply: bytes) -> bytes:
    """A game's leaf with two opening moves and one searched ply."""
    header = struct.pack("<QBBBBhHiHH", 0, 7, 0, 1, 2, 17, 0, 1, 3, 0)
    return header + struct.pack("<3H", 16, 32, 0) + leaf_hash(ply)
