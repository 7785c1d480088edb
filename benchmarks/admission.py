"""What a verifier's cheap checks cost, which every batch gets: `python -m benchmarks.admission [--quick] [--json]`."""

import time

from benchmarks._run import arguments, show
from benchmarks._world import run_with
from verification.admission import check_batch


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    world = run_with(20 if given.quick else 200)
    batches = world.state.batches.all
    started = time.perf_counter()
    for batch in batches:
        check_batch(world.state, batch, world.blobs[batch.header.blob_digest])
    spent = time.perf_counter() - started
    games = sum(batch.header.games for batch in batches)
    plies = sum(batch.header.plies for batch in batches)
    blob = sum(batch.header.blob_len for batch in batches)
    show(
        [
            {
                "batches": len(batches),
                "games/s": games / spent,
                "plies/s": plies / spent,
                "bytes/ply": blob / plies,
                "ms/batch": spent / len(batches) * 1e3,
            }
        ],
        given.json,
    )


if __name__ == "__main__":
    main()
