"""Compression: round trips, and frames that lie about themselves."""

import tracemalloc

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.compress import compress, decompress
from protocol.errors import ParseError, ProtocolError, TooLarge
from tests.vectors.scenarios_bytes import frame_of_runs

MIB = 1 << 20


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=5000), st.integers(1, 100), st.sampled_from([1, 9, 19]))
def test_round_trip(piece: bytes, times: int, level: int) -> None:
    raw = piece * times
    assert decompress(compress(raw, level), len(raw)) == raw


@pytest.mark.parametrize("level", [1, 9, 19])
def test_all_levels_stay_within_the_window(level: int) -> None:
    raw = bytes(20 * MIB)
    assert decompress(compress(raw, level), len(raw)) == raw


@pytest.mark.parametrize("level", [0, -1, 20, 22])
def test_other_levels_are_refused(level: int) -> None:
    with pytest.raises(ParseError):
        compress(b"", level)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_damage_is_named(data: st.DataObject) -> None:
    whole = compress(b"the same words again and again, " * 40)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    for damaged in (changed, whole[:at], whole + whole[: at + 1]):
        try:
            decompress(damaged, 10_000)
        except ProtocolError:
            continue
        assert damaged == changed  # the frame has no checksum: the blob digest is what guards the content


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("declared", [10, 200_000, 32 * MIB])
def test_a_bomb_makes_little_more_than_it_declares(declared: int, end: bool) -> None:
    bomb = frame_of_runs(declared, 4096, end)
    tracemalloc.start()
    try:
        with pytest.raises(ParseError):
            decompress(bomb, 32 * MIB)
        assert tracemalloc.get_traced_memory()[1] < declared + 32 * MIB
    finally:
        tracemalloc.stop()


def test_frames_of_foreign_writers() -> None:
    raw = b"gonode" * 1000
    with pytest.raises(ParseError, match="declare its size"):
        decompress(zstandard.ZstdCompressor(write_content_size=False).compress(raw), len(raw))
    dictionary = zstandard.train_dictionary(1024, [b"gonode %d %d" % (n, n * n) * 20 for n in range(500)])
    with pytest.raises(ParseError, match="dictionary"):
        decompress(zstandard.ZstdCompressor(dict_data=dictionary).compress(raw), len(raw))
    parameters = zstandard.ZstdCompressionParameters(window_log=25)
    with pytest.raises(TooLarge, match="window"):
        decompress(zstandard.ZstdCompressor(compression_params=parameters).compress(bytes(40 * MIB)), 64 * MIB)
    checked = zstandard.ZstdCompressor(write_checksum=True).compress(raw)
    assert decompress(checked, len(raw)) == raw
    with pytest.raises(ParseError, match="damaged"):
        decompress(checked[:-1] + bytes([checked[-1] ^ 1]), len(raw))
