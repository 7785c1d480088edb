"""The links of this node as one SVG picture, drawn here: `network_map`.

Page: docs/pages.md. Only what one node knows is drawn: itself in the middle and whom it is linked to around it, in the order
of the table, numbered as there, so that the same links give the same picture. Nothing is told by colour alone: roles have
shapes, and an arrow goes from who dialed to who was.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from node.status import IN
from node.web.queries.network import CONTRIBUTOR, COORDINATOR, VERIFIER, LinkLine
from node.web.rendering import things

MOST: Final = 48
"""So many links are drawn; the table has all."""
_WIDTH: Final = 520
_HEIGHT: Final = 420
_RADIUS: Final = 160
_NODE: Final = 16
_MIDDLE: Final = 22


def network_map(links: Sequence[LinkLine], known: int) -> str:
    """An `<svg>` element; empty without a link. `known`: how many other nodes this one knows of."""
    if not links:
        return ""
    shown = links[:MOST]
    parts = [
        f'<svg class="graph map" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="map-title map-words">',
        '<title id="map-title">Links of this node</title>',
        f'<desc id="map-words">{escape(_words(links, known))}</desc>',
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="arrow" d="M0 0L8 4L0 8Z"/></marker></defs>',
        *(_arrow(link, _place(at, len(shown))) for at, link in enumerate(shown)),
        *(_node(at + 1, link, _place(at, len(shown))) for at, link in enumerate(shown)),
        f'<circle class="self" cx="{_WIDTH / 2:g}" cy="{_HEIGHT / 2:g}" r="{_MIDDLE}"/>',
        f'<text class="label self-label" x="{_WIDTH / 2:g}" y="{_HEIGHT / 2 + 5:g}" text-anchor="middle">this</text>',
        "</svg>",
    ]
    return "\n".join(parts)


def _words(links: Sequence[LinkLine], known: int) -> str:
    inwards = sum(link.direction == IN for link in links)
    roles = [link.role for link in links]
    named = "; ".join(
        f"{things(count, noun)}"
        for noun, count in (
            ("coordinator", roles.count(COORDINATOR)),
            ("verifier", roles.count(VERIFIER)),
            ("contributor", roles.count(CONTRIBUTOR)),
            ("node of no known role", roles.count("")),
        )
        if count
    ).replace("node of no known roles", "nodes of no known role")
    more = f" The first {MOST} of them are drawn." if len(links) > MOST else ""
    return (
        f"This node is linked to {things(len(links), 'other')}: {named}. It called {len(links) - inwards} of them, "
        f"{inwards} called it. It knows of {things(known, 'other node')}, linked or not.{more} The table has each."
    )


def _place(at: int, count: int) -> tuple[float, float]:
    """Where one of `count` nodes stands: around the middle, from the top on, clockwise."""
    angle = 2 * math.pi * at / count - math.pi / 2
    return _WIDTH / 2 + 1.3 * _RADIUS * math.cos(angle), _HEIGHT / 2 + _RADIUS * math.sin(angle)


def _arrow(link: LinkLine, place: tuple[float, float]) -> str:
    """A line between this node and another, to whom was dialed."""
    x, y = place[0] - _WIDTH / 2, place[1] - _HEIGHT / 2
    length = math.hypot(x, y)
    x, y = x / length, y / length
    near = (_WIDTH / 2 + (_MIDDLE + 3) * x, _HEIGHT / 2 + (_MIDDLE + 3) * y)
    far = (place[0] - (_NODE + 4) * x, place[1] - (_NODE + 4) * y)
    start, end = (far, near) if link.direction == IN else (near, far)
    return (
        f'<line class="link" x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        'marker-end="url(#to)"/>'
    )


def _node(number: int, link: LinkLine, place: tuple[float, float]) -> str:
    """A square for a coordinator, a triangle for a verifier, a disc for a contributor, a diamond for an unknown role."""
    x, y = place
    if link.role == COORDINATOR:
        shape = f'<rect class="peer" x="{x - 14:.1f}" y="{y - 14:.1f}" width="28" height="28"/>'
    elif link.role == VERIFIER:
        shape = f'<path class="peer" d="M{x:.1f} {y - 20:.1f}l21 34h-42Z"/>'
    elif link.role == CONTRIBUTOR:
        shape = f'<circle class="peer" cx="{x:.1f}" cy="{y:.1f}" r="{_NODE - 1}"/>'
    else:
        shape = f'<path class="peer" d="M{x:.1f} {y - 18:.1f}l18 18l-18 18l-18-18Z"/>'
    name = f"{number}: {link.role or 'no known role'}{f' {link.name}' if link.name else ''}"
    return (
        f'<g>{shape}<text class="label" x="{x:.1f}" y="{y + 5:.1f}" text-anchor="middle">{number}</text>'
        f"<title>{escape(name)}</title></g>"
    )
