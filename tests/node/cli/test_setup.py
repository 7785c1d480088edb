"""`gonode setup` at a terminal: what it asks, what becomes of answers, and that `join` goes by them."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import node.disk.passphrase
from node.cli.setup import NO_ANSWER
from tests.node.cli.gonode import Answer, gonode
from tests.node.cli.test_settings import given
from tests.node.homes import TICKET

Setup = Callable[..., Answer]


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> Setup:
    """Runs it with answers by setting's name; those that are not named are empty. One that is a list is given in order."""

    def run(*arguments: object, **answers: str | list[str]) -> Answer:
        left: dict[str, Iterator[str]] = {
            name: iter(answer if isinstance(answer, list) else [answer]) for name, answer in answers.items()
        }

        def prompt(text: str, **_: object) -> str:
            print(text, file=sys.stderr)
            answer = next(left.get(text.partition(" ")[0], iter(())), "")
            if answer == "^C":
                raise click.Abort
            return answer

        monkeypatch.setattr(node.disk.passphrase, "is_terminal", lambda: True)
        monkeypatch.setattr(click, "prompt", prompt)
        return gonode("setup", *arguments)

    return run


@pytest.fixture
def path() -> Path:
    """The user's file."""
    return Path("~/.gonode/gonode.toml").expanduser()


def test_answers_are_kept_and_used(setup: Setup, path: Path, tmp_path: Path) -> None:
    (tmp_path / "ticket").write_text(f"{TICKET}\n")
    done = setup(ticket=str(tmp_path / "ticket"), name="ada", cores="2", nice="10")
    assert (done.status, done.out) == (0, "")
    assert f"Kept in {path}." in done.err
    assert done.err.endswith("Begin with: gonode join\n")
    found = given("join")
    assert (found["ticket"], found["name"], found["cores"], found["nice"]) == (TICKET, "ada", 2, 10)
    assert "ticket [gonode1" in setup().err


def test_nothing_is_asked_twice_in_vain(setup: Setup, path: Path) -> None:
    done = setup(ticket=["gonode1x", "nowhere", TICKET], nice=["much", "20", "19"])
    assert done.status == 0
    assert "The ticket cannot be used" in done.err
    assert "'nowhere' is neither a ticket" in done.err
    assert "nice: 20 is not in the range" in done.err
    assert given("join")["nice"] == 19


def test_empty_answers_change_nothing_and_a_dash_takes_back(setup: Setup, path: Path) -> None:
    assert "Nothing is changed." in setup().err
    assert not path.exists()
    setup(ticket=TICKET, nice="3")
    path.write_text(f"# mine\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    done = setup(nice=NO_ANSWER)
    assert "nice [3]" in done.err
    assert given("join")["nice"] == 0
    assert path.read_text(encoding="utf-8").startswith("# mine\n")
    assert given("join")["ticket"] == TICKET


def test_an_end_in_the_middle_changes_nothing(setup: Setup, path: Path) -> None:
    assert setup(ticket=TICKET, nice="^C").status == 130
    assert not path.exists()


def test_a_directory_of_its_own(setup: Setup, path: Path, tmp_path: Path) -> None:
    done = setup("--dir", tmp_path, ticket=TICKET)
    assert f"gonode join --dir {tmp_path}\n" in done.err
    assert not path.exists()
    assert given("join", "--dir", str(tmp_path))["ticket"] == TICKET


def test_without_a_terminal(path: Path) -> None:
    sentence = gonode("setup").refusal()
    assert "gonode config set join.ticket TICKET" in sentence
    assert "join.nice" in sentence
    assert not path.exists()


def test_join_without_a_ticket_explains() -> None:
    sentence = gonode("join").refusal()
    for word in ("gonode1", "coordinates", "gonode join TICKET", "--invite FILE", "gonode setup", "gonode local"):
        assert word in sentence
    assert "gonode keys replace TICKET --recovery FILE" in gonode("keys", "replace", "--recovery", "x").refusal()


def test_at_a_real_terminal(path: Path) -> None:
    """What is typed arrives, and nothing but what input() prints goes to standard output."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "node", "setup"]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        os.write(ours, (TICKET + 21 * "\n").encode())
        seen = b""
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # what the terminal's other end gives when it closes
            pass
        assert process.stdout is not None
        assert process.stdout.read().strip() == ""
        assert process.wait(60) == 0
    os.close(ours)
    assert b"ticket [" in seen
    assert given("join")["ticket"] == TICKET
