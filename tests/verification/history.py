"""The random driver of histories: everybody acts at once, honestly or not, and what the state allows is logged.

No game is played: headers have made-up roots, and proofs the form alone, which is all that the state looks at.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import TypeVar

import pytest

from native.netfile import Architecture, file_bytes
from protocol.admission import ACCEPTED, LOST, REJECTED, Admission, Decision
from protocol.ed25519 import SecretKey
from protocol.epoch import EpochReveal, ShareSet
from protocol.gate import GatePair, GateResult
from protocol.header import BatchHeader
from protocol.manifest import Manifest
from protocol.orders import Exit, Scrutiny, VoidEpoch
from protocol.proof import CONTRIBUTOR, PLY, RULES, SETUP, Ban, FraudProof, LoggedEntry, Pardon
from protocol.proof import VERIFIER as ACCUSED_VERIFIER
from protocol.record import Record
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.ringer import RingerHash, RingerReveal
from protocol.root import VERIFIER, Role
from protocol.seeds import PPM, ringer_commitment
from protocol.slots import SlotList
from protocol.types import ZERO
from protocol.verdict import ACCEPT, BLOB, REJECT, TraceOpening, Verdict
from protocol.window import GivenUpCycle, LossReport, RoundingReport, StatePoint, TrainRecord
from tests.verification import replaced
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.test_state import snapshot
from tests.verification.world import World
from verification.cycles import WindowInfo
from verification.faults import LogFault
from verification.gate_state import GateResultInfo
from verification.identities import batch_of
from verification.setup import config_digest
from verification.subjects import BatchSubject, Subject

T = TypeVar("T")


def policy_of(rng: Random) -> Manifest:
    """A manifest whose numbers let everything happen within a few hundred entries."""
    manifest = small_manifest()
    policy = replace(
        manifest.admission,
        registration=rng.choice(("invite", "stamp")),
        probation_batches=rng.choice((1, 2)),
        hold_back_batches=rng.choice((0, 1, 3)),
        q_min_ppm=rng.choice((300_000, PPM)),
        exit_entries=rng.choice((25, 60)),
        epoch_entries=30,
        timeout_entries=rng.choice((8, 15)),
        final_entries=10,
        probation_slots=2,
        exit_ppm=rng.choice((300_000, PPM)),
        tail_ppm=rng.choice((0, PPM // 2, PPM)),
        repeat_ppm=rng.choice((0, PPM // 2)),
        pardon_plies=rng.choice((20, 10**6)),
        alarm_identities=rng.choice((0, 2)),
        ringer_batches=20,
    )
    window = replace(manifest.window, first_rows=40, new_rows=20, floor_rows=80)
    gate = replace(manifest.gate, kind=rng.choice(("win-rate", "always")))
    return replace(manifest, admission=policy, window=window, gate=gate)


class History:
    """One run in which anybody may do anything."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.temper = (0.03, 0.1, 0.3)[seed % 3]  # how often somebody is dishonest
        self.world = World(policy_of(self.rng), verifiers=(3, 2, 3, 1)[seed % 4], word=f"any {seed}")
        self.state = self.world.state
        self.coordinator = self.world.coordinator
        self.keys: dict[bytes, SecretKey] = {}
        self.names: list[str] = []
        self.numbers = 0
        self.secrets: dict[bytes, tuple[int, int, bytes]] = {}  # ringer's header digest -> game, ply, salt
        self.refusals: set[str] = set()
        self.done: set[str] = set()

    # ---- entries

    def attempt(self, record: Record, *signers: SecretKey) -> int | None:
        """Logs a record if the state takes it; a refusal changes nothing."""
        data = record.seal(*signers).encode()
        before = snapshot(self.state) if self.rng.random() < 0.1 else None
        size, root = self.state.size, self.state.tree.root()
        try:
            self.state.check(data)
        except LogFault as fault:
            self.refusals.add(fault.reason)
            with pytest.raises(LogFault):
                self.state.apply(data)
            assert (self.state.size, self.state.tree.root()) == (size, root)
            assert before is None or snapshot(self.state) == before
            return None
        assert before is None or snapshot(self.state) == before
        self.done.add(record.NAME)
        return self.world.log_bytes(data)

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def word(self) -> bytes:
        return digest_of(f"{self.world.word} {self.number()}")

    def roughly(self, value: int, chance: float = 0.05) -> int:
        """The value, or rarely one beside it."""
        return max(0, value + self.rng.choice((-1, 1))) if self.rng.random() < chance else value

    def some(self, items: Sequence[T]) -> T | None:
        return self.rng.choice(items) if items else None

    def logged(self, index: int) -> LoggedEntry:
        return LoggedEntry(self.world.entry(index), index, ())

    def proof(self, check: BatchSubject, accused: str, kind: str = PLY) -> bytes:
        """A proof that has the form of one; what it shows is nobody's business here."""
        against = accused == ACCUSED_VERIFIER
        batch = batch_of(check)
        return FraudProof(
            run=self.world.run,
            kind=kind,
            accused=accused,
            root=self.world.entry(0),
            manifest=self.world.entry(1),
            later=(),
            release=b"",
            checkpoint=b"",
            header=self.logged(batch.index),
            registration=self.logged(batch.header.registration),
            shares=self.logged(0),
            verdict=(self.logged(check.verdict_index),) if against else (),
            game=b"",
            game_index=0,
            game_path=(),
            ply=b"",
            ply_index=0,
            ply_path=(),
        ).encode()

    # ---- contributors

    def register(self) -> None:
        name = f"peer{self.number()}"
        key = self.keys[self.world.key(name).public] = self.world.key(name)
        recovery = sha256(self.world.key(f"recovery {name}").public).digest()
        hash_ = self.rng.choice((b"", recovery))
        size = self.state.size
        invite = self.world.invite(name)
        record = Registration(self.world.run, key.public, name, hash_, size, self.state.tree.root(), invite, 0)
        if self.attempt(record, key) is not None:
            self.names.append(name)

    def wait_for_slots(self) -> None:
        """A slot list of a few registrations with a stamp; then these, winners or not."""
        size, records = self.state.size, []
        for _ in range(self.rng.choice((1, 2, 3))):
            name = f"slot{self.number()}"
            key = self.keys[self.world.key(name).public] = self.world.key(name)
            record = Registration(self.world.run, key.public, name, b"", size, self.state.tree.root(), b"", 1)
            records.append((record, key))
        digests = tuple(record.seal(key).digest for record, key in records)
        if self.attempt(SlotList(self.world.run, digests), self.coordinator) is not None:
            self.share_set()
            for record, key in records:
                self.attempt(record, key)

    def header(self, key: SecretKey, games: int, final: bool) -> BatchHeader | None:
        info = self.state.registration(key.public)
        if info is None:
            return None
        releases = self.state.releases.all[-2:]
        release = releases[-1] if self.rng.random() < 0.85 else releases[0]
        manifest = self.state.release_manifest(release)
        plies = games * self.rng.randint(3, 9)
        return BatchHeader(
            run=self.world.run,
            manifest=release.manifest,
            config=config_digest(manifest.selfplay),
            semantics=manifest.selfplay.semantics,
            release=release.id,
            peer=key.public,
            registration=info.index,
            first_counter=self.roughly(self.state.next_counter(key.public, release.id)),
            games=games,
            plies=plies,
            visits=10 * plies,
            batch_root=self.word(),
            blob_digest=self.word(),
            blob_len=100,
            raw_len=100,
            final=final,
            fill_for=b"",
            build=self.rng.choice(("0.1.0", "0.1.1")),
            kernel=self.rng.choice(("avx2", "scalar")),
            cpu=self.rng.choice(("a", "b")),
        )

    def play(self) -> None:
        key = self.some(list(self.keys.values()))
        final = self.rng.random() < 0.1
        n = self.state.manifest.admission.games_per_batch
        header = None if key is None else self.header(key, self.rng.choice((0, 1, n)) if final else n, final)
        if key is None or header is None:
            return
        if header.games and self.rng.random() < 0.1:
            game, ply, salt = self.rng.randrange(header.games), self.rng.randrange(5), self.word()
            self.secrets[header.digest()] = game, ply, salt
            commitment = ringer_commitment(self.world.run, header.digest(), game, ply, salt)
            self.attempt(RingerHash(self.world.run, commitment), self.coordinator)
        self.attempt(header, key)

    def fill_in(self) -> None:
        fill = self.some(list(self.state.fills.open))
        if fill is None:
            return
        players = [key for key in self.keys.values() if fill.may_be_played_by(key.public)]
        key = self.some(players if players and self.rng.random() < 0.9 else list(self.keys.values()))
        header = None if key is None else self.header(key, self.roughly(fill.games), fill.is_final)
        release = self.state.release_by_id(fill.release)
        if key is None or header is None or release is None:
            return
        manifest = self.state.release_manifest(release)
        first, config = self.roughly(fill.first_counter), config_digest(manifest.selfplay)
        header = replace(header, release=release.id, manifest=release.manifest, config=config)
        self.attempt(replace(header, first_counter=first, fill_for=fill.owner), key)

    def ask(self) -> None:
        record = self.state.fills.next_assignment(self.state.size)
        if record is not None:
            if self.rng.random() < 0.1:
                record = replace(record, player=self.rng.choice(list(self.keys)))
            self.attempt(record, self.coordinator)

    def replace_key(self) -> None:
        name = self.some(self.names)
        if name is None:
            return
        size = self.state.size
        since = self.rng.choice((size, size, size - 10, self.rng.randrange(size), size + 1))
        new = self.world.key(f"new {name}")
        record: KeyReplacement = replaced.replacement(self.world, name, max(0, since))
        if self.attempt(record, self.world.key(f"recovery {name}"), new) is not None:
            self.keys[new.public] = new

    # ---- verifiers

    def share_set(self) -> None:
        size = self.state.size
        able = [
            key
            for key in self.world.verifiers
            if self.state.epochs.at(key.public, size) is not None and self.state.role_of(key.public) is not None
        ]
        if self.rng.random() < 0.1:
            able = able[:-1]
        if able:
            shares = tuple(self.world.share(key, size).encode() for key in sorted(able, key=lambda key: key.public))
            self.attempt(self.set_of(size, shares), self.coordinator)

    def set_of(self, size: int, shares: tuple[bytes, ...]) -> Record:
        return ShareSet(self.world.run, size, self.state.tree.root(), self.state.beacons.covered, shares)

    def checks(self) -> list[Subject]:
        found: list[Subject] = list(self.state.batches.undecided())
        return [*found, *self.state.gates.results]

    def judge(self, check: Subject | None = None, is_honest: bool = False) -> None:
        """A verdict on a check, by who has to give it or by anybody; right or wrong."""
        rng = self.rng
        check = check or self.some([each for each in self.checks() if each.verdict is None and each.beacon is not None])
        if check is None and self.state.batches.all:
            check = rng.choice(self.state.batches.all[-5:])
            check = rng.choice(check.looks)
        if check is None or check.beacon is None:
            return
        able = [
            key for key in self.world.verifiers if self.state.subjects.may_judge(check, key.public, self.state.size)
        ]
        key = self.some(able if able and rng.random() < 0.9 else self.world.verifiers)
        if key is None or (is_honest and not able):
            return
        epoch = check.candidates.get(key.public, 0)
        if isinstance(check, BatchSubject):
            drawn = check.draw(self.world.secret(key, epoch))
        else:
            assert isinstance(check, GateResultInfo)
            drawn = check.drawn
        evidence = "" if is_honest else "" if rng.random() > self.temper else rng.choice((BLOB, PLY, PLY, RULES, SETUP))
        if not is_honest and rng.random() < self.temper / 3:
            drawn = tuple(sorted(rng.sample(range(check.games), rng.randint(0, check.games))))
        if evidence:
            drawn = drawn[: rng.randint(0, len(drawn))]
        verdict = Verdict(
            run=self.world.run,
            subject=check.digest,
            index=check.index,
            epoch=epoch,
            verifier=key.public,
            semantics=check.semantics,
            drawn=drawn,
            outcome=REJECT if evidence else ACCEPT,
            evidence=evidence,
            game=0
            if evidence in ("", BLOB)
            else rng.randrange(check.games)
            if check.games and rng.random() < 0.9
            else check.games,
            ply=rng.randrange(5) if evidence == PLY else 0,
            reason=f"{evidence}: it is" if evidence else "",
            work=digest_of("work"),
        )
        logged = self.attempt(verdict, key)
        if logged is not None and (is_honest or rng.random() > self.temper):
            self.open(check)

    def open(self, check: Subject | None = None) -> None:
        check = check or self.some(
            [each for each in self.checks() if each.verdict is not None and each.opening is None]
        )
        if check is None or check.verdict is None or not check.verdict.drawn:
            return
        verdict = check.verdict
        plies = check.header.plies if isinstance(check, BatchSubject) else 10
        record = TraceOpening(self.world.run, verdict.verifier, check.digest, check.index, self.word(), plies)
        self.attempt(record, self.world.verifier_key(verdict.verifier))

    def begin_epoch(self) -> None:
        key = self.rng.choice(self.world.verifiers)
        if self.state.role_of(key.public) is not None:
            self.world.begin_epoch(key)

    def reveal(self) -> None:
        key = self.rng.choice(self.world.verifiers)
        hidden = [each for each in self.state.epochs.all(key.public) if each.secret is None]
        if len(hidden) > 1 or (hidden and self.rng.random() < self.temper / 3):
            epoch = hidden[0].epoch
            secret = self.world.secret(key, epoch) if self.rng.random() < 0.95 else self.word()
            self.attempt(EpochReveal(self.world.run, key.public, epoch, secret), key)

    # ---- the coordinator

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
        """The next thing that is due between a window and a release."""
        state, world = self.state, self.world
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

    # ---- the root's keys

    def new_root(self, is_honest: bool = False) -> None:
        """Another version: a verdict's worth of a verifier called invalid, or a new verifier."""
        root = self.state.root
        roles = list(root.roles)
        verifiers = [role for role in roles if role.role == VERIFIER]
        if is_honest or not self.state.subjects.candidates(self.state.size) or self.rng.random() < 0.5:
            name = f"verifier {len(self.world.verifiers)}"
            key = self.world.key(name)
            self.world.verifiers.append(key)
            self.world.epoch[key.public] = -1
            roles.append(Role(VERIFIER, key.public, name.replace(" ", "-")))
        else:
            since = self.rng.randrange(self.state.size)
            bad = self.rng.sample(verifiers, self.rng.randint(1, min(2, len(verifiers))))
            roles = [replace(role, invalid_from=since) if role in bad else role for role in roles]
        count = sum(role.role == VERIFIER for role in roles)
        record = replace(
            root, run=self.world.run, version=root.version + 1, roles=tuple(roles), witness_threshold=count // 2 + 1
        )
        if self.attempt(record, self.world.root_key) is not None:
            self.world.root = record
            if len(roles) > len(root.roles):
                self.world.begin_epoch(self.world.verifiers[-1])

    def new_manifest(self) -> None:
        manifest = self.state.manifest
        admission = replace(
            manifest.admission,
            timeout_entries=self.rng.choice((8, 15)),
            probation_batches=self.rng.choice((1, 2)),
            hold_back_batches=self.rng.choice((0, 1, 3)),
            games_per_batch=self.rng.choice((2, 3)),
        )
        record = replace(manifest, run=self.world.run, version=manifest.version + 1, admission=admission)
        if self.attempt(record, self.world.root_key) is not None:
            self.world.manifest = record

    # ---- all of it

    def step(self) -> None:
        """Somebody does something."""
        acts: dict[Callable[[], None], float] = {
            self.register: 1.5 if len(self.keys) < 6 else 0.1,
            self.wait_for_slots: 0.3 if len(self.keys) < 12 else 0.02,
            self.play: 7,
            self.fill_in: 1.5,
            self.ask: 1,
            self.replace_key: 0.15,
            self.share_set: 6,
            self.judge: 10,
            self.open: 1,
            self.begin_epoch: 0.4,
            self.reveal: 0.6,
            self.decide: 7,
            self.ban: 0.5,
            self.pardon: 0.4,
            self.exit: 0.7,
            self.void: 0.2,
            self.scrutinize: 0.2,
            self.reveal_ringer: 0.2,
            self.cycle: 2,
            self.new_root: 0.02 if self.state.subjects.candidates(self.state.size) else 3,
            self.new_manifest: 0.08,
            self.tick: 1,
        }
        (act,) = self.rng.choices(list(acts), list(acts.values()))
        act()

    def tick(self) -> None:
        self.world.ticks(self.rng.choice((1, 1, 2, 10)))

    def settle(self) -> None:
        """From here on everybody who is left is honest, until nothing is left to decide."""
        state = self.state
        self.rng.random = lambda: 0.5  # type: ignore[method-assign]
        self.new_root(is_honest=True)
        self.new_root(is_honest=True)
        for _ in range(12):
            for key in self.world.verifiers:
                usable = state.role_of(key.public) is not None and key.public not in state.subjects.distrusted
                if usable and state.epochs.at(key.public, state.size) is None:
                    self.world.begin_epoch(key)
            self.share_set()
            for check in state.batches.accusing():
                for accused in (CONTRIBUTOR, ACCUSED_VERIFIER):
                    accused_key = check.header.peer
                    if check.verdict is not None and accused == ACCUSED_VERIFIER:
                        accused_key = check.verdict.verifier
                    record = Ban(self.world.run, accused_key, self.proof(check, accused, RULES))
                    if check.verdict is not None and self.attempt(record, self.coordinator) is not None:
                        break
            self.share_set()
            for subject in self.checks():
                if subject.verdict is None:
                    self.judge(subject, is_honest=True)
                else:
                    self.open(subject)
            due = tuple(each.decision for each in state.due_decisions())
            if due:
                self.attempt(Admission(self.world.run, due), self.coordinator)
            self.world.ticks(state.manifest.admission.timeout_entries + 1)
