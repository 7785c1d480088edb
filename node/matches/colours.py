"""Who is Black in the two games of a pair: `Colours`."""

from enum import StrEnum

from native.rules import Colour


class Colours(StrEnum):
    """Swapped within each pair, or one player's in every game, as for games with a handicap."""

    SWAP = "swap"
    A_BLACK = "a-black"
    A_WHITE = "a-white"

    def of_first(self, number: int) -> Colour:
        """The first player's colour in a game of a pair, 0 or 1."""
        if self == Colours.SWAP:
            return Colour.WHITE if number else Colour.BLACK
        return Colour.BLACK if self == Colours.A_BLACK else Colour.WHITE
