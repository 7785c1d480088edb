"""Ways to the coordinator and around it: verifiers that take posts, peers that do not, and some that lie."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest
import trio
import trio.testing

from node.peering.call import CallRefused, serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from node.peering.post import HELD, POST_PROTOCOL, Post, Posted, mirror_key
from node.peering.reach import HeldByMirrors, RemoteReach
from node.peering.transport import PeerGone, TransportError, Unreachable, peer_id
from protocol.errors import WrongSigner
from protocol.ticket import Ticket
from tests.node.keys import secret

RUN = bytes(range(32))
POST = Post(b"entry", b"")
COORDINATOR = secret(0)

Answer = Callable[[], bytes]


def verify(posted: Posted) -> None:
    """Only one receipt holds."""
    if posted.receipt != b"receipt":
        raise WrongSigner("it is not signed by the run's coordinator.")


def refuse() -> bytes:
    """A handler that refuses."""
    raise CallRefused("It is full.")


def says(answer: bytes) -> Answer:
    """A handler that gives this answer."""
    return lambda: answer


class Net:
    """A poster, and peers around it."""

    def __init__(self, network: MemoryNetwork, transport: MemoryTransport) -> None:
        self.network = network
        self.transport = transport
        address = f"/ip4/192.0.2.1/tcp/1/p2p/{peer_id(COORDINATOR.public)}"
        self.reach = RemoteReach(transport, Ticket(RUN, bytes(32), (address,)), Random(1))
        self.asked: list[int] = []

    @asynccontextmanager
    async def peer(self, number: int, answer: Answer | None) -> AsyncIterator[bytes]:
        """A linked peer that answers posts, or does not take them."""
        async with self.network.open(secret(number)) as transport:

            async def serve(peer: bytes, request: bytes) -> bytes:
                self.asked.append(number)
                await trio.lowlevel.checkpoint()
                assert answer is not None
                return answer()

            if answer is not None:
                serve_calls(transport, POST_PROTOCOL, serve)
            await transport.dial(self.transport.addresses()[0])
            yield transport.key


@asynccontextmanager
async def net() -> AsyncIterator[Net]:
    network = MemoryNetwork()
    async with network.open(secret(99)) as transport:
        yield Net(network, transport)


async def test_the_coordinator_comes_first(autojump_clock: trio.testing.MockClock) -> None:
    async with net() as here, here.peer(0, says(Posted(5, b"receipt").encode())), here.peer(1, says(HELD.encode())):
        assert here.reach.takes_posts
        assert await here.reach.post(POST, verify) == Posted(5, b"receipt")
        assert here.asked == [0]
        assert here.reach.mirrors() == (secret(1).public,)


@pytest.mark.parametrize("answer", [b"junk", Posted(5, b"").encode(), Posted(5, b"false").encode(), HELD.encode()])
async def test_a_coordinators_answer_is_checked(answer: bytes, autojump_clock: trio.testing.MockClock) -> None:
    async with net() as here, here.peer(0, says(answer)):
        with pytest.raises(PeerGone):
            await here.reach.post(POST, verify)
        assert here.reach.backoff.failures == 1


async def test_two_verifiers_keep_a_post(autojump_clock: trio.testing.MockClock) -> None:
    held = says(HELD.encode())
    async with net() as here, here.peer(1, held), here.peer(2, held), here.peer(3, held), here.peer(4, None):
        assert not here.reach.takes_posts, "who takes posts is not known yet"
        with pytest.raises(HeldByMirrors) as kept:
            await here.reach.offer(POST, verify)
        assert len(kept.value.holders) == 2
        assert sorted(here.asked) == sorted(
            number for number in (1, 2, 3) if secret(number).public in kept.value.holders
        )
        assert here.reach.takes_posts
        assert set(here.reach.mirrors()[:2]) == set(kept.value.holders), "who took one is asked first"


async def test_what_a_verifier_brings_from_the_coordinator_ends_the_offer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with net() as here, here.peer(1, says(Posted(5, b"receipt").encode())):
        assert await here.reach.offer(POST, verify) == Posted(5, b"receipt")


@pytest.mark.parametrize("answer", [b"junk", Posted(5, b"").encode(), Posted(5, b"false").encode()])
async def test_a_liar_is_left_alone(answer: bytes, autojump_clock: trio.testing.MockClock) -> None:
    async with net() as here, here.peer(1, says(answer)):
        with pytest.raises(PeerGone):
            await here.reach.offer(POST, verify)
        assert here.reach.mirrors() == ()
        async with here.peer(2, says(HELD.encode())):
            for _ in range(3):
                with pytest.raises(HeldByMirrors):
                    await here.reach.offer(POST, verify)
        assert here.asked == [1, 2, 2, 2]


async def test_a_peer_without_the_protocol_is_asked_again_after_a_while(autojump_clock: trio.testing.MockClock) -> None:
    async with net() as here, here.peer(1, None):
        with pytest.raises(Unreachable, match="does not speak"):
            await here.reach.offer(POST, verify)
        assert here.reach.mirrors() == ()
        await trio.sleep(601)
        assert here.reach.mirrors() == (secret(1).public,)


async def test_a_refusal_of_a_verifier_is_no_refusal(autojump_clock: trio.testing.MockClock) -> None:
    async with net() as here, here.peer(1, refuse):
        with pytest.raises(Unreachable, match=r"does not take it: It is full\."):
            await here.reach.offer(POST, verify)
        assert here.reach.takes_posts
        async with here.peer(0, refuse):
            with pytest.raises(CallRefused):
                await here.reach.post(POST, verify)


async def test_verifiers_are_found_in_the_directory(autojump_clock: trio.testing.MockClock) -> None:
    dialed: list[str] = []
    async with net() as here, here.peer(4, None), here.network.open(secret(1)) as far, trio.open_nursery() as nursery:
        await far.dial(f"/memory/1/p2p/{peer_id(secret(4).public)}")
        await far.provide(mirror_key(RUN))
        nursery.start_soon(here.reach.seek, dialed.extend)
        await trio.sleep(100)
        assert dialed == list(far.addresses())
        await here.transport.dial(dialed[0])
        assert here.reach.takes_posts, "it is said to"
        await trio.sleep(2000)
        assert len(dialed) == 1, "nobody is sought while a linked peer takes posts"
        nursery.cancel_scope.cancel()


async def test_links_prefer_who_takes_posts_until_one_is_linked(autojump_clock: trio.testing.MockClock) -> None:
    held = says(HELD.encode())
    one, two = secret(1).public, secret(2).public
    async with net() as here:
        assert here.reach.preferred() == set()
        async with here.peer(1, held), here.peer(2, held), here.peer(3, None):
            with pytest.raises(HeldByMirrors):
                await here.reach.offer(POST, verify)
            assert here.reach.takers == here.reach.preferred() == {one, two}
        assert here.reach.preferred() == {one, two}, "they are remembered"
        assert not here.reach.takes_posts
        async with here.peer(2, held):
            assert here.reach.preferred() == {two}, "one is enough"


async def test_a_directory_that_fails_or_tells_nonsense_changes_nothing(autojump_clock: trio.testing.MockClock) -> None:
    told: list[str] = []
    answers: list[Callable[[], Awaitable[tuple[str, ...]]]] = []

    async def fails() -> tuple[str, ...]:
        raise Unreachable("Nobody keeps the directory.")

    async def nonsense() -> tuple[str, ...]:
        return ("nowhere", "/ip4/192.0.2.1/tcp/1/p2p/nobody")

    async def find(key: bytes) -> tuple[str, ...]:
        await trio.lowlevel.checkpoint()
        return await answers.pop(0)()

    async with net() as here, trio.open_nursery() as nursery:
        answers += [fails, nonsense, fails] + 100 * [fails]
        here.transport.find = find  # type: ignore[method-assign]
        nursery.start_soon(here.reach.seek, told.extend)
        await trio.sleep(3600)
        assert set(told) == {"nowhere", "/ip4/192.0.2.1/tcp/1/p2p/nobody"}
        assert not here.reach.takes_posts
        assert len(answers) > 90, "it looks less and less often"
        nursery.cancel_scope.cancel()


async def test_calls_of_many_tasks_share_one_pause(autojump_clock: trio.testing.MockClock) -> None:
    async with net() as here:
        for _ in range(3):
            with pytest.raises(TransportError, match="not connected"):
                await here.reach.call("/gonode/cosign/1", b"")
        with pytest.raises(TransportError, match="not connected"):
            await here.reach.post(POST, verify)
        assert here.reach.backoff.failures == 1
