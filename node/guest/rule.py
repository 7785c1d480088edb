"""What has play rest: a rule that is asked now and then, and says what it waits for."""

from typing import Protocol


class Rule(Protocol):
    """A rule; it reads the machine each time that it is asked, and may remember what it said."""

    @property
    def name(self) -> str:
        """The option that asks for it, such as `max-temp`."""
        ...

    def waiting_for(self) -> str | None:
        """What play has to rest for, as the end of "waiting for"; None when nothing is against it."""
        ...
