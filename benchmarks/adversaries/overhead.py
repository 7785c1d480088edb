"""What verification costs at the default policy: replayed plies of a hundred honest long-standing contributors.

All of it is counted in a real log of synthetic batches: contributors first come past N = K / q_min accepted batches, then
what is measured begins. Verifiers end an epoch each `epoch_entries` entries. A replayed ply costs what it cost to play; all
games have one length, so a share of games is one of plies. Gate replays are apart: their share is the manifest's.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.adversaries import theory
from benchmarks.adversaries.oracle import FIRST, Oracle
from benchmarks.adversaries.verifiers import send_ringer
from node.founding.manifest_file import load_manifest
from protocol.ed25519 import SecretKey
from protocol.manifest import AdmissionPolicy, Manifest
from protocol.orders import Exit
from protocol.seeds import PPM
from verification.identities import EXIT, REPEAT, SECOND, Recheck

VERIFIERS = 3
GOAL = 0.08
LIFE_BATCHES = 4000
"""How long a life is over which an exit and a beginning are spread: hour-long batches, about half a year."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured; without leavers an exit costs what its formula says."""

    contributors: int = 100
    batches: int = 200
    leavers: int = 10


QUICK = Size(8, 60, 0)


def default_policy() -> tuple[Manifest, AdmissionPolicy]:
    """The default run's manifest, and its admission with invites: who is here long does not come with a stamp."""
    manifest = load_manifest(None)
    return manifest, replace(manifest.admission, registration="invite")


class Crowd:
    """Honest contributors, verifiers that end their epochs in time, and a coordinator that sends ringers."""

    def __init__(self, size: Size) -> None:
        self.manifest, self.policy = default_policy()
        self.world = Oracle(self.policy, VERIFIERS, "overhead")
        self.size = size
        self.peers = [self.world.register(f"honest-{number}") for number in range(size.contributors)]
        self.begun = {key.public: 0 for key in self.world.verifiers}
        self.batches = self.sent = 0

    def rounds(self, count: int, with_ringers: bool) -> None:
        """So many batches of each contributor."""
        for _ in range(count):
            for peer in self.peers:
                self.world.submit(peer)
                self.batches += 1
                if with_ringers and self.policy.ringer_batches and self.batches % self.policy.ringer_batches == 0:
                    self.sent += 1
                    send_ringer(self.world, self.sent)
            self.world.settle()
            self.end_epochs()

    def end_epochs(self) -> None:
        """Verifiers whose epoch is long enough begin the next one, and reveal."""
        for verifier in self.world.verifiers:
            if self.world.state.size - self.begun[verifier.public] >= self.policy.epoch_entries:
                self.begun[verifier.public] = self.world.state.size
                self.world.rotate(verifier)

    def leave(self, leavers: list[SecretKey]) -> None:
        """These fall silent; the exit of all is ordered and judged."""
        state = self.world.state
        self.world.ticks(self.policy.exit_entries + 1)
        due = [peer.public for peer in leavers if peer.public in state.rechecks.silent(state.size)]
        assert len(due) == len(leavers)
        self.world.log(Exit(self.world.run, tuple(due)), self.world.coordinator)
        self.world.settle()


def measure(size: Size) -> Iterator[dict[str, float | str]]:
    """Rows: what is counted, as a share of what contributors play, measured and by formula."""
    crowd = Crowd(size)
    policy, world = crowd.policy, crowd.world
    warm = PPM * policy.probation_batches // policy.q_min_ppm
    crowd.rounds(warm, with_ringers=False)
    games = policy.games_per_batch
    probation = world.replayed[FIRST] / (size.contributors * games) - warm * policy.q_min_ppm / PPM
    before, batches = Counter(world.replayed), crowd.batches
    crowd.rounds(size.batches, with_ringers=True)
    replayed = world.replayed - before
    alone = sum(len(chosen) for _, chosen in world.state.rechecks.alone)
    contributed = (crowd.batches - batches) * games
    looks = [look for each in world.state.ringers.all for look in each.batch.looks if look.verdict is not None]
    by: Counter[str] = Counter()
    for look in looks:
        by[look.purpose if isinstance(look, Recheck) else FIRST] += len(look.verdict.drawn) if look.verdict else 0
    before_exit = world.replayed[EXIT]
    an_exit = policy.hold_back_batches * policy.exit_ppm / PPM
    if size.leavers:
        crowd.leave(crowd.peers[: size.leavers])
        an_exit = (world.replayed[EXIT] - before_exit) / size.leavers / games

    expected = theory.verification_overhead(policy, LIFE_BATCHES, VERIFIERS)
    parts = {
        "first checks": ((replayed[FIRST] - by[FIRST]) / contributed, expected.drawn),
        "second verifiers": ((replayed[SECOND] - by[SECOND]) / contributed, expected.second),
        "repeats after reveals": ((replayed[REPEAT] + alone) / contributed, expected.repeats),
        "ringers, played and replayed": ((crowd.sent * games + by.total()) / contributed, expected.ringers),
        "fills of drawn tails, beyond what any batch costs": (0.0, 0.0),
    }
    total = sum(measured for measured, _ in parts.values())
    rest = {
        "all of it, long-standing": (total, expected.total - expected.exits - expected.probation),
        f"an exit, over a life of {LIFE_BATCHES:,} batches": (an_exit / LIFE_BATCHES, expected.exits),
        f"probation, over a life of {LIFE_BATCHES:,} batches": (probation / LIFE_BATCHES, expected.probation),
    }
    rest["all of it, with beginnings and ends"] = (sum(each for each, _ in rest.values()), expected.total)
    for name, (measured, formula) in (parts | rest).items():
        yield {"part": name, "measured %": 100 * measured, "theory %": 100 * formula}
    gate = crowd.manifest.gate.replay_ppm / PPM
    yield {"part": "gate replays, of gate games, apart", "measured %": 100 * gate, "theory %": 100 * gate}


def within_goal(rows: list[dict[str, float | str]]) -> bool:
    """Whether long-standing contributors cost no more than the design allows."""
    found = next(row for row in rows if str(row["part"]).startswith("all of it, long"))
    return float(found["measured %"]) <= 100 * GOAL
