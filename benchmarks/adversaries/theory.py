"""What each adversary can reach, as formulas: pure functions of the manifest's numbers, each derived where it stands.

`docs/adversaries.md` holds them in words and beside what the harness measures; `docs/spec/admission.md` has the rules.
Shared meaning of the letters: q is the share of games replayed, W the hold-back in batches, n the games of a batch, m
the wrong games that a cheat puts into a batch (a drawn game with one wrong ply is found for certain), r the chance
that such a batch passes. A *try* is a batch with something wrong in it. After the first try that is found nothing of
the identity is released any more.
"""

from dataclasses import dataclass
from math import comb, inf, log, log2, sqrt
from statistics import NormalDist
from typing import Final

from benchmarks.adversaries.laws import REST, Law, agrees, chance, count, tries
from protocol.manifest import AdmissionPolicy
from protocol.seeds import PPM

__all__ = ["Law", "agrees", "chance", "count", "tries"]

SECOND: Final = 0.1
"""Share of batches that a second verifier judges too."""

NORMAL: Final = NormalDist()


# ---- one batch


def passes(q: float, wrong_games: int = 1, second: float = 0.0) -> float:
    """Chance r that a batch with m wrong games is accepted: (1-q)^m (1 - s + s (1-q)^m).

    Games are drawn independently, so none of m is drawn with (1-q)^m; with chance s a second verifier draws again by
    its own secret.
    """
    missed = (1 - q) ** wrong_games
    return missed * (1 - second + second * missed)


def caught_per_batch(q: float, wrong_games: int = 1, second: float = 0.0) -> float:
    """Chance that a batch with m wrong games is found: 1 - (1-q)^m without a second verifier."""
    return 1 - passes(q, wrong_games, second)


def q_after(accepted: int, probation_batches: int, q_min: float) -> float:
    """Share of replay of a header with N accepted batches before it: 1 up to K, then max(q_min, K/N)."""
    return 1.0 if accepted <= probation_batches else max(q_min, probation_batches / accepted)


# ---- wrong games of one identity that are released to training


def released_law(passing: float, held: int, wrong_games: int = 1) -> Law:
    """How many wrong games get out when the last `held` tries before the one that is found stay behind.

    The number of tries G that pass before one is found has P(G >= g) = r^g. The k-th is released if the `held` tries
    after it pass as well, so max(0, G - held) are, m games each: P(k or more tries) = r^(k + held).
    """
    if not 0 <= passing < 1:
        raise ValueError("Some try has to be found.")
    at_least = passing ** (held + 1)
    chances = [1 - at_least]
    while at_least > REST:
        chances += [0.0] * (wrong_games - 1) + [at_least * (1 - passing)]
        at_least *= passing
    chances[0] += at_least
    return Law(tuple(chances))


def poison_bound(q: float) -> float:
    """What no strategy exceeds on average, whatever W is: (1-q)/q wrong games released by an identity.

    Each wrong game is drawn with at least q, independently of what was done before, and the first one drawn ends it
    all. So the released ones are among those before it, whose number is geometric: the sum over k of (1-q)^k.
    """
    return (1 - q) / q


def poison_continuous(q: float, w: int, m: int = 1, second: float = 0.0) -> float:
    """m wrong games in every batch for ever, at a constant q: m r^(W+1) / (1-r).

    The k-th batch is released if it and the W after it pass, that is if the first k + W do: with r^(k+W), summed over k.
    """
    r = passes(q, m, second)
    return m * r ** (w + 1) / (1 - r)


def continuous_law(q: float, w: int, m: int = 1, second: float = 0.0) -> Law:
    """The law whose mean is `poison_continuous`."""
    return released_law(passes(q, m, second), w, m)


def poison_decaying(k: int, q_min: float, w: int, accepted: int, m: int = 1) -> float:
    """The same with q_N = max(q_min, K/N), begun when `accepted` batches are accepted (right after probation: K).

    The sum over j of m times the product of (1 - q_N)^m over the first j + W tries, N rising by one with each.
    """
    total, passing, n = 0.0, 1.0, accepted
    while passing > REST:
        passing *= passes(q_after(n, k, q_min), m)
        n += 1
        if n - accepted > w:
            total += m * passing
    return total


@dataclass(frozen=True, slots=True)
class Poison:
    """What a strategy gets: wrong games released in an identity's life, their share of its games while it goes on, and
    after how many of its batches it is found, on average."""

    games: float
    share: float
    batches: float


def poison_patient(q: float, w: int, spacing: int, n: int, m: int = 1, second: float = 0.0) -> Poison:
    """m wrong games in the last of each `spacing` batches: m r^(1+f) / (1-r) with f = floor(W / spacing).

    The try is released if it and the f tries among the next W batches pass. At spacing > W there are none (f = 0), and
    m = 1 gives (1-q)/q, the bound of all strategies: hold-back does not stop who waits. What it does is to thin the
    poison out: m wrong games in spacing n.
    """
    r = passes(q, m, second)
    return Poison(m * r ** (1 + w // spacing) / (1 - r), m / (spacing * n), spacing / (1 - r))


def patient_law(q: float, w: int, spacing: int, m: int = 1, second: float = 0.0) -> Law:
    """The law whose mean is that of `poison_patient`."""
    return released_law(passes(q, m, second), w // spacing, m)


def poison_bursts(q: float, w: int, burst: int, n: int, second: float = 0.0) -> Poison:
    """One wrong game in each of b batches in a row, then W honest ones, again and again: b r^b / (1 - r^b).

    A burst is released as a whole once its pause is over, if all of it passed: the sum over k of b r^(bk). Within the
    last burst nothing is. b = 1 is the patient cheat, large b trades the total for a larger share, b / ((b + W) n).
    """
    r = passes(q, 1, second)
    whole = r**burst / (1 - r**burst)  # bursts that pass before the one that does not
    return Poison(burst * whole, burst / ((burst + w) * n), 1 / (1 - r) + w * whole)


def bursts_law(q: float, burst: int, second: float = 0.0) -> Law:
    """The law whose mean is that of `poison_bursts`."""
    return released_law(passes(q, 1, second) ** burst, 0, burst)


def poison_present(q: float, tries_made: int, repeat: float = 0.0) -> float:
    """Wrong games in the window after j patient tries, on average: j ((1-q)(1-p))^j, none once one is found.

    A ban purges everything of the identity from all later windows, and so does a released game that is repeated after
    its reveal (chance p) and differs. Over j it is largest near -1 / ln((1-q)(1-p)). It is also what stays for good of
    a cheat who stops after j tries.
    """
    return tries_made * ((1 - q) * (1 - repeat)) ** tries_made


def poison_repeated(q: float, repeat: float) -> float:
    """Wrong games ever released by a patient cheat when repeats look too: (1-q) / (1 - (1-q)(1-p)).

    The k-th is released if k draws missed and none of the k - 1 games before it was repeated.
    """
    return (1 - q) / (1 - (1 - q) * (1 - repeat))


def worst_present(q: float, repeat: float = 0.0) -> tuple[int, float]:
    """The number of tries at which `poison_present` is largest, near -1 / ln((1-q)(1-p)), and its value."""
    peak = round(-1 / log((1 - q) * (1 - repeat)))
    return max(((j, poison_present(q, j, repeat)) for j in (peak, peak + 1)), key=lambda found: found[1])


def poison_exit(q: float, exit_share: float, last: int, w: int) -> float:
    """The last k batches before an identity falls silent have a wrong game each; what is held is drawn once more at x.

    The first k - W of them are released on the way, the j-th if j + W pass. The others, h = min(k, W), are released
    together if all k passed and none of the h is drawn at the exit: h (1-q)^k (1-x)^h.
    """
    r = 1 - q
    on_the_way = sum(r ** (j + w) for j in range(1, last - w + 1))
    held = min(last, w)
    return on_the_way + held * r**last * (1 - exit_share) ** held


def worst_exit(q: float, exit_share: float, w: int) -> tuple[int, float]:
    """The k up to W at which `poison_exit` is largest, and its value."""
    return max(((k, poison_exit(q, exit_share, k, w)) for k in range(1, w + 1)), key=lambda found: found[1])


def poison_pardon(q: float, forgiven: int) -> float:
    """Wrong games released by a patient cheat who is forgiven `forgiven` times: (forgiven + 1) (1-q) / q.

    Between one finding and the next a geometric number of tries gets out, `poison_bound` on average. To be forgiven it
    has to be alone in all that is held, so only tries more than W batches apart are; a batch that was found is not
    released.
    """
    return (forgiven + 1) * poison_bound(q)


def pardons(plies: int, pardon_plies: int) -> int:
    """How often an identity with so many replayed plies can have been forgiven at most: once per `pardon_plies`."""
    return plies // pardon_plies


def patient_tries(plies: float, w: int, batch_plies: float) -> float:
    """How many tries more than W batches apart fit into so many plies: whoever is forgiven is no denser than this."""
    return plies / ((w + 1) * batch_plies)


def findings_a_pardon(q: float, w: int, batch_plies: float, pardon_plies: int) -> float:
    """How often the densest patient cheat is found for each pardon that it earns; below 1 draws would not end it.

    `pardon_plies` replayed plies are a share q of the accepted ones, and the share q of the tries in these is found.
    """
    return q * patient_tries(pardon_plies / q, w, batch_plies)


def poison_probation() -> float:
    """Wrong games released by identities on probation: none.

    Each game of the first K batches is replayed (q = 1), so r = 0 for any m > 0, and nothing is released before all
    passed.
    """
    return poison_continuous(1.0, 0)


# ---- choosing among honest games


def best_of(choices: int) -> float:
    """By how many standard deviations the best of so many honest alternatives exceeds the mean, in what is chosen for.

    The mean of the largest of n normal numbers, the integral of x n F(x)^(n-1) f(x), by the trapezoidal rule.
    """
    step = 1 / 256
    points = (i * step for i in range(-9 * 256, 9 * 256 + 1))
    return sum(x * choices * NORMAL.cdf(x) ** (choices - 1) * NORMAL.pdf(x) for x in points) * step


def seed_bits(identities: int) -> float:
    """How many bits of a seed can be chosen: log2 of the number of identities; 0 with one.

    A seed contains the beacon of its registration, made by others after that is logged, and counters have no gaps.
    What is left is to register often and to go on with the identity whose games please; each costs a slot, a stamp and
    a probation.
    """
    return log2(identities)


def selection_effect(submitted: float) -> float:
    """How far a tail selector's batches lie above the fills, in standard deviations of a batch: f(z)/p + f(z).

    It submits the best share p of first batches: their mean is f(z)/p with 1 - F(z) = p. A drawn tail continues either
    an empty series, with the batch that was refused, of mean -f(z)/(1-p), or one that was begun, with a batch that
    nobody chose, of mean 0: together (1-p) (-f(z)/(1-p)) = -f(z).
    """
    density = NORMAL.pdf(NORMAL.inv_cdf(1 - submitted))
    return density / submitted + density


def tail_z(series: float, submitted: float, tail: float, effect: float) -> float:
    """The mean of z after S ended series, with a = p S batches submitted and b = t S filled: effect / sqrt(1/a + 1/b)."""
    return effect / sqrt(1 / (submitted * series) + 1 / (tail * series))


def tail_series(submitted: float, tail: float, effect: float, z: float = 5.0) -> float:
    """Ended series until the mean of z is there, so that every second such cheat is found: (z/effect)^2 (1/p + 1/t)."""
    return (z / effect) ** 2 * (1 / submitted + 1 / tail)


def tail_found(series: float, submitted: float, tail: float, effect: float, z: float = 5.0) -> float:
    """Chance that z is exceeded after so many series: z scatters around its mean by 1."""
    return NORMAL.cdf(tail_z(series, submitted, tail, effect) - z)


# ---- verifiers


def lazy_batches(skipped: float, ringer_batches: int, drawn: float = 1.0) -> float:
    """Batches that a verifier judges until a ringer convicts it: ringer_batches / (s d).

    One batch of so many is a ringer; its wrong game is drawn with chance d (1 while its key is on probation, else q), and
    a batch of such a key is accepted unseen with chance s. Who skips a replay has no D to open, for D is not in the
    batch: alone, a lazy verifier fails at its first opening. So this is about one to whom contributors tell their D.
    """
    return ringer_batches / (skipped * drawn)


def lazy_law(skipped: float, drawn: float = 1.0) -> Law:
    """How many ringers it takes: geometric, with mean 1 / (s d)."""
    return tries(skipped * drawn)


def honest_judges(verifiers: int, colluding: int, second: float = SECOND) -> tuple[float, float, float]:
    """Chances that none, one or two honest verifiers judge a batch.

    The beacon ranks all, so the first is honest with (v-c)/v; with chance s the second judges too, drawn from the
    others.
    """
    v, c = verifiers, colluding
    if v == 1:
        return (1.0, 0.0, 0.0) if c else (0.0, 1.0, 0.0)
    none = c / v * (1 - second + second * (c - 1) / (v - 1))
    both = (v - c) / v * second * (v - c - 1) / (v - 1)
    return none, 1 - none - both, both


def seen_by_honest(verifiers: int, colluding: int, second: float = SECOND) -> float:
    """Chance that a friend's batch is judged by an honest verifier: (v-c)/v + (c/v) s (v-c)/(v-1)."""
    return 1 - honest_judges(verifiers, colluding, second)[0]


def passes_with_friends(q: float, wrong_games: int, verifiers: int, colluding: int, second: float = SECOND) -> float:
    """Chance that a batch with m wrong games passes when `colluding` verifiers let it: only honest draws count."""
    missed = (1 - q) ** wrong_games
    none, one, both = honest_judges(verifiers, colluding, second)
    return none + one * missed + both * missed**2


def poison_with_friends(q: float, wrong_games: int, verifiers: int, colluding: int, second: float = SECOND) -> float:
    """Wrong games that a patient contributor with friends gets out: m r / (1-r); without end if all verifiers are."""
    r = passes_with_friends(q, wrong_games, verifiers, colluding, second)
    return wrong_games * r / (1 - r) if r < 1 else inf


def friend_convicted(repeat: float, wrong_games_drawn: int) -> float:
    """Chance that repeats convict a verifier that accepted a batch with d wrong games that it drew: 1 - (1-p)^d."""
    return 1 - (1 - repeat) ** wrong_games_drawn


# ---- coordinator and verifiers


def beacon_choices(verifiers: int, threshold: int, colluding: int) -> int:
    """Among how many values the coordinator and c verifiers can choose a tree's beacon, once they see the honest shares.

    Each of them gives or withholds its share; a set of t or more makes the beacon. So they have each subset of at
    least t - (v - c) of theirs, and, if the honest alone are fewer than t, one choice more: to stay below t, so that
    the next tree decides. Each choice is one missing share that the log shows. With c >= t they can leave out the honest
    and try trees in private, as many as they like; the honest, whose shares are missing, then cosign no more, which
    shows unless there are none.
    """
    honest = verifiers - colluding
    enough = sum(comb(colluding, k) for k in range(max(0, threshold - honest), colluding + 1))
    return enough + (honest < threshold)


def chosen(p: float, choices: int) -> float:
    """Chance of an event of chance p when one may choose the best of so many independent draws: 1 - (1-p)^choices."""
    return 1 - (1 - p) ** choices


def fork_verifiers(verifiers: int, threshold: int) -> int:
    """How many verifiers have to cosign two histories so that each has t: 2t - v, at least 1 as t > v/2."""
    return 2 * threshold - verifiers


def halt_verifiers(verifiers: int, threshold: int) -> int:
    """How many verifiers stop a run by keeping silent: v - t + 1."""
    return verifiers - threshold + 1


# ---- costs


def stamp_cpu_s(difficulty: int, try_s: float = 0.041) -> float:
    """Processor seconds of a stamp: 2^difficulty tries on average, each one scrypt (N=2^14, r=8, p=1)."""
    return 2.0**difficulty * try_s


def slots_won(flood: int, honest: int, slots: int) -> float:
    """Slots that a flood of f keys beside h others wins of one list: slots f / (f + h), or f if there is room for all.

    The beacon ranks the list, so more keys win a larger share of the slots, never more slots.
    """
    return float(flood) if flood + honest <= slots else slots * flood / (flood + honest)


def slot_cpu_s(difficulty: int, flood: int, honest: int, slots: int, try_s: float = 0.041) -> float:
    """Processor seconds that a flood pays for each slot it wins, if losers need a new stamp for the next list.

    A stamp is for a tree of at most `timeout_entries` ago, so it cannot be hoarded; f of them win `slots_won`.
    """
    return stamp_cpu_s(difficulty, try_s) * flood / slots_won(flood, honest, slots)


def lists_waited(flood: int, honest: int, slots: int) -> float:
    """Slot lists until an honest newcomer is drawn from a list that the flood keeps full: (f + h) / slots, at least 1."""
    return max(1.0, (flood + honest) / slots)


def probation_games(policy: AdmissionPolicy) -> int:
    """Games that verifiers may have to replay for strangers at any time, however many keys a flood has: slots K n.

    A replay stops at the first wrong ply, so each replayed game but the last was played by the flood at the same cost.
    """
    return policy.probation_slots * policy.probation_batches * policy.games_per_batch


def probation_extra(probation_batches: int, q_min: float) -> float:
    """Batches' worth of replays that a newcomer costs above q_min: the sum over N of q_N - q_min."""
    n, total = 0, 0.0
    while (q := q_after(n, probation_batches, q_min)) > q_min:
        total += q - q_min
        n += 1
    return total


@dataclass(frozen=True, slots=True)
class Overhead:
    """Work of verification as shares of the compute that contributors give: a replayed game costs what it cost to play.

    Fills cost nothing here: they are games that enter the window, played in place of others. Gate replays are apart.
    """

    drawn: float
    second: float
    repeats: float
    ringers: float
    exits: float
    probation: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.drawn + self.second + self.repeats + self.ringers + self.exits + self.probation


def verification_overhead(policy: AdmissionPolicy, life_batches: float = inf, verifiers: int = 2) -> Overhead:
    """The share of work for honest contributors who have come to q_min and leave after `life_batches` batches.

    q for the first verifier, a tenth of it for the second (if there is one), `repeat_ppm` after reveals. A ringer is
    played (one batch) and replayed in full (another) for each `ringer_batches`. What is held at the end of a life, W
    batches, is drawn once more at `exit_ppm`, and its beginning cost `probation_extra`.
    """
    q = policy.q_min_ppm / PPM
    return Overhead(
        drawn=q,
        second=SECOND * q if verifiers > 1 else 0.0,
        repeats=policy.repeat_ppm / PPM,
        ringers=2 / policy.ringer_batches if policy.ringer_batches else 0.0,
        exits=policy.hold_back_batches * policy.exit_ppm / PPM / life_batches,
        probation=probation_extra(policy.probation_batches, q) / life_batches,
    )
