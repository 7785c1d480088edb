"""Peers that were seen to keep the directory, in Kademlia's buckets.

Spec: docs/spec/swarm.md ("Directory"). A bucket holds the peers whose distance to this node begins with the same number of
zero bits. Invariants: at most BUCKET of a bucket, MAX_CONTACTS in all, and of one address group (`told.group_of`)
GROUP_IN_BUCKET of a bucket and GROUP_IN_ALL in all, so that who has many keys on few addresses cannot fill it. Who was seen
lately keeps its place.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import trio

from node.peering.transport import id_bytes

BUCKET: Final = 20
GROUP_IN_BUCKET: Final = 4
GROUP_IN_ALL: Final = 16
MAX_CONTACTS: Final = 512
STALE_S: Final = 3600.0
"""How long after it was last seen a contact may lose its place to another one."""

_BITS: Final = 256


@dataclass(frozen=True, slots=True)
class Contact:
    """A peer, where it was said to be, the group of where it was seen, and when."""

    key: bytes
    addresses: tuple[str, ...]
    group: str
    seen_s: float


class Contacts:
    """The contacts of the node with `own_key`."""

    def __init__(self, own_key: bytes) -> None:
        self._own_key = own_key
        self._own_position = position(id_bytes(own_key))
        self._buckets: dict[int, dict[bytes, Contact]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))

    def seen(self, key: bytes, addresses: tuple[str, ...], group: str) -> bool:
        """Notes that `key` answered now; whether it has a place, which needs an address."""
        if key == self._own_key or not addresses:
            return False
        bucket = self._buckets.setdefault(self._bucket(key), {})
        contact = Contact(key, addresses, group, trio.current_time())
        if key not in bucket and not self._make_place(bucket, group):
            return False
        bucket[key] = contact
        return True

    def failed(self, key: bytes) -> None:
        """Notes that `key` did not answer: it loses its place."""
        self._buckets.get(self._bucket(key), {}).pop(key, None)

    def find(self, key: bytes) -> Contact | None:
        """The contact with this key."""
        return self._buckets.get(self._bucket(key), {}).get(key)

    def closest(self, target: bytes, most: int) -> list[Contact]:
        """Up to `most` contacts, the closest to `target` first."""
        where = position(target)
        return sorted(self._all(), key=lambda contact: position(id_bytes(contact.key)) ^ where)[:most]

    def _make_place(self, bucket: dict[bytes, Contact], group: str) -> bool:
        """Whether one more of `group` may enter, in place of the stalest contact if need be."""
        of_bucket = [contact for contact in bucket.values() if contact.group == group]
        of_all = [contact for contact in self._all() if contact.group == group]
        for held, most in (
            (of_bucket, GROUP_IN_BUCKET),
            (of_all, GROUP_IN_ALL),
            (list(bucket.values()), BUCKET),
            (list(self._all()), MAX_CONTACTS),
        ):
            if len(held) < most:
                continue
            stalest = min(held, key=lambda contact: contact.seen_s)
            if trio.current_time() - stalest.seen_s < STALE_S:
                return False
            self.failed(stalest.key)
            return True
        return True

    def _all(self) -> Iterable[Contact]:
        return (contact for bucket in self._buckets.values() for contact in bucket.values())

    def _bucket(self, key: bytes) -> int:
        return _BITS - (position(id_bytes(key)) ^ self._own_position).bit_length()


def position(target: bytes) -> int:
    """Where a target or a binary peer id lies, 0 to 2**256 - 1; the distance of two is their exclusive or."""
    return int.from_bytes(sha256(target).digest(), "big")
