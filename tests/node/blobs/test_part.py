"""The unfinished blob on disk: what a kill or a damaged disk leaves of it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from node.blobs.part import Part
from protocol.blob import CHUNK_BYTES, chunk_list
from protocol.errors import BadDigest
from tests.node.blobs.swarm import distinct_blob, piece, store_at

BLOB = distinct_blob(5, 77)
CHUNKS = chunk_list(BLOB)
ALL = set(range(6))


@settings(max_examples=25, deadline=None)
@given(
    written=st.sets(st.integers(0, 5)),
    damaged=st.sets(st.integers(0, 5)),
    cut=st.integers(0, 6 * CHUNK_BYTES),
)
def test_what_is_whole_is_kept(written: set[int], damaged: set[int], cut: int) -> None:
    async def run(folder: Path) -> None:
        part = Part(store_at(folder), CHUNKS)
        await part.open()
        assert part.missing == ALL
        for index in written:
            await part.write(index, piece(BLOB, index))
        path = store_at(folder).partial_path(CHUNKS.digest, "part")
        data = bytearray(path.read_bytes())
        for index in damaged & written:
            data[index * CHUNK_BYTES + 3] ^= 1
        path.write_bytes(data[:cut])
        whole = {at for at in written - damaged if at * CHUNK_BYTES + CHUNKS.chunk_bytes(at) <= cut}
        again = Part(store_at(folder), CHUNKS)
        await again.open()
        assert again.held == whole
        for index in ALL:
            assert await again.read(index) == (piece(BLOB, index) if index in whole else None)
            if index not in whole:
                await again.write(index, piece(BLOB, index))
        await again.finish()
        assert store_at(folder).get(CHUNKS.digest) == BLOB
        assert not path.exists()

    with TemporaryDirectory() as folder:
        trio.run(run, Path(folder))


async def test_damage_while_it_is_served(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    part = Part(store_at(tmp_path), CHUNKS)
    await part.open()
    await part.write(2, piece(BLOB, 2))
    assert await part.read(2) == piece(BLOB, 2)
    store_at(tmp_path).partial_path(CHUNKS.digest, "part").write_bytes(bytes(4 * CHUNK_BYTES))
    assert await part.read(2) is None
    assert part.missing == ALL


async def test_wrong_chunks_are_not_written(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    part = Part(store_at(tmp_path), CHUNKS)
    await part.open()
    with pytest.raises(BadDigest):
        await part.write(1, piece(BLOB, 2))
    assert part.missing == ALL
