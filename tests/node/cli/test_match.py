"""`gonode match` and `gonode ratings`: what they print, record and rate."""

from pathlib import Path

import pytest

from native.rules import Colour
from node.disk.home import Home
from node.exchange.replay import play_record, record_rules
from node.exchange.sgf_reader import parse_record
from node.exchange.values import write_result
from tests.node.cli.gonode import Answer, gonode, the_object
from tests.node.homes import grown_world


def test_match(home: Home) -> None:
    answer = gonode("match", "random", "first", "--dir", home.directory, "--games", 4, "--visits", 2, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = the_object(answer)
    keys = {"games", "wins", "draws", "losses", "score", "elo", "elo_error", "llr", "verdict"}
    more = {"players", "as_black", "as_white", "komi", "different_games", "forfeits", "time_s", "times", "disputes"}
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


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--time", 1, "--visits", 5), "--time and --visits exclude each other."),
        (("--sprt", "0,50", "--colours", "a-black"), "--sprt needs swapped colours: with fixed ones it would test who"),
        (("--handicap", 5), "A board of 7 by 7 takes 2 to 4 fixed handicap stones, not 5."),
        (("--tell", "b", "komi 5"), "'random' is no engine, and takes no GTP commands."),
        (("--games", 3), "an even number is needed: games are played in pairs."),
    ],
)
def test_what_goes_with_what(home: Home, options: tuple[object, ...], sentence: str) -> None:
    refused = gonode("match", "first", "random", "--dir", home.directory, *options)
    assert refused.status == 2
    assert sentence in refused.err
    assert "Traceback" not in refused.err


def test_seconds_of_an_engine_are_whole(home: Home) -> None:
    refused = gonode("match", "gtp:true", "random", "--dir", home.directory, "--time", 0.5).refusal()
    assert refused == "'gtp:true': the seconds of an engine's move are whole ones, as GTP has no others."


def test_a_handicap_for_one_player(home: Home, tmp_path: Path) -> None:
    """A has Black and four stones in every game; the files, the record and another command know of it."""
    path, sgf = tmp_path / "match.jsonl", tmp_path / "games"
    command = ("match", "random", "random", "--size", 7, "--handicap", 4, "--record", path, "--dir", home.directory)
    answer = gonode(*command, "--colours", "a-black", "--games", 20, "--sgf", sgf, "--json")
    found = the_object(answer)
    assert (found["as_black"]["games"], found["as_white"]["games"]) == (20, 0)
    assert found["wins"] > 12, "four stones are much on this board"
    assert [each["komi"] for each in found["komi"]] == [0.5]
    record = parse_record((sgf / "00000.sgf").read_bytes())
    assert (record.handicap, len(record.start.black), record.moves[0].colour) == (4, 4, Colour.WHITE)
    game = play_record(record, record_rules(record))
    assert write_result(game.score_half()) == record.result
    assert record.start.comment.startswith("Black: random (uniformly random moves).")
    assert gonode(*command, "--colours", "a-black", "--games", 20, "--json") == answer
    refused = gonode(*command, "--games", 20).refusal()
    assert 'another match (colours: "a-black" there, null now)' in refused


def test_seconds_for_a_release(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    command = ("match", "latest", "random", "--size", 7, "--games", 2, "--move-limit", 10, "--dir", home.directory)
    found = the_object(gonode(*command, "--time", 0.1, "--record", path, "--json"))
    assert (found["time_s"], [each["moves"] for each in found["times"]]) == (0.1, [10 - 2, 10 - 2]), "2 of an opening"
    again = gonode(*command, "--time", 0.1, "--record", path)
    assert "0.1 s a move: the same command gives other games" in again.out
    refused = gonode(*command, "--record", path).refusal()
    assert "another match (time_s: 0.1 there, null now)" in refused
    rated = the_object(gonode("ratings", "--dir", home.directory, "--matches", path, "--json"))
    assert {"random", f"{grown_world().state.release.name}@0.1s"} <= {each["name"] for each in rated["players"]}


def test_a_file_whose_name_is_no_text(home: Home, tmp_path: Path) -> None:
    """Bytes that no encoding knows are blanks in the table and in the record."""
    path = tmp_path / "net\udcff.bin"
    path.write_bytes(grown_world().networks[grown_world().state.release.network])
    command = ("match", path, "random", "--size", 7, "--games", 2, "--visits", 2, "--dir", home.directory)
    answer = gonode(*command, "--record", tmp_path / "match.jsonl", "--sgf", tmp_path / "games")
    assert answer.status == 0
    assert answer.out.startswith("net .bin against random\n")
    assert parse_record((tmp_path / "games" / "00000.sgf").read_bytes()).black == "net .bin"


def test_without_a_run_files_engines_and_random_moves_play(tmp_path: Path) -> None:
    path, record = tmp_path / "net.bin", tmp_path / "match.jsonl"
    path.write_bytes(grown_world().networks[grown_world().state.release.network])
    command = ("match", path, "random", "--games", 2, "--visits", 2, "--dir", tmp_path / "nothing")
    answer = gonode(*command, "--record", record, "--json")
    assert (answer.status, [each["komi"] for each in the_object(answer)["komi"]]) == (0, [7])
    assert '"run": null' in record.read_text()
    assert gonode(*command, "--record", record, "--json") == answer
    assert "no run is here" in gonode("match", "latest", "random", "--dir", tmp_path / "nothing").refusal()
    assert not (tmp_path / "nothing").exists()
