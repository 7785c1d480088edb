"""A long log: proofs, tiles, starts; a head costs what it adds, whatever lies below it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.log import LongLog
from node.disk.publisher import Publisher
from protocol.errors import BadDigest
from protocol.tiles import narrow_tiles, tiles_between

NEXT = 64


@pytest.fixture(scope="module", params=[10_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LongLog]:
    """A log of random entries with a published head."""
    log = LongLog(tmp_path_factory.mktemp("log"))
    log.append(request.param)
    log.publish()
    yield log
    log.store.close()


def test_every_proof_holds_and_is_quick(log: LongLog) -> None:
    inclusion_ms, consistency_ms = log.prove()
    assert inclusion_ms < 5
    assert consistency_ms < 5


def test_a_head_writes_what_it_adds_and_lists_nothing(log: LongLog, monkeypatch: pytest.MonkeyPatch) -> None:
    old = log.state.size
    log.append(old + NEXT)
    written, dropped = [], []
    write, drop = Publisher._write, Publisher._drop

    def seen(self: Publisher, path: str, data: bytes, is_durable: bool = True) -> None:
        written.append(path)
        write(self, path, data, is_durable)

    def seen_drop(self: Publisher, file: Path) -> None:
        dropped.append(file)
        drop(self, file)

    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "_write", seen)
        patch.setattr(Publisher, "_drop", seen_drop)
        for name in ("rglob", "glob", "iterdir"):
            patch.delattr(Path, name)
        log.publish()
    assert written == [*(tile.path for tile in tiles_between(old, old + NEXT)), "checkpoint"]
    assert len(written) <= 8
    replaced = set(narrow_tiles(old)) - set(narrow_tiles(old + NEXT))
    assert {file.relative_to(log.public).as_posix() for file in dropped} == {tile.path for tile in replaced}
    log.check_tiles()


@pytest.mark.parametrize("how", ["removed", "cut"])
def test_a_start_makes_full_tiles_good(how: str, log: LongLog) -> None:
    files = [log.public / path for path in ("tile/entries/003", "tile/0/038", "tile/1/000.p/39")]
    before = [file.read_bytes() for file in files if file.exists()]
    assert len(before) >= 2
    for file in files:
        if how == "removed":
            file.unlink(missing_ok=True)
        elif file.exists():
            file.write_bytes(file.read_bytes()[:-32])
    log.open(is_cold=False)
    assert [file.read_bytes() for file in files if file.exists()] == before
    log.check_tiles()


@pytest.mark.parametrize("path", ["tile/entries/003", "tile/0/038"])
def test_a_changed_byte_is_found(path: str, log: LongLog) -> None:
    file = log.public / path
    data = file.read_bytes()
    file.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    with pytest.raises((BadDigest, AssertionError)):
        log.check_tiles()
    file.write_bytes(data)
    log.check_tiles()
