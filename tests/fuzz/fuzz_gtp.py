"""Feeds GTP sessions with faults to the server: `python -m tests.fuzz.fuzz_gtp SECONDS [SEED]`.

Starts from the GTP cases and from sessions written here, changes bytes, and changes words so that lines stay commands.
Nothing may escape the server; every line that is a command gets one answer of the right form with its id, in order, and
soon; and afterwards the board still agrees with what was played. A failure prints the seed and the input.
"""

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from native.rules import Colour
from node.gtp import analysis_commands, play_commands
from node.gtp.errors import Failure
from node.gtp.line import parse_line
from node.gtp.server import COMMANDS
from node.gtp.session import Session
from node.play.player import AnyPlayer, RandomPlayer
from tests.fuzz.command import run_command
from tests.fuzz.mutation import MAX_BYTES, mutate
from tests.node.gtp.dialogue import dialogue, small_session, verify_form
from tests.node.play.players import small_network, small_searcher

CASES = Path(__file__).parents[1] / "cases" / "rules" / "gtp.json"
MOST_CPU_S = 30.0
MOST_LINES = 40

_TEXT = (
    "b w black WHITE pass resign a1 d4 D04 j9 t19 z1 aa1 0 1 2 3 5 7 9 13 19 25 -1 6.5 -0.5 375 nan inf 1e9 99999999999 "
    "dead alive seki true false all avoid allow interval minmoves maxmoves rootInfo ownership pvVisits d4,e5 japanese "
    'chinese koSIMPLEscoreAREAtaxNONEsui1 {"ko":"SIMPLE"} {"suicide":1} { absolute byoyomi canadian none ko SIMPLE # \t '
    "\x00 \x7f é 棋 \u2028"
)
WORDS = _TEXT.split(" ")
SESSIONS = (
    "boardsize 5\nclear_board\nkomi 0\nplay b c3\ngenmove w\nundo\ngenmove b\nkata-analyze b 1\nfinal_score\nshowboard\n",
    "boardsize 7\ntime_settings 0 1 5\ntime_left b 1 1\nlz-genmove_analyze b 1\nkgs-genmove_cleanup w\nprintsgf\n",
    "boardsize 3\nplay b b1\nplay b b2\nplay b b3\ngenmove w\nfinal_status_list dead\nplay w a1\nreg_genmove b\n",
    "gogui-setup b a1 w b2\ngogui-setup_player w\ngogui-play_sequence w c3 b c4\nset_random_seed 4\nkata-raw-nn all\n",
)
WRITERS = ("printsgf",)
"""Commands that write where they are told to; only without arguments here."""


def seeds() -> list[bytes]:
    """The dialogues of the cases, and sessions that think."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    return [*(case["input"].encode() + b"\n" for case in cases), *(text.encode() for text in SESSIONS)]


def mutate_words(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` after one to five changes of its words and lines; lines of `other` are put in by one of them."""
    lines = [line.split() for line in data.decode("utf-8", "replace").split("\n")]
    names = sorted(COMMANDS)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(lines))
        match rng.randrange(7):
            case 0:
                lines.insert(at, [rng.choice(names), *rng.choices(WORDS, k=rng.randint(0, 4))])
            case 1 if lines[at]:
                lines[at][rng.randrange(len(lines[at]))] = rng.choice(WORDS)
            case 2:
                lines[at].insert(rng.randrange(len(lines[at]) + 1), rng.choice(WORDS))
            case 3:
                lines[at:at] = [line.split() for line in other.decode("utf-8", "replace").split("\n")]
            case 4:
                lines[at].insert(0, str(rng.choice((0, 7, 2**31 - 1, 2**31))))
            case 5:
                lines[at:at] = [list(line) for line in lines[at : at + 3]] * rng.choice((1, 2, 5))
            case _:
                lines.insert(at, ["play", rng.choice("bw"), rng.choice("abcde") + rng.choice("12345")])
    return "\n".join(" ".join(line) for line in lines).encode()[:MAX_BYTES]


def tame(data: bytes) -> bytes:
    """The first lines, without those that would write a file."""
    kept = []
    for line in data.split(b"\n")[:MOST_LINES]:
        try:
            request = parse_line(line)
        except Failure:
            request = None
        if request is None or request.name not in WRITERS or not request.arguments:
            kept.append(line)
    return b"\n".join(kept) + b"\n"


def expected_ids(data: bytes) -> list[int | None]:
    """The ids of the answers that are due."""
    ids: list[int | None] = []
    for line in data.split(b"\n"):
        try:
            request = parse_line(line)
        except Failure:
            ids.append(None)
            continue
        if request is not None:
            ids.append(request.id)
            if request.name == "quit":
                break
    return ids


def judge(data: bytes, player: AnyPlayer) -> list[str]:
    """What became of each command; raises what should not have escaped."""
    begin = time.process_time()
    session = small_session(player, 9)
    answers = dialogue(data, session)
    ids = expected_ids(data)
    if len(answers) != len(ids):
        raise AssertionError(f"{len(ids)} answers were due, and {len(answers)} came")
    for answer, number in zip(answers, ids, strict=True):
        verify_form(answer)
        if not answer[1:].startswith("" if number is None else str(number)):
            raise AssertionError(f"the answer {answer[:80]!r} has not the id {number}")
    _verify_board(session)
    if time.process_time() - begin > MOST_CPU_S:
        raise AssertionError("it took too long")
    return ["done" if answer.startswith("=") else "refused" for answer in answers]


def _verify_board(session: Session) -> None:
    """What the table holds can be played again."""
    table = session.table
    stones, to_move = table.game.stones(), table.game.to_move
    table.put(table.rules, table.start, table.moves)
    if (table.game.stones(), table.game.to_move) != (stones, to_move):
        raise AssertionError("the table is not what was played on it")
    if to_move not in (Colour.BLACK, Colour.WHITE):
        raise AssertionError("nobody is to move")


def fuzz(seconds: float, seed: int) -> Counter[str]:
    """Runs for `seconds`; returns how many commands were done and refused."""
    rng = random.Random(seed)
    texts = seeds()
    players: tuple[AnyPlayer, ...] = (small_searcher(small_network()), small_searcher(), RandomPlayer())
    analysis_commands.MOST_SEARCH_S = 0.0  # type: ignore[misc]
    play_commands.say = lambda text: None
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.sgf"
        path.write_text("(;SZ[5]KM[0.5];B[cc];W[bb];AB[dd];B[aa])", encoding="utf-8")
        texts.append(f"loadsgf {path}\nundo\nloadsgf {path} 2\ngenmove b\n".encode())
        while time.monotonic() < end:
            change = rng.choice((mutate, mutate_words, mutate_words))
            data = tame(change(rng, rng.choice(texts), rng.choice(texts)))
            try:
                counts.update(judge(data, rng.choice(players)))
            except BaseException:
                print(f"fuzz_gtp failed; seed {seed}; input {data.hex()}", file=sys.stderr)
                raise
    return counts


if __name__ == "__main__":
    run_command("fuzz_gtp", fuzz)
