"""The count of a position as it stands: who owns what, which stones are dead, the score. `judge`, `Verdict`.

Under area scoring it is the rules' own count (docs/spec/rules.md): what is dead has to be taken, unless it lies in
pass-alive territory where the rules clean that up. Territory scoring cannot do without a judge: a chain counts as dead
where the network gives its points to the other player; without a network nothing is dead.
"""

from dataclasses import dataclass
from typing import Final

from native.errors import EngineError
from native.game import Game
from native.rules import Colour, Scoring
from node.play.player import AnyPlayer
from node.play.position import dead_points
from node.play.searcher import Searcher
from node.play.stand import Stand
from node.play.symmetry import SYMMETRIES

DEAD: Final = -0.5
"""Ownership, for its own colour, below which a chain is dead."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Black's half points minus White's with komi, the points of dead stones, and the Colour each point counts for."""

    score_half: int
    dead: frozenset[int]
    owner: bytes

    @property
    def result(self) -> str:
        """`B+3.5`, or `0` for a draw."""
        if not self.score_half:
            return "0"
        return f"{'B' if self.score_half > 0 else 'W'}+{abs(self.score_half) / 2:.1f}"


def judge(stand: Stand, player: AnyPlayer) -> Verdict:
    """The count of the position."""
    game = stand.game
    if game.rules.scoring == Scoring.AREA:
        owner = game.owner()
        return Verdict(game.score_half(), frozenset(dead_points(game.stones(), owner)), owner)
    dead = _dead(game, player)
    stones = bytearray(game.stones())
    taken = {colour: stand.taken(colour) for colour in (Colour.BLACK, Colour.WHITE)}
    for point in dead:
        taken[Colour(stones[point])] += 1
        stones[point] = Colour.EMPTY
    try:
        cleaned = Game(game.rules, bytes(stones), game.to_move)
    except EngineError:  # a chain without a liberty cannot come of taking stones away
        raise AssertionError("stones that were taken away left others without a liberty") from None
    half = cleaned.score_half() + 2 * (taken[Colour.WHITE] - taken[Colour.BLACK])
    return Verdict(half, dead, cleaned.owner())


def ownership(game: Game, player: AnyPlayer) -> list[float]:
    """Whom the points will belong to, from -1 (the side to move loses it) to 1: the mean over symmetries; [] if unknown."""
    if not isinstance(player, Searcher) or player.network is None:
        return []
    owned = [player.evaluate_by(game, symmetry).ownership for symmetry in SYMMETRIES]
    return [sum(values) / len(owned) for values in zip(*owned, strict=True)]


def _dead(game: Game, player: AnyPlayer) -> frozenset[int]:
    owned = ownership(game, player)
    if not owned:
        return frozenset()
    stones, rules = game.stones(), game.rules
    found: set[int] = set()
    for chain in _chains(stones, rules.rows, rules.cols):
        own = 1 if stones[chain[0]] == game.to_move else -1
        if own * sum(owned[point] for point in chain) / len(chain) < DEAD:
            found.update(chain)
    return frozenset(found)


def _chains(stones: bytes, rows: int, cols: int) -> list[list[int]]:
    seen: set[int] = set()
    chains = []
    for first in range(len(stones)):
        if not stones[first] or first in seen:
            continue
        seen.add(first)
        chain = [first]
        for point in chain:  # it grows while it is walked
            row, col = divmod(point, cols)
            for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
                near = r * cols + c
                if 0 <= r < rows and 0 <= c < cols and near not in seen and stones[near] == stones[first]:
                    seen.add(near)
                    chain.append(near)
        chains.append(chain)
    return chains
