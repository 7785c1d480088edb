"""The data path in plain numpy, as docs/spec say it: what the packed one has to equal, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from native.game import FEATURE_PLANES as PLANES
from native.rows import read_rows
from native.rules import Rules
from protocol.batch import unpack_batch
from protocol.manifest import Manifest
from trainer.data.draws import is_held_out
from trainer.job import BatchFile
from verification.setup import game_rules

KIND_FULL = 1
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Position:
    """A row as `read_rows` gives it, symmetry not applied; `policies` are its own and the next ply's."""

    size: int
    planes: Array
    policies: tuple[Array, Array]
    value: int
    score: int
    ownership: Array
    kind: int
    root_value: int
    held_out: bool


def positions_of(rules: Rules, block: bytes, held_out: bool = False) -> list[Position]:
    """The rows of a game's block."""
    rows = read_rows(rules, block)
    n, points = rows.plies, rows.size * rows.size
    planes = np.frombuffer(rows.planes, np.uint8).reshape(n, PLANES, points)
    policy = np.frombuffer(rows.policy, np.uint16).reshape(n, points + 1)
    opponent = np.frombuffer(rows.opponent_policy, np.uint16).reshape(n, points + 1)
    ownership = np.frombuffer(rows.ownership, np.int8).reshape(n, points)
    value, score = np.frombuffer(rows.value, np.int8), np.frombuffer(rows.score, np.int32)
    kind, root_value = np.frombuffer(rows.kind, np.uint8), np.frombuffer(rows.root_value, np.int32)
    return [
        Position(
            size=rows.size,
            planes=planes[i],
            policies=(policy[i], opponent[i]),
            value=int(value[i]),
            score=int(score[i]),
            ownership=ownership[i],
            kind=int(kind[i]),
            root_value=int(root_value[i]),
            held_out=held_out,
        )
        for i in range(n)
    ]


def window_of(files: list[BatchFile], manifest: Manifest) -> list[Position]:
    """All rows by their numbers."""
    found: list[Position] = []
    for file in files:
        batch = unpack_batch(file.path.read_bytes(), file.raw_len)
        for index, game in enumerate(batch.games):
            held_out = is_held_out(file.header_digest, index, manifest.training.held_out_ppm)
            rules = game_rules(manifest.rules, game.header.size, game.header.komi_half)
            found += positions_of(rules, game.raw, held_out)
    return sorted(found, key=lambda row: row.size)


def turned(plane: Array, size: int, k: int) -> Array:
    """A plane of points under symmetry k, as a square."""
    square = plane.reshape(size, size)
    square = square.T if k & 4 else square
    square = square[::-1] if k & 1 else square
    return square[:, ::-1] if k & 2 else square


def minibatch_of(rows: list[Position], symmetries: list[int]) -> dict[str, Array]:
    """The arrays of a minibatch of these rows, planes channels last: [N, S, S, 20]."""
    n, canvas = len(rows), max(row.size for row in rows)
    planes = np.zeros((n, canvas, canvas, PLANES), np.float32)
    boards = {name: np.zeros((n, canvas, canvas), np.float32) for name in ("policy", "opponent_policy", "ownership")}
    passes = {name: np.zeros((n, 1), np.float32) for name in ("policy", "opponent_policy")}
    for i, (row, k) in enumerate(zip(rows, symmetries, strict=True)):
        size = row.size
        for plane in range(PLANES):
            planes[i, :size, :size, plane] = turned(row.planes[plane], size, k) * np.float32(1 / 64)
        for name, raw in zip(("policy", "opponent_policy"), row.policies, strict=True):
            target = raw.astype(np.float32)
            target /= np.maximum(target.sum(), np.float32(1))
            boards[name][i, :size, :size] = turned(target[:-1], size, k)
            passes[name][i] = target[-1]
        if row.kind != KIND_FULL:
            boards["policy"][i], passes["policy"][i] = 0, 0
        boards["ownership"][i, :size, :size] = turned(row.ownership, size, k)
    flat = {name: board.reshape(n, -1) for name, board in boards.items()}
    policy = np.concatenate([flat["policy"], passes["policy"]], 1)
    taken = (planes[..., 1] + planes[..., 2] + planes[..., 9]).reshape(n, -1)
    board = planes[..., 0].reshape(n, -1)
    open_points = (board > taken) | (policy[:, :-1] > 0)
    return {
        "planes": planes,
        "legal": np.concatenate([open_points, np.ones((n, 1), np.bool_)], 1),
        "policy": policy,
        "opponent_policy": np.concatenate([flat["opponent_policy"], passes["opponent_policy"]], 1),
        "result": np.array([row.value for row in rows], np.float32),
        "root_value": np.array([row.root_value * 2.0**-24 for row in rows], np.float32).clip(-1, 1),
        "score": np.array([row.score * 0.5 for row in rows], np.float32),
        "ownership": flat["ownership"],
        "board": board,
    }
