"""`gonode completion`: a script for each shell, and what the shell is answered by it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from node.cli.completion import SHELLS, VARIABLE
from tests.node.cli.gonode import gonode


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts(shell: str) -> None:
    answer = gonode("completion", shell)
    assert (answer.status, answer.err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in answer.out
    if program := shutil.which(shell):
        checked = subprocess.run([program, "-n"], input=answer.out, capture_output=True, text=True, timeout=20)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_an_unknown_shell() -> None:
    assert "bash" in gonode("completion", "cmd").refusal()


def complete(words: str) -> set[str]:
    """What a shell offers for the last of these words."""
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    command = [sys.executable, "-m", "node"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **asked})
    assert (answer.returncode, answer.stderr) == (0, "")
    return {line.partition(",")[2] for line in answer.stdout.splitlines()}


def test_what_is_offered() -> None:
    assert complete("gonode jo") == {"join"}
    assert {"init", "show", "ticket"} <= complete("gonode run ")
    assert "--nice" in complete("gonode join --n")
    assert complete("gonode join --device ") == {"cpu", "cuda"}


def test_a_file_of_settings_that_is_wrong_is_no_matter() -> None:
    path = Path("~/.gonode/gonode.toml").expanduser()
    path.parent.mkdir(parents=True)
    path.write_text("[join\n")
    assert complete("gonode jo") == {"join"}
    assert "--nice" in complete("gonode join --n")
