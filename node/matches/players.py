"""Players of a match by what a person calls them: `find_opponent`, with what a move may take, `Allowance`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from native.network import Kernel, Network
from native.rules import Rules
from native.search import SearchConfig
from node.matches.gtp_engine import shown
from node.matches.gtp_player import PREFIX, GtpOpponent
from node.matches.gtp_terms import GtpTerms
from node.matches.leela_zero import SIZE, LeelaZeroOpponent, weights_version
from node.matches.network_player import NetworkOpponent
from node.matches.opponent import (
    Gallery,
    Opponent,
    OpponentError,
    RandomOpponent,
    load_network_file,
)
from node.matches.timed_network import TimedNetwork


@dataclass(frozen=True, slots=True)
class Allowance:
    """What players may take: as many visits a move as `config` has, or `time_s`; `deadline_s` a command, for engines."""

    config: SearchConfig
    kernel: Kernel
    time_s: float | None
    deadline_s: float


def find_opponent(
    name: str, gallery: Gallery | None, allowance: Allowance, sizes: frozenset[int], startup: tuple[str, ...] = ()
) -> Opponent:
    """A release, a network's file, weights of Leela Zero, `random`, or an engine, to play on boards of these sizes.

    `gallery` is None where nobody is a release. `startup`: what an engine is told before each game. Raises OpponentError.
    """
    path = Path(name)
    is_weights = _weights(path)
    if name.startswith(PREFIX) or is_weights:
        terms = _terms(name, allowance.time_s, startup)
        if name.startswith(PREFIX):
            return GtpOpponent(name.removeprefix(PREFIX), allowance.deadline_s, terms)
        if sizes != {SIZE}:
            raise OpponentError(f"{path}: Leela Zero plays on 19x19 alone; --size 19 is needed.")
        return LeelaZeroOpponent(path, allowance.config.visits_full, allowance.deadline_s, terms)
    if startup:
        raise OpponentError(f"{name[:80]!r} is no engine, and takes no GTP commands.")
    if name == "random":
        return RandomOpponent()
    network: Network | None
    if path.is_file():
        known, network = shown(path.name), load_network_file(path)
    else:
        assert gallery is not None, "a release is of a run"
        known, network = gallery.network(name)
    if allowance.time_s is None:
        return NetworkOpponent(known, network, allowance.config, allowance.kernel)
    return TimedNetwork(known, network, allowance.config, allowance.kernel, allowance.time_s)


def verify_engines(players: Sequence[Opponent], rules: Rules, stones: Sequence[int]) -> None:
    """Raises OpponentError for an engine that does not take up a game that begins so."""
    for player in players:
        if isinstance(player, GtpOpponent):
            player.verify_plays(rules, stones)


def _weights(path: Path) -> bool:
    try:
        return path.is_file() and weights_version(path) is not None
    except OSError as error:
        raise OpponentError(f"{path}: cannot be read ({error.strerror or error}).") from None


def _terms(name: str, time_s: float | None, startup: tuple[str, ...]) -> GtpTerms:
    try:
        return GtpTerms(time_s, startup)
    except ValueError as error:
        raise OpponentError(f"{name[:80]!r}: {error}.") from None
