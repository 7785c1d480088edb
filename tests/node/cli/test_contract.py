"""The contract of `docs/commands.md`: names, JSON keys, exit statuses, and one object on standard output."""

import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import Any

import click
import pytest
import trio

from node.cli.local import Screen, _finish
from node.cli.main import COMMANDS
from node.cli.main import gonode as command
from node.contributor import replacing
from node.contributor.replacing import recovery_hash_of
from node.control import serve_control
from node.disk.home import Home
from node.disk.keyring import create_key, load_key
from node.events import EventPrinter
from node.local import LocalNetwork, LocalOptions
from node.standing import contributors_of
from protocol.ticket import Ticket
from tests.node.cli.gonode import Answer, gonode
from tests.node.homes import TICKET, grown_world, make_home

PAGE = Path("docs/commands.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A coordinator's directory; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


def the_object(answer: Answer) -> dict[str, Any]:
    """The one JSON object on standard output."""
    assert answer.out.count("\n") == 1
    found = json.loads(answer.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert isinstance(found, dict)
    return found


# ---- the page and the commands


def leaves(group: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
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
        assert ended.stderr == (
            "gonode: A ticket is needed, which the run's coordinator hands out: gonode join TICKET --invite FILE.\n"
        )


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


# ---- status


STATUS = {
    "role": "contributor",
    "run": "ab" * 32,
    "release": "first",
    "log_size": 7,
    "peers": 2,
    "links": [
        {
            "peer": "cd" * 32,
            "address": None,
            "direction": "in",
            "since_unix_s": 3,
            "waiting_for": "/gonode/log/1 (head)",
            "waiting_since_unix_s": 61,
            "score": 0,
        }
    ],
    "services": [
        {"name": "links", "restarts": 0, "last_failure": None},
        {"name": "gossip", "restarts": 2, "last_failure": "KeyError: 'x' (gossip.py:1)."},
    ],
    "bans": [{"peer": "ef" * 32, "reason": "It served wrong bytes.", "times": 2, "left_s": 7200}],
    "contained": 4,
    "next_try_in_s": 2.5,
    "queues": [{"name": "batch", "length": 1, "waiting_for": "a peer", "since_unix_s": 12}],
    "games": 3,
    "plies": 100,
    "verified": 1,
    "pending": 1,
    "rejected": 1,
}


@contextmanager
def running(directory: Path) -> Iterator[list[str]]:
    """A node in `directory` that only answers its socket."""
    heard: list[str] = []
    started, token = threading.Event(), []

    async def answer(name: str, value: dict[str, Any]) -> dict[str, Any]:
        heard.append(name)
        return value

    async def main() -> None:
        with trio.CancelScope() as scope:
            token.append((trio.lowlevel.current_trio_token(), scope))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(
                    serve_control,
                    directory / "control.sock",
                    {
                        "status": lambda: answer("status", STATUS),
                        "contributors": lambda: answer("contributors", contributors_of(grown_world().state)),
                        "drain": lambda: answer("drain", {"ok": True}),
                        "stop": lambda: answer("stop", {"ok": True}),
                    },
                )
                while not (directory / "control.sock").exists():
                    await trio.sleep(0.01)
                await trio.sleep(0.02)
                started.set()

    thread = threading.Thread(target=trio.run, args=[main])
    directory.mkdir(parents=True, exist_ok=True)
    thread.start()
    assert started.wait(10)
    yield heard
    trio_token, scope = token[0]
    trio_token.run_sync_soon(scope.cancel)
    thread.join(10)


def test_a_running_node(tmp_path: Path) -> None:
    with running(tmp_path) as heard:
        answer = gonode("status", "--dir", tmp_path, "--json")
        assert answer.status == 0
        assert the_object(answer) == STATUS
        text = gonode("status", "--dir", tmp_path).out
        assert "role: contributor\n" in text
        assert "queue batch: 1, waiting for: a peer (since 1970-01-01 00:00:12Z)\n" in text
        assert (
            "link cdcdcdcd: since 1970-01-01 00:00:03Z, it dialed, waiting for: /gonode/log/1 (head) "
            "(since 1970-01-01 00:01:01Z)\n"
        ) in text
        assert "services: 2, restarts 2\n" in text
        assert "ban efefefef: 7200 s left, times 2: It served wrong bytes.\n" in text
        assert "next_try_in_s: 2.5\n" in text
        assert "service gossip: restarts 2, the last one after: KeyError: 'x' (gossip.py:1).\n" in text
        assert the_object(gonode("drain", "--dir", tmp_path, "--json")) == {"ok": True}
        assert gonode("stop", "--dir", tmp_path) == Answer(0, "Stopping.\n", "")
        assert heard == ["status", "status", "drain", "stop"]


@pytest.mark.parametrize("name", ["status", "stop", "drain"])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_nothing_runs(name: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No running node answers" in gonode(name, "--dir", tmp_path, *options).refusal(3)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "No node runs below ~/.gonode" in gonode(name, *options).refusal(3)


def test_the_directory_may_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with running(tmp_path / ".gonode" / "abc"):
        assert the_object(gonode("status", "--json")) == STATUS
        (tmp_path / ".gonode" / "def").mkdir()
        assert gonode("status").status == 0
        with running(tmp_path / ".gonode" / "def"):
            assert "Several nodes run" in gonode("status").refusal()


ROW = {
    "key",
    "name",
    "standing",
    "reason",
    "entry",
    "passed",
    "needed",
    "batches",
    "games",
    "failed_games",
    "credit_plies",
    "credit_visits",
    "held",
    "released",
    "q_ppm",
    "q_reason",
    "scrutiny",
    "last_seen",
    "replaces",
    "replaced_by",
}


def test_contributors_of_a_running_node_and_of_a_folder(home: Home, tmp_path: Path) -> None:
    read = gonode("status", "--contributors", "--dir", home.directory, "--json")
    assert (read.status, read.err) == (0, "")
    found = the_object(read)
    assert set(found) == {"run", "log_size", "contributors", "total"}
    (ada,) = found["contributors"]
    assert set(ada) == ROW
    assert (ada["name"], ada["standing"], len(ada["key"])) == ("ada", "good", 64)
    assert found["total"]["credit_plies"] == ada["credit_plies"] > 0
    with running(tmp_path) as heard:
        assert gonode("status", "--contributors", "--dir", tmp_path, "--json") == read
        text = gonode("status", "--contributors", "--dir", tmp_path)
        assert heard == ["contributors", "contributors"]
    assert text == gonode("status", "--contributors", "--dir", home.directory)
    head, row, last = text.out.splitlines()
    assert head.split()[:3] == ["name", "key", "standing"]
    assert row.split()[:3] == ["ada", ada["key"][:8], "good"]
    assert last.split()[:3] == ["total", "1", "contributor"]


def test_contributors_where_nothing_is(tmp_path: Path) -> None:
    assert "no run is here" in gonode("status", "--contributors", "--dir", tmp_path).refusal()


# ---- recovery keys


def test_a_recovery_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "stick" / "recovery"
    made = gonode("keys", "recovery", path)
    assert made.status == 0
    assert made.out == sha256(load_key(path).public).hexdigest() + "\n"
    assert recovery_hash_of(made.out.strip()) == recovery_hash_of(str(path)) == bytes.fromhex(made.out)
    assert "no passphrase" in made.err
    assert "never overwritten" in gonode("keys", "recovery", path).refusal()
    monkeypatch.setenv("GONODE_PASSPHRASE", "correct horse")
    sealed = gonode("keys", "recovery", tmp_path / "sealed")
    assert "no passphrase" not in sealed.err
    monkeypatch.delenv("GONODE_PASSPHRASE")
    assert recovery_hash_of(str(tmp_path / "sealed")).hex() == sealed.out.strip()  # needs no passphrase


@pytest.mark.parametrize("value", ["nobody", "ab" * 31, "xy" * 32])
def test_what_is_no_recovery_key(value: str, tmp_path: Path) -> None:
    assert "cannot be read" in gonode("join", TICKET, "--dir", tmp_path, "--recovery", value).refusal()
    damaged = tmp_path / "damaged"
    damaged.write_text("x")
    assert "not a gonode key file" in gonode("join", TICKET, "--dir", tmp_path, "--recovery", damaged).refusal()


def test_a_key_that_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recovery, directory = tmp_path / "recovery", tmp_path / "node"
    replace = ("keys", "replace", TICKET, "--dir", directory, "--recovery", recovery)
    assert "gonode keys replace TICKET --recovery FILE" in gonode("keys", "replace", "--recovery", recovery).refusal()
    assert "cannot be read" in gonode(*replace).refusal()
    create_key(recovery)
    assert "no key here" in gonode(*replace).refusal()
    assert "64 hexadecimal digits" in gonode(*replace, "--key", "abc").refusal()
    create_key(directory / "keys" / "host")
    monkeypatch.setattr(replacing, "LOG_WITHIN_S", 0.5)
    assert "No peer of the run showed its log" in gonode(*replace).refusal(3)
    assert sorted(path.name for path in (directory / "keys").iterdir()) == ["host", "host.next"]
    first = load_key(directory / "keys" / "host.next")
    assert "No peer of the run" in gonode(*replace).refusal(3)
    assert load_key(directory / "keys" / "host.next") == first


# ---- audit, match, local, roles


def test_audit(home: Home) -> None:
    answer = gonode("audit", "--dir", home.directory, "--json", "--sample", 1)
    assert (answer.status, answer.err) == (0, "")
    found = the_object(answer)
    assert set(found) >= {"ok", "release", "checks"}
    assert found["ok"] is True
    assert found["release"] == grown_world().state.release.name
    assert all(set(check) == {"name", "ok", "detail"} for check in found["checks"])
    assert {"head", "files", "release", "gate", "window", "games", "chain"} <= {c["name"] for c in found["checks"]}
    text = gonode("audit", "--dir", home.directory, "--sample", 1)
    assert text.status == 0
    assert text.out.splitlines()[-1] == f"The audit of {found['release']} passed."
    assert len(text.out.splitlines()) == len(found["checks"]) + 1


def test_an_audit_that_fails(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "coordinator")
    (home.public / "stranger").write_text("x")
    answer = gonode("audit", "--dir", home.directory, "--json", "--sample", 0)
    assert (answer.status, answer.err) == (1, "")
    failed = [check for check in the_object(answer)["checks"] if check["ok"] is False]
    assert [check["name"] for check in failed] == ["files"]
    assert "stranger" in failed[0]["detail"]
    unknown = gonode("audit", "--dir", home.directory, "--json", "--sample", 0, "--release", "nobody")
    assert unknown.status == 1
    assert the_object(unknown)["release"] == ""


def test_match(home: Home) -> None:
    answer = gonode("match", "random", "first", "--dir", home.directory, "--games", 4, "--visits", 2, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = the_object(answer)
    keys = {"games", "wins", "draws", "losses", "score", "elo", "elo_error", "llr", "verdict"}
    more = {"players", "as_black", "as_white", "komi", "different_games", "forfeits"}
    assert set(found) == keys | more
    assert set(found["as_black"]) == set(found["as_white"]) == keys - {"llr", "verdict"}
    assert sum(each["games"] for each in found["komi"]) == 4
    shares = {"komi", "games", "black_wins", "draws", "white_wins", "black_share", "black_share_95"}
    assert all(set(each) == shares for each in found["komi"])
    assert found["games"] == found["wins"] + found["draws"] + found["losses"] == 4
    assert (found["llr"], found["verdict"]) == (None, None)
    assert gonode("match", "random", "first", "--dir", home.directory, "--games", 4, "--visits", 2, "--json") == answer


def test_a_match_of_a_network_with_itself_says_so(home: Home) -> None:
    answer = gonode("match", "first", "0", "--dir", home.directory, "--games", 2, "--visits", 2)
    assert answer.status == 0
    assert answer.err == "first and first are the same network: this match compares it with itself.\n"


def test_who_wins_at_a_komi_from_the_empty_board(home: Home) -> None:
    command = ("match", "latest", "latest", "--openings", "empty", "--games", 12, "--visits", 8, "--size", 7)
    for komi in (-40, 60):
        found = the_object(gonode(*command, "--komi", komi, "--dir", home.directory, "--json"))
        (balance,) = found["komi"]
        assert (balance["komi"], balance["games"]) == (komi, 12)
        assert (balance["black_wins"] > 8) == (komi < 0)
        assert (balance["white_wins"] > 8) == (komi > 0)
        assert found["different_games"] > 6, "releases choose their first moves at a temperature"
    text = gonode(*command, "--komi", 60, "--dir", home.directory).out
    assert f"komi 60: black wins {balance['black_wins']} of 12" in text
    assert f"{found['different_games']} different games of 12" in text


def test_a_match_is_recorded_and_rated(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    command = ("match", "random", "latest", "--size", 7, "--record", path, "--dir", home.directory)
    first = gonode(*command, "--games", 4, "--json")
    assert first.status == 0
    assert gonode(*command, "--games", 4, "--json") == first
    assert the_object(gonode(*command, "--games", 6, "--json"))["games"] == 6
    assert path.read_bytes().count(b"\n") == 4
    refusal = gonode(*command, "--games", 6, "--komi", 3).refusal()
    assert "another match (komi: null there, 3.0 now)" in refusal
    names = [release.name for release in grown_world().state.releases.all]
    rated = gonode("ratings", "--dir", home.directory, "--json")
    assert (rated.status, rated.err) == (0, "")
    players = {each["name"]: each for each in the_object(rated)["players"]}
    assert set(players) == set(names)
    keys = {"name", "kind", "elo", "elo_error", "games", "score", "anchor"}
    assert all(set(each) == keys for each in players.values())
    assert (players["first"]["elo"], players["first"]["anchor"]) == (0, True)
    found = the_object(
        gonode("ratings", "--dir", home.directory, "--matches", path, "--anchor", "random=-100", "--json")
    )
    players = {each["name"]: each for each in found["players"]}
    assert set(players) == {*names, "random"}
    assert (players["random"]["elo"], players["random"]["games"], found["sentence"]) == (-100, 6, None)
    text = gonode("ratings", "--dir", home.directory, "--matches", path)
    assert text.out.splitlines()[0].split() == ["player", "kind", "Elo", "+-", "95", "%", "games", "score"]
    assert len(text.out.splitlines()) == 5


def test_what_cannot_be_rated(home: Home, tmp_path: Path) -> None:
    def refused(*options: object) -> str:
        return gonode("ratings", "--dir", home.directory, *options).refusal()

    assert "'nobody' has not played; these have: first" in refused("--anchor", "nobody=3")
    for text in ("first", "first=", "=3", "first=nan", "first=1e9"):
        assert "NAME=ELO" in refused("--anchor", text)
    path = tmp_path / "match.jsonl"
    assert "No such file" in refused("--matches", path)
    path.write_text("x\n")
    assert "no record of a match" in refused("--matches", path)
    path.write_text('{"format": "gonode/match/1", "run": "00", "players": [{"name": "a", "identity": "b"}]}\n')
    assert "does not say who played" in refused("--matches", path)
    two = '[{"name": "a", "identity": "b"}, {"name": "c", "identity": "d"}]'
    path.write_text('{"format": "gonode/match/1", "run": "00", "players": ' + two + "}\n")
    assert "another run" in refused("--matches", path)


def test_a_match_that_lost_its_test(home: Home) -> None:
    def played(*options: object) -> Answer:
        return gonode("match", "random", "random", "--dir", home.directory, "--size", 7, "--sprt", *options)

    few = played("0,50", "--games", 4, "--json")
    assert (few.status, the_object(few)["verdict"]) == (0, "undecided")
    assert "sequential test: undecided" in played("0,50", "--games", 4).out
    lost = played("100,200", "--games", 400, "--json")
    found = the_object(lost)
    assert (lost.status, found["verdict"]) == (1, "failed")
    assert found["llr"] < -2.9
    assert found["games"] < 400
    won = played("-200,-100", "--games", 400, "--json")
    assert (won.status, the_object(won)["verdict"]) == (0, "passed")


def test_local(tmp_path: Path) -> None:
    """The summary after the processes ended, over a run that was played before."""
    make_home(grown_world(), tmp_path / "coordinator")
    network = LocalNetwork(LocalOptions(tmp_path, None, 1, 2, 1.0, 0.0, None, None), lambda event, text: None)
    network.coordinator.status = {"games": 5, "plies": 200, "batches": 2, "rejected": 0}
    for reached, status in ((True, 0), (False, 1)):
        answer = _captured(lambda reached=reached: _finish(network, Screen(False), reached, True))
        assert answer.status == status
        found = the_object(answer)
        assert set(found) >= {"seconds", "games", "plies", "batches", "rejected", "releases", "audit_ok"}
        assert (found["games"], found["plies"], found["audit_ok"]) == (5, 200, True)
        assert all(set(release) == {"name", "elo", "elo_error"} for release in found["releases"])
        assert len(found["releases"]) == 2


def test_local_whose_time_ends_before_a_head_is_shown(tmp_path: Path) -> None:
    network = LocalNetwork(LocalOptions(tmp_path, None, 1, 2, 1.0, 0.0, None, None), lambda event, text: None)
    answer = _captured(lambda: _finish(network, Screen(False), False, True))
    assert answer.status == 1
    found = the_object(answer)
    assert (found["audit_ok"], found["releases"]) == (False, [])


def _captured(finish: Any) -> Answer:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = finish()
    return Answer(status, out.getvalue(), err.getvalue())


def test_events_are_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    printer = EventPrinter("contributor", True)
    printer("game", 'Game "3"\nfinished.', counter=3, plies=44)
    printer("waiting", "Nobody is there.")
    lines = capsys.readouterr().out.splitlines()
    first, second = (json.loads(line) for line in lines)
    assert set(first) == {"event", "role", "unix_s", "text", "counter", "plies"}
    assert (second["event"], second["role"]) == ("waiting", "contributor")


def test_run_init_invite_and_request(tmp_path: Path) -> None:
    key = gonode("verify", TICKET, "--request", "--dir", tmp_path / "verifier")
    assert re.fullmatch("[0-9a-f]{64}\n", key.out)
    as_json = the_object(gonode("verify", TICKET, "--request", "--json", "--dir", tmp_path / "verifier"))
    assert as_json == {"event": "request", "key": key.out.strip()}
    made = gonode("run", "init", tmp_path / "run", "--from", "runs/demo.toml")
    assert made.status == 0
    ticket = Ticket.parse(made.out)
    assert made.out == ticket.encode() + "\n"
    assert ticket.run.hex() in made.err
    assert gonode("root", "sign", tmp_path / "run", "--verifier", key.out.strip()).out.startswith("Root version 2: 1 ")
    invites = {gonode("invite", tmp_path / "run").out for _ in range(3)}
    assert len(invites) == 3
    assert all(re.fullmatch("gonode-invite1[a-z2-7]+\n", invite) for invite in invites)
