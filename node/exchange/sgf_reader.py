"""Reads SGF (FF[4], and the older forms that are still about): bytes to game records.

sgfmill parses, behind the checks of `node.exchange.sgf_text`; what its values mean is decided here. Whatever the bytes are,
the outcome is a record or an SgfError of one sentence, within a few seconds and some hundred MB. Left out: everything but
board, stones, moves, players, rules, result and comments.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from sgfmill import sgf_grammar  # type: ignore[import-untyped]

from native.rules import Colour
from node.exchange.errors import SgfError
from node.exchange.record import GameRecord, Move, Setup, clean_comment, clean_name
from node.exchange.sgf_text import decode_sgf, verify_limits
from node.exchange.values import (
    parse_area,
    parse_handicap,
    parse_komi,
    parse_move,
    parse_result,
    parse_size,
    vertex,
)
from protocol.words import counted

OWN_NAME: Final = "gonode"
"""Application name in files that this package writes; komi in them is never in Fox's form."""

MAX_SETUP_POINTS: Final = 100_000
"""Points that the setups of one line may name in all."""

Properties = dict[str, list[bytes]]
Value = TypeVar("Value")


class GameTree:
    """One game of a collection with its variations; lines are numbered from the main one, 0, depth first."""

    __slots__ = ("_tree", "variations")

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self.variations = sum(1 for _ in _leaves(tree))

    def record(self, line: int = 0) -> GameRecord:
        """The game along one line; raises SgfError when it makes no sense or there is no such line."""
        for number, leaf in enumerate(_leaves(self._tree)):
            if number == line:
                return _read_line(_nodes_to(leaf))
        raise SgfError(f"The game has {counted(self.variations, 'variation')}, and none with number {line}.")


def parse_collection(data: bytes) -> tuple[GameTree, ...]:
    """All games of a file, at least one; text around them is skipped. Raises SgfError."""
    text = decode_sgf(data).encode("utf-8")
    verify_limits(text)
    try:
        return tuple(GameTree(tree) for tree in sgf_grammar.parse_sgf_collection(text))
    except ValueError as error:
        raise SgfError(f"The SGF text cannot be read ({error}).") from None


def parse_record(data: bytes) -> GameRecord:
    """The main line of a file's first game. Raises SgfError."""
    return parse_collection(data)[0].record()


# A leaf, or a tree on the way to it: a coarse tree of sgfmill (a run of nodes) with the one it hangs on.
_Branch = tuple[Any, "_Branch | None"]


def _leaves(tree: Any) -> Iterator[_Branch]:
    """The last branch of each line, depth first, without recursion."""
    waiting: list[_Branch] = [(tree, None)]
    while waiting:
        branch = waiting.pop()
        children = branch[0].children
        if children:
            waiting += [(child, branch) for child in reversed(children)]
        else:
            yield branch


def _nodes_to(leaf: _Branch) -> list[Properties]:
    """The nodes from the root to the end of a branch."""
    runs: list[list[Properties]] = []
    branch: _Branch | None = leaf
    while branch is not None:
        runs.append(branch[0].sequence)
        branch = branch[1]
    return [node for run in reversed(runs) for node in run]


def _read_line(nodes: list[Properties]) -> GameRecord:
    root = nodes[0]
    if _one(root, "GM", _text, "").strip() not in ("", "1"):
        raise SgfError("The game is not Go: GM is not 1.")
    rows, cols = _one(root, "SZ", lambda raw: parse_size(_text(raw)), (19, 19))
    fox = not _one(root, "AP", _text, "").startswith(OWN_NAME)
    start, first = _read_root(root, rows, cols)
    setup_points = len(start.points)
    found: list[Setup | Move] = [] if first is None else [first]
    for properties in nodes[1:]:
        node = _read_node(properties, rows, cols)
        if node != Setup():
            found.append(node)
        if isinstance(node, Setup):
            setup_points += len(node.points)
            if setup_points > MAX_SETUP_POINTS:
                raise SgfError(f"The setups of the game name more than {MAX_SETUP_POINTS} points.")
    return GameRecord(
        rows,
        cols,
        komi_half=_one(root, "KM", lambda raw: parse_komi(_text(raw), fox), None),
        handicap=_one(root, "HA", lambda raw: parse_handicap(_text(raw)), None),
        rules=_name(root, "RU"),
        black=_name(root, "PB"),
        white=_name(root, "PW"),
        result=parse_result(_name(root, "RE")),
        start=start,
        nodes=tuple(found),
    )


def _read_root(root: Properties, rows: int, cols: int) -> tuple[Setup, Move | None]:
    """The root's setup, and the move that some files have there; the comment stays with the setup."""
    node = _read_node(root, rows, cols)
    if isinstance(node, Move):
        return Setup(comment=node.comment), Move(node.colour, node.point)
    return Setup(node.black, node.white, (), node.to_move, node.comment), None


def _read_node(properties: Properties, rows: int, cols: int) -> Setup | Move:
    """A move, or else a setup, which may be empty."""
    comment = clean_comment("\n".join(_text(raw) for raw in properties.get("C", ())))
    black, white, empty = (_points(properties, name, rows, cols) for name in ("AB", "AW", "AE"))
    played = [(name, raw) for name in ("B", "W") for raw in properties.get(name, ())]
    if not played:
        _verify_apart(black, white, empty, rows, cols)
        return Setup(_rising(black), _rising(white), _rising(empty), _to_move(properties), comment)
    if len(played) > 1:
        raise SgfError("A node has two moves.")
    if black or white or empty:
        raise SgfError("A node has a move and a setup.")
    name, raw = played[0]
    return Move(Colour.BLACK if name == "B" else Colour.WHITE, parse_move(_text(raw), rows, cols), comment)


def _points(properties: Properties, name: str, rows: int, cols: int) -> set[int]:
    points: set[int] = set()
    for raw in set(properties.get(name, ())):
        if raw.strip() or len(properties[name]) > 1:  # one empty value is an empty list
            points |= parse_area(_text(raw), rows, cols)
    return points


def _rising(points: set[int]) -> tuple[int, ...]:
    return tuple(sorted(points))


def _verify_apart(black: set[int], white: set[int], empty: set[int], rows: int, cols: int) -> None:
    twice = (black & white) | (black & empty) | (white & empty)
    if twice:
        raise SgfError(f"A setup gives the point {vertex(min(twice), rows, cols)} to two colours.")


def _to_move(properties: Properties) -> Colour | None:
    text = _one(properties, "PL", _text, "").strip()
    if not text:
        return None
    colour = {"B": Colour.BLACK, "W": Colour.WHITE}.get(text[0].upper())
    if colour is None:
        raise SgfError(f"The player to move is neither B nor W but {text[:40]!r}.")
    return colour


def _one(properties: Properties, name: str, parse: Callable[[bytes], Value], default: Value) -> Value:
    """A property with one value (the same one may be given again), or the default."""
    values = set(properties.get(name, ()))
    if len(values) > 1:
        raise SgfError(f"The property {name} has more than one value.")
    return parse(values.pop()) if values else default


def _name(properties: Properties, name: str) -> str:
    """One clean line; of several the first."""
    values = properties.get(name)
    return clean_name(_text(values[0])) if values else ""


def _text(raw: bytes) -> str:
    """A value without its escapes; line breaks are `\\n`."""
    return str(sgf_grammar.text_value(raw).decode("utf-8"))
