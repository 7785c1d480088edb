"""Runs every rule case of a folder (`pytest tests/cases --cases DIR` for another folder).

Kinds that are unknown here are skipped, each with its reason, and counted at the end. What is not compared as the case has
it stands in tests/cases/README.md.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from native.count import count_positions, count_sequences
from native.errors import BlockError
from native.game import Game
from native.rows import check_block
from native.rules import Colour, End, Ko, Rules
from node.exchange.errors import ReplayError, SgfError
from node.exchange.record import GameRecord
from node.exchange.replay import play_record, record_rules
from node.exchange.sgf_reader import parse_collection, parse_record
from tests.cases.case import KO, PLAYERS, Case, load_cases, result_text
from tests.cases.conftest import CUT, DEFAULT, KIND
from tests.cases.gtp_case import check_gtp_issue, run_gtp
from tests.cases.model_case import run_model
from tests.native.blocks import game_block

MOST_LEAVES = 50_000_000  # a count above this takes too long for a test
MOST_POINTS = 20  # of boards whose colourings the engine counts


def run_legality(case: Case) -> None:
    game, expected = case.replayed(), case.expected
    assert case.picture(game.stones()) == expected["board_rows"]
    check_captured(game, case)
    assert game.to_move == PLAYERS[expected["to_move"]]
    for probe in expected.get("probes", []):
        colour, move = case.move_of(probe["move"])
        assert game.check(move, colour) == probe.get("reason"), probe
        assert (game.check(move, colour) is None) == probe["legal"], probe
    legal = game.legal()
    assert sum(legal[:-1]) == expected["legal_point_count"]
    if "legal_points_for_side_to_move" in expected:
        wanted = {case.point_of(vertex) for vertex in expected["legal_points_for_side_to_move"]}
        assert {point for point in range(game.pass_move) if legal[point]} == wanted


def run_score(case: Case) -> None:
    game, expected = case.replayed(), case.expected
    assert case.picture(game.stones()) == expected["final_rows"]
    check_captured(game, case)
    check_result(game, case, expected)
    assert (game.end == End.PASSES) == expected.get("game_over", True)
    assert game.num_moves == expected.get("num_moves", len(case.data["moves"]))
    if case.data["rules"]["scoring"] == "area":
        cleaned = case.replayed(pass_alive=True)
        check_result(cleaned, case, expected.get("with_pass_alive_cleanup", expected))


def check_captured(game: Game, case: Case) -> None:
    assert game.captured(Colour.BLACK) == case.expected["captured_black"]
    assert game.captured(Colour.WHITE) == case.expected["captured_white"]


def check_result(game: Game, case: Case, expected: dict[str, Any]) -> None:
    owner, stones = game.owner(), game.stones()
    assert game.score_half() == 2 * expected["score_black_minus_white"]
    assert result_text(game.score_half()) == expected["result"]
    if "owner_rows" in expected:
        assert case.picture(owner) == expected["owner_rows"]
    for name, colour in (("black", Colour.BLACK), ("white", Colour.WHITE)):
        if f"{name}_area" in expected:
            assert owner.count(colour) == expected[f"{name}_area"]
        if f"{name}_territory" in expected:
            eyes = [p for p, own in enumerate(owner) if own == colour and stones[p] == Colour.EMPTY]
            assert len(eyes) == expected[f"{name}_territory"]


def run_count(case: Case, request: pytest.FixtureRequest) -> None:
    positions = case.expected.get("legal_positions")
    if positions is not None:
        if case.rows * case.cols > MOST_POINTS:
            pytest.skip(f"colourings of more than {MOST_POINTS} points are not counted")
        assert count_positions(case.rows, case.cols) == positions
        return
    for depth, sequences in case.expected["sequences_by_length"].items():
        if sequences > MOST_LEAVES:
            request.node.user_properties.append((CUT, f"depths with more than {MOST_LEAVES} sequences were left out"))
            continue
        assert count_sequences(case.start(), int(depth)) == sequences, depth


# ---- cases from bug reports ------------------------------------------------------------------------------------


def run_issue(case: Case, folder: Path, scratch: Path) -> None:
    subkind = case.data["subkind"]
    if subkind == "gtp":
        check_gtp_issue(case)
    elif subkind == "model":
        run_model(case, scratch)
    elif subkind == "legality":
        run_legality(case)
    elif subkind == "score":
        run_issue_score(case, folder)
    elif subkind == "result":
        run_issue_result(case)
    elif subkind in ("sgf", "record"):
        run_issue_record(case)
    else:
        pytest.skip(f"issues of kind {subkind} are unknown here")


def run_issue_score(case: Case, folder: Path) -> None:
    given, expected = case.data["input"], case.expected
    if "moves" in given:
        setup = {"rows": None, "to_move": "B"}
        rules = {"ko": "positional", "suicide": "allowed", "scoring": "area"}
        game = Case(case.id, case.kind, {"rules": rules, "setup": setup, **given}).replayed()
        assert result_text(game.score_half()) == expected["result"]
        assert (game.end == End.PASSES) == expected["game_over"]
        return
    # The rules here know no button: only the count without it is compared.
    wanted = expected.get("results", [expected.get("result_without_button")])
    games = {other.id: other for other in load_cases(folder)}
    records = given.get("records", [given.get("record")])
    assert [result_text(games[name].replayed().score_half()) for name in records] == wanted


def run_issue_result(case: Case) -> None:
    """A block that claims a draw where komi allows none is not accepted."""
    given = case.data["input"]
    rules = Rules(5, 5, round(2 * given["komi"]), ko=KO[given["rules"]["ko"]])
    assert given["claimed_result"] == "0"
    assert not case.expected["accept"]
    check_block(rules, game_block(rules, [12, 25, 25]))
    with pytest.raises(BlockError):
        check_block(rules, game_block(rules, [12, 25, 25], score_half=0))


def run_issue_record(case: Case) -> None:
    expected = case.expected
    game = parse_collection(case.data["input"]["sgf"].encode())[0]
    record = game.record({"second variation": 1}[case.data["input"]["path"]] if "path" in case.data["input"] else 0)
    case = sized(case, record)
    if "rows" in expected:
        assert case.picture(play_record(record, record_rules(record)).stones()) == expected["rows"]
    elif "final_rows" in expected:
        played = play_record(record, record_rules(record))
        assert case.picture(played.stones()) == expected["final_rows"]
        assert played.captured(Colour.WHITE) == expected["captured_white"]
        with pytest.raises(ReplayError) as stopped:
            play_record(record, replace(record_rules(record), suicide=False))
        assert stopped.value.move == expected["illegal_when_suicide_forbidden"]
    else:
        with pytest.raises(ReplayError, match=f"illegal: {expected['reason']}\\.") as stopped:
            play_record(record, replace(record_rules(record), ko=Ko.SIMPLE))
        assert stopped.value.move == expected["first_illegal_move"]


# ---- SGF texts -------------------------------------------------------------------------------------------------

OTHER_ANSWERS = {"S-sui": "clear error: setup stone without liberty"}
"""Where we give one of the case's alternatives, by its words there."""

SETUP_LEFT_OUT = {"S-ae"}
"""Cases that do not list the setup of their root."""


def run_sgf(case: Case) -> None:
    expected = case.expected
    data = base64.b64decode(case.data["sgf_base64"])
    if "sgf" in case.data:
        assert data == case.data["sgf"].encode("ascii")
    if expected["parse"] == "error" or case.id in OTHER_ANSWERS:
        assert expected["parse"] == "error" or OTHER_ANSWERS[case.id] in case.data["alternatives"]
        with pytest.raises((SgfError, ReplayError), match=r"\.$"):
            play_record(parse_record(data), record_rules(parse_record(data)))
        return
    games = parse_collection(data)
    record = games[0].record()
    case = sized(case, record)
    start = record.start
    assert len(games) == expected["games"]
    assert games[0].variations == expected.get("variations", games[0].variations)
    assert [record.cols, record.rows] == expected["size"]
    assert record.komi_half == (None if expected["komi"] is None else 2 * expected["komi"])
    assert record.handicap == expected["handicap"]
    if case.id not in SETUP_LEFT_OUT:
        assert set(start.black) == {case.point_of(vertex) for vertex in expected["setup_black"]}
        assert set(start.white) == {case.point_of(vertex) for vertex in expected["setup_white"]}
    assert played(record) == [case.move_of(text) for text in expected["moves"]]
    assert record.black == expected.get("player_black", record.black)
    assert record.result == expected.get("result", record.result)
    if "comment" in expected:
        assert start.comment == expected["comment"]
    if "second" in expected:
        second = games[1].record()
        case = sized(case, second)
        assert [second.cols, second.rows] == expected["second"]["size"]
        assert played(second) == [case.move_of(text) for text in expected["second"]["moves"]]
        case = sized(case, record)
    assert case.picture(play_record(record, record_rules(record)).stones()) == expected["final_rows"]


def sized(case: Case, record: GameRecord) -> Case:
    """The case with the board of the record."""
    return Case(case.id, case.kind, {**case.data, "size": [record.cols, record.rows]})


def played(record: GameRecord) -> list[tuple[Colour, int]]:
    return [(move.colour, move.point) for move in record.moves]


# ---- all of them -----------------------------------------------------------------------------------------------


def test_case(case: Case, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    request.node.user_properties.append((KIND, case.kind))
    if case.kind in ("legality", "legality_set"):
        run_legality(case)
    elif case.kind in ("area_score", "territory_score", "game", "record"):
        run_score(case)
    elif case.kind == "count":
        run_count(case, request)
    elif case.kind == "sgf":
        run_sgf(case)
    elif case.kind == "gtp":
        run_gtp(case, tmp_path)
    elif case.kind == "issue":
        run_issue(case, request.config.getoption("--cases", DEFAULT), tmp_path)
    else:
        pytest.skip(f"cases of kind {case.kind} are unknown here")
