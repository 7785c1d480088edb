"""Records refuse what no file can hold."""

from typing import Any

import pytest

from native.rules import Colour
from node.exchange.errors import SgfError
from node.exchange.record import GameRecord, Move, Setup


@pytest.mark.parametrize(
    "fields",
    [
        {"rows": 0},
        {"cols": 20},
        {"komi_half": 40000},
        {"handicap": -1},
        {"handicap": 82},
        {"black": "a\nb"},
        {"white": " a"},
        {"rules": "a\x00"},
        {"black": "\ud800"},
        {"white": "x" * 250_001},
        {"result": "b+r"},
        {"start": Setup(empty=(1,))},
        {"start": Setup(black=(81,))},
        {"nodes": (Move(Colour.BLACK, 82),)},
        {"nodes": (Move(Colour.BLACK, -1),)},
        {"nodes": (Setup(),)},
    ],
)
def test_records(fields: dict[str, Any]) -> None:
    GameRecord(9, 9, nodes=(Move(Colour.BLACK, 81),))
    with pytest.raises(SgfError):
        GameRecord(**{"rows": 9, "cols": 9, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"black": (2, 1)},
        {"black": (1, 1)},
        {"black": (1,), "white": (1,)},
        {"white": (1,), "empty": (1,)},
        {"to_move": Colour.EMPTY},
        {"comment": "a\r\n"},
    ],
)
def test_setups(fields: dict[str, Any]) -> None:
    with pytest.raises(SgfError):
        Setup(**fields)


def test_moves() -> None:
    for colour, comment in ((Colour.EMPTY, ""), (Colour.BLACK, "a\tb")):
        with pytest.raises(SgfError):
            Move(colour, 0, comment)
