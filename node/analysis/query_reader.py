"""From what a client sent to a `Query`: `QueryReader`.

Spec: KataGo's docs/Analysis_Engine.md. Fields are judged in the order of its engine, and refused in its words where the
bounds are the same. Invariant: the moves of a query that was read can be made.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from native.errors import EngineError
from native.rules import Colour, Rules
from node.analysis.barring import barred_of
from node.analysis.errors import QueryError
from node.analysis.line import Table
from node.analysis.query import Query, Wishes
from node.analysis.rule_words import BONUSES, FIELD, AskedRules, komi_half_of, parse_rules
from node.analysis.settings import MOST_LINE, MOST_VISITS_ASKED, SettingError, Settings, override
from node.analysis.turns import begin, handicap_stones, walk
from node.analysis.values import Move, boolean_of, integer_of, integers_of, moves_of, number_of, player_of
from node.exchange.rule_names import by_name
from node.play.pace import MOST_VISITS

MOST_SIDE: Final = 19
MOST_PRIORITY: Final = 0x3FFFFFFFFFFFFFFF
_SIDE: Final = f"Must provide an integer from 2 to {MOST_SIDE}"
_SQUARE: Final = "Must be the same as boardXSize: a network plays on square boards"
_KOMI: Final = "Must be a integer or half-integer from -400.0 to 400.0"
_SECONDS: Final = "Must be number of seconds from 0.001 to 1000000.0"

_FIELDS: Final = (
    "id action terminateId turnNumbers boardXSize boardYSize initialStones moves initialPlayer "
    "analyzeTurns priorities rules komi whiteHandicapBonus overrideSettings maxVisits analysisPVLen "
    "rootFpuReductionMax rootPolicyTemperature includeMovesOwnership includeMovesOwnershipStdev "
    "includeOwnership includeOwnershipStdev includePolicy includePVVisits includeNoResultValue "
    "reportDuringSearchEvery firstReportDuringSearchAfter priority allowMoves avoidMoves"
)
KNOWN: Final = frozenset(_FIELDS.split())
"""The fields that KataGo's engine reads."""

_LEFT_OUT: Final = ("includeMovesOwnershipStdev", "includeOwnershipStdev", "includeNoResultValue")
"""What is not known here, so that answers do not have it."""

Warn = Callable[[str, str], None]
"""Takes a field and what is said of it."""


class QueryReader:
    """Reads queries for one player: `house` are its run's rules, `root` is how its searches divide the root's visits."""

    def __init__(self, house: Rules, settings: Settings, root: int, *, square: bool, unused: bool = True) -> None:
        """`square`: whether it plays on square boards alone; `unused`: whether unknown fields are warned of."""
        self._house = house
        self._settings = settings
        self._root = root
        self._square = square
        self._unused = unused

    def read(self, name: str, table: Table, warn: Warn) -> Query:
        """The query with the id `name`; raises QueryError."""
        rows, cols = self._sides(table)
        placed = moves_of(table.get("initialStones", []), "initialStones", rows, cols, with_pass=False)
        if "moves" not in table:
            raise QueryError("moves", "Must specify an array of [player,location] pairs")
        moves = moves_of(table["moves"], "moves", rows, cols, with_pass=True)
        first = player_of(table, "initialPlayer") if "initialPlayer" in table else None
        turns, priorities = _turns(table, len(moves))
        asked = _rules(table)
        settings = self._overridden(table, warn)
        wishes = _wishes(table)
        barred = barred_of(table, rows, cols, warn)
        stones = _stones(placed, rows * cols)
        if (warning := asked.warning()) is not None:
            warn(FIELD, warning)
        if settings.visits > MOST_VISITS:
            warn("maxVisits", f"A search here has {MOST_VISITS} visits at most")
        missing = [field for field in _LEFT_OUT if boolean_of(table, field)]
        for field in missing:
            warn(field, "Not known to this engine, so answers are without it")
        if self._unused:
            for field in sorted(table.keys() - KNOWN):
                warn(field, "Unexpected or unused field, do you have a typo?")
        rules = by_name(Rules(rows, cols, asked.komi_half), asked.named, self._house)
        query = Query(
            name,
            rules,
            asked.bonus,
            stones,
            first or _first(stones, moves),
            tuple(moves),
            turns,
            priorities,
            settings,
            wishes,
            barred,
        )
        _verify(query)
        return query

    def _sides(self, table: Table) -> tuple[int, int]:
        for field in ("boardXSize", "boardYSize"):
            if field not in table:
                raise QueryError(field, _SIDE)
        cols, rows = (integer_of(table, field, 2, MOST_SIDE, _SIDE) for field in ("boardXSize", "boardYSize"))
        if self._square and rows != cols:
            raise QueryError("boardYSize", _SQUARE)
        return rows, cols

    def _overridden(self, table: Table, warn: Warn) -> Settings:
        settings, changes = self._settings, table.get("overrideSettings", {})
        if not isinstance(changes, dict):
            raise QueryError("overrideSettings", "Must be an object")
        try:
            settings, ignored = override(settings, changes, self._root)
        except SettingError as error:
            raise QueryError("overrideSettings", f"Could not set settings: {error}") from None
        if ignored:
            warn("overrideSettings", f"Config params that are not followed here: {','.join(ignored)[:500]}")
        if "maxVisits" in table:
            visits = integer_of(table, "maxVisits", 1, MOST_VISITS_ASKED, "Must be an integer from 1 to 2^50")
            settings = replace(settings, visits=visits)
        if "analysisPVLen" in table:
            line = integer_of(table, "analysisPVLen", 1, MOST_LINE, f"Must be an integer from 1 to {MOST_LINE}")
            settings = replace(settings, line=line)
        changes = {}
        for field, least, most in (("rootFpuReductionMax", 0.0, 2.0), ("rootPolicyTemperature", 0.01, 100.0)):
            if field in table:
                changes[field] = number_of(table, field, least, most, f"Must be a number from {least} to {most}")
        settings, ignored = override(settings, changes, self._root)
        for field in ignored:
            warn(field, "Not followed here: the searches of this run divide the root's visits by Gumbel's rule")
        return settings


def _turns(table: Table, moves: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The turns in order, each once, and a priority for each."""
    asked = [moves]
    if "analyzeTurns" in table:
        sentence = "Must specify an array of integers indicating turns to analyze"
        asked = integers_of(table["analyzeTurns"], "analyzeTurns", sentence)
        for turn in asked:
            if not 0 <= turn <= moves:
                raise QueryError("analyzeTurns", f"Invalid turn number: {str(turn)[:30]}")
    turns = tuple(sorted(set(asked)))
    if "priorities" not in table:
        sentence = "Must be a number between -2^62 and 2^62"
        one = integer_of(table, "priority", -MOST_PRIORITY, MOST_PRIORITY, sentence) if "priority" in table else 0
        return turns, (one,) * len(turns)
    field, sentence = "priorities", "Must specify an array of integers indicating priorities"
    given = integers_of(table[field], field, sentence)
    if "analyzeTurns" not in table:
        raise QueryError(field, "Can only specify when also specifying analyzeTurns")
    if len(given) != len(asked):
        raise QueryError(field, "Must be of matching length to analyzeTurns")
    if "priority" in table:
        raise QueryError("priority", "Cannot specify both priority and priorities")
    by_turn = dict(zip(asked, given, strict=True))
    for each in given:
        if abs(each) > MOST_PRIORITY:
            raise QueryError(field, f"Invalid priority: {str(each)[:30]}")
    return turns, tuple(by_turn[turn] for turn in turns)


def _rules(table: Table) -> AskedRules:
    asked = parse_rules(table.get(FIELD))
    if "komi" in table:
        half = komi_half_of(table["komi"])
        if half is None:
            raise QueryError("komi", _KOMI)
        asked = replace(asked, komi_half=half)
    if "whiteHandicapBonus" in table:
        bonus: Any = table["whiteHandicapBonus"]
        if not isinstance(bonus, str):
            raise QueryError("whiteHandicapBonus", "Must be a string")
        if bonus not in BONUSES:
            raise QueryError("whiteHandicapBonus", "Must be 0, N or N-1")
        asked = replace(asked, bonus=bonus)
    return asked


def _wishes(table: Table) -> Wishes:
    every = first = None
    if "reportDuringSearchEvery" in table:
        every = first = number_of(table, "reportDuringSearchEvery", 0.001, 1e6, _SECONDS)
    if "firstReportDuringSearchAfter" in table:
        first = number_of(table, "firstReportDuringSearchAfter", 0.001, 1e6, _SECONDS)
    return Wishes(
        boolean_of(table, "includeOwnership"),
        boolean_of(table, "includeMovesOwnership"),
        boolean_of(table, "includePolicy"),
        boolean_of(table, "includePVVisits"),
        every,
        first,
    )


def _stones(placed: Sequence[Move], points: int) -> bytes:
    stones = bytearray(points)
    for colour, point in placed:
        stones[point] = colour
    return bytes(stones)


def _first(stones: bytes, moves: Sequence[Move]) -> Colour:
    if moves:
        return moves[0][0]
    return Colour.WHITE if handicap_stones(stones, ()) else Colour.BLACK


def _verify(query: Query) -> None:
    """Raises QueryError unless every move can be made."""
    try:
        begin(query)
    except EngineError:
        raise QueryError("initialStones", "Some of the stones have no liberty") from None
    for _ in walk(query, len(query.moves)):
        pass
