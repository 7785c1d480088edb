"""The engine's network against the spec in plain Python, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
from pathlib import Path

import pytest

from native._engine import ffi, lib
from native.errors import EngineError, NetworkError
from native.netfile import PLANES, Architecture, NetworkFile
from native.network import ONE, Evaluator, Kernel, Network, Output, softmax, tanh
from tests.native.network_reference import evaluate, first_network, philox, random_network


def planes_of(r: random.Random, rows: int, cols: int, count: int = 1) -> bytes:
    return bytes(r.choice((0, 0, 64, 64, 127, r.randint(0, 127))) for _ in range(PLANES * rows * cols * count))


@pytest.mark.parametrize(
    ("name", "rows", "cols", "extreme"),
    [
        ("b2c16", 5, 5, False),
        ("b1c16", 1, 1, False),
        ("b2c16", 3, 4, True),
        ("b3c32", 2, 3, False),
        ("b2c64", 2, 2, True),
    ],
)
def test_outputs_are_the_specs(name: str, rows: int, cols: int, extreme: bool) -> None:
    r = random.Random(name)
    for seed in range(3):
        net = random_network(Architecture.parse(name), seed, extreme=extreme)
        planes = planes_of(r, rows, cols)
        assert Network.load(net.encode()).evaluate(Kernel.SCALAR, rows, cols, planes) == [
            evaluate(net, rows, cols, planes)
        ]


def test_first_network_is_the_specs_and_its_outputs_move() -> None:
    digest = hashlib.sha256(b"a manifest").digest()
    file = Network.first(digest, 2, 16)
    wanted = first_network(digest, Architecture(2, 16))
    assert NetworkFile.parse(file) == wanted
    assert file == wanted.encode()
    assert Network.first(bytes(32), 2, 16) != file
    assert hashlib.sha256(file).hexdigest() == "c02be11ed5a3aada9dad1a41b405f03d1603a6c24d2c01e06858b8d3448a131d"
    r = random.Random(1)
    planes = planes_of(r, 7, 7)
    net = Network.load(file)
    assert net.evaluate(Kernel.SCALAR, 7, 7, planes) == [evaluate(wanted, 7, 7, planes)]
    outputs = net.evaluate(Kernel.BEST, 7, 7, planes_of(r, 7, 7, 20))
    assert len({out.value for out in outputs}) > 15
    for out in outputs:
        assert 0.05 < max(out.policy) / ONE - min(out.policy) / ONE < 20
        assert max(out.ownership) > min(out.ownership)


def test_vectors() -> None:
    """tests/vectors/network/first.json: a change here is a change of what every release means."""
    vectors = json.loads((Path(__file__).parents[1] / "vectors/network/first.json").read_text())
    assert len(vectors["first_networks"]) == 3
    for case in vectors["first_networks"]:
        shape = Architecture.parse(case["network"])
        file = Network.first(bytes.fromhex(case["manifest_digest"]), shape.blocks, shape.channels)
        assert hashlib.sha256(file).hexdigest() == case["file_sha256"]
        wanted = Output(**{k: tuple(v) if isinstance(v, list) else v for k, v in case["output"].items()})
        for kernel in Kernel.available():
            planes = bytes.fromhex(case["planes"])
            assert Network.load(file).evaluate(kernel, case["rows"], case["cols"], planes) == [wanted]
    for case in vectors["softmax"]:
        assert [p.hex() for p in softmax(case["logits"])] == case["probabilities"]
    for case in vectors["tanh"]:
        assert tanh(case["logit"]).hex() == case["tanh"]


def test_network_tells_its_size() -> None:
    net = Network.load(Network.first(bytes(32), 4, 32))
    assert net.architecture == Architecture(4, 32)
    assert (
        net.macs(7, 7) == 49 * (180 * 32 + 8 * 9 * 32 * 32 + 3 * 32 * 16 + 32) + 2 * 2 * 32 * 32 + 512 + 32 + 1536 + 96
    )


@pytest.mark.parametrize(("blocks", "channels"), [(0, 32), (65, 32), (4, 0), (4, 24), (4, 240), (-1, 16)])
def test_first_refuses_sizes(blocks: int, channels: int) -> None:
    with pytest.raises(NetworkError):
        Network.first(bytes(32), blocks, channels)


def test_first_refuses_a_short_digest() -> None:
    with pytest.raises(NetworkError, match="32 bytes"):
        Network.first(bytes(31), 4, 32)


@pytest.mark.parametrize(
    ("rows", "cols", "planes"),
    [
        (0, 7, b""),
        (20, 20, bytes(PLANES * 400)),
        (7, 7, bytes(PLANES * 49 - 1)),
        (7, 7, bytes(PLANES * 49 + 1)),
        (7, 7, b"\x80" + bytes(PLANES * 49 - 1)),
    ],
)
def test_evaluation_refuses_what_is_not_a_position(rows: int, cols: int, planes: bytes) -> None:
    net = Network.load(Network.first(bytes(32), 1, 16))
    with pytest.raises(EngineError):
        net.evaluate(Kernel.BEST, rows, cols, planes)


def test_no_positions_no_outputs() -> None:
    assert Network.load(Network.first(bytes(32), 1, 16)).evaluate(Kernel.BEST, 9, 9, b"") == []


def test_kernel_names() -> None:
    assert Kernel.parse("scalar") == Kernel.SCALAR
    assert Kernel.parse("best") == Kernel.BEST
    assert Kernel.best() in Kernel.available()
    for kernel in Kernel.available():
        assert Kernel.parse(kernel.encode()) == kernel
        assert ffi.string(lib.go_kernel_name(kernel)).decode() == kernel.encode()
        assert kernel.peak(10) > 0
    with pytest.raises(EngineError, match="scalar"):
        Kernel.parse("gpu")


def test_missing_kernel_is_an_error() -> None:
    net = Network.load(Network.first(bytes(32), 1, 16))
    missing = [kernel for kernel in Kernel if kernel not in (Kernel.BEST, *Kernel.available())]
    for kernel in missing:
        with pytest.raises(EngineError, match="kernel"):
            Evaluator(net, kernel)
        assert kernel.peak(10) == 0


# ---- softmax and tanh ----------------------------------------------------------------------------------------

COEFFICIENTS = (8589934592, -5954088911, 2063529293, -476771116, 82597083, -11405663, 1264973, -92955)


def spec_exp(d: int) -> int:
    t = d * 387270501
    n = t >> 40
    if n > 31:
        return 0
    g = t >> 11 & (1 << 29) - 1
    a = COEFFICIENTS[7]
    for c in COEFFICIENTS[6::-1]:
        a = c + (a * g >> 29)
    e = (a + 2) >> 2
    return (e + (1 << n - 1)) >> n if n else e


def test_softmax_is_the_specs() -> None:
    r = random.Random(5)
    for _ in range(200):
        n, spread = r.randint(1, 362), r.choice((1, 100, 5000, 1 << 17, (1 << 31) - 1))
        logits = [r.randint(-spread, spread) for _ in range(n)]
        legal = bytes(r.random() < 0.7 for _ in range(n - 1)) + b"\1"
        top = max(x for x, ok in zip(logits, legal, strict=True) if ok)
        e = [spec_exp(top - x) if ok else 0 for x, ok in zip(logits, legal, strict=True)]
        assert softmax(logits, legal) == [x / sum(e) for x in e]


def test_softmax_is_close_to_the_real_one() -> None:
    logits = [-9000, 0, 1, 4096, 12000]
    real = [math.exp(x / ONE) for x in logits]
    assert softmax(logits) == pytest.approx([x / sum(real) for x in real], rel=1e-6)


def test_softmax_refuses() -> None:
    with pytest.raises(EngineError):
        softmax([])
    with pytest.raises(EngineError):
        softmax([1, 2], b"\0\0")
    with pytest.raises(EngineError, match="flags"):
        softmax([1, 2], b"\1")


@pytest.mark.parametrize("logit", [0, 1, -1, 100, 4096, -4096, 20000, 131071, -131072, (1 << 31) - 1, -(1 << 31)])
def test_tanh(logit: int) -> None:
    near, far = spec_exp(0), spec_exp(2 * abs(logit))
    assert tanh(logit) == math.copysign((near - far) / (near + far), logit)
    assert tanh(logit) == pytest.approx(math.tanh(logit / ONE), abs=2e-9)


# ---- hashes and words ----------------------------------------------------------------------------------------


def engine_sha256(data: bytes) -> bytes:
    digest = bytearray(32)
    lib.go_sha256(data, len(data), ffi.from_buffer("uint8_t[]", digest))
    return bytes(digest)


def test_sha256() -> None:
    assert engine_sha256(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    r = random.Random(2)
    for size in (*range(260), 1000, 65537):
        data = r.randbytes(size)
        assert engine_sha256(data) == hashlib.sha256(data).digest()


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # the known answers of the authors' Random123 distribution
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox(counter: list[int], key: list[int], words: list[int]) -> None:
    out = ffi.new("uint32_t[4]")
    lib.go_philox(ffi.new("uint32_t[]", counter), ffi.new("uint32_t[]", key), out)
    assert list(out) == words == philox(counter, key)


# ---- refused files -------------------------------------------------------------------------------------------


def resealed(file: bytes) -> bytes:
    return file[:-32] + hashlib.sha256(file[:-32]).digest()


@pytest.mark.parametrize(
    ("offset", "code", "value", "sentence"),
    [
        (0, "B", 0, "not a network file"),
        (8, "<I", 2, "version 2"),
        (12, "<H", 2, "features 2"),
        (14, "<H", 21, "does not read"),
        (16, "<H", 0, "blocks"),
        (16, "<H", 65, "blocks"),
        (18, "<H", 17, "multiple of 16"),
        (18, "<H", 0, "multiple of 16"),
        (18, "<H", 256, "multiple of 16"),
        (18, "<H", 32, "does not fit"),
        (20, "<I", 0xFFFFFFFF, "does not fit"),
        (24, "b", 65, "weights"),
        (24, "b", -128, "weights"),
        (24 + 2880, "<i", 1 << 24, "24 bits|biases"),
        (24 + 2880, "<i", -(1 << 31), "24 bits|biases"),
        (24 + 2880 + 64, "B", 25, "shifts"),
        (24 + 2880 + 80, "<H", 16383, "multipliers"),
        (24 + 2880 + 80, "<H", 32768, "multipliers"),
        (24 + 2880 + 112 + 32, "<H", 0, "multipliers"),
        (-32 - 1, "B", 0, "shift"),
        (-32 - 1, "B", 47, "shift"),
        (-32 - 3, "<H", 0, "multiplier"),
        (-32 - 7, "<i", 1 << 30, "30 bits"),
    ],
)
def test_one_wrong_number_is_refused(offset: int, code: str, value: int, sentence: str) -> None:
    file = bytearray(Network.first(bytes(32), 1, 16))
    struct.pack_into(code, file, offset if offset >= 0 else len(file) + offset, value)
    for read in (Network.load, NetworkFile.parse):
        with pytest.raises(NetworkError, match=sentence):
            read(resealed(bytes(file)))


def test_lengths_and_digest_are_checked() -> None:
    file = Network.first(bytes(32), 1, 16)
    damaged = file[:1000] + bytes([file[1000] ^ 1]) + file[1001:]
    for bad, sentence in (
        (b"", "shorter"),
        (file[:-1], "bytes, not"),
        (file + b"\0", "bytes, not"),
        (damaged, "digest"),
    ):
        for read in (Network.load, NetworkFile.parse):
            with pytest.raises(NetworkError, match=sentence):
                read(bad)
