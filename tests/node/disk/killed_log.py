"""A coordinator that is killed while it writes its log.

`python -m tests.node.disk.killed_log steps FOLDER EVERY`: goes on with the log in `FOLDER/base`, from its start on, again
and again in `FOLDER/1`, `FOLDER/2`, ..., and is killed before its first, its second, ... write until one gets through: a
statement to SQLite, a half or a whole file, a synchronisation, a rename, a removal. `EVERY` 2 leaves out each second. `cuts`
in place of `steps` cuts the power as well: files that were not synchronised are cut in half.

`python -m tests.node.disk.killed_log endless FOLDER`: works in `FOLDER/base` until somebody kills it.

What the coordinator could have told others is in the file `told`.
"""

import os
import shutil
import sqlite3
import sys
import traceback
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.node.log_desk import Desk
from tests.verification.world import World

BASE_ENTRIES: Final = 252
"""So many that the work fills a tile."""

KILLED: Final = 9
_WRITES: Final = ("os.rename", "os.remove", "os.rmdir", "os.mkdir")


def make_world() -> World:
    """The run, whose two verifiers both have to cosign."""
    return World(verifiers=2)


def make_base(folder: Path) -> None:
    """A log of `BASE_ENTRIES` with a published head."""
    desk = Desk(folder, make_world())
    while desk.world.state.size < BASE_ENTRIES - 2:
        desk.tick()
    publish_next(desk)
    desk.store.close()


def publish_next(desk: Desk) -> int:
    """Signs a head that everybody cosigns; its size."""
    size = desk.sign()
    for verifier in desk.world.verifiers:
        desk.cosign(verifier, size)
    return size


def work(desk: Desk, told: Callable[[str], None]) -> None:
    """Entries, and a head that everybody cosigns; `told` hears of each once others could."""
    for _ in range(4):
        told(f"entry {desk.tick()}")
    size = desk.sign()
    told(f"head {size} {desk.world.state.tree.root(size).hex()}")
    for verifier in desk.world.verifiers:
        desk.cosign(verifier, size)
    told(f"shown {size}")


class Killer:
    """Ends this process before write number `at`; with `is_cut` the power goes as well."""

    def __init__(self, at: int, is_cut: bool) -> None:
        self._at = at
        self._is_cut = is_cut
        self._writes = 0
        self._unsynchronised: set[str] = set()
        self._connect, self._sync, self._write = sqlite3.connect, os.fsync, Path.write_bytes

    def arm(self) -> None:
        """From here on writes are counted."""
        sys.addaudithook(self._heard)
        sqlite3.connect = self._traced  # type: ignore[assignment]
        os.fsync = self._fsync
        Path.write_bytes = lambda path, data: self._write_in_two(path, data)  # type: ignore[method-assign]

    def step(self, what: object = None) -> None:
        """One write is about to be."""
        self._writes += 1
        if self._writes == self._at:
            for name in self._unsynchronised if self._is_cut else ():
                os.truncate(name, os.stat(name).st_size // 2)
            os._exit(KILLED)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _WRITES:
            self.step()
            source = os.fspath(args[0])
            if event == "os.rename" and source in self._unsynchronised:
                self._unsynchronised.add(os.fspath(args[1]))
            self._unsynchronised.discard(source)

    def _traced(self, *args: Any, **more: Any) -> sqlite3.Connection:
        connection = self._connect(*args, **more)
        connection.set_trace_callback(self.step)
        return connection

    def _fsync(self, descriptor: int) -> None:
        self.step()
        self._sync(descriptor)
        self._unsynchronised.discard(os.readlink(f"/proc/self/fd/{descriptor}"))

    def _write_in_two(self, path: Path, data: bytes) -> int:
        self.step()
        self._write(path, data[: len(data) // 2])
        self._unsynchronised.add(str(path))
        self.step()
        return self._write(path, data)


def killed_at(step: int, folder: Path, world: World, is_cut: bool) -> bool:
    """Does the work in a child process that is killed at `step`; whether it was, or got through."""
    child = os.fork()
    if child == 0:
        try:
            with (folder / "told").open("w", buffering=1) as told:
                Killer(step, is_cut).arm()
                work(Desk(folder, world), lambda line: print(line, file=told))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, KILLED), status
    return status == KILLED


def main() -> None:
    """See above."""
    how, folder = sys.argv[1], Path(sys.argv[2])
    world = make_world()
    if how == "endless":
        desk = Desk(folder / "base", world)
        with (folder / "base" / "told").open("a", buffering=1) as told:
            while True:
                work(desk, lambda line: print(line, file=told))
    for step in count(1, int(sys.argv[3])):
        shutil.copytree(folder / "base", folder / str(step))
        if not killed_at(step, folder / str(step), world, how == "cuts"):
            return


if __name__ == "__main__":
    main()
