"""`gonode export npz`: files of a run's rows by network, their order, what is left out, interruption, and refusals."""

import re
from pathlib import Path

import numpy as np
import pytest

from native.rules import Rules
from node.disk.home import Home
from node.exchange.katago import export
from node.exchange.katago.rows import Row, game_rows
from protocol.batch import game_leaf, unpack_batch
from protocol.game_block import KIND_FULL, GameBlock
from protocol.layout import blob_path
from protocol.merkle import leaf_hash
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import grown_world, make_home


def released() -> list[tuple[str, GameBlock]]:
    """The games that the log released, in its order, each with the name of the release that played it."""
    world, found = grown_world(), []
    for batch in world.state.batches.released:
        release = world.state.release_by_id(batch.header.release)
        assert release is not None
        games = unpack_batch(world.blobs[batch.header.blob_digest], batch.header.raw_len).games
        found += [(release.name, block) for block in games]
    return found


def full_searches() -> list[int]:
    """How many each released game has."""
    return [block.kinds.count(KIND_FULL) for _, block in released()]


def names_in(path: Path) -> list[str]:
    """The games of a file in order, by what a row keeps of their names."""
    with np.load(path, allow_pickle=False) as npz:
        parts = npz["globalTargetsNC"][:, 41:47].astype(np.int64).tolist()
    found = [sum(part << at for part, at in zip(row, (0, 22, 44, 64, 86, 108), strict=True)) for row in parts]
    return list(dict.fromkeys(number.to_bytes(16, "little").hex() for number in found))


def name_of(block: GameBlock) -> str:
    return leaf_hash(game_leaf(block))[:16].hex()


def test_a_run(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "rows"
    found = the_object(gonode("export", "npz", "--dir", home.directory, "--pos-len", 7, "--out", out, "--json"))
    counts = full_searches()
    assert (found["games"], found["rows"]) == (sum(count > 0 for count in counts), sum(counts))
    assert (found["games_left_out"], found["missing_batches"]) == (counts.count(0), 0)
    assert sorted(found["files"]) == sorted(str(path) for path in out.rglob("*") if path.is_file())
    rows = 0
    for path in map(Path, found["files"]):
        with np.load(path, allow_pickle=False) as npz:
            assert npz["binaryInputNCHWPacked"].shape[1:] == (22, 7)
            assert npz["policyTargetsNCMove"].shape[1:] == (2, 50)
            rows += len(npz["globalInputNC"])
    assert rows == sum(counts)
    answer = gonode("export", "npz", "--dir", home.directory, "--newest", 1, "--out", tmp_path / "one")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"1 game, {counts[-1]} rows: {tmp_path / 'one'}.")


def test_folders_are_named_as_networks_of_katago_are(home: Home, tmp_path: Path) -> None:
    """Its folders are `NAME/tdata`; the untrained network is `random`; the others say samples and rows; a file's name is its
    own in any folder, and has no underscore."""
    out = tmp_path / "rows"
    the_object(gonode("export", "npz", "--dir", home.directory, "--pos-len", 7, "--out", out, "--json"))
    releases = grown_world().state.releases.all
    expected = {"random" if name == "first" else name for name, block in released() if KIND_FULL in block.kinds}
    assert {path.name for path in out.iterdir()} == expected
    assert len(expected) == 2
    for name in expected - {"random"}:
        release = next(each for each in releases if each.name == name)
        samples, rows = re.search(r"-s(\d+)-", name), re.search(r"-d(\d+)$", name)
        assert samples is not None
        assert rows is not None
        assert (int(samples[1]), int(rows[1])) == (release.samples, release.rows)
    files = [path for path in out.rglob("*") if path.is_file()]
    assert all(re.fullmatch(r"[0-9A-F]{16}\.npz", path.name) and path.parent.name == "tdata" for path in files)
    assert len({path.name for path in files}) == len(files) == 2


def test_the_oldest_games_are_written_first(home: Home, tmp_path: Path) -> None:
    """As `shuffle.py` wants it, whose window are the files that were changed last."""
    found = the_object(
        gonode("export", "npz", "--dir", home.directory, "--pos-len", 7, "--out", tmp_path / "all", "--json")
    )
    files = [Path(name) for name in found["files"]]
    assert [path.stat().st_mtime_ns for path in files] == sorted(path.stat().st_mtime_ns for path in files)
    expected = [name_of(block) for _, block in released() if KIND_FULL in block.kinds]
    assert [name for path in files for name in names_in(path)] == expected
    for newest in range(1, len(expected) + 2):
        out = tmp_path / str(newest)
        words = ("export", "npz", "--dir", home.directory, "--pos-len", 7, "--newest", newest)
        some = the_object(gonode(*words, "--out", out, "--json"))
        last = [name_of(block) for _, block in released()[-newest:] if KIND_FULL in block.kinds]
        assert [name for path in some["files"] for name in names_in(Path(path))] == last


def test_batches_that_are_not_here_are_passed_over(tmp_path: Path) -> None:
    """The newest game is then that of the batch before."""
    world = grown_world()
    home = make_home(world, tmp_path / "run")
    *_, before, last = world.state.batches.released
    (home.public / blob_path(last.header.blob_digest)).unlink()
    words = (
        "export",
        "npz",
        "--dir",
        home.directory,
        "--pos-len",
        7,
        "--newest",
        1,
        "--out",
        tmp_path / "rows",
        "--json",
    )
    found = the_object(gonode(*words))
    assert (found["games"], found["missing_batches"]) == (1, 1)
    expected = unpack_batch(world.blobs[before.header.blob_digest], before.header.raw_len).games[-1]
    assert names_in(Path(found["files"][0])) == [name_of(expected)]


def test_an_interrupted_export_leaves_whole_files_only(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the last game: the files that are there can be read, and nothing else is there."""
    last = released()[-1][1]
    written = export.export_rows

    def interrupted(rules: Rules, block: GameBlock, name: bytes, pos_len: int) -> list[Row]:
        if block.raw == last.raw:
            raise KeyboardInterrupt
        return list(game_rows(rules, block, name, pos_len))

    monkeypatch.setattr(export, "game_rows", interrupted)
    monkeypatch.setattr(export, "export_rows", lambda *words, **how: written(*words, rows_a_file=20, **how))
    out = tmp_path / "rows"
    answer = gonode("export", "npz", "--dir", home.directory, "--pos-len", 7, "--out", out)
    assert (answer.status, answer.out) == (130, "")
    files = [path for path in out.rglob("*") if path.is_file()]
    assert files
    for path in files:
        with np.load(path, allow_pickle=False) as npz:
            assert {len(npz[name]) for name in npz} == {20}
    again = gonode("export", "npz", "--dir", home.directory, "--pos-len", 7, "--out", out)
    assert "something is in this folder" in again.refusal()


def test_progress(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line on standard error each ten seconds, here at once."""
    monkeypatch.setattr("node.cli.audit_screen.EVERY_S", 0.0)
    answer = gonode("export", "npz", "--dir", home.directory, "--pos-len", 7, "--out", tmp_path / "rows")
    games = len(released())
    lines = [line.partition(" ")[2] for line in answer.err.splitlines()]
    assert lines == [f"export: {done} of {games} games" for done in range(1, games + 1)]


def test_what_it_refuses(home: Home, tmp_path: Path) -> None:
    def refusal(*words: object) -> str:
        return gonode("export", "npz", "--dir", home.directory, "--out", tmp_path / "out", *words).refusal()

    assert refusal("--pos-len", 5).endswith("The board is 7x7, and these rows have 5x5 points.")
    assert "is not a release of this run" in refusal("--release", "r9999")
    (tmp_path / "out" / "file").parent.mkdir(exist_ok=True)
    (tmp_path / "out" / "file").touch()
    assert "something is in this folder" in refusal()
