"""Contributors that put wrong games into batches: how much of it is released before a draw finds one, by plan.

A game is wrong whatever was done to it: random moves, another network, fewer visits, an edited count, value or result. What
each edit looks like to a verifier is for `benchmarks.adversaries.edited`; here is how often it is drawn in time.
"""

from collections.abc import Iterator
from dataclasses import replace
from statistics import mean

from benchmarks.adversaries import theory
from benchmarks.adversaries.laws import Law
from benchmarks.adversaries.lives import Field, Life, Plan, fields_of, lives_of
from benchmarks.adversaries.oracle import GAME_PLIES, policy_of
from benchmarks.adversaries.outcome import BOUNDED, CAUGHT, Effort, Row, Run, summary
from protocol.seeds import first_u64
from tests.verification.manifests import digest_of
from verification.identities import batch_of

KIND = "contributor"
Q = 0.05
SHORT = 10
"""A hold-back for those who wait: what they get out does not depend on it, how long it takes does."""

LAST = 4
BURST = 10
DEPTH = 60
FLIPS = 0.2


def every(wrong: int) -> Plan:
    """So many wrong games in each batch."""
    return lambda life: wrong


def spaced(spacing: int) -> Plan:
    """One wrong game in the last of so many batches."""
    return lambda life: int(life.tried % spacing == spacing - 1)


def with_tries(row: Row, runs: list[Run], caught: float) -> Row:
    """The row of a cheat in each batch, which agrees only if the batches until it is found do too."""
    until, law = mean(run.batches or 0 for run in runs), theory.tries(caught)
    policy = f"{row.policy}; found after {until:.1f} on average, theory {law.mean:.1f}"
    return replace(row, policy=policy, agrees=bool(row.agrees) and theory.agrees(until, law, len(runs)))


def on_probation(effort: Effort) -> Iterator[Row]:
    """The first wrong game comes somewhere in the first ten batches, which are replayed whole."""

    def plan(life: Life) -> int:
        return int(life.tried >= life.number % 10)

    policy = policy_of(probation_batches=10)
    runs = lives_of(fields_of("probation", policy, plan, effort.runs, trusted=False))
    yield summary("one wrong game, on probation", KIND, "K = 10", CAUGHT, runs, Law((1.0,)))


def in_every_batch(effort: Effort) -> Iterator[Row]:
    """One wrong game in each batch for ever: the design's bound."""
    for w in (50, 100):
        runs = lives_of(fields_of(f"every {w}", policy_of(hold_back_batches=w), every(1), effort.runs))
        law = theory.continuous_law(Q, w)
        row = summary("one wrong game in each batch", KIND, f"W = {w}", BOUNDED, runs, law)
        yield with_tries(row, runs, theory.caught_per_batch(Q))


def all_games(effort: Effort) -> Iterator[Row]:
    """All four games of each batch are wrong: more hurry, less poison."""
    policy = policy_of(hold_back_batches=SHORT)
    runs = lives_of(fields_of("all", policy, every(4), effort.share(2)))
    law = theory.continuous_law(Q, SHORT, 4)
    row = summary("all games of each batch wrong", KIND, f"W = {SHORT}, n = 4", BOUNDED, runs, law)
    yield with_tries(row, runs, theory.caught_per_batch(Q, 4))


def before_two(effort: Effort) -> Iterator[Row]:
    """The same as the design's bound with three verifiers, of whom a second judges one batch in ten."""
    runs = lives_of(fields_of("two", policy_of(hold_back_batches=50), every(1), effort.share(2), verifiers=3))
    law = theory.continuous_law(Q, 50, second=theory.SECOND)
    row = summary("one in each batch, second verifiers", KIND, "W = 50", BOUNDED, runs, law)
    yield with_tries(row, runs, theory.caught_per_batch(Q, 1, theory.SECOND))


class Hurried(Field):
    """Lives that have more than W batches under way at once, of which the newest are judged first."""

    def move(self, life: Life) -> None:
        """See `Field`."""
        for _ in range(DEPTH):
            super().move(life)

    def settle(self) -> None:
        """See `Field`."""
        self.world.share_set()
        checks = [each for each in self.world.state.batches.undecided() if each.verdict is None]
        for number, check in enumerate(reversed(checks)):
            if check.verdict is None and batch_of(check).is_open:
                self.world.speak(check)
            if number % DEPTH == 0:
                self.world.admit()
        self.world.admit()


def in_flight(effort: Effort) -> Iterator[Row]:
    """More than W batches at once, and verifiers who happen to take the newest first: nothing is released out of turn."""
    policy = policy_of(hold_back_batches=50)
    runs = lives_of(fields_of("flight", policy, every(1), effort.share(5), make=Hurried))
    law = theory.continuous_law(Q, 50)
    yield summary("60 batches in flight, one wrong each", KIND, "W = 50", BOUNDED, runs, law, is_bound=True)


def patient(effort: Effort) -> Iterator[Row]:
    """One wrong game in more than W batches, so that each is released before the next: only draws bound it."""
    policy = policy_of(hold_back_batches=SHORT)
    runs = lives_of(fields_of("patient", policy, spaced(SHORT + 1), effort.share(4)))
    law = theory.patient_law(Q, SHORT, SHORT + 1)
    yield summary("one wrong game in W + 1 batches", KIND, f"W = {SHORT}", BOUNDED, runs, law)


def bursts(effort: Effort) -> Iterator[Row]:
    """Ten batches in a row with a wrong game each, W honest ones, again."""

    def plan(life: Life) -> int:
        return int(life.tried % (BURST + SHORT) < BURST)

    policy = policy_of(hold_back_batches=SHORT)
    runs = lives_of(fields_of("bursts", policy, plan, effort.share(3)))
    yield summary("ten in a row, then W honest", KIND, f"W = {SHORT}", BOUNDED, runs, theory.bursts_law(Q, BURST))


class Leaving(Field):
    """Lives that fall silent, get their exit and, by their plan, come back."""

    def play(self) -> None:
        """See `Field`."""
        while not all(life.is_over or (life.is_silent and not self.goes_on(life)) for life in self.lives):
            for life in self.lives:
                life.is_silent = False
            super().play()
            self.leave()
            self.trusted = False
        self.check()

    def goes_on(self, life: Life) -> bool:
        """Whether it comes back."""
        return False


class Returning(Leaving):
    """Lives that come back after each exit."""

    def goes_on(self, life: Life) -> bool:
        """See `Leaving`."""
        return True


def last_batches(effort: Effort) -> Iterator[Row]:
    """The last four batches before silence are wrong: they wait for the exit's draw instead of for W later ones."""
    policy = policy_of(exit_entries=200)
    share = policy.exit_ppm / 1e6

    def plan(life: Life) -> int | None:
        return 1 if life.tried < LAST else None

    runs = lives_of(fields_of("last", policy, plan, effort.runs, make=Leaving))
    mean_out = theory.poison_exit(Q, share, LAST, policy.hold_back_batches)
    law = Law((1 - mean_out / LAST, *(0.0,) * (LAST - 1), mean_out / LAST))
    yield summary("four wrong ones last, then silence", KIND, "W = 100, x = 20 %", BOUNDED, runs, law)


def serial_leaver(effort: Effort) -> Iterator[Row]:
    """One wrong batch, silence until the exit lets it go, back again."""
    policy = policy_of(exit_entries=200)
    passing = (1 - Q) * (1 - policy.exit_ppm / 1e6)

    class Plan:
        def __init__(self) -> None:
            self.rests: set[int] = set()

        def __call__(self, life: Life) -> int | None:
            if life.number in self.rests:
                self.rests.discard(life.number)
                return None
            self.rests.add(life.number)
            return 1

    runs = lives_of(fields_of("returns", policy, Plan(), effort.share(4), make=Returning))
    law = theory.released_law(passing, 0)
    yield summary("one wrong, silence, exit, and back", KIND, "W = 100, x = 20 %", BOUNDED, runs, law)


def miser(effort: Effort) -> Iterator[Row]:
    """Patient with lone wrong plies, and forgiven whenever enough of its plies were replayed since the last time."""
    w = 4
    policy = policy_of(hold_back_batches=w, pardon_plies=4 * 4 * GAME_PLIES)
    fields = list(fields_of("miser", policy, spaced(w + 1), effort.share(10)))
    runs = lives_of(fields)
    forgiven = mean(field.world.pardons[life.key.public] for field in fields for life in field.lives)
    law = theory.poison_pardon(Q, 1) / 2 * (1 + forgiven)
    name = f"W = {w}, a pardon for {policy.pardon_plies} replayed plies: {forgiven:.2f} a life"
    yield summary("a lone wrong ply each W + 1 batches, pardons", KIND, name, BOUNDED, runs, law)


def bit_flips(effort: Effort) -> Iterator[Row]:
    """An honest machine that flips a bit now and then: forgiven once in so many replayed plies, banned if it goes on."""
    policy = policy_of(hold_back_batches=SHORT, pardon_plies=4 * 4 * GAME_PLIES)

    def plan(life: Life) -> int:
        return int(first_u64(digest_of(f"flip {life.number} {life.tried}")) < FLIPS * 2**64)

    fields = list(fields_of("flips", policy, plan, effort.share(20)))
    runs = lives_of(fields)
    forgiven = mean(field.world.pardons[life.key.public] for field in fields for life in field.lives)
    bound = theory.poison_bound(Q) * (1 + forgiven)
    name = f"a flip in 5 batches; {forgiven:.2f} pardons a life"
    yield summary("bit-flip hardware", KIND, name, BOUNDED, runs, bound, is_bound=True)


class Alarmed(Field):
    """Lives beside three keys of the same build that fail on purpose, so that bans are paused."""

    def earn_trust(self) -> None:
        """See `Field`."""
        super().earn_trust()
        for number in range(3):
            self.world.submit(self.world.register(f"sacrifice-{number}"), (0,))
        self.world.settle()


def false_alarm(effort: Effort) -> Iterator[Row]:
    """Three keys are given up for a pause of all bans: one lone ply is then forgiven, the next suspends for good."""
    policy = policy_of(hold_back_batches=4, alarm_identities=3)
    runs = lives_of(fields_of("alarm", policy, spaced(5), effort.share(10), make=Alarmed))
    law = theory.poison_pardon(Q, 1)
    yield summary("patient, under an alarm of one's own", KIND, "W = 4", BOUNDED, runs, law)


ADVERSARIES = (
    *(on_probation, in_every_batch, all_games, before_two, in_flight, patient, bursts),
    *(last_batches, serial_leaver, miser, bit_flips, false_alarm),
)
