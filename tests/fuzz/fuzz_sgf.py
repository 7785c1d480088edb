"""Feeds SGF texts with faults to the reader: `python -m tests.fuzz.fuzz_sgf SECONDS [SEED]`.

Starts from the SGF cases and from records written here, changes bytes, and changes tokens so that the text stays SGF.
Nothing but SgfError may escape the reader, and nothing but ReplayError a replay, each with one sentence and soon. What is
read must read back equal when it is written. A failure prints the seed and the input.
"""

import base64
import json
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

from native.rules import Colour
from node.exchange.errors import ReplayError, SgfError
from node.exchange.record import GameRecord, Move, Setup
from node.exchange.replay import play_record, record_rules
from node.exchange.sgf_reader import parse_collection, parse_record
from node.exchange.sgf_writer import encode_sgf
from tests.fuzz.command import run_command
from tests.fuzz.mutation import MAX_BYTES, mutate

CASES = Path(__file__).parents[1] / "cases" / "rules" / "sgf.json"
MOST_LINES = 3
MOST_CPU_S = 5.0

TOKEN = re.compile(rb"\[(?:[^\]\\]|\\.)*\]|[A-Za-z]+|.", re.DOTALL)
NAMES = b"B W AB AW AE PL C SZ KM HA RU RE PB PW GM FF CA AP TB LB KoMi AddBlack X".split()
VALUES = (
    b" tt aa cc gg sa ss tu AA a aaa aa:cc cc:aa aa:ss : aa: 9 19 5:9 1 0 -1 20 52 6.5 375 3.75 1e9 nan 0.25 32768 "
    b"UTF-8 GBK Big5 Shift_JIS latin1 zlib \\] \\\\ \\a ( ) ; [ \xe9 \xff\xfe \x00 \xe6\xa3\x8b B W b 2 Japanese "
    b"koSIMPLEscoreAREAtaxNONEsui1 B+R W+0.5 Draw gonode foxwq"
).split(b" ")


def seeds() -> list[bytes]:
    """The SGF cases that are short, and records with all that a record may have."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    texts = [base64.b64decode(case["sgf_base64"]) for case in cases]
    setup = Setup(black=(3, 4), white=(5,), empty=(6,), to_move=Colour.WHITE, comment="a]\\b")
    nodes = (Move(Colour.BLACK, 3), setup, Move(Colour.WHITE, 40, "棋"), Move(Colour.BLACK, 81), Setup(comment="end"))
    record = GameRecord(9, 9, 13, 2, "Chinese", "a", "b", "B+R", Setup(black=(20, 24)), nodes)
    moves = tuple(Move(Colour(1 + n % 2), n) for n in range(361))
    return [
        *(text for text in texts if len(text) < 2000),
        encode_sgf(record),
        encode_sgf(GameRecord(19, 19, nodes=moves)),
    ]


def mutate_tokens(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` after one to four changes of its names, values and brackets; tokens of `other` are put in by one of them."""
    tokens = TOKEN.findall(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(tokens) + 1)
        end = min(len(tokens), at + rng.randint(1, 6))
        match rng.randrange(8):
            case 0:
                tokens[at:at] = [rng.choice(NAMES), b"[" + rng.choice(VALUES) + b"]"]
            case 1:
                tokens[at:at] = [b"[" + rng.choice(VALUES) + b"]"]
            case 2:
                del tokens[at:end]
            case 3:
                tokens[at:at] = tokens[at:end] * rng.choice((1, 2, 20))
            case 4:
                tokens[at:end] = [b"(;", *tokens[at:end], b")"]
            case 5:
                found = TOKEN.findall(other)
                start = rng.randrange(len(found) + 1)
                tokens[at:at] = found[start : start + rng.randint(1, 20)]
            case 6 if tokens:
                spots = [n for n, token in enumerate(tokens) if token.startswith(b"[")]
                if spots:
                    tokens[rng.choice(spots)] = b"[" + rng.choice(VALUES) + b"]"
            case _:
                tokens[at:at] = [rng.choice((b"(", b")", b";", b"(;", b"\n", b" "))]
    return b"".join(tokens)[:MAX_BYTES]


def judge(data: bytes) -> list[str]:
    """What became of each line that was looked at; raises what should not have escaped."""
    begin = time.process_time()
    found = []
    try:
        for game in parse_collection(data)[:MOST_LINES]:
            for line in range(min(MOST_LINES, game.variations)):
                record = game.record(line)
                if parse_record(encode_sgf(record)) != record:
                    raise AssertionError("a record does not read back equal")
                found.append(_play(record))
    except SgfError as error:
        _verify_sentence(error)
        found.append("refused")
    if time.process_time() - begin > MOST_CPU_S:
        raise AssertionError("it took too long")
    return found


def _play(record: GameRecord) -> str:
    try:
        play_record(record, record_rules(record))
    except ReplayError as error:
        _verify_sentence(error)
        return "stopped"
    return "played"


def _verify_sentence(error: Exception) -> None:
    text = str(error)
    if not text.endswith(".") or "\n" in text or len(text) > 300:
        raise AssertionError("an error without a plain sentence") from error


def fuzz(seconds: float, seed: int) -> Counter[str]:
    """Runs for `seconds`; returns how many lines were played, stopped at a fault, or refused."""
    rng = random.Random(seed)
    texts = seeds()
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        change = rng.choice((mutate, mutate_tokens, mutate_tokens))
        data = change(rng, rng.choice(texts), rng.choice(texts))
        try:
            counts.update(judge(data))
        except BaseException:
            print(f"fuzz_sgf failed; seed {seed}; input {data.hex()}", file=sys.stderr)
            raise
    return counts


if __name__ == "__main__":
    run_command("fuzz_sgf", fuzz)
