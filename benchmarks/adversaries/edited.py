"""Contributors that edit real games before they sign them: what verifiers call each, and that its proof holds.

Games are played, edited, judged and proved by the code that nodes run. Each adversary comes twice: as a newcomer, and as an
identity past its probation, which then cheats in one game of each batch until it is banned.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from benchmarks.adversaries import theory
from benchmarks.adversaries.forged import other_legal_move, random_game
from benchmarks.adversaries.outcome import CAUGHT, Effort, Row, Run, percent, summary
from native.network import Kernel
from native.pool import Job
from native.search import Player
from protocol.ed25519 import SecretKey
from protocol.entries import parse_entry
from protocol.game_block import GameBlock
from protocol.manifest import Manifest
from protocol.proof import Ban
from tests.verification import edits
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.proof import check_proof
from verification.setup import selfplay_job

KIND = "contributor, real games"
W = 2
LATE_Q = 0.5
MOST_BATCHES = 40
LEAST_PLIES = 5

Forge = Callable[[World, SecretKey, int, bytes], bytes]
"""What a cheat signs in place of the honest block of its game with this counter."""


@dataclass(frozen=True, slots=True)
class Cheat:
    """A kind of edit, and the names that verifiers give it."""

    name: str
    forge: Forge
    reasons: tuple[str, ...]


def manifest() -> Manifest:
    """7x7 games, two a batch, one batch of probation, half of all games drawn after it."""
    made = small_manifest()
    policy = replace(made.admission, hold_back_batches=W, q_min_ppm=round(LATE_Q * 1e6), timeout_entries=10**6)
    return replace(made, admission=replace(policy, exit_entries=10**6))


def block(change: Callable[[GameBlock], bytes]) -> Forge:
    """An edit of a finished game; a game too short for it stays as it was."""

    def forge(world: World, peer: SecretKey, counter: int, raw: bytes) -> bytes:
        game = GameBlock.parse(raw)
        return change(game) if game.header.plies > LEAST_PLIES else raw

    return forge


def played(change: Callable[[World, Job], Job]) -> Forge:
    """The game of another job, signed as the one that was asked for."""

    def forge(world: World, peer: SecretKey, counter: int, raw: bytes) -> bytes:
        return world.play_blocks([change(world, honest_job(world, peer, counter))])[0]

    return forge


def honest_job(world: World, peer: SecretKey, counter: int) -> Job:
    """The job that a game's seed gives."""
    release = world.state.release
    return selfplay_job(world.state, release, peer.public, counter, world.player(release))


def random_moves(world: World, peer: SecretKey, counter: int, raw: bytes) -> bytes:
    """Legal moves without any search, with counts that pass for one."""
    job = honest_job(world, peer, counter)
    return random_game(job, world.manifest.selfplay.visits_fast, Random(counter))


def foreign(world: World, peer: SecretKey, counter: int, raw: bytes) -> bytes:
    """Another contributor's game under one's own signature."""
    other = world.peers.get("victim") or world.register("victim")
    return world.play_blocks([honest_job(world, other, counter)])[0]


def replayed(world: World, peer: SecretKey, counter: int, raw: bytes) -> bytes:
    """An earlier game of one's own once more, with the counter that is due."""
    earlier = world.play_blocks([honest_job(world, peer, counter + 1000)])[0]
    return edits.header(counter=counter)(GameBlock.parse(earlier))


def older_network(world: World, job: Job) -> Job:
    """The network of the release before, under the newest one's id."""
    before = world.state.previous_release or world.state.release
    player = Player(world.player(before).network, job.black.release)
    return replace(job, black=player, white=player)


def without_network(world: World, job: Job) -> Job:
    """Uniform evaluation in place of the network."""
    player = Player(None, job.black.release)
    return replace(job, black=player, white=player)


def fewer_visits(world: World, job: Job) -> Job:
    """Smaller searches."""
    return replace(job, config=replace(job.config, visits_full=8, visits_fast=4))


def smaller_board(world: World, job: Job) -> Job:
    """5x5 in place of 7x7."""
    rules = replace(job.rules, rows=5, cols=5, move_cap=25)
    return replace(job, rules=rules, opening_moves=(), opening=0)


def other_rules(world: World, job: Job) -> Job:
    """No suicide, and games that end after ten moves, so that each of them differs."""
    return replace(job, rules=replace(job.rules, suicide=False, move_cap=10))


def flipped_bit(raw: GameBlock) -> bytes:
    """One bit of a policy target, a value or a hash, as a broken machine leaves it."""
    first = edits.Columns(raw).value
    at = first + (raw.header.counter * 7919) % (len(raw.raw) - first)
    return edits.patched(raw, at, bytes([raw.raw[at] ^ 4]))


def result(raw: GameBlock) -> bytes:
    """Another winner."""
    return edits.header(result=3 - raw.header.result)(raw)


def score(raw: GameBlock) -> bytes:
    """Another final score with the same winner."""
    step = 2 if raw.header.score_half > 0 else -2
    return edits.header(score_half=raw.header.score_half + step)(raw)


CHEATS = (
    Cheat("random moves", random_moves, ("search", "kind")),
    Cheat("weaker network", played(without_network), ("search",)),
    Cheat("older network", played(older_network), ("search",)),
    Cheat("fewer visits", played(fewer_visits), ("visits sum",)),
    Cheat("edited visit counts", block(edits.moved_visits(4)), ("visits",)),
    Cheat("too many visits", block(edits.more_visits(4)), ("visits sum",)),
    Cheat("visits where no move is legal", block(edits.visits_on_occupied(4)), ("visits on illegal move",)),
    Cheat("edited policy target", block(edits.policy_target(0)), ("policy target",)),
    Cheat("edited value", block(edits.value(4)), ("value",)),
    Cheat("edited score of a ply", block(edits.score(4)), ("score",)),
    Cheat("one wrong ply a game", block(other_legal_move), ("move", "search")),
    Cheat("edited result", block(result), ("result",)),
    Cheat("edited score of the game", block(score), ("final score",)),
    Cheat("wrong komi", block(edits.header(komi_half=3)), ("setup",)),
    Cheat("wrong size", played(smaller_board), ("setup",)),
    Cheat("wrong rules", played(other_rules), ("illegal move", "search", "end")),
    Cheat("illegal move", block(edits.move(3)), ("illegal move",)),
    Cheat("foreign game records re-signed", foreign, ("setup", "search")),
    Cheat("own games once more", replayed, ("setup", "search")),
    Cheat("one flipped bit", block(flipped_bit), ("trace", "value", "score", "value range")),
)


class Trial:
    """Real lives of cheats in one run, whose second release is out."""

    def __init__(self, word: str) -> None:
        self.world = World(manifest(), word=word)
        self.world.register("founder")
        self.world.cycle()
        self.count = 0

    def join(self) -> SecretKey:
        """A newcomer."""
        self.count += 1
        return self.world.register(f"cheat-{self.count}")

    def submit(self, peer: SecretKey, forge: Forge, games: int) -> tuple[BatchInfo, frozenset[int]]:
        """Logs a batch whose first games are forged; those that really differ are wrong."""
        wrong: set[int] = set()

        def edit(blocks: list[bytes]) -> list[bytes]:
            first = self.world.state.next_counter(peer.public, self.world.state.release.id)
            made = list(blocks)
            for number in range(games):
                made[number] = forge(self.world, peer, first + number, blocks[number])
                if made[number] != blocks[number]:
                    wrong.add(number)
            return made

        batch = self.world.play(peer, edit=edit)
        return batch, frozenset(wrong)

    def life(self, cheat: Cheat, is_late: bool) -> Run:
        """One life; raises AssertionError if what ended it has another name, or its proof does not hold."""
        world, peer = self.world, self.join()
        while is_late and self.share(peer) > world.manifest.admission.q_min_ppm:
            world.batch(peer)
        bad: list[tuple[BatchInfo, int]] = []
        begun, cost = None, 0
        for number in range(MOST_BATCHES):
            batch, wrong = self.submit(peer, cheat.forge, 1 if is_late else 2)
            bad.append((batch, len(wrong)))
            if wrong and begun is None:
                begun = number
            rejected = world.judge(batch)
            cost += 0 if batch.verdict is None else len(batch.verdict.drawn)
            world.admit()
            if rejected is not None:
                assert rejected.label in cheat.reasons, f"{cheat.name}: {rejected}"
                assert begun is not None, f"{cheat.name}: an honest game was rejected: {rejected}"
                self.verify_ban(peer)
                poisoned = sum(count for each, count in bad if each.released_at is not None)
                return Run(number + 1 - begun, poisoned, cost, rejected.label)
        return Run(None, 0, cost)

    def share(self, peer: SecretKey) -> int:
        """The share of replay of a peer's next header."""
        identity = self.world.state.batches.identity(peer.public)
        policy = self.world.manifest.admission
        return 10**6 if identity is None else identity.share_of_replay(policy, self.world.state.size)

    def verify_ban(self, peer: SecretKey) -> None:
        """Checks the proof of a ban from the run id down, with the scalar kernel."""
        record = parse_entry(self.world.entry(self.world.state.convictions.banned_at(peer.public))).record
        assert isinstance(record, Ban)
        finding = check_proof(record.proof, self.world.run, self.world.networks.get, Kernel.SCALAR)
        assert finding.subject == peer.public


@cache
def trial(seed: int) -> Trial:
    """The run that all cheats of a seed share."""
    return Trial(f"edited {seed}")


def edited(cheat: Cheat, effort: Effort) -> Iterator[Row]:
    """A row for the newcomers and one for those that are trusted."""
    for is_late, phase in ((False, "on probation"), (True, f"later, q = {percent(LATE_Q)}, W = {W}")):
        runs = [trial(seed).life(cheat, is_late) for seed in range(effort.real)]
        law = theory.continuous_law(LATE_Q if is_late else 1.0, W)
        yield summary(cheat.name, KIND, phase, CAUGHT, runs, law, is_bound=True)
