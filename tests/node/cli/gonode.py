"""The `gonode` command called in this process: its exit status and what it printed."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import pytest

from node.cli.main import BAD_INPUT, main


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command ended with."""

    status: int
    out: str
    err: str

    def refusal(self, status: int = BAD_INPUT) -> str:
        """The one sentence of a command that refused: nothing on standard output, one line on standard error."""
        assert self.status == status, (self.status, self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("gonode: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1
        assert "Traceback" not in self.err
        sentence = self.err.removeprefix("gonode: ").strip()
        assert 3 < len(sentence) <= 1000
        return sentence


def gonode(*arguments: object) -> Answer:
    """Runs `gonode ARGUMENTS`."""
    out, err = io.StringIO(), io.StringIO()
    status = -1
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
    return Answer(status, out.getvalue(), err.getvalue())


def the_object(answer: Answer) -> dict[str, Any]:
    """The one JSON object on standard output."""
    assert answer.out.count("\n") == 1
    found = json.loads(answer.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert isinstance(found, dict)
    return found
