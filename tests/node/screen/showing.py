"""A process that shows a contributor's panel, for tests on a pseudo-terminal: `python showing.py WAY DIRECTORY`.

The ways: `runs` (until it is told to end), `fails` (an error half a second later), `hangs` (ignores a drain).
"""

import sys
from pathlib import Path

import trio

from node.disk.home import Home
from node.lifetime import Lifetime
from node.screen.level import Level
from node.screen.screen import Output, open_screen
from tests.node.screen.statuses import contributor


async def main(way: str, directory: Path, plain: bool) -> int:
    """Runs a node that only shows."""
    screen = open_screen("contributor", Output(plain=plain, level=Level.INFO))
    ended = trio.Event()

    async def role() -> None:
        screen("playing", "Playing with release r0123.", release="r0123", counter=0)
        if way == "fails":
            await trio.sleep(0.5)
            raise OSError(28, "No space left on device", "node.db")
        while not ended.is_set():
            screen("game", "Game 7 finished after 44 plies: B+3.5.", counter=7, plies=44, visits=900, result="B+3.5")
            with trio.move_on_after(0.3):
                await ended.wait()

    drain = ended.set if way != "hangs" else lambda: None
    lifetime = Lifetime(Home(directory), screen, drain, "Draining.", contributor, dict, beside=(screen.run,))
    return await lifetime.run(role)


if __name__ == "__main__":
    sys.exit(trio.run(main, sys.argv[1], Path(sys.argv[2]), "plain" in sys.argv[3:]))
