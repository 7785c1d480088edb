"""The log after a kill at any write: nothing that was told is lost, the folder shows a whole head, the next one follows."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from node.disk.store import Store
from tests.node.disk.killed_log import make_base, make_world, publish_next
from tests.node.log_desk import Desk, audit_folder

ROOT = Path(__file__).parents[3]


def start(how: str, folder: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tests.node.disk.killed_log", how, str(folder), *more], cwd=ROOT)


def check(folder: Path, is_whole: bool) -> int:
    """What was told holds, and the log goes on; gives the size of the log that was left.

    `is_whole`: the folder shows a whole head before the node starts again, too.
    """
    world = make_world()
    answers = audit_folder(folder / "public", world.run)
    assert answers["head"][0] or not is_whole, answers["head"]
    with Store(folder / "node.db") as store:
        size = store.log_size
    desk = Desk(folder, world)
    try:
        tree = world.state.tree
        heads = {}
        shown = 0
        for kind, number, *root in map(str.split, (folder / "told").read_text().splitlines()):
            match kind:
                case "entry":
                    assert int(number) < tree.size, "an entry is lost"
                case "head":
                    heads[int(number)] = bytes.fromhex(root[0])
                case "shown":
                    shown = int(number)
        for head in desk.store.heads():
            heads.setdefault(head.size, head.root)
            assert heads[head.size] == head.root, "two heads of one size"
        for number, root_hash in heads.items():
            assert tree.root(number) == root_hash, "the log forked"
        desk.audit()
        assert desk.published() >= shown
        assert publish_next(desk) == desk.published()
        desk.audit()
    finally:
        desk.store.close()
    return size


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("how", ["steps", "cuts"])
def test_a_kill_before_any_write_leaves_a_valid_log(how: str, every: int, tmp_path: Path) -> None:
    make_base(tmp_path / "base")
    assert start(how, tmp_path, str(every)).wait(120) == 0
    folders = sorted((each for each in tmp_path.iterdir() if each.name != "base"), key=lambda each: int(each.name))
    assert len(folders) * every > 70, "the work has become shorter: does it still write what it should?"
    sizes = [check(folder, is_whole=how == "steps") for folder in folders]
    assert sizes == sorted(sizes)
    assert sizes[-1] - sizes[0] == 6


@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.soak)])
def test_a_log_survives_kills_at_any_time(kills: int, tmp_path: Path) -> None:
    folder = tmp_path / "base"
    make_base(folder)
    told = folder / "told"
    rng = Random(kills)
    for _ in range(kills):
        told.write_bytes(b"")
        writer = start("endless", tmp_path)
        while told.read_bytes().count(b"\n") < 20:
            assert writer.poll() is None
            time.sleep(0.01)
        time.sleep(rng.random() / 4)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        check(folder, is_whole=True)
