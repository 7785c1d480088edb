"""Games that somebody else plays with a contributor's seeds: after the end of a series, or in a gap of it.

Spec: `docs/spec/fills.md`. A series that ends early, or never begins, hides games that its owner did not like; the draw of
tails, and others who play them, shows what they would have been.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U16, U64, Digest, Key


@dataclass(frozen=True, slots=True)
class FillAssignment(Record):
    """Logged by the coordinator: `player` plays games `first_counter` onward of (owner, release), `games` of them."""

    NAME = "fill-assignment"

    run: Digest
    owner: Key
    release: Digest
    first_counter: U64
    games: U16
    player: Key

    def check(self) -> None:
        if not self.games:
            raise self.fail("at least one game")
