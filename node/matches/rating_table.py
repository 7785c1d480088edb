"""Who is how strong: all gates of a run's log and recorded matches in one table, with outside engines as anchors.

Networks are told apart by their files: a release, the same file under another name and a candidate that was refused are one
player each, whatever they are called. A network that searched with other visits than the run's gates is another player
(`NAME@VISITS`), and so is whoever thought for seconds (`NAME@1s`). Sizes, komi and openings are pooled; games with a
handicap or with fixed colours are not, since they do not say who is stronger.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from node.matches.gtp_engine import shown
from node.matches.match_record import RecordError, read_record
from node.matches.network_player import NETWORKS, network_identity
from node.matches.ratings import Pairing, bradley_terry
from verification.state import LogState

_KINDS = {"network": "network", "leela-zero": "engine", "gtp": "engine"}


class RatingError(ValueError):
    """One sentence about games that cannot be rated together."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A player: `elo` and `elo_error` (half of a 95 % interval) are None where no games link it to an anchor."""

    name: str
    kind: str
    elo: float | None
    elo_error: float | None
    games: int
    score: float
    is_anchor: bool

    def to_json(self) -> dict[str, Any]:
        """One of the players that `gonode ratings --json` prints."""
        return {
            "name": self.name,
            "kind": self.kind,
            "elo": self.elo,
            "elo_error": self.elo_error,
            "games": self.games,
            "score": self.score,
            "anchor": self.is_anchor,
        }


@dataclass(slots=True)
class RatingTable:
    """Collects players and their games, then rates them."""

    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    pairings: list[Pairing] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def player(self, identity: str, name: str, kind: str) -> int:
        """The number of a player; the first name that it has stays. RatingError for two engines of one name."""
        if identity not in self._numbers:
            if name in self.names and identity.startswith(NETWORKS):
                name = f"{name}#{identity.partition(':')[2][:8]}"
            if name in self.names:
                raise RatingError(
                    f"Two players are called {name[:80]!r}; name an engine in its match: gtp:NAME=COMMAND."
                )
            self._numbers[identity] = len(self.names)
            self.names.append(name)
            self.kinds.append(kind)
        return self._numbers[identity]

    def add_log(self, state: LogState) -> None:
        """All releases of a run, and the games of all gates that are decided; a refused candidate is a player too."""
        for release in state.releases.all:
            self.player(network_identity(release.network), release.name, "release")
        for gate in state.gates.all:
            if gate.record is None or not gate.record.pairs:
                continue
            candidate = self.player(network_identity(gate.train.network), f"candidate-{gate.index}", "candidate")
            base = self.player(network_identity(gate.base.network), gate.base.name, "release")
            points = sum(k * count for k, count in enumerate(gate.record.counts)) / 2
            if candidate != base:
                self.pairings.append(Pairing(candidate, base, points, 2 * gate.record.pairs))

    def add_record(self, path: Path, run: bytes, gate_visits: int) -> None:
        """The games of a recorded match of the run; raises RecordError."""
        found, tally = read_record(path)
        if found.get("run") != run.hex():
            raise RecordError(f"{path}: this match was recorded in another run.")
        if found.get("handicap") or found.get("colours"):
            raise RecordError(f"{path}: games with a handicap, or with fixed colours, do not say who is stronger.")
        visits, time_s = found.get("visits"), found.get("time_s")
        suffix = "" if visits in (None, gate_visits) else f"@{visits}"
        if isinstance(time_s, (int, float)):
            suffix = f"@{time_s:g}s"
        numbers = []
        for each in found["players"]:
            identity, name = str(each["identity"]), shown(str(each["name"]))  # somebody else may have written it
            word = _KINDS.get(identity.partition(":")[0], "random")
            if identity.startswith(NETWORKS) or (time_s is not None and word == "engine"):
                identity, name = identity + suffix, name + suffix
            numbers.append(self.player(identity, name, word))
        total = tally.result().total
        if total.games and numbers[0] != numbers[1]:
            self.pairings.append(Pairing(numbers[0], numbers[1], total.wins + total.draws / 2, total.games))

    def rate(self, anchors: Mapping[str, float]) -> list[Rated]:
        """All players, the strongest first, those without a rating last; without anchors player 0 (release 0) is at 0."""
        for name in anchors:
            if name not in self.names:
                known = ", ".join(self.names)
                raise RatingError(f"The anchor {name[:80]!r} has not played; these have: {known}.")
        fixed = {self.names.index(name): elo for name, elo in anchors.items()} or {0: 0.0}
        numbers = bradley_terry(len(self.names), self.pairings, fixed)
        rated = [self._rated(number, elo, error, number in fixed) for number, (elo, error) in enumerate(numbers)]
        return sorted(rated, key=lambda each: -math.inf if each.elo is None else each.elo, reverse=True)

    def _rated(self, number: int, elo: float, error: float, is_anchor: bool) -> Rated:
        games = points = 0.0
        for pairing in self.pairings:
            if number in (pairing.a, pairing.b):
                games += pairing.games
                points += pairing.points if number == pairing.a else pairing.games - pairing.points
        is_rated = math.isfinite(error)
        return Rated(
            self.names[number],
            self.kinds[number],
            round(elo, 1) + 0.0 if is_rated else None,
            round(error, 1) if is_rated else None,
            int(games),
            points / games if games else 0.0,
            is_anchor,
        )


def unlinked(rated: Sequence[Rated]) -> str | None:
    """One sentence about players without a rating, None when there are none."""
    names = [each.name for each in rated if each.elo is None]
    if not names:
        return None
    who = f"{names[0]} has" if len(names) == 1 else f"{', '.join(names)} have"
    return f"{who} no rating: no games link {'it' if len(names) == 1 else 'them'} to an anchor."
