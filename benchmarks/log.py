"""What following a log costs: entries a second from their bytes to the state: `python -m benchmarks.log [--quick] [--json]`.

First with every signature verified, then again with signatures that this process has seen.
"""

import time

from benchmarks._run import arguments, show
from benchmarks._world import run_with
from protocol import envelope
from tests.verification.world import World
from verification.state import LogState


def apply_all(world: World) -> float:
    """Entries a second."""
    started = time.perf_counter()
    state = LogState(world.run)
    for entry in world.entries:
        state.apply(entry)
    return len(world.entries) / (time.perf_counter() - started)


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    world = run_with(40 if given.quick else 600)
    envelope._verified = envelope._Verified(16384)  # type: ignore[misc]
    show(
        [
            {"entries": len(world.entries), "signatures": "verified", "entries/s": apply_all(world)},
            {"entries": len(world.entries), "signatures": "known", "entries/s": apply_all(world)},
        ],
        given.json,
    )


if __name__ == "__main__":
    main()
