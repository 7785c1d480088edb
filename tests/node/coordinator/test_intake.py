"""The coordinator's intake: what several posts of one author at once cost."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import trio
import trio.testing

from node.coordinator.intake import Intake
from node.peering.call import CallRefused
from node.peering.post import Post
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.header import BatchHeader
from tests.node.keys import secret
from tests.verification.world import World

FETCH_S = 5.0


class Desk:
    """An intake over a world, to which every blob comes after FETCH_S."""

    def __init__(self) -> None:
        self.world = World()
        self.ada = self.world.register("ada")
        self.bob = self.world.register("bob")
        self.fetched: list[bytes] = []
        self.logged: dict[bytes, int] = {}
        member: Any = SimpleNamespace(
            state=self.world.state,
            store=SimpleNamespace(names=lambda prefix: []),
            transport=SimpleNamespace(peers=tuple),
            blobs=SimpleNamespace(fetch=self._fetch),
            wake=lambda: None,
        )
        log: Any = SimpleNamespace(index_of=lambda envelope: self.logged.get(envelope.digest), append=self._append)
        engine: Any = None
        self.intake = Intake(member, secret(0), log, engine)

    async def post(self, author: SecretKey, header: BatchHeader) -> str:
        try:
            posted = await self.intake.post(Post(header.seal(author).encode(), b""), author.public)
        except CallRefused as refusal:
            return f"refused: {refusal}"
        return f"logged as {posted.index}"

    def header(self, author: SecretKey) -> BatchHeader:
        return self.world.header(author, self.world.games(author, 2))

    async def _fetch(self, digest: bytes, *_: Any) -> bytes:
        self.fetched.append(digest)
        await trio.sleep(FETCH_S)
        return b""

    def _append(self, envelope: Envelope) -> int:
        index = self.logged[envelope.digest] = self.world.log_bytes(envelope.encode())
        return index


async def test_one_of_many_headers_for_the_same_games_is_fetched_and_logged(
    autojump_clock: trio.testing.MockClock,
) -> None:
    desk = Desk()
    header = desk.header(desk.ada)
    variants = [dataclasses.replace(header, build=f"build-{number}") for number in range(8)]
    answers: list[str] = []

    async def post(variant: BatchHeader) -> None:
        answers.append(await desk.post(desk.ada, variant))

    async with trio.open_nursery() as nursery:
        for variant in variants:
            nursery.start_soon(post, variant)
    assert len(desk.fetched) == 1
    assert sum(answer.startswith("logged") for answer in answers) == 1
    assert sum(answer.startswith("refused") for answer in answers) == 7
    assert trio.current_time() < 2 * FETCH_S


async def test_the_same_post_twice_at_once_is_logged_once(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk()
    header = desk.header(desk.ada)
    answers: list[str] = []

    async def post() -> None:
        answers.append(await desk.post(desk.ada, header))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(post)
        nursery.start_soon(post)
    assert len(desk.fetched) == 1
    assert len(set(answers)) == 1
    assert answers[0].startswith("logged")


async def test_authors_do_not_wait_for_each_other(autojump_clock: trio.testing.MockClock) -> None:
    desk = Desk()
    headers = [(author, desk.header(author)) for author in (desk.ada, desk.bob)]
    async with trio.open_nursery() as nursery:
        for author, header in headers:
            nursery.start_soon(desk.post, author, header)
    assert len(desk.logged) == 2
    assert trio.current_time() < 1.5 * FETCH_S
