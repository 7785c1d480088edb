"""The file's records: one encoding, and agreement with the engine on what is a network."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.errors import NetworkError
from native.netfile import (
    Architecture,
    ConvLayer,
    LogitLayer,
    NetworkFile,
    NormLayer,
    file_bytes,
    parse_header,
)
from native.netlayers import body_bytes, layer_at, layers
from native.network import Network
from tests.native.network_reference import random_network

SMALL = random_network(Architecture(2, 16), 1)
FILE = SMALL.encode()


def is_network(file: bytes) -> bool:
    """Whether the engine loads it; its records must agree, and give the same bytes back."""
    try:
        parsed = NetworkFile.parse(file)
    except NetworkError:
        with pytest.raises(NetworkError, match=r"\.$"):
            Network.load(file)
        return False
    assert parsed.encode() == file
    assert Network.load(file).architecture == parsed.architecture
    return True


def reason(file: bytes) -> str:
    """Why it is no network, of which the engine and the records say the same."""
    sentences = []
    for read in (Network.load, NetworkFile.parse):
        with pytest.raises(NetworkError) as caught:
            read(file)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]
    return sentences[0]


def resealed(file: bytes) -> bytes:
    return file[:-32] + hashlib.sha256(file[:-32]).digest()


@pytest.mark.parametrize("name", ["b1c16", "b3c48"])
def test_a_file_that_ends_early_names_the_layer(name: str) -> None:
    shape = Architecture.parse(name)
    file, at = random_network(shape, 5).encode(), NetworkFile.HEADER_BYTES
    assert len(dict(layers(shape))) == len(list(layers(shape))) == 13 + 3 * shape.blocks + shape.blocks // 2
    for layer, length in layers(shape):
        for there in {0, 1, length // 2, length - 1}:
            assert layer_at(shape, at + there - NetworkFile.HEADER_BYTES) == layer
            if at + there >= NetworkFile.HEADER_BYTES + NetworkFile.DIGEST_BYTES:
                cut = reason(file[: at + there])
                assert (
                    cut == f"The network file ends early, in layer {layer}: it has {at + there} bytes, not {len(file)}."
                )
            held = at + there - NetworkFile.HEADER_BYTES
            shorter = file[:20] + struct.pack("<I", held) + file[24 : at + there] + bytes(NetworkFile.DIGEST_BYTES)
            assert reason(resealed(shorter)).endswith(f"of {held} bytes does not fit {name}: it ends in layer {layer}.")
        at += length
    assert at == NetworkFile.HEADER_BYTES + body_bytes(shape)
    with pytest.raises(ValueError, match="no such byte"):
        layer_at(shape, body_bytes(shape))


def test_a_wrong_number_names_the_layer() -> None:
    """In the first weight of each layer; -128 is none anywhere, and in an activation's bias it is the multiplier 0."""
    at, said = NetworkFile.HEADER_BYTES, []
    for layer, length in layers(SMALL.architecture):
        is_activation = layer.startswith(("norm", "tip"))
        wrong = at + length - 2 if is_activation else at
        file = FILE[:wrong] + (bytes(2) if is_activation else b"\x80") + FILE[wrong + (2 if is_activation else 1) :]
        with pytest.raises(NetworkError) as caught:
            Network.load(resealed(file))
        said.append(str(caught.value))
        with pytest.raises(NetworkError, match=f"^Layer {re.escape(layer)}: The "):
            NetworkFile.parse(resealed(file))
        at += length
    assert [sentence.partition(":")[0] for sentence in said] == [
        f"Layer {name}" for name, _ in layers(SMALL.architecture)
    ]


@pytest.mark.parametrize("name", ["b1c16", "b2c16", "b3c32", "b2c48", "b1c64", "b1c224"])
def test_round_trip(name: str) -> None:
    shape = Architecture.parse(name)
    assert shape.encode() == name
    net = random_network(shape, 2)
    file = net.encode()
    assert NetworkFile.parse(file) == net
    assert parse_header(file) == shape
    assert len(file) == NetworkFile.HEADER_BYTES + body_bytes(shape) + NetworkFile.DIGEST_BYTES == file_bytes(shape)
    assert is_network(file)


@given(position=st.integers(0, len(FILE) - 1), byte=st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_a_changed_byte_is_refused(position: int, byte: int) -> None:
    changed = FILE[:position] + bytes([byte]) + FILE[position + 1 :]
    assert is_network(changed) == (changed == FILE)


@given(position=st.integers(0, len(FILE) - 33), piece=st.binary(min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_a_resealed_change_is_refused_or_a_network(position: int, piece: bytes) -> None:
    body = (FILE[:position] + piece + FILE[position + len(piece) :])[: len(FILE) - 32]
    is_network(body + hashlib.sha256(body).digest())


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(file: bytes) -> None:
    assert not is_network(file)
    assert not is_network(b"GONODENN" + file)


@given(st.integers(0, len(FILE) - 1))
@settings(max_examples=50, deadline=None)
def test_a_cut_file_is_refused(length: int) -> None:
    assert not is_network(FILE[:length])


@pytest.mark.parametrize(
    "text", ["", "b4", "c32", "b4c32 ", "b04c32", "b4c032", "B4C32", "b4c33", "b65c32", "b4c240", "b٤c32"]
)
def test_architecture_refuses(text: str) -> None:
    with pytest.raises(NetworkError):
        Architecture.parse(text)


@pytest.mark.parametrize(
    ("layer", "change"),
    [
        (SMALL.stem, {"weights": b"\x41" + SMALL.stem.weights[1:]}),
        (SMALL.stem, {"weights": SMALL.stem.weights[1:]}),
        (SMALL.stem, {"bias": (1 << 24, *SMALL.stem.bias[1:])}),
        (SMALL.stem, {"bias": SMALL.stem.bias[1:]}),
        (SMALL.stem, {"shift": (25, *SMALL.stem.shift[1:])}),
        (SMALL.stem, {"multiplier": (300, *SMALL.stem.multiplier[1:])}),
        (SMALL.stem, {"stream": False}),
        (SMALL.tip, {"bias": (40000,) * 16}),
        (SMALL.tip, {"multiplier": (0,) * 16}),
        (SMALL.tip, {"multiplier": (32768,) * 16}),
        (SMALL.tip, {"channels": 17}),
        (SMALL.value_hidden, {"shift": (31,) * 32}),
        (SMALL.policy_pool, {"shift": (25,) * 16}),
        (SMALL.value, {"shift": 0}),
        (SMALL.value, {"shift": 47}),
        (SMALL.value, {"multiplier": 0}),
        (SMALL.value, {"bias": 1 << 30}),
        (SMALL.value, {"weights": b"\x80" * 32}),
    ],
)
def test_records_check_their_numbers(layer: ConvLayer, change: dict[str, Any]) -> None:
    with pytest.raises(NetworkError):
        dataclasses.replace(layer, **change)


def test_bounds_are_exact() -> None:
    """The largest sums that the spec allows are allowed, one more is not."""
    w = bytes([64]) * 16 + bytes([192]) * 128
    room = (1 << 24) - 1 - 127 * 64 * 144
    ConvLayer(16, 1, 9, True, w, (room,), (0,), (16384,))
    ConvLayer(16, 1, 9, True, w, (-room - 128,), (8,), (16384,))
    for bias, shift in ((room + 1, 0), (room, 1), (-room - 129, 8)):
        with pytest.raises(NetworkError, match="24 bits"):
            ConvLayer(16, 1, 9, True, w, (bias,), (shift,), (16384,))
    LogitLayer(2, True, b"\x7f\x81", (1 << 30) - 1 - 8128 * 254, 1, 1)
    with pytest.raises(NetworkError, match="30 bits"):
        LogitLayer(2, True, b"\x7f\x81", (1 << 30) - 8128 * 254, 1, 1)
    with pytest.raises(NetworkError, match="-127 to 127"):
        LogitLayer(1, False, b"\x80", 0, 1, 1)


OTHER = random_network(Architecture(2, 32), 1)


@pytest.mark.parametrize(
    "change",
    [
        {"stem": OTHER.stem},
        {"tip": NormLayer(32, (0,) * 32, (1,) * 32)},
        {"blocks": SMALL.blocks[:1]},
        {"blocks": SMALL.blocks[::-1]},
        {"policy_pass": SMALL.policy_point},
        {"value": SMALL.ownership},
        {"architecture": Architecture(2, 32)},
    ],
)
def test_layers_must_fit_the_architecture(change: dict[str, Any]) -> None:
    with pytest.raises(NetworkError):
        dataclasses.replace(SMALL, **change)
