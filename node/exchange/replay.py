"""Game records and the engine's games: a game becomes a record, a record is played by the rules."""

from native.errors import EngineError, IllegalMove
from native.game import Game
from native.rules import Colour, Rules
from node.exchange.errors import ReplayError
from node.exchange.record import GameRecord, Move, Setup, clean_name
from node.exchange.rule_names import TROMP_TAYLOR, name_rules, parse_rules
from node.exchange.values import vertex, write_result


def game_record(game: Game, black: str, white: str) -> GameRecord:
    """The record of a game that began on the empty board, with the score of its position as the result."""
    rules = game.rules
    return GameRecord(
        rules.rows,
        rules.cols,
        komi_half=rules.komi_half,
        rules=name_rules(rules),
        black=clean_name(black),
        white=clean_name(white),
        result=write_result(game.score_half()),
        nodes=tuple(Move(colour, move) for colour, move in game.moves),
    )


def record_rules(record: GameRecord) -> Rules:
    """The rules that the record names, Tromp-Taylor's where it names none that are known; komi 0 where it has none."""
    named = parse_rules(record.rules) or TROMP_TAYLOR
    return Rules(record.rows, record.cols, record.komi_half or 0, named.ko, named.suicide, named.scoring)


def play_record(record: GameRecord, rules: Rules) -> Game:
    """The position at the end of the record, every move judged by `rules`; raises ReplayError at the first fault.

    Records may do what a game cannot: where one player moves twice, the other is taken to have passed; where moves follow
    the end, or stones are put or taken away, a new game begins from that position, without the captures and boards before.
    """
    game = _begin(rules, bytes(rules.points), record.start, _first_player(record), 0)
    number = 0
    for node in record.nodes:
        if isinstance(node, Setup):
            if node.points or node.to_move is not None:
                game = _begin(rules, game.stones(), node, node.to_move or game.to_move, number)
            continue
        number += 1
        try:
            game = ready(game, node.colour)
            game.play(node.point, node.colour)
        except IllegalMove as error:
            where = f"{node.colour.name.capitalize()} {vertex(node.point, record.rows, record.cols)}"
            raise ReplayError(f"Move {number} ({where}) is illegal: {error.reason}.", number) from None
    return game


def ready(game: Game, colour: Colour) -> Game:
    """The game once `colour` may move: the other passed where it was to move, and after the end it is a new game."""
    if not game.end and game.to_move != colour:
        game.play(game.pass_move)
    return Game(game.rules, game.stones(), colour) if game.end else game


def _first_player(record: GameRecord) -> Colour:
    if record.start.to_move is not None:
        return record.start.to_move
    return record.moves[0].colour if record.moves else Colour.WHITE if record.handicap else Colour.BLACK


def _begin(rules: Rules, stones: bytes, setup: Setup, to_move: Colour, move: int) -> Game:
    """A game from `stones` after a setup that follows move number `move`."""
    board = bytearray(stones)
    for points, colour in ((setup.black, Colour.BLACK), (setup.white, Colour.WHITE), (setup.empty, Colour.EMPTY)):
        for point in points:
            board[point] = colour
    try:
        return Game(rules, bytes(board), to_move)
    except EngineError:
        when = f"after move {move}" if move else "at the start"
        raise ReplayError(f"The setup {when} leaves stones without a liberty.", move) from None
