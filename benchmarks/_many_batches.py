"""A made-up run of many batches, in the file that the pages read: `fill`.

A thousand contributors, a verdict of one of five verifiers on each batch, 200 releases and as many refused candidates, and
500 bans. Nothing of it is in a log.
"""

import sqlite3
from collections.abc import Iterator
from random import Random

from node.web.model.events import proof_id
from node.web.model.schema import writing
from node.web.model.sums import BatchRow, SumChanges

PEOPLE = 1_000
VERIFIERS = 5
RELEASES = 200
BANS = 500
FIRST_UNIX_S = 1_700_000_000
SECONDS_A_BATCH = 20
ENTRIES_A_BATCH = 4


def put(db: sqlite3.Connection, table: str, *values: object) -> None:
    """Writes one row."""
    db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def fill(db: sqlite3.Connection, run: bytes, proof: bytes, batches: int) -> None:
    """A made-up run of so many batches; the newest ban rests on `proof`, which is real."""
    rng = Random(1)
    people = [rng.randbytes(32) for _ in range(PEOPLE)]
    verifiers = [rng.randbytes(32) for _ in range(VERIFIERS)]
    last = FIRST_UNIX_S + batches * SECONDS_A_BATCH
    with writing(db):
        put(db, "run", run, "long", batches * ENTRIES_A_BATCH, run, last, FIRST_UNIX_S, "rows", 10, 10, 3)
        fill_batches(db, batches, people, verifiers, rng)
        for number, key in enumerate(verifiers):
            put(db, "roles", key, number, "verifier", f"verifier-{number}", None)
        fill_people(db, people, rng)
        for row in trained(run, rng):
            put(db, "gates", *row)
        fill_releases(db, batches * ENTRIES_A_BATCH, verifiers)
        fill_bans(db, proof, people)


def fill_batches(
    db: sqlite3.Connection, batches: int, people: list[bytes], verifiers: list[bytes], rng: Random
) -> None:
    """Batches, a verdict on each, and their sums."""
    sums = SumChanges()
    for number in range(batches):
        unix_s = FIRST_UNIX_S + number * SECONDS_A_BATCH
        fate = rng.choices(("verified", "rejected"), (98, 2))[0] if number < batches - 200 else "pending"
        release = number * RELEASES // batches
        row = BatchRow(number * ENTRIES_A_BATCH, rng.choice(people), release, unix_s, 16, 1200, 120_000, fate)
        sums.add(row)
        put(db, "batches", *row)
        outcome, why = (
            ("reject", "Ply 7 of game 3 has another value than its replay.") if fate == "rejected" else ("accept", "")
        )
        verifier = rng.choice(verifiers)
        put(db, "verdicts", row.number + 2, verifier, "batch", row.number, 2, outcome, "", 0, 0, why, unix_s + 5, 2, 5)
    sums.write(db)
    db.execute(
        "INSERT INTO verdict_hours SELECT unix_s / 3600, verifier, count(*), sum(drawn), sum(outcome = 'reject'),"
        " count(*), sum(delay_s) FROM verdicts GROUP BY 1, 2"
    )


def fill_people(db: sqlite3.Connection, people: list[bytes], rng: Random) -> None:
    """Contributors in good standing."""
    query = "SELECT key, max(number), max(unix_s) / 3600 FROM batches GROUP BY key"
    newest = {key: last for key, *last in db.execute(query)}
    for number, key in enumerate(people):
        about = (key, number, f"name-{number}", "good", "", None, 3, 3)
        counts = (rng.randrange(10**6), 10**8, 2, 90, 50_000, b"")
        put(db, "contributors", *about, *counts, *newest.get(key, (None, None)), "0.4.1")


def trained(run: bytes, rng: Random) -> Iterator[tuple[object, ...]]:
    """A candidate that passed and one that was refused for each release but the first."""
    for number in range(2, 2 * RELEASES):
        release = number // 2 if number % 2 else None
        state = "refused" if release is None else "passed"
        elo = 10.0 * number + rng.random()
        shape = (number, number, run, "b6c96", number, number, number, number // 2, "sprt", 0, 35)
        yield (*shape, 400, "10,80,200,90,20", 2_950_000, state, number, release, FIRST_UNIX_S + number, elo, 20.0)


def fill_releases(db: sqlite3.Connection, entries: int, verifiers: list[bytes]) -> None:
    """Releases, signed and cosigned."""
    parent = b""
    for number in range(RELEASES):
        name = number.to_bytes(32, "big")
        entry = number * entries // RELEASES
        about = (number, name, f"long-b6c96-s{number}", parent, name, 10**6, "b6c96", 1, 1, 1)
        put(db, "releases", *about, entry, FIRST_UNIX_S, 0, 0, None)
        put(db, "signings", number, "release", entry, FIRST_UNIX_S, 1, 1)
        put(db, "signatures", number, "release", 0, bytes(32), "coordinator", FIRST_UNIX_S)
        put(db, "signings", number, "head", entry + 10, FIRST_UNIX_S, 3, len(verifiers))
        for place, key in enumerate(verifiers):
            put(db, "signatures", number, "head", place, key, f"verifier-{place}", FIRST_UNIX_S)
        parent = name


def fill_bans(db: sqlite3.Connection, proof: bytes, people: list[bytes]) -> None:
    """Bans, each with a proof as long as the real one."""
    for number in range(BANS):
        data = proof if number == BANS - 1 else number.to_bytes(4, "big") + proof[4:]
        about = (number, proof_id(data), "ban", people[number % PEOPLE], "contributor", "ply", 4 * number, 0)
        put(db, "convictions", *about, "in game 0 the search of a ply is not as the batch says", FIRST_UNIX_S, data)
