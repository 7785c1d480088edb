"""A member whose coordinator is a world in this process: what it posts is logged there at once, or waits for a slot."""

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar

import trio

from node.disk.store import Head, Store
from node.peering.backoff import Backoff
from node.peering.call import CallRefused
from node.peering.post import Post, Posted
from node.services import Services
from tests.verification.world import World
from verification.faults import LogFault, NotYet
from verification.state import LogState

T = TypeVar("T")


class WorldMember:
    """As much of `node.member.Member` as a registrar or an epoch keeper needs; `troubles` are raised by posts, in turn."""

    def __init__(self, world: World, store: Store) -> None:
        self.world = world
        self.store = store
        self.troubles: list[Exception] = []
        self.posts = 0
        self.waiting: list[bytes] = []
        self.said: list[str] = []
        self.reach = SimpleNamespace(backoff=Backoff(lambda: True, Random(1)))
        self.before_post: Callable[[], None] = lambda: None
        self.is_witnessed = True
        self.services = Services(self.events, Random(1))

    @property
    def state(self) -> LogState:
        return self.world.state

    @property
    def cosigned_size(self) -> int:
        return self.state.size if self.is_witnessed else 0

    def clock(self) -> float:
        return 12.0

    def newest_head(self) -> Head | None:
        return Head(self.state.size, self.state.tree.root(), self.world.note())

    async def post(self, post: Post) -> Posted:
        self.posts += 1
        self.before_post()
        with self.reach.backoff.attempt():
            await trio.lowlevel.checkpoint()
            if self.troubles:
                raise self.troubles.pop(0)
        try:
            index = self.world.log_bytes(post.envelope)
        except NotYet:
            self.waiting.append(post.envelope)
            return Posted(0, b"", place=len(self.waiting), waiting=len(self.waiting))
        except LogFault as fault:
            raise CallRefused(fault.reason) from None
        return Posted(index, b"")

    def never_logged(self, data: bytes) -> str | None:
        try:
            self.state.check(data)
        except NotYet:
            return None
        except LogFault as fault:
            return fault.reason
        return None

    async def until(self, condition: Callable[[], T | None]) -> T:
        while (answer := condition()) is None:
            await trio.sleep(0.1)
        return answer

    async def until_size(self, size: int) -> None:
        await self.until(lambda: True if self.state.size >= size else None)

    async def change_within(self, seconds: float) -> None:
        await trio.sleep(seconds)

    def jitter(self, seconds: float) -> float:
        return seconds

    def events(self, event: str, text: str, **values: Any) -> None:
        self.said.append(event)
