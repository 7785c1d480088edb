"""Tiles: paths, what growth makes, rebuilding a log from its bundles."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import tiles
from protocol.errors import BadDigest, ParseError, ProtocolError, TooLarge
from protocol.merkle import Tree, root_of_hashes
from protocol.tiles import ENTRIES, WIDTH, Tile
from tests.protocol.tile_files import tiles_for

LOG = [b"entry %d" % n for n in range(1200)]
TREE = Tree(LOG)


@settings(deadline=None, max_examples=300)
@given(st.integers(ENTRIES, 7), st.integers(0, 2**55 - 1), st.integers(1, 256))
def test_paths_round_trip(level: int, number: int, width: int) -> None:
    tile = Tile(level, number, width)
    assert Tile.parse(tile.path) == tile


def test_the_path_of_the_specification() -> None:
    assert Tile(3, 1234067).path == "tile/3/x001/x234/067"
    assert Tile(ENTRIES, 0, 12).path == "tile/entries/000.p/12"


@settings(deadline=None, max_examples=300)
@given(st.text("tile/entrisx0123456789.p\n", max_size=30) | st.text(max_size=20))
def test_other_paths_are_refused_by_name(path: str) -> None:
    try:
        tile = Tile.parse(path)
    except ProtocolError:
        return
    assert tile.path == path


def test_the_tiles_of_the_specifications_example() -> None:
    made = list(tiles.tiles_between(0, 70_000))
    count = {(level, width): 0 for level in (0, 1, 2) for width in range(1, 257)}
    for tile in made:
        if tile.level != ENTRIES:
            count[tile.level, tile.width] += 1
    assert {key: number for key, number in count.items() if number} == {
        (0, 256): 273,
        (0, 112): 1,
        (1, 256): 1,
        (1, 17): 1,
        (2, 1): 1,
    }
    assert sum(tile.level == ENTRIES for tile in made) == 274
    assert [tile.path for tile in tiles.tiles_between(255, 256)] == ["tile/entries/000", "tile/0/000", "tile/1/000.p/1"]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, len(LOG)), max_size=5))
def test_growing_in_steps_makes_the_tiles_of_the_whole(stops: list[int]) -> None:
    made: dict[str, bytes] = {}
    old = 0
    for new in sorted({*stops, len(LOG)}):
        made.update(tiles_for(old, new, TREE, LOG))
        old = new
    whole = dict(tiles_for(0, len(LOG), TREE, LOG))
    assert {path: made[path] for path in whole} == whole


@settings(deadline=None)
@given(st.integers(0, 2**17) | st.sampled_from((255, 256, 257, 65535, 65536, 65537)))
def test_narrow_tiles_are_those_that_are_not_full(size: int) -> None:
    assert list(tiles.narrow_tiles(size)) == [tile for tile in tiles.tiles_between(0, size) if tile.width < WIDTH]


def test_entries_before_the_last_bundle_are_not_asked_for() -> None:
    class Store(list[bytes]):
        def __getitem__(self, key: object) -> list[bytes]:  # type: ignore[override]
            assert isinstance(key, slice)
            assert key.start >= 1024
            return LOG[key]

    assert dict(tiles_for(1100, 1200, TREE, Store())) == dict(tiles_for(1100, 1200, TREE, LOG))


def test_hash_tiles_hold_what_the_specification_says() -> None:
    made = dict(tiles_for(0, len(LOG), TREE, LOG))
    leaves = [hash for n in range(4) for hash in tiles.parse_hashes(made[f"tile/0/00{n}"], WIDTH)]
    level_1 = tiles.parse_hashes(made["tile/1/000.p/4"], 4)
    assert level_1 == tuple(root_of_hashes(leaves[n * 256 : (n + 1) * 256]) for n in range(4))
    with pytest.raises(ParseError):
        tiles.parse_hashes(made["tile/1/000.p/4"], 5)


def test_rebuild_and_verify_hashes() -> None:
    made = dict(tiles_for(0, len(LOG), TREE, LOG))
    bundles = [data for path, data in made.items() if "entries" in path]
    tree, entries = tiles.rebuild(bundles, len(LOG))
    assert tree.root() == TREE.root()
    assert list(entries) == LOG
    for path, data in made.items():
        if "entries" not in path:
            tiles.verify_hashes(Tile.parse(path), data, tree)
            with pytest.raises(BadDigest):
                tiles.verify_hashes(Tile.parse(path), bytes([data[0] ^ 1]) + data[1:], tree)
    for tile in (Tile(ENTRIES, 0), Tile(0, 4, 177), Tile(1, 0, 5), Tile(3, 0, 1)):
        with pytest.raises(ParseError):
            tiles.verify_hashes(tile, b"", tree)
    for wrong in (bundles[:-1], [*bundles, b""], [bundles[0], *bundles]):
        with pytest.raises(ParseError):
            tiles.rebuild(wrong, len(LOG))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.binary(max_size=30), max_size=20))
def test_bundles_round_trip_and_every_other_length_is_refused(entries: list[bytes]) -> None:
    data = tiles.encode_entries(entries)
    assert tiles.parse_entries(data, len(entries)) == tuple(entries)
    for wrong in (data + b"\0", data[:-1]):
        if wrong != data:
            with pytest.raises(ParseError):
                tiles.parse_entries(wrong, len(entries))


def test_long_entries_are_refused() -> None:
    assert tiles.parse_entries(tiles.encode_entries([bytes(65535)]), 1) == (bytes(65535),)
    with pytest.raises(TooLarge):
        tiles.encode_entries([bytes(65536)])
