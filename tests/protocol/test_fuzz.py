"""The fuzzer runs, reaches every parser, and notices what escapes."""

import random

import pytest

from protocol import codec
from protocol.errors import ProtocolError
from tests.fuzz import fuzz_protocol
from tests.fuzz.mutation import mutate_record


def test_a_second_of_fuzzing() -> None:
    runs = fuzz_protocol.fuzz(1, 1)
    assert min(runs.values()) > 20


def test_every_seed_is_valid() -> None:
    for target in fuzz_protocol.targets():
        if target.name != "proof":
            for seed in target.seeds:
                assert target.parse(seed) in (None, seed), target.name


def test_what_escapes_is_raised(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(data: bytes) -> None:
        raise KeyError("escaped")

    monkeypatch.setattr(fuzz_protocol, "targets", lambda: [fuzz_protocol.Target("broken", broken, (b"seed",))])
    with pytest.raises(KeyError):
        fuzz_protocol.fuzz(1, 1)
    assert "broken failed; seed 1" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"\x81\xa1a" * (codec.MAX_DEPTH - 1) + b"\x80", b"no record"])
def test_what_cannot_be_changed_by_value_is_changed_by_bytes(data: bytes) -> None:
    rng = random.Random(1)
    made = {mutate_record(rng, data, b"other") for _ in range(500)}
    assert len(made) > 30
    assert any(_is_foreign(each) for each in made)


def _is_foreign(data: bytes) -> bool:
    try:
        codec.decode(data)
    except ProtocolError:
        return True
    return False
