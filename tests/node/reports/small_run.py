"""A small run to report on: releases, refused candidates, a cheat that is banned, and heads with times."""

from dataclasses import replace
from pathlib import Path

from node.disk.home import Home
from node.disk.store import Head, Store
from protocol import checkpoint as notes
from protocol import seeds
from protocol.checkpoint import Checkpoint
from tests.node.homes import make_home
from tests.verification import edits
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.witness import witness_name

FIRST_UNIX_S = 1_700_000_000
SECONDS_AN_ENTRY = 60
ENTRIES_A_HEAD = 10


def small_run() -> World:
    """Four cycles, of which those pass whose candidate scores half, and one given up; a batch with a wrong value; one that
    waits.
    """
    manifest = small_manifest()
    world = World(replace(manifest, gate=replace(manifest.gate, win_rate_ppm=500_000)), word="report")
    world.register("ada")
    world.register("bob")
    outcomes = [world.cycle() for _ in range(4)]
    assert set(outcomes) == {False, True}
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    world.give_up("loss-spike")
    world.register("eve")
    world.judge(world.play(world.peers["eve"], edit=edits.of_game(0, edits.value(0))))
    world.admit()
    world.play(world.peers["bob"])
    return world


def timed_home(world: World, directory: Path) -> Home:
    """The coordinator's directory, with a head each ten entries, a minute an entry."""
    home = make_home(world, directory)
    with Store(home.database) as store:
        for size in range(ENTRIES_A_HEAD, world.state.size + 1, ENTRIES_A_HEAD):
            head = Checkpoint(seeds.log_origin(world.run), size, world.state.tree.root(size))
            note = head.sign(world.coordinator)
            at = FIRST_UNIX_S + SECONDS_AN_ENTRY * size
            lines = [notes.cosign(head.body(), key, witness_name(key.public), at) for key in world.verifiers]
            store.put_head(Head(size, head.root_hash, note.with_signatures(lines).encode()))
    return home
