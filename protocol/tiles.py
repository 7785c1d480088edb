"""Tiles: the log's hashes and entries as immutable files of up to 256 each.

Spec: docs/spec/log.md ("Tiles"), C2SP tlog-tiles. A hash tile at level l is a run of roots of full subtrees of 256^l
leaves; an entry bundle is a run of entries, each after its length as big-endian u16. A partial tile's path ends in its
width. Every tile is a function of the entries, so a mirror can rebuild and check all of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from protocol.errors import BadDigest, ParseError, TooLarge
from protocol.merkle import HASH_BYTES, MAX_SIZE, Tree, leaf_hash

WIDTH: Final = 256
MAX_ENTRY_BYTES: Final = 65535  # its length is a u16
ENTRIES: Final = -1  # the "level" of an entry bundle
_MAX_LEVEL: Final = 7  # 256^8 leaves are more than MAX_SIZE
_PATH: Final = re.compile(r"tile/(entries|[0-7])/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Tile:
    """Which tile: level (0 to 7, or `ENTRIES` for an entry bundle), number within the level, and width (1 to 256)."""

    level: int
    number: int
    width: int = WIDTH

    def __post_init__(self) -> None:
        if not ENTRIES <= self.level <= _MAX_LEVEL or not 0 <= self.number <= MAX_SIZE // WIDTH:
            raise ParseError("There is no such tile.")
        if not 1 <= self.width <= WIDTH:
            raise ParseError(f"A tile's width is from 1 to {WIDTH}.")

    @classmethod
    def parse(cls, path: str) -> Self:
        """The tile at `path`; raises ParseError for a path that `path` would not give."""
        match = _PATH.fullmatch(path)
        if match is None or len(path) > 64:
            raise ParseError("This is not the path of a tile.")
        level, number, width = match.groups()
        tile = cls(
            ENTRIES if level == "entries" else int(level),
            int(number.replace("x", "").replace("/", "")),
            WIDTH if width is None else int(width),
        )
        if tile.path != path:
            raise ParseError("This is not the path of a tile.")
        return tile

    @property
    def path(self) -> str:
        """Where the tile is served, such as `tile/0/x001/067` or `tile/entries/000.p/12`."""
        digits = f"{self.number:03d}"
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        groups = [digits[i : i + 3] for i in range(0, len(digits), 3)]
        name = "/".join([*("x" + group for group in groups[:-1]), groups[-1]])
        level = "entries" if self.level == ENTRIES else str(self.level)
        return f"tile/{level}/{name}" + ("" if self.width == WIDTH else f".p/{self.width}")

    @property
    def start(self) -> int:
        """The index, within the level, of the tile's first hash or entry."""
        return self.number * WIDTH

    @property
    def end(self) -> int:
        """One past the index of the tile's last hash or entry."""
        return self.start + self.width


def tiles_between(old_size: int, new_size: int) -> Iterator[Tile]:
    """The tiles of the log at `new_size` entries that it did not have at `old_size`; entry bundles first."""
    if not 0 <= old_size <= new_size <= MAX_SIZE:
        raise ValueError(f"a log does not grow from {old_size} to {new_size} entries")
    for level in range(ENTRIES, _MAX_LEVEL + 1):
        height = 8 * max(level, 0)
        old, new = old_size >> height, new_size >> height
        if old == new:
            continue
        for number in range(old // WIDTH, -(-new // WIDTH)):
            yield Tile(level, number, min(WIDTH, new - number * WIDTH))


def narrow_tiles(size: int) -> Iterator[Tile]:
    """The tiles of the log at `size` entries that are not full: those that growing replaces."""
    for level in range(ENTRIES, _MAX_LEVEL + 1):
        number, width = divmod(size >> 8 * max(level, 0), WIDTH)
        if width:
            yield Tile(level, number, width)


def tile_bytes(tile: Tile, tree: Tree, entries: Sequence[bytes]) -> bytes:
    """The bytes of a tile of the log with this tree and these entries, which are sliced by log index, a bundle at a time."""
    if tile.level == ENTRIES:
        return encode_entries(entries[tile.start : tile.end])
    return tile_hashes(tile, tree)


def tile_hashes(tile: Tile, tree: Tree) -> bytes:
    """The bytes of a hash tile of `tree`: 32 a hash; IndexError if the tree is too small."""
    return tree.nodes(8 * tile.level, tile.start, tile.end)


def parse_hashes(data: bytes, width: int) -> tuple[bytes, ...]:
    """The `width` hashes in a hash tile; raises ParseError for another length."""
    if len(data) != width * HASH_BYTES:
        raise ParseError(f"The hash tile has {len(data)} bytes, not {width * HASH_BYTES}.")
    return tuple(data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES))


def encode_entries(entries: Iterable[bytes]) -> bytes:
    """The bytes of an entry bundle; raises TooLarge for an entry over 65,535 bytes."""
    parts: list[bytes] = []
    for entry in entries:
        if len(entry) > MAX_ENTRY_BYTES:
            raise TooLarge(f"A log entry has {len(entry)} bytes; the limit is {MAX_ENTRY_BYTES}.")
        parts += [len(entry).to_bytes(2, "big"), entry]
    return b"".join(parts)


def parse_entries(data: bytes, width: int) -> tuple[bytes, ...]:
    """The `width` entries in a bundle, no more and no less; raises ParseError."""
    entries: list[bytes] = []
    at = 0
    for _ in range(width):
        start = at + 2
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise ParseError(f"The entry bundle is cut short in entry {len(entries)} of {width}.")
        entries.append(data[start:at])
    if at != len(data):
        raise ParseError(f"Bytes follow the {width} entries of the bundle.")
    return tuple(entries)


def rebuild(bundles: Iterable[bytes], size: int) -> tuple[Tree, tuple[bytes, ...]]:
    """The tree and entries of a log of `size` entries from its bundles in order, the last one as wide as `size` says.

    Raises ParseError for a damaged, missing or surplus bundle. The tree's root still has to be compared.
    """
    tree = Tree()
    entries: list[bytes] = []
    for data in bundles:
        width = min(WIDTH, size - len(entries))
        if width <= 0:
            raise ParseError(f"There are more entry bundles than {size} entries need.")
        found = parse_entries(data, width)
        tree.extend(map(leaf_hash, found))
        entries += found
    if len(entries) != size:
        raise ParseError(f"The entry bundles hold {len(entries)} of {size} entries.")
    return tree, tuple(entries)


def verify_hashes(tile: Tile, data: bytes, tree: Tree) -> None:
    """Raises BadDigest unless `data` is what `tree` makes of this hash tile, ParseError if it is no tile of that tree."""
    if tile.level == ENTRIES or tile.end > tree.size >> 8 * tile.level:
        raise ParseError(f"A log of {tree.size} entries has no hash tile {tile.path}.")
    if data != tile_hashes(tile, tree):
        raise BadDigest(f"The hash tile {tile.path} does not fit the entries.")
