"""A drain that comes before the registration ends the node."""

from pathlib import Path

import trio
import trio.testing

from node.contributor.contributor import Contributor
from node.disk.store import Store
from node.peering.transport import Unreachable
from tests.node.keys import secret
from tests.node.world_member import WorldMember
from tests.sim.inline_engine import InlineEngine
from tests.verification.world import World


async def test_drain_while_the_coordinator_is_away(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        member = WorldMember(World(), store)
        member.wake = lambda: None  # type: ignore[attr-defined]
        member.troubles = [Unreachable("The coordinator is not connected.") for _ in range(1000)]
        role = Contributor(member, secret(1), InlineEngine(), "scalar", 1, member.world.invite("a"), "ada")  # type: ignore[arg-type]

        async def drain() -> None:
            await trio.sleep(60)
            role.drain()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(drain)
            with trio.fail_after(600):
                await role.run()
        assert member.posts > 1
        assert member.state.registry.find(secret(1).public) is None
