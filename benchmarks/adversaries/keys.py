"""Keys that are stolen, and keys that a cheat gives up: what a replacement by the recovery key saves, and for whom."""

from collections.abc import Iterator
from hashlib import sha256

from benchmarks.adversaries import theory
from benchmarks.adversaries.contributors import Q, spaced
from benchmarks.adversaries.laws import Law
from benchmarks.adversaries.lives import Field, Life, fields_of, lives_of
from benchmarks.adversaries.oracle import Oracle, policy_of
from benchmarks.adversaries.outcome import BOUNDED, CAUGHT, Effort, Row, Run, summary
from protocol.ed25519 import SecretKey
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from verification.identities import BatchInfo

KIND = "key"
STOLEN_BATCHES = 5
W = 4


def register(world: Oracle, name: str) -> SecretKey:
    """A contributor with a recovery key."""
    key, size = world.key(name), world.state.size
    recovery = sha256(recovery_of(world, name).public).digest()
    invite = world.invite(name)
    world.log(Registration(world.run, key.public, name, recovery, size, world.state.tree.root(), invite, 0), key)
    world.share_set()
    return key


def recovery_of(world: Oracle, name: str) -> SecretKey:
    """The recovery key of a contributor."""
    return world.key(f"{name} recovery")


def replace_key(world: Oracle, name: str, peer: bytes, invalid_from: int) -> SecretKey:
    """The contributor goes on with a new key."""
    recovery, key = recovery_of(world, name), world.key(f"{name} anew")
    world.log(KeyReplacement(world.run, peer, recovery.public, key.public, invalid_from), recovery, key)
    world.share_set()
    return key


def stolen_key(effort: Effort) -> Iterator[Row]:
    """A thief signs wrong batches in the owner's name, until a draw finds one or the owner notices: nothing is released."""
    runs = []
    for log in range(max(1, effort.runs // 100)):
        world = Oracle(policy_of(hold_back_batches=10), 1, f"stolen {log}")
        names = [f"owner-{number}" for number in range(min(20, effort.runs))]
        keys = {name: register(world, name) for name in names}
        for _ in range(20):
            for key in keys.values():
                world.submit(key)
            world.settle()
        since = world.state.size
        theirs: dict[str, list[BatchInfo]] = {name: [] for name in names}
        for _ in range(STOLEN_BATCHES):
            for name, key in keys.items():
                if not world.state.batches.is_out(key.public):
                    theirs[name].append(world.submit(key, (0,)))
            world.settle()
        found = {name for name, key in keys.items() if world.state.is_banned(key.public)}
        anew = {name: replace_key(world, name, key.public, since) for name, key in keys.items()}
        for _ in range(14):
            for key in anew.values():
                world.submit(key)
            world.settle()
        for name, key in anew.items():
            assert not world.state.batches.is_out(key.public)
            assert (world.state.batches.tally(key.public).batches) >= 34
            poisoned = sum(batch.released_at is not None for batch in theirs[name])
            runs.append(Run(len(theirs[name]), poisoned, 0, "ban" if name in found else "replaced"))
    yield summary("stolen key", KIND, f"W = 10, noticed after {STOLEN_BATCHES}", CAUGHT, runs, Law((1.0,)))


class Moulting(Field):
    """Patient lives that replace their keys as soon as a verdict accuses them, before the ban, and say it was a thief."""

    def settle(self) -> None:
        """See `Field`."""
        self.world.share_set()
        self.world.judge_all()
        for life in self.lives:
            peer, name = life.key.public, f"cheat-{life.number}"
            is_first = self.world.state.registration(peer) is not None and peer == self.world.key(name).public
            if is_first and self.world.state.batches.is_suspended(peer):
                spent = self.world.cost[peer] - (life.cost_before or 0)
                life.key = replace_key(self.world, name, peer, 0)
                life.cost_before = -spent
                assert not set(life.bad) & set(self.world.state.batches.released)
        self.world.admit()

    def move(self, life: Life) -> None:
        """See `Field`: after a replacement it earns its trust anew."""
        if self.share(life) > self.world.policy.q_min_ppm:
            self.world.submit(life.key)
        else:
            super().move(life)


def moulting(effort: Effort) -> Iterator[Row]:
    """A patient cheat uses its recovery key in place of a pardon, once: what it released leaves all later windows."""
    policy = policy_of(hold_back_batches=W)
    fields = fields_of("moulting", policy, spaced(W + 1), effort.share(20), make=Moulting, join=register)
    runs = lives_of(fields)
    law = theory.poison_pardon(Q, 1)
    yield summary("cheat that replaces its key when accused", KIND, f"W = {W}", BOUNDED, runs, law)


ADVERSARIES = (stolen_key, moulting)
