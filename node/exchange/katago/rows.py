"""A game as rows of KataGo's training files, one a full search: `game_rows`.

Layout: KataGo's `cpp/dataio/trainingwrite.h`, format version 2, whose 64 global targets later versions read too; its trainer
reads it in `python/katago/train/data_processing_pytorch.py`. All from the view of the side to move. What our games do not
record has weight 0 (lead) or is 0 and only informs (raw outputs of the network, entropies, surprise).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from native.game import Game
from native.rows import check_block
from native.rules import Colour, Rules
from node.exchange.errors import ExportError
from node.exchange.katago.canvas import Canvas
from node.exchange.katago.inputs import GLOBALS, PLANES, Replay, input_globals, input_planes, own_komi
from node.exchange.katago.values import Outlook, outlooks
from node.exchange.npy import encode_npy, encode_npz
from protocol.game_block import END_CAP, KIND_FULL, GameBlock

TARGETS: Final = 64
SCORE_RADIUS: Final = 60
POINT_TARGETS: Final = 5
MOST_VISITS: Final = 32767
_FORMAT_VERSION: Final = 2
_SOON, _LATER = 8, 32
_HASH_BITS: Final = (22, 22, 20)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of each array."""

    planes: bytes
    numbers: bytes
    policy: bytes
    targets: bytes
    scores: bytes
    by_point: bytes


def game_rows(rules: Rules, block: GameBlock, name: bytes, pos_len: int) -> Iterator[Row]:
    """The rows of a game on a canvas of side `pos_len`; `name` is its hash, of which 16 bytes are kept.

    Raises ExportError for a board that does not fit, BlockError for a block that breaks the rules.
    """
    header = block.header
    if header.size > pos_len:
        raise ExportError(f"The board is {header.size}x{header.size}, and these rows have {pos_len}x{pos_len} points.")
    check_block(rules, block.raw)
    replay, canvas = Replay(rules, block.moves), Canvas(header.size, pos_len)
    owner = _final_owner(rules, block)
    for number, (ply, outlook) in enumerate(zip(block.plies, outlooks(block), strict=False)):
        if block.kinds[number] != KIND_FULL:
            continue
        has_next = number + 1 < header.plies and block.kinds[number + 1] == KIND_FULL
        policies = (block.policy_target(ply), block.policy_target(ply + 1) if has_next else None)
        to_move = replay.positions[ply].to_move
        ahead = [replay.stones[min(ply + moves, header.moves)] for moves in (_SOON, _LATER)]
        points = [_signs(owner, to_move, 1), bytes(len(owner)), *(_signs(each, to_move, 1) for each in ahead)]
        points.append(_signs(owner, to_move, 120))
        yield Row(
            planes=input_planes(replay, ply, canvas),
            numbers=input_globals(replay, ply),
            policy=b"".join(_policy(policy, canvas) for policy in policies),
            targets=_targets(block, rules, ply, to_move, outlook, has_next, name),
            scores=_scores(outlook.final.score, canvas.points),
            by_point=b"".join(map(canvas.spread, points)),
        )


def encode_rows(rows: list[Row], pos_len: int) -> bytes:
    """A file with these rows, as its trainer and `shuffle.py` take it."""
    points, n = pos_len * pos_len, len(rows)
    arrays = (
        ("binaryInputNCHWPacked", "|u1", (n, PLANES, (points + 7) // 8), [row.planes for row in rows]),
        ("globalInputNC", "<f4", (n, GLOBALS), [row.numbers for row in rows]),
        ("policyTargetsNCMove", "<i2", (n, 2, points + 1), [row.policy for row in rows]),
        ("globalTargetsNC", "<f4", (n, TARGETS), [row.targets for row in rows]),
        ("scoreDistrN", "|i1", (n, 2 * (points + SCORE_RADIUS)), [row.scores for row in rows]),
        ("valueTargetsNCHW", "|i1", (n, POINT_TARGETS, pos_len, pos_len), [row.by_point for row in rows]),
    )
    return encode_npz(
        ((name, encode_npy(descr, shape, b"".join(data))) for name, descr, shape, data in arrays), is_compressed=True
    )


def game_hash(name: bytes) -> str:
    """What rows keep of a game's name, as KataGo writes its hashes."""
    low, high = struct.unpack("<2Q", name[:16])
    return f"{high:016X}{low:016X}"


def _final_owner(rules: Rules, block: GameBlock) -> bytes:
    game = Game(rules)
    for move in block.moves:
        game.play(move)
    return game.owner()


def _signs(colours: bytes, own: Colour, one: int) -> bytes:
    """`one` where a point is the side's, `-one` where it is the other's, as signed bytes."""
    table = {0: 0, int(own): one, int(own.other): 256 - one}
    return bytes(table[colour] for colour in colours)


def _policy(target: tuple[int, ...] | None, canvas: Canvas) -> bytes:
    """Shares as visits, at least 1 for each move that has any; 1 everywhere where there is no target."""
    if target is None:
        visits = [1] * (canvas.points + 1)
    else:
        visits = canvas.moves([min(MOST_VISITS, (share + 1) // 2) for share in target])
    return struct.pack(f"<{canvas.points + 1}h", *visits)


def _scores(score: float, points: int) -> bytes:
    """100 at the final score; an integer is shared by the two numbers around it."""
    found, middle = bytearray(2 * (points + SCORE_RADIUS)), points + SCORE_RADIUS
    low = middle + (int(score) - 1 if score == int(score) else int(score // 1))
    for place in (low, low + 1) if score == int(score) else (low, low):
        found[max(0, min(len(found) - 1, place))] += 50
    return bytes(found)


def _targets(
    block: GameBlock, rules: Rules, ply: int, to_move: Colour, outlook: Outlook, has_next: bool, name: bytes
) -> bytes:
    """The global targets; the numbers are their places."""
    header, found = block.header, [0.0] * TARGETS
    for start, value in zip(range(0, 20, 4), (outlook.final, *outlook.averaged, outlook.now), strict=True):
        found[start : start + 4] = (value.win, 1 - value.win, 0.0, value.score)
    found[20] = outlook.final.score
    found[22] = outlook.variance_time
    found[25] = found[26] = found[27] = 1.0
    found[28] = float(has_next)
    found[33] = found[34] = 1.0
    found[36:41] = [1.0] * 5
    found[41:47] = _hash_parts(name)
    found[47] = own_komi(rules, to_move)
    found[48] = 1.0
    found[51] = ply
    found[52] = float(header.end == END_CAP)
    found[53] = header.opening_moves
    found[60] = sum(block.visits(ply)) + 1
    found[62] = float(header.end != END_CAP)
    found[63] = _FORMAT_VERSION
    return struct.pack(f"<{TARGETS}f", *found)


def _hash_parts(name: bytes) -> list[float]:
    """128 bits in parts that a binary32 holds."""
    parts = []
    for word in struct.unpack("<2Q", name[:16]):
        for width in _HASH_BITS:
            parts.append(float(word & ((1 << width) - 1)))
            word >>= width
    return parts
