"""Honest self-play as a run's contributors play it, and its replay by another kernel: what differs would convict the honest.

A round is games of one contributor with one release; all of it follows from the subject's name and the round's number. The
games go through what a verifier does: the cheap checks, a replay of every ply and, for some plies, the search of a fraud
proof by the scalar kernel.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from benchmarks._games import TRAINED
from native.errors import EngineError, IllegalMove
from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.search import Player
from node.founding.manifest_file import load_manifest
from protocol.game_block import GameBlock
from protocol.manifest import BoardWeight, KomiWeight, Manifest, NetworkSpec, Opening, Stage
from protocol.openings import two_move_openings
from verification.admission import check_game
from verification.faults import Rejected
from verification.replay import collect, differences, name_mismatch, repeat_ply
from verification.setup import SelfplaySeries, check_playable

PLAYING, REPLAYING = 8, 1
"""Games in flight of who plays and of who replays; the search's results may not depend on them either."""

WAIT_S = 0.25
KOMI_HALF = (-5, 0, 14, 15, 18)


def digest_of(words: str) -> bytes:
    """The digest that stands for `words`."""
    return sha256(f"gonode benchmark: {words}".encode()).digest()


@dataclass(frozen=True, slots=True)
class Subject:
    """Who plays: a run's manifest and the network of each release. A round has `games` games; every `scalar_every`-th ply
    is repeated by the scalar kernel too, 0 for none."""

    name: str
    manifest: Manifest
    network: Callable[[int], Network]
    games: int
    scalar_every: int = 0

    def series(self, number: int) -> tuple[SelfplaySeries, Player]:
        """The games of the round's contributor with the round's release, and who plays them."""
        run, release, peer, nonce = (
            digest_of(f"{self.name}, {word}")
            for word in ("run", f"release {number}", f"peer {number}", f"nonce {number}")
        )
        return SelfplaySeries(run, self.manifest, release, 0, peer, nonce), Player(self.network(number), release)


@dataclass(frozen=True, slots=True)
class Tally:
    """What rounds amount to: games and plies replayed, plies that the scalar kernel repeated, and a sentence for each game
    or ply of which an honest player would be convicted."""

    rounds: int = 0
    games: int = 0
    plies: int = 0
    scalar: int = 0
    faults: tuple[str, ...] = ()

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.rounds + other.rounds,
            self.games + other.games,
            self.plies + other.plies,
            self.scalar + other.scalar,
            self.faults + other.faults,
        )


@dataclass(frozen=True, slots=True)
class Games:
    """A round's games as `player` played them: their jobs, blocks, and the D of all their plies."""

    subject: Subject
    number: int
    series: SelfplaySeries
    player: Kernel
    jobs: tuple[Job, ...]
    blocks: tuple[GameBlock, ...]
    digests: tuple[tuple[bytes, ...], ...]


def play(subject: Subject, number: int, player: Kernel) -> Games:
    """Plays a round; EngineError when a game cannot be played to its end."""
    series, by = subject.series(number)
    jobs = tuple(series.job(counter, by) for counter in range(subject.games))
    with Pool(1, player, PLAYING) as pool:
        for job in jobs:
            pool.play(job)
        dones = _finished(pool, jobs)
    for done in dones:
        if not done.is_ok:
            raise EngineError(f"A game was not played to its end: {done.sentence}", done.status)
    blocks = tuple(GameBlock.parse(done.block) for done in dones)
    return Games(subject, number, series, player, jobs, blocks, tuple(done.digests for done in dones))


def judge(games: Games, replayer: Kernel, plies_before: int = 0) -> Tally:
    """Judges a round by another kernel. `plies_before`, those of earlier rounds, says which ply the scalar kernel is due
    at next. EngineError when a game cannot be replayed at all."""
    with Pool(1, replayer, REPLAYING) as pool:
        for job, block in zip(games.jobs, games.blocks, strict=True):
            pool.replay(job, block.raw)
        dones = _finished(pool, games.jobs)
    by_replay = (_fault(games, game, done, replayer) for game, done in enumerate(dones))
    scalar, by_scalar = _repeat_some(games, plies_before)
    who = f"{games.subject.name}, round {games.number}, {games.player.encode()} to"
    faults = (
        *(f"{who} {replayer.encode()}: {fault}" for fault in by_replay if fault is not None),
        *(f"{who} scalar: {fault}" for fault in by_scalar),
    )
    return Tally(1, len(dones), sum(done.plies for done in dones), scalar, faults)


def _finished(pool: Pool, jobs: Sequence[Job]) -> list[Done]:
    """All of a pool's jobs, in their order."""
    found: dict[int, Done] = {}
    while pool.pending:
        done = pool.wait(WAIT_S)
        if done is not None:
            found[done.id] = done
    return [found[job.id] for job in jobs]


def _fault(games: Games, game: int, replayed: Done, kernel: Kernel) -> str | None:
    """Why a verifier rejects a game, or None."""
    job, block = games.jobs[game], games.blocks[game]
    try:
        check_game(block, games.series.setup(job.counter), games.series.search, game)
    except Rejected as rejected:
        return str(rejected)
    mismatch = collect((game,), (replayed,)).mismatch
    if mismatch is not None:
        return str(name_mismatch(job, block, mismatch, kernel))
    return None if replayed.digests == games.digests[game] else f"Game {game} has other trace digests."


def _repeat_some(games: Games, plies_before: int) -> tuple[int, list[str]]:
    """How many plies the scalar kernel repeated, and a sentence for each that it finds another."""
    every = games.subject.scalar_every
    if not every:
        return 0, []
    plies = [(game, ply) for game, block in enumerate(games.blocks) for ply in block.plies][
        -plies_before % every :: every
    ]
    found = ((game, ply, _difference(games.jobs[game], games.blocks[game], ply)) for game, ply in plies)
    return len(plies), [f"Ply {ply} of game {game} {text}." for game, ply, text in found if text]


def _difference(job: Job, block: GameBlock, ply: int) -> str:
    """What the scalar kernel finds another at a ply; empty for nothing."""
    try:
        found = repeat_ply(job, block.moves, ply, Kernel.SCALAR)
    except IllegalMove:
        return "follows an illegal move"
    if found.record() == block.record(ply):
        return ""
    return f"has another {' and '.join(differences(block.record(ply), found, block.header.size))}"


def manifest_of(size: int, network: NetworkSpec, visits: int) -> Manifest:
    """The default run with games of `size`, their komi and openings drawn, full and fast searches of so many visits, and
    games short enough that there are many of them."""
    manifest = load_manifest(None)
    komi = tuple(KomiWeight(each, 1) for each in KOMI_HALF)
    pairs = two_move_openings(size)
    made = replace(
        manifest,
        rules=replace(manifest.rules, move_cap_factor=1),
        stages=(Stage(0, (BoardWeight(size, 1, komi),)),),
        openings=(Opening(size, (), len(pairs), 1), *(replace(pair, selfplay_weight=1) for pair in pairs)),
        selfplay=replace(manifest.selfplay, visits_full=visits, visits_fast=visits),
        network=network,
    )
    check_playable(made)
    return made


def small() -> Subject:
    """b1c16 on 7x7 with 8 visits, another network each round."""
    spec = NetworkSpec(blocks=1, channels=16, features=1, first="random")

    def network(number: int) -> Network:
        return Network.load(Network.first(digest_of(f"network {number}"), spec.blocks, spec.channels))

    return Subject("b1c16 7x7, 8 visits", manifest_of(7, spec, 8), network, games=250)


def large(scalar_every: int = 20) -> Subject:
    """The trained b6c96 on 9x9 with 100 visits, a game a round."""
    network = Network.load(TRAINED.read_bytes())
    spec = NetworkSpec(network.architecture.blocks, network.architecture.channels, features=1, first="random")
    return Subject("b6c96 9x9, 100 visits", manifest_of(9, spec, 100), lambda number: network, 1, scalar_every)
