"""What a file of games holds, to be compared. For tests."""

import sqlite3
from pathlib import Path


def dump(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables, without how often they changed."""
    db = sqlite3.connect(path)
    try:
        tables = {"taken": "*", "games": "*", "run": "id, floor"}
        return {
            name: sorted(map(tuple, db.execute(f"SELECT {columns} FROM {name}"))) for name, columns in tables.items()
        }
    finally:
        db.close()
