"""The network's fuzzer runs, reaches every reader, notices what escapes, and repeats itself."""

import random
from pathlib import Path

import pytest
import trio
import trio.testing

from tests.fuzz import fuzz_network
from tests.fuzz.fuzz_network import judge, open_readers
from tests.fuzz.reader import Reader, mutate_fields, mutate_reply


def test_three_seconds_of_fuzzing() -> None:
    counts = fuzz_network.fuzz(3, 1)
    assert len(counts) > 40
    assert min(counts.values()) > 3


async def test_every_seed_is_taken(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with open_readers(tmp_path) as readers:
        assert len({reader.name for reader in readers}) == len(readers)
        for reader in readers:
            for seed in reader.seeds:
                assert await judge(reader, seed), reader.name


async def test_the_same_seed_makes_the_same_inputs(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with open_readers(tmp_path / "a") as some, open_readers(tmp_path / "b") as others:
        for one, other in zip(some, others, strict=True):
            assert one.seeds == other.seeds
            rngs = random.Random(1), random.Random(1)
            made = [
                reader.change(rng, reader.seeds[0], b"other") for reader, rng in zip((one, other), rngs, strict=True)
            ]
            assert made[0] == made[1]


def test_replies_and_fields_are_changed_where_they_are_no_maps() -> None:
    rng = random.Random(1)
    for change in (mutate_fields, mutate_reply):
        assert len({change(rng, b"\0no map", b"other") for _ in range(100)}) > 30


def broken(error: Exception) -> Reader:
    async def take(data: bytes) -> bool:
        raise error

    return Reader("broken", take, (b"seed",), (ValueError,))


@pytest.mark.parametrize("error", [KeyError("escaped"), ValueError(""), ValueError("one\ntwo.")])
async def test_what_escapes_or_is_no_sentence_is_raised(error: Exception) -> None:
    with pytest.raises((KeyError, AssertionError)):
        await judge(broken(error), b"seed")


async def test_what_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_network, "MOST_CPU_S", 0.0)

    async def slow(data: bytes) -> bool:
        return sum(range(10**5)) > 0

    with pytest.raises(AssertionError, match="it took"):
        await judge(Reader("slow", slow, (b"seed",)), b"seed")


def test_a_failure_names_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(fuzz_network, "message_readers", lambda transport: [broken(KeyError("escaped"))])
    monkeypatch.setattr(fuzz_network.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyError):
        fuzz_network.fuzz(1, 1)
    assert "broken failed; seed 1; input 1, in " in capsys.readouterr().err
    assert (tmp_path / "fuzz_network-broken-1-1").is_file()
