"""A whole run in memory: keys, log, real games on 7x7 by the engine, verdicts, windows, gates, releases, public files.

For tests of any package. A `World` is honest unless told otherwise: `play(..., edit=...)` changes games before they are
signed. Everything follows from the seed word, so two worlds with the same calls have the same bytes; the default word is
one whose first two games are long.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from native.netfile import Architecture
from native.network import Kernel, Network
from native.pool import Job, Pool
from native.search import Player
from protocol import checkpoint as notes
from protocol import seeds
from protocol.admission import Admission
from protocol.batch import Batch, batch_root, encode_batch, parse_batch, unpack_batch
from protocol.blob import blob_digest
from protocol.checkpoint import Checkpoint
from protocol.compress import compress
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.epoch import EpochHash, EpochReveal, Share, ShareSet
from protocol.game_block import GameBlock
from protocol.gate import GatePair, GateResult
from protocol.header import BatchHeader
from protocol.layout import CHECKPOINT, MANIFEST, ROOT, blob_path, release_path
from protocol.manifest import (
    Manifest,
)
from protocol.proof import PLY, Ban
from protocol.receipt import Tick
from protocol.record import Record
from protocol.registration import Invite, Registration
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.search_config import SEMANTICS
from protocol.statement.documents import Documents
from protocol.tiles import tiles_for
from protocol.types import ZERO
from protocol.verdict import ACCEPT, REJECT, TraceOpening, Verdict
from protocol.window import GivenUpCycle, LossReport, RoundingReport, StatePoint, TrainRecord
from tests.verification.manifests import digest_of, small_manifest
from verification.admission import check_batch, check_gate_result, total_visits
from verification.faults import Rejected
from verification.gate_state import GateResultInfo
from verification.identities import BatchInfo, batch_of
from verification.proof_builder import Evidence, build_proof, evidence_fields
from verification.releases import ReleaseInfo, first_network
from verification.replay import Replayed, collect, name_mismatch
from verification.setup import gate_jobs, selfplay_job
from verification.state import LogState
from verification.subjects import BatchSubject
from verification.witness import witness_name

Edit = Callable[[list[bytes]], list[bytes]]
WELL_ROUNDED = RoundingReport(1024, 12_000, 9_000, 930_000)


class World:
    """One run. Attributes are plain: look at them, and append whatever a test needs."""

    def __init__(
        self,
        manifest: Manifest | None = None,
        verifiers: int = 1,
        word: str = "d",
        kernel: Kernel = Kernel.BEST,
        verifier_kernel: Kernel = Kernel.BEST,
    ) -> None:
        self.word = word
        self.kernel = kernel
        self.verifier_kernel = verifier_kernel
        self.root_key = self.key("root")
        self.coordinator = self.key("coordinator")
        self.verifiers = [self.key(f"verifier {number}") for number in range(verifiers)]
        self.peers: dict[str, SecretKey] = {}
        self.root = Root(
            run=ZERO,
            version=1,
            threshold=1,
            keys=(self.root_key.public,),
            roles=(
                Role(COORDINATOR, self.coordinator.public, "coordinator"),
                *(Role(VERIFIER, key.public, f"verifier-{n}") for n, key in enumerate(self.verifiers)),
            ),
            witness_threshold=verifiers // 2 + 1 if verifiers else 0,
        )
        self.manifest = manifest or small_manifest()
        self.run = seeds.run_id(self.root.encode(), self.manifest.encode())
        self.state = LogState(self.run)
        self.entries: list[bytes] = []
        self.blobs: dict[bytes, bytes] = {}
        self.networks: dict[bytes, bytes] = {}
        self.epoch = dict.fromkeys((key.public for key in self.verifiers), -1)
        self.log(self.root, self.root_key)
        self.log(self.manifest, self.root_key)
        first = first_network(self.manifest, self.state.manifest_digest)
        if first is not None:
            self.networks[sha256(first).digest()] = first
        for key in self.verifiers:
            self.begin_epoch(key)
        if verifiers:
            self.share_set()

    # ---- keys and entries

    def key(self, name: str) -> SecretKey:
        """The key of `name`."""
        return SecretKey(digest_of(f"{self.word} key {name}"))

    def secret(self, verifier: SecretKey, epoch: int) -> bytes:
        """A verifier's secret of an epoch."""
        return digest_of(f"{self.word} secret {verifier.public.hex()} {epoch}")

    def log(self, record: Record, *signers: SecretKey) -> int:
        """Seals, applies and keeps a record; gives its index."""
        return self.log_bytes(record.seal(*signers).encode())

    def log_bytes(self, data: bytes) -> int:
        """Applies and keeps an entry's bytes; gives its index."""
        self.state.apply(data)
        self.entries.append(data)
        return self.state.size - 1

    def entry(self, index: int) -> bytes:
        """The bytes of an entry."""
        return self.entries[index]

    def begin_epoch(self, verifier: SecretKey) -> int:
        """Logs the hash of a verifier's next epoch."""
        epoch = self.epoch[verifier.public] = self.epoch[verifier.public] + 1
        secret_hash = seeds.epoch_hash(self.run, verifier.public, epoch, self.secret(verifier, epoch))
        return self.log(EpochHash(self.run, verifier.public, epoch, secret_hash), verifier)

    def reveal(self, verifier: SecretKey, epoch: int) -> int:
        """Logs the reveal of a verifier's epoch."""
        return self.log(EpochReveal(self.run, verifier.public, epoch, self.secret(verifier, epoch)), verifier)

    def share(self, verifier: SecretKey, size: int) -> Envelope:
        """A verifier's share for the tree of `size`."""
        root = self.state.tree.root(size)
        info = self.state.epochs.at(verifier.public, size)
        assert info is not None
        word = seeds.beacon_share(self.secret(verifier, info.epoch), self.run, size, root)
        return Share(self.run, verifier.public, info.epoch, size, root, word).seal(verifier)

    def share_set(self, verifiers: Iterable[SecretKey] | None = None) -> int:
        """Logs a share set for the tree as it is."""
        size = self.state.size
        keys = sorted(self.verifiers if verifiers is None else verifiers, key=lambda key: key.public)
        shares = tuple(self.share(key, size).encode() for key in keys)
        covered = self.state.beacons.covered
        return self.log(ShareSet(self.run, size, self.state.tree.root(), covered, shares), self.coordinator)

    def ticks(self, count: int) -> None:
        """Logs ticks."""
        for _ in range(count):
            self.log(Tick(self.run, self.state.size, 0), self.coordinator)

    # ---- contributors

    def invite(self, word: str, last_index: int = 10**6) -> bytes:
        """An invite's envelope."""
        return (
            Invite(self.run, digest_of(f"{self.word} invite {word}")[:16], last_index).seal(self.coordinator).encode()
        )

    def register(self, name: str) -> SecretKey:
        """Registers a contributor and makes its beacon."""
        key = self.peers[name] = self.key(name)
        size = self.state.size
        record = Registration(self.run, key.public, name, b"", size, self.state.tree.root(), self.invite(name), 0)
        self.log(record, key)
        self.share_set()
        return key

    def player(self, release: ReleaseInfo) -> Player:
        """The engine's player of a release."""
        file = self.networks[release.network] if release.network else None
        return Player(None if file is None else Network.load(file), release.id)

    def play_blocks(self, jobs: list[Job], kernel: Kernel | None = None) -> list[bytes]:
        """The blocks of the games that jobs play, in their order."""
        with Pool(1, kernel or self.kernel) as pool:
            for job in jobs:
                pool.play(job)
            done = {}
            while len(done) < len(jobs):
                game = pool.wait(60.0)
                assert game is not None
                assert game.is_ok
                done[game.id] = game.block
        return [done[job.id] for job in jobs]

    def games(self, peer: SecretKey, games: int, release: ReleaseInfo | None = None) -> list[bytes]:
        """The next honest games of a peer."""
        release = release or self.state.release
        first = self.state.next_counter(peer.public, release.id)
        player = self.player(release)
        jobs = [
            selfplay_job(self.state, release, peer.public, counter, player) for counter in range(first, first + games)
        ]
        return self.play_blocks(jobs) if jobs else []

    def header(
        self, peer: SecretKey, blocks: list[bytes], final: bool = False, release: ReleaseInfo | None = None
    ) -> BatchHeader:
        """The header of the peer's next batch, with these games; their blob is kept."""
        release = release or self.state.release
        registration = self.state.registration(peer.public)
        assert registration is not None
        raw = encode_batch(blocks)
        batch = parse_batch(raw)
        blob = compress(raw)
        return BatchHeader(
            run=self.run,
            manifest=release.manifest,
            config=self.state.release_manifest(release).selfplay.digest(),
            semantics=SEMANTICS,
            release=release.id,
            peer=peer.public,
            registration=registration.index,
            first_counter=self.state.next_counter(peer.public, release.id),
            games=len(batch.games),
            plies=batch.plies,
            visits=total_visits(batch, self.state.release_manifest(release).selfplay_at(release.steps)),
            batch_root=batch_root(batch),
            blob_digest=self.put(blob),
            blob_len=len(blob),
            raw_len=len(raw),
            final=final,
            fill_for=b"",
            build="0.1.0",
            kernel=self.kernel.name.lower(),
            cpu="test",
        )

    def put(self, blob: bytes) -> bytes:
        """Keeps a blob; gives its digest."""
        digest = blob_digest(blob)
        self.blobs[digest] = blob
        return digest

    def play(
        self,
        peer: SecretKey,
        games: int | None = None,
        edit: Edit | None = None,
        final: bool = False,
        release: ReleaseInfo | None = None,
    ) -> BatchInfo:
        """Plays, perhaps edits, and logs the header of a peer's next batch, with its beacon."""
        count = self.manifest.admission.games_per_batch if games is None else games
        blocks = self.games(peer, count, release)
        header = self.header(peer, blocks if edit is None else edit(blocks), final, release)
        index = self.log(header, peer)
        self.share_set()
        batch = self.state.batch(index)
        assert batch is not None
        return batch

    # ---- verifiers

    def verifier_key(self, public: bytes | None) -> SecretKey:
        """The verifier's key with this public key."""
        return next(key for key in self.verifiers if key.public == public)

    def examine(self, batch: BatchSubject) -> tuple[Batch | None, Replayed, Rejected | None]:
        """What the assigned verifier finds: the games, what was replayed, and why it rejects."""
        release = self.state.release_by_id(batch.header.release)
        assert release is not None
        try:
            content = check_batch(self.state, batch, self.blobs[batch.header.blob_digest])
        except Rejected as rejected:
            return None, Replayed((), (), None), rejected
        verifier = self.verifier_key(batch.assigned)
        drawn = batch.draw(self.secret(verifier, batch.candidates[verifier.public]))
        player = self.player(release)
        jobs = [
            selfplay_job(self.state, release, batch.header.owner, block.header.counter, player)
            for block in content.games
        ]
        with Pool(1, self.verifier_kernel) as pool:
            found = replay_games(pool, drawn, jobs, content.games)
        if found.mismatch is None:
            return content, found, None
        game = found.mismatch.game
        return content, found, name_mismatch(jobs[game], content.games[game], found.mismatch)

    def judge(self, batch: BatchSubject) -> Rejected | None:
        """Logs the assigned verifier's verdict and, if it replayed anything, its opening; a second verifier's too."""
        _, found, rejected = self.examine(batch)
        self.say(batch, found, rejected)
        if isinstance(batch, BatchInfo) and batch.second is not None:
            self.judge(batch.second)
        return rejected

    def say(self, subject: BatchSubject | GateResultInfo, found: Replayed, rejected: Rejected | None) -> None:
        """Logs a verdict and its opening."""
        verifier = self.verifier_key(subject.assigned)
        verdict = Verdict(
            run=self.run,
            subject=subject.digest,
            index=subject.index,
            epoch=subject.candidates[verifier.public],
            verifier=verifier.public,
            semantics=SEMANTICS,
            drawn=found.games,
            outcome=ACCEPT if rejected is None else REJECT,
            **evidence_fields(rejected),
            reason="" if rejected is None else str(rejected)[:200],
            work=seeds.work(self.run, verifier.public, subject.digest, found.digests),
        )
        self.log(verdict, verifier)
        if found.games:
            blob = self.put(b"".join(found.digests))
            opening = TraceOpening(self.run, verifier.public, subject.digest, subject.index, blob, len(found.digests))
            self.log(opening, verifier)

    # ---- the coordinator

    def convict(self) -> None:
        """Logs a ban for every contributor whom a verdict accuses, with the proof that it points to."""
        for check in self.state.batches.accusing():
            if not self.state.is_banned(check.header.peer):
                proof = self.accusation(check)
                self.log(Ban(self.run, check.header.peer, proof), self.coordinator)

    def content(self, batch: BatchInfo) -> Batch:
        """The games in a batch's blob."""
        return unpack_batch(self.blobs[batch.header.blob_digest], batch.header.raw_len)

    def accusation(self, check: BatchSubject, against_verifier: bool = False) -> bytes:
        """The proof that a verdict's evidence points to, or that it points to nothing (then against its verifier)."""
        verdict, batch = check.verdict, batch_of(check)
        assert verdict is not None
        evidence = Evidence(verdict.evidence, verdict.game, verdict.ply if verdict.evidence == PLY else None)
        content = self.content(batch)
        return build_proof(self.state, self.entry, self.note(), check, content, evidence, against_verifier)

    def admit(self) -> int | None:
        """Logs the bans and then every decision that is due."""
        self.convict()
        due = tuple(each.decision for each in self.state.due_decisions() if each.checks)
        return self.log(Admission(self.run, due), self.coordinator) if due else None

    def batch(self, peer: SecretKey, **how: object) -> BatchInfo:
        """Plays, judges and admits one batch."""
        batch = self.play(peer, **how)  # type: ignore[arg-type]
        self.judge(batch)
        self.admit()
        return batch

    def commit(self) -> int:
        """Commits the window that is due, with its beacon; gives its index."""
        due = self.state.due_window()
        assert due is not None, f"{self.state.cycles.rows_missing()} rows are missing"
        index = self.log(due.record, self.coordinator)
        self.share_set()
        return index

    def train(self, grow: str | None = None, rounding: RoundingReport = WELL_ROUNDED) -> int:
        """Commits the window that is due and logs a train record with a drawn network; gives its index.

        `grow`: another shape, which begins anew.
        """
        index = self.log(self.training(grow, rounding), self.coordinator)
        self.share_set()
        return index

    def give_up(self, reason: str = "repeated-game") -> int:
        """Commits the window that is due and gives its cycle up; gives the record's index."""
        index = self.commit()
        cycle = self.state.windows[-1].record.cycle
        return self.log(GivenUpCycle(self.run, cycle, index, reason, "It cannot be trained."), self.coordinator)

    def training(self, grow: str | None = None, rounding: RoundingReport = WELL_ROUNDED) -> TrainRecord:
        """The record that `train` logs, of the window that is due and is committed now, or of the untrained one."""
        if self.state.untrained_window is None:
            self.commit()
        window = self.state.windows[-1]
        cycle, policy = window.record.cycle, window.manifest.training
        seed = self.state.cycles.seed(window)
        assert seed is not None
        before = self.state.trainings[-1].record if self.state.trainings else None
        shape = Architecture.parse(grow or self.state.cycles.shape)
        network = Network.first(digest_of(f"{self.word} network {cycle}"), shape.blocks, shape.channels)
        self.networks[sha256(network).digest()] = network
        state = digest_of(f"{self.word} state {cycle}")
        steps = 100 * cycle
        return TrainRecord(
            run=self.run,
            cycle=cycle,
            window=window.index,
            base=self.state.release.id,
            parent_state=ZERO if before is None or grow else before.state,
            state=state,
            steps=steps,
            samples=64 * steps,
            seed=seed,
            network=sha256(network).digest(),
            network_blob=self.put(network),
            network_len=len(network),
            weights_blob=self.put(b"weights " + state),
            torch="2.13.0",
            threads=policy.threads,
            capability="test",
            states=(StatePoint(steps, state),),
            shape=shape.encode(),
            processes=policy.processes,
            device="cpu",
            rounding=rounding,
            losses=LossReport(6400, 2_100_000, 2_400_000, 650_000, 900_000, 400_000),
            held_out=LossReport(0, 0, 0, 0, 0, 0),
            batches=window.record.batches,
            skipped=0,
        )

    def candidate_player(self, candidate: int) -> Player:
        """The engine's player of a candidate."""
        training = self.state.candidate(candidate)
        return Player(Network.load(self.networks[training.record.network]), training.digest)

    def gate_result(self, index: int, player: SecretKey, edit: Edit | None = None) -> GateResultInfo:
        """Plays an assignment and logs its result, with its beacon."""
        slot = self.state.gates.open.by_assignment[index]  # type: ignore[union-attr]
        base = self.state.release_by_id(slot.assignment.base)
        assert base is not None
        players = self.candidate_player(slot.assignment.candidate), self.player(base)
        blocks = self.play_blocks(gate_jobs(self.state, slot.assignment, *players))
        raw = encode_batch(blocks if edit is None else edit(blocks))
        batch = parse_batch(raw)
        results = [block.header.result for block in batch.games]
        blob = compress(raw)
        record = GateResult(
            run=self.run,
            assignment=index,
            player=player.public,
            pairs=tuple(GatePair(*results[at : at + 2]) for at in range(0, len(results), 2)),
            batch_root=batch_root(batch),
            blob_digest=self.put(blob),
            blob_len=len(blob),
            raw_len=len(raw),
        )
        self.log(record, player)
        self.share_set()
        assert slot.result is not None
        return slot.result

    def judge_gate(self, info: GateResultInfo) -> Rejected | None:
        """Logs the verdict on a gate result, and its opening."""
        try:
            content = check_gate_result(self.state, info, self.blobs[info.result.blob_digest])
        except Rejected as rejected:
            self.say(info, Replayed((), (), None), rejected)
            return rejected
        base = self.state.release_by_id(info.assignment.base)
        assert base is not None
        players = self.candidate_player(info.assignment.candidate), self.player(base)
        jobs = gate_jobs(self.state, info.assignment, *players)
        with Pool(1, self.verifier_kernel) as pool:
            found = replay_games(pool, info.drawn, jobs, content.games)
        rejected = None
        if found.mismatch is not None:
            game = found.mismatch.game
            rejected = name_mismatch(jobs[game], content.games[game], found.mismatch)
        self.say(info, found, rejected)
        return rejected

    def gate(self, is_stated: bool = True) -> bool:
        """Plays the open gate to its end and logs its record and, if it passed, the release with its statement."""
        players = [*self.peers.values(), self.coordinator]
        while self.state.due_gate_record() is None:
            for player in players:
                assignment = self.state.next_gate_assignment(player.public)
                if assignment is not None:
                    index = self.log(assignment, self.coordinator)
                    self.judge_gate(self.gate_result(index, player))
        record = self.state.due_gate_record()
        assert record is not None
        self.log(record, self.coordinator)
        release = self.state.due_release("0.1.0")
        if release is not None:
            self.log(release, self.coordinator)
            if is_stated:
                self.state_release()
        return record.passed

    def documents(self) -> Documents:
        """The documents of the oldest release without a statement."""
        about = self.state.statements.missing[0]
        weights = sha256(self.blobs[about.release.weights_blob]).digest()
        return Documents(about, weights, self.coordinator.public)

    def state_release(self) -> int:
        """Logs the statement about the oldest release without one; gives its index."""
        return self.log(self.documents().sign(self.coordinator), self.coordinator)

    def cycle(self) -> bool:
        """Plays until a window is due, trains, gates."""
        while self.state.due_window() is None:
            for peer in self.peers.values():
                self.batch(peer)
        self.train()
        return self.gate()

    # ---- what is published

    def note(self) -> bytes:
        """The cosigned checkpoint of the log as it is."""
        head = Checkpoint(seeds.log_origin(self.run), self.state.size, self.state.tree.root())
        note = head.sign(self.coordinator)
        lines = [notes.cosign(head.body(), key, witness_name(key.public), 1_700_000_000) for key in self.verifiers]
        return note.with_signatures(lines).encode()

    def public(self) -> dict[str, bytes]:
        """The files of the public folder."""
        files = {
            CHECKPOINT: self.note(),
            ROOT: self.entries[0],
            MANIFEST: self.entries[1],
            **dict(tiles_for(0, self.state.size, self.state.tree, self.entries)),
            **{blob_path(digest): blob for digest, blob in self.blobs.items()},
        }
        for release in self.state.releases.all[1:]:
            files[release_path(release.number, release.name)] = self.entries[release.index]
        for statement in self.state.statements.all:
            files |= statement.files()
        return files


def replay_games(pool: Pool, games: Sequence[int], jobs: Sequence[Job], blocks: Sequence[GameBlock]) -> Replayed:
    """Replays the games with these numbers of a batch; `jobs` and `blocks` are the whole batch's."""
    for game in games:
        pool.replay(jobs[game], blocks[game].raw)
    dones = {}
    for _ in games:
        done = pool.wait(60.0)
        assert done is not None
        dones[done.id] = done
    return collect(games, [dones[jobs[game].id] for game in games])
