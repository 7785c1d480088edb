"""A job as it goes down the pipe: as `native.pool.Job`, with networks named by the SHA-256 of their files.

Spec: docs/spec/pipe.md ("Job"). Invariant: what can be made here a pool can play, once it has the networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Self

from native.errors import EngineError
from native.network import Network
from native.pipe_error import PipeError, array_of, verify_bytes, verify_number
from native.pool import MAX_OPENING_MOVES, Job
from native.rules import Ko, Rules, Scoring
from native.search import DIGEST_BYTES, Player, SearchConfig

JOB_ITEMS = 10
RULES_ITEMS = len(fields(Rules))
CONFIG_ITEMS = len(fields(SearchConfig))


@dataclass(frozen=True, slots=True)
class PipeJob:
    """`job` has players without networks; `black` and `white` name them, None for uniform evaluation."""

    job: Job
    black: bytes | None
    white: bytes | None

    def __post_init__(self) -> None:
        for digest in (self.black, self.white):
            if digest is not None:
                verify_bytes("network", digest, DIGEST_BYTES)
        if self.job.black.network is not None or self.job.white.network is not None:
            raise PipeError("A job of the pipe names its networks and does not hold them.")

    @classmethod
    def of(cls, job: Job) -> Self:
        """The job with its networks named."""
        nameless = replace(job, black=Player(None, job.black.release), white=Player(None, job.white.release))
        return cls(nameless, _digest(job.black), _digest(job.white))

    def resolve(self, networks: Mapping[bytes, Network]) -> Job:
        """The job with its networks; EngineError when one of them is not among `networks`."""
        players = []
        for digest, player in ((self.black, self.job.black), (self.white, self.job.white)):
            if digest is not None and digest not in networks:
                raise EngineError(f"The engine does not have the network {digest.hex()[:16]}.")
            players.append(Player(None if digest is None else networks[digest], player.release))
        return replace(self.job, black=players[0], white=players[1])

    def items(self) -> list[Any]:
        """The array of the page."""
        job = self.job
        return [
            job.id,
            job.counter,
            [int(getattr(job.rules, field.name)) for field in fields(Rules)],
            [int(getattr(job.config, field.name)) for field in fields(SearchConfig)],
            job.config_digest,
            job.game_seed,
            [self.black, job.black.release],
            [self.white, job.white.release],
            job.opening,
            list(job.opening_moves),
        ]

    @classmethod
    def from_items(cls, value: Any) -> Self:
        """Reads what `items` gives; PipeError for anything else."""
        number, counter, rules, config, digest, seed, black, white, opening, moves = array_of("job", value, JOB_ITEMS)
        for name, each in (("id", number), ("counter", counter)):
            verify_number(name, each, 0, 2**64 - 1)
        for name, each in (("config digest", digest), ("game seed", seed)):
            verify_bytes(name, each, DIGEST_BYTES)
        verify_number("opening", opening, 0, 2**16 - 1)
        if type(moves) is not list or len(moves) > MAX_OPENING_MOVES:
            raise PipeError("The opening of a frame is no array of moves.")
        for each in moves:
            verify_number("opening", each, 0, 2**16 - 1)
        (black_network, black_release), (white_network, white_release) = _player(black), _player(white)
        try:
            job = Job(
                id=number,
                counter=counter,
                rules=_rules(_numbers("rules", rules, RULES_ITEMS)),
                config=_config(_numbers("search config", config, CONFIG_ITEMS)),
                config_digest=digest,
                game_seed=seed,
                black=Player(None, black_release),
                white=Player(None, white_release),
                opening=opening,
                opening_moves=tuple(moves),
            )
        except EngineError as error:
            raise PipeError(str(error)) from None
        return cls(job, black_network, white_network)


def _digest(player: Player) -> bytes | None:
    return None if player.network is None else player.network.digest


def _player(value: Any) -> tuple[bytes | None, bytes]:
    network, release = array_of("player", value, 2)
    if network is not None:
        verify_bytes("network", network, DIGEST_BYTES)
    verify_bytes("release", release, DIGEST_BYTES)
    return network, release


def _numbers(name: str, value: Any, length: int) -> tuple[int, ...]:
    numbers = array_of(name, value, length)
    for each in numbers:
        verify_number(name, each, -(2**31), 2**31 - 1)
    return tuple(numbers)


@lru_cache(maxsize=16)
def _config(numbers: tuple[int, ...]) -> SearchConfig:
    return SearchConfig(*numbers)


@lru_cache(maxsize=64)
def _rules(numbers: tuple[int, ...]) -> Rules:
    rows, cols, komi_half, ko, suicide, scoring, pass_alive, settled_end, cap = numbers
    for flag in (suicide, pass_alive, settled_end):
        verify_number("rules", flag, 0, 1)
    if ko not in list(Ko) or scoring not in list(Scoring):
        raise PipeError("The rules of a frame are unknown.")
    return Rules(
        rows, cols, komi_half, Ko(ko), bool(suicide), Scoring(scoring), bool(pass_alive), bool(settled_end), cap
    )
