"""A game as SGF: FF[4], what its searches found as comments, and as `SBKV` and `SBKS`, which Sabaki draws. `game_sgf`.

`SBKV` is Black's win rate in per cent, `SBKS` Black's lead in points, of the position that was searched: they stand in the
node that leads to it, the comment on the search in the node of the move that it chose.
"""

import time
from typing import Final

from native.rules import MAX_KOMI_HALF, Colour
from node.exchange.record import GameRecord, Move, Setup, clean_comment, clean_name
from node.exchange.sgf_writer import encode_sgf
from node.exchange.values import parse_result, vertex
from node.web.games.played import MoveLine, SearchLine
from node.web.queries.game import GameAnswer

SGF_TYPE: Final = "application/x-go-sgf"
TOLD: Final = 5
"""So many moves that a search looked at most are in a comment."""


def game_sgf(game: GameAnswer) -> bytes:
    """The game as a file that `node.exchange` reads back; the same answer gives the same bytes."""
    komi_half = round(2 * game.komi)
    record = GameRecord(
        game.size,
        game.size,
        komi_half=komi_half if abs(komi_half) <= MAX_KOMI_HALF else None,
        rules=game.rules,
        black=clean_name(game.black.name),
        white=clean_name(game.white.name),
        result=parse_result(game.result),
        start=Setup(comment=clean_comment(_about(game))),
        nodes=tuple(_move(game, number, line) for number, line in enumerate(game.moves)),
    )
    root = {"GN": game.hash.hex(), "DT": _day(game.unix_s)}
    before = [{} if line.search is None else _numbers(line.search) for line in game.moves]
    if before:
        root |= before[0]
    return encode_sgf(record, root, [*before[1:], {}] if before else ())


def _about(game: GameAnswer) -> str:
    lines = [
        f"A {game.kind} game of a gonode run: number {game.counter} of {game.contributor.name or 'no name'} "
        f"({game.contributor.key.hex()}), log entry {game.batch.index}.",
        f"It was {game.fate} when this file was written.",
        *([f"It breaks the rules: {game.fault}"] if game.fault else []),
    ]
    if game.opening_moves:
        lines.append(f"The first {game.opening_moves} moves are an opening that was drawn.")
    return "\n".join(lines)


def _move(game: GameAnswer, number: int, line: MoveLine) -> Move:
    colour = Colour.BLACK if line.colour == "black" else Colour.WHITE
    return Move(colour, line.point, "" if line.search is None else _comment(game.size, line.search))


def _comment(size: int, search: SearchLine) -> str:
    """What the search for the move that was just played found."""
    total = sum(search.visits)
    ahead = f"{'B' if search.black_score >= 0 else 'W'}+{abs(search.black_score):.1f}"
    lines = [f"{search.kind} search, {total} visits: Black wins {100 * search.black_winrate:.1f} %, {ahead}"]
    best = sorted(range(len(search.visits)), key=lambda point: (-search.visits[point], point))[:TOLD]
    for point in best:
        if search.visits[point]:
            policy = "" if search.policy is None else f", policy {100 * search.policy[point] / 65535:.1f} %"
            lines.append(f"{vertex(point, size, size)}: {search.visits[point]} visits{policy}")
    return "\n".join(lines)


def _numbers(search: SearchLine) -> dict[str, str]:
    return {"SBKV": f"{100 * search.black_winrate:.2f}", "SBKS": f"{search.black_score:.2f}"}


def _day(unix_s: int | None) -> str:
    if unix_s is None:
        return ""
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(unix_s))
    except (OverflowError, ValueError, OSError):
        return ""
