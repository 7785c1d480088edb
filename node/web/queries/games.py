"""The list of games that are here: `/games`. Asked of `pages.db` with `games.db` beside it as `here`."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Final

from node.web.games.schema import GATE, INDEXED, PLACE_BITS, TRAINING, index_of, signer_of
from node.web.model import contents
from node.web.queries.records import PAGE, BadQuestion, Listed, found, numbered, one, whole_name
from protocol.game_block import BLACK_WINS, DRAW, MAX_BOARD, WHITE_WINS

FILTERS: Final = ("release", "key", "kind", "size", "result")
"""Besides `batch`, the games of one entry, of which there are so few that all filters go with it."""
RESULTS: Final = {"black": BLACK_WINS, "white": WHITE_WINS, "draw": DRAW}
KINDS: Final = {contents.TRAINING: TRAINING, contents.GATE: GATE}
_COLUMNS: Final = {"release": "release", "key": "signer", "kind": "kind", "size": "size", "result": "result"}
_MOST_KEYS: Final = 20
"""Of so many keys of one contributor, who replaced them one by another, games are listed together."""
_ENTRY_DIGITS: Final = 15
_SHOWCASE: Final = 50
"""Among so many of a release's newest games one to show is chosen."""

FATE: Final = """
CASE WHEN c.kind = 'training' THEN b.fate ELSE coalesce(
    (SELECT CASE outcome WHEN 'accept' THEN 'verified' ELSE 'rejected' END
    FROM verdicts WHERE subject = c.entry ORDER BY number DESC LIMIT 1), 'pending') END AS fate
"""
NAMED: Final = """
LEFT JOIN batches b ON b.number = c.entry LEFT JOIN contributors p ON p.key = coalesce(b.key, c.signer)
LEFT JOIN roles o ON o.key = c.signer LEFT JOIN releases r ON r.number = c.release
"""
_LINE: Final = f"""
SELECT g.place, g.hash, c.kind, c.entry, c.unix_s, c.release, r.id AS release_id, coalesce(b.key, c.signer) AS key,
    coalesce(p.name, o.name, '') AS name, p.key IS NOT NULL AS is_contributor, g.size, g.komi_half / 2.0 AS komi,
    CASE g.result WHEN 0 THEN '0' WHEN 1 THEN 'B+' ELSE 'W+' END
        || CASE g.result WHEN 0 THEN '' ELSE rtrim(rtrim(printf('%.1f', abs(g.score_half) / 2.0), '0'), '.') END AS result,
    g.moves, {FATE}
FROM here.games g {{index}} CROSS JOIN contents c {NAMED}
WHERE c.entry = g.place >> 10 AND c.root = (SELECT root FROM here.taken t WHERE t.entry = c.entry)
"""


@dataclass(frozen=True, slots=True)
class GameLine:
    """A game of the batch or gate result at `entry`; `release` played it, at a gate it is the base.

    `key` is whose it is now: the contributor's, or the one that played for a gate.
    """

    place: int
    hash: bytes
    kind: str
    entry: int
    unix_s: int | None
    release: int
    release_id: bytes | None
    key: bytes
    name: str
    is_contributor: int
    size: int
    komi: float
    result: str
    moves: int
    fate: str | None


@dataclass(frozen=True, slots=True)
class Here:
    """Of how many batches and gate results of the log the games are here, and of how many the blob holds none."""

    batches: int
    known: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class GamesAnswer:
    """Games, the newest first, and how much of the log is here."""

    here: Here
    games: Listed[GameLine]


def games(db: sqlite3.Connection, asked: Mapping[str, str]) -> GamesAnswer:
    """Games, newest first, by filters that have an index together; raises BadQuestion, NotFound."""
    filters = {name: asked[name] for name in FILTERS if asked.get(name)}
    values: dict[str, object] = {name: _value(db, name, text) for name, text in filters.items()}
    index = index_of([_COLUMNS[name] for name in filters])
    place, low = numbered(asked.get("before")), 0
    if asked.get("batch"):
        index, low = "", _entry(asked["batch"]) << PLACE_BITS
        place = min(place, low + (1 << PLACE_BITS))
    if index is None:
        raise BadQuestion(f"These filters do not go together; ask for one of: {_combinations()}.")
    keys = _keys(db, values.pop("key")) if "key" in values else [None]
    lists = [_lines(db, index, values, key, low, place) for key in keys]
    items = tuple(islice(merge(*lists, key=lambda line: -line.place), PAGE))
    return GamesAnswer(here(db), Listed(items, str(items[-1].place) if len(items) == PAGE else None))


def here(db: sqlite3.Connection) -> Here:
    """How much of the log's games is here."""
    taken = one(db, "SELECT count(*) FROM here.taken")
    unreadable = one(db, "SELECT count(*) FROM here.taken WHERE fault <> ''")
    return Here(taken - unreadable, one(db, "SELECT count(*) FROM contents"), unreadable)


def showcase(db: sqlite3.Connection, release: int) -> GameLine | None:
    """A game of a release that is worth a look: of its newest ones that are verified, on the largest board, the closest.

    None where no such game is here.
    """
    lines = found(
        db,
        GameLine,
        f"{_line('games_by_release')} AND g.release = ? ORDER BY g.place DESC LIMIT ?",
        (release, _SHOWCASE),
    )
    verified = [line for line in lines if line.fate == "verified"]
    return max(verified, key=lambda line: (line.size, -_margin(line.result), line.moves, line.place), default=None)


def _margin(result: str) -> float:
    return float(result.partition("+")[2] or 0)


def _line(index: str) -> str:
    return _LINE.format(index=f"INDEXED BY {index}" if index else "NOT INDEXED")


def _lines(
    db: sqlite3.Connection, index: str, values: Mapping[str, object], key: int | None, first: int, before: int
) -> tuple[GameLine, ...]:
    known = {_COLUMNS[name]: value for name, value in values.items()} | ({} if key is None else {"signer": key})
    where = "".join(f" AND g.{column} = :{column}" for column in known)
    query = f"{_line(index)}{where} AND g.place BETWEEN :first AND :last ORDER BY g.place DESC LIMIT :page"
    return found(db, GameLine, query, {**known, "first": first, "last": before - 1, "page": PAGE})


def _value(db: sqlite3.Connection, name: str, text: str) -> object:
    """What a filter asks for; raises BadQuestion or NotFound."""
    if name == "key":
        return _key(db, text)
    if name == "release":
        return _release(db, text)
    if name == "size":
        if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MAX_BOARD:
            return int(text[:9])
        raise BadQuestion(f"size= is a board's side, 1 to {MAX_BOARD}.")
    words = KINDS if name == "kind" else RESULTS
    if text not in words:
        raise BadQuestion(f"{name}= is one of {', '.join(words)}.")
    return words[text]


def _entry(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _ENTRY_DIGITS):
        raise BadQuestion("batch= is the number of a log entry.")
    return int(text)


def _release(db: sqlite3.Connection, text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 8:
        return int(text)
    return int(one(db, "SELECT number FROM releases WHERE id = ?", (whole_name(db, "releases", "id", text),)))


def _key(db: sqlite3.Connection, text: str) -> bytes:
    row = None
    if len(text) == 64 and not set(text) - set("0123456789abcdef"):
        row = db.execute("SELECT key FROM roles WHERE key = ?", (bytes.fromhex(text),)).fetchone()
    return whole_name(db, "contributors", "key", text) if row is None else bytes(row[0])


def _keys(db: sqlite3.Connection, key: object) -> list[int]:
    """A contributor's key, and those that it replaced, as the index names them."""
    query = """
    WITH RECURSIVE own(key) AS (SELECT ? UNION SELECT c.key FROM contributors c JOIN own ON c.replaced_by = own.key)
    SELECT key FROM own LIMIT ?
    """
    return [signer_of(row[0]) for row in db.execute(query, (key, _MOST_KEYS))]


def _combinations() -> str:
    words = {column: name for name, column in _COLUMNS.items()}
    return ", ".join(" and ".join(sorted(words[column] for column in columns)) for columns in INDEXED)
