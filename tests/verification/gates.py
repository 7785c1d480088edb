"""A world with a candidate, and gate games of made-up scores: assigned, answered, accepted. For tests."""

from dataclasses import replace

from protocol.gate import GatePair, GateResult
from protocol.manifest import Manifest
from protocol.window import RoundingReport, TrainRecord
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.world import WELL_ROUNDED, World
from verification.gate_state import GateResultInfo, GateState
from verification.replay import Replayed

WON, SPLIT, LOST = (1, 2), (1, 1), (2, 1)


def gated(**changes: object) -> Manifest:
    manifest = small_manifest()
    return replace(manifest, gate=replace(manifest.gate, **changes))  # type: ignore[arg-type]


def candidate(manifest: Manifest | None = None, rounding: RoundingReport = WELL_ROUNDED) -> World:
    """A run with an open gate and nothing given out, whose candidate lost so much by rounding."""
    world = World(manifest)
    world.register("ada")
    world.register("bob")
    while world.state.due_window() is None:
        for peer in world.peers.values():
            world.batch(peer)
    world.train(rounding=rounding)
    return world


def opened() -> tuple[World, TrainRecord]:
    """A run with an untrained window, its second, and a train record that fits it."""
    world = candidate(gated(kind="always"))
    world.gate()
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    good = world.training()
    world.state.check(good.seal(world.coordinator).encode())
    return world, good


def gate_of(world: World) -> GateState:
    gate = world.state.gates.open
    assert gate is not None
    return gate


def assign(world: World, player: str) -> int:
    key = world.peers[player]
    due = world.state.next_gate_assignment(key.public)
    assert due is not None
    return world.log(due, world.coordinator)


def answer(world: World, index: int, player: str, scores: list[tuple[int, int]]) -> GateResultInfo:
    """A result that nobody played: the state cannot tell."""
    key = world.peers[player]
    record = GateResult(
        world.run,
        index,
        key.public,
        tuple(GatePair(*pair) for pair in scores),
        digest_of("root"),
        digest_of(f"blob {index}"),
        100,
        200,
    )
    world.log(record, key)
    world.share_set()
    slot = gate_of(world).by_assignment[index]
    assert slot.result is not None
    return slot.result


def accept(world: World, info: GateResultInfo) -> None:
    drawn = info.drawn
    world.say(info, Replayed(drawn, (digest_of("d"),) * len(drawn), None), None)
