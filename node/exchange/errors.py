"""Named errors of game records; each text is one sentence for a person."""


class SgfError(ValueError):
    """Bytes that cannot be read as SGF, or values that no SGF file can hold."""


class ReplayError(ValueError):
    """A record that can be read but not be played: `move` is the number (from 1) of the first fault, 0 for a setup."""

    def __init__(self, sentence: str, move: int) -> None:
        super().__init__(sentence)
        self.move = move


class TrainingFileError(ValueError):
    """Training files of Leela Zero that cannot be read, or a game that they cannot hold."""


class WeightsError(ValueError):
    """Bytes that are not the float weights of a network."""


class ExportError(ValueError):
    """Games of a run that are not there, or a folder that they cannot be written to."""
