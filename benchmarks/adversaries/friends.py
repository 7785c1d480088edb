"""Verifiers that let a friend's wrong games pass: how many get out, and what convicts them."""

from collections.abc import Iterator

from benchmarks.adversaries import theory
from benchmarks.adversaries.laws import Law
from benchmarks.adversaries.lives import Field, Life, fields_of, lives_of
from benchmarks.adversaries.oracle import Oracle, blind, policy_of
from benchmarks.adversaries.outcome import BOUNDED, CAUGHT, Effort, Row, Run, summary
from protocol.orders import VoidEpoch
from protocol.proof import Ban
from verification.identities import REPEAT, VOID, BatchInfo

KIND = "colluding verifier"
Q = 0.05
VERIFIERS, FRIENDS = 3, 1
BIG = 32


class Befriended(Field):
    """Lives whose first verifier is a friend."""

    def earn_trust(self) -> None:
        """See `Field`."""
        super().earn_trust()
        self.befriend()

    def befriend(self) -> None:
        """From here on the friend accepts everything."""
        self.world.conduct[self.world.verifiers[0].public] = blind


class BefriendedNewcomers(Befriended):
    """Newcomers whose first verifier is a friend."""

    def play(self) -> None:
        """See `Field`."""
        self.befriend()
        super().play()


def colluding_on_probation(effort: Effort) -> Iterator[Row]:
    """A newcomer's first batch is all wrong; one of three verifiers lets it pass."""
    policy = policy_of(hold_back_batches=0)
    fields = fields_of(
        *("friend first", policy, lambda life: None if life.tried else 4, effort.runs, VERIFIERS, False),
        make=BefriendedNewcomers,
    )
    passing = theory.passes_with_friends(1.0, 4, VERIFIERS, FRIENDS)
    law = Law((1 - passing, 0.0, 0.0, 0.0, passing))
    policy_text = "K = 1, W = 0, 1 of 3 verifiers"
    yield summary("colluding verifier, newcomer's batch", KIND, policy_text, BOUNDED, lives_of(fields), law)


def colluding_patiently(effort: Effort) -> Iterator[Row]:
    """One wrong game in more than W batches, and a friend among three verifiers."""
    policy = policy_of(hold_back_batches=2)

    def plan(life: Life) -> int:
        return int(life.tried % 3 == 2)

    fields = fields_of("friend later", policy, plan, effort.share(4), VERIFIERS, make=Befriended)
    law = theory.released_law(theory.passes_with_friends(Q, 1, VERIFIERS, FRIENDS), 0)
    name = "colluding verifier, patient contributor"
    yield summary(name, KIND, "W = 2, 1 of 3 verifiers", BOUNDED, lives_of(fields), law)


def accepted_by_friend(world: Oracle, lives: int) -> list[BatchInfo]:
    """All-wrong batches of newcomers that a friend let pass, and that are released."""
    friend = world.verifiers[0]
    world.conduct[friend.public] = blind
    batches = []
    for number in range(lives):
        peer = world.register(f"cheat-{number}")
        batches.append(world.submit(peer, range(BIG)))
    world.settle()
    return [batch for batch in batches if batch.released_at is not None]


def repeats_of_friend(effort: Effort) -> Iterator[Row]:
    """After a colluding verifier's reveal 1 % of the games that it accepted are repeated by another: this convicts both."""
    policy = policy_of(hold_back_batches=0, games_per_batch=BIG, repeat_ppm=10_000)
    found: list[Run] = []
    anew: list[Run] = []
    for log in range(max(1, effort.runs // 100)):
        world = Oracle(policy, VERIFIERS, f"repeats {log}")
        passed = accepted_by_friend(world, min(100, effort.runs))
        friend = world.verifiers[0]
        world.rotate(friend)
        world.share_set()
        world.judge_all()
        convicting = [batch for batch in passed if world.state.batches.is_suspended(batch.header.peer)]
        world.admit()
        for batch in passed:
            cost = sum(len(each.verdict.drawn) for each in batch.rechecks if each.verdict and each.purpose == REPEAT)
            is_found = batch in convicting
            found.append(Run(1 if is_found else None, 0 if is_found else BIG, cost, "repeat" if is_found else ""))
        if convicting:
            proof = world.accusation(convicting[0], against_verifier=True)
            world.log(Ban(world.run, friend.public, proof), world.coordinator)
            world.settle()
        released = set(world.state.batches.released)
        for batch in passed:
            cost = sum(len(each.verdict.drawn) for each in batch.rechecks if each.verdict and each.purpose == VOID)
            anew.append(Run(None if batch in released else 1, BIG * (batch in released), cost, "ban of the verifier"))
    chance = theory.friend_convicted(0.01, BIG)
    law = Law((chance, *(0.0,) * (BIG - 1), 1 - chance))
    yield summary("what a colluding verifier let pass, repeats", KIND, "32 wrong games, 1 %", BOUNDED, found, law)
    yield summary("the same, once it is banned", KIND, "judged anew, q = 1", CAUGHT, anew, 0.0)


def secret_withheld(effort: Effort) -> Iterator[Row]:
    """A colluding verifier never reveals: its epoch is void, what it judged is judged anew, and it judges no more."""
    runs: list[Run] = []
    for log in range(max(1, effort.runs // 100)):
        policy = policy_of(hold_back_batches=0, games_per_batch=BIG, timeout_entries=300)
        world = Oracle(policy, VERIFIERS, f"withheld {log}")
        passed = accepted_by_friend(world, min(50, effort.runs))
        friend = world.verifiers[0]
        index = world.begin_epoch(friend)
        world.ticks(index + policy.timeout_entries + 1 - world.state.size)
        world.log(VoidEpoch(world.run, friend.public, 0), world.coordinator)
        world.settle()
        assert friend.public not in world.state.subjects.candidates(world.state.size)
        released = set(world.state.batches.released)
        for batch in passed:
            cost = sum(len(each.verdict.drawn) for each in batch.rechecks if each.verdict)
            runs.append(Run(None if batch in released else 1, BIG * (batch in released), cost, "void epoch"))
    yield summary("secret withheld", KIND, "judged anew, q = 1", CAUGHT, runs, 0.0)


ADVERSARIES = (colluding_on_probation, colluding_patiently, repeats_of_friend, secret_withheld)
