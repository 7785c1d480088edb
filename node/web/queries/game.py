"""One game that is here: `/games/{hash}`. Asked of `pages.db` with `games.db` beside it as `here`."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from native.errors import EngineError
from native.rules import Rules
from node.exchange.rule_names import name_rules
from node.web.games.blobs import Content, NoGames, read_game
from node.web.games.played import ENDS, MoveLine, played
from node.web.queries.games import FATE, NAMED
from node.web.queries.records import NotFound
from protocol.game_block import GameBlock
from protocol.manifest import RulesSpec
from verification.setup import game_rules


@dataclass(frozen=True, slots=True)
class BatchName:
    """The batch or gate result of a game: its entry, the digest that verdicts name it by, its blob."""

    index: int
    digest: bytes
    blob: bytes


@dataclass(frozen=True, slots=True)
class ReleaseName:
    """A release by its number, id and name."""

    number: int
    id: bytes | None
    name: str


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed a game, by the key that it has now."""

    key: bytes
    name: str
    is_contributor: bool


@dataclass(frozen=True, slots=True)
class Side:
    """Who played a colour: a release, or the candidate of the train record at an entry, which may have become a release."""

    name: str
    release: int | None
    id: bytes | None
    candidate: int | None


@dataclass(frozen=True, slots=True)
class GameAnswer:
    """One game with its moves and what their searches found.

    `fault`: where a block that nobody verified breaks the rules, else empty; the moves before it are given.
    `ownership`: whose each point is at the end, 1 Black's, -1 White's.
    """

    hash: bytes
    kind: str
    batch: BatchName
    number: int
    counter: int
    release: ReleaseName
    black: Side
    white: Side
    contributor: Person
    fate: str | None
    size: int
    komi: float
    rules: str
    end: str
    result: str
    opening_moves: int
    unix_s: int | None
    fault: str
    moves: tuple[MoveLine, ...]
    ownership: tuple[int, ...]


def game(db: sqlite3.Connection, public: Path, name: bytes) -> GameAnswer:
    """One game by its name; raises NotFound."""
    row = _row(db, name)
    content = Content(**{field: row[field] for field in Content.__slots__})
    try:
        block = read_game(public, content, row["offset"], name)
    except (NoGames, OSError) as error:
        raise NotFound(f"This game cannot be shown: {error}") from error
    return answer(db, row, name, block)


def answer(db: sqlite3.Connection, row: sqlite3.Row, name: bytes, block: GameBlock) -> GameAnswer:
    """What is told of a game in a batch whose row is one of `batch_row`."""
    header = block.header
    rules = rules_of(db, row["manifest"], header.size, header.komi_half)
    game = played(block, rules)
    black, white = _sides(db, row, header.counter)
    return GameAnswer(
        hash=name,
        kind=row["kind"],
        batch=BatchName(row["entry"], row["digest"], row["blob"]),
        number=header.counter - row["first_counter"],
        counter=header.counter,
        release=ReleaseName(row["release"], row["release_id"], row["release_name"] or ""),
        black=black,
        white=white,
        contributor=Person(row["key"], row["name"], bool(row["is_contributor"])),
        fate=row["fate"],
        size=header.size,
        komi=header.komi_half / 2,
        rules=name_rules(rules),
        end=ENDS[header.end],
        result=header.outcome,
        opening_moves=header.opening_moves,
        unix_s=row["unix_s"],
        fault=game.fault,
        moves=game.moves,
        ownership=game.ownership,
    )


def batch_row(where: str) -> str:
    """The question for what is told of the batches of games, one row each."""
    return f"""
    SELECT c.*, r.id AS release_id, r.name AS release_name, coalesce(b.key, c.signer) AS key,
        coalesce(p.name, o.name, '') AS name, p.key IS NOT NULL AS is_contributor, {FATE}
    FROM contents c {NAMED} WHERE {where}
    """


def rules_of(db: sqlite3.Connection, manifest: bytes, size: int, komi_half: int) -> Rules:
    """The rules of a game by the manifest's digest; without komi where no game has such a one."""
    query = "SELECT ko, suicide, pass_alive, settled_end, move_cap_factor FROM rules WHERE manifest = ?"
    ko, *switches, factor = db.execute(query, (manifest,)).fetchone()
    suicide, pass_alive, settled_end = map(bool, switches)
    spec = RulesSpec(ko, suicide, pass_alive, settled_end, factor)
    try:
        return game_rules(spec, size, komi_half)
    except EngineError:
        return game_rules(spec, size, 0)


def _row(db: sqlite3.Connection, name: bytes) -> sqlite3.Row:
    """The batch of a game, and where in it the game is; of several batches with the same game the first."""
    query = "SELECT place, offset FROM here.games WHERE hash = ? ORDER BY place"
    for place, offset in db.execute(query, (name,)).fetchall():
        where = "c.entry = ? AND c.root = (SELECT root FROM here.taken WHERE entry = c.entry)"
        row = db.execute(batch_row(where).replace("SELECT c.*", "SELECT c.*, ? AS offset", 1), (offset, place >> 10))
        batch: sqlite3.Row | None = row.fetchone()
        if batch is not None:
            return batch
    raise NotFound("No game with this name is here.")


def _sides(db: sqlite3.Connection, row: sqlite3.Row, counter: int) -> tuple[Side, Side]:
    base = Side(row["release_name"] or "", row["release"], row["release_id"], None)
    if row["candidate"] is None:
        return base, base
    query = "SELECT number, id, name FROM releases WHERE train_entry = ?"
    released = db.execute(query, (row["candidate"],)).fetchone() or (None, None, None)
    name = released[2] or f"candidate {row['candidate']}"
    candidate = Side(name, released[0], released[1], row["candidate"])
    return (candidate, base) if counter % 2 == 0 else (base, candidate)
