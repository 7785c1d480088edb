"""Feeds queries with faults to the analysis server: `python -m tests.fuzz.fuzz_analysis SECONDS [SEED]`.

Starts from queries written here, changes bytes, and changes values so that lines stay objects. Nothing may escape the
server; every line of its answers is JSON of one of the protocol's kinds; each position of each query has exactly one last
answer, unless the query is an error; and it does not take long. A failure prints the seed and the input.
"""

import json
import random
import sys
import time
from collections import Counter
from copy import deepcopy
from typing import Any

from node.analysis.errors import LineError
from node.analysis.line import parse_line
from node.play.searcher import Searcher
from tests.fuzz.command import run_command
from tests.fuzz.mutation import MAX_BYTES, mutate
from tests.node.analysis.talk import query, talk_bytes
from tests.node.play.players import small_network, small_searcher

MOST_CPU_S = 30.0
MOST_LINES = 12
MOST_VISITS = 60

MOVES = [["b", "C3"], ["w", "C4"], ["b", "pass"], ["w", "D4"], ["b", "(0,0)"]]
SEEDS: tuple[list[dict[str, Any]], ...] = (
    [query("a", moves=MOVES, analyzeTurns=[0, 3, 5], priorities=[1, -1, 2], maxVisits=20)],
    [query("b", rules="japanese", includeOwnership=True, includePolicy=True, includePVVisits=True, komi=6.5)],
    [
        query("c", maxVisits=50, reportDuringSearchEvery=0.001, overrideSettings={"maxTime": 1, "wideRootNoise": 0.04}),
        {"id": "d", "action": "terminate", "terminateId": "c", "turnNumbers": [0]},
        {"id": "e", "action": "query_version"},
        {"id": "f", "action": "terminate_all"},
    ],
    [query("g", avoidMoves=[{"player": "B", "moves": ["A1", "pass"], "untilDepth": 1}], maxVisits=30)],
    [query("h", allowMoves=[{"player": "W", "moves": ["A1"], "untilDepth": 3}], initialPlayer="w")],
    [query("i", initialStones=[["b", "A1"], ["w", "B2"]], rules={"ko": "SIMPLE", "scoring": "TERRITORY"}, moves=MOVES)],
    [query("j", rules="koSPIGHTscoreAREAtaxALLsui0whbN", whiteHandicapBonus="N-1", initialStones=[["b", "A1"]] * 3)],
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 5, 19, 20, 2**31, 2**62, 2**63, 10**30, 0.5, -0.25, 1e300, 1e-300),
    *(
        "",
        "b",
        "W",
        "pass",
        "A1",
        "E5",
        "F6",
        "T19",
        "(1,1)",
        "(9,9)",
        "chinese",
        "stone_scoring",
        "{}",
        "BLACK",
        "é\ud800",
    ),
    *([], [[]], {}, [0], [-1], [["b", "B1"]], {"ko": "SPIGHT"}, {"maxVisits": 1}, {"rootPolicyTemperature": 0.01}),
)
KEYS = (*sorted({key for lines in SEEDS for table in lines for key in table}), "includeMovesOwnership", "analysisPVLen")


def mutate_values(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` with one to four values changed, at any depth; lines of `other` may follow."""
    tables = [json.loads(line) for line in data.splitlines()]
    if rng.random() < 0.3:
        tables += [json.loads(line) for line in other.splitlines()]
    for _ in range(rng.randint(1, 4)):
        at: Any = rng.choice(tables)
        while rng.random() < 0.5:
            inner = [each for each in (at.values() if isinstance(at, dict) else at) if isinstance(each, list | dict)]
            if not inner:
                break
            at = rng.choice(inner)
        value = deepcopy(rng.choice(VALUES))
        if isinstance(at, dict):
            at[rng.choice(KEYS if rng.random() < 0.7 or not at else sorted(at))] = value
        else:
            spot = rng.randrange(len(at) + 1)
            at[spot : spot + rng.randint(0, 1)] = [value] * rng.choice((1, 1, 1, 40))
    return b"\n".join(json.dumps(table).encode() for table in tables)[:MAX_BYTES]


def tame(data: bytes) -> bytes:
    """The first lines, with no more visits and points than are searched soon."""
    kept = []
    for line in data.split(b"\n")[:MOST_LINES]:
        try:
            table = parse_line(line)
        except LineError:
            table = None
        if table is not None and "action" not in table:
            settings = table.get("overrideSettings")
            for held in (table, settings if isinstance(settings, dict) else {}):
                visits = held.get("maxVisits")
                if isinstance(visits, int | float) and visits > MOST_VISITS:
                    held["maxVisits"] = MOST_VISITS
                if isinstance(visits, str):
                    del held["maxVisits"]
            line = json.dumps(table).encode()
        kept.append(line)
    return b"\n".join(kept) + b"\n"


def judge(data: bytes, searcher: Searcher) -> list[str]:
    """The kinds of the answers; raises what should not have escaped."""
    begin = time.process_time()
    found = talk_bytes(data, searcher, threads=2)
    kinds = []
    lasts: Counter[tuple[str, int]] = Counter()
    for answer in found:
        if "error" in answer or "warning" in answer:
            kinds.append("refused" if "error" in answer else "warned")
        elif "action" in answer and "moveInfos" not in answer:
            kinds.append("acted")
        else:
            kinds.append("answered")
            if not answer["isDuringSearch"]:
                lasts[answer["id"], answer["turnNumber"]] += 1
    ids = Counter(_names(data))
    for (name, turn), count in lasts.items():
        if count > ids[name]:
            raise AssertionError(f"{count} last answers to turn {turn} of {name!r}")
    if time.process_time() - begin > MOST_CPU_S:
        raise AssertionError("it took too long")
    return kinds


def _names(data: bytes) -> list[str]:
    """The ids of the lines that are queries."""
    names = []
    for line in data.split(b"\n"):
        try:
            table = parse_line(line)
        except LineError:
            continue
        if table is not None and isinstance(table.get("id"), str) and not isinstance(table.get("action"), str):
            names.append(table["id"])
    return names


def fuzz(seconds: float, seed: int) -> Counter[str]:
    """Runs for `seconds`; returns how many answers of each kind there were."""
    rng = random.Random(seed)
    texts = [b"\n".join(json.dumps(table).encode() for table in tables) for tables in SEEDS]
    players = (small_searcher(small_network()), small_searcher())
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        change = rng.choice((mutate, mutate_values, mutate_values))
        data = tame(change(rng, rng.choice(texts), rng.choice(texts)))
        try:
            counts.update(judge(data, rng.choice(players)))
        except BaseException:
            print(f"fuzz_analysis failed; seed {seed}; input {data.hex()}", file=sys.stderr)
            raise
    return counts


if __name__ == "__main__":
    run_command("fuzz_analysis", fuzz)
