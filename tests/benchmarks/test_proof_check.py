"""The fraud proof whose check is timed: it holds, is of the middle of a game, and is checked in the time promised."""

from statistics import median

from benchmarks.proof import BEST_S, SCALAR_S, check_with, wrong_game
from native.network import Kernel
from native.search import Kind
from node.founding.manifest_file import load_manifest
from protocol.batch import unpack_batch
from protocol.game_block import PlyRecord
from protocol.proof import PLY, FraudProof
from tests.verification.world import World
from verification.proof import check_proof


def test_the_proof_is_of_a_full_search_in_the_middle_of_a_game() -> None:
    world = World()
    proof = wrong_game(world)
    found = check_proof(proof, world.run, world.networks.get)
    assert (found.subject, found.kind) == (world.peers["ada"].public, PLY)
    assert "another value at ply" in found.sentence
    (block,) = unpack_batch(next(iter(world.blobs.values())), 2**20).games
    plies = block.plies
    assert found.ply in plies[len(plies) // 4 : -len(plies) // 4]
    assert PlyRecord.parse(FraudProof.parse(proof).ply, 7).kind == Kind.FULL


def test_a_check_takes_no_longer_than_promised() -> None:
    world = World(load_manifest(None))
    assert world.manifest.selfplay.visits_full == 100
    proof = wrong_game(world)
    best, scalar = (check_with(world, proof, kernel) for kernel in (Kernel.BEST, Kernel.SCALAR))
    assert scalar() < SCALAR_S
    if Kernel.best() != Kernel.SCALAR:
        assert median(best() for _ in range(3)) < BEST_S
