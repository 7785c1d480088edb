"""Why bytes are refused, in one sentence that a person can act on.

Spec: `docs/spec/admission.md` ("Reasons"). `LogFault`: an entry that the log's state does not allow; `NotYet`: it may later.
`Rejected`: a batch or gate result whose bytes break a rule; its `label` is the named reason that verdicts carry.
"""


class LogFault(ValueError):
    """The entry may not be logged now; `reason` is one sentence. The state has not changed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotYet(LogFault):
    """The entry may not be logged now, but may be once the log holds what it lacks."""


class Rejected(Exception):
    """A batch or gate result is wrong. `label` names the kind of breach, `reason` says what and where.

    `game` is the game's number in the batch and `ply` the absolute ply, where one of them is to blame.
    """

    def __init__(self, label: str, reason: str, game: int | None = None, ply: int | None = None) -> None:
        super().__init__(f"{label}: {reason}")
        self.label = label
        self.reason = reason
        self.game = game
        self.ply = ply
