"""Named errors of the GTP server; each text is what the controller is told."""


class Failure(ValueError):
    """A command that is not done: its answer begins with `?`. One line; the protocol's own words where it has some."""


UNKNOWN = "unknown command"
ILLEGAL = "illegal move"
BAD_SIZE = "unacceptable size"
CANNOT_UNDO = "cannot undo"
