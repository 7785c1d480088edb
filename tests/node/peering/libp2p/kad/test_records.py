"""Provider records: bounded, expiring, and shared between address groups."""

from trio.testing import MockClock

from node.peering.libp2p.kad.message import Told
from node.peering.libp2p.kad.records import MAX_OF_KEY, MAX_OF_PEER, MAX_RECORDS, RECORD_S, ProviderRecords

KEY = b"k" * 32


def provider(number: int) -> Told:
    return Told(number.to_bytes(32, "big"), (f"/ip4/9.9.9.9/tcp/{number + 1}",))


def key(number: int) -> bytes:
    return number.to_bytes(32, "little")


async def test_records_are_given_until_they_expire(mock_clock: MockClock) -> None:
    records = ProviderRecords()
    assert records.add(KEY, provider(1), "a")
    mock_clock.jump(RECORD_S / 2)
    assert records.add(KEY, provider(2), "a")
    assert records.find(KEY, 20) == (provider(2), provider(1))
    assert records.find(KEY, 1) == (provider(2),)
    assert records.find(b"x" * 32, 20) == ()
    mock_clock.jump(RECORD_S / 2)
    assert records.find(KEY, 20) == (provider(2),)
    assert records.add(KEY, provider(2), "a")
    mock_clock.jump(RECORD_S - 1)
    assert records.find(KEY, 20) == (provider(2),)
    mock_clock.jump(1)
    assert (records.find(KEY, 20), len(records)) == ((), 0)


async def test_one_peer_and_one_key_have_limits() -> None:
    records = ProviderRecords()
    assert sum(records.add(key(number), provider(1), "a") for number in range(MAX_OF_PEER + 9)) == MAX_OF_PEER
    records = ProviderRecords()
    assert sum(records.add(KEY, provider(number), "a") for number in range(MAX_OF_KEY + 9)) == MAX_OF_KEY
    assert not records.add(KEY, Told(b"n" * 32, ()), "b")


async def test_who_took_all_places_gives_way_to_others() -> None:
    records = ProviderRecords()
    for number in range(MAX_OF_KEY):
        records.add(KEY, provider(number), "flood")
    honest = provider(1000)
    assert records.add(KEY, honest, "honest")
    assert not records.add(KEY, provider(1001), "flood")
    assert honest in records.find(KEY, MAX_OF_KEY)
    assert len(records) == MAX_OF_KEY


async def test_all_records_are_bounded() -> None:
    records = ProviderRecords()
    for number in range(MAX_RECORDS + 50):
        records.add(key(number), provider(number % 1000), "flood")
    assert len(records) == MAX_RECORDS
    assert records.add(KEY, provider(1000), "honest")
    assert len(records) == MAX_RECORDS
