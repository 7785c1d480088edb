"""The coordinator's statistician: counts what accepted games look like, and has those replayed more who differ.

Code of the tests: `verification/statistics`. Each blob is read once, in log order: its counts and how far that came are
written together, so a kill loses and doubles nothing. Kept are the newest `KEPT_RELEASES` releases. Statistics convict
nobody; what follows from them is logged as a scrutiny with its reason.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from struct import Struct
from typing import Any, Final

from node.coordinator.scrutineer import Scrutineer
from node.engine.engine import Engine
from node.member import Member
from protocol.batch import unpack_batch
from protocol.codec import decode, encode
from protocol.header import BatchHeader
from verification.identities import BatchInfo
from verification.statistics.profile import Profile
from verification.statistics.profile_record import encode_profile, parse_profile
from verification.statistics.repeats import GameIndex, game_digest
from verification.statistics.review import Review, review_all

KEPT_RELEASES: Final = 16
PREFIX: Final = "statistics/"
NEXT: Final = f"{PREFIX}next"
"""How many batches of the log were looked at."""

OWN: Final = "own"
FILLED: Final = "filled"
GAMES: Final = "games"
LOOK_EVERY_S = 2.0

KEY_BYTES: Final = 32
_GAME: Final = Struct("<I32s")  # searched plies and digest


class Statistician:
    """Tallies by release and contributor, and a review of all at each release and each `epoch_entries` entries."""

    def __init__(self, member: Member, engine: Engine, scrutineer: Scrutineer) -> None:
        self._member = member
        self._engine = engine
        self._scrutineer = scrutineer
        self._index = GameIndex()
        self._reviews: dict[bytes, Review] = {}
        self._reviewed: tuple[int, int] = (-1, 0)  # the newest release then, and the size of the log

    def report(self, peer: bytes) -> dict[str, Any] | None:
        """What the last review said of a contributor; None where there was too little, or none since the start."""
        review = self._reviews.get(peer)
        if review is None:
            return None
        residual, suspicion = review.residual, review.suspicion
        return {
            "entry": self._reviewed[1],
            "statistic": residual.family,
            "chi2": round(residual.chi2, 1),
            "degrees": residual.degrees,
            "p": residual.p,
            "z": round(residual.z, 1),
            "q_ppm": None if suspicion is None else suspicion.q_ppm,
            "reason": "" if suspicion is None else suspicion.reason,
        }

    async def run(self) -> None:
        """Counts and reviews until cancelled."""
        await self._member.until(lambda: True if self._member.state.size >= 2 else None)
        self._index = self._kept_index()
        while True:
            await self._count()
            if self._is_due():
                await self._review()
            await self._member.change_within(LOOK_EVERY_S)

    # ---- counts

    async def _count(self) -> None:
        """Counts all batches up to the first that is not decided."""
        for batch in list(islice(self._member.state.batches.all, self._next, None)):
            if batch.is_open:
                return
            is_old = self._number(batch) <= self._member.state.release.number - KEPT_RELEASES
            blob = None if is_old else self._blob(batch)
            if blob is None:
                self._member.store.put(NEXT, encode(self._next + 1))
            else:
                await self._add(batch, blob)

    def _blob(self, batch: BatchInfo) -> bytes | None:
        """The blob of a batch that counts, if it is here."""
        is_good = batch.is_accepted_batch and not batch.dropped and batch.games
        return self._member.blob_store.get(batch.header.blob_digest) if is_good else None

    async def _add(self, batch: BatchInfo, blob: bytes) -> None:
        header, store, place = batch.header, self._member.store, self._place(batch)
        kept = store.get(place)
        profile, games = await self._engine.compute(summarise, blob, header, kept)
        with store.transaction():
            store.put(place, profile)
            store.put(f"{PREFIX}{self._number(batch):08}/{GAMES}/{batch.index:016x}", games)
            store.put(NEXT, encode(self._next + 1))
        _add_games(self._index, games)

    def _place(self, batch: BatchInfo) -> str:
        """Where the counts of a batch go: those of who played it, or of whose games it fills in."""
        header = batch.header
        kind = OWN if header.peer == header.owner else FILLED
        return f"{PREFIX}{self._number(batch):08}/{kind}/{header.owner.hex()}"

    def _number(self, batch: BatchInfo) -> int:
        release = self._member.state.release_by_id(batch.header.release)
        assert release is not None  # the state refuses a header of an unknown release
        return release.number

    @property
    def _next(self) -> int:
        match decode(self._member.store.get(NEXT) or encode(0)):
            case int(done):
                return done
        return 0

    def _kept_index(self) -> GameIndex:
        """The games of the kept releases, as they came."""
        index, store = GameIndex(), self._member.store
        names = [name for name in store.names(PREFIX) if f"/{GAMES}/" in name]
        for name in sorted(names, key=lambda each: each.rpartition("/")[2]):
            _add_games(index, store.get(name) or b"")
        return index

    # ---- reviews

    def _is_due(self) -> bool:
        state, (number, size) = self._member.state, self._reviewed
        return state.release.number > number or state.size >= size + state.manifest.admission.epoch_entries

    async def _review(self) -> None:
        state = self._member.state
        self._reviewed = state.release.number, state.size
        self._forget()
        self._reviews = await self._engine.compute(review_kept, self._kept(OWN), self._kept(FILLED), self._index)
        for review in self._reviews.values():
            if review.suspicion is not None:
                self._scrutineer.raise_share(review.suspicion)

    def _forget(self) -> None:
        """Drops what is of releases that are no longer compared."""
        oldest = f"{PREFIX}{max(0, self._member.state.release.number - KEPT_RELEASES + 1):08}"
        with self._member.store.transaction():
            for name in self._member.store.names(PREFIX):
                if name < oldest:
                    self._member.store.delete(name)

    def _kept(self, kind: str) -> dict[bytes, list[bytes]]:
        """Encoded profiles of one kind, by the key that their contributor has now, if nothing was found against it."""
        state, store = self._member.state, self._member.store
        found: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for name in store.names(PREFIX):
            _, _, rest = name.partition(f"/{kind}/")
            identity = state.batches.identity(bytes.fromhex(rest)) if rest else None
            if identity is not None and not state.batches.is_out(identity.peer):
                found[identity.peer].append(store.get(name) or b"")
        return dict(found)


def summarise(blob: bytes, header: BatchHeader, kept: bytes | None) -> tuple[bytes, bytes]:
    """The counts of a batch added to the kept ones, and its games as an index needs them; both as bytes to keep."""
    batch = unpack_batch(blob, header.raw_len)
    profile = Profile.of_batch(header.release, header.config, batch)
    if kept is not None:
        profile += parse_profile(kept)
    games = (_GAME.pack(game.header.plies, game_digest(game)) for game in batch.games)
    return encode_profile(profile), header.peer + b"".join(games)


def review_kept(
    own: Mapping[bytes, list[bytes]], filled: Mapping[bytes, list[bytes]], index: GameIndex
) -> dict[bytes, Review]:
    """A review of all contributors from what was kept."""
    return review_all(dict(_profiles(own)), dict(_profiles(filled)), index)


def _profiles(kept: Mapping[bytes, list[bytes]]) -> Iterator[tuple[bytes, Profile]]:
    for peer, parts in kept.items():
        yield peer, Profile.merge(map(parse_profile, parts))


def _add_games(index: GameIndex, kept: bytes) -> None:
    index.add_digests(kept[:KEY_BYTES], _GAME.iter_unpack(kept[KEY_BYTES:]))
