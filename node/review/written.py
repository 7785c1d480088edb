"""A review as other programs read it: an SGF with comments and win rates, one JSON object, a table, a graph.

Everything is told for Black. `SBKV` is Sabaki's property for a win rate in percent, from which it draws its own graph.
"""

from dataclasses import replace
from typing import Any, Final, TypeVar

from native.rules import Colour
from node.exchange.record import Move, Setup, clean_comment
from node.exchange.sgf_writer import encode_sgf
from node.exchange.values import vertex
from node.review.review import Opinion, Review

Node = TypeVar("Node", bound=Setup | Move)

MOST_NAMED: Final = 10
"""Moves that the table's last lines name."""

WIDTH: Final = 800
HEIGHT: Final = 240
MARGIN: Final = 40


def review_sgf(found: Review) -> bytes:
    """The record with a comment a node, after what is there; raises SgfError where it gets too large."""
    record = found.record
    start = _commented(record.start, _sentence(found, 0))
    nodes = tuple(_commented(node, _sentence(found, number)) for number, node in enumerate(record.nodes, 1))
    further = [_properties(opinion) for opinion in found.opinions]
    return encode_sgf(replace(record, start=start, nodes=nodes), further[0], further[1:])


def review_json(found: Review, player: str) -> dict[str, Any]:
    """The player, the visits, the position at the start and after each node."""
    positions = []
    for number, opinion in enumerate(found.opinions):
        node = found.record.nodes[number - 1] if number else None
        loss = found.loss(number - 1) if number else None
        positions.append(
            {
                "node": number,
                "colour": node.colour.name.lower() if isinstance(node, Move) else None,
                "move": _vertex(found, node.point) if isinstance(node, Move) else None,
                "black_winrate": round(opinion.black.winrate, 6),
                "black_score": round(opinion.black.score, 3),
                "winrate_loss": None if loss is None else round(loss.winrate, 6),
                "score_loss": None if loss is None else round(loss.score, 3),
                "line": [_vertex(found, move) for move in opinion.line],
            }
        )
    return {"player": player, "visits": found.visits, "positions": positions}


def review_table(found: Review) -> str:
    """A line a position for people, then the moves that lost most."""
    lines = ["node  move    win rate of Black    score  best line"]
    for number, opinion in enumerate(found.opinions):
        said = " ".join(_vertex(found, move) for move in opinion.line[:6])
        lines.append(
            f"{number:4d}  {_name(found, number):6}  {100 * opinion.black.winrate:5.1f} %  "
            f"{'#' * round(10 * opinion.black.winrate):10} {_signed(opinion.black.score):>6}  {said}".rstrip()
        )
    losses = [(loss.winrate, number) for number in range(len(found.record.nodes)) if (loss := found.loss(number))]
    worst = [(lost, number) for lost, number in sorted(losses, reverse=True)[:MOST_NAMED] if lost >= 0.05]
    if worst:
        named = ", ".join(f"{number + 1} {_name(found, number + 1)} ({100 * lost:.0f} %)" for lost, number in worst)
        lines.append(f"Lost most: {named}.")
    return "\n".join(lines)


def review_svg(found: Review) -> str:
    """Two lines over the nodes: Black's win rate (solid), and Black's score (dashed, up to the largest one)."""
    most = max(1.0, *(abs(each.black.score) for each in found.opinions))
    middle, last = HEIGHT / 2, max(1, len(found.opinions) - 1)

    def line(shares: list[float]) -> str:
        return " ".join(
            f"{MARGIN + (WIDTH - 2 * MARGIN) * at / last:.1f},{MARGIN + (HEIGHT - 2 * MARGIN) * (1 - share):.1f}"
            for at, share in enumerate(shares)
        )

    winrates = line([each.black.winrate for each in found.opinions])
    scores = line([(1 + each.black.score / most) / 2 for each in found.opinions])
    right, low = WIDTH - MARGIN, HEIGHT - MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n'
        f'<path d="M{MARGIN} {MARGIN}V{low}H{right}V{MARGIN}M{MARGIN} {middle}H{right}" fill="none" stroke="#999999"/>\n'
        f'<polyline points="{winrates}" fill="none" stroke="#000000" stroke-width="2"/>\n'
        f'<polyline points="{scores}" fill="none" stroke="#0050b0" stroke-width="1.5" stroke-dasharray="5 3"/>\n'
        f'<text x="{MARGIN}" y="{MARGIN - 12}">Black: win rate (solid, 0 to 100 %), score (dashed, -{most:.1f} to '
        f"{most:.1f})</text>\n"
        f'<text x="{right}" y="{low + 16}" text-anchor="end">{len(found.opinions) - 1} nodes, {found.visits} visits</text>\n'
        "</svg>\n"
    )


def _commented(node: Node, text: str) -> Node:
    return replace(node, comment=clean_comment(f"{node.comment}\n{text}"))


def _sentence(found: Review, number: int) -> str:
    opinion = found.opinions[number]
    said = f"Black: win rate {100 * opinion.black.winrate:.1f} %, score {_signed(opinion.black.score)}."
    loss = found.loss(number - 1) if number else None
    if loss is not None:
        said += (
            f" For its player the move changed that by {_signed(-100 * loss.winrate)} %, {_signed(-loss.score)} points."
        )
    if opinion.line:
        said += f" Then: {' '.join(_vertex(found, move) for move in opinion.line)}."
    return said


def _signed(number: float) -> str:
    return f"{round(number, 1) + 0.0:+.1f}"  # no -0.0


def _properties(opinion: Opinion) -> dict[str, str]:
    return {"SBKV": f"{100 * opinion.black.winrate:.2f}"}


def _name(found: Review, number: int) -> str:
    node = found.record.nodes[number - 1] if number else None
    if not isinstance(node, Move):
        return "setup" if number else "start"
    return f"{'B' if node.colour == Colour.BLACK else 'W'} {_vertex(found, node.point)}"


def _vertex(found: Review, move: int) -> str:
    return vertex(move, found.record.rows, found.record.cols)
