"""Every kind of edit to a batch is rejected with its own named reason, and nothing honest is."""

from dataclasses import replace
from time import perf_counter

import pytest

from native.errors import BlockError
from native.network import Kernel
from native.rows import check_block
from native.search import Player
from protocol.compress import compress
from protocol.game_block import GameBlock
from protocol.header import BatchHeader
from tests.verification import edits
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.admission import check_batch, check_games
from verification.faults import LogFault, Rejected
from verification.proof import check_proof
from verification.setup import game_rules, selfplay_job, selfplay_series


def other_legal_move(block: GameBlock) -> bytes:
    """Another move that the rules and all counts of the game allow, so that only a search can tell."""
    rules = game_rules(small_manifest().rules, 7, block.header.komi_half)
    for index in reversed(range(block.header.plies)):
        for candidate in range(block.header.points):
            changed = edits.move(index, candidate)(block)
            if changed != block.raw:
                try:
                    check_block(rules, changed)
                except BlockError:
                    continue
                return changed
    raise AssertionError("this game has no such move")


CHEAP = {
    "illegal move": edits.move(3),
    "visits sum": edits.more_visits(4),
    "visits on illegal move": edits.visits_on_occupied(5),
    "policy target": edits.policy_target(2),
    "value range": edits.value(1, delta=1 << 25),
    "counter": edits.header(counter=7),
    "setup": edits.header(komi_half=3),
}


def result_flipped(block: GameBlock) -> bytes:
    """Another winner, with the score left as it is."""
    return edits.header(result=3 - block.header.result)(block)


def score_changed(block: GameBlock) -> bytes:
    """Another score with the same winner."""
    step = 2 if block.header.score_half > 0 else -2
    return edits.header(score_half=block.header.score_half + step)(block)


def end_changed(block: GameBlock) -> bytes:
    """Another reason for the end."""
    return edits.header(end=2 if block.header.end != 2 else 1)(block)


CHEAP |= {"result": result_flipped, "final score": score_changed, "end": end_changed}


@pytest.mark.parametrize("label", CHEAP)
def test_cheap_checks_name_the_edit(world: World, label: str) -> None:
    number = 0 if label == "counter" else 1
    change = CHEAP[label]
    edit = (
        (lambda blocks: [change(GameBlock.parse(blocks[0])), *blocks[1:]]) if number == 0 else edits.of_game(1, change)
    )
    if label == "counter":  # both games, so that they still follow each other
        edit = lambda blocks: [edits.header(counter=7 + n)(GameBlock.parse(b)) for n, b in enumerate(blocks)]  # noqa: E731
    batch = world.play(world.peers["ada"], edit=edit)
    rejected = world.judge(batch)
    assert rejected is not None
    assert rejected.label == label
    assert rejected.game == number
    assert batch.verdict is not None
    assert batch.verdict.reason.startswith(f"{label}: ")
    world.admit()
    assert batch.decision is not None
    assert batch.decision.outcome == "rejected"


REPLAYED = {
    "value": edits.value(6),
    "score": edits.score(6),
    "visits": edits.moved_visits(6),
    "trace": edits.trace(6),
    "move": other_legal_move,
}


@pytest.mark.parametrize("label", REPLAYED)
def test_replay_names_the_edit(world: World, label: str) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, REPLAYED[label]))
    rejected = world.judge(batch)
    assert rejected is not None
    assert rejected.label == label
    assert rejected.game == 1
    assert rejected.ply is not None
    assert batch.verdict is not None
    assert batch.verdict.drawn == (0, 1)


def test_games_of_another_seed_are_found(world: World) -> None:
    """The peer's own games with counters 2 and 3 are signed as 0 and 1."""
    ada = world.peers["ada"]
    later = World()
    key = later.register("ada")
    later.play(key)
    blocks = later.games(key, 2)

    def relabel(_: list[bytes]) -> list[bytes]:
        return [edits.header(counter=n)(GameBlock.parse(block)) for n, block in enumerate(blocks)]

    batch = world.play(ada, edit=relabel)
    rejected = world.judge(batch)
    assert rejected is not None
    assert rejected.label in ("setup", "search")


def test_games_of_another_network_are_found(world: World) -> None:
    def weaker(_: list[bytes]) -> list[bytes]:
        release = world.state.release
        player = Player(None, release.id)
        jobs = [selfplay_job(world.state, release, world.peers["ada"].public, n, player) for n in range(2)]
        return world.play_blocks(jobs)

    batch = world.play(world.peers["ada"], edit=weaker)
    rejected = world.judge(batch)
    assert rejected is not None
    assert rejected.label == "search"
    assert batch.verdict is not None
    assert batch.verdict.drawn == (0,)  # the replay stopped at the first mismatch


def test_a_game_that_goes_on_after_its_end_is_proved(world: World) -> None:
    """No move is legal then, so its plies have visits where none may be; the proof is of the rules."""
    ada = world.peers["ada"]

    def longer(blocks: list[bytes]) -> list[bytes]:
        release = world.state.release
        jobs = [selfplay_job(world.state, release, ada.public, n, world.player(release)) for n in range(len(blocks))]
        return world.play_blocks([replace(job, rules=replace(job.rules, move_cap=2 * 49)) for job in jobs])

    batch = world.play(ada, edit=longer)
    rejected = world.judge(batch)
    assert rejected is not None
    assert rejected.label == "illegal move"
    finding = check_proof(world.accusation(batch), world.run, world.networks.get)
    assert (finding.subject, finding.kind) == (ada.public, "rules")


def test_a_changed_signature_never_reaches_the_log(world: World) -> None:
    ada = world.peers["ada"]
    entry = world.header(ada, world.games(ada, 2)).seal(ada).encode()
    sig = entry.rindex(b"\xa3sig")
    changed = entry[: sig + 10] + bytes([entry[sig + 10] ^ 1]) + entry[sig + 11 :]
    with pytest.raises(LogFault, match="bad signature"):
        world.state.apply(changed)


# ---- the blob against what is signed


def rejection(world: World, header: BatchHeader, blob: bytes) -> str:
    series = selfplay_series(world.state, world.state.release, header.peer)
    with pytest.raises(Rejected) as rejected:
        check_games(header, blob, series)
    return rejected.value.label


def test_blobs_that_are_not_what_was_signed(world: World) -> None:
    ada = world.peers["ada"]
    blocks = world.games(ada, 2)
    header = world.header(ada, blocks)
    blob = world.blobs[header.blob_digest]
    check_games(header, blob, selfplay_series(world.state, world.state.release, ada.public))
    assert rejection(world, header, blob[:-1]) == "blob length"
    assert rejection(world, header, blob[:-1] + bytes([blob[-1] ^ 1])) == "blob digest"
    assert rejection(world, replace(header, games=1), blob) == "game count"
    assert rejection(world, replace(header, plies=header.plies + 1), blob) == "ply count"
    assert rejection(world, replace(header, first_counter=1), blob) == "counter"
    assert rejection(world, replace(header, batch_root=bytes(32)), blob) == "batch root"
    assert rejection(world, replace(header, raw_len=header.raw_len + 1), blob) == "raw length"
    assert rejection(world, replace(header, raw_len=2**24), blob) == "size limit"

    def signed(content: bytes, raw_len: int = 5) -> BatchHeader:
        return replace(header, blob_digest=world.put(content), blob_len=len(content), raw_len=raw_len)

    assert rejection(world, signed(b"not zstd"), b"not zstd") == "compression"
    bomb = compress(bytes(2**23 + 1))
    assert rejection(world, signed(bomb), bomb) == "size limit"
    odd = compress(b"hello")
    assert rejection(world, signed(odd), odd) == "batch format"


def test_a_batch_made_with_the_fastest_kernel_passes_the_scalar_one() -> None:
    world = World(kernel=Kernel.best(), verifier_kernel=Kernel.SCALAR)
    ada = world.register("ada")
    for _ in range(3):
        batch = world.play(ada)
        assert world.judge(batch) is None
        world.admit()
        assert batch.is_accepted_batch


def test_checks_are_fast(world: World) -> None:
    """An audit checks hundreds of batches: at least 10,000 plies a second, on a busy machine."""
    batch = world.play(world.peers["ada"])
    blob = world.blobs[batch.header.blob_digest]
    start = perf_counter()
    for _ in range(50):
        check_batch(world.state, batch, blob)
    assert 50 * batch.header.plies / (perf_counter() - start) > 10_000
