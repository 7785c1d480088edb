"""Blobs: digests over chunks, pieces of any length, chunks by liars."""

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.blob import CHUNK_BYTES, BlobHasher, ChunkList, blob_digest, chunk_list, verify_blob
from protocol.errors import BadDigest, ParseError, ProtocolError, TooLarge

BLOB = bytes(range(256)) * 10_000


def test_the_digest_is_that_of_the_definition() -> None:
    chunks = [BLOB[:CHUNK_BYTES], BLOB[CHUNK_BYTES : 2 * CHUNK_BYTES], BLOB[2 * CHUNK_BYTES :]]
    assert len(chunks[2]) == 2_560_000 - 2 * CHUNK_BYTES
    hashes = b"".join(sha256(chunk).digest() for chunk in chunks)
    assert blob_digest(BLOB) == sha256(b"gonode/blob/v1\0" + len(BLOB).to_bytes(8, "little") + hashes).digest()
    assert blob_digest(b"") == sha256(b"gonode/blob/v1\0" + bytes(8)).digest()


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, len(BLOB)), max_size=6))
def test_pieces_of_any_length_give_the_same_digest(cuts: list[int]) -> None:
    hasher = BlobHasher()
    start = 0
    for end in sorted([*cuts, len(BLOB)]):
        hasher.update(BLOB[start:end])
        start = end
    assert hasher.digest() == blob_digest(BLOB)
    assert hasher.digest() == blob_digest(BLOB)  # asking changes nothing


@pytest.mark.parametrize("length", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES])
def test_chunk_lists_round_trip_and_name_false_chunks(length: int) -> None:
    data = bytes(length)
    chunks = chunk_list(data)
    assert ChunkList.parse(chunks.encode(), chunks.digest) == chunks
    for index in range(len(chunks.hashes)):
        chunk = data[index * CHUNK_BYTES :][:CHUNK_BYTES]
        assert chunks.chunk_bytes(index) == len(chunk)
        chunks.verify_chunk(index, chunk)
        for wrong in (chunk + b"\0", chunk[:-1], b"\1" + chunk[1:]):
            with pytest.raises(BadDigest):
                chunks.verify_chunk(index, wrong)
    with pytest.raises(BadDigest):
        chunks.verify_chunk(len(chunks.hashes), b"")
    with pytest.raises(BadDigest):
        chunks.verify_chunk(-1, b"")


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_arbitrary_chunk_lists_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        ChunkList.parse(data, bytes(32))


def test_a_list_for_another_blob_is_refused() -> None:
    chunks = chunk_list(BLOB)
    with pytest.raises(BadDigest):
        ChunkList.parse(chunks.encode(), bytes(32))
    with pytest.raises(ParseError):
        ChunkList(1, ())
    with pytest.raises(TooLarge):
        ChunkList(2**32 + 1, ())


def test_verify_blob() -> None:
    verify_blob(BLOB, blob_digest(BLOB))
    with pytest.raises(BadDigest):
        verify_blob(BLOB[:-1], blob_digest(BLOB))
