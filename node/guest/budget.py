"""How much a guest plays before it ends by itself."""

from dataclasses import dataclass

from protocol.words import counted


@dataclass(frozen=True, slots=True)
class Budget:
    """So many minutes since the start, rests included, and so many finished games of any kind; None: no limit."""

    minutes: float | None = None
    games: int | None = None

    def spent(self, seconds: float, games: int) -> str | None:
        """Which limit is reached, as a sentence; None when none is."""
        if self.games is not None and games >= self.games:
            return f"{counted(self.games, 'game is', 'games are')} finished (--games)."
        if self.minutes is not None and seconds >= 60 * self.minutes:
            return f"{self.minutes:g} minutes are over (--minutes)."
        return None
