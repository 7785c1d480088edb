"""A whole run in memory: keys, log, real games on 7x7 by the engine, verdicts, windows, gates, releases, public files.

For tests of any package. A `World` is honest unless told otherwise: `play(..., edit=...)` changes games before they are
signed. Everything follows from the seed word, so two worlds with the same calls have the same bytes; the default word is
one whose first two games are long.
"""

from hashlib import sha256

from native.netfile import Architecture
from native.network import Network
from native.pool import Pool
from native.search import Player
from protocol import checkpoint as notes
from protocol import seeds
from protocol.admission import Admission
from protocol.batch import Batch, batch_root, encode_batch, parse_batch, unpack_batch
from protocol.checkpoint import Checkpoint
from protocol.compress import compress
from protocol.ed25519 import SecretKey
from protocol.gate import GatePair, GateResult
from protocol.layout import CHECKPOINT, MANIFEST, ROOT, blob_path, release_path
from protocol.proof import PLY, Ban
from protocol.statement.documents import Documents
from protocol.types import ZERO
from protocol.window import GivenUpCycle, LossReport, RoundingReport, StatePoint, TrainRecord
from tests.protocol.tile_files import tiles_for
from tests.verification.judged_run import JudgedRun, replay_games
from tests.verification.manifests import digest_of
from tests.verification.played_run import Edit
from verification.admission import check_gate_result
from verification.faults import Rejected
from verification.gate_state import GateResultInfo
from verification.identities import BatchInfo, batch_of
from verification.proof_builder import Evidence, build_proof
from verification.replay import Replayed, name_mismatch
from verification.setup import gate_jobs
from verification.subjects import BatchSubject
from verification.witness import witness_name

WELL_ROUNDED = RoundingReport(1024, 12_000, 9_000, 930_000)


class World(JudgedRun):
    """One run. Attributes are plain: look at them, and append whatever a test needs."""

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
