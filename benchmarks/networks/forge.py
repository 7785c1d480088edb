"""Makes the trained network that the benchmarks play with: `python -m benchmarks.networks.forge DIR`.

Small networks learn 9x9 from nothing by self-play in generations; the last games then teach b6c96. Everything is a
function of the numbers below; DIR keeps what was done, and the same command goes on from there. One core.
"""

import argparse
import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from native.netfile import Architecture
from native.network import Kernel, Network
from native.packed import pack_game
from native.pool import Job, Pool
from native.rules import Rules
from native.search import Player, SearchConfig
from node.founding.manifest_file import load_manifest
from protocol.batch import BatchLimits, encode_batch, parse_batch
from protocol.compress import compress, decompress
from protocol.game_block import GameBlock
from protocol.manifest import Manifest
from trainer.data.draws import Sampler, random_words
from trainer.data.minibatch import Minibatch, collate
from trainer.data.rows import Window
from trainer.files import store
from trainer.integer.quantise import observe, quantise
from trainer.learning.learner import Learner
from trainer.learning.state import Position, TrainState
from trainer.network.loss import PARTS
from trainer.network.moments import measure
from trainer.pin import pin

SIZE = 9
LIMITS = BatchLimits(max_raw_bytes=2**30, max_games=2**16)
CALIBRATION_ROWS = 2048
PART_ROWS = 512

EARLY = SearchConfig(
    visits_full=100,
    visits_fast=16,
    full_share_ppm=300_000,
    root_fpu_reduction_micro=0,
    noise_weight_ppm=250_000,
    noise_alpha_micro=10_830_000,
    root_temperature_micro=1_600_000,
    score_utility_micro=300_000,
    temperature_start_micro=1_000_000,
    temperature_end_micro=200_000,
    temperature_halflife=12,
)
LATE = replace(EARLY, root_temperature_micro=1_200_000, temperature_start_micro=800_000)
TAUGHT = replace(
    LATE, visits_full=160, visits_fast=24, full_share_ppm=500_000, noise_weight_ppm=0, root_temperature_micro=1_000_000
)


@dataclass(frozen=True, slots=True)
class Stage:
    """Games of the newest network, then steps of a network `shape` on the games of the last `window` stages.

    A shape other than the stage's before starts from nothing. Policy targets are taken to the power `sharpness`, as
    further generations would sharpen them.
    """

    shape: str
    games: int
    search: SearchConfig
    komi_half: tuple[int, ...]
    window: int
    steps: int
    rate: float
    minibatch: int = 128
    sharpness: float = 1.0


STAGES = (
    Stage("b3c32", 1500, EARLY, (1,), 1, 600, 0.1),
    Stage("b3c32", 500, EARLY, (1,), 1, 400, 0.1),
    Stage("b3c32", 500, EARLY, (1, 7), 2, 400, 0.1),
    Stage("b3c32", 600, LATE, (1, 7, 11, 15), 2, 500, 0.1),
    Stage("b3c32", 800, LATE, (7, 11, 13, 15, 19), 2, 600, 0.08),
    Stage("b6c96", 500, TAUGHT, (11, 13, 15, 15, 15, 17), 2, 300, 0.08),
    Stage("b6c96", 0, TAUGHT, (), 3, 200, 0.08),
    Stage("b6c96", 0, TAUGHT, (), 4, 120, 0.04, sharpness=1.6),
    Stage("b6c96", 0, TAUGHT, (), 5, 100, 0.01, sharpness=1.6),
    Stage("b6c96", 0, TAUGHT, (), 5, 150, 0.01, sharpness=2.0),
)


def manifest_of(stage: Stage) -> Manifest:
    """The default run's manifest with the numbers of a stage."""
    base = load_manifest(None)
    shape = Architecture.parse(stage.shape)
    return replace(
        base,
        network=replace(base.network, blocks=shape.blocks, channels=shape.channels),
        training=replace(
            base.training,
            minibatch=stage.minibatch,
            learning_rate_micro=round(stage.rate * 1e6),
            warmup_steps=50,
            ema_micro=990_000,
            value_root_share_ppm=200_000,
            gradient_clip_micro=3_000_000,
        ),
    )


def job_of(number: int, search: SearchConfig, komi_half: int, name: str, black: Player, white: Player) -> Job:
    """Game `number` of a series, as the benchmarks play."""
    rules = Rules(SIZE, SIZE, komi_half, pass_alive=True, settled_end=True, move_cap=3 * SIZE * SIZE)
    seed = hashlib.sha256(f"forge {name} {number}".encode()).digest()
    return Job(number, number, rules, search, bytes(32), seed, black, white)


def play(network: Network | None, stage: Stage, number: int) -> list[bytes]:
    """The blocks of a stage's games, in order."""
    player, blocks = Player(network, bytes(32)), {}
    jobs = iter(
        job_of(i, stage.search, stage.komi_half[i % len(stage.komi_half)], f"stage {number}", player, player)
        for i in range(stage.games)
    )
    plies, evaluations, visits, started = 0, 0, 0, time.process_time()
    with Pool(1, Kernel.BEST) as pool:
        while True:
            while pool.pending < 2 and (job := next(jobs, None)) is not None:
                pool.play(job)
            if not pool.pending:
                break
            done = pool.wait(600.0)
            if done is None or not done.is_ok:
                raise SystemExit(f"A game did not end well: {done.sentence if done else 'no answer'}")
            blocks[done.id] = done.block
            plies, evaluations, visits = plies + done.plies, evaluations + done.evaluations, visits + done.visits
    say(
        f"stage {number}: {stage.games} games, {plies / stage.games:.1f} plies a game, "
        f"{evaluations / visits:.3f} evaluations a visit, {time.process_time() - started:.0f} s"
    )
    return [blocks[i] for i in range(stage.games)]


def packed(game: GameBlock) -> bytes:
    """The rows of a game."""
    rules = Rules(SIZE, SIZE, game.header.komi_half, pass_alive=True, settled_end=True, move_cap=3 * SIZE * SIZE)
    return pack_game(rules, game.raw)


def train(learner: Learner, window: Window, stage: Stage, number: int) -> None:
    """The stage's steps."""
    seed = hashlib.sha256(f"forge steps {number}".encode()).digest()
    sampler = Sampler(seed, window.numbers(held_out=False), stage.minibatch)
    started = time.process_time()
    for step in range(stage.steps):
        learner.step(sharpened(collate(window, *sampler.minibatch(step)), stage.sharpness), step)
        if (step + 1) % 50 == 0 or step + 1 == stage.steps:
            losses = " ".join(f"{name[:-5]} {loss:.3f}" for name, loss in zip(PARTS, learner.running, strict=True))
            say(f"stage {number}: step {step + 1} of {stage.steps}, {losses}, {time.process_time() - started:.0f} s")


def export(learner: Learner, window: Window) -> bytes:
    """The integer network of the averaged weights."""
    net = learner.averaged()
    keys = random_words(bytes(32), "forge calibration", 0, len(window))
    numbers = np.sort(np.argsort(keys, kind="stable")[:CALIBRATION_ROWS])
    parts = [
        collate(window, numbers[at : at + PART_ROWS], numbers[at : at + PART_ROWS] % 8)
        for at in range(0, len(numbers), PART_ROWS)
    ]
    measure(net, parts)
    return quantise(net, observe(net, parts)).encode()


def say(text: str) -> None:
    """One line for whoever watches."""
    print(time.strftime("%H:%M:%S"), text, flush=True)


def window_of(folder: Path, number: int) -> Window:
    """The rows of a stage's window, from the files of its games."""
    first = max(0, number - STAGES[number].window + 1)
    files = [folder / games_name(earlier) for earlier in range(first, number + 1) if STAGES[earlier].games]
    batches = (parse_batch(decompress(file.read_bytes(), 2**30), LIMITS) for file in files)
    return Window.of(packed(game) for batch in batches for game in batch.games)


def sharpened(batch: Minibatch, power: float) -> Minibatch:
    """The minibatch with its policy targets to this power, again with sums of 1."""
    target = batch.policy**power
    sums = target.sum(1, keepdim=True)
    return replace(batch, policy=target / sums.where(sums > 0, sums.new_ones(()))) if power != 1 else batch


def games_name(number: int) -> str:
    """The file of a stage's games."""
    return f"games-{number}.bin"


def learner_of(folder: Path, number: int, stage: Stage) -> Learner:
    """Goes on from the stage before, if that has the same shape."""
    manifest = manifest_of(stage)
    if number and STAGES[number - 1].shape == stage.shape:
        state, _ = TrainState.load(folder / f"state-{number - 1}.bin")
        return Learner.resume(manifest, state)
    return Learner(manifest, hashlib.sha256(stage.shape.encode()).digest())


def main() -> None:
    """Runs the stages that DIR lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    folder = parser.parse_args().directory
    folder.mkdir(parents=True, exist_ok=True)
    pin(1)
    network: Network | None = None
    for number, stage in enumerate(STAGES):
        games, path = folder / games_name(number), folder / f"network-{number}.net"
        if stage.games and not games.exists():
            store(games, compress(encode_batch(play(network, stage, number))))
        if not path.exists():
            window = window_of(folder, number)
            say(f"stage {number}: {len(window)} rows")
            learner = learner_of(folder, number, stage)
            train(learner, window, stage, number)
            learner.state(Position(bytes(32), 0, ())).store(folder / f"state-{number}.bin")
            store(path, export(learner, window))
        network = Network.load(path.read_bytes())


if __name__ == "__main__":
    main()
