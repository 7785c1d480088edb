"""Float weights read without numpy, and as archives that numpy reads."""

import hashlib
import io
import struct

import pytest

from node.exchange.errors import WeightsError
from node.exchange.float_weights import FloatWeights
from protocol.codec import Value, encode

np = pytest.importorskip("numpy")

EXAMPLE = (
    "474f4e4f444554464c00000082a5666163747383a46b696e64a777656967687473a76e6574776f726ba56232633136a47374657001a774656e736f72739183a5"
    "6474797065a3663332a46e616d65a161a5736861706591020000803f000000c0a2bd37159c17402f5aac2efb77b22b42f9e8d129453f7b38d0070c64ea1e92c5"
)
"""Of docs/spec/train-state.md."""
FACTS: dict[str, Value] = {"kind": "weights", "network": "b2c16", "step": 7}


def file_of(header: Value, content: bytes = b"") -> bytes:
    packed = encode(header)
    data = b"GONODETF" + struct.pack("<I", len(packed)) + packed + content
    return data + hashlib.sha256(data).digest()


def entry(name: str = "a", dtype: str = "f32", shape: tuple[Value, ...] = (1,)) -> Value:
    return {"name": name, "dtype": dtype, "shape": list(shape)}


def test_the_example_of_the_specification() -> None:
    found = FloatWeights.parse(bytes.fromhex(EXAMPLE))
    assert (found.network, found.step) == ("b2c16", 1)
    archive = np.load(io.BytesIO(found.npz()))
    assert archive.files == ["a"]
    assert archive["a"].tolist() == [1.0, -2.0]


def test_what_the_trainer_writes() -> None:
    pytest.importorskip("torch")
    from trainer.learning.tensors import TensorFile

    arrays = {
        "stem.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
        "a.mean": np.zeros(5),
        "b.fc_1": np.ones((3, 1), np.float32),
        "empty": np.zeros((0, 4), np.float32),
        "scalar": np.array(3.5),
    }
    found = FloatWeights.parse(TensorFile(FACTS, arrays).encode())
    archive = np.load(io.BytesIO(found.npz()), allow_pickle=False)
    assert archive.files == list(arrays)
    for name, array in arrays.items():
        assert archive[name].dtype == array.dtype
        np.testing.assert_array_equal(archive[name], array)
    assert found.npz() == found.npz()
    assert all((10 + struct.unpack_from("<H", tensor.npy(), 8)[0]) % 64 == 0 for tensor in found.tensors)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "holds no float weights"),
        (b"x" * 100, "holds no float weights"),
        (bytes.fromhex(EXAMPLE)[:-1] + b"x", "its digest differs"),
        (file_of({"facts": {**FACTS, "kind": "train-state"}, "tensors": []}), "holds no float weights"),
        (file_of({"facts": {**FACTS, "network": "b2\n"}, "tensors": []}), "holds no float weights"),
        (file_of({"facts": FACTS, "tensors": [entry()]}, b"123"), "repeated or longer"),
        (file_of({"facts": FACTS, "tensors": [entry(), entry()]}, bytes(8)), "repeated or longer"),
        (file_of({"facts": FACTS, "tensors": [entry()]}, bytes(5)), "Bytes follow"),
        (file_of({"facts": FACTS, "tensors": [entry(dtype="i32")]}, bytes(4)), "in an unknown way"),
        (file_of({"facts": FACTS, "tensors": [entry("../a")]}, bytes(4)), "in an unknown way"),
        (file_of({"facts": FACTS, "tensors": [entry(shape=(1, -1))]}, bytes(4)), "in an unknown way"),
        (file_of({"facts": FACTS, "tensors": [entry(shape=(1,) * 5)]}, bytes(4)), "in an unknown way"),
        (file_of([1]), "holds no float weights"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, sentence: str) -> None:
    with pytest.raises(WeightsError, match=sentence):
        FloatWeights.parse(data)


def test_a_header_that_does_not_fit() -> None:
    for length, rest in ((5000, b""), (4, b"\xff" * 4)):
        data = b"GONODETF" + struct.pack("<I", length) + rest
        with pytest.raises(WeightsError, match="header"):
            FloatWeights.parse(data + hashlib.sha256(data).digest())
