"""The random driver of histories: everybody acts at once, honestly or not, and what the state allows is logged.

No game is played: headers have made-up roots, and proofs the form alone, which is all that the state looks at.
"""

from collections.abc import Callable
from dataclasses import replace

from protocol.admission import Admission
from protocol.proof import CONTRIBUTOR, RULES, Ban
from protocol.proof import VERIFIER as ACCUSED_VERIFIER
from protocol.root import VERIFIER, Role
from protocol.types import UNSET
from tests.verification.coordinator_acts import CoordinatorActs


class History(CoordinatorActs):
    """One run in which anybody may do anything."""

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
        count = sum(role.role == VERIFIER and role.invalid_from == UNSET for role in roles)
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
