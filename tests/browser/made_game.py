"""A game with made-up searches, as the pages' JSON has one: captures, an opening, a pass, mistakes. For tests."""

import random
from dataclasses import dataclass, field
from typing import Any

from native.game import Game
from native.rules import Colour, Rules

SIZE = 9
PASS = SIZE * SIZE
OPENING = 2
MISTAKES = (6, 11)
"""After so many moves the player's win rate has fallen by a quarter."""
FAST = (4, 5)
SUM = 65535
FIRST = ("E5", "E4", "D4", "A1", "F4", "A2", "E3", "pass", "C7", "G7", "C3", "G3")
"""The seventh move captures E4."""


@dataclass(frozen=True, slots=True)
class MadeGame:
    """What a template and JSON are made of."""

    hash: bytes = bytes(range(32))
    kind: str = "training"
    batch: Any = field(default_factory=lambda: Named(index=42, digest=b"\5" * 32))
    number: int = 2
    counter: int = 1234
    release: Any = field(default_factory=lambda: Named(number=3, id=b"\3" * 32, name="third"))
    black: Any = field(default_factory=lambda: Named(name="third", release=3, id=b"\3" * 32, candidate=None))
    white: Any = None
    contributor: Any = field(default_factory=lambda: Named(key=b"\7" * 32, name="ada", is_contributor=True))
    fate: str = "verified"
    size: int = SIZE
    komi: float = 7.0
    rules: str = "Tromp-Taylor"
    end: str = "passes"
    result: str = "B+3.5"
    opening_moves: int = OPENING
    unix_s: int = 1_700_000_000
    fault: str = ""
    moves: tuple[Any, ...] = ()
    ownership: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.white is None:
            object.__setattr__(self, "white", self.black)


class Named:
    """A record for a template and for JSON."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def point_of(name: str, size: int = SIZE) -> int:
    """E5 as a number."""
    if name == "pass":
        return size * size
    return (size - int(name[1:])) * size + "ABCDEFGHJKLMNOPQRST".index(name[0])


def made_game(names: tuple[str, ...] = FIRST, size: int = SIZE, **values: Any) -> MadeGame:
    """A game with these moves; the search of each knew the move that was played for its best."""
    rng, game, lines = random.Random(5), Game(Rules(rows=size, cols=size, komi_half=14)), []
    stones = game.stones()
    for ply, name in enumerate(names):
        colour, point = game.to_move, point_of(name, size)
        game.play(point)
        now = game.stones()
        captured = [each for each in range(size * size) if stones[each] and not now[each]]
        search = None if ply < OPENING else searched(rng, ply, point, size)
        lines.append(Named(point=point, colour=colour.name.lower(), captured=captured, search=search))
        stones = now
    owner = tuple({Colour.BLACK: 1, Colour.WHITE: -1}.get(Colour(each), 0) for each in game.owner())
    return MadeGame(**{"size": size, "moves": tuple(lines), "ownership": owner, **values})


def searched(rng: random.Random, ply: int, point: int, size: int) -> Named:
    """A search: 60 visits for the move that is played, 30 and 10 for two others, 3 for a pass."""
    points = size * size
    others = rng.sample([each for each in range(points) if each != point], 2)
    visits, policy = [0] * (points + 1), [0] * (points + 1)
    for each, count in zip((points, *others, point), (3, 30, 10, 60), strict=True):
        visits[each] = count
        policy[each] = count * SUM // 103
    fallen = sum(ply >= each for each in MISTAKES)
    winrate = 0.5 + 0.25 * (fallen % 2)
    return Named(
        kind="fast" if ply in FAST else "full",
        visits=visits,
        policy=None if ply in FAST else policy,
        black_winrate=winrate,
        black_score=20 * (winrate - 0.5) - 1,
    )


def as_json(value: Any) -> Any:
    """The game as JSON says it."""
    if isinstance(value, MadeGame):
        return {name: as_json(getattr(value, name)) for name in MadeGame.__slots__}
    if isinstance(value, Named):
        return as_json(value.__dict__)
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value
