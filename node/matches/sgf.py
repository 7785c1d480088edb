"""A finished game as an SGF text (FF[4])."""

from native.game import Game
from native.rules import Colour

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def game_record(game: Game, black: str, white: str) -> str:
    """The game with its players, rules, komi and result; passes are empty moves."""
    rules = game.rules
    size = str(rules.cols) if rules.cols == rules.rows else f"{rules.cols}:{rules.rows}"
    score = game.score_half()
    result = "0" if score == 0 else f"{'B' if score > 0 else 'W'}+{abs(score) / 2:g}"
    head = f"(;FF[4]GM[1]CA[UTF-8]AP[gonode]SZ[{size}]KM[{rules.komi_half / 2:g}]RE[{result}]"
    names = f"PB[{_escape(black)}]PW[{_escape(white)}]"
    return head + names + "".join(_move(colour, move, rules.cols, rules.points) for colour, move in game.moves) + ")\n"


def _move(colour: Colour, move: int, cols: int, points: int) -> str:
    where = "" if move == points else LETTERS[move % cols] + LETTERS[move // cols]
    return f";{'B' if colour == Colour.BLACK else 'W'}[{where}]"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("]", "\\]")
