"""The fuzzer runs, reaches every parser, and notices what escapes."""

import pytest

from tests.fuzz import fuzz_protocol


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
