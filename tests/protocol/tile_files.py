"""The files of a log's tiles, for tests that show a log or look at what growing makes."""

from collections.abc import Iterator, Sequence

from protocol.merkle import Tree
from protocol.tiles import tile_bytes, tiles_between


def tiles_for(old_size: int, new_size: int, tree: Tree, entries: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of each tile that growing from `old_size` to `new_size` entries makes; see `tile_bytes`.

    Entries before the last multiple of 256 up to `old_size` are not asked for.
    """
    for tile in tiles_between(old_size, new_size):
        yield tile.path, tile_bytes(tile, tree, entries)
