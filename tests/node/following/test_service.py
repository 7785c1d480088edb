"""How many calls for entries a node answers: in all, and of one peer."""

from pathlib import Path

import pytest
import trio
import trio.testing

from node.following import service
from node.following.service import LOG_PROTOCOL, LogService
from node.peering.call import CallRefused, call
from protocol import codec
from tests.node.following.copies import BEGINNING, Log, logs, tick


async def answered(asker: Log, source: Log, calls: int, **request: codec.Value) -> int:
    """How many of so many calls are answered; the others are refused as busy."""
    count = 0
    for _ in range(calls):
        try:
            await call(asker.transport, source.key, LOG_PROTOCOL, codec.encode(request))
        except CallRefused as refusal:
            count -= "busy" in str(refusal)
        count += 1
    return count


def entries(size: int) -> dict[str, codec.Value]:
    return {"op": "entries", "start": 0, "limit": 2, "size": size}


async def test_one_peer_does_not_keep_the_others_out(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("ENTRIES_PER_S", 1),
        ("ENTRIES_BURST", 8),
        ("PEER_ENTRIES_PER_S", 1),
        ("PEER_ENTRIES_BURST", 3),
    ):
        monkeypatch.setattr(service, name, value)
    async with logs(tmp_path, 4) as (source, greedy, other, last):
        source.service = LogService(source.transport, source.replica, source.store)
        source.transport._network.delay_s = 0.0
        source.extend([*BEGINNING, tick(2)])
        source.sign()
        assert await answered(greedy, source, 20, **entries(3)) == 3
        assert await answered(other, source, 20, **entries(3)) == 3
        assert await answered(last, source, 20, **entries(3)) == 2, "all together"
        assert await answered(last, source, 20, op="head") == 20, "heads are cheap"
        with pytest.raises(CallRefused, match="has 3 entries"):  # what is not here costs nothing
            await call(last.transport, source.key, LOG_PROTOCOL, codec.encode(entries(9)))
        await trio.sleep(2.5)
        assert await answered(last, source, 20, **entries(3)) == 2
