"""The engine as roles see it: games go in, finished games come out, the network loop never waits.

Roles take any `Engine`, so that simulations can run one inline on a virtual clock.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar, TypeVarTuple

from native.pool import Done, Job

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Engine(Protocol):
    """Everything that computes for long. A job's networks must outlive it."""

    async def play(self, job: Job) -> Done:
        """The finished game of a job; its status is OK or STOPPED."""
        ...

    async def play_on(self, job: Job, begun: bytes) -> Done:
        """As `play`, from the plies of a game that was stopped (`Done.begun`); what is none of this job counts for
        nothing."""
        ...

    async def stop(self) -> None:
        """Returns when every game that is under way now came back: finished, or stopped with what it has, if
        canaries came out after it; WrongMachine ends the engine otherwise. Whatever is asked afterwards is computed as
        before."""
        ...

    async def replay(self, job: Job, block: bytes) -> Done:
        """Replays a game block against what the job would play; status OK, MISMATCH or STOPPED."""
        ...

    async def verify_canaries(self) -> None:
        """Raises WrongMachine when known positions come out otherwise: what was played since the last time is doubtful,
        and nothing of it may be signed."""
        ...

    async def compute(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """What a function of the trust core returns or raises, such as the checks of a whole batch."""
        ...
