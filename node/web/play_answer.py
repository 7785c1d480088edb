"""The answer to a question about a game against a release, as JSON has it: `Answer`.

Page: docs/pages.md. Points are row-major from the top-left corner, the pass last; 1 is Black's, -1 White's.
"""

from dataclasses import dataclass
from typing import Final

from native.rules import Colour
from node.play.partner import Thought
from node.play.position import SIGN, Reached, outcome
from node.play.reply import Reply

FULL: Final = "full"


@dataclass(frozen=True, slots=True)
class Searched:
    """The search of the position that was asked about, as that of a move in `/games`: `policy` sums to 65535."""

    kind: str
    visits: tuple[int, ...]
    policy: tuple[int, ...]
    black_winrate: float
    black_score: float


@dataclass(frozen=True, slots=True)
class Ended:
    """How the game ended: `score` is Black's points minus White's with komi, `owner` and `stones` are 1 for Black.

    `dead`: stones that count for the other player.
    """

    how: str
    result: str
    score: float
    owner: tuple[int, ...]
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a `Question`: the release's `move`; None where none was asked for, it `resigns`, or the game was over.

    `search` is of the position before it. All else is after it: `stones` (1 Black's, -1 White's), what the last move
    `captured`, `prisoners` that Black and White took in all, and who is `to_play`.
    """

    move: int | None
    resigns: bool
    moves: int
    stones: tuple[int, ...]
    captured: tuple[int, ...]
    prisoners: tuple[int, int]
    to_play: int
    end: Ended | None
    search: Searched | None


def answer_of(reached: Reached, found: Reply | None = None, analysis: bool = False) -> Answer:
    """What is said of a position, or of what the release did there."""
    game, ended = reached.game, outcome(reached.game)
    return Answer(
        move=None if found is None else found.move,
        resigns=found is not None and found.resigns,
        moves=game.num_moves,
        stones=reached.stones,
        captured=reached.captured,
        prisoners=(game.captured(Colour.WHITE), game.captured(Colour.BLACK)),
        to_play=SIGN[game.to_move],
        end=None if ended is None else Ended(ended.end, ended.result, ended.score, ended.owner, ended.dead),
        search=_searched(found.thought) if found is not None and analysis else None,
    )


def _searched(thought: Thought) -> Searched:
    return Searched(FULL, thought.visits, thought.policy, thought.black_winrate, thought.black_score)
