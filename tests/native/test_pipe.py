"""Frames: one encoding each, and nothing else is read."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.errors import EngineError
from native.network import Network
from native.pipe import (
    MAX_FRAME_BYTES,
    Answer,
    CanaryAnswer,
    Failed,
    LoadNetwork,
    Order,
    Play,
    Ready,
    Splitter,
    parse_answer,
    parse_order,
    read_frame,
)
from native.pipe_error import PipeError
from native.pipe_job import PipeJob
from native.search import Player
from tests.fuzz import fuzz_pipe
from tests.native.frames import ANSWERS, ORDERS, answers, job, orders
from tests.vectors import pipe_generate

PAGE = Path("docs/spec/pipe.md")


@given(orders)
def test_every_order_is_read_back(order: Order) -> None:
    assert parse_order(order.encode()) == order


@given(answers)
def test_every_answer_is_read_back(answer: Answer) -> None:
    assert parse_answer(answer.encode()) == answer


def test_the_example_of_the_page() -> None:
    frame = Ready(2, "vnni", 2, 8).to_stream()
    assert frame.hex() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "parse"), [("orders", parse_order), ("answers", parse_answer)])
def test_the_vectors(name: str, parse: Any) -> None:
    cases = json.loads((pipe_generate.FOLDER / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    assert {case["expect"] for case in cases} == {"ok", "parse error"}
    for case in cases:
        data = bytes.fromhex(case["input"]["data"])
        if case["expect"] == "ok":
            frame = parse(data)
            assert {"kind": frame.KIND, "items": pipe_generate.plain(frame.items())} == case["output"]
            assert frame.encode() == data
        else:
            with pytest.raises(PipeError):
                parse(data)


def test_the_vectors_are_what_is_written() -> None:
    for name, text in pipe_generate.files():
        assert (pipe_generate.FOLDER / name).read_text(encoding="utf-8") == text


def test_each_side_reads_the_other_alone() -> None:
    for order in ORDERS[:4]:
        with pytest.raises(PipeError):
            parse_answer(order.encode())
    for answer in ANSWERS:
        with pytest.raises(PipeError):
            parse_order(answer.encode())


JOB: list[Any] = PipeJob(job(), bytes(32), None).items()


def changed(*path_and_value: Any) -> list[Any]:
    """The items of a job with one of them, or one inside of one, replaced."""
    *path, value = path_and_value
    items: list[Any] = [list(each) if isinstance(each, list) else each for each in JOB]
    at = items
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return items


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        {},
        {"kind": "stop"},
        ["stop", 1],
        ["halt"],
        [b"stop"],
        [["stop"]],
        ["canary"],
        ["canary", -1],
        ["canary", 2**64 - 1, 0],
        ["canary", True],
        ["canary", 1.0],
        ["canary", "1"],
        ["canary", msgpack.ExtType(1, b"1")],
        ["canary", msgpack.Timestamp(1)],
        ["forget", bytes(31)],
        ["forget", "0" * 32],
        ["network", bytes(32)],
        ["network", bytes(32), "file"],
        ["play"],
        ["play", JOB, JOB],
        ["play", JOB[:-1]],
        ["play", {}],
        ["replay", JOB],
        ["replay", JOB, "block"],
        ["play", changed(0, -1)],
        ["play", changed(1, None)],
        ["play", changed(2, 0, 20)],
        ["play", changed(2, 1, 8)],
        ["play", changed(2, 3, 9)],
        ["play", changed(2, 4, 2)],
        ["play", changed(2, 4, True)],
        ["play", changed(2, 5, 1)],
        ["play", changed(2, 8, 0)],
        ["play", changed(2, [])],
        ["play", changed(3, 1, 1)],
        ["play", changed(3, 1, 2**40)],
        ["play", changed(3, [])],
        ["play", changed(4, bytes(33))],
        ["play", changed(5, None)],
        ["play", changed(6, [None])],
        ["play", changed(6, 0, bytes(20))],
        ["play", changed(7, 1, None)],
        ["play", changed(8, 65536)],
        ["play", changed(9, [82])],
        ["play", changed(9, [None])],
        ["play", changed(9, [0] * 65)],
        ["play", changed(9, 3)],
    ],
)
def test_what_is_no_order(value: Any) -> None:
    with pytest.raises(PipeError) as caught:
        parse_order(msgpack.packb(value))
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    "value",
    [
        ["ready", 1, "vnni", 2],
        ["ready", 1, "vnni", 0, 1],
        ["ready", 1, b"vnni", 1, 1],
        ["ready", 1, "v" * 65, 1, 1],
        ["done", 1, 0, -1, 1, 1, 1, b""],
        ["done", 1, 0, -1, 1, 1, 1, b"", bytes(33)],
        ["done", 1, 0, -3, 1, 1, 1, b"", b""],
        ["done", 1, 0, -1, -1, 1, 1, b"", b""],
        ["done", 1, 0, -1, 1, 1, 1, [], b""],
        ["failed", 1, "x" * 1001],
        ["failed", 1, None],
        ["canary", 1, 1, ""],
        ["canary", 1, True, "but"],
        ["canary", 1, False, ""],
    ],
)
def test_what_is_no_answer(value: Any) -> None:
    with pytest.raises(PipeError):
        parse_answer(msgpack.packb(value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x91",
        bytes.fromhex("92a663616e617279cc07"),  # 7 in two bytes
        bytes.fromhex("92a663616e61727907") + b"\0",
        bytes.fromhex("dc0002a663616e61727907"),  # a short array in the long form
        bytes.fromhex("92c40663616e61727907"),  # the kind as bytes
        bytes.fromhex("93a66661696c656407a1ff"),  # no UTF-8
        b"\x91" * 100_000,
        b"\x82" * 2000,
    ],
)
def test_other_bytes(data: bytes) -> None:
    for parse in (parse_order, parse_answer):
        with pytest.raises(PipeError):
            parse(data)


def test_values_that_cannot_be_sent_cannot_be_made() -> None:
    with pytest.raises(PipeError):
        Failed(-1, "no")
    with pytest.raises(PipeError):
        Failed(1, "\ud800")
    with pytest.raises(PipeError):
        CanaryAnswer(1, False, "")
    net = Network.load(Network.first(bytes(32), 1, 16))
    with pytest.raises(PipeError):
        PipeJob(replace(job(), black=Player(net, bytes(32))), None, None)
    with pytest.raises(PipeError):
        LoadNetwork(bytes(32), bytes(MAX_FRAME_BYTES)).encode()
    with pytest.raises(PipeError):
        parse_order(bytes(MAX_FRAME_BYTES + 1))


def test_a_job_names_its_networks() -> None:
    nets = [Network.load(Network.first(bytes([number]) * 32, 1, 16)) for number in range(2)]
    held = replace(job(), black=Player(nets[0], bytes(32)), white=Player(nets[1], bytes(32)))
    sent = PipeJob.of(held)
    assert (sent.black, sent.white) == (nets[0].digest, nets[1].digest)
    assert sent.resolve({net.digest: net for net in nets}) == held
    assert PipeJob.of(job()).resolve({}) == job()
    with pytest.raises(EngineError, match="does not have the network"):
        sent.resolve({nets[0].digest: nets[0]})


# ---- streams


@settings(max_examples=50)
@given(st.lists(orders, max_size=5), st.integers(1, 40))
def test_a_stream_in_pieces(sent: list[Order], size: int) -> None:
    stream = b"".join(order.to_stream() for order in sent)
    splitter, found = Splitter(), []
    for at in range(0, len(stream), size):
        found += [parse_order(frame) for frame in splitter.feed(stream[at : at + size])]
    assert found == sent
    assert splitter.is_between
    reader = io.BytesIO(stream)
    assert [parse_order(read_frame(reader) or b"") for _ in sent] == sent
    assert read_frame(reader) is None


@pytest.mark.parametrize("length", [0, MAX_FRAME_BYTES + 1, 2**32 - 1])
def test_a_length_out_of_range(length: int) -> None:
    data = length.to_bytes(4, "little") + bytes(10)
    with pytest.raises(PipeError, match="out of range"):
        list(Splitter().feed(data))
    with pytest.raises(PipeError, match="out of range"):
        read_frame(io.BytesIO(data))


def test_a_stream_that_ends_inside_a_frame() -> None:
    whole = Play(PipeJob.of(job())).to_stream()
    for cut in (1, 3, 4, 5, len(whole) - 1):
        with pytest.raises(PipeError, match="ends inside"):
            read_frame(io.BytesIO(whole[:cut]))
        splitter = Splitter()
        assert list(splitter.feed(whole[:cut])) == []
        assert not splitter.is_between


# ---- the fuzzer


def test_a_second_of_fuzzing() -> None:
    assert all(fuzz_pipe.judge(seed) == "read" for seed in fuzz_pipe.seeds())
    counts = fuzz_pipe.fuzz(1, 1)
    assert min(counts["read"], counts["refused"]) > 20


def test_what_escapes_is_raised(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(data: bytes) -> Order:
        raise KeyError("escaped")

    monkeypatch.setattr(fuzz_pipe, "parse_order", broken)
    with pytest.raises(KeyError):
        fuzz_pipe.fuzz(1, 1)
    assert "fuzz_pipe failed; seed 1" in capsys.readouterr().err
