"""Playing against a release: which one, by which rules, on which boards. `/play/{release}`.

Page: docs/pages.md. What the log says of a release is read from the node's store: the pages' file does not name its blob.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from native.netfile import Architecture
from node.disk.home import Home
from node.exchange.rule_names import name_rules
from node.play.limits import LEAST_VISITS, SIZES, most_komi_half, most_visits
from node.play.partner import Partner
from node.play.shelf import Shelf, missing
from node.web.model.source import reading_source
from node.web.queries.records import NotFound, whole_name
from protocol.envelope import Envelope
from protocol.manifest import Manifest
from protocol.release import Release
from verification.setup import game_rules

VISITS: Final = (2, 8, 16, 32, 64, 100, 200, 400, 800, 1600)
"""Numbers of visits to choose from, as far as the network and the board allow."""
USUAL_VISITS: Final = 100
FIRST: Final = "first"
LATEST: Final = "latest"


@dataclass(frozen=True, slots=True)
class Known:
    """A release as the log has it; `release` is None for release 0, which `manifest` draws. `digest` is the manifest's."""

    number: int
    id: bytes
    name: str
    shape: str
    is_uniform: bool
    steps: int
    release: Release | None
    manifest: Manifest
    digest: bytes

    def partner(self, shelf: Shelf) -> Partner:
        """It, ready to play; raises NotHere."""
        network = shelf.first(self.manifest, self.digest) if self.release is None else shelf.network(self.release)
        return Partner(self.name, self.id, network, self.manifest.rules, self.manifest.gate_search)


@dataclass(frozen=True, slots=True)
class BoardOffer:
    """A board to play on; the run plays it where it has komis. Komi is in points."""

    size: int
    komis: tuple[float, ...]
    komi: float
    most_komi: int
    visits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlayPage:
    """What may be played with a release. `why_not` is a sentence where its network is not here, else empty.

    `size` is the board that the run plays most with it, `rules` their name in game records.
    """

    number: int
    id: bytes
    name: str
    shape: str
    why_not: str
    rules: str
    ko: str
    suicide: bool
    pass_alive: bool
    settled_end: bool
    size: int
    boards: tuple[BoardOffer, ...]


def release_called(db: sqlite3.Connection, text: str) -> bytes:
    """The id of `first`, `latest`, or the release whose id begins so; raises NotFound."""
    if text in (FIRST, LATEST):
        order = "ASC" if text == FIRST else "DESC"
        row = db.execute(f"SELECT id FROM releases ORDER BY number {order} LIMIT 1").fetchone()
        if row is None:
            raise NotFound("The log has no release yet.")
        return bytes(row["id"])
    return whole_name(db, "releases", "id", text)


def known_release(db: sqlite3.Connection, home: Home, run: bytes, release_id: bytes) -> Known:
    """A release by its id; raises NotFound, StoreError."""
    row = db.execute(
        "SELECT number, name, entry, network, shape, steps FROM releases WHERE id = ?", (release_id,)
    ).fetchone()
    if row is None:
        raise NotFound("The log has no such release.")
    with reading_source(home.database, run) as source:
        (entry,) = source.entries(row["entry"], row["entry"] + 1)
        envelope = Envelope.parse(entry)
        release = Release.open(envelope, is_verified=True) if row["number"] else None
        digest = envelope.digest if release is None else release.manifest
        manifest = source.manifest(digest, row["entry"] + 1)
    return Known(
        number=row["number"],
        id=release_id,
        name=row["name"],
        shape=row["shape"],
        is_uniform=not row["network"],
        steps=row["steps"],
        release=release,
        manifest=manifest,
        digest=digest,
    )


def play_page(known: Known, shelf: Shelf) -> PlayPage:
    """What the page says."""
    spec = known.manifest.rules
    played = {board.size: board for board in known.manifest.stage(known.steps).boards if board.weight}
    most = max(played.values(), key=lambda board: board.weight)
    usual = max(most.komi, key=lambda each: each.weight).komi_half / 2
    offers = []
    for size in sorted(SIZES, key=lambda each: (each not in played, each)):
        komis = (
            sorted((each for each in played[size].komi if each.weight), key=lambda each: each.komi_half)
            if size in played
            else []
        )
        komi = max(komis, key=lambda each: each.weight).komi_half / 2 if komis else usual
        offers.append(
            BoardOffer(
                size, tuple(each.komi_half / 2 for each in komis), komi, most_komi_half(size) // 2, _visits(known, size)
            )
        )
    is_here = known.release is None or shelf.has(known.release)
    return PlayPage(
        number=known.number,
        id=known.id,
        name=known.name,
        shape=known.shape,
        why_not="" if is_here else missing(known.name),
        rules=name_rules(game_rules(spec, most.size, 0)),
        ko=spec.ko,
        suicide=spec.suicide,
        pass_alive=spec.pass_alive,
        settled_end=spec.settled_end,
        size=most.size,
        boards=tuple(offers),
    )


def _visits(known: Known, size: int) -> tuple[int, ...]:
    most = most_visits(None if known.is_uniform else Architecture.parse(known.shape), size)
    return tuple(each for each in VISITS if LEAST_VISITS <= each <= most)
