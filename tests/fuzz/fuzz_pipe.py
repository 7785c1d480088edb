"""Feeds mutated frames to both parsers of the pipe: `python -m tests.fuzz.fuzz_pipe SECONDS [SEED]`.

Changes bytes, and values inside frames that stay msgpack. Nothing but PipeError may escape, with one sentence; what is
read must be what `encode` gives. A failure prints the seed and the input.
"""

import random
import sys
import time
from collections import Counter
from copy import deepcopy
from typing import Any

import msgpack  # type: ignore[import-untyped]

from native.pipe import Splitter, parse_answer, parse_order
from native.pipe_error import PipeError
from tests.fuzz.command import run_command
from tests.fuzz.mutation import mutate
from tests.native.frames import ANSWERS, ORDERS

NUMBERS = (0, 1, -1, -2, 7, 19, 20, 361, 362, 65535, 65536, 2**31 - 1, -(2**31), 2**63, 2**64 - 1, -(2**63))
OTHERS = (None, True, False, 0.5, "", "vnni", b"", bytes(32), bytes(31), [], [None], {}, msgpack.ExtType(5, b"x"))


def seeds() -> list[bytes]:
    """A frame of each kind, without its length."""
    return [frame.encode() for frame in (*ORDERS, *ANSWERS)]


def mutate_values(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` with one to three of its values changed, dropped or repeated, at any depth."""
    frame: Any = msgpack.unpackb(data, raw=False)
    for _ in range(rng.randint(1, 3)):
        at = frame
        while at and rng.random() < 0.7:
            inner = [each for each in at if isinstance(each, list)]
            if not inner:
                break
            at = rng.choice(inner)
        spot = rng.randrange(len(at) + 1)
        match rng.randrange(5):
            case 0:
                at[spot : spot + 1] = [rng.choice(NUMBERS)]
            case 1:
                at[spot : spot + 1] = [deepcopy(rng.choice(OTHERS))]
            case 2:
                del at[spot : spot + 1]
            case 3:
                at[spot:spot] = deepcopy(at[spot : spot + 1]) * rng.choice((1, 70))
            case _:
                at[spot : spot + 1] = [rng.choice(msgpack.unpackb(other, raw=False))]
    changed: bytes = msgpack.packb(frame)
    return changed


def judge(data: bytes) -> str:
    """What became of a frame; raises what should not have escaped."""
    what = "refused"
    for parse in (parse_order, parse_answer):
        try:
            if parse(data).encode() != data:
                raise AssertionError("a frame does not read back equal")
            what = "read"
        except PipeError as error:
            text = str(error)
            if not text.endswith(".") or "\n" in text or len(text) > 300:
                raise AssertionError("an error without a plain sentence") from error
    try:
        for frame in Splitter().feed(data):
            assert 1 <= len(frame) <= len(data)
    except PipeError:
        pass
    return what


def fuzz(seconds: float, seed: int) -> Counter[str]:
    """Runs for `seconds`; returns how many frames were read and refused."""
    rng = random.Random(seed)
    frames = seeds()
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        change = rng.choice((mutate, mutate_values, mutate_values))
        data = change(rng, rng.choice(frames), rng.choice(frames))
        try:
            counts[judge(data)] += 1
        except BaseException:
            print(f"fuzz_pipe failed; seed {seed}; input {data.hex()}", file=sys.stderr)
            raise
    return counts


if __name__ == "__main__":
    run_command("fuzz_pipe", fuzz)
