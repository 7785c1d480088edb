"""What a game against a network may ask for: sizes of boards, komi, and visits by what they cost.

Invariant: a search within `most_visits` ends in some ten seconds on one core, whatever the network and the board.
"""

from typing import Final

from native.netfile import Architecture
from native.network import Kernel
from native.rules import Rules
from node.play.errors import CannotPlay
from protocol.manifest import RulesSpec
from verification.setup import game_rules

SIZES: Final = range(7, 20)
"""Sides of the boards that any network takes."""
LEAST_VISITS: Final = 2
MOST_VISITS: Final = 1600
MACS: Final = 10**12
"""Multiply-adds of one search; vector instructions do some 10^11 a second."""
SCALAR_MACS: Final = MACS // 50


def most_visits(shape: Architecture | None, size: int, kernel: Kernel = Kernel.BEST) -> int:
    """Visits that one search of a board of this size may have; `shape` None: uniform evaluation."""
    if shape is None:
        return MOST_VISITS
    best = Kernel.best() if kernel == Kernel.BEST else kernel
    macs = SCALAR_MACS if best == Kernel.SCALAR else MACS
    evaluation = 2 * 9 * shape.blocks * shape.channels**2 * size**2
    return max(LEAST_VISITS, min(MOST_VISITS, macs // evaluation))


def rules_for(spec: RulesSpec, size: int, komi_half: int) -> Rules:
    """The rules of a game as a run has them; raises CannotPlay for what is not offered."""
    if size not in SIZES:
        raise CannotPlay(f"The board has to have a side of {SIZES[0]} to {SIZES[-1]}.")
    most = most_komi_half(size)
    if abs(komi_half) > most:
        raise CannotPlay(f"Komi on this board has to be from {-most // 2} to {most // 2}.")
    return game_rules(spec, size, komi_half)


def most_komi_half(size: int) -> int:
    """Half points of komi to either side: all points of the board."""
    return 2 * size * size
