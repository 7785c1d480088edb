"""Runs GTP dialogues of the cases against the server, with a small network that nobody trained."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cases.case import Case
from tests.node.gtp.dialogue import dialogue, verify_form

FILE = re.compile(r"FILE\{(.*?)\}", re.DOTALL)


def run_gtp(case: Case, folder: Path) -> None:
    """Each response matches its expression, and there are no others."""

    def written(found: re.Match[str]) -> str:
        path = folder / "game.sgf"
        path.write_text(found[1], encoding="utf-8")
        return str(path)

    answers = dialogue(FILE.sub(written, case.data["input"]) + "\n")
    expected = case.data["expected_responses"]
    assert len(answers) == len(expected), answers
    for answer, pattern in zip(answers, expected, strict=True):
        verify_form(answer)
        assert re.fullmatch(pattern, answer), (answer, pattern)


def check_gtp_issue(case: Case) -> None:
    """`ok`, `error`, or the text of a success."""
    answers = dialogue("\n".join(case.data["input"]["gtp"]) + "\n")
    expected = case.expected["responses"]
    assert len(answers) == len(expected)
    for answer, wanted in zip(answers, expected, strict=True):
        verify_form(answer)
        if wanted in ("ok", "error"):
            assert answer.startswith("=?"[wanted == "error"])
        else:
            assert answer == f"= {wanted}"
