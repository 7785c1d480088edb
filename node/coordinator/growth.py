"""The wish for a network of another shape: asked for once, kept in the store until the cycle that begins it is logged.

Spec: `docs/spec/training.md` ("Semantics"). A coordinator that is killed in between keeps it; what the log already has is
wished no more.
"""

from native.netfile import Architecture
from node.disk.store import Store
from verification.state import LogState

_KEY = "grow"


class GrowthRefused(ValueError):
    """One sentence about a shape that training cannot grow to."""


class Growth:
    """What the next cycle begins anew, if anything."""

    def __init__(self, state: LogState, store: Store) -> None:
        self._state = state
        self._store = store

    def ask(self, shape: str) -> None:
        """Wishes for a network like `b6c96` and no other; raises EngineError, or GrowthRefused for the present shape."""
        shape = Architecture.parse(shape).encode()
        if shape == self._state.cycles.shape:
            raise GrowthRefused(f"Training has a network {shape} already; growing takes another shape.")
        self._store.put(_KEY, shape.encode("ascii"))

    @property
    def wish(self) -> str | None:
        """The shape that is wished for and not yet there."""
        kept = self._store.get(_KEY)
        shape = None if kept is None else kept.decode("ascii")
        return None if shape == self._state.cycles.shape else shape

    @property
    def now(self) -> str | None:
        """The shape that a cycle trained now begins: the wish, once the run's first network is trained."""
        return self.wish if self._state.trainings else None

    def settle(self, shape: str) -> None:
        """A cycle of this shape is logged: it is wished for no more."""
        kept = self._store.get(_KEY)
        if kept is not None and kept.decode("ascii") == shape:
            self._store.delete(_KEY)
