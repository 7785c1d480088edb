"""The server: its commands, what a failure leaves as it was, and analyses that end with the next input."""

import json
from pathlib import Path

import pytest

from native.rules import Colour, Rules
from node.gtp.server import COMMANDS
from node.gtp.session import Limits, Session
from node.play.player import RandomPlayer
from tests.node.gtp.dialogue import VISITS, ask, dialogue, small_session, verify_form
from tests.node.play.players import small_network, small_searcher


def test_all_commands_are_known() -> None:
    (answer,) = dialogue("list_commands\n")
    assert answer.removeprefix("= ").split("\n") == list(COMMANDS)
    required = "protocol_version name version known_command list_commands quit boardsize clear_board komi play genmove"
    assert set(required.split()) <= set(COMMANDS)
    answers = dialogue("".join(f"known_command {name}\n" for name in COMMANDS))
    assert set(answers) == {"= true"}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"quit"}))
def test_every_command_answers_nonsense(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where `printsgf` writes
    session = small_session(size=7)
    for arguments in ("", "x", "b", "b q99", "b x y z", "1 2 3", "-1", "9999999999999999", "nan inf"):
        for answer in ask(session, f"{name} {arguments}", "7 name"):
            verify_form(answer)


def test_a_game() -> None:
    session = small_session(size=7)
    assert ask(session, "komi 0", "play b d4", "genmove w", "genmove w")[:2] == ["= ", "= "]
    assert len(session.table.moves) == 3
    assert ask(session, "reg_genmove b")[0].startswith("= ")
    assert len(session.table.moves) == 3
    assert ask(session, "undo", "undo", "undo", "undo") == ["= ", "= ", "= ", "? cannot undo"]


@pytest.mark.parametrize("first", ["boardsize 9", "genmove b"])
def test_a_board_that_was_not_learned_on_is_said_once(first: str, capsys: pytest.CaptureFixture[str]) -> None:
    rules = Rules(9, 9, 15, pass_alive=True, settled_end=True)
    session = Session(small_searcher(small_network()), rules, Limits(VISITS), sizes={5, 7})
    ask(session, "boardsize 7", "genmove b", "clear_board")
    assert capsys.readouterr().err == ""
    session = Session(small_searcher(small_network()), rules, Limits(VISITS), sizes={5, 7})
    ask(session, first, "clear_board", "boardsize 13", "genmove b")
    assert capsys.readouterr().err.count(" learned on 5x5, 7x7; on 9x9 it plays") == 1
    ask(small_session(), "boardsize 9", "genmove b")
    assert "learned on" not in capsys.readouterr().err


def test_a_seed_repeats_a_game() -> None:
    lines = ["set_random_seed 5", "boardsize 7", *("genmove b", "genmove w") * 4]
    first, second, other = (ask(small_session(), *each) for each in (lines, lines, ["set_random_seed 6", *lines[1:]]))
    assert first == second
    assert first != other


def test_a_settled_board_is_passed_on() -> None:
    session = small_session(size=2)
    assert ask(session, "boardsize 3", "play b b1", "play b b2", "play b b3", "genmove w")[-1] == "= pass"
    assert ask(session, "final_score", "komi 0", "final_score") == ["= B+1.5", "= ", "= B+9.0"]


def test_dead_stones_in_pass_alive_territory() -> None:
    session = small_session(size=5)
    stones = [f"play b {v}" for v in ("b5", "b4", "b3", "b2", "b1", "d5", "d4", "d3", "d2", "d1", "a3", "e3", "c3")]
    ask(session, *stones, "play w a5")
    assert ask(session, "final_status_list dead", "final_status_list seki") == ["= A5", "= "]
    assert ask(session, "final_status_list alive")[0].count(" ") == 13


def test_rules() -> None:
    session = small_session(size=7)
    told = json.loads(ask(session, "kata-get-rules")[0].removeprefix("= "))
    assert (told["ko"], told["scoring"], told["suicide"]) == ("POSITIONAL", "AREA", True)
    assert ask(session, "kata-set-rules japanese", "kata-set-rule ko SITUATIONAL", "kgs-rules nonsense")[:2] == [
        "= ",
        "= ",
    ]
    told = json.loads(ask(session, "kata-get-rules")[0].removeprefix("= "))
    assert (told["ko"], told["scoring"], told["suicide"]) == ("SITUATIONAL", "TERRITORY", False)
    assert ask(session, f"kata-set-rules {json.dumps(told | {'ko': 'SIMPLE'})}") == ["= "]
    assert ask(session, 'kata-set-rules {"tax": "ALL"}', 'kata-set-rules {"x": 1}', "kata-set-rules [") == [
        '? The rule tax is always "NONE" here.',
        "? There is no rule 'x' here.",
        "? No rules are known here as '['.",
    ]
    for strange in ('{"ko": []}', '{"scoring": {}}', '{"suicide": [[]]}', '{"tax": [1]}'):
        assert ask(session, f"kata-set-rules {strange}")[0].startswith("? The rule "), strange
    assert session.table.rules.pass_alive is False
    assert set(ask(session, *(f"kata-set-rules {each}" for each in ("new-zealand", "chinese-kgs", "AGA")))) == {"= "}
    ask(session, "kata-set-rules tromp-taylor")
    assert session.table.rules.pass_alive


def test_rules_that_forbid_what_was_played() -> None:
    session = small_session(size=7)
    stones = ["play w b1", "play w b2", "play b a1", "play w a3", "play b a2"]
    assert ask(session, *stones)[-1] == "= ", "suicide of two stones is legal by the run's rules"
    assert ask(session, "kata-set-rules chinese")[0].startswith("? Move 5 is illegal by these rules: suicide")
    assert session.table.rules.suicide


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "a game.sgf"
    session = small_session(size=9)
    lines = ["komi 5.5", "set_free_handicap c3 g7", "play w e5", "play b pass"]
    (path.parent / "kept.sgf").write_bytes(b"before")
    path.symlink_to(path.parent / "kept.sgf")
    assert ask(session, *lines, f"printsgf {path}")[-1] == "= "
    assert path.is_symlink(), "what a link leads to is replaced"
    other = small_session()
    assert ask(other, f"loadsgf {path}", "get_komi", "undo", "undo", "undo") == [
        "= white",
        "= 5.5",
        "= ",
        "= ",
        "? cannot undo",
    ]
    assert ask(other, f"loadsgf {path} 2", "play w e5", "printsgf")[:2] == ["= black", "? illegal move"]
    assert ask(other, "loadsgf /nonsense")[0] == "? cannot load file (No such file or directory)"
    assert ask(other, f"loadsgf {'x' * 5000} 3")[0] == "? cannot load file (File name too long)"
    assert other.table.rules.rows == 9


def test_loaded_setups_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "setup.sgf"
    path.write_text("(;SZ[7]RU[Japanese];B[aa];W[cc];AB[gg]AE[aa]PL[W];W[dd])")
    session = small_session()
    assert ask(session, f"loadsgf {path}", "play b a7", "play b g1")[1:] == ["= ", "? illegal move"]
    assert ask(session, "undo", "undo", "undo") == ["= ", "= ", "? cannot undo"]
    assert session.to_move().name == "WHITE"


def test_analyses() -> None:
    session = small_session(size=7)
    for name in ("lz-analyze", "kata-analyze"):
        (answer,) = ask(session, f"{name} w 1 maxmoves 2 rootInfo true ownership true pvVisits true avoid w d4 1")
        head, first, *_ = answer.split("\n")
        assert head == "="
        words = first.split()
        assert words.count("info") == 2
        assert words[words.index("move") + 1] != "D4"
        assert words[words.index("pv") + 1] == words[words.index("move") + 1]
        if name == "kata-analyze":
            assert len(words) - words.index("ownership") == 50
            assert "rootInfo currentPlayer W visits" in first
    assert not session.table.moves


def test_a_move_with_its_analysis() -> None:
    session = small_session(size=7)
    for name, colour in (("lz-genmove_analyze", "b"), ("kata-genmove_analyze", "w")):
        (answer,) = ask(session, f"9 {name} {colour} 10")
        head, told, played = answer.split("\n")
        assert head == "=9"
        assert told.split()[:3] == ["info", "move", played.removeprefix("play ")]
    assert len(session.table.moves) == 2


def test_what_a_network_alone_says() -> None:
    session = small_session(size=7)
    (answer,) = ask(session, "kata-raw-nn all")
    assert answer.count("symmetry ") == 8
    lines = answer.removeprefix("= ").split("\n")[:22]
    shares = [float(word) for line in lines[6:13] for word in line.split()]
    assert len(shares) == 49
    assert abs(sum(shares) + float(lines[13].removeprefix("policyPass ")) - 1) < 1e-4


def test_random_moves_show_nothing() -> None:
    session = small_session(RandomPlayer(), 7)
    assert ask(session, "genmove b", "boardsize 5 7", "genmove w")[1] == "= "
    assert ask(session, "lz-analyze b 10")[0] == "? The player random searches nothing, so there is nothing to show."
    session = small_session(small_searcher(), 5)
    assert ask(session, "kata-analyze b 10 ownership true")[0].startswith("=\ninfo")


def test_cleaning_up_plays_on_where_no_area_decides() -> None:
    """White passed and is behind, so a pass wins; but White's stones still lie on the board, in nobody's safe area."""
    session = small_session(small_searcher(), 4)
    session.limits = Limits(400)
    ask(session, "komi 0.5", "play b b2", "play w d4", "play b c2", "play w a4", "play b b3", "play w pass")
    chosen, cleaned = ask(session, "reg_genmove b", "kgs-genmove_cleanup b")
    assert chosen == "= pass"
    assert cleaned != "= pass"
    verify_form(cleaned)
    assert ask(session, "clear_board", "play b b2", "play w pass", "kgs-genmove_cleanup b")[-1] == "= pass", (
        "all is clean"
    )


def test_time_settings_bound_a_move() -> None:
    session = small_session(size=7)
    session.limits = Limits(usual=60_000)
    assert ask(session, "time_settings 0 1 1", "genmove b", "time_left w 0 1")[::2] == ["= ", "= "]
    hurried = session.choose(Colour.WHITE).ply
    assert hurried is not None
    assert sum(hurried.visits) < 6_000, "of 60,000 that it has without a clock"
    assert ask(session, "kgs-time_settings byoyomi 0 1 3", "kgs-time_settings nonsense")[0] == "= "


def test_kinds_of_time() -> None:
    session = small_session(RandomPlayer(), 7)
    kinds = ask(session, "kata-list_time_settings")[0].removeprefix("= ").split()
    values = {"none": "", "absolute": "30", "byoyomi": "60 5.5 3", "canadian": "60 30 5", "fischer": "60 2.5"}
    for kind in kinds:
        told = f"kata-time_settings {kind} {values.get(kind, '60 2.5 -1 10')}"
        assert ask(session, told)[0] == "= ", kind
        settings = session.clock.settings
        assert settings.is_unlimited == (kind == "none")
        assert ask(session, "genmove b", "time_left b 20 0")[1] == "= "
    assert (settings.main_s, settings.increment_s, settings.most_s, settings.move_s) == (60, 2.5, None, 10)
    assert ask(
        session,
        "kgs-time_settings fischer 60 2",
        "kata-time_settings fischer-capped 60 2 30 -1",
        "kata-time_settings fischer 60",
        "kata-time_settings absolute -1",
    ) == [
        "? The kind of time is none, absolute, byoyomi or canadian, not 'fischer'.",
        "? The clock cannot hold less than its main time.",
        "? An argument is missing: the increment.",
        "? Main time is a number that is not below 0, not '-1'.",
    ]
    assert session.clock.settings is settings, "what failed changed nothing"


def test_processor_time_grows() -> None:
    session = small_session(RandomPlayer(), 7)
    first, second = (float(each.removeprefix("= ")) for each in ask(session, "cputime", "gomill-cpu_time"))
    assert 0 < first <= second
