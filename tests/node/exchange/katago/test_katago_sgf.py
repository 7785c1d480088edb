"""Games in the form of KataGo's self-play: what we write, and what its writer makes, read here."""

import re
from pathlib import Path

import pytest

from native.rules import Colour, Ko, Scoring
from node.disk.home import Home
from node.exchange.katago.names import model_name
from node.exchange.katago.rows import game_hash
from node.exchange.katago.sgf import katago_sgf
from node.exchange.record import Setup
from node.exchange.replay import play_record, record_rules
from node.exchange.rule_names import NamedRules, parse_rules
from node.exchange.sgf_reader import parse_collection, parse_record
from node.web.games.played import MoveLine, SearchLine
from node.web.queries.game import BatchName, GameAnswer, Person, ReleaseName, Side
from protocol.batch import game_leaf, unpack_batch
from protocol.game_block import KIND_FULL, SCORE_ONE, VALUE_ONE
from protocol.merkle import leaf_hash
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import grown_world, make_home

GAME = re.compile(
    r"\(;FF\[4\]GM\[1\]SZ\[7\]PB\[(?P<black>[^]]+)\]PW\[(?P=black)\]HA\[0\]KM\[(?P<komi>[0-9.]+)\]"
    r"RU\[koPOSITIONALscoreAREAtaxNONEsui1\]RE\[(?P<result>[^]]+)\]"
    r"C\[startTurnIdx=(?P<start>\d+),initTurnNum=0,gameHash=(?P<hash>[0-9A-F]{32}),gtype=normal\]"
    r"(?P<moves>(?:;[BW]\[[a-g]{0,2}\](?:C\[[^]]*\])?)+)\)\n"
)
MOVE = re.compile(r";([BW])\[([a-g]{0,2})\](?:C\[([^]]*)\])?")
SEARCH = re.compile(
    r"(?P<win>\d\.\d\d) (?P<loss>\d\.\d\d) 0\.00 (?P<score>-?\d+\.\d) v=(?P<visits>\d+) weight=(?P<weight>[01]\.00)"
    r"(?: result=(?P<result>\S+))?"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A coordinator's directory; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


def test_a_game_that_was_made_by_hand() -> None:
    """Every part of the form: an opening without comments, a full and a fast search, the result with the last move."""
    side = Side("first", 0, None, None)
    full = SearchLine("full", (0,) * 8 + (90, 9), (0,) * 8 + (60000, 5535), 0.625, 1.26)
    fast = SearchLine("fast", (20,) + (0,) * 9, None, 0.25, -3.0)
    moves = (
        MoveLine(4, "black", (), None),
        MoveLine(8, "white", (), full),
        MoveLine(9, "black", (), fast),
    )
    game = GameAnswer(
        hash=bytes(range(32)),
        kind="training",
        batch=BatchName(1, bytes(32), bytes(32)),
        number=0,
        counter=0,
        release=ReleaseName(0, None, "first"),
        black=side,
        white=side,
        contributor=Person(bytes(32), "ada", True),
        fate="verified",
        size=3,
        komi=-1.5,
        rules="NZ",
        end="passes",
        result="W+8.5",
        opening_moves=1,
        unix_s=None,
        fault="",
        moves=moves,
        ownership=(0,) * 9,
    )
    assert katago_sgf(game).decode() == (
        "(;FF[4]GM[1]SZ[3]PB[random]PW[random]HA[0]KM[-1.5]RU[koSITUATIONALscoreAREAtaxNONEsui1]RE[W+8.5]"
        "C[startTurnIdx=1,initTurnNum=0,gameHash=0F0E0D0C0B0A09080706050403020100,gtype=normal]"
        ";B[bb];W[cc]C[0.38 0.62 0.00 -1.3 v=100 weight=1.00];B[]C[0.75 0.25 0.00 3.0 v=21 weight=0.00 result=W+8.5])\n"
    )


def test_games_of_a_run(home: Home, tmp_path: Path) -> None:
    """Each is a line of KataGo's form whose numbers are the game's; all together are a file that is read as games again."""
    words = ("export", "sgf", "--dir", home.directory, "--comments", "katago", "--out", tmp_path / "games", "--json")
    found = the_object(gonode(*words))
    world, lines, searches = grown_world(), {}, 0
    for each in found["files"]:
        parts = GAME.fullmatch(Path(each["path"]).read_text("ascii"))
        assert parts is not None
        lines[parts["hash"]] = parts
    for batch in world.state.batches.released:
        release = world.state.release_by_id(batch.header.release)
        assert release is not None
        for block in unpack_batch(world.blobs[batch.header.blob_digest], batch.header.raw_len).games:
            parts = lines.pop(game_hash(leaf_hash(game_leaf(block))))
            header, moves = block.header, MOVE.findall(parts["moves"])
            assert (parts["black"], parts["result"]) == (model_name(release.name), header.outcome)
            assert (float(parts["komi"]), int(parts["start"])) == (header.komi_half / 2, header.opening_moves)
            assert len(moves) == header.moves
            for ply, (colour, _, comment) in enumerate(moves):
                search = SEARCH.fullmatch(comment)
                assert (search is None) == (ply not in block.plies)
                if search is None:
                    continue
                searches += 1
                white = 1 if colour == "W" else -1
                assert float(search["win"]) == pytest.approx((1 + white * block.value(ply) / VALUE_ONE) / 2, abs=0.0051)
                assert float(search["win"]) + float(search["loss"]) == pytest.approx(1, abs=0.011)
                assert float(search["score"]) == pytest.approx(white * block.score(ply) / SCORE_ONE, abs=0.0551)
                assert int(search["visits"]) == sum(block.visits(ply)) + 1
                is_full = block.kinds[ply - header.opening_moves] == KIND_FULL
                assert search["weight"] == ("1.00" if is_full else "0.00")
                assert search["result"] == (header.outcome if ply == header.moves - 1 else None)
    assert not lines
    assert searches > 100
    together = b"".join(Path(each["path"]).read_bytes() for each in found["files"])
    assert len(parse_collection(together)) == found["games"]


SELF_PLAY = (
    "(;FF[4]GM[1]SZ[9]PB[kata1-b6c96-s1234-d5678]PW[kata1-b6c96-s1234-d5678]HA[0]KM[{komi}]RU[{rules}]RE[{result}]"
    "C[startTurnIdx=2,initTurnNum=0,gameHash=00112233445566778899AABBCCDDEEFF,gtype=normal,newNeuralNetTurn7=kata1-b6c96-s2000-d9000]"
    ";B[ee];W[eg];B[gf]C[0.41 0.59 0.00 -2.4 v=600 weight=1.00];W[]C[0.40 0.60 0.00 -2.6 v=100 rv=900 weight=0.12]"
    ";B[]C[0.39 0.61 0.00 -2.9 v=120 weight=0.00 result={result}])"
)
"""As KataGo's writer makes it, with all that it may add; the words are ours."""


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("koPOSITIONALscoreAREAtaxNONEsui1", NamedRules(Ko.POSITIONAL, True, Scoring.AREA)),
        ("koSITUATIONALscoreAREAtaxNONEsui0", NamedRules(Ko.SITUATIONAL, False, Scoring.AREA)),
        ("koSIMPLEscoreAREAtaxNONEsui0whb0fpok1", NamedRules(Ko.SIMPLE, False, Scoring.AREA)),
        ("koSIMPLEscoreAREAtaxNONEsui0fpok0", NamedRules(Ko.SIMPLE, False, Scoring.AREA)),
        ("koSIMPLEscoreTERRITORYtaxSEKIsui0", NamedRules(Ko.SIMPLE, False, Scoring.TERRITORY)),
        ("koPOSITIONALscoreAREAtaxNONEsui1button1", None),
        ("koSIMPLEscoreAREAtaxNONEsui0whbN-1", None),
        ("koSPIGHTscoreAREAtaxNONEsui1", None),
        ("koPOSITIONALscoreAREAtaxSEKIsui1", None),
        ("koPOSITIONALscoreAREAtaxALLsui0", None),
    ],
)
def test_rules_of_its_records(rules: str, expected: NamedRules | None) -> None:
    """Any is read as a record; those that can be played here are known."""
    record = parse_record(SELF_PLAY.format(komi="6.5", rules=rules, result="B+3.5").encode())
    assert record.rules == rules
    assert parse_rules(record.rules) == expected


@pytest.mark.parametrize(("komi", "half"), [("7", 14), ("6.5", 13), ("0", 0), ("-3.5", -7), ("0.5", 1), ("150", 300)])
def test_komi_of_its_records(komi: str, half: int) -> None:
    rules = "koPOSITIONALscoreAREAtaxNONEsui1"
    assert parse_record(SELF_PLAY.format(komi=komi, rules=rules, result="0").encode()).komi_half == half


@pytest.mark.parametrize("result", ["B+3.5", "W+12", "0", "Void", "W+R", "B+0.5"])
def test_its_records(result: str) -> None:
    rules = "koPOSITIONALscoreAREAtaxNONEsui1"
    record = parse_record(SELF_PLAY.format(komi="7", rules=rules, result=result).encode())
    assert (record.black, record.handicap, record.result) == ("kata1-b6c96-s1234-d5678", 0, result)
    assert record.start.comment.startswith("startTurnIdx=2,initTurnNum=0,gameHash=0011")
    assert [move.comment for move in record.moves[:3]] == ["", "", "0.41 0.59 0.00 -2.4 v=600 weight=1.00"]
    assert record.moves[3].point == 81
    assert play_record(record, record_rules(record)).num_moves == 5


def test_handicap_a_forked_game_and_many_games() -> None:
    """A position of its own at the start, no result where the longest length was reached, several games in one `.sgfs`."""
    fork = (
        "(;FF[4]GM[1]SZ[13]PB[bot]PW[bot]HA[3]KM[0.5]RU[koSIMPLEscoreAREAtaxNONEsui0]AB[dd][jj][jd]AW[gg]"
        "C[startTurnIdx=0,initTurnNum=12,gameHash=FFFFFFFFFFFFFFFF0000000000000000,gtype=handicap,beganInEncorePhase=1,"
        "usedInitialPosition=1,pdaWhite=1.5,bTimeUsed=1.25,wTimeUsed=2];W[dj]C[0.10 0.90 0.00 -20.1 v=50 weight=1.00])"
    )
    games = parse_collection(f"{fork}\n{fork}\n".encode())
    assert len(games) == 2
    record = games[1].record()
    assert (record.handicap, record.result, record.komi_half) == (3, "", 1)
    assert record.start == Setup(black=(42, 48, 126), white=(84,), comment=record.start.comment)
    game = play_record(record, record_rules(record))
    assert game.stones()[9 * 13 + 3] == Colour.WHITE
