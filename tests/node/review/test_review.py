"""Reviews of records: the same each time, whole records of any kind, and what they are written as."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from native.rules import Rules
from node.exchange.errors import ReplayError
from node.exchange.sgf_reader import parse_record
from node.review.review import Review, review
from node.review.written import review_json, review_sgf, review_svg, review_table
from tests.node.cli.gonode import gonode, the_object
from tests.node.play.players import network_file, small_network, small_searcher

GAME = b"(;SZ[5]KM[9]C[hello];B[bb];W[cc];B[bc]C[there];AW[aa];W[cd];W[dd];B[];W[])"
HOUSE = Rules(19, 19, 15, pass_alive=True, settled_end=True)


def reviewed(data: bytes = GAME, visits: int = 12) -> Review:
    """By the small network."""
    return review(parse_record(data), small_searcher(small_network()), HOUSE, visits)


def test_the_same_each_time() -> None:
    told: list[int] = []
    found = review(parse_record(GAME), small_searcher(small_network()), HOUSE, 12, told.append)
    assert found == reviewed()
    assert told == list(range(1, 10))
    assert len(found.opinions) == 9
    assert all(0 <= each.black.winrate <= 1 for each in found.opinions)


def test_a_game_that_is_over_is_counted() -> None:
    found = reviewed()
    assert found.opinions[-1].line == ()
    assert found.opinions[-1].black.winrate in (0.0, 1.0)
    assert found.loss(3) is None, "a setup costs nobody anything"
    white = found.loss(7)
    assert white is not None
    assert white.winrate == pytest.approx(found.opinions[8].black.winrate - found.opinions[7].black.winrate)


def test_comments_come_after_what_is_there() -> None:
    record = parse_record(review_sgf(reviewed()))
    before = parse_record(GAME)
    assert record.start.comment.startswith("hello\nBlack: win rate ")
    assert [node.comment.split("\n")[0] for node in (record.nodes[2],)] == ["there"]
    assert all("win rate" in node.comment for node in record.nodes)
    assert [(move.colour, move.point) for move in record.moves] == [(move.colour, move.point) for move in before.moves]
    assert review_sgf(reviewed()).count(b"SBKV[") == 9


def test_table_and_graph() -> None:
    found = reviewed()
    assert review_table(found).split("\n")[2].startswith("   1  B B4  ")
    drawn = ElementTree.fromstring(review_svg(found))
    lines = [each for each in drawn if each.tag.endswith("polyline")]
    assert [len(each.attrib["points"].split()) for each in lines] == [9, 9]
    positions = review_json(found, "small")["positions"]
    assert [each["move"] for each in positions[:4]] == [None, "B4", "C3", "B3"]
    assert positions[4]["colour"] is None


def test_records_without_moves_and_of_other_shapes() -> None:
    assert len(reviewed(b"(;SZ[3])").opinions) == 1
    assert review_svg(reviewed(b"(;SZ[3])"))
    with pytest.raises(ReplayError, match="square boards only"):
        reviewed(b"(;SZ[5:7])")
    assert review(parse_record(b"(;SZ[5:7];B[aa])"), small_searcher(), HOUSE, 4).opinions[1].line
    with pytest.raises(ReplayError, match="Move 2"):
        reviewed(b"(;SZ[5];B[aa];W[aa])")


def test_the_command(tmp_path: Path) -> None:
    game, out, graph = tmp_path / "game.sgf", tmp_path / "said.sgf", tmp_path / "said.svg"
    game.write_bytes(GAME)
    words = (network_file(tmp_path), "--dir", tmp_path / "none", "--visits", 4)
    answer = gonode("analyze", game, *words, "--out", out, "--graph", graph, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = the_object(answer)
    assert (found["player"], found["visits"], len(found["positions"])) == ("small.net", 4, 9)
    assert json.dumps(found)
    assert parse_record(out.read_bytes()).moves
    assert graph.read_text().startswith("<svg")
    assert "game.sgf" in gonode("analyze", tmp_path / "no" / "game.sgf", *words).refusal()
    (tmp_path / "bad.sgf").write_text("no game")
    gonode("analyze", tmp_path / "bad.sgf", *words).refusal()
    assert "random moves" in gonode("analyze", game, "random").refusal()
