"""Ratings of everybody: gates and matches in one scale, players told apart by what they are, anchors, the unlinked."""

import math
from pathlib import Path
from typing import Any

import pytest

from node.matches.match_record import RecordError, open_record
from node.matches.network_player import network_identity
from node.matches.played_game import PlayedGame
from node.matches.rating_table import RatingError, RatingTable, unlinked
from node.matches.ratings import SCALE, state_ratings
from tests.node.homes import grown_world

WON, LOST = PlayedGame(7, 17, "D4", "B+0.5"), PlayedGame(7, 17, "D4", "W+0.5")
RUN = bytes(32)
GATE_VISITS = 48


def record(path: Path, one: tuple[str, str], two: tuple[str, str], pairs: str, **facts: Any) -> Path:
    """A recorded match in which the first player won (`w`), split (`s`) or lost (`l`) each pair."""
    players = [{"name": name, "identity": identity} for name, identity in (one, two)]
    games = {"w": (WON, LOST), "s": (WON, WON), "l": (LOST, WON)}
    with open_record(path, {"run": RUN.hex(), "visits": GATE_VISITS, **facts, "players": players}) as file:
        for number, how in enumerate(pairs):
            file.add(number, games[how])
    return path


def by_name(table: RatingTable, **anchors: float) -> dict[str, Any]:
    return {each.name: each for each in table.rate(anchors)}


A, B, C = (("a", "network:aa"), ("b", "network:bb"), ("engine", "gtp:x"))


def test_the_log_alone_gives_what_local_prints() -> None:
    state = grown_world().state
    table = RatingTable()
    table.add_log(state)
    rated = by_name(table)
    assert (rated["first"].elo, rated["first"].elo_error, rated["first"].is_anchor) == (0, 0, True)
    for each in state_ratings(state):
        assert (rated[each["name"]].elo, rated[each["name"]].elo_error) == (each["elo"], each["elo_error"])


def test_matches_are_pooled_and_sides_do_not_matter(tmp_path: Path) -> None:
    table = RatingTable()
    table.add_record(record(tmp_path / "1", A, C, "wwws"), RUN, GATE_VISITS)
    table.add_record(record(tmp_path / "2", C, A, "ls"), RUN, GATE_VISITS)
    rated = by_name(table, engine=1000.0)
    share = (10 + 2 * 0.5) / (12 + 2)
    assert rated["a"].elo == pytest.approx(1000 + SCALE * math.log(share / (1 - share)), abs=0.1)
    assert (rated["a"].games, rated["a"].score, rated["a"].kind) == (12, 10 / 12, "network")
    assert (rated["engine"].elo, rated["engine"].kind, rated["engine"].is_anchor) == (1000, "engine", True)


def test_a_release_under_another_name_is_one_player(tmp_path: Path) -> None:
    state = grown_world().state
    release = state.release
    file = ("some-file.bin", network_identity(release.network))
    table = RatingTable()
    table.add_log(state)
    table.add_record(record(tmp_path / "1", file, C, "wws"), RUN, GATE_VISITS)
    rated = by_name(table)
    assert "some-file.bin" not in rated
    assert rated["engine"].elo < rated[release.name].elo
    assert unlinked(table.rate({})) is None


def test_seconds_make_other_players_and_two_files_of_one_name_are_two(tmp_path: Path) -> None:
    """Engines are others too with seconds; random moves are the same."""
    table = RatingTable()
    lz, other, dice = ("best.txt", "leela-zero:11"), ("best.txt", "leela-zero:22"), ("random", "random")
    for number, (one, two, facts) in enumerate(
        [
            (A, C, {}),
            (A, C, {"visits": None, "time_s": 2.0}),
            (lz, dice, {}),
            (other, dice, {"visits": 9, "time_s": None}),
        ]
    ):
        table.add_record(record(tmp_path / str(number), one, two, "ws", **facts), RUN, GATE_VISITS)
    assert {each.name for each in table.rate({})} == {
        *("a", "engine", "a@2s", "engine@2s"),
        *("best.txt", "best.txt@9", "random"),
    }
    table.add_record(record(tmp_path / "same", other, dice, "ws"), RUN, GATE_VISITS)
    assert by_name(table)["best.txt#22"].kind == "engine"


@pytest.mark.parametrize("facts", [{"handicap": 2}, {"colours": "a-black"}])
def test_games_at_odds_are_not_pooled(facts: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="do not say who is stronger"):
        RatingTable().add_record(record(tmp_path / "1", A, C, "ws", **facts), RUN, GATE_VISITS)


def test_other_visits_make_another_player(tmp_path: Path) -> None:
    table = RatingTable()
    table.add_record(record(tmp_path / "1", A, C, "ws"), RUN, GATE_VISITS)
    table.add_record(record(tmp_path / "2", A, C, "ws", visits=400), RUN, GATE_VISITS)
    assert set(table.names) == {"a", "engine", "a@400"}


def test_two_networks_of_one_name_and_two_engines_of_one_name(tmp_path: Path) -> None:
    table = RatingTable()
    table.add_record(record(tmp_path / "1", A, C, "ws"), RUN, GATE_VISITS)
    table.add_record(record(tmp_path / "2", ("a", "network:cc"), C, "ws"), RUN, GATE_VISITS)
    assert table.names == ["a", "engine", "a#cc"]
    with pytest.raises(RatingError, match="Two players are called 'engine'"):
        table.add_record(record(tmp_path / "3", A, ("engine", "gtp:y"), "ws"), RUN, GATE_VISITS)


def test_two_anchors_pull_between_them(tmp_path: Path) -> None:
    table = RatingTable()
    table.add_record(record(tmp_path / "1", A, C, "ssss"), RUN, GATE_VISITS)
    table.add_record(record(tmp_path / "2", A, ("strong", "gtp:z"), "ssss"), RUN, GATE_VISITS)
    assert by_name(table, engine=0.0, strong=200.0)["a"].elo == pytest.approx(100, abs=0.1)


def test_who_is_not_linked_is_said(tmp_path: Path) -> None:
    table = RatingTable()
    table.add_record(record(tmp_path / "1", A, B, "ws"), RUN, GATE_VISITS)
    table.add_record(record(tmp_path / "2", C, ("random", "random"), "ww"), RUN, GATE_VISITS)
    rated = table.rate({"b": 0.0})
    assert [(each.name, each.elo) for each in rated[2:]] == [("engine", None), ("random", None)]
    assert unlinked(rated) == "engine, random have no rating: no games link them to an anchor."
    assert rated[0].elo is not None
    both = table.rate({"b": 0.0, "random": 0.0})
    assert unlinked(both) is None
    with pytest.raises(RatingError, match="'nobody' has not played; these have: a, b, engine, random"):
        table.rate({"nobody": 0.0})


def test_a_match_of_another_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="another run"):
        RatingTable().add_record(record(tmp_path / "1", A, B, "ws", run="11"), RUN, GATE_VISITS)


def test_names_of_others_are_one_short_line(tmp_path: Path) -> None:
    table = RatingTable()
    table.add_record(record(tmp_path / "1", A, ("evil\x1b[31m\n" + "x" * 10_000, "gtp:y"), "ws"), RUN, GATE_VISITS)
    assert table.names[1].isprintable()
    assert len(table.names[1]) < 300
