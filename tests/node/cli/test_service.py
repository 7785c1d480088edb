"""`gonode service print`: what the unit runs, as whom, how it ends, and what is refused."""

import configparser
import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from node.cli.unit import STATE, Unit, quoted
from tests.node.cli.gonode import gonode
from tests.node.homes import TICKET


def unit(*words: object) -> dict[str, str]:
    """The [Service] section that is printed."""
    answer = gonode("service", "print", *words)
    assert answer.status == 0, answer.err
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(answer.out)
    assert parser.sections() == ["Unit", "Service", "Install"]
    return dict(parser["Service"])


def test_a_unit_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ticket").write_text(TICKET)
    found = unit("--", "join", "ticket", "--nice", "10", "--no-lan", "--dir", "node", "--listen=/ip4/0.0.0.0/tcp/7")
    program, _, words = found["ExecStart"].partition(" join ")
    assert program.endswith("/gonode")
    for part in (f"--dir {tmp_path / 'node'}", "--nice 10", "--no-lan", "--listen /ip4/0.0.0.0/tcp/7"):
        assert part in words
    assert words.endswith(f" {tmp_path / 'ticket'}")
    assert (found["KillSignal"], found["KillMode"], found["Restart"]) == ("SIGINT", "mixed", "on-failure")
    assert found["RestartPreventExitStatus"] == "1 2"
    assert int(found["TimeoutStopSec"]) >= 60
    assert "DynamicUser" not in found
    assert "ProtectSystem" not in found
    assert "systemctl --user" in gonode("service", "print", "--", "join", TICKET).err


def test_a_unit_of_the_machine(tmp_path: Path) -> None:
    made = unit("--system", "--", "relay", TICKET)
    assert (made["DynamicUser"], made["Environment"]) == ("yes", f"HOME={STATE}")
    assert (made["ProtectSystem"], made["PrivateDevices"]) == ("strict", "yes")
    own = unit("--system", "--", "join", TICKET, "--dir", tmp_path, "--device", "cuda")
    assert (own["User"], own["ReadWritePaths"]) == (pwd.getpwuid(os.getuid()).pw_name, str(tmp_path))
    assert "PrivateDevices" not in own
    assert unit("--system", "--", "coordinate", tmp_path)["ExecStart"].endswith(f" coordinate {tmp_path}")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("words", [["--system"], ["--user"], ["--system", "DIR"]], ids=" ".join)
def test_systemd_reads_it(words: list[str], tmp_path: Path) -> None:
    where = ["--dir", tmp_path] if "DIR" in words else []
    path = tmp_path / "node.service"
    path.write_text(gonode("service", "print", words[0], "--", "relay", TICKET, *where).out)
    command = ["systemd-analyze", "verify", words[0], path]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_a_ticket_of_the_settings(tmp_path: Path) -> None:
    assert "needs a ticket" in gonode("service", "print", "--", "join").refusal()
    gonode("config", "set", "join.ticket", TICKET)
    assert unit("--", "join")["ExecStart"].endswith("/gonode join")
    assert "needs a ticket" in gonode("service", "print", "--system", "--", "join").refusal()
    assert "needs a ticket" in gonode("service", "print", "--system", "--", "join", "--dir", tmp_path).refusal()
    (tmp_path / "gonode.toml").write_text(f'[join]\nticket = "{TICKET}"\n')
    assert f"--dir {tmp_path}" in unit("--system", "--", "join", "--dir", tmp_path)["ExecStart"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["audit"], "runs no node"),
        (["join", "gonode1aaa"], "ticket cannot be used"),
        (["jion", TICKET], "the nearest is join"),
        (["join", TICKET, "--niec", "3"], "--niec"),
        (["join", TICKET, "--nice", "30"], "nice: 30 is not in the range"),
        (["join", TICKET, "more"], "does not take 'more'"),
        (["join", TICKET, "--dir", "a\nb"], "cannot stand in a unit"),
    ],
)
def test_what_is_refused(words: list[str], sentence: str) -> None:
    assert sentence in gonode("service", "print", "--", *words).refusal()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    words = ["service", "print", "--system", "--", "join", TICKET, "--dir", tmp_path / "none"]
    assert "is not there" in gonode(*words).refusal()


def test_words_are_quoted() -> None:
    assert quoted("a-b/c") == "a-b/c"
    assert quoted("a b") == '"a b"'
    assert quoted('50%$x\\"') == '"50%%$$x\\\\\\""'
    assert quoted("") == '""'
    assert 'ExecStart="/my gonode" join x' in Unit(["/my gonode"], ["join", "x"], True).encode()
