"""Compression of blobs: one zstd frame whose size is known before it is opened.

Spec: docs/spec/compression.md. Decompress only bytes that are already authenticated. A frame declares its content
size, has no dictionary and a window of at most 8 MiB, and nothing follows it. zstd's output differs by version:
compressed bytes are hashed for transport, raw content for identity.
"""

from typing import Final

import zstandard

from protocol.errors import ParseError, TooLarge

MAX_WINDOW_BYTES: Final = 8 * 1024 * 1024
_MAX_LEVEL: Final = 19  # the highest level whose window stays within MAX_WINDOW_BYTES
# A frame may lie about its size and a block of 4 bytes gives 128 KiB: small slices bound what is made too much.
_SLICE_BYTES: Final = 256


def compress(raw: bytes, level: int = 9) -> bytes:
    """One zstd frame of `raw` with its size declared; `level` is 1 to 19."""
    if not 1 <= level <= _MAX_LEVEL:
        raise ParseError(f"The compression level is {level}; it has to be 1 to {_MAX_LEVEL}.")
    return zstandard.ZstdCompressor(level=level, write_content_size=True, write_checksum=False).compress(raw)


def decompress(data: bytes, max_bytes: int) -> bytes:
    """The content of the one zstd frame in `data`.

    Raises TooLarge when the frame declares more than `max_bytes` or a wider window than 8 MiB, ParseError when it is
    damaged, declares no size or another than it has, needs a dictionary, or does not end where `data` ends.
    """
    size = _declared_size(data, max_bytes)
    opener = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj()
    parts: list[bytes] = []
    made = 0
    view = memoryview(data)
    try:
        for start in range(0, len(data), _SLICE_BYTES):
            if opener.eof:
                raise ParseError("Bytes follow the end of the compressed frame.")
            part = opener.decompress(view[start : start + _SLICE_BYTES])
            made += len(part)
            if made > size:
                raise ParseError("The compressed frame holds more than the size it declares.")
            parts.append(part)
    except zstandard.ZstdError as error:
        raise ParseError("The compressed frame is damaged.") from error
    if not opener.eof or made != size:
        raise ParseError("The compressed frame is cut short.")
    if opener.unused_data:
        raise ParseError("Bytes follow the end of the compressed frame.")
    return b"".join(parts)


def _declared_size(data: bytes, max_bytes: int) -> int:
    """The content size that an acceptable frame header declares."""
    if data[:4] != zstandard.FRAME_HEADER:
        raise ParseError("The bytes are not a zstd frame.")
    try:
        frame = zstandard.get_frame_parameters(data)
    except zstandard.ZstdError as error:
        raise ParseError("The bytes are not a zstd frame.") from error
    if frame.content_size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR):
        raise ParseError("The compressed frame does not declare its size.")
    if frame.content_size > max_bytes:
        raise TooLarge(f"The compressed content has {frame.content_size} bytes; the limit is {max_bytes}.")
    if frame.window_size > MAX_WINDOW_BYTES:
        raise TooLarge(f"The compressed frame needs a window of {frame.window_size} bytes; the limit is 8 MiB.")
    if frame.dict_id != 0:
        raise ParseError("The compressed frame needs a dictionary.")
    return frame.content_size
