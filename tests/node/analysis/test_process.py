"""`gonode analysis` as a process: started as KataGo is, through pipes, left and killed at any time; and what it refuses."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from node.analysis.config_text import load_config, parse_overrides
from node.analysis.options import options_of
from node.analysis.settings import SettingError
from node.cli.analysis import READY
from tests.node.analysis.talk import query
from tests.node.cli.gonode import gonode
from tests.node.play.players import network_file

DEADLINE_S = 60.0
LONG = query("long", boardXSize=19, boardYSize=19, maxVisits=60_000)


def command(path: Path, *more: object) -> list[str]:
    """The process's words."""
    return [sys.executable, "-m", "node", "analysis", *map(str, more), "--dir", str(path.parent / "none")]


def line(table: dict[str, Any]) -> bytes:
    return json.dumps(table).encode() + b"\n"


@contextmanager
def begun(path: Path, *more: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the middle of a long search."""
    with subprocess.Popen(
        command(path, path, "--threads", 1, *more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stderr is not None
            assert process.stderr.readline().decode() == f"{READY}\n"
            process.stdin.write(line(LONG))
            process.stdin.flush()
            time.sleep(0.5)
            assert process.poll() is None
            yield process
        finally:
            process.kill()


def test_started_as_katago_is(tmp_path: Path) -> None:
    path, config = network_file(tmp_path), tmp_path / "analysis.cfg"
    config.write_text(
        "# comment\nmaxVisits = 12\nreportAnalysisWinratesAs = WHITE # or BLACK\nnumAnalysisThreads = 2\nlogDir = logs\n"
    )
    words = ["-config", config, "-model", path, "-override-config", "analysisPVLen=1,maxVisits=20"]
    ended = subprocess.run(
        command(path, *words),
        input=line(query()) + line(query("w", overrideSettings={"reportAnalysisWinratesAs": "BLACK"})),
        capture_output=True,
        timeout=DEADLINE_S,
    )
    assert ended.returncode == 0
    assert ended.stderr.decode().splitlines() == ["Settings that are not followed here: logDir.", READY]
    white, black = sorted(map(json.loads, ended.stdout.splitlines()), key=lambda each: str(each["id"]))
    assert white["rootInfo"]["visits"] == 20
    assert white["rootInfo"]["winrate"] == pytest.approx(1 - black["rootInfo"]["winrate"])
    assert max(len(each["pv"]) for each in white["moveInfos"]) == 2


def test_the_end_of_the_input_waits_for_what_was_asked(tmp_path: Path) -> None:
    path = network_file(tmp_path)
    queries = b"".join(line(query(str(number), maxVisits=40)) for number in range(8))
    ended = subprocess.run(command(path, path), input=queries, capture_output=True, timeout=DEADLINE_S)
    assert ended.returncode == 0
    assert {json.loads(each)["id"] for each in ended.stdout.splitlines()} == set("01234567")


def test_without_waiting_it_leaves_at_once(tmp_path: Path) -> None:
    with begun(network_file(tmp_path), "-quit-without-waiting") as process:
        began_s = time.monotonic()
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, out, err) == (0, b"", b"")
        assert time.monotonic() - began_s < 20


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_killed_while_it_searches(tmp_path: Path, number: signal.Signals, status: int) -> None:
    with begun(network_file(tmp_path)) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, out, err.strip()) == (status, b"", b"")


def test_nobody_reads_the_answers(tmp_path: Path) -> None:
    with begun(network_file(tmp_path)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(line({"id": "a", "action": "query_version"}))
        process.stdin.flush()
        assert process.stderr.read() == b"gonode: Nobody reads this command's output any more.\n"
        assert process.wait(DEADLINE_S) == 2


def test_what_is_refused(tmp_path: Path) -> None:
    path, none = network_file(tmp_path), tmp_path / "none"
    directory = ("--dir", none)
    assert "random moves have no opinion" in gonode("analysis", "random", *directory).refusal()
    assert "no file" in gonode("analysis", "--model", none, *directory).refusal()
    assert "named once" in gonode("analysis", path, "--model", path, *directory).refusal()
    assert "No such file" in gonode("analysis", path, "--config", none, *directory).refusal()
    assert "KEY=VALUE" in gonode("analysis", path, "--override-config", "x", *directory).refusal()
    assert "maxVisits has to be" in gonode("analysis", path, "--override-config", "maxVisits=0", *directory).refusal()
    assert (
        "numAnalysisThreads"
        in gonode("analysis", path, "--override-config", "numAnalysisThreads=-1", *directory).refusal()
    )


def test_settings_as_katago_has_them(tmp_path: Path) -> None:
    assert parse_overrides('a=1, b = "two words" ,,c=') == {"a": "1", "b": "two words", "c": ""}
    assert parse_overrides("") == {}
    for data, sentence in ((b"\xff\xfe", "not text"), (b"a\n", "KEY=VALUE"), (b"#" * (1 << 21), "more than 1048576")):
        path = tmp_path / "broken.cfg"
        path.write_bytes(data)
        with pytest.raises(SettingError, match=sentence):
            load_config(path)
    path.write_text("@include other.cfg\n\nwarnUnusedFields = false\nwideRootNoise = 0\nantiMirror = true\n")
    found = options_of(load_config(path), {"numAnalysisThreads": 3}, 64, 0)
    assert (found.threads, found.warns, found.ignored, found.settings.visits) == (3, False, ("antiMirror",), 64)
    with pytest.raises(SettingError):
        options_of({"warnUnusedFields": "perhaps"}, {}, 64, 0)
