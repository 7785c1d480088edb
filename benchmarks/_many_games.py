"""Made-up games of a made-up run, as many as wanted, in the files that the pages read: `fill_games`.

A batch's games differ in board, result and length; no blob is there, so that lists can be looked at, and no single game.
"""

import sqlite3
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random

from node.web.games.schema import GATE, PLACE_BITS, TRAINING, open_to_write, signer_of
from node.web.model.schema import writing

GAMES_A_BATCH = 16
SHARE_OF_GATES = 50
"""One in so many is a gate's."""


def fill_games(pages: sqlite3.Connection, path: Path, run: bytes, games: int = GAMES_A_BATCH) -> int:
    """Gives each batch of `pages` so many games, in the file at `path`; how many in all."""
    rng, db = Random(2), open_to_write(path, run)
    rows = pages.execute("SELECT number, key, release, unix_s FROM batches ORDER BY number").fetchall()
    with writing(pages):
        pages.execute("INSERT OR IGNORE INTO rules VALUES (?, 'positional', 1, 1, 1, 2)", (run,))
        for entry, key, release, unix_s in rows:
            kind = "training" if rng.randrange(SHARE_OF_GATES) else "gate"
            name = digest_of(entry)
            values = (entry, kind, name, run, name, 60_000, 400_000, name, entry, games, key, release, None, unix_s)
            pages.execute(f"INSERT INTO contents VALUES ({', '.join('?' * len(values))})", values)
    with writing(db):
        query = "SELECT entry, blob, root, games, '' FROM contents"
        db.executemany("INSERT INTO taken VALUES (?, ?, ?, ?, ?)", map(tuple, pages.execute(query).fetchall()))
        query = "SELECT entry, kind, release, signer FROM contents ORDER BY entry DESC"
        for entry, kind, release, signer in pages.execute(query).fetchall():
            word = GATE if kind == "gate" else TRAINING
            db.executemany(
                f"INSERT INTO games VALUES ({', '.join('?' * 11)})",
                batch_rows(rng, entry, games, (word, release, signer_of(signer))),
            )
    db.close()
    return len(rows) * games


def batch_rows(rng: Random, entry: int, games: int, of_batch: tuple[int, int, int]) -> Iterator[tuple[object, ...]]:
    """The games of one batch."""
    for number in range(games):
        place = entry << PLACE_BITS | number
        result, half = rng.choice((0, 1, 1, 2, 2)), rng.randrange(1, 100)
        score = (0, half, -half)[result]
        yield (place, digest_of(place), 16 + number * 20_000, *of_batch, rng.choice((9, 9, 13)), 15, result, score, 70)


def digest_of(number: int) -> bytes:
    """A name of something."""
    return sha256(str(number).encode()).digest()
