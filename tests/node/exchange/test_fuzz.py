"""The SGF fuzzer runs, reaches every outcome, and notices what escapes."""

import pytest

from node.exchange.errors import SgfError
from tests.fuzz import fuzz_sgf


def test_two_seconds_of_fuzzing() -> None:
    counts = fuzz_sgf.fuzz(2, 1)
    assert set(counts) == {"played", "stopped", "refused"}
    assert min(counts.values()) > 5


def test_a_sentence_over_two_lines_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(data: bytes) -> None:
        raise SgfError("one\ntwo.")

    monkeypatch.setattr(fuzz_sgf, "parse_collection", broken)
    with pytest.raises(AssertionError):
        fuzz_sgf.fuzz(1, 1)
    assert "fuzz_sgf failed; seed 1; input " in capsys.readouterr().err
