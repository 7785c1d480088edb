"""Writes a game record as SGF (FF[4], UTF-8, one line of moves)."""

from collections.abc import Mapping, Sequence

from native.rules import Colour
from node.exchange.errors import SgfError
from node.exchange.record import GameRecord, Move, Setup
from node.exchange.sgf_reader import OWN_NAME
from node.exchange.sgf_text import MAX_BYTES
from node.exchange.values import write_point, write_size

LETTER = {Colour.BLACK: "B", Colour.WHITE: "W"}


def encode_sgf(
    record: GameRecord, root: Mapping[str, str] | None = None, further: Sequence[Mapping[str, str]] = ()
) -> bytes:
    """The record as a file, which `parse_record` reads back equal; raises SgfError when it would be larger than is read.

    `root` and `further` are properties that a record does not have, of the root and of each node after it: other programs
    read them, `parse_record` leaves them out.
    """
    head = {
        "FF": "4",
        "GM": "1",
        "CA": "UTF-8",
        "AP": OWN_NAME,
        "SZ": write_size(record.rows, record.cols),
        "KM": "" if record.komi_half is None else f"{record.komi_half / 2:g}",
        "HA": "" if record.handicap is None else str(record.handicap),
        "RU": record.rules,
        "RE": record.result,
        "PB": record.black,
        "PW": record.white,
        **(root or {}),
    }
    more = [*map(_properties, further), *[""] * (len(record.nodes) - len(further))]
    nodes = "".join(f";{_node(node, record)}{rest}" for node, rest in zip(record.nodes, more, strict=True))
    data = f"(;{_properties(head)}{_node(record.start, record)}{nodes})\n".encode()
    if len(data) > MAX_BYTES:
        raise SgfError(f"The record would take {len(data)} bytes; {MAX_BYTES} are the most that is read.")
    return data


def _properties(values: Mapping[str, str]) -> str:
    return "".join(f"{name}[{_escape(text)}]" for name, text in values.items() if text)


def _node(node: Setup | Move, record: GameRecord) -> str:
    comment = f"C[{_escape(node.comment)}]" if node.comment else ""
    if isinstance(node, Move):
        return f"{LETTER[node.colour]}[{write_point(node.point, record.rows, record.cols)}]{comment}"
    lists = (("AB", node.black), ("AW", node.white), ("AE", node.empty))
    stones = "".join(
        name + "".join(f"[{write_point(point, record.rows, record.cols)}]" for point in points)
        for name, points in lists
        if points
    )
    return stones + (f"PL[{LETTER[node.to_move]}]" if node.to_move is not None else "") + comment


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")
