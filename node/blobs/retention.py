"""Keeps the disk of a contributor or a verifier bounded: deletes blobs that nobody here needs.

Spec: docs/spec/swarm.md ("Retention"). Invariant: a blob that `needed` names stays, whatever its age and size. Of the others
those go that were not used for MAX_AGE_S, and, while all blobs together are over the limit, those that were used longest
ago. What remains of fetches that were given up goes after a week. Coordinators delete nothing: the history is theirs.
"""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import trio

from node.blobs.work import Work, here
from node.disk.blob_store import BlobStore
from node.disk.store import Store
from verification.state import LogState

log = logging.getLogger("gonode")

MAX_AGE_S: Final = 30 * 86_400
PARTIAL_AGE_S: Final = 7 * 86_400
KEEP_BYTES: Final = 10 << 30
"""The limit unless the user gives one."""

EVERY_S: Final = 600.0
RELEASES: Final = 3
"""The newest releases stay: the one in use, the one before, and one that not enough witnesses cosigned yet."""

Needed = Callable[[bytes], bool]
"""Whether the blob with this digest must stay."""


def needed_blobs(state: LogState, store: Store, is_kept: Needed) -> Needed:
    """What a node needs as things stand: networks in use, batches that are not decided, all that waits to be logged.

    And what `is_kept` says that it keeps for others.
    """
    named: set[bytes] = set()
    for release in state.releases.all[-RELEASES:]:
        named |= {release.network_blob, release.weights_blob}
    gate = state.gates.open
    if gate is not None:
        named |= {gate.train.network_blob, gate.base.network_blob}
        named |= {each.result.blob_digest for each in state.gates.results}
    for fill in state.fills.open:
        named |= _network_of(state, fill.release)
    for check in state.batches.undecided():
        named.add(check.header.blob_digest)
        named |= _network_of(state, check.header.release)
        if check.opening is not None:
            named.add(check.opening.blob_digest)
    waiting = b"\0".join(item.payload for item in store.waiting())
    return lambda digest: digest in named or digest in waiting or is_kept(digest)


def _network_of(state: LogState, release_id: bytes) -> set[bytes]:
    """The network that a release's games are played and replayed with."""
    release = state.release_by_id(release_id)
    return set() if release is None else {release.network_blob}


class Retention:
    """Deletes blobs of `store` over `keep_bytes`; `needed()` says what stays, `now_unix_s` is the wall clock.

    `fetching()` are the blobs that are on their way.
    """

    def __init__(
        self,
        store: BlobStore,
        needed: Callable[[], Needed],
        keep_bytes: int = KEEP_BYTES,
        fetching: Callable[[], Collection[bytes]] = tuple,
        now_unix_s: Callable[[], float] = time.time,
        work: Work = here,
    ) -> None:
        self._store = store
        self._needed = needed
        self._keep_bytes = keep_bytes
        self._fetching = fetching
        self._now_unix_s = now_unix_s
        self._work = work

    async def run(self) -> None:
        """Sweeps now and then, until cancelled; a disk that cannot be read or written is tried again."""
        while True:
            await trio.sleep(EVERY_S)
            try:
                self._delete(await self._work(self._listed))
            except OSError as error:
                log.warning("Old blobs could not be deleted: %s", error)

    def sweep(self) -> list[bytes]:
        """Deletes what may go; the digests of what went. Raises OSError."""
        return self._delete(self._listed())

    def _listed(self) -> list[tuple[bytes, int, float]]:
        """All blobs, those first that were used longest ago."""
        return sorted(self._store.sizes(), key=lambda each: each[2])

    def _delete(self, blobs: Sequence[tuple[bytes, int, float]]) -> list[bytes]:
        now = self._now_unix_s()
        needed = self._needed()
        total = sum(size for _, size, _ in blobs)
        gone = []
        for digest, size, used_unix_s in blobs:
            is_old = now - used_unix_s > MAX_AGE_S
            if (is_old or total > self._keep_bytes) and not needed(digest):
                self._store.delete(digest)
                total -= size
                gone.append(digest)
        self._sweep_partial(now)
        return gone

    def _sweep_partial(self, now: float) -> None:
        fetching = {digest.hex() for digest in self._fetching()}
        for path in self._files_of(self._store.partial):
            if path.name.partition(".")[0] not in fetching and now - path.stat().st_mtime > PARTIAL_AGE_S:
                path.unlink(missing_ok=True)

    @staticmethod
    def _files_of(folder: Path) -> list[Path]:
        return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
