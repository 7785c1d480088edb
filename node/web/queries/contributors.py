"""Who contributes: `/contributors` and `/contributors/{key}`."""

import sqlite3
from dataclasses import dataclass
from string import hexdigits

from node.web.model.sums import DAY_HOURS, HOUR_S
from node.web.queries.records import PAGE, BadQuestion, Listed, NotFound, found, numbered, one
from node.web.queries.windows import window_of

MOST_CHARACTERS = 64
DAYS = 14

_SUMS = """
coalesce(s.verified_plies, 0) AS verified_plies, coalesce(s.pending_plies, 0) AS pending_plies,
coalesce(s.rejected_plies, 0) AS rejected_plies, coalesce(s.verified_games, 0) AS verified_games,
coalesce(s.verified_games + s.pending_games + s.rejected_games, 0) AS games,
coalesce(s.verified_visits, 0) AS verified_visits
"""
_COLUMNS = (
    "verified_plies",
    "pending_plies",
    "rejected_plies",
    "verified_games",
    "pending_games",
    "rejected_games",
    "verified_visits",
)
_LAST = """
(SELECT max(b.number) FROM batches b WHERE b.key = c.key) AS last_entry,
(SELECT b.unix_s FROM batches b WHERE b.key = c.key ORDER BY b.number DESC LIMIT 1) AS last_unix_s
"""


BEGINS_SO = """
SELECT key FROM contributors WHERE name >= :first_name COLLATE NOCASE AND name < :last_name COLLATE NOCASE
UNION SELECT key FROM contributors WHERE key >= :first_key AND key <= :last_key
"""


@dataclass(frozen=True, slots=True)
class ContributorLine:
    """A contributor. `credit_plies` are the accepted ones, none after a rejection or ban; `rank` is by them.

    In a window plies and games are those logged in it. `plies_per_h`: what was logged in the last day, by its hours.
    """

    rank: int | None
    number: int
    key: bytes
    name: str
    standing: str
    credit_plies: int
    verified_plies: int
    pending_plies: int
    rejected_plies: int
    verified_games: int
    games: int
    verified_visits: int
    plies_per_h: float | None
    last_entry: int | None
    last_unix_s: int | None


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A batch that the log holds at `entry`; `verdict_entry` is its first verdict's, which replayed `drawn` games."""

    entry: int
    unix_s: int | None
    release: int
    release_id: bytes
    games: int
    plies: int
    visits: int
    fate: str
    verdict_entry: int | None
    outcome: str | None
    drawn: int | None


@dataclass(frozen=True, slots=True)
class DayLine:
    """What one contributor had logged in a day, given by its first second; None of what has no time."""

    unix_s: int | None
    games: int
    verified_plies: int
    pending_plies: int
    rejected_plies: int


@dataclass(frozen=True, slots=True)
class ContributorAnswer:
    """One contributor, how it stands and why, and its batches, newest first."""

    contributor: ContributorLine
    reason: str
    entry: int | None
    passed: int
    needed: int
    held: int
    released: int
    q_ppm: int | None
    replaced_by: bytes
    days: tuple[DayLine, ...]
    batches: Listed[BatchLine]


def contributors(
    db: sqlite3.Connection, window: str = "all", search: str = "", before: str | None = None
) -> Listed[ContributorLine]:
    """Contributors with most credit first, in all or for a window; those whose name or key begins so.

    Raises BadQuestion.
    """
    stretch = window_of(db, window)
    text = search.strip()[:MOST_CHARACTERS]
    credit, number = _before(before)
    values = {
        "hour": stretch.hour,
        "day": -(-stretch.hour // DAY_HOURS),
        **_range_of(text),
        "credit": credit,
        "number": number,
        "page": PAGE,
    }
    like = f"AND c.key IN ({BEGINS_SO})" if text else ""
    if window == "all":
        table, earned, where = "sums_by_key", "c.credit_plies", "1"
    else:
        sums = ", ".join(f"sum({column}) AS {column}" for column in _COLUMNS)
        columns = f"key, {', '.join(_COLUMNS)}"
        whole = f"SELECT {columns} FROM sums_by_key_day WHERE day >= :day"
        begun = f"SELECT {columns} FROM sums_by_key_hour WHERE hour >= :hour AND hour < :day * {DAY_HOURS}"
        table = f"(SELECT key, {sums} FROM ({whole} UNION ALL {begun}) GROUP BY key)"
        earned, where = "CASE WHEN c.credit_plies > 0 THEN s.verified_plies ELSE 0 END", "s.key IS NOT NULL"
    query = f"""
    SELECT c.*, NULL AS rank, NULL AS plies_per_h, {_LAST} FROM (
        SELECT c.number, c.key, c.name, c.standing, {earned} AS credit_plies, {_SUMS}
        FROM contributors c LEFT JOIN {table} s ON s.key = c.key
        WHERE {where} AND c.standing <> 'replaced' {like}
            AND {earned} <= :credit AND ({earned} < :credit OR c.number > :number)
        ORDER BY {earned} DESC, c.number LIMIT :page
    ) c ORDER BY credit_plies DESC, number
    """
    lines = found(db, ContributorLine, query, values)
    first = 1 if before is None or text else _rank(db, table, earned, where, values, lines)
    rates = _rates(db, lines)
    items = tuple(_with(line, None if text else first + at, rates) for at, line in enumerate(lines))
    last = items[-1] if len(items) == PAGE else None
    return Listed(items, None if last is None else f"{last.credit_plies}-{last.number}")


def contributor(db: sqlite3.Connection, key: bytes, before: str | None = None) -> ContributorAnswer:
    """One contributor by its key; raises NotFound or BadQuestion."""
    query = f"""
    SELECT NULL AS rank, c.number, c.key, c.name, c.standing, c.credit_plies, {_SUMS}, NULL AS plies_per_h, {_LAST}
    FROM contributors c LEFT JOIN sums_by_key s ON s.key = c.key WHERE c.key = ?
    """
    lines = found(db, ContributorLine, query, (key,))
    if not lines:
        raise NotFound("The log has no such contributor.")
    line = lines[0]
    query = """
    SELECT count(*) + 1 FROM contributors
    WHERE standing <> 'replaced' AND credit_plies >= ? AND (credit_plies > ? OR number < ?)
    """
    rank = one(db, query, (line.credit_plies, line.credit_plies, line.number))
    more = db.execute(
        "SELECT reason, entry, passed, needed, held, released, q_ppm, replaced_by FROM contributors WHERE key = ?",
        (key,),
    ).fetchone()
    line = _with(line, None if line.standing == "replaced" else rank, _rates(db, lines))
    return ContributorAnswer(line, **dict(more), days=_days(db, key), batches=_batches(db, key, before))


def _range_of(text: str) -> dict[str, object]:
    """Between which names, and keys where it is hexadecimal, those lie that begin with a text."""
    is_hex = set(text) <= set(hexdigits)
    first, last = (bytes.fromhex(text.ljust(64, end)) if is_hex else b"" for end in "0f")
    return {"first_name": text, "last_name": f"{text}{chr(0x10FFFF)}", "first_key": first, "last_key": last}


def _before(text: str | None) -> tuple[int, int]:
    if text is None:
        return 2**63 - 1, 0
    credit, dash, number = text.partition("-")
    if not dash:
        raise BadQuestion("before= wants what the page before ended with: CREDIT-NUMBER.")
    return numbered(credit), numbered(number)


def _rank(
    db: sqlite3.Connection,
    table: str,
    earned: str,
    where: str,
    values: dict[str, object],
    lines: tuple[ContributorLine, ...],
) -> int:
    """The rank of the first line."""
    if not lines:
        return 1
    query = f"""
    SELECT count(*) + 1 FROM contributors c LEFT JOIN {table} s ON s.key = c.key
    WHERE {where} AND c.standing <> 'replaced' AND {earned} >= :credit AND ({earned} > :credit OR c.number < :number)
    """
    here = {**values, "credit": lines[0].credit_plies, "number": lines[0].number}
    return int(db.execute(query, here).fetchone()[0])


def _rates(db: sqlite3.Connection, lines: tuple[ContributorLine, ...]) -> dict[bytes, float]:
    """Plies an hour in the last day."""
    day = window_of(db, "day")
    if not day.seconds:
        return {}
    found = {}
    query = (
        "SELECT sum(verified_plies + pending_plies + rejected_plies) FROM sums_by_key_hour WHERE key = ? AND hour >= ?"
    )
    for line in lines:
        found[line.key] = (one(db, query, (line.key, day.hour)) or 0) * HOUR_S / day.seconds
    return found


def _with(line: ContributorLine, rank: int | None, rates: dict[bytes, float]) -> ContributorLine:
    values = {name: getattr(line, name) for name in ContributorLine.__slots__}
    return ContributorLine(**{**values, "rank": rank, "plies_per_h": rates.get(line.key)})


def _days(db: sqlite3.Connection, key: bytes) -> tuple[DayLine, ...]:
    """The last days on which something was logged, newest first."""
    query = f"""
    SELECT CASE WHEN hour < 0 THEN NULL ELSE hour / 24 * 86400 END AS unix_s,
        sum(verified_games + pending_games + rejected_games) AS games, sum(verified_plies) AS verified_plies,
        sum(pending_plies) AS pending_plies, sum(rejected_plies) AS rejected_plies
    FROM sums_by_key_hour WHERE key = ? GROUP BY hour / 24, hour < 0 ORDER BY max(hour) DESC LIMIT {DAYS}
    """
    return found(db, DayLine, query, (key,))


def _batches(db: sqlite3.Connection, key: bytes, before: str | None) -> Listed[BatchLine]:
    query = """
    SELECT b.number AS entry, b.unix_s, b.release, r.id AS release_id, b.games, b.plies, b.visits, b.fate,
        v.number AS verdict_entry, v.outcome, v.drawn
    FROM batches b JOIN releases r ON r.number = b.release
        LEFT JOIN verdicts v ON v.number = (SELECT min(number) FROM verdicts WHERE subject = b.number)
    WHERE b.key = ? AND b.number < ? ORDER BY b.number DESC LIMIT ?
    """
    items = found(db, BatchLine, query, (key, numbered(before), PAGE))
    return Listed(items, str(items[-1].entry) if len(items) == PAGE else None)
