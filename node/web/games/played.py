"""A game's moves with what they captured and what their searches found: `played`.

Specs: docs/spec/batch.md, docs/spec/rules.md. The rules are the engine's. A block that nobody verified may have moves that
the rules forbid: then the moves before are given, and one sentence about the first that is wrong.
"""

from dataclasses import dataclass
from typing import Final

from native.errors import EngineError, IllegalMove
from native.game import Game
from native.rules import Colour, End, Rules
from node.exchange.values import vertex
from node.play.position import captured, signs
from protocol.game_block import END_CAP, END_PASSES, END_SETTLED, KIND_FULL, SCORE_ONE, VALUE_ONE, GameBlock

ENDS: Final = {END_PASSES: "passes", END_SETTLED: "settled", END_CAP: "cap"}
KINDS: Final = ("fast", "full")


@dataclass(frozen=True, slots=True)
class SearchLine:
    """What the search of one move found: visits a point, the pass last; the policy target in 1/65535, None of a fast one.

    `black_winrate` is 0 to 1, `black_score` in points, komi included.
    """

    kind: str
    visits: tuple[int, ...]
    policy: tuple[int, ...] | None
    black_winrate: float
    black_score: float


@dataclass(frozen=True, slots=True)
class MoveLine:
    """A move: `row * size + column`, or `size * size` for a pass; the points that it captured; None where none searched."""

    point: int
    colour: str
    captured: tuple[int, ...]
    search: SearchLine | None


@dataclass(frozen=True, slots=True)
class Played:
    """Moves up to the first that the rules forbid, a sentence about that one, or "", and whose each point is at the end:
    1 Black's, -1 White's."""

    moves: tuple[MoveLine, ...]
    fault: str
    ownership: tuple[int, ...]


def played(block: GameBlock, rules: Rules) -> Played:
    """A game by these rules."""
    game = Game(rules)
    stones = game.stones()
    lines: list[MoveLine] = []
    for ply, move in enumerate(block.moves):
        colour = game.to_move
        try:
            if game.end != End.NONE:
                raise EngineError("The game is over.")
            game.play(move)
        except IllegalMove as error:
            where = vertex(move, rules.rows, rules.cols)
            return _ended(game, lines, f"Move {ply + 1} ({where}) is illegal: {error.reason}.")
        except EngineError:
            return _ended(game, lines, f"Move {ply + 1} comes after the end of the game.")
        now = game.stones()
        line = MoveLine(move, colour.name.lower(), captured(stones, now, move), _search(block, ply, colour))
        lines.append(line)
        stones = now
    return _ended(game, lines, "" if game.end == block.header.end else "The game does not end as its record says.")


def _ended(game: Game, lines: list[MoveLine], fault: str) -> Played:
    return Played(tuple(lines), fault, signs(game.owner()))


def _search(block: GameBlock, ply: int, colour: Colour) -> SearchLine | None:
    if ply not in block.plies:
        return None
    kind = block.kinds[ply - block.header.opening_moves]
    sign = 1 if colour == Colour.BLACK else -1
    value = max(-1.0, min(1.0, block.value(ply) / VALUE_ONE))
    return SearchLine(
        kind=KINDS[kind],
        visits=block.visits(ply),
        policy=block.policy_target(ply) if kind == KIND_FULL else None,
        black_winrate=round((1 + sign * value) / 2, 4),
        black_score=round(sign * block.score(ply) / SCORE_ONE, 2),
    )
