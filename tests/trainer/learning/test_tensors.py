"""The tensor file: one encoding, and no byte that can change unseen."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from native.netfile import Architecture
from protocol.codec import encode
from trainer.errors import BadTensors
from trainer.learning.state import Position, TrainState
from trainer.learning.tensors import MAGIC, TensorFile


def example() -> TensorFile:
    tensors = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array([0.5, -1e300]),
        "none": np.zeros((0, 4)),
    }
    return TensorFile({"kind": "test", "step": 7}, tensors)


def sealed(header: object, tail: bytes) -> bytes:
    head = encode(header)  # type: ignore[arg-type]
    content = MAGIC + len(head).to_bytes(4, "little") + head + tail
    return content + hashlib.sha256(content).digest()


def test_what_is_written_is_read_and_written_again_alike() -> None:
    data = example().encode()
    again = TensorFile.parse(data)
    assert again.encode() == data
    assert again.facts == {"kind": "test", "step": 7}
    assert {name: array.tolist() for name, array in again.tensors.items()} == {
        name: array.tolist() for name, array in example().tensors.items()
    }


def test_the_layout_of_memory_does_not_change_the_bytes() -> None:
    turned = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    plain = TensorFile({}, {"a": np.ascontiguousarray(turned)})
    assert TensorFile({}, {"a": turned}).encode() == plain.encode()


def test_any_changed_byte_and_any_cut_is_refused() -> None:
    data = example().encode()
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises(BadTensors):
            TensorFile.parse(bytes(damaged))
        with pytest.raises(BadTensors):
            TensorFile.parse(data[:at])


@pytest.mark.parametrize(
    ("header", "tail", "word"),
    [
        ({"facts": {}}, b"", "other fields"),
        ({"facts": [], "tensors": []}, b"", "another type"),
        ({"facts": {}, "tensors": [{"name": "a", "dtype": "f16", "shape": [1]}]}, b"12", "unknown way"),
        ({"facts": {}, "tensors": [{"name": "a", "dtype": "f32", "shape": [-1]}]}, b"1234", "unknown way"),
        ({"facts": {}, "tensors": [{"name": "a", "dtype": "f32", "shape": [2**24] * 4}]}, b"1234", "longer"),
        ({"facts": {}, "tensors": [{"name": "a", "dtype": "f32", "shape": [1]}] * 2}, b"12345678", "repeated"),
        ({"facts": {}, "tensors": [{"name": "a", "dtype": "f32", "shape": [1]}]}, b"12345678", "follow"),
    ],
)
def test_a_header_that_lies_is_refused_in_one_sentence(header: object, tail: bytes, word: str) -> None:
    with pytest.raises(BadTensors, match=word):
        TensorFile.parse(sealed(header, tail))


def small_state(group: dict[str, Any], average: dict[str, Any]) -> TrainState:
    """A state after 9 steps of a run, the last 7 of them its network's."""
    position = Position(bytes(32), 5, ())
    return TrainState(Architecture(2, 16), 9, 2, position, np.zeros(6), np.zeros(0), group, group, average)


def test_a_state_comes_back_whole() -> None:
    group = {"w": np.ones((2, 2), np.float32)}
    position = Position(bytes(32), 5, ((3, bytes([1]) * 32),))
    state = TrainState(Architecture(2, 16), 9, 2, position, np.zeros(6), np.ones(9), group, group, group)
    again = TrainState.parse(state.encode())
    assert again.encode() == state.encode()
    assert (again.step, again.born, again.position, again.shape) == (9, 2, position, Architecture(2, 16))
    assert again.ranges.tolist() == [1.0] * 9


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"kind": "weights"}, "not a train state"),
        ({"network": "b0c3"}, "network"),
        ({"done": 8}, "contradict"),
        ({"born": 10}, "contradict"),
        ({"born": -1}, "contradict"),
        ({"states": [[1]]}, "predecessors"),
        ({"job": "text"}, "another type"),
    ],
)
def test_a_state_whose_facts_do_not_fit_is_refused(change: dict[str, object], word: str) -> None:
    group = {"w": np.ones(2, np.float32)}
    file = TensorFile.parse(small_state(group, group).encode())
    with pytest.raises(BadTensors, match=word):
        TrainState.parse(TensorFile({**file.facts, **change}, file.tensors).encode())  # type: ignore[dict-item]


def test_a_state_that_lacks_a_tensor_is_refused() -> None:
    group = {"w": np.ones(2, np.float32)}
    whole = small_state(group, {})
    with pytest.raises(BadTensors, match="belong together"):
        TrainState.parse(whole.encode())


def test_the_example_of_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "spec" / "train-state.md").read_text()
    data = bytes.fromhex(page.split("```")[1])
    file = TensorFile.parse(data)
    assert (dict(file.facts), file.tensors["a"].tolist()) == (
        {"kind": "weights", "network": "b2c16", "step": 1},
        [1.0, -2.0],
    )
    assert hashlib.sha256(data).hexdigest() in page
    assert f"{len(data)} bytes" in page
