"""What verifiers do in a history at random: shares, verdicts right or wrong, openings, epochs. For tests."""

from protocol.epoch import EpochReveal, ShareSet
from protocol.proof import PLY, RULES, SETUP
from protocol.record import Record
from protocol.verdict import ACCEPT, BLOB, REJECT, TraceOpening, Verdict
from tests.verification.contributor_acts import ContributorActs
from tests.verification.manifests import digest_of
from verification.gate_state import GateResultInfo
from verification.subjects import BatchSubject, Subject


class VerifierActs(ContributorActs):
    """Verifiers, honest or not."""

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
