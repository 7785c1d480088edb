"""Merkle trees: against RFC 6962's definition, exhaustively for small sizes."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import BadProof
from protocol.merkle import (
    EMPTY_ROOT,
    Tree,
    leaf_hash,
    node_hash,
    root_of,
    root_of_hashes,
    verify_consistency,
    verify_inclusion,
)

N = 40
LEAVES = [b"leaf %d" % n for n in range(N)]
TREE = Tree(LEAVES)


def split(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def defined_root(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaf_hash(leaves[0])
    k = split(len(leaves))
    return node_hash(defined_root(leaves[:k]), defined_root(leaves[k:]))


def defined_path(m: int, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    """PATH of RFC 6962, section 2.1.1."""
    if len(leaves) == 1:
        return ()
    k = split(len(leaves))
    if m < k:
        return (*defined_path(m, leaves[:k]), defined_root(leaves[k:]))
    return (*defined_path(m - k, leaves[k:]), defined_root(leaves[:k]))


def defined_extension(m: int, leaves: Sequence[bytes], known: bool = True) -> tuple[bytes, ...]:
    """SUBPROOF of RFC 6962, section 2.1.2."""
    if m == len(leaves):
        return () if known else (defined_root(leaves),)
    k = split(len(leaves))
    if m <= k:
        return (*defined_extension(m, leaves[:k], known), defined_root(leaves[k:]))
    return (*defined_extension(m - k, leaves[k:], False), defined_root(leaves[:k]))


@pytest.mark.parametrize("size", range(N + 1))
def test_roots_and_proofs_are_those_of_the_definition(size: int) -> None:
    leaves = LEAVES[:size]
    root = defined_root(leaves)
    assert TREE.root(size) == root_of(leaves) == Tree(leaves).root() == root
    for index in range(size):
        proof = TREE.inclusion_proof(index, size)
        assert proof == defined_path(index, leaves)
        verify_inclusion(leaf_hash(leaves[index]), index, size, proof, root)
    for old in range(1, size + 1):
        proof = TREE.consistency_proof(old, size)
        assert proof == defined_extension(old, leaves)
        verify_consistency(old, size, proof, TREE.root(old), root)
    verify_consistency(0, size, (), EMPTY_ROOT, root)


@pytest.mark.parametrize("size", range(1, 20))
def test_changed_proofs_are_refused(size: int) -> None:
    root = TREE.root(size)
    for index in range(size):
        proof, leaf = TREE.inclusion_proof(index, size), leaf_hash(LEAVES[index])
        for wrong in changes(proof):
            with pytest.raises(BadProof):
                verify_inclusion(leaf, index, size, wrong, root)
        for other in range(size):
            if other != index:
                with pytest.raises(BadProof):
                    verify_inclusion(leaf, other, size, proof, root)
    for old in range(1, size):
        proof = TREE.consistency_proof(old, size)
        for wrong in changes(proof):
            with pytest.raises(BadProof):
                verify_consistency(old, size, wrong, TREE.root(old), root)
        with pytest.raises(BadProof):
            verify_consistency(old, size, proof, bytes(32), root)
        with pytest.raises(BadProof):
            verify_consistency(old, size, proof, TREE.root(old), bytes(32))


def changes(proof: tuple[bytes, ...]) -> list[tuple[bytes, ...]]:
    wrong = [(*proof, bytes(32)), (bytes(32), *proof)]
    for at in range(len(proof)):
        wrong += [
            proof[:at] + proof[at + 1 :],
            (*proof[:at], bytes(32), *proof[at + 1 :]),
            (*proof[:at], proof[at][:31], *proof[at + 1 :]),
        ]
    return wrong


def test_indices_outside_a_tree() -> None:
    for call in (
        lambda: TREE.root(N + 1),
        lambda: TREE.root(-1),
        lambda: TREE.inclusion_proof(5, 5),
        lambda: TREE.inclusion_proof(-1, 5),
        lambda: TREE.consistency_proof(6, 5),
        lambda: TREE.node(0, N),
        lambda: TREE.node(3, N // 8),
    ):
        with pytest.raises(IndexError):
            call()
    for index, size in ((5, 5), (-1, 5), (0, 0), (0, 2**63)):
        with pytest.raises(BadProof):
            verify_inclusion(bytes(32), index, size, (), bytes(32))
    with pytest.raises(BadProof):
        verify_consistency(0, 5, (bytes(32),), EMPTY_ROOT, bytes(32))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.binary(min_size=32, max_size=32), max_size=700))
def test_a_tree_of_hashes_agrees_with_the_root_made_level_by_level(hashes: list[bytes]) -> None:
    tree = Tree.from_hashes(hashes)
    assert tree.size == len(hashes)
    assert tree.root() == root_of_hashes(hashes)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 300), max_size=6))
def test_leaves_added_together_make_the_tree_of_leaves_added_alone(counts: list[int]) -> None:
    together, alone = Tree(), Tree()
    for count in counts:
        leaves = [b"%d" % (alone.size + n) for n in range(count)]
        together.extend(map(leaf_hash, leaves))
        for leaf in leaves:
            assert alone.append(leaf) == alone.size - 1
        assert together.size == alone.size
        for height in range(alone.size.bit_length()):
            count = alone.size >> height
            assert together.nodes(height, 0, count) == alone.nodes(height, 0, count)
    with pytest.raises(ValueError, match="32 bytes"):
        together.extend((bytes(32), bytes(31)))
    assert together.size == alone.size


@settings(deadline=None)
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.lists(st.binary(min_size=31, max_size=33), max_size=70))
def test_foreign_proofs_are_refused_by_name(index: int, size: int, proof: list[bytes]) -> None:
    with pytest.raises(BadProof):
        verify_inclusion(bytes(32), index, size, proof, bytes(32))
    with pytest.raises(BadProof):
        verify_consistency(index, size, proof, b"\1" * 32, bytes(32))


def test_a_hundred_thousand_leaves_are_no_burden() -> None:
    start = time.process_time()
    tree = Tree.from_hashes(n.to_bytes(32, "big") for n in range(100_000))
    for index in range(0, 100_000, 100):
        tree.inclusion_proof(index)
        tree.consistency_proof(index, 99_999)
    assert time.process_time() - start < 5
