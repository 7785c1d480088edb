"""How much this node has played since midnight UTC, kept in its store: a restart forgets nothing.

Written in the transaction that keeps a game, so it counts exactly the games that are kept.
"""

import struct
from typing import Final

from node.member import Member
from node.role_status import Played

NAME: Final = "today"
"""Its name in the store; the value is the day since 1970, games and plies."""

_VALUE: Final = struct.Struct("<III")
_DAY_S: Final = 86_400


class Today:
    """The counts of a contributing node."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def add(self, plies: int) -> None:
        """A game with so many plies was finished."""
        day, games, all_plies = self._load()
        self._member.store.put(NAME, _VALUE.pack(day, games + 1, all_plies + plies))

    def status(self) -> Played:
        """For `gonode status`."""
        _, games, plies = self._load()
        return Played(games, plies)

    def _load(self) -> tuple[int, int, int]:
        """Day, games and plies; nothing of another day."""
        today = int(self._member.clock()) // _DAY_S
        value = self._member.store.get(NAME) or b""
        if len(value) == _VALUE.size:
            day, games, plies = _VALUE.unpack(value)
            if day == today:
                return today, games, plies
        return today, 0, 0
