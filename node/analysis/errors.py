"""Named errors of the analysis server; each text is what the client is told."""


class LineError(ValueError):
    """A line that is no query at all."""


class QueryError(ValueError):
    """A query that is not worked on, because of one of its fields."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field
