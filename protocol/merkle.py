"""Merkle trees of RFC 6962: roots, inclusion proofs and consistency proofs over SHA-256.

Spec: docs/spec/log.md ("Tree"), RFC 6962 section 2.1, RFC 9162 sections 2.1.3.2 and 2.1.4.2 for verification.
`Tree` keeps the hash of every full subtree, so a root costs log n hashes, a proof log^2 n at most, and the tiles of the
log are slices of its levels. It only grows; any earlier size can still be asked for.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, Self

from protocol.errors import BadProof

HASH_BYTES: Final = 32
_PAIR_BYTES: Final = 2 * HASH_BYTES
EMPTY_ROOT: Final = sha256(b"").digest()
MAX_SIZE: Final = 2**63 - 1


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf: SHA-256(0x00 | data)."""
    return sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: SHA-256(0x01 | left | right)."""
    return sha256(b"\1" + left + right).digest()


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root over the data of `leaves`."""
    return root_of_hashes([leaf_hash(leaf) for leaf in leaves])


def root_of_hashes(hashes: Sequence[bytes]) -> bytes:
    """The root over leaf hashes; level by level, an odd last node moves up as it is."""
    if not hashes:
        return EMPTY_ROOT
    level = list(hashes)
    while len(level) > 1:
        pairs = [sha256(b"\1" + a + b).digest() for a, b in zip(level[::2], level[1::2], strict=False)]
        if len(level) % 2:
            pairs.append(level[-1])
        level = pairs
    return level[0]


class Tree:
    """A growing Merkle tree. Level k holds the hashes of all full subtrees of 2^k leaves, left to right."""

    __slots__ = ("_levels",)

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._levels: list[bytearray] = [bytearray()]
        self.extend(map(leaf_hash, leaves))

    @classmethod
    def from_hashes(cls, hashes: Iterable[bytes]) -> Self:
        """The tree over leaf hashes."""
        tree = cls()
        tree.extend(hashes)
        return tree

    @property
    def size(self) -> int:
        """The number of leaves."""
        return len(self._levels[0]) // HASH_BYTES

    def append(self, data: bytes) -> int:
        """Adds a leaf of `data`; returns its index."""
        index = self.size
        self.extend((leaf_hash(data),))
        return index

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Adds leaves by their hashes (32 bytes each): level by level, so many at once cost a third of each alone."""
        hashes = list(leaves)
        if any(len(each) != HASH_BYTES for each in hashes):
            raise ValueError("a leaf hash has 32 bytes")
        self._levels[0] += b"".join(hashes)
        for height, level in enumerate(self._levels):  # which grows below, by one level at most
            above = self._levels[height + 1] if height + 1 < len(self._levels) else bytearray()
            pairs = bytes(memoryview(level)[2 * len(above) : len(level) - len(level) % _PAIR_BYTES])
            if not pairs:
                return
            above += b"".join(
                [sha256(b"\1" + pairs[at : at + _PAIR_BYTES]).digest() for at in range(0, len(pairs), _PAIR_BYTES)]
            )
            if height + 1 == len(self._levels):
                self._levels.append(above)

    def node(self, height: int, number: int) -> bytes:
        """The hash of the `number`-th full subtree of 2^height leaves; IndexError if the tree has no such one."""
        return self.nodes(height, number, number + 1)

    def nodes(self, height: int, start: int, end: int) -> bytes:
        """The concatenated hashes of the full subtrees start..end (exclusive) of 2^height leaves; IndexError as above."""
        if not 0 <= start <= end <= self.size >> height:
            raise IndexError(f"the tree of {self.size} leaves has no nodes {start} to {end} at height {height}")
        if height >= len(self._levels):
            return b""
        return bytes(memoryview(self._levels[height])[start * HASH_BYTES : end * HASH_BYTES])

    def root(self, size: int | None = None) -> bytes:
        """The root over the first `size` leaves (all by default); IndexError if there are not so many."""
        size = self.size if size is None else size
        self._require(size)
        return self._root(0, size) if size else EMPTY_ROOT

    def inclusion_proof(self, index: int, size: int | None = None) -> tuple[bytes, ...]:
        """The path of leaf `index` in the tree of the first `size` leaves; IndexError if that has no such leaf."""
        size = self.size if size is None else size
        self._require(size)
        if not 0 <= index < size:
            raise IndexError(f"a tree of {size} leaves has no leaf {index}")
        path: list[bytes] = []
        start, end = 0, size
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                path.append(self._root(middle, end))
                end = middle
            else:
                path.append(self._root(start, middle))
                start = middle
        return tuple(reversed(path))

    def consistency_proof(self, old_size: int, new_size: int | None = None) -> tuple[bytes, ...]:
        """The proof that the tree of `new_size` leaves extends that of `old_size`; IndexError outside 0..size."""
        new_size = self.size if new_size is None else new_size
        self._require(new_size)
        if not 0 <= old_size <= new_size:
            raise IndexError(f"a tree of {new_size} leaves does not extend one of {old_size}")
        if old_size in (0, new_size):
            return ()
        path: list[bytes] = []
        start, end = 0, new_size
        while old_size != end:  # the subtree start..end holds the end of the old tree inside it
            middle = start + _split(end - start)
            if old_size <= middle:
                path.append(self._root(middle, end))
                end = middle
            else:
                path.append(self._root(start, middle))
                start = middle
        if start:
            path.append(self._root(start, end))
        return tuple(reversed(path))

    def _require(self, size: int) -> None:
        if not 0 <= size <= self.size:
            raise IndexError(f"the tree has {self.size} leaves, not {size}")

    def _root(self, start: int, end: int) -> bytes:
        """The root over leaves start..end, where start is a multiple of a power of two not below end - start."""
        peaks: list[bytes] = []
        while start < end:
            height = (end - start).bit_length() - 1
            peaks.append(self.node(height, start >> height))
            start += 1 << height
        root = peaks.pop()
        while peaks:
            root = node_hash(peaks.pop(), root)
        return root


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raises BadProof unless `proof` shows that the leaf hash `leaf` is leaf `index` of the tree (size, root)."""
    if not 0 <= index < size <= MAX_SIZE:
        raise BadProof(f"A tree of {size} leaves has no leaf {index}.")
    steps = _steps(leaf, proof)
    number, last = index, size - 1
    node = leaf
    for sibling in steps:
        if last == 0:
            raise BadProof("The inclusion proof is too long.")
        if number & 1 or number == last:
            node = node_hash(sibling, node)
            while not number & 1 and number:
                number >>= 1
                last >>= 1
        else:
            node = node_hash(node, sibling)
        number >>= 1
        last >>= 1
    if last != 0:
        raise BadProof("The inclusion proof is too short.")
    if node != root:
        raise BadProof(f"The inclusion proof of leaf {index} does not lead to the root.")


def verify_consistency(old_size: int, new_size: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> None:
    """Raises BadProof unless `proof` shows that the tree (new_size, new_root) extends (old_size, old_root)."""
    if not 0 <= old_size <= new_size <= MAX_SIZE:
        raise BadProof(f"A tree of {new_size} leaves cannot extend one of {old_size}.")
    if old_size in (0, new_size):
        if proof:
            raise BadProof("The consistency proof is too long.")
        if old_root != (new_root if old_size else EMPTY_ROOT):
            raise BadProof(f"Two trees of {old_size} leaves have different roots.")
        return
    if old_size & (old_size - 1) == 0:
        proof = (old_root, *proof)
    if not proof:
        raise BadProof("The consistency proof is too short.")
    steps = _steps(proof[0], proof[1:])
    number, last = old_size - 1, new_size - 1
    while number & 1:
        number >>= 1
        last >>= 1
    old = new = proof[0]
    for sibling in steps:
        if last == 0:
            raise BadProof("The consistency proof is too long.")
        if number & 1 or number == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not number & 1 and number:
                number >>= 1
                last >>= 1
        else:
            new = node_hash(new, sibling)
        number >>= 1
        last >>= 1
    if last != 0:
        raise BadProof("The consistency proof is too short.")
    if old != old_root or new != new_root:
        raise BadProof(f"The tree of {new_size} leaves does not extend the one of {old_size}.")


def _split(size: int) -> int:
    """The largest power of two below `size` (2 or more): where RFC 6962 splits a tree."""
    return 1 << ((size - 1).bit_length() - 1)


def _steps(first: bytes, proof: Sequence[bytes]) -> Iterator[bytes]:
    if len(first) != HASH_BYTES or any(len(step) != HASH_BYTES for step in proof):
        raise BadProof("A proof is made of hashes of 32 bytes.")
    return iter(proof)
