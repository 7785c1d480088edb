"""`gonode export sgf`: files that read back as the games of the blobs, by release, contributor and name; refusals."""

from pathlib import Path

from node.disk.home import Home
from node.exchange.replay import play_record, record_rules
from node.exchange.sgf_reader import parse_record
from protocol.batch import game_leaf, unpack_batch
from protocol.game_block import GameBlock
from protocol.merkle import leaf_hash
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import grown_world


def blocks() -> dict[str, tuple[int, GameBlock]]:
    """Every released game by its name, and its batch's entry."""
    world = grown_world()
    found = {}
    for batch in world.state.batches.released:
        for block in unpack_batch(world.blobs[batch.header.blob_digest], batch.header.raw_len).games:
            found[leaf_hash(game_leaf(block)).hex()] = batch.index, block
    return found


def test_all_games_read_back(home: Home, tmp_path: Path) -> None:
    expected = blocks()
    out = tmp_path / "all"
    found = the_object(gonode("export", "sgf", "--dir", home.directory, "--out", out, "--json"))
    assert (found["games"], found["missing_batches"]) == (len(expected), 0)
    assert {each["name"] for each in found["files"]} == set(expected)
    entries = [expected[each["name"]][0] for each in found["files"]]
    assert entries == sorted(entries, reverse=True)
    for each in found["files"][:8]:
        entry, block = expected[each["name"]]
        assert Path(each["path"]).name.startswith(f"{entry:08d}-")
        record = parse_record(Path(each["path"]).read_bytes())
        assert tuple(move.point for move in record.moves) == block.moves
        assert record.result == block.header.outcome
        assert play_record(record, record_rules(record)).num_moves == block.header.moves
        comments = [move.comment for move in record.moves]
        assert all(f"{sum(block.visits(ply))} visits: Black wins" in comments[ply] for ply in block.plies)
        assert all(not comments[ply] for ply in range(block.header.opening_moves))
        assert "of ada (" in record.start.comment


def test_some_games(home: Home, tmp_path: Path) -> None:
    expected = blocks()
    base = ("export", "sgf", "--dir", home.directory, "--json", "--out")
    newest = the_object(gonode(*base, tmp_path / "newest", "--newest", 3))
    assert newest["games"] == 3
    last = sorted((entry for entry, _ in expected.values()), reverse=True)[:3]
    assert [expected[each["name"]][0] for each in newest["files"]] == last
    name = min(expected)
    one = the_object(gonode(*base, tmp_path / "one", name[:12].upper()))
    assert [each["name"] for each in one["files"]] == [name]
    counts = [
        the_object(gonode(*base, tmp_path / release, "--release", release, "--contributor", "ada"))["games"]
        for release in sorted({str(number) for number in released()})
    ]
    assert sum(counts) == len(expected)
    key = grown_world().state.registry.peers[0].hex()
    assert the_object(gonode(*base, tmp_path / "key", "--contributor", key[:8]))["games"] == len(expected)
    text = gonode("export", "sgf", name, "--dir", home.directory, "--out", tmp_path / "text")
    assert (text.out, text.err) == (f"1 game: {tmp_path / 'text'}.\n", "")


def released() -> set[int]:
    """Numbers of the releases that played released games."""
    state = grown_world().state
    found = [state.release_by_id(batch.header.release) for batch in state.batches.released]
    return {release.number for release in found if release is not None}


def test_what_it_refuses(home: Home, tmp_path: Path) -> None:
    def refusal(*words: object) -> str:
        return gonode("export", "sgf", "--dir", home.directory, "--out", tmp_path / "out", *words).refusal()

    assert "is not a release of this run; it has first, " in refusal("--release", "r9999")
    assert "is neither the name of a contributor" in refusal("--contributor", "nobody")
    assert "is not a game's name" in refusal("game")
    assert refusal("0" * 64) == "There is no such game here."
    (tmp_path / "out" / "file").touch()
    assert "something is in this folder" in refusal()
    assert (
        "neither a node's directory"
        in gonode("export", "sgf", "--dir", tmp_path / "none", "--out", tmp_path / "new").refusal()
    )
