"""Who signed a release, and who cosigned the log with it: rows of `signings` and `signatures`.

Page: docs/pages.md. An act is signed once and for all: root keys sign the manifest, which release 0 follows from; a
coordinator the release and its statement; witnesses the first head kept here that has the release's entry. No signature is
checked again: the node checked each before it stored what it is on.
"""

import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

from node.web.model.source import Seen, Witness
from node.web.model.sums import capped
from protocol.entries import Entry
from protocol.root import COORDINATOR
from verification.state import LogState

HeadOf = Callable[[int], Seen | None]
"""The smallest head kept here that has an entry, of those that enough witnesses cosigned."""

MANIFEST: Final = "manifest"
RELEASE: Final = "release"
STATEMENT: Final = "statement"
HEAD: Final = "head"
ACTS: Final = (MANIFEST, RELEASE, STATEMENT, HEAD)
"""What is signed about a release, in the order in which it is."""


def write_manifest(db: sqlite3.Connection, state: LogState, index: int, entry: Entry, unix_s: int | None) -> None:
    """The manifest at `index`, of which release 0 follows."""
    root = state.roots.at(index)
    signers = [(key, "", unix_s) for key in entry.signers if key in root.keys]
    _write(db, 0, MANIFEST, index, unix_s, root.threshold, len(root.keys), signers)


def write_release(
    db: sqlite3.Connection, state: LogState, release: int, act: str, index: int, entry: Entry, unix_s: int | None
) -> None:
    """What a coordinator signed at `index`: a RELEASE or a STATEMENT."""
    root = state.roots.at(index)
    roles = {role.key: role for role in root.roles if role.role == COORDINATOR and role.is_valid_at(index)}
    signers = [(key, roles[key].name if key in roles else "", unix_s) for key in entry.signers]
    _write(db, release, act, index, unix_s, 1, len(roles), signers)


def write_head(db: sqlite3.Connection, release: int, head: Seen | None) -> None:
    """The head that has a release's entry, where there is one."""
    if head is not None:
        signers = [_line(each) for each in head.witnesses]
        _write(db, release, HEAD, head.size, head.unix_s, head.threshold, head.most, signers)


def _line(witness: Witness) -> tuple[bytes, str, int]:
    return witness.key, witness.name, capped(witness.unix_s)


def _write(
    db: sqlite3.Connection,
    release: int,
    act: str,
    at: int,
    unix_s: int | None,
    threshold: int,
    most: int,
    signers: Iterable[tuple[bytes, str, int | None]],
) -> None:
    """`at`: the entry that is signed, or the head's size."""
    db.execute("INSERT INTO signings VALUES (?, ?, ?, ?, ?, ?)", (release, act, at, unix_s, threshold, most))
    for number, signer in enumerate(signers):
        db.execute("INSERT INTO signatures VALUES (?, ?, ?, ?, ?, ?)", (release, act, number, *signer))
