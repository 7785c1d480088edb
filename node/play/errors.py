"""Named errors of games against people; each text is one sentence for a person."""


class CannotPlay(ValueError):
    """A game that is not offered: its board, its komi, its visits."""


class NotHere(CannotPlay):
    """A network that cannot be played with here: its file is missing or damaged."""


class IllegalGame(ValueError):
    """Moves that the rules forbid: `move` is the number, from 1, of the first one."""

    def __init__(self, sentence: str, move: int) -> None:
        super().__init__(sentence)
        self.move = move
