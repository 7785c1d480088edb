"""From a query to its positions: `position`, the game after so many moves.

Records that people analyse hold moves that the rules forbid. As KataGo's engine does, a move out of turn, one that
repeats a position and a suicide are made all the same: each begins a new game from the stones on the board, without the
boards before. The same holds for moves after the end, and for a search of a position in which the game is over. Under
territory scoring the stones that were taken before then are komi.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from native.errors import EngineError, IllegalMove, Reason
from native.game import Game
from native.rules import Colour, Rules, Scoring
from node.analysis.errors import QueryError
from node.analysis.query import Query
from node.analysis.rule_words import bonus_points
from node.analysis.values import Move
from node.exchange.values import vertex

_TOLERATED: Final = (Reason.KO, Reason.SUPERKO, Reason.SUICIDE)


def begin(query: Query) -> Game:
    """The position before the first move; raises EngineError where stones have no liberty."""
    return Game(query.rules, query.stones, query.first)


def walk(query: Query, turns: int) -> Iterator[Game]:
    """The game before each of the first `turns` moves, and after the last; raises QueryError for one that cannot be made."""
    game = begin(query)
    yield game
    for number, (colour, point) in enumerate(query.moves[:turns]):
        try:
            game = _made(game, colour, point)
        except EngineError:
            where = vertex(point, query.rules.rows, query.rules.cols)
            raise QueryError("moves", f"Illegal move {number}: {where}") from None
        yield game


def position(query: Query, turn: int) -> Game:
    """The game to search after `turn` moves, with White's bonus for handicap stones in its komi."""
    points = bonus_points(query.bonus, handicap_stones(query.stones, query.moves[:turn]))
    rules = replace(query.rules, komi_half=query.rules.komi_half + 2 * points)
    game = begin(query)
    for game in walk(replace(query, rules=rules), turn):  # noqa: B007 - the last one counts
        pass
    return restarted(game, game.to_move) if game.end else game


def handicap_stones(stones: bytes, moves: Sequence[Move]) -> int:
    """Black's stones before White's first move, on the board or moved there one after the other; one alone is no handicap.

    A single pass of White's between Black's moves counts as none; two moves of White's in a row undo the count, as in
    KataGo.
    """
    if Colour.WHITE in stones:
        return 0
    points, begun = len(stones), 0
    for at, (colour, point) in enumerate(moves):
        if colour == Colour.BLACK:
            begun += point != points
            continue
        if at + 1 < len(moves) and moves[at + 1][0] != Colour.BLACK:
            begun = 0
            break
        if point != points:
            break
    found = stones.count(Colour.BLACK) + begun
    return found if found > 1 else 0


def restarted(game: Game, colour: Colour) -> Game:
    """A new game from the stones on the board, which goes on however settled they are."""
    return Game(_carried(game), game.stones(), colour)


def _made(game: Game, colour: Colour, point: int) -> Game:
    if game.end or game.to_move != colour:
        game = restarted(game, colour)
    try:
        game.play(point, colour)
    except IllegalMove as error:
        if error.reason not in _TOLERATED:
            raise
        return _forced(game, colour, point)
    return game


def _forced(game: Game, colour: Colour, point: int) -> Game:
    """The move without the boards before it, and with suicide allowed; raises IllegalMove where that does not help."""
    rules = game.rules
    free = Game(replace(_carried(game), suicide=True), game.stones(), colour)
    free.play(point, colour)
    return Game(replace(_carried(free), suicide=rules.suicide), free.stones(), colour.other)


def _carried(game: Game) -> Rules:
    """The rules of a game that goes on from this one's stones."""
    rules = replace(game.rules, settled_end=False)
    if rules.scoring == Scoring.AREA:
        return rules
    return replace(rules, komi_half=rules.komi_half + 2 * (game.captured(Colour.BLACK) - game.captured(Colour.WHITE)))
