"""Lives of cheats in one log: each earns its trust honestly until q is at its floor, then follows its plan to the end.

Identities of one log are independent: each header's digest enters its own draws. Lives are played a batch at a time by all
identities in turn, so that a beacon and an admission entry serve them all.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.adversaries.oracle import Oracle
from benchmarks.adversaries.outcome import Run
from protocol.ed25519 import SecretKey
from protocol.manifest import AdmissionPolicy
from protocol.orders import Exit
from verification.identities import BatchInfo

A_LOG = 100
"""Identities of one log."""

MOST_BATCHES = 100_000

Plan = Callable[["Life"], int | None]
"""How many games of its next batch a cheat makes wrong; None: it falls silent."""


@dataclass(slots=True, eq=False)
class Life:
    """One identity. `tried`: its batches since its plan began; `begun`: of these, those before its first wrong one."""

    key: SecretKey
    number: int
    bad: list[BatchInfo]
    tried: int = 0
    begun: int | None = None
    is_over: bool = False
    is_silent: bool = False
    found_after: int | None = None
    cost_before: int | None = None

    @property
    def until(self) -> int | None:
        """Batches from the first wrong one up to the ban."""
        return None if self.found_after is None or self.begun is None else self.found_after - self.begun


@dataclass(slots=True)
class Field:
    """The lives of one log. `trusted`: they earn their trust before their plans begin."""

    world: Oracle
    plan: Plan
    lives: list[Life]
    trusted: bool = True

    def play(self) -> None:
        """Plays all lives to their ends."""
        if self.trusted:
            self.earn_trust()
        for life in self.lives:
            if life.cost_before is None:
                life.cost_before = self.world.cost[life.key.public]
        for _ in range(MOST_BATCHES):
            moving = [life for life in self.lives if not life.is_over and not life.is_silent]
            if not moving:
                break
            for life in moving:
                self.move(life)
            self.settle()
            self.look()
        self.check()

    def settle(self) -> None:
        """What all that was submitted comes to."""
        self.world.settle()

    def earn_trust(self) -> None:
        """Honest batches of all until q is at its floor."""
        policy = self.world.policy
        while any(self.share(life) > policy.q_min_ppm for life in self.lives):
            for life in self.lives:
                self.world.submit(life.key)
            self.world.settle()

    def share(self, life: Life) -> int:
        """The share of replay of an identity's next header."""
        identity = self.world.state.batches.identity(life.key.public)
        return 10**6 if identity is None else identity.share_of_replay(self.world.policy, self.world.state.size)

    def move(self, life: Life) -> None:
        """One batch as the plan says."""
        wrong = self.plan(life)
        if wrong is None:
            life.is_silent = True
            return
        games = range(wrong)
        batch = self.world.submit(life.key, games)
        if wrong:
            life.bad.append(batch)
            if life.begun is None:
                life.begun = life.tried
        life.tried += 1

    def look(self) -> None:
        """Who is banned now, or suspended for good because bans are paused."""
        batches = self.world.state.batches
        for life in self.lives:
            peer = life.key.public
            if not life.is_over and (batches.is_out(peer) or batches.is_suspended(peer)):
                life.is_over, life.found_after = True, life.tried

    def leave(self) -> None:
        """Silence until the exits of all silent lives are due; their draws, and what these decide."""
        state = self.world.state
        while state.size <= max((state.batches.last_index(life.key.public) or 0) for life in self.lives) + (
            self.world.policy.exit_entries
        ):
            self.world.ticks(1)
        due = state.rechecks.silent(state.size)
        for start in range(0, len(due), 256):
            self.world.log(Exit(self.world.run, tuple(due[start : start + 256])), self.world.coordinator)
        self.world.settle()
        self.look()

    def check(self) -> None:
        """Raises AssertionError if a window could take a wrong game of somebody who is banned."""
        state = self.world.state
        poisoned = [batch for batch in state.batches.released if self.world.wrong.get(batch.index)]
        assert not [batch for batch in poisoned if state.is_banned(batch.header.peer)]

    def runs(self) -> Iterator[Run]:
        """What became of each."""
        for life in self.lives:
            poisoned = sum(len(self.world.wrong[batch.index]) for batch in life.bad if batch.released_at is not None)
            cost = self.world.cost[life.key.public] - (life.cost_before or 0)
            is_banned = self.world.state.is_banned(life.key.public)
            yield Run(life.until, poisoned, cost, "ban" if is_banned else "suspended" if life.is_over else "")


def fields_of(
    name: str,
    policy: AdmissionPolicy,
    plan: Plan,
    runs: int,
    verifiers: int = 1,
    trusted: bool = True,
    make: type[Field] = Field,
    join: Callable[[Oracle, str], SecretKey] = Oracle.register,
) -> Iterator[Field]:
    """So many lives, `A_LOG` a log; every log is new and follows from the name and its number."""
    for log, first in enumerate(range(0, runs, A_LOG)):
        world = Oracle(policy, verifiers, f"{name} {log}")
        count = min(A_LOG, runs - first)
        lives = [Life(join(world, f"cheat-{first + n}"), first + n, []) for n in range(count)]
        yield make(world, plan, lives, trusted)


def lives_of(fields: Iterable[Field]) -> list[Run]:
    """What became of all lives."""
    found: list[Run] = []
    for field in fields:
        field.play()
        found += field.runs()
    return found
