"""What anybody pays to check a fraud proof: `python -m benchmarks.proof [--quick] [--json] [--kernel K]`.

The proof is of one edited value in the middle of a game of the default run, b6c96 on 9x9, at a full search of 100 visits. A
check begins with bytes and believes nobody: signatures, inclusions, the first network drawn from its manifest, its loading,
and one search in which nothing is in a cache. Kernels take turns; times are wall-clock seconds.
"""

import time
from collections.abc import Callable

from benchmarks._run import Row, Summary, arguments, rounds, show_all
from native.network import Kernel
from native.search import Kind
from node.founding.manifest_file import load_manifest
from protocol.batch import Batch, unpack_batch
from protocol.game_block import GameBlock
from protocol.proof import PLY
from tests.verification import edits
from tests.verification.world import World
from verification.proof import check_proof
from verification.proof_builder import Evidence, build_proof

BEST_S, SCALAR_S = 1.0, 5.0
"""How long a check may take with the best kernel and with the scalar one."""


def middle(block: GameBlock) -> int:
    """The number, among the searched plies, of the full search nearest to the middle of the game."""
    full = [index for index, kind in enumerate(block.kinds) if kind == Kind.FULL]
    return min(full, key=lambda index: abs(2 * index - len(block.kinds)))


def wrong_game(world: World) -> bytes:
    """A proof against a contributor of the world, whose one game has one value that no search gave."""

    def edit(block: GameBlock) -> bytes:
        return edits.value(middle(block))(block)

    batch = world.play(world.register("ada"), games=1, edit=edits.of_game(0, edit), final=True)
    content: Batch = unpack_batch(world.blobs[batch.header.blob_digest], batch.header.raw_len)
    block = content.games[0]
    evidence = Evidence(PLY, 0, block.plies[middle(block)])
    return build_proof(world.state, world.entry, world.note(), batch, content, evidence)


def check_with(world: World, proof: bytes, kernel: Kernel) -> Callable[[], float]:
    """One check of a proof that holds, and the seconds that it took."""

    def check() -> float:
        started = time.perf_counter()
        check_proof(proof, world.run, world.networks.get, kernel)
        return time.perf_counter() - started

    return check


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    best = Kernel.best() if given.kernel == Kernel.BEST else given.kernel
    world = World(load_manifest(None))
    proof = wrong_game(world)
    checks = [check_with(world, proof, kernel) for kernel in (best, Kernel.SCALAR)]
    fast, slow = (Summary.of(found) for found in rounds(checks, 6.0 if given.quick else 30.0))
    row: Row = {
        "bytes": len(proof),
        "kernel": best.encode(),
        "seconds_best": fast.median,
        "spread_best": fast.spread,
        f"of {BEST_S:g} s": fast.median / BEST_S,
        "seconds_scalar": slow.median,
        "spread_scalar": slow.spread,
        f"of {SCALAR_S:g} s": slow.median / SCALAR_S,
    }
    show_all({"check of a fraud proof, one ply of b6c96 on 9x9, 100 visits": [row]}, given.json)


if __name__ == "__main__":
    main()
