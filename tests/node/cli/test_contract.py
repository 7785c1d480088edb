"""The commands and their page: every option is on it, help and versions are printed, closed streams are no error."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from node.cli.main import COMMANDS
from node.cli.main import gonode as command
from node.disk.home import Home
from tests.node.cli.gonode import gonode

PAGE = Path("docs/commands.md").read_text(encoding="utf-8")


def leaves(group: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
        if group.invoke_without_command:
            yield name, group
        context = click.Context(group)
        for each in group.list_commands(context):
            found = group.get_command(context, each)
            assert found is not None
            yield from leaves(found, f"{name} {each}")
    else:
        yield name, group


ALL = dict(leaves(command, "gonode"))


@pytest.mark.parametrize("name", ALL)
def test_every_option_is_on_the_page(name: str) -> None:
    section = PAGE.split(f"\n## {name}\n")
    assert len(section) == 2, f"docs/commands.md has no section {name}"
    text = section[1].split("\n## ")[0]
    for parameter in ALL[name].params:
        if isinstance(parameter, click.Option):
            for option in parameter.opts:
                assert f"`{option}" in text, option


def test_every_section_is_a_command() -> None:
    assert set(re.findall(r"\n## (gonode .*)\n", PAGE)) == set(ALL)


@pytest.mark.parametrize("name", [*ALL, *(f"gonode {each}" for each in COMMANDS), "gonode"])
def test_help(name: str) -> None:
    for option in ("--help", "-h"):
        answer = gonode(*name.split()[1:], option)
        assert (answer.status, answer.err) == (0, "")
        assert answer.out.startswith(f"Usage: {name}")


@pytest.mark.parametrize("group", [[], ["run"], ["root"], ["keys"], ["proof"]], ids=" ".join)
def test_a_group_alone_prints_its_help(group: list[str]) -> None:
    answer = gonode(*group)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"Usage: {' '.join(['gonode', *group])} ")


def test_version() -> None:
    answer = gonode("--version")
    assert (answer.status, answer.err) == (0, "")
    assert re.fullmatch(r"gonode, version \d+\.\d+\.\d+\n", answer.out)


def test_the_command_and_the_module_are_the_same() -> None:
    """Real processes: exit status and one line on standard error, nothing on standard output."""
    program = str(Path(sys.executable).with_name("gonode"))
    for line in ([program], [sys.executable, "-m", "node"]):
        ended = subprocess.run([*line, "join"], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.startswith("gonode: A ticket is needed: a text that begins with gonode1 ")
        assert ended.stderr.count("\n") == 1


def test_nobody_reads_the_output(home: Home) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "node", "audit", "--dir", str(home.directory), "--sample", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == "gonode: Nobody reads this command's output any more.\n"
        assert process.wait(60) == 2


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error(closed: str) -> None:
    command = f'"{sys.executable}" -m node --version {closed}; echo $?'
    ended = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert ended.stdout.splitlines()[-1] == "0"
    assert ended.stderr == ""
