"""Weights of Leela Zero as players: which files they are, and matches that the real `leelaz` plays, if it is installed."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from node.disk.home import Home
from node.exchange.sgf_reader import parse_record
from node.matches import leela_zero
from node.matches.gtp_terms import GtpTerms
from node.matches.leela_zero import LeelaZeroOpponent, weights_version
from node.matches.network_player import is_same_network
from node.matches.opponent import OpponentError
from tests.leelaz import needs_leelaz
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home
from tests.trainer.network.test_leela_zero import net_of
from tests.trainer.network.test_leela_zero_weights import refusal

SHORT = ("--size", 19, "--komi", 7.5, "--visits", 2, "--move-limit", 24, "--openings", "empty")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that leelaz plays; `packed.txt.gz` beside it has the same numbers, `other.txt` others."""
    folder = tmp_path_factory.mktemp("weights")
    (folder / "one.txt").write_bytes(net_of(1, 1, 8).weights().encode())
    (folder / "other.txt").write_bytes(net_of(2, 1, 8).weights().encode())
    (folder / "packed.txt.gz").write_bytes(gzip.compress((folder / "one.txt").read_bytes(), 1))
    return folder / "one.txt"


def played(home: Home, *words: object) -> dict[str, Any]:
    answer = gonode("match", *words, "--dir", home.directory, "--json")
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (b"1\n0.1 0.2\n", 1),
        (b"1\r\n0.1\r\n", 1),
        (b"2\n0.1\n", 2),
        (gzip.compress(b"1\n0.1\n", mtime=0), 1),
        (gzip.compress(b"2\n0.1\n", mtime=0), 2),
        (b"", None),
        (b"3\n", None),
        (b"1 2\n", None),
        (b"(;FF[4])\n", None),
        (b"\x1f\x8bnothing", None),
        (b"\x1f\x8b", None),
        (gzip.compress(b"1\n0.1\n", mtime=0)[:12], None),
    ],
)
def test_files_are_known_by_their_first_line(data: bytes, version: int | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert weights_version(path) == version


def test_a_network_of_ours_is_none(tmp_path: Path) -> None:
    world = grown_world()
    path = tmp_path / "net"
    path.write_bytes(world.networks[world.state.release.network])
    assert weights_version(path) is None


def test_version_2_is_refused_in_the_words_of_the_trainer(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "elf.txt"
    path.write_text("2\n0.1\n")
    refused = gonode("match", path, "random", "--dir", home.directory, "--size", 19).refusal()
    assert refused == f"{path}: {refusal(path.read_bytes())}"


def test_other_boards_are_refused_before_anything_starts(
    home: Home, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leela_zero, "PROGRAM", "no-such-program")
    for size in ((), ("--size", 13)):
        refused = gonode("match", "random", weights, "--dir", home.directory, *size).refusal()
        assert refused == f"{weights}: Leela Zero plays on 19x19 alone; --size 19 is needed."
    refused = gonode("match", "random", weights, "--dir", home.directory, "--size", 19).refusal()
    assert refused.startswith(f"{weights}: Leela Zero's own program plays its weights, and there is no no-such-program")


def test_a_damaged_package(weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(weights.with_name("packed.txt.gz").read_bytes()[:-100])
    with pytest.raises(OpponentError, match=r"The weights file is damaged: it cannot be unpacked to its end\."):
        leela_zero._digest(path)


def test_a_huge_file_is_not_read_whole(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leela_zero, "_MOST_BYTES", 1000)
    with pytest.raises(OpponentError, match="weights of more than 1000 bytes are not played"):
        leela_zero._digest(weights)


@needs_leelaz
def test_a_match_repeats_and_its_files_say_who_played(home: Home, weights: Path, tmp_path: Path) -> None:
    """Also on two threads, each game with its own process; and the games differ by their seeds."""
    other = weights.with_name("other.txt")
    found = played(home, weights, other, *SHORT, "--games", 4, "--sgf", tmp_path / "one")
    again = played(home, weights, other, *SHORT, "--games", 4, "--sgf", tmp_path / "two", "--threads", 2)
    assert found == again
    assert (found["players"], found["forfeits"]) == (["one.txt", "other.txt"], [])
    assert found["different_games"] > 1
    for number in range(4):
        one, two = (parse_record((tmp_path / each / f"{number:05d}.sgf").read_bytes()) for each in ("one", "two"))
        assert one == two
        assert len(one.moves) == 24
        assert "one.txt (Leela Zero 0." in one.start.comment


@needs_leelaz
def test_who_it_is_follows_from_its_numbers(weights: Path) -> None:
    files = (weights, weights.with_name("packed.txt.gz"), weights.with_name("other.txt"))
    plain, packed, other = (LeelaZeroOpponent(file, 2, 60, GtpTerms()) for file in files)
    assert plain.identity == packed.identity != other.identity
    assert plain.identity.startswith("leela-zero:")
    assert is_same_network(plain, packed)
    assert not is_same_network(plain, other)
    told = LeelaZeroOpponent(weights, 2, 60, GtpTerms(startup=("lz-setoption name visits value 3",)))
    assert told.identity == f"{plain.identity} | lz-setoption name visits value 3"
    for player in (plain, packed, other, told):
        player.close()


@needs_leelaz
def test_it_makes_its_visits_and_never_resigns(weights: Path) -> None:
    player = LeelaZeroOpponent(weights, 77, 60, GtpTerms())
    words = player._command_line(5)
    assert words[words.index("--visits") + 1] == "77"
    assert words[words.index("--resignpct") + 1] == "0"
    assert words[-2:] == ["--seed", "5"]
    timed = LeelaZeroOpponent(weights, 77, 60, GtpTerms(1.0))
    assert "--visits" not in timed._command_line(5)
    player.close()
    timed.close()


@needs_leelaz
def test_on_the_clock(home: Home, weights: Path) -> None:
    """Some moves of a second each: leelaz takes its time, and no more than that and the grace by far."""
    found = played(
        home, weights, "random", "--size", 19, "--time", 1, "--games", 2, "--move-limit", 6, "--openings", "empty"
    )
    mine, others = found["times"]
    assert (found["time_s"], mine["moves"], others["moves"]) == (1, 6, 6)
    assert 0.3 < mine["mean_s"] < 5
    assert others["mean_s"] < 0.3


@needs_leelaz
def test_what_leelaz_does_not_load(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("1\n0.1 0.2\n")
    refused = gonode("match", path, "random", "--dir", home.directory, "--size", 19).refusal()
    assert refused.startswith("short.txt: leelaz ended (status 1) before it answered name; it said: ")
    assert refused.endswith("Inconsistent number of weights in the file.")


@needs_leelaz
def test_it_is_rated_by_its_visits(home: Home, weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    played(home, "latest", weights, *SHORT, "--games", 2, "--record", path)
    rated = json.loads(gonode("ratings", "--dir", home.directory, "--matches", path, "--json").out)
    kinds = {each["name"]: each["kind"] for each in rated["players"]}
    assert kinds["one.txt@2"] == "engine"
    fixed = tmp_path / "fixed.jsonl"
    played(home, "latest", "random", "--size", 7, "--games", 2, "--colours", "a-black", "--record", fixed)
    refused = gonode("ratings", "--dir", home.directory, "--matches", fixed).refusal()
    assert refused == f"{fixed}: games with a handicap, or with fixed colours, do not say who is stronger."
