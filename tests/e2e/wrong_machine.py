"""`python -m tests.e2e.wrong_machine N ...` is `gonode join ...` on a machine whose canaries come out N times."""

import sys

from node.cli import main
from node.engine.settings import EngineSettings

WELL = sys.argv.pop(1)


def command(self: EngineSettings) -> list[str]:
    """An engine that computes wrongly in the end."""
    return [sys.executable, "-m", "tests.node.engine.wrong_serve", WELL]


if __name__ == "__main__":
    EngineSettings.command = command  # type: ignore[method-assign]
    sys.argv[1:] = ["join", *sys.argv[1:]]
    main()
