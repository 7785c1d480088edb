"""The examples in the help: every command has some, they are shown, and each is a line that the command takes."""

import shlex

import click
import pytest

from node.cli.examples import EXAMPLES, FIRST_STEPS, Example
from node.cli.main import gonode as command
from node.cli.setting import commands_in
from node.cli.words import whole_words
from tests.node.cli.gonode import gonode

LEAVES = {" ".join(words): leaf for words, leaf in commands_in((), command)}


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) - {"config"} == set(LEAVES), "node/cli/examples.py needs an example for each command"


def verify(name: str, example: Example) -> None:
    """Raises click.UsageError when the command does not take the line."""
    line = example[0].partition(" > ")[0].removeprefix('eval "$(').removesuffix(')"')
    program, *words = shlex.split(line)
    assert program == "gonode"
    assert words[: len(name.split())] == name.split()
    whole_words(click.Context(LEAVES[name], info_name=name), words[len(name.split()) :])


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_lines_that_work(name: str) -> None:
    answer = gonode(*name.split(), "--help")
    assert "Examples:" in answer.out
    for example in EXAMPLES[name]:
        assert f"    {example[0]}\n        {example[1]}\n" in answer.out
        assert len(example[1]) <= 100
        if name != "config":
            verify(name, example)


def test_first_steps() -> None:
    answer = gonode("--help")
    for example in FIRST_STEPS:
        assert f"    {example[0]}\n        {example[1]}\n" in answer.out
        verify(shlex.split(example[0])[1] if "run init" not in example[0] else "run init", example)
