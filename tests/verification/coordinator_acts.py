"""What the coordinator does in a history at random: decisions, bans, pardons, exits, scrutiny, cycles. For tests."""

from dataclasses import replace

from native.netfile import Architecture, file_bytes
from protocol.admission import ACCEPTED, LOST, REJECTED, Admission, Decision
from protocol.gate import GatePair, GateResult
from protocol.orders import Exit, Scrutiny, VoidEpoch
from protocol.proof import CONTRIBUTOR, Ban, Pardon
from protocol.proof import VERIFIER as ACCUSED_VERIFIER
from protocol.ringer import RingerReveal
from protocol.seeds import PPM
from protocol.statement.documents import Documents
from protocol.statement.stated import Stated
from protocol.types import ZERO
from protocol.window import GivenUpCycle, LossReport, RoundingReport, StatePoint, TrainRecord
from tests.verification.manifests import digest_of
from tests.verification.verifier_acts import VerifierActs
from verification.cycles import WindowInfo
from verification.identities import batch_of


class CoordinatorActs(VerifierActs):
    """The coordinator, honest or not."""

    def decide(self) -> None:
        due = self.state.due_decisions()
        chosen = [each.decision for each in due if self.rng.random() < 0.7]
        if self.rng.random() < 0.1 and self.state.batches.all:
            check = self.rng.choice(self.rng.choice(self.state.batches.all).looks)
            outcome = self.rng.choice((ACCEPTED, REJECTED, LOST))
            key = check.verdict.verifier if check.verdict else ZERO
            chosen.append(Decision(batch_of(check).index, check.index, outcome, key, check.q_ppm, ""))
        if chosen:
            self.attempt(Admission(self.world.run, tuple(chosen)), self.coordinator)

    def ban(self) -> None:
        """A contributor who is accused, or the verifier who accuses; rarely anybody."""
        check = self.some(self.state.batches.accusing())
        if check is None and self.rng.random() < self.temper / 3:
            check = self.rng.choice(self.state.batches.all) if self.state.batches.all else None
        if check is None:
            return
        if self.rng.random() < 0.7 or check.verdict is None:
            self.attempt(Ban(self.world.run, check.header.peer, self.proof(check, CONTRIBUTOR)), self.coordinator)
        else:
            record = Ban(self.world.run, check.verdict.verifier, self.proof(check, ACCUSED_VERIFIER))
            self.attempt(record, self.coordinator)

    def pardon(self) -> None:
        check = self.some(self.state.batches.accusing())
        if check is not None:
            self.attempt(Pardon(self.world.run, check.header.peer, self.proof(check, CONTRIBUTOR)), self.coordinator)

    def exit(self) -> None:
        silent = self.state.rechecks.silent(self.state.size)
        peers = silent if silent and self.rng.random() < 0.9 else list(self.keys)[:1]
        if peers:
            self.attempt(Exit(self.world.run, tuple(peers)), self.coordinator)

    def void(self) -> None:
        overdue = self.state.rechecks.overdue(self.state.size)
        if overdue and self.rng.random() < self.temper:
            epoch = overdue[0]
            self.attempt(VoidEpoch(self.world.run, epoch.verifier, epoch.epoch), self.coordinator)

    def scrutinize(self) -> None:
        peer = self.some(list(self.keys))
        if peer is not None:
            until = self.state.size + self.rng.randint(0, 60)
            restart = self.rng.random() < 0.4
            record = Scrutiny(self.world.run, peer, self.rng.randint(1, PPM), until, restart, "Odd.")
            self.attempt(record, self.coordinator)

    def reveal_ringer(self) -> None:
        batches = [each for each in self.state.batches.all if each.digest in self.secrets]
        batch = self.some(batches)
        if batch is not None:
            game, ply, salt = self.secrets[batch.digest]
            self.attempt(RingerReveal(self.world.run, batch.index, game, ply, salt), self.coordinator)

    def cycle(self) -> None:
        """The next thing that is due between a window and a release's statement."""
        state, world = self.state, self.world
        if state.statements.missing:
            self.state_release(state.statements.missing[0])
        due = state.due_window()
        if due is not None:
            self.attempt(due.record, self.coordinator)
            return
        window = state.untrained_window
        if window is not None:
            seed = state.cycles.seed(window)
            if self.rng.random() < 0.2:
                given_up = GivenUpCycle(world.run, self.roughly(window.record.cycle), window.index, "loss-spike", "")
                self.attempt(given_up, self.coordinator)
            elif seed is not None:
                self.attempt(self.training(window, seed), self.coordinator)
            return
        record = state.due_gate_record()
        release = state.due_release("0.1.0")
        if record is not None or release is not None:
            self.attempt(record or release, self.coordinator)  # type: ignore[arg-type]
            return
        for key in (self.coordinator, *self.keys.values()):
            for index, assignment in state.gate_assignments(key.public):
                pairs = tuple(GatePair(1, 1) for _ in range(assignment.pairs))
                self.attempt(GateResult(world.run, index, key.public, pairs, self.word(), self.word(), 10, 10), key)
                return
            next_one = state.next_gate_assignment(key.public)
            if next_one is not None:
                self.attempt(next_one, self.coordinator)
                return

    def state_release(self, about: Stated) -> None:
        """A statement about a release; rarely one whose signatures are under other documents."""
        record = Documents(about, self.word(), self.coordinator.public).sign(self.coordinator)
        self.attempt(replace(record, release=self.roughly(record.release)), self.coordinator)
        if self.rng.random() < self.temper:
            self.attempt(replace(record, weights_sha256=self.word()), self.coordinator)

    def training(self, info: WindowInfo, seed: bytes) -> TrainRecord:
        cycle, policy = info.record.cycle, info.manifest.training
        before = self.state.trainings[-1].record if self.state.trainings else None
        network = digest_of(f"network {cycle}")
        shape, is_grown = self.state.cycles.shape, before is not None and self.rng.random() < 0.5
        if is_grown:
            shape = self.rng.choice(("b1c16", "b2c16", "b1c32"))  # the same again is refused
        end = digest_of(f"state {cycle}")
        return TrainRecord(
            run=self.world.run,
            cycle=cycle,
            window=info.index,
            base=self.state.release.id,
            parent_state=ZERO if before is None or is_grown else before.state,
            state=end,
            steps=100 * cycle,
            samples=6400 * cycle,
            seed=seed,
            network=network,
            network_blob=network,
            network_len=file_bytes(Architecture.parse(shape)),
            weights_blob=network,
            torch="2.13.0",
            threads=self.roughly(policy.threads),
            capability="test",
            states=(StatePoint(100 * cycle, end),),
            shape=shape,
            processes=self.roughly(policy.processes),
            device="cpu",
            rounding=RoundingReport(1024, 12_000, 9_000, self.rng.choice((930_000, 930_000, 400_000))),
            losses=LossReport(6400, 2_100_000, 2_400_000, 650_000, 900_000, 400_000),
            held_out=LossReport(0, 0, 0, 0, 0, 0),
            batches=self.roughly(info.record.batches),
            skipped=0,
        )
