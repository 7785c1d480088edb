"""Contacts: the closest are found, and nobody fills the buckets."""

from random import Random

from trio.testing import MockClock

from node.peering.libp2p.kad.contacts import BUCKET, GROUP_IN_ALL, MAX_CONTACTS, STALE_S, Contacts, position
from node.peering.transport import id_bytes

OWN = bytes(32)
HERE = ("/ip4/9.9.9.9/tcp/1",)


def keys(number: int, seed: int = 1) -> list[bytes]:
    rng = Random(seed)
    return [rng.randbytes(32) for _ in range(number)]


async def test_the_closest_are_found() -> None:
    contacts = Contacts(OWN)
    held = [key for key in keys(60) if contacts.seen(key, HERE, key.hex())]
    target = b"t" * 32
    expected = sorted(held, key=lambda key: position(id_bytes(key)) ^ position(target))
    assert [contact.key for contact in contacts.closest(target, 20)] == expected[:20]
    assert contacts.find(held[0]) is not None
    contacts.failed(held[0])
    assert contacts.find(held[0]) is None
    assert len(contacts) == len(held) - 1


async def test_a_contact_needs_an_address_and_is_not_the_node_itself() -> None:
    contacts = Contacts(OWN)
    assert not contacts.seen(OWN, HERE, "a")
    assert not contacts.seen(keys(1)[0], (), "a")


async def test_many_keys_of_one_group_get_few_places() -> None:
    contacts = Contacts(OWN)
    for key in keys(1000):
        contacts.seen(key, HERE, "9.9.9.0/24")
    assert len(contacts) <= GROUP_IN_ALL
    assert sum(contacts.seen(key, HERE, key.hex()) for key in keys(30, seed=2)) > 20


async def test_the_table_is_bounded_and_old_contacts_keep_their_places(mock_clock: MockClock) -> None:
    contacts = Contacts(OWN)
    first = keys(BUCKET)
    for key in first + keys(3000, seed=2):
        contacts.seen(key, HERE, key.hex())
    assert len(contacts) <= MAX_CONTACTS
    assert contacts.find(first[0]) is not None
    full = [key for key in keys(50, seed=3) if not contacts.seen(key, HERE, key.hex())]
    assert full
    mock_clock.jump(STALE_S + 1)
    assert contacts.seen(full[0], HERE, "new")
