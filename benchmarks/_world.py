"""The run that the benchmarks of log, admission and audit look at: a world with many batches of real 7x7 games."""

from dataclasses import replace

from protocol.manifest import WindowPolicy
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.replay import Replayed


def run_with(batches: int, games: int = 8, rows_a_game: int = 10) -> World:
    """A run of two contributors with `batches` batches of `games` games, of which the first `rows_a_game` times as many rows
    are its release's window."""
    manifest = small_manifest()
    rows = batches * games * rows_a_game
    manifest = replace(
        manifest,
        admission=replace(manifest.admission, games_per_batch=games, hold_back_batches=2, q_min_ppm=50_000),
        window=WindowPolicy(first_rows=rows, new_rows=2**40, floor_rows=2**40, exponent_ppm=10**6),
        network=replace(manifest.network, first="uniform"),
    )
    world = World(manifest)
    peers = [world.register("ada"), world.register("bob")]
    for number in range(batches):
        batch = world.play(peers[number % 2])
        if batch.draw(world.secret(world.verifiers[0], 0)):
            world.judge(batch)
        else:
            world.say(batch, Replayed((), (), None), None)
        world.admit()
        if world.state.due_window() is not None:
            world.train()
            world.gate()
    return world
