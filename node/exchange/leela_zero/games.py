"""Games as positions to train on: before each move the board, what was played or searched there, and who won.

A game has to be on 19x19, its players in turn, and won by one of them; else TrainingFileError says which of these it is not.
"""

from collections.abc import Sequence

from native.errors import IllegalMove
from native.game import Game
from native.rules import Colour, Rules
from node.exchange.errors import ReplayError, TrainingFileError
from node.exchange.leela_zero.planes import board_planes, input_planes
from node.exchange.leela_zero.position import POINTS, SIDE, TrainingPosition, leela_point
from node.exchange.record import GameRecord, Move
from node.exchange.replay import play_record, record_rules
from node.exchange.values import vertex
from protocol.game_block import KIND_FULL, GameBlock


def record_positions(record: GameRecord) -> list[TrainingPosition]:
    """A position a move, whose policy is that move. Raises TrainingFileError, or ReplayError for an illegal move."""
    verify_size(record.rows, record.cols)
    winner = _winner(record.result)
    if len(record.moves) != len(record.nodes) or any(
        one.colour == two.colour for one, two in zip(record.moves, record.moves[1:], strict=False)
    ):
        raise TrainingFileError("The players do not move in turn, as they do in every training file.")
    if not record.moves:
        return []
    game = _start(record, record.moves[0])
    policies = [{move.point: 1.0} for move in record.moves]
    return game_positions(game, [move.point for move in record.moves], policies, winner)


def block_positions(block: GameBlock, rules: Rules) -> list[TrainingPosition]:
    """A position a full search, whose policy is the search's target; `rules` are the game's. Raises TrainingFileError, or
    ReplayError for an illegal move."""
    header = block.header
    verify_size(header.size, header.size)
    policies: list[dict[int, float] | None] = [None] * header.moves
    for ply, kind in zip(block.plies, block.kinds, strict=True):
        target = block.policy_target(ply)
        total = sum(target)
        if kind == KIND_FULL and total:
            policies[ply] = {point: share / total for point, share in enumerate(target) if share}
    return game_positions(Game(rules), block.moves, policies, _winner(header.outcome))


def game_positions(
    game: Game, moves: Sequence[int], policies: Sequence[dict[int, float] | None], winner: Colour
) -> list[TrainingPosition]:
    """Positions of moves from `game` on, which is played to its end with them: of those moves that have a policy (our
    points to chances that add up to 1). Raises ReplayError for an illegal move."""
    verify_size(game.rules.rows, game.rules.cols)
    found, boards = [], [board_planes(game.stones())]
    for number, (move, policy) in enumerate(zip(moves, policies, strict=True), start=1):
        to_move = game.to_move
        if policy is not None:
            chances = [0.0] * (POINTS + 1)
            for point, chance in policy.items():
                chances[leela_point(point)] = chance
            planes = input_planes(boards, to_move)
            found.append(TrainingPosition(planes, to_move, tuple(chances), to_move == winner))
        try:
            game.play(move)
        except IllegalMove as error:
            where = f"{to_move.name.capitalize()} {vertex(move, SIDE, SIDE)}"
            raise ReplayError(f"Move {number} ({where}) is illegal: {error.reason}.", number) from None
        boards.append(board_planes(game.stones()))
    return found


def verify_size(rows: int, cols: int) -> None:
    """Raises TrainingFileError for a board that is not 19x19."""
    if (rows, cols) != (SIDE, SIDE):
        raise TrainingFileError(f"The board is {cols}x{rows}, and Leela Zero plays 19x19 only.")


def _start(record: GameRecord, first: Move) -> Game:
    """The position before the first move."""
    rules = record_rules(record)
    setup = GameRecord(SIDE, SIDE, start=record.start)
    stones = play_record(setup, Rules(SIDE, SIDE, 0)).stones()
    return Game(rules, stones, first.colour)


def _winner(result: str) -> Colour:
    if result[:2] in ("B+", "W+"):
        return Colour.BLACK if result[0] == "B" else Colour.WHITE
    raise TrainingFileError(f"The result is {result or 'not known'}: nobody won, and training files need a winner.")
