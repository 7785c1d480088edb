"""The store of blobs on disk."""

from pathlib import Path

import pytest

from protocol.blob import CHUNK_BYTES, blob_digest, chunk_list
from tests.node.blobs.swarm import distinct_blob, store_at

BLOB = distinct_blob(5, 1234)


def test_store(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    digest = store.put(BLOB)
    assert digest == blob_digest(BLOB) == store.put(BLOB)
    empty = store.put(b"")
    assert store.has(digest)
    assert store.get(digest) == BLOB
    assert store.get(empty) == b""
    assert store.get(bytes(32)) is None
    assert sorted(store.digests()) == sorted([digest, empty])
    assert store.chunks(digest) == chunk_list(BLOB)
    assert store.chunk(digest, 5) == BLOB[5 * CHUNK_BYTES :]
    assert {path.name for path in (tmp_path / "public").rglob("*") if path.is_file()} == {digest.hex(), empty.hex()}
    store.delete(digest)
    store.delete(digest)
    assert list(store.digests()) == [empty]


@pytest.mark.parametrize("reader", ["get", "chunks"])
def test_damaged_blob_is_missing(tmp_path: Path, reader: str) -> None:
    store = store_at(tmp_path)
    digest = store.put(BLOB)
    data = bytearray(BLOB)
    data[CHUNK_BYTES + 5] ^= 1
    store.path(digest).write_bytes(data)
    assert getattr(store, reader)(digest) is None
    assert not store.has(digest)
    assert store.put(BLOB) == digest
    assert store.get(digest) == BLOB
