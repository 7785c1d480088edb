"""What the benchmarks share: turns, medians, tables, and where the targets find their numbers."""

import json
from pathlib import Path

import pytest

from benchmarks._run import Summary, rounds, show, show_all, table_text
from benchmarks._targets import TARGETS, Tables, Target, cell, engines_beside, largest, total
from benchmarks.all import NAMES, replace_between, short_table


def test_rounds_take_turns() -> None:
    calls: list[str] = []

    def work(name: str) -> int:
        calls.append(name)
        return len(calls)

    found = rounds([lambda: work("a"), lambda: work("b")], 0.0, least=3)
    assert calls == ["a", "b"] * 3
    assert found == [[1, 3, 5], [2, 4, 6]]


def test_a_summary_is_a_median_with_its_spread() -> None:
    assert Summary.of([4.0, 1.0, 2.0]) == Summary(2.0, 1.5)
    assert Summary.of([0.0]) == Summary(0.0, 0.0)


def test_tables() -> None:
    rows = [{"name": "a", "per s": 1234.6}, {"name": "long", "per s": "-"}, {"name": "", "per s": 0.125}]
    assert table_text(rows) == "name  per s\n   a  1,235\nlong      -\n       0.12"


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    show(iter([{"a": 1}]), True)
    show_all({"x": [{"a": 1}], "y": iter([{"b": 2.5}])}, True)
    first, second = capsys.readouterr().out.splitlines()
    assert json.loads(first) == {"rows": [{"a": 1}]}
    assert json.loads(second) == {"x": [{"a": 1}], "y": [{"b": 2.5}]}


TABLES: Tables = {
    "threads and games, b6c96": [{"games in flight": 1, "threads": 2, "to one": 1.9}, {"threads": 1, "to one": "-"}],
    "other": [{"threads": 2, "to one": 7.0}],
}


def test_a_number_is_found_by_title_and_row() -> None:
    assert cell("threads", "to one", threads=2, games_in_flight=1)(TABLES) == 1.9
    assert cell("other", "to one")(TABLES) == 7.0
    assert cell("threads", "to one", threads=1)(TABLES) is None
    assert cell("threads", "to one", threads=3)(TABLES) is None
    assert cell("nothing", "to one")(TABLES) is None


@pytest.mark.parametrize(("goal", "at_most", "reached"), [(1.9, False, "yes"), (2.0, False, "NO"), (1.8, True, "NO")])
def test_a_target_says_whether_it_is_reached(goal: float, at_most: bool, reached: str) -> None:
    target = Target("c", "selfplay", goal, cell("threads", "to one", threads=2), at_most)
    row = target.row({"selfplay": TABLES})
    assert row is not None
    assert (row["measured"], row["reached"]) == (1.9, reached)
    assert target.row({"net": TABLES}) is None


def test_what_cannot_be_measured_is_no_miss() -> None:
    row = Target("c", "net", 1.0, cell("x", "y")).row({"net": {}})
    assert row is not None
    assert (row["measured"], row["reached"]) == ("-", "not measured here")


def test_targets_are_of_benchmarks_that_are_there() -> None:
    assert {target.benchmark for target in TARGETS} <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


def test_a_total_is_over_all_tables_of_a_title() -> None:
    tables: Tables = {"honest a": [{"bad": 0}, {"bad": 2}], "honest b": [{"bad": 1}], "other": [{"bad": 7}]}
    assert total("honest", "bad")(tables) == 3
    assert total("none", "bad")(tables) is None


def test_other_programs_stand_beside_ours() -> None:
    rows = [
        {"engine": "vnni", "evaluations/s": 2600.0, "of peak": 0.9},
        {"engine": "torch", "evaluations/s": 520.4, "of peak": "-"},
    ]
    tables: Tables = {"b6c96 9x9 batch 8": rows}
    assert engines_beside("b6c96 9x9")(tables) == "torch 520"
    assert largest("b6c96", "evaluations/s")(tables) == 2600.0
    assert largest("none", "MB")(tables) is None
    first = short_table({"net": tables}).splitlines()[2]
    assert first.startswith("| evaluations/s, b6c96 at 9x9, VNNI | 2,600 | at least 2,600 | torch 520; before: KataGo")


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<b>\nold\n<e>\nz\n", encoding="utf-8")
    replace_between(page, "<b>\n", "<e>\n", "new\n")
    assert page.read_text(encoding="utf-8") == "a\n<b>\nnew\n<e>\nz\n"
    replace_between(page, "<e>\n", "", "tail\n")
    assert page.read_text(encoding="utf-8") == "a\n<b>\nnew\n<e>\ntail\n"
    with pytest.raises(SystemExit, match="mark"):
        replace_between(page, "<b>\n", "<x>\n", "")
